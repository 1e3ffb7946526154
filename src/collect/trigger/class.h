/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/class.h - one class of events, as triggers see it: how long an event is, which
 * triggers wait for it, with which filter, and where the field is that tells pairs apart.
 *
 * The collector moves bytes and does not interpret events; these few it does.  A schema may come
 * from anybody, and so may the bytes of an event: nothing is read beyond their end.
 */
#ifndef COLLECT_TRIGGER_CLASS_H
#define COLLECT_TRIGGER_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/schema.h"
#include "collect/trigger/engine.h"
#include "filter/payload.h"

/* Parts of varying size: so many bytes, then a string, or a u32 that tells how many elements
 * follow. */
struct trigger_part {
	uint32_t before;
	uint32_t element_bytes; /* 0: a string */
};

/* A field that is a number or a text. */
struct trigger_field {
	struct schema_type type;
	uint32_t n_parts; /* that lie before it, */
	uint32_t offset;  /* and so many bytes behind them */
};

struct trigger_use {
	int slot;
	uint32_t number;
	bool is_second;
	bool is_mixed;	/* the other event of the pair is the kernel's */
	bool by_thread; /* else by this: */
	struct trigger_field field;
	struct filter *filter; /* NULL: none */
};

struct trigger_class {
	uint32_t generation;	/* of the triggers that `uses` are of */
	char *name;		/* "channel:name" */
	uint32_t n_parts, rest; /* bytes behind the last of the parts */
	struct trigger_part parts[SCHEMA_FIELDS_MAX];
	int n_uses;
	struct trigger_use
		uses[2 * TRIGGERS_MAX]; /* a second comes before a first of the same trigger */
};

/* trigger_class_make - of a schema of @size bytes (docs/formats/schema.md); NULL if it makes no
 * sense, or there is no memory. */
struct trigger_class *trigger_class_make(const char *schema, size_t size);
void trigger_class_free(struct trigger_class *c);

/* trigger_class_use - who waits for it, of the triggers there are now.  @schema as before. */
void trigger_class_use(struct trigger_class *c, const struct triggers *t, const char *schema,
		       size_t size);

/* trigger_class_fits - whether @a waits for events of this schema: 1, 0, or -EINVAL with what is
 * missing in them: they would never fire it. */
int trigger_class_fits(const struct armed *a, const char *schema, size_t size, struct diag *d);

/* trigger_class_size - bytes of the payload that begins at @payload; 0 if it goes beyond @most. */
bool trigger_class_size(const struct trigger_class *c, const char *payload, size_t most,
			size_t *size);

/* trigger_class_key - what the field has: equal values have equal keys, also of other widths. False
 * if it lies beyond @size. */
bool trigger_class_key(const struct trigger_class *c, const struct trigger_field *f,
		       const char *payload, size_t size, uint64_t *key);

#endif
