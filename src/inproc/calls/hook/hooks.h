/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/hooks.h - the hooks themselves: hot.c, keep.c.  Only stubs may call them.
 */
#ifndef INPROC_CALLS_HOOKS_H
#define INPROC_CALLS_HOOKS_H

#include "inproc/calls/hook/hook.h"

/* Hooks of the exit are in a section of their own: an address in it is how a stub is recognized. */
#define CALLS_LEAVE __attribute__((section("calls_leave")))

#define CALLS_HOOK __attribute__((no_caller_saved_registers)) CALLS_HIDDEN void

CALLS_HOOK calls_enter(void);
CALLS_HOOK calls_enter_path(void);
CALLS_HOOK calls_enter_switch(void);
CALLS_HOOK calls_enter_switch_hidden(void);
CALLS_HOOK calls_enter_rescan(void);
CALLS_HOOK calls_enter_rescan_hidden(void);
CALLS_HOOK calls_leave_exact(void);
CALLS_HOOK calls_leave_governed(void);
CALLS_HOOK calls_leave_over(void);
CALLS_HOOK calls_leave_path(void);
CALLS_HOOK calls_leave_switch(void);
CALLS_HOOK calls_leave_rescan(void);
/* Of longjmp: keep.c */
CALLS_HOOK calls_enter_jump(void);
CALLS_HOOK calls_enter_jump_hidden(void);

#endif
