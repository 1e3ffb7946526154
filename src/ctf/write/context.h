/* SPDX-License-Identifier: MIT */
/* ctf/write/context.h - names of contexts (abi/context.h), and their fields in CTF. */
#ifndef CTF_WRITE_CONTEXT_H
#define CTF_WRITE_CONTEXT_H

#include <stdint.h>

#include "abi/context.h"
#include "base/diag.h"
#include "base/text.h"

/*
 * context_parse - a mask of contexts from their names between commas.
 *
 * @names: "ip,callstack,uid"; LTTng's names are known, too.  "namespaces" is all eight of them.
 *What every event tells in any case (vpid, vtid, cpu_id) is accepted and adds nothing.
 * @mask: is added to.
 *
 * Returns 0; or -EINVAL for an unknown name, with what there is.  @mask is unchanged then.  Whether
 *this machine has the counters among them is asked elsewhere: collect/counters.h.
 */
int context_parse(const char *names, uint64_t *mask, struct diag *d);

/* context_to_tsdl - append the fields of @mask, for a struct event.context behind _vpid and _vtid.
 */
void context_to_tsdl(struct text *out, uint64_t mask);

/* context_names - append the names of @mask with commas between. */
void context_names(struct text *out, uint64_t mask);

#endif
