/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/calls.c - calls among events, in the order of time (analysis/calls).
 *
 * The kernel is left out of the walk: its events are shown as they are.
 */
#include "cmd/view/calls.h"

#include <string.h>

bool view_calls_form(const char *text, enum view_calls_form *form)
{
	static const char *const names[] = { "line", "both", "none" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(text, names[i])) {
			*form = (enum view_calls_form)i;
			return true;
		}
	return false;
}

int view_calls_open(struct view_calls *v, struct trace *t, enum view_calls_form form,
		    struct diag *d)
{
	const struct fcalls_options o = { .range = { INT64_MIN, INT64_MAX },
					  .is_without_kernel = true };
	int err;

	*v = (struct view_calls){ .trace = t, .form = form };
	if (form == VIEW_CALLS_NONE)
		return 0;
	err = fcalls_open(&v->calls, t, d);
	if (!err && fcalls_has_calls(v->calls))
		return fcalls_walk_open(&v->walk, v->calls, &o, d);
	fcalls_close(v->calls);
	v->calls = NULL;
	return err;
}

void view_calls_close(struct view_calls *v)
{
	fcalls_walk_close(v->walk);
	fcalls_close(v->calls);
	*v = (struct view_calls){ 0 };
}

/* The thread as its batches name it; NULL: it has none. */
static const struct fcalls_thread *thread_of(struct view_calls *v, int64_t tid)
{
	uint32_t n = fcalls_n_threads(v->calls);

	for (uint32_t i = 0; i < n; i++, v->last_thread = (v->last_thread + 1) % n)
		if (fcalls_thread(v->calls, v->last_thread)->tid == tid)
			return fcalls_thread(v->calls, v->last_thread);
	return NULL;
}

static void make_call(struct view_calls *v, const struct fcalls_item *item,
		      struct view_call_item *c)
{
	const struct thread *t = threads_at(fcalls_walk_pass(v->walk)->threads, item->thread);
	const struct fcalls_function *f = fcalls_function(v->calls, item->id);
	const struct fcalls_thread *of = thread_of(v, t->tid);
	const struct fcalls_process *p = of ? fcalls_process(v->calls, of->process) : NULL;
	int64_t pid = t->pid < 0 && p ? p->pid : t->pid;
	bool is_end = item->is == FCALLS_LEAVE;

	v->stream.source = trace_source(v->trace, p ? p->source : 0);
	c->event = (struct trace_event){ .time_ns = item->time_ns,
					 .cpu = TRACE_CPU_UNKNOWN,
					 .stream = &v->stream };
	c->who = (struct thread_identity){ .name = t->name,
					   .size = t->name_size,
					   .pid = pid,
					   .tid = t->tid,
					   .vpid = pid,
					   .vtid = t->tid };
	c->call = (struct view_call){
		.event = v->form == VIEW_CALLS_LINE ? "call"
			 : is_end		    ? "call_exit"
						    : "call_entry",
		.function = f->shown,
		.object = f->object,
		.depth = item->depth,
		.duration_ns = is_end && !(item->flags & FCALLS_HEADLESS)
				       ? item->time_ns - item->begin_ns
				       : -1,
		.mark = item->flags & FCALLS_UNWOUND ? "unwound"
			: item->flags & FCALLS_OPEN  ? "open"
						     : "",
	};
}

int view_calls_next(struct view_calls *v, struct trace_event *e, struct view_call_item *c,
		    struct diag *d)
{
	struct fcalls_item item;
	int is;

	if (!v->walk)
		return trace_next(v->trace, e, d);
	while ((is = fcalls_walk_next(v->walk, &item, d)) > 0) {
		if (is == FCALLS_EVENT || is == FCALLS_LOST) {
			*e = *item.event;
			return is == FCALLS_EVENT ? TRACE_EVENT : TRACE_LOST;
		}
		if (item.kind != FCALLS_FUNCTION ||
		    (is == FCALLS_ENTER && v->form == VIEW_CALLS_LINE))
			continue;
		make_call(v, &item, c);
		*e = c->event;
		return VIEW_CALL;
	}
	return is < 0 ? is : TRACE_END;
}
