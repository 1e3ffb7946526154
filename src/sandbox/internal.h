/* SPDX-License-Identifier: MIT */
/* sandbox/internal.h - the two halves of the sandbox, put together by sandbox.c. */
#ifndef SANDBOX_INTERNAL_H
#define SANDBOX_INTERNAL_H

#include "sandbox/sandbox.h"

/* 0; also if the kernel has no Landlock. */
int sandbox_landlock(const struct sandbox *s, struct diag *d);
/* 0; also if the kernel has no seccomp, or its list of calls is not known for this machine. */
int sandbox_seccomp(const struct sandbox *s, struct diag *d);

#endif
