/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/probes.c - see probes.h. */
#include "probes.h"
