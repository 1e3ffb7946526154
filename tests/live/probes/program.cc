/* SPDX-License-Identifier: MIT */
/* tests/live/probes/program.cc - the same in C++. */
#include "program.h"
