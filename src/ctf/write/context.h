/* SPDX-License-Identifier: MIT */
/* ctf/write/context.h - the names of contexts (abi/context.h), and their fields in CTF. */
#ifndef CTF_WRITE_CONTEXT_H
#define CTF_WRITE_CONTEXT_H

#include <stdint.h>

#include "abi/context.h"
#include "base/diag.h"
#include "base/text.h"

/*
 * context_parse - parse a list of context names, separated by commas, into a mask.
 *
 * @names: for example "ip,callstack,uid".  LTTng's names are accepted as well.  "namespaces"
 *         means all eight of them.  Contexts that every event has in any case (vpid, vtid,
 *         cpu_id) are accepted and add nothing.
 * @mask: the contexts are added to it.
 *
 * Returns 0; or -EINVAL for an unknown name, with the known ones in @d; @mask is then unchanged.
 * This function does not check whether the machine has the performance counters: see
 * collect/counters.h.
 */
int context_parse(const char *names, uint64_t *mask, struct diag *d);

/* context_to_tsdl - append the fields of @mask, for a struct event.context after _vpid and _vtid.
 */
void context_to_tsdl(struct text *out, uint64_t mask);

/* context_names - append the names of @mask, separated by commas. */
void context_names(struct text *out, uint64_t mask);

#endif
