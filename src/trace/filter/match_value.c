/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match_value.c - one context or field of events, by its name: match_value_get().
 *
 * The name is resolved once per class when it is opened, as a context first.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/filter/match.h"
#include "trace/filter/match_class.h"

struct match_value {
	uint32_t n_classes;
	struct match_class *classes; /* without filters */
	struct value_location {
		bool is_there;
		uint8_t type;
		uint32_t number; /* as get_value() takes it */
	} * locations;		 /* by class number */
};

static int locate_all(struct match_value *v, const struct trace *t, bool is_context,
		      const char *name)
{
	int found = 0;

	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			struct class_names names =
				match_names_of(s->meta, c, &v->classes[c->number]);
			struct filter_location place;

			if (!c->program || names.names.find(&names.names, is_context, name,
							    strlen(name), &place) != FILTER_FINE) {
				if (names.has_failed)
					return -ENOMEM;
				continue;
			}
			v->locations[c->number] =
				(struct value_location){ true, place.type, place.offset };
			found = 1;
		}
	}
	return found;
}

int match_value_open(struct match_value **result, const struct trace *t, const char *name)
{
	struct match_value *v = calloc(1, sizeof *v);
	const char *context = name + (*name == '$');
	bool is_context = !strncmp(context, "ctx.", 4);
	int found = -ENOMEM;

	*result = NULL;
	if (v) {
		v->n_classes = trace_n_classes(t);
		v->classes = calloc(v->n_classes + (size_t)1, sizeof *v->classes);
		v->locations = calloc(v->n_classes + (size_t)1, sizeof *v->locations);
	}
	if (v && v->classes && v->locations)
		found = locate_all(v, t, true, is_context ? context + 4 : name);
	if (!found && !is_context)
		found = locate_all(v, t, false, name);
	if (found > 0) {
		*result = v;
		return 0;
	}
	match_value_close(v);
	return found ? found : -ENOENT;
}

void match_value_close(struct match_value *v)
{
	if (!v)
		return;
	match_close_classes(v->classes, v->n_classes);
	free(v->locations);
	free(v);
}

int match_value_get(const struct match_value *v, const struct trace_event *e,
		    const struct thread_identity *w, struct filter_value *value)
{
	uint32_t number = trace_class_number(e);
	const struct value_location *p = &v->locations[number];
	struct match_source s = { { match_get_value }, e, w, &v->classes[number] };

	assert(number < v->n_classes);
	return p->is_there && match_get_value(&s.source, p->number, value) ? p->type : -1;
}
