/* SPDX-License-Identifier: MIT */
/* analysis/names/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_NAMES_PUBLIC_H
#define ANALYSIS_NAMES_PUBLIC_H

#include "analysis/names/heap_sites.h"
#include "analysis/names/lines.h"
#include "analysis/names/objects.h"

#endif
