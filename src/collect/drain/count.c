/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/count.c - step over events by the lengths of their classes.
 *
 * Most classes have one length: then an event costs a load of its id, a look-up and an addition.
 */
#include "collect/drain/count.h"

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

void counter_describe(struct counter *c, uint32_t id, const char *schema, size_t size)
{
	struct sizes s = { .n_steps = 0 };
	struct class_size *to = &c->classes[id <= ABI_SCHEMAS ? id : 0];

	sizes_add_fixed(&s, 2 * sizeof(uint32_t)); /* vpid, vtid */
	context_to_sizes(&s, c->contexts);
	schema_to_sizes(&s, schema, size);
	free(to->steps);
	*to = (struct class_size){ 0 };
	if (s.n_steps && !(to->steps = malloc(s.n_steps * sizeof *s.steps)))
		return;
	if (s.n_steps)
		memcpy(to->steps, s.steps, s.n_steps * sizeof *s.steps);
	to->n_steps = s.n_steps;
	to->fixed = s.fixed;
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

uint64_t counter_count(const struct counter *c, const void *bytes, size_t size)
{
	const uint8_t *p = bytes, *end = p + size;
	struct abi_ctf_event_extended long_header;
	const struct class_size *class;
	uint64_t n = 0;
	uint16_t id;

	for (; (size_t)(end - p) >= sizeof(struct abi_ctf_event); n++) {
		memcpy(&id, p, sizeof id);
		if (id != ABI_CTF_EXTENDED) {
			class = &c->classes[id <= ABI_SCHEMAS ? id : 0];
			p += sizeof(struct abi_ctf_event);
		} else {
			if ((size_t)(end - p) < sizeof long_header)
				break;
			memcpy(&long_header, p, sizeof long_header);
			class = &c->classes[long_header.id <= ABI_SCHEMAS ? long_header.id : 0];
			p += sizeof long_header;
		}
		if (!class->n_steps && (!class->fixed || (size_t)(end - p) < class->fixed))
			break;
		p = class->n_steps ? body_end(class, p, end) : p + class->fixed;
		if (!p)
			break;
	}
	return n;
}
