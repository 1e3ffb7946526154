/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/probes.cc - the same in C++. */
#include "probes.h"
