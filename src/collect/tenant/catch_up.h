/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/catch_up.h - the part of a tenant that begins later than the session: what was
 * asked of the session since holds for his programs, too.
 *
 * Who changes a session asks the whole one first, and looks for parts then.  So a part that takes
 * over what the whole wants once more after it can be found misses nothing; what it is asked as
 * well it knows already, which does no harm.
 *
 * Rules come from the session's file, which is replaced as a whole, filters and triggers from the
 * memory that outlives the whole's collector (struct handover).  Triggers have their numbers
 * everywhere; those about kernel events are the whole's alone, which records them.
 *
 * One thread; before the collector is confined (collect/tenant/sandbox.h).
 */
#ifndef COLLECT_TENANT_CATCH_UP_H
#define COLLECT_TENANT_CATCH_UP_H

#include "collect/collector.h"

/* catch_up_run - 0 or -errno.  A trigger that does not fit here is noted.  If the session is ending
 * it does nothing. */
int catch_up_run(struct collector *c, struct diag *d);

#endif
