/* SPDX-License-Identifier: MIT */
/* analysis/stacks/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_STACKS_PUBLIC_H
#define ANALYSIS_STACKS_PUBLIC_H

#include "analysis/stacks/own.h"
#include "analysis/stacks/stack_tree.h"
#include "analysis/stacks/table.h"

#endif
