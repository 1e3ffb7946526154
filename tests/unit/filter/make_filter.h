/* SPDX-License-Identifier: MIT */
/* tests/unit/filter/make_filter.h - payloads, contexts, and filters over them. */
#ifndef FILTER_MAKE_H
#define FILTER_MAKE_H

#include <errno.h>

#include "filter/compile.h"
#include "filter/payload.h"
#include "test.h"

struct payload {
	size_t size;
	uint8_t bytes[512];
};

static inline void put(struct payload *p, const void *bytes, size_t size)
{
	memcpy(p->bytes + p->size, bytes, size);
	p->size += size;
}

#define PUT(p, type, value)                                                                        \
	do {                                                                                       \
		type put_ = (value);                                                               \
		put(p, &put_, sizeof put_);                                                        \
	} while (0)

static inline void put_text(struct payload *p, const char *text)
{
	put(p, text, strlen(text) + 1);
}

enum { ALL_CONTEXTS = (1 << FILTER_CONTEXTS) - 1 };

static inline bool give_context(const struct filter_source *s, uint32_t which,
				struct filter_value *v)
{
	(void)s;
	switch (which) {
	case FILTER_VPID:
		*v = (struct filter_value){ .bits = 4711 };
		return true;
	case FILTER_VTID:
		*v = (struct filter_value){ .bits = 4712 };
		return true;
	case FILTER_PROCNAME:
		v->text = "shop";
		v->more = 4;
		return true;
	case FILTER_CPU_ID:
		*v = (struct filter_value){ .bits = 1 };
		return true;
	}
	return false;
}

static const struct filter_source contexts = { give_context };

struct linked {
	union {
		struct filter f;
		uint64_t room[FILTER_LINKED_BYTES_MAX / 8];
	};
};

/* A compiled @text, linked to @schema.  A failure is printed. */
static inline bool make_filter(struct linked *l, const char *schema, const char *text,
			       struct filter_problem *problem, struct diag *d)
{
	struct filter_code code;

	*problem = (struct filter_problem){ FILTER_FINE, "" };
	if (filter_compile(text, &code, d))
		return false;
	if (filter_payload_link(&l->f, sizeof *l, code.bytes, code.size, schema, strlen(schema),
				ALL_CONTEXTS, problem))
		return true;
	filter_explain(problem, -EINVAL, d);
	return false;
}

#endif
