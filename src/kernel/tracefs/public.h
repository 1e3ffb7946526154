/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/public.h - what other rooms may use of this one. */
#ifndef KERNEL_TRACEFS_PUBLIC_H
#define KERNEL_TRACEFS_PUBLIC_H

#include "kernel/tracefs/broker.h"
#include "kernel/tracefs/events.h"
#include "kernel/tracefs/syscalls.h"
#include "kernel/tracefs/tracefs.h"

#endif
