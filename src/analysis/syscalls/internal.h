/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/internal.h - a struct pairing' insides, for pairing.c (calls from their
 * beginnings to their ends), pairing_words.c (what is told of them) and pairing_signals.c (what
 * else happens to threads).
 *
 * A thread's words are of its last call; they are told anew at its end, for then more is known.
 */
#ifndef ANALYSIS_SYSCALLS_INTERNAL_H
#define ANALYSIS_SYSCALLS_INTERNAL_H

#include "analysis/syscalls/pairing.h"

static inline uint32_t pairing_process(const struct pairing *j, uint32_t thread)
{
	int64_t process = threads_process(j->run.threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

static inline const char *pairing_bytes(const struct text *t)
{
	return t->size ? t->bytes : "";
}

/* An item of @thread, whose state there must be; of a call with its words, without a result. */
struct pairing_item pairing_item_of(const struct pairing *j, uint32_t thread,
				    enum pairing_kind kind, int64_t time_ns);
/* Gives it, if it is wanted. */
void pairing_give(struct pairing *j, const struct pairing_item *item);
/* The call in progress, if any, will not be seen to return; @result: why, if it is not that
 * something was lost. */
void pairing_give_open(struct pairing *j, uint32_t thread, int64_t time_ns, const char *result);

/* pairing_words.c.  The arguments of the call that begins with @e. */
void pairing_words_begin(struct pairing *j, uint32_t thread, const struct trace_event *e);
/* What is known at its end: the result; what comes behind that; arguments, unless its beginning was
 * not seen (@is_pair). */
void pairing_words_end(struct pairing *j, const struct call_class *c, const struct trace_event *e,
		       uint32_t thread, bool is_pair, int64_t result);
/* "0x7ffe, 0x7ffd": the kernel has the first as a text when an execve() has succeeded, of which @e,
 * planned as @p, tells. */
void pairing_words_program(struct pairing *j, struct pairing_state *st, const struct event_table *p,
			   const struct trace_event *e);
void pairing_words_forget(struct pairing_state *st);
void pairing_words_fini(struct pairing_state *st);

/* pairing_signals.c.  As pass_all() wants it: 0 or -ENOMEM. */
int pairing_on_sent(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		    uint32_t thread);
int pairing_on_signal(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		      uint32_t thread);
int pairing_on_death(struct pairing *j, const struct trace_event *e, uint32_t thread);

#endif
