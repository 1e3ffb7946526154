/* SPDX-License-Identifier: MIT */
/* ctf/write/sizes.c - the sizes of contexts and of fields, in the order of the metadata. */
#include "ctf/write/sizes.h"

#include "abi/context.h"
#include "base/schema.h"

/* Of context @i; 0: a sequence of addresses. */
static unsigned context_bytes(int i)
{
	switch (i) {
	case ABI_CONTEXT_PROCNAME:
		return 17;
	case ABI_CONTEXT_CALLSTACK:
		return 0;
	case ABI_CONTEXT_SLOT:
		return 16;
	case ABI_CONTEXT_IP:
	case ABI_CONTEXT_PERF_CYCLES:
	case ABI_CONTEXT_PERF_INSTRUCTIONS:
	case ABI_CONTEXT_PERF_CACHE_MISSES:
	case ABI_CONTEXT_PERF_BRANCH_MISSES:
		return 8;
	default:
		return 4;
	}
}

void context_to_sizes(struct sizes *s, uint64_t mask)
{
	for (int i = 0; i < ABI_CONTEXTS; i++) {
		if (!(mask & ABI_CONTEXT_BIT(i)))
			continue;
		if (context_bytes(i))
			sizes_add_fixed(s, context_bytes(i));
		else
			sizes_add_step(s, sizeof(uint64_t));
	}
}

static void add_field(struct sizes *s, const struct schema_type *t)
{
	unsigned element = t->base == 'c' ? 1 : t->bits / 8;

	if (t->base == 's')
		sizes_add_step(s, 0);
	else if (t->shape == SCHEMA_SEQUENCE)
		sizes_add_step(s, element);
	else
		sizes_add_fixed(s,
				t->shape == SCHEMA_ARRAY ? (uint64_t)element * t->count : element);
}

void schema_to_sizes(struct sizes *s, const char *schema, size_t size)
{
	struct schema_text words = { schema, schema + size };
	struct schema_type type;

	schema_next_word(&words); /* level */
	schema_next_word(&words); /* name */
	if (!schema_is_sound(words))
		return;
	for (;;) {
		struct schema_text word = schema_next_word(&words);

		schema_next_word(&words);
		if (!schema_read_type(word, &type))
			return;
		add_field(s, &type);
	}
}
