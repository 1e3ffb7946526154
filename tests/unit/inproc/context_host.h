/* SPDX-License-Identifier: MIT */
/* context_host.h - the symbols that inproc/context.c needs from libduet, as few as its tests
 * need. */
#ifndef CONTEXT_HOST_H
#define CONTEXT_HOST_H

#include "inproc/context.h"
#include "inproc/process.h"
#include "test.h"

struct process process;
__thread uint64_t thread_context;

static bool is_sandboxed;
static int n_asked; /* context.c asks this before each system call */

bool process_is_sandboxed(void)
{
	n_asked++;
	return is_sandboxed;
}

#endif
