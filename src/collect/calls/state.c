/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/state.c - count the functions in calls files.
 *
 * Programs change them meanwhile: each number is read once, and none is used as an index unchecked.
 */
#include "collect/calls/state.h"

#include <stdio.h>
#include <unistd.h>

#include "base/runtime.h"
#include "collect/calls/files.h"

enum { AT_ONCE = 256 };

static void count_functions(struct calls_state *s, const struct calls_file *f)
{
	uint32_t n = f->head.n_functions < ABI_CALLS_FUNCTIONS ? f->head.n_functions
							       : ABI_CALLS_FUNCTIONS;
	struct abi_calls_function some[AT_ONCE];

	for (uint32_t i = 0; i < n; i += AT_ONCE) {
		uint32_t k = n - i < AT_ONCE ? n - i : AT_ONCE;
		const size_t bytes = k * sizeof *some;

		if (pread(f->fd, some, bytes, (off_t)(ABI_CALLS_FUNCTIONS_AT + i * sizeof *some)) !=
		    (ssize_t)bytes)
			return;
		for (uint32_t j = 0; j < k; j++) {
			s->patched += some[j].state == ABI_FUNCTION_ON ||
				      some[j].state == ABI_FUNCTION_KEPT ||
				      some[j].state == ABI_FUNCTION_ELIDED;
			s->elided += some[j].state == ABI_FUNCTION_ELIDED;
			s->refused += some[j].state == ABI_FUNCTION_REFUSED;
			s->waiting += some[j].state == ABI_FUNCTION_WAITS;
			s->calls += some[j].calls;
		}
	}
}

static void add_thread_losses(struct calls_state *s, const struct calls_file *f)
{
	uint32_t n = f->head.n_threads < ABI_CALLS_THREADS ? f->head.n_threads : ABI_CALLS_THREADS;
	uint64_t lost;

	for (uint32_t i = 0; i < n; i++)
		if (pread(f->fd, &lost, sizeof lost,
			  (off_t)(ABI_CALLS_THREADS_AT + (uint64_t)i * ABI_CALLS_THREAD_BYTES +
				  offsetof(struct abi_calls_thread, lost))) == (ssize_t)sizeof lost)
			s->lost += lost;
}

static void read_state(struct calls_state *s, const struct calls_file *f)
{
	*s = (struct calls_state){ .pid = (pid_t)f->head.pid,
				   .epoch = f->head.epoch,
				   .mode = f->head.mode,
				   .generation = f->head.generation,
				   .wanted = f->head.wanted,
				   .objects = f->head.n_objects,
				   .lost = f->head.lost };
	snprintf(s->program, sizeof s->program, "%s", f->head.program);
	snprintf(s->session, sizeof s->session, "%s", f->head.session);
	count_functions(s, f);
	add_thread_losses(s, f);
}

struct visiting {
	void (*visit)(void *arg, const struct calls_state *s);
	void *arg;
};

static void visit_file(void *arg, const struct calls_file *f)
{
	const struct visiting *v = arg;
	struct calls_state s;

	if (!f->is_used || f->head.collect)
		return;
	read_state(&s, f);
	v->visit(v->arg, &s);
}

void calls_states_each(int dir, uint64_t epoch,
		       void (*visit)(void *arg, const struct calls_state *s), void *arg)
{
	struct visiting v = { visit, arg };

	calls_files_each(dir, epoch, visit_file, &v);
}

bool calls_state_of_pid(int dir, pid_t pid, struct calls_state *s)
{
	char name[CALLS_FILE_NAME_BYTES];
	struct calls_file f;

	snprintf(name, sizeof name, "calls-%d-%u", (int)pid, runtime_self().proc);
	if (!calls_file_open(dir, name, &f))
		return false;
	if (f.is_used)
		read_state(s, &f);
	close(f.fd);
	return f.is_used;
}
