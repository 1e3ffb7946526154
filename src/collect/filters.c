/* SPDX-License-Identifier: MIT */
/* collect/filters.c - see filters.h. */
#include "collect/filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/apps.h"
#include "ctf/schema.h"
#include "filter/compile.h"
#include "filter/payload.h"

struct filters_one {
	char *text; /* NULL: a collector before us added it, and nobody asks any more whether it fits */
	struct filter_code code;
};

int filters_add(struct filters *f, struct session *s, const char *text, struct diag *d)
{
	struct filters_one *at;
	int err;

	for (uint32_t i = 0; i < f->n; i++)
		if (f->at[i].text && !strcmp(f->at[i].text, text))
			return (int)i + 1;
	at = realloc(f->at, (f->n + 1) * sizeof *at);
	if (!at)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	f->at = at;
	at += f->n;
	err = filter_compile(text, &at->code, d);
	if (err)
		return err;
	at->text = strdup(text);
	if (!at->text)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	err = session_add_filter(s, at->code.bytes, at->code.size, d);
	if (err < 0)
		free(at->text);
	else
		f->n++; /* numbers are the session's */
	return err;
}

int filters_resume(struct filters *f, uint32_t n, struct diag *d)
{
	struct filters_one *at = realloc(f->at, (n + 1) * sizeof *at);

	if (!at)
		return diag_fail(d, -ENOMEM, "no memory for filters");
	f->at = at;
	for (; f->n < n; f->n++)
		at[f->n] = (struct filters_one){ .text = NULL };
	return 0;
}

void filters_fini(struct filters *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		free(f->at[i].text);
	free(f->at);
}

struct checking {
	const struct filters *filters;
	const struct abi_session *session;
	uint32_t only; /* 0: all */
	struct diag *diag;
	int err;
};

static bool fits(const struct filters_one *one, const struct app_event *e, struct filter_problem *why)
{
	static uint64_t room[FILTER_LINKED_BYTES_MAX / 8];

	return !one->text ||
	       filter_payload_link((struct filter *)room, sizeof room, one->code.bytes, one->code.size,
				   e->schema, strlen(e->schema), (1u << FILTER_CONTEXTS) - 1, why);
}

static int check_app(void *arg, struct app *a)
{
	struct checking *c = arg;
	struct filter_problem why;
	struct app_event e;
	struct diag reason = { "" };
	char name[512];

	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		uint32_t number = ABI_HOW_FILTER(e.how[c->session->seat]);

		if (!app_event_is_of(a, &e, c->session) || !number || number > c->filters->n ||
		    (c->only && number != c->only) ||
		    fits(&c->filters->at[number - 1], &e, &why) ||
		    !schema_name(e.schema, strlen(e.schema), name, sizeof name))
			continue;
		filter_explain(&why, -EINVAL, &reason);
		c->err = diag_fail(c->diag, -EINVAL, "-f '%s' lets no %s pass: %s",
				   c->filters->at[number - 1].text, name, reason.text);
		return 1;
	}
	return 0;
}

int filters_check(const struct filters *f, const struct session *s, pid_t pid, uint32_t number,
		  struct diag *d)
{
	struct checking c = { .filters = f, .session = &s->file, .only = number, .diag = d };

	if (f->n)
		apps_each(s->dir, pid, check_app, &c);
	return c.err;
}
