/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/class.h - one event class as triggers see it: the size of its events, the
 * triggers that wait for it and their filters, and the field that identifies a pair.
 *
 * The collector otherwise moves bytes and does not interpret events.  Schemas and payloads come
 * from untrusted programs: nothing is read beyond their end.
 */
#ifndef COLLECT_TRIGGER_CLASS_H
#define COLLECT_TRIGGER_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/schema.h"
#include "collect/trigger/engine.h"
#include "filter/payload.h"

/*
 * A part of varying size: `before` fixed bytes, then a string, or a u32 count and that many
 * elements.
 */
struct trigger_part {
	uint32_t before;
	uint32_t element_bytes; /* 0: a string */
};

/* A field that holds a number or a text. */
struct trigger_field {
	struct schema_type type;
	uint32_t n_parts; /* parts that precede it */
	uint32_t offset;  /* bytes after the last of these parts */
};

struct trigger_use {
	int slot;
	uint32_t number;
	bool is_second;
	bool is_mixed;	/* the other event of the pair is a kernel event */
	bool by_thread; /* pairs match by thread; otherwise by `field`: */
	struct trigger_field field;
	struct filter *filter; /* NULL: none */
};

struct trigger_class {
	uint32_t generation;	/* `uses` belongs to this generation of the triggers */
	char *name;		/* event name, such as "shop:order" */
	uint32_t n_parts, rest; /* bytes after the last part */
	struct trigger_part parts[SCHEMA_FIELDS_MAX];
	int n_uses;
	struct trigger_use
		uses[2 * TRIGGERS_MAX]; /* of one trigger, the second event precedes the first */
};

/*
 * trigger_class_make - parse a schema of @size bytes (docs/formats/schema.md).
 *
 * NULL if it is malformed or without memory.  Free it with trigger_class_free.
 */
struct trigger_class *trigger_class_make(const char *schema, size_t size);
void trigger_class_free(struct trigger_class *c);

/* trigger_class_use - find the current triggers that wait for this class.  @schema: as before. */
void trigger_class_use(struct trigger_class *c, const struct triggers *t, const char *schema,
		       size_t size);

/*
 * trigger_class_fits - whether @a waits for events of this schema.
 *
 * 1 or 0; -EINVAL, with the missing field in @d, if such events match its pattern but can never
 * fire it.
 */
int trigger_class_fits(const struct armed *a, const char *schema, size_t size, struct diag *d);

/* trigger_class_size - set *@size to the payload's bytes; false if it exceeds @most. */
bool trigger_class_size(const struct trigger_class *c, const char *payload, size_t most,
			size_t *size);

/*
 * trigger_class_key - the key of the field's value.
 *
 * Equal values have equal keys, also in integers of different width.  False if the field lies
 * beyond
 * @size.
 */
bool trigger_class_key(const struct trigger_class *c, const struct trigger_field *f,
		       const char *payload, size_t size, uint64_t *key);

#endif
