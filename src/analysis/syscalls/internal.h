/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/internal.h - a struct pairs' insides, for pairing.c (calls from their beginnings to their ends), pairing_words.c
 * (what is told of them) and pairing_signals.c (what else happens to threads).
 *
 * A thread's words are of its last call; they are told anew at its end, for then more is known.
 */
#ifndef ANALYSIS_SYSCALLS_INTERNAL_H
#define ANALYSIS_SYSCALLS_INTERNAL_H

#include "analysis/syscalls/pairing.h"

static inline uint32_t pairs_process(const struct pairs *j, uint32_t thread)
{
	int64_t process = threads_process(j->run.threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

static inline const char *pairs_bytes(const struct text *t)
{
	return t->size ? t->bytes : "";
}

/* An item of @thread, whose state there must be; of a call with its words, without a result. */
struct pairs_item pairs_item_of(const struct pairs *j, uint32_t thread, enum pairs_kind kind, int64_t time_ns);
/* Gives it, if it is wanted. */
void pairs_give(struct pairs *j, const struct pairs_item *item);
/* The call in progress, if any, will not be seen to return; @result: why, if it is not that something was lost. */
void pairs_give_open(struct pairs *j, uint32_t thread, int64_t time_ns, const char *result);

/* pairing_words.c.  The arguments of the call that begins with @e. */
void pairs_words_begin(struct pairs *j, uint32_t thread, const struct trace_event *e);
/* What is known at its end: the result; what comes behind that; arguments, unless its beginning was not seen (@is_pair). */
void pairs_words_end(struct pairs *j, const struct call_class *c, const struct trace_event *e, uint32_t thread, bool is_pair,
		     int64_t result);
/* "0x7ffe, 0x7ffd": the kernel has the first as a text when an execve() has succeeded, of which @e, planned as @p, tells. */
void pairs_words_program(struct pairs *j, struct pairs_state *st, const struct plan *p, const struct trace_event *e);
void pairs_words_forget(struct pairs_state *st);
void pairs_words_fini(struct pairs_state *st);

/* pairing_signals.c.  As run_all() wants it: 0 or -ENOMEM. */
int pairs_see_sent(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread);
int pairs_see_signal(struct pairs *j, const struct plan *p, const struct trace_event *e, uint32_t thread);
int pairs_see_death(struct pairs *j, const struct trace_event *e, uint32_t thread);

#endif
