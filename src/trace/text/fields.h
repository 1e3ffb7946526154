/* SPDX-License-Identifier: MIT */
/*
 * trace/text/fields.h - contexts and fields of an event as text, as `duet view` prints them:
 * "{ user = 7 }, { size = 42, name = \"tea\" }".
 */
#ifndef TRACE_TEXT_FIELDS_H
#define TRACE_TEXT_FIELDS_H

#include "trace/text/addresses.h"

/* Labels of one value that are shown: an enum of a hostile trace may give each value very many. */
enum { FIELD_LABELS_MAX = 64 };

/*
 * fields_add - append contexts and fields of @e; contexts come first, in braces of their own.
 *
 * @addresses: resolves addresses of process @pid; NULL: they stay numbers.
 */
void fields_add(struct out *o, struct addresses *addresses, const struct trace_event *e,
		int64_t pid);

/* fields_add_one - append the item that ctf_walk_next() returned: a value, or an array up to its end. Not
 * for structs.  field_skip_one - go on behind it without appending it. */
void fields_add_one(struct out *o, struct ctf_walk *w, enum ctf_found found,
		    const struct ctf_value *v);
void field_skip_one(struct ctf_walk *w, enum ctf_found found);

/* column_add - append the number of a class's column @op that is no plain decimal integer. */
void column_add(struct out *o, const struct ctf_op *op, const struct ctf_column *cell);

/* field_is_shown_elsewhere - whether a context is printed as process:thread already. */
bool field_is_shown_elsewhere(const char *name);

/* field_is_left_out - whether a context (enum ctf_scope) is printed elsewhere in the line, or needed
 * by tracer developers only.  @name: NULL for an element. */
bool field_is_left_out(int scope, const char *name);

/* field_is_nothing - whether an array begins that is only there if it has something: most exits of
 * system calls have no late bytes.  Viewers leave it out. */
bool field_is_nothing(const struct ctf_walk *w, enum ctf_found found, const struct ctf_value *v);

/* fields_have_addresses - whether fields_add() may look for the names of addresses. */
bool fields_have_addresses(const struct trace_event *e);

#endif
