/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/internal.h - shared by pairing.c (joins entries and exits), pairing_words.c
 * (arguments and results as text), pairing_signals.c (signals and exits of threads), pairing_exec.c
 * (threads that execute programs) and pairing_numbers.c (processes of other pid namespaces).
 *
 * The texts of a thread belong to its last call. They are written again at its exit, because then
 * more is known.
 */
#ifndef ANALYSIS_PAIRING_INTERNAL_H
#define ANALYSIS_PAIRING_INTERNAL_H

#include "analysis/pairing/pairing.h"

static inline uint32_t pairing_process(const struct pairing *j, uint32_t thread)
{
	int64_t process = threads_process(j->run.threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

static inline const char *pairing_bytes(const struct text *t)
{
	return t->size ? t->bytes : "";
}

/* pairing_chooses - whether items of @thread are passed on, as far as its number decides. */
bool pairing_chooses(const struct pairing *j, uint32_t thread);
/* pairing_call - the name of the call in progress, "" if there is none. */
const char *pairing_call(const struct pairing *j, const struct pairing_state *st);
/* pairing_on_exec - an event sched_process_exec.  Returns 0 or -ENOMEM. */
int pairing_on_exec(struct pairing *j, const struct event_table *p, const struct trace_event *e);
/* pairing_executes - whether the call in progress executes a program. */
bool pairing_executes(const struct pairing *j, const struct pairing_state *st);
/* pairing_ended - the thread has had its last item. */
void pairing_ended(struct pairing *j, uint32_t thread);
/* An item of @thread, which must have a state; for a call with its texts, without a result. */
struct pairing_item pairing_item_of(struct pairing *j, uint32_t thread, enum pairing_kind kind,
				    int64_t time_ns);
/* Passes it to the caller, unless the options exclude it. */
void pairing_give(struct pairing *j, const struct pairing_item *item);
/* The call in progress, if any, gets no exit. @result: "?" if it cannot return, "" if events were
 * lost. */
void pairing_give_open(struct pairing *j, uint32_t thread, int64_t time_ns, const char *result);

/* pairing_words.c. The texts of the arguments of the call that begins with @e. */
void pairing_words_begin(struct pairing *j, uint32_t thread, const struct trace_event *e);
/* The texts of the exit: the result, the memory shown behind it, and the arguments if the entry was
 * seen (@is_pair). */
void pairing_words_end(struct pairing *j, const struct call_class *c, const struct trace_event *e,
		       uint32_t thread, bool is_pair, int64_t result);
/* When execve() succeeds, @e (looked up as @p) has the program as a text. It replaces the first of
 * "0x7ffe, 0x7ffd". */
void pairing_words_program(struct pairing_state *st, const struct event_table *p,
			   const struct trace_event *e);
/* pairing_words_join - make the texts of the call in progress of those of its arguments. */
void pairing_words_join(struct pairing *j, struct pairing_state *st);
void pairing_words_forget(struct pairing_state *st);
void pairing_words_fini(struct pairing_state *st);

/* pairing_numbers.c: only if names of processes are wanted. An event task_newtask, then
 * sched_process_fork: the child has a state. */
void pairing_numbers_task(struct pairing *j, const struct event_table *p,
			  const struct trace_event *e, uint32_t thread);
void pairing_numbers_fork(struct pairing *j, uint32_t thread, uint32_t child);
/* A call has returned. */
void pairing_numbers_learn(struct pairing *j, uint32_t thread, const char *call, int64_t result,
			   bool is_pair);
/* Whether @thread is in the recorder's pid namespace, by what the recording shows so far. */
bool pairing_numbers_are_ours(struct pairing *j, uint32_t thread);

/* pairing_signals.c. For pass_all(): each returns 0 or -ENOMEM. */
int pairing_on_sent(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		    uint32_t thread);
int pairing_on_signal(struct pairing *j, const struct event_table *p, const struct trace_event *e,
		      uint32_t thread);
int pairing_on_death(struct pairing *j, const struct trace_event *e, uint32_t thread);

#endif
