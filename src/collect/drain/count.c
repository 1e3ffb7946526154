/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/count.c - step over events by the lengths of their classes.
 *
 * Most classes have one length: then an event costs a load of its header, a look-up and an addition.
 */
#include "collect/drain/count.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "abi/pool.h"
#include "ctf/write/public.h"

struct class_size {
	uint32_t fixed; /* 0: the class is not described */
	uint32_t n_steps;
	struct sizes_step *steps;
};

struct counter {
	uint64_t contexts;
	struct class_size classes[ABI_SCHEMAS + 1]; /* by id */
};

struct counter *counter_open(uint64_t contexts)
{
	struct counter *c = calloc(1, sizeof *c);

	if (c)
		c->contexts = contexts;
	return c;
}

void counter_close(struct counter *c)
{
	for (uint32_t i = 0; c && i <= ABI_SCHEMAS; i++)
		free(c->classes[i].steps);
	free(c);
}

int counter_describe(struct counter *c, uint32_t id, const char *schema, size_t size)
{
	struct sizes s = { .n_steps = 0 };
	struct class_size *to;
	struct sizes_step *steps = NULL;

	assert(id && id <= ABI_SCHEMAS);
	to = &c->classes[id];

	sizes_add_fixed(&s, 2 * sizeof(uint32_t)); /* vpid, vtid */
	context_to_sizes(&s, c->contexts);
	schema_to_sizes(&s, schema, size);
	if (s.n_steps && !(steps = malloc(s.n_steps * sizeof *steps)))
		return -ENOMEM;
	if (s.n_steps)
		memcpy(steps, s.steps, s.n_steps * sizeof *steps);
	free(to->steps);
	*to = (struct class_size){ .fixed = s.fixed, .n_steps = s.n_steps, .steps = steps };
	return 0;
}

/* Where the part of variable size ends; NULL: beyond @end. */
static const uint8_t *step_over(const struct sizes_step *s, const uint8_t *p, const uint8_t *end)
{
	uint32_t n;

	if ((size_t)(end - p) < s->skip)
		return NULL;
	p += s->skip;
	if (!s->element) {
		p = memchr(p, 0, (size_t)(end - p));
		return p ? p + 1 : NULL;
	}
	if ((size_t)(end - p) < sizeof n)
		return NULL;
	memcpy(&n, p, sizeof n);
	p += sizeof n;
	return (uint64_t)n * s->element <= (uint64_t)(end - p) ? p + (uint64_t)n * s->element
							       : NULL;
}

static const uint8_t *body_end(const struct class_size *c, const uint8_t *p, const uint8_t *end)
{
	for (uint32_t i = 0; i < c->n_steps && p; i++)
		p = step_over(&c->steps[i], p, end);
	return p && (size_t)(end - p) >= c->fixed ? p + c->fixed : NULL;
}

/* The time of the event with this short header: the first one from @last_ns on with these low bits. */
static uint64_t short_time(uint32_t low, uint64_t last_ns)
{
	return last_ns + (uint32_t)(low - (uint32_t)last_ns);
}

struct counted counter_count(const struct counter *c, const void *bytes, size_t size,
			     uint64_t begin_ns, uint64_t most_ns)
{
	const uint8_t *first = bytes, *p = first, *end = p + size;
	struct counted n = { .last_ns = begin_ns };
	struct abi_ctf_event_extended long_header;
	struct abi_ctf_event header;
	const struct class_size *class;
	uint64_t ns;

	while ((size_t)(end - p) >= sizeof header) {
		memcpy(&header, p, sizeof header);
		if (header.id != ABI_CTF_EXTENDED) {
			class = &c->classes[header.id <= ABI_SCHEMAS ? header.id : 0];
			ns = short_time(header.time, n.last_ns);
			p += sizeof header;
		} else {
			if ((size_t)(end - p) < sizeof long_header)
				break;
			memcpy(&long_header, p, sizeof long_header);
			class = &c->classes[long_header.id <= ABI_SCHEMAS ? long_header.id : 0];
			ns = long_header.time;
			p += sizeof long_header;
		}
		if (ns < n.last_ns || ns > most_ns)
			break;
		if (!class->n_steps && (!class->fixed || (size_t)(end - p) < class->fixed))
			break;
		p = class->n_steps ? body_end(class, p, end) : p + class->fixed;
		if (!p)
			break;
		n.events++;
		n.bytes = (size_t)(p - first);
		n.last_ns = ns;
	}
	return n;
}
