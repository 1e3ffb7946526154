/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match.c - compiles a filter expression once and links it to each event class.
 *
 * Names are resolved while linking: match_class.c.  If no class links, the error names the closest
 * existing field.
 */
#include "trace/filter/match.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/compile.h"
#include "trace/filter/match_class.h"

struct match {
	struct filter_code code;
	bool uses_process;
	uint32_t n_classes;
	struct match_class *classes; /* by number */
};

struct linking {
	struct match *m;
	const struct trace *trace;
	const bool *is_wanted;
	uint32_t first_class; /* those before it are linked */
	const struct filter_code *code;
	struct filter_problem problem; /* of a class, other than a missing name */
	uint32_t n_linked, n_wanted;
	/* a name that no class has, and the closest one that exists */
	char missing[ABI_FILTER_NAME_MAX + 1], near[ABI_FILTER_NAME_MAX + 1];
	bool is_missing, is_context;
	unsigned distance;
};

static bool is_used(const struct linking *o, const struct ctf_event_class *c)
{
	return c->program && (!o->is_wanted || o->is_wanted[c->number]);
}

static int link_class(struct linking *o, const struct trace_source *s,
		      const struct ctf_event_class *c)
{
	struct match_class *out = &o->m->classes[c->number];
	struct class_names names = match_names_of(s->meta, c, out);
	struct filter_problem problem;
	uint64_t room[FILTER_LINKED_BYTES_MAX / 8];
	struct filter *f = (struct filter *)room;

	o->n_wanted++;
	if (filter_link(f, sizeof room, o->code->bytes, o->code->size, &names.names, &problem)) {
		out->filter = malloc(f->size);
		if (!out->filter)
			return -ENOMEM;
		memcpy(out->filter, f, f->size);
		o->n_linked++;
	} else if (problem.why != FILTER_NO_FIELD && problem.why != FILTER_NO_CONTEXT) {
		o->problem = problem;
	}
	return names.has_failed ? -ENOMEM : 0;
}

static int link_all(struct linking *o)
{
	int err = 0;

	for (uint32_t i = 0; i < trace_n_sources(o->trace); i++) {
		const struct trace_source *s = trace_source(o->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c && !err; c = c->next)
			if (c->number >= o->first_class && is_used(o, c))
				err = link_class(o, s, c);
	}
	return err;
}

static void consider(struct linking *o, const char *name)
{
	unsigned distance;

	name += *name == '_';
	distance = filter_distance(o->missing, name);
	if (distance < o->distance && strlen(name) <= ABI_FILTER_NAME_MAX) {
		o->distance = distance;
		strcpy(o->near, name);
	}
}

static void consider_members(struct linking *o, const struct ctf_type *t)
{
	for (uint32_t i = 0; t && t->kind == CTF_STRUCT && i < t->n_members; i++)
		if (strncmp(t->members[i].name, "__", 2)) /* lengths */
			consider(o, t->members[i].name);
}

/* Whether any class has @name; if not, o->near is the closest name. */
static bool is_anywhere(struct linking *o, const char *name)
{
	for (uint32_t i = 0; i < trace_n_sources(o->trace); i++) {
		const struct trace_source *s = trace_source(o->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			struct class_names names = match_names_of(s->meta, c, NULL);
			struct filter_location place;
			enum filter_error why;

			if (!is_used(o, c))
				continue;
			why = names.names.find(&names.names, o->is_context, name, strlen(name),
					       &place);
			if (why != FILTER_NO_FIELD && why != FILTER_NO_CONTEXT)
				return true;
			consider_members(o, o->is_context ? names.context : c->fields);
			consider_members(o, o->is_context ? c->context : NULL);
		}
	}
	return false;
}

static void check_name(void *context, bool is_context, const char *name)
{
	struct linking *o = context;

	if (o->is_missing)
		return;
	o->is_context = is_context;
	o->distance = (unsigned)strlen(name) / 2 + 1; /* a larger distance is not similar */
	*o->near = 0;
	strcpy(o->missing, name);
	for (size_t i = 0; is_context && match_property_name(i); i++)
		consider(o, match_property_name(i));
	o->is_missing = !is_anywhere(o, name);
}

