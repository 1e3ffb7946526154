/* SPDX-License-Identifier: MIT */
/* analysis/wait/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_WAIT_PUBLIC_H
#define ANALYSIS_WAIT_PUBLIC_H

#include "analysis/wait/chain.h"
#include "analysis/wait/follow.h"
#include "analysis/wait/wait.h"
#include "analysis/wait/words.h"

#endif
