/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_SYSCALLS_PUBLIC_H
#define ANALYSIS_SYSCALLS_PUBLIC_H

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"

#endif
