/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/callstack.c - reads call stacks from a context or a payload, in one walk over the
 * fields.
 */
#include "analysis/stacks/callstack.h"

#include <string.h>

static bool is_stack(const char *name)
{
	return !strcmp(name, "callstack_user") || !strcmp(name, "callstack_kernel");
}

bool callstack_find(const struct ctf_event_class *c, enum ctf_scope *scope)
{
	for (const struct ctf_op *op = c->program ? c->program->ops : NULL;
	     op && op->code != OP_END; op++)
		if ((op->scope == CTF_CONTEXT || op->scope == CTF_PAYLOAD) && op->name &&
		    is_stack(op->name)) {
			*scope = op->scope;
			return true;
		}
	return false;
}

bool callstack_is_of_sample(const struct trace_source *s, const struct ctf_event_class *c)
{
	return s->domain == TRACE_KERNEL &&
	       (!strcmp(c->name, "profile") || !strncmp(c->name, "counter_", strlen("counter_")));
}

int callstack_read(const struct trace_event *e, enum ctf_scope scope,
		   uint64_t addresses[CALLSTACK_FRAMES_MAX])
{
	uint64_t user[CALLSTACK_FRAMES_MAX / 2];
	int n[2] = { 0 }, which = -1;
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;

	ctf_walk_event(&w, e->ctf, scope);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END && v.scope == scope) {
		if (found == CTF_OPEN_ARRAY && v.name && is_stack(v.name))
			which = !strcmp(v.name, "callstack_kernel");
		else if (found == CTF_CLOSE_ARRAY)
			which = -1;
		else if (which >= 0 && (found == CTF_UINT || found == CTF_INT) &&
			 n[which] < CALLSTACK_FRAMES_MAX / 2)
			(which ? addresses : user)[n[which]++] = v.u;
	}
	memcpy(addresses + n[1], user, (size_t)n[0] * sizeof *user);
	return n[0] + n[1];
}

int callstack_read_user(const struct trace_event *e, enum ctf_scope scope, uint64_t *addresses,
			int most)
{
	uint64_t all[CALLSTACK_FRAMES_MAX];
	int n = callstack_read(e, scope, all), first = 0;

	/* The kernel's frames are first, in the upper half of the addresses. */
	while (first < n && all[first] >> 63)
		first++;
	n = n - first < most ? n - first : most;
	memcpy(addresses, all + first, (size_t)n * sizeof *all);
	return n;
}

/* The last frames that equal those @period before them. */
static int equal_at_end(const uint64_t *addresses, int n, int period)
{
	int equal = 0;

	while (equal < n - period && addresses[n - 1 - equal] == addresses[n - 1 - equal - period])
		equal++;
	return equal;
}

int callstack_without_loop(const uint64_t *addresses, int n)
{
	enum { ROUNDS = 4, FRAMES = 16 }; /* fewer are a short recursion */

	for (int period = 1; period <= n / ROUNDS; period++) {
		int equal = equal_at_end(addresses, n, period);

		if (equal >= (ROUNDS - 1) * period && equal + period >= FRAMES)
			return n - equal;
	}
	return n;
}
