/* SPDX-License-Identifier: MIT */
/*
 * collect/resume.h - going on where a killed collector ended.
 *
 * The pools are as it left them.  Its files are settled (ctf/write/recover.h) and stay; what
 * follows goes into a trace beside them.  What may be in both, the packet that was being written,
 * is told by the chunk it came from: abi_chunk.pending.  So each event is in one of them, once.
 */
#ifndef COLLECT_RESUME_H
#define COLLECT_RESUME_H

#include <stdint.h>

#include "base/diag.h"
#include "collect/handover.h"
#include "collect/session/session.h"

/*
 * resume_files - settle what the collectors before life @life left in the recording @path, and say
 * in each chunk how far it is in there.
 *
 * Nobody else collects.  May be interrupted by death, and done again.  Returns 0 or -errno.
 */
int resume_files(struct session *s, struct handover *handover, const char *path,
		 uint32_t incarnation, struct diag *d);
/* resume_trace_chunks - the same in a recording in pieces: what was being written is finished, as
 * of @now_ns since the Epoch. */
int resume_trace_chunks(struct session *s, struct handover *handover, const char *path,
			uint64_t now_ns, struct diag *d);

/* resume_session - what the collector that died may have changed: rules, filters, parked chunks.
 * @is_stopping: programs may find the session no more, and its rules are over. */
int resume_session(struct session *s, bool is_stopping, struct diag *d);

#endif
