/* SPDX-License-Identifier: MIT */
/* cmd/nearest.c - try the names that a recording has. */
#include "cmd/nearest.h"

#include <stdio.h>
#include <string.h>

#include "analysis/public.h"

void nearest_try_events(struct nearest *n, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next) {
			const char *colon = strchr(c->name, ':');
			char channel[NEAREST_MAX];

			if (!colon || strchr(n->wanted, ':')) {
				nearest_try(n, c->name);
				continue;
			}
			nearest_try(n, colon + 1);
			if (snprintf(channel, sizeof channel, "%.*s", (int)(colon - c->name),
				     c->name) < NEAREST_MAX)
				nearest_try(n, channel);
		}
}

void nearest_try_fields(struct nearest *n, const struct trace *t, const char *pattern)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			for (uint32_t k = 0; pass_is_like(pattern, s, c->name) && c->program &&
					     k < c->program->n_ops;
			     k++)
				if (c->program->ops[k].name && !c->program->ops[k].is_hidden)
					nearest_try(n, c->program->ops[k].name);
	}
}
