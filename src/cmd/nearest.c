/* SPDX-License-Identifier: MIT */
/* cmd/nearest.c - the name with the smallest edit distance to one that does not exist. */
#include "cmd/nearest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analysis/public.h"

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Both are shorter than NEAREST_MAX. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NEAREST_MAX + 1], *two = rows[0], *one = rows[1], *now = rows[2];
	size_t n = strlen(b);

	assert(n < NEAREST_MAX);
	for (unsigned k = 0; k <= n; k++)
		one[k] = k;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned *spare = two;

		now[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			now[k] = least(one[k - 1] + (a[i - 1] != b[k - 1]),
				       least(one[k], now[k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = least(now[k], two[k - 2] + 1);
		}
		two = one;
		one = now;
		now = spare;
	}
	return one[n];
}

void nearest_try(struct nearest *n, const char *name)
{
	size_t wanted = strlen(n->wanted), size = strlen(name);
	unsigned d;

	if (wanted >= NEAREST_MAX || size >= NEAREST_MAX || !strcmp(name, n->best))
		return;
	d = distance(n->wanted, name);
	if (d > (wanted > size ? wanted : size) / 3 || (*n->best && d >= n->distance))
		return;
	assert(size < sizeof n->best);
	n->distance = d;
	memcpy(n->best, name, size + 1);
}

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

const char *nearest_text(const struct nearest *n, char buffer[NEAREST_MAX + 32])
{
	*buffer = 0;
	if (*n->best)
		snprintf(buffer, NEAREST_MAX + 32, ": did you mean %s?", n->best);
	return buffer;
}
