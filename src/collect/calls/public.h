/* SPDX-License-Identifier: MIT */
/* collect/calls/public.h - for cmd: the patterns of --graph, and patched functions. */
#ifndef COLLECT_CALLS_PUBLIC_H
#define COLLECT_CALLS_PUBLIC_H

#include "collect/calls/objects.h"
#include "collect/calls/patterns.h"
#include "collect/calls/state.h"

#endif
