/* SPDX-License-Identifier: MIT */
/* tests/live/probes/program.c - see program.h. */
#include "program.h"
