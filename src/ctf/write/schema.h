/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/schema.h - translation of event classes, as programs register them, to TSDL.
 *
 * 	LEVEL CHANNEL:NAME TYPE FIELD TYPE FIELD ...
 *
 * The types are described in base/schema.h, the format in docs/formats/schema.md.  The text comes
 * from shared memory, so it is untrusted: a text that does not parse becomes a class without
 * fields, and names are reduced to the characters that TSDL allows.
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
