/* SPDX-License-Identifier: MIT */
/* analysis/stacks/own.c - reads a recording once, for the threads that it follows: own.h. */
#include "analysis/stacks/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/coverage.h"
#include "analysis/stacks/callstack.h"
#include "analysis/stacks/table.h"
#include "base/hash.h"

struct stacks_own {
	struct pass run;
	struct coverage coverage;
	const struct trace_source **host; /* by thread: a source of its host; NULL: no events */
	uint32_t n_hosts;
	struct table threads; /* (host, tid): of those that are followed */
};

static bool is_followed(const struct trace_source *s)
{
	const char *scope = ctf_meta_env(s->meta, "duet_scope");

	return s->domain == TRACE_KERNEL && scope && !strcmp(scope, "followed");
}

bool stacks_own_is_needed(const struct trace *t)
{
	enum ctf_scope scope;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c && is_followed(s);
		     c = c->next)
			if (!callstack_is_of_sample(s, c) && callstack_find(c, &scope))
				return true;
	}
	return false;
}

static uint64_t host_of(const struct trace_source *s)
{
	return hash_bytes(s->hostname, strlen(s->hostname));
}

static int prepare(void *context)
{
	struct stacks_own *own = context;

	return coverage_init(&own->coverage, &own->run);
}

static int on_event(void *context, struct pass *r, const struct trace_event *e, uint32_t thread)
{
	struct stacks_own *own = context;
	int64_t got = coverage_on_event(&own->coverage, r, e, thread);

	if (got < 0 || pass_grow(&own->host, &own->n_hosts, thread, sizeof *own->host))
		return -ENOMEM;
	own->host[thread] = e->stream->source;
	return 0;
}

static int on_lost(void *context, struct pass *r, const struct trace_event *e)
{
	int64_t got = coverage_lost(&((struct stacks_own *)context)->coverage, e);

	(void)r;
	return got < 0 ? (int)got : 0;
}

static int finish(void *context)
{
	struct stacks_own *own = context;
	int err = coverage_finalize(&own->coverage, &own->run);

	for (uint32_t i = 1; i < own->n_hosts && !err; i++) {
		struct slot *slot;

		if (!own->host[i] || !coverage_is_complete(&own->coverage, i))
			continue;
		slot = table_find(&own->threads, host_of(own->host[i]),
				  (uint64_t)threads_at(own->run.threads, i)->tid);
		if (!slot)
			err = -ENOMEM;
		else if (!slot->value)
			fill(&own->threads, slot, i);
	}
	return err;
}

int stacks_own_open(struct stacks_own **own, struct trace *t, struct diag *d)
{
	static const struct pass_analysis analysis = { .about = "threads",
						       .prepare = prepare,
						       .on_event = on_event,
						       .on_lost = on_lost,
						       .finish = finish };
	struct stacks_own *o = calloc(1, sizeof *o);
	int err;

	*own = o;
	if (!o)
		return diag_fail(d, -ENOMEM, "no memory for threads");
	err = pass_run(&o->run, t, NULL, &analysis, o, d);
	/* Release everything that refers to the trace. */
	coverage_fini(&o->coverage);
	pass_fini(&o->run);
	free(o->host);
	o->host = NULL;
	if (err) {
		stacks_own_close(o);
		*own = NULL;
	}
	return err;
}

void stacks_own_close(struct stacks_own *own)
{
	if (own)
		free(own->threads.at);
	free(own);
}

bool stacks_own_has(const struct stacks_own *own, const struct trace_event *e,
		    const struct thread_identity *w)
{
	const struct trace_source *s = e->stream->source;

	if (!is_followed(s) || callstack_is_of_sample(s, e->ctf->class))
		return true;
	return own->threads.n_slots &&
	       slot_of(own->threads.at, own->threads.n_slots, host_of(s), (uint64_t)w->tid)->value;
}
