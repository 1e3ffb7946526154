/* SPDX-License-Identifier: MIT */
/* collect/calls/public.h - the patterns of --graph, for cmd. */
#ifndef COLLECT_CALLS_PUBLIC_H
#define COLLECT_CALLS_PUBLIC_H

#include "collect/calls/patterns.h"

#endif
