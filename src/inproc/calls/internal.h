/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/internal.h - what the files of this room share: the interface to the hooks that stubs
 * call.
 */
#ifndef INPROC_CALLS_INTERNAL_H
#define INPROC_CALLS_INTERNAL_H

#include "inproc/calls/hook/hook.h"

#endif
