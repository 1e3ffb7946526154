/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/schema.h - event classes as programs register them, turned into TSDL.
 *
 *	LEVEL CHANNEL:NAME TYPE FIELD TYPE FIELD ...
 *
 * See base/schema.h for the types.
 * The text comes from shared memory, that is, from anybody: what does not parse becomes a class
 *without fields, and names are cut to what TSDL allows.  Specification: docs/formats/schema.md.
 */
#ifndef CTF_WRITE_SCHEMA_H
#define CTF_WRITE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * schema_to_tsdl - append the `event` block for event @id of stream class @class_id.
 *
 * Returns 0, or -EINVAL if the schema does not parse; a block is appended in either case.
 */
int schema_to_tsdl(struct text *out, const char *schema, size_t size, uint32_t class_id,
		   uint32_t id);

/* schema_name - copy "CHANNEL:NAME" out of a schema.  Returns false if there is none. */
bool schema_name(const char *schema, size_t size, char *name, size_t name_size);

#endif
