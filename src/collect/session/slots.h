/* SPDX-License-Identifier: MIT */
/*
 * collect/session/slots.h - which session has which slot: the file `seats` of the runtime directory
 * (abi/control.h).
 *
 * Only collectors write it, with the directory locked (flock); any process may read it at any time.
 * Each session file also names the session's slot, so this file can be restored.
 */
#ifndef COLLECT_SESSION_SLOTS_H
#define COLLECT_SESSION_SLOTS_H

#include <stdbool.h>

#include "abi/control.h"
#include "base/diag.h"

/* session_slots_read - the current slots; all free if the file is missing or damaged. */
void session_slots_read(int dir, struct abi_session_slots *s);

/*
 * session_slots_repair - make sure that the session @f, which has a slot, is in the file.
 *
 * If the file was removed or damaged it is created again, with all live sessions.  @file: identity
 * of the file seen last, 0 at first.  Returns 1 if the file is another one: programs that started
 * meanwhile found none.  Otherwise 0 or -errno: -EAGAIN, another process holds the lock; -EBUSY,
 * another session has the slot.  Never blocks.
 */
int session_slots_repair(int dir, const struct abi_session *f, uint64_t *file);

/* The directory must be locked for these two. */

/*
 * session_slots_take - take a slot for the session @f->name: sets slot and epoch.  0; -EBUSY if all
 * are taken; -errno.
 */
int session_slots_take(int dir, struct abi_session *f, struct diag *d);
/* session_slots_leave - free the slot if it still belongs to that session. */
void session_slots_leave(int dir, uint32_t session_slot, uint64_t epoch);

#endif
