/* SPDX-License-Identifier: MIT */
/* analysis/wait/words.h - states, causes and calls in words, for `duet report why` and the timeline. */
#ifndef ANALYSIS_WAIT_WORDS_H
#define ANALYSIS_WAIT_WORDS_H

#include "analysis/wait/wait.h"

/* Names of the states for programs: "user", "blocked". */
extern const char *const wait_state_keys[WAIT_STATES];

/* wait_state_words - "running, user"; "running" if the recording has no system calls. */
const char *wait_state_words(const struct wait_analysis *w, int state);

/* wait_cause_words - "irq virtio1-req.0", "block i/o of vda". */
const char *wait_cause_words(const struct wait_analysis *w, struct wait_cause cause,
			     char buffer[80]);

enum { WAIT_CALL_BYTES = 320, WAIT_SLICE_BYTES = WAIT_CALL_BYTES + 192 };

/* wait_call_words - "futex(audit_lock in server)", "read(fd 7 = /etc/passwd)".  @object: of @o; 0:
 * none. */
const char *wait_call_words(const char *call, const struct objects *o, uint32_t object,
			    char buffer[WAIT_CALL_BYTES]);

/* wait_slice_words - "blocked in read, until its timer".  @call, @cause: NULL: none. */
const char *wait_slice_words(const struct wait_analysis *w, uint8_t state, const char *call,
			     const char *cause, char buffer[WAIT_SLICE_BYTES]);

/* wait_share_words - "on a CPU 30.0 %, waiting for one 2.0 %, blocked 68.0 %, unknown 0.0 %". */
const char *wait_share_words(const uint64_t ns[WAIT_STATES], char buffer[128]);

/* wait_lack_words - what the recording lacks for better answers, a sentence each: from @i = 0 on until
 * NULL. */
const char *wait_lack_words(const struct wait_analysis *w, int i);

#endif
