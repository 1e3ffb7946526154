/* SPDX-License-Identifier: MIT */
/*
 * collect/session/slots.h - which session has which seat: the file `seats` of the runtime directory
 * (abi/control.h).
 *
 * Written by collectors alone, with the directory locked (flock); read by anybody at any time. Each
 * session tells itself where it sits, in its own file: so this one can be made again.
 */
#ifndef COLLECT_SESSION_SLOTS_H
#define COLLECT_SESSION_SLOTS_H

#include <stdbool.h>

#include "abi/control.h"
#include "base/diag.h"

/* session_slots_read - as they are now; all free if there is no such file, or a damaged one. */
void session_slots_read(int dir, struct abi_session_slots *s);

/*
 * session_slots_repair - see that the session @f, which sits, is told of as well.
 *
 * Somebody may remove the file, or scribble over it: then it is made anew, with all sessions that
 * live.  @file: which one it was, 0 at first.  Returns 1 if it is another one than that: programs
 * that started meanwhile found none; 0; or -errno: -EAGAIN, somebody else is at it; -EBUSY,
 * somebody else has the seat.  Waits for nobody.
 */
int session_slots_repair(int dir, const struct abi_session *f, uint64_t *file);

/* The directory is locked for these two. */

/* session_slots_take - a seat for the session @f->name: sets seat and epoch.  0; -EBUSY if all are
 * taken; -errno. */
int session_slots_take(int dir, struct abi_session *f, struct diag *d);
/* session_slots_leave - it is free, if it is still that session's. */
void session_slots_leave(int dir, uint32_t session_slot, uint64_t epoch);

#endif
