/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match_class.h - the meaning of a filter's names in one event class.
 *
 * A name is a property that every event has, or a field of the class.  A linked filter refers to
 * both by number: properties first, then the fields in match_class.
 */
#ifndef TRACE_FILTER_MATCH_CLASS_H
#define TRACE_FILTER_MATCH_CLASS_H

#include "trace/filter/match.h"
#include "trace/filter/match_field.h"

struct match_class {
	struct filter *filter;	     /* NULL: no event of the class matches */
	struct match_field **fields; /* numbered behind the properties */
	uint32_t n_fields;
};

struct class_names { /* resolves names while linking */
	struct filter_names names;
	const struct ctf_event_class *class;
	const struct ctf_type *context; /* of its stream */
	struct match_class *out;	/* NULL: fields are not stored */
	bool has_failed;		/* no memory */
};

/* match_names_of - resolves names in class @c; fields that are found are added to @out. */
struct class_names match_names_of(const struct ctf_meta *meta, const struct ctf_event_class *c,
				  struct match_class *out);

void match_close_classes(struct match_class *classes, uint32_t n); /* accepts NULL */

/* The name of property @i; NULL behind the last. */
const char *match_property_name(size_t i);
bool match_is_property(const char *name);

/* The values of one event, for filter_run(). */
struct match_source {
	struct filter_source source;
	const struct trace_event *e;
	const struct thread_identity *thread;
	const struct match_class *class;
};

/* match_get_value - for filter_source.get, with a struct match_source. */
bool match_get_value(const struct filter_source *source, uint32_t number, struct filter_value *v);

#endif
