/* SPDX-License-Identifier: MIT */
/* kernel/probe/public.h - what other rooms may use of this one. */
#ifndef KERNEL_PROBE_PUBLIC_H
#define KERNEL_PROBE_PUBLIC_H

#include "kernel/probe/fetch.h"
#include "kernel/probe/patched.h"
#include "kernel/probe/uprobe.h"

#endif
