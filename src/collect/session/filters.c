/* SPDX-License-Identifier: MIT */
/*
 * collect/session/filters.c - compile filters, store their texts for successors, and check them
 * against programs' events.
 */
#include "collect/session/filters.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "collect/session/programs.h"
#include "ctf/write/public.h"
#include "filter/compile.h"
#include "filter/payload.h"

struct filters_one {
	bool is_known; /* false: its text does not compile here, and it is not checked */
	struct filter_code code;
};

static int make_room(struct filters *f, uint32_t n, struct diag *d)
{
	struct filters_one *at = realloc(f->at, n * sizeof *at);

	if (!at)
		return diag_fail(d, -ENOMEM, "no memory for filters");
	f->at = at;
	return 0;
}

static void find_unknown(void *to, bool is_context, const char *name)
{
	char *unknown = to;

	for (int i = 0; filter_context_name((enum filter_context)i); i++)
		if (!strcmp(name, filter_context_name((enum filter_context)i)))
			return;
	if (is_context && !*unknown)
		snprintf(unknown, ABI_FILTER_NAME_MAX + 1, "%s", name);
}

/* Fields differ from event to event; contexts are the same for all, so a wrong one never passes. */
static int check_contexts(const struct filter_code *code, const char *text, struct diag *d)
{
	char unknown[ABI_FILTER_NAME_MAX + 1] = "";

	filter_each_name(code, find_unknown, unknown);
	return *unknown ? diag_fail(d, -EINVAL,
				    "-f '%s': there is no context `$%s': $vpid, $vtid, $procname, "
				    "$cpu_id, $ppid, $uid, $gid and $ip are",
				    text, unknown)
			: 0;
}

/* Stores the text first: a successor finds a text for each filter that programs have. */
int filters_add(struct filters *f, struct session *s, const char *text, struct diag *d)
{
	struct filters_one *one;
	int err;

	assert(f->n <= ABI_FILTERS);
	for (uint32_t i = 0; i < f->n; i++)
		if (!strcmp(f->saved->text[i], text))
			return (int)i + 1;
	if (f->n == ABI_FILTERS || strlen(text) >= FILTER_TEXT_BYTES)
		return diag_fail(d, -E2BIG,
				 f->n == ABI_FILTERS ? "the session has no room for more filters"
						     : "a filter is at most 4095 bytes long");
	err = make_room(f, f->n + 1, d);
	if (err)
		return err;
	one = &f->at[f->n];
	one->is_known = true;
	err = filter_compile(text, &one->code, d);
	if (!err)
		err = check_contexts(&one->code, text, d);
	if (err)
		return err;
	strcpy(f->saved->text[f->n], text);
	err = session_add_filter(s, one->code.bytes, one->code.size, d);
	if (err > 0)
		store_release(&f->saved->n, ++f->n); /* the numbers are those of the session */
	return err;
}

int filters_resume(struct filters *f, uint32_t n, struct diag *d)
{
	int err = make_room(f, n + 1, d);

	assert(n <= ABI_FILTERS);
	if (err)
		return err;
	for (; f->n < n; f->n++)
		f->at[f->n].is_known =
			!filter_compile(f->saved->text[f->n], &f->at[f->n].code, NULL);
	store_release(&f->saved->n, n);
	return 0;
}

void filters_fini(struct filters *f)
{
	free(f->at);
}

struct checking {
	const struct filters *filters;
	const struct abi_session *session;
	uint32_t only; /* 0: all */
	struct diag *diag;
	int err;
};

static bool fits(const struct filters_one *one, const struct program_event *e,
		 struct filter_problem *why)
{
	static uint64_t buffer[FILTER_LINKED_BYTES_MAX / 8];

	return !one->is_known ||
	       filter_payload_link((struct filter *)buffer, sizeof buffer, one->code.bytes,
				   one->code.size, e->schema, strlen(e->schema),
				   (1u << FILTER_CONTEXTS) - 1, why);
}

static int check_program(void *arg, struct program *a)
{
	struct checking *c = arg;
	struct filter_problem why;
	struct program_event e;
	struct diag reason = { "" };
	char name[512];

	for (uint32_t i = 0; program_event(a, i, &e); i++) {
		uint32_t number = ABI_ROUTING_FILTER(e.routing[c->session->session_slot]);

		if (!program_event_is_of(a, &e, c->session) || !number || number > c->filters->n ||
		    (c->only && number != c->only) || fits(&c->filters->at[number - 1], &e, &why) ||
		    !schema_name(e.schema, strlen(e.schema), name, sizeof name))
			continue;
		filter_explain(&why, -EINVAL, &reason);
		c->err = diag_fail(c->diag, -EINVAL, "-f '%s' lets no %s pass: %s",
				   c->filters->saved->text[number - 1], name, reason.text);
		return 1;
	}
	return 0;
}

int filters_check(const struct filters *f, const struct session *s, pid_t pid, uint32_t number,
		  struct diag *d)
{
	struct checking c = { .filters = f, .session = &s->file, .only = number, .diag = d };

	if (f->n)
		programs_each(s->dir, pid, check_program, &c);
	return c.err;
}