/* No class links: reports the most helpful reason. */
static int explain(struct linking *o, struct diag *d)
{
	const char *sign;

	if (!o->n_wanted)
		return diag_fail(d, -ENOENT, "filter: there are no events to apply it to");
	filter_each_name(o->code, check_name, o);
	sign = o->is_context ? "$" : "";
	if (o->is_missing && !o->is_context && match_is_property(o->missing))
		return diag_fail(d, -ENOENT,
				 "filter: no event has a field `%s'; as a context it is $%s",
				 o->missing, o->missing);
	if (o->is_missing && *o->near)
		return diag_fail(d, -ENOENT, "filter: no event has a %s `%s%s'; there is `%s%s'",
				 o->is_context ? "context" : "field", sign, o->missing, sign,
				 o->near);
	if (o->is_missing)
		return diag_fail(d, -ENOENT,
				 "filter: no event has a %s `%s%s'; duet view shows what there is",
				 o->is_context ? "context" : "field", sign, o->missing);
	if (o->problem.why != FILTER_FINE)
		return filter_explain(&o->problem, -EINVAL, d);
	return diag_fail(d, -ENOENT,
			 "filter: no event has all of these fields; only fields of one event "
			 "can be combined");
}

/* Links the new classes, at first all. */
static int link_new(struct linking *o, struct diag *d)
{
	uint32_t n = trace_n_classes(o->trace);
	struct match_class *classes;

	o->first_class = o->m->n_classes;
	o->code = &o->m->code;
	classes = reallocarray(o->m->classes, n + (size_t)1, sizeof *classes);
	if (!classes)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	memset(classes + o->first_class, 0, (n + (size_t)1 - o->first_class) * sizeof *classes);
	o->m->classes = classes;
	o->m->n_classes = n;
	return link_all(o) ? diag_fail(d, -ENOMEM, "no memory for a filter") : 0;
}

static void note_process(void *context, bool is_context, const char *name)
{
	struct match *m = context;

	m->uses_process |= is_context && (!strcmp(name, "pid") || !strcmp(name, "vpid"));
}

int match_open(struct match **m, const struct trace *t, const char *expression,
	       const bool *is_wanted, struct diag *d)
{
	struct linking o = { .m = calloc(1, sizeof *o.m), .trace = t, .is_wanted = is_wanted };
	int err;

	*m = NULL;
	if (!o.m)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	err = filter_compile(expression, &o.m->code, d);
	if (!err)
		filter_each_name(&o.m->code, note_process, o.m);
	if (!err)
		err = link_new(&o, d);
	if (!err && !o.n_linked && !trace_may_grow(t))
		err = explain(&o, d);
	if (err)
		match_close(o.m);
	else
		*m = o.m;
	return err;
}

int match_update(struct match *m, const struct trace *t, const bool *is_wanted, struct diag *d)
{
	struct linking o = { .m = m, .trace = t, .is_wanted = is_wanted };

	return trace_n_classes(t) > m->n_classes ? link_new(&o, d) : 0;
}

void match_close(struct match *m)
{
	if (!m)
		return;
	match_close_classes(m->classes, m->n_classes);
	free(m);
}

bool match_uses_process(const struct match *m)
{
	return m->uses_process;
}

bool match_may(const struct match *m, uint32_t number)
{
	assert(number < m->n_classes);
	return m->classes[number].filter;
}

bool match_event(const struct match *m, const struct trace_event *e,
		 const struct thread_identity *w)
{
	const struct match_class *c = &m->classes[trace_class_number(e)];
	struct match_source s = { { match_get_value }, e, w, c };

	assert(trace_class_number(e) < m->n_classes);
	return c->filter && filter_run(c->filter, NULL, 0, &s.source);
}
