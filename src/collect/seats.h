/* SPDX-License-Identifier: MIT */
/*
 * collect/seats.h - which session has which seat: the file `seats` of the runtime directory (abi/control.h).
 *
 * Written by collectors alone, with the directory locked (flock); read by anybody at any time.
 */
#ifndef COLLECT_SEATS_H
#define COLLECT_SEATS_H

#include <stdbool.h>

#include "abi/control.h"
#include "base/diag.h"

/* seats_read - as they are now; all free if there is no such file, or a damaged one. */
void seats_read(int dir, struct abi_seats *s);

/* The directory is locked for these two. */

/* seats_take - a seat for the session @f->name: sets seat and epoch.  0; -EBUSY if all are taken; -errno. */
int seats_take(int dir, struct abi_session *f, struct diag *d);
/* seats_leave - it is free, if it is still that session's. */
void seats_leave(int dir, uint32_t seat, uint64_t epoch);

#endif
