/* SPDX-License-Identifier: MIT */
/*
 * collect/resume.h - continue where a killed collector ended.
 *
 * The pools are as it left them.  Its files are recovered (ctf/write/recover.h) and stay; new data
 * goes into a trace beside them.  Only the packets of the write that it was in could be in both, in
 * whole or the first of them.  The chunks that they came from identify them: abi_chunk.pending.  So each
 * event is in exactly one of the traces.
 */
#ifndef COLLECT_RESUME_H
#define COLLECT_RESUME_H

#include <stdint.h>

#include "base/diag.h"
#include "collect/drain/bounds.h"
#include "collect/handover/handover.h"
#include "collect/session/session.h"

/*
 * resume_files - recover what the collectors before number @incarnation left in the recording
 * @path, and mark in each chunk how far it is in these files.
 *
 * No other collector may run.  May be killed at any point and repeated.  Returns 0 or -errno.
 */
int resume_files(struct session *s, struct handover *handover, struct bounds *bounds,
		 const char *path, uint32_t incarnation, struct diag *d);
/*
 * resume_trace_chunks - the same in a recording with trace chunks: finishes the one that was being
 * written, as of @now_ns since the Epoch.
 */
int resume_trace_chunks(struct session *s, struct handover *handover, struct bounds *bounds,
			const char *path, uint64_t now_ns, struct diag *d);

/*
 * resume_session - read again what the killed collector may have changed: rules, filters, parked
 * chunks.
 *
 * @is_stopping: programs no longer find the session, and its rules have ended.
 */
int resume_session(struct session *s, bool is_stopping, struct diag *d);

#endif
