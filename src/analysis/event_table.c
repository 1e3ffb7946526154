/* SPDX-License-Identifier: MIT */
/* analysis/event_table.c - matches each event class of a recording with a list of kinds, once. */
#include "analysis/event_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"

struct lookup {
	struct event_table *plans;
	const struct event_table_kind *kinds;
	size_t n;
};

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct lookup *m = context;
	const char *end = c->name + strlen(c->name);
	size_t i = 0;

	m->plans[number].source = s;
	m->plans[number].class = c;
	if (s->domain != TRACE_KERNEL)
		return;
	while (i < m->n &&
	       !pattern_glob(m->kinds[i].event, m->kinds[i].event + strlen(m->kinds[i].event),
			     c->name, end))
		i++;
	if (i == m->n)
		return;
	assert(m->kinds[i].role); /* 0 means: not read */
	m->plans[number].role = m->kinds[i].role;
	for (int k = 0; k < EVENT_TABLE_FIELDS && m->kinds[i].fields[k]; k++)
		m->plans[number].field[k] = ctf_class_find(c, CTF_PAYLOAD, m->kinds[i].fields[k]);
}

struct event_table *event_table_make(const struct pass *r, const struct event_table_kind *kinds,
				     size_t n)
{
	struct lookup m = { calloc(trace_n_classes(r->trace) + (size_t)1, sizeof *m.plans), kinds,
			    n };

	if (m.plans)
		pass_each_class(r, plan_class, &m);
	return m.plans;
}

bool event_table_has(const struct pass *r, const struct event_table *plans, int role)
{
	for (uint32_t i = 0; i < trace_n_classes(r->trace); i++)
		if (plans[i].role == role)
			return true;
	return false;
}
