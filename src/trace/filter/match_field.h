/* SPDX-License-Identifier: MIT */
/* trace/filter/match_field.h - one field of an event class, by a path as `a`, `a.b` or `a[3].b`. */
#ifndef TRACE_FILTER_MATCH_FIELD_H
#define TRACE_FILTER_MATCH_FIELD_H

#include "ctf/decode/public.h"
#include "filter/filter.h"

enum { MATCH_PATH_MAX = 16 };

struct match_field {
	enum ctf_scope scope;
	char name[ABI_FILTER_NAME_MAX + 1];
	const struct ctf_op *op; /* fetches it; NULL: it is found by a walk */
	const struct ctf_type *type;
	uint8_t filter_type; /* FILTER_INTEGER, FILTER_F64 or FILTER_STRING */
	uint32_t n_tried;    /* types visited: bounds the search */
	uint32_t n_steps;
	struct match_step {	  /* from the outside in */
		const char *name; /* within `name` above; NULL: an element */
		uint32_t size;
		uint64_t index;
	} steps[MATCH_PATH_MAX];
};

/*
 * match_field_find - resolve @name, not NUL-terminated, in the fields of @c or in its contexts.
 * @context: of the stream; may be NULL.
 */
enum filter_error match_field_find(struct match_field *f, const struct ctf_event_class *c,
				   const struct ctf_type *context, bool is_context,
				   const char *name, size_t size);

/* match_field_get - store the value in one event; false if the event does not have it. */
bool match_field_get(const struct match_field *f, const struct ctf_event *e,
		     struct filter_value *v);

#endif
