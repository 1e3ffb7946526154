/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match.c - compiles a filter expression once and links it to each event class.
 *
 * Names are resolved while linking: first the properties of every event (properties[]), then the
 * fields of the class.  If no class links, the error names the closest existing field.
 */
#include "trace/filter/match.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/compile.h"
#include "filter/number.h"
#include "trace/filter/match_field.h"

/* Properties of an event besides its fields.  Any other context is one of the event's own. */
enum property {
	PROPERTY_NAME,
	PROPERTY_CPU,
	PROPERTY_PID,
	PROPERTY_TID,
	PROPERTY_PROCNAME,
	PROPERTY_DOMAIN,
	PROPERTY_HOST,
	PROPERTIES
};

static const struct {
	const char *name;
	uint8_t property, type;
} properties[] = {
	{ "name", PROPERTY_NAME, FILTER_STRING },
	{ "cpu_id", PROPERTY_CPU, FILTER_INTEGER },
	{ "vpid", PROPERTY_PID, FILTER_INTEGER },
	{ "vtid", PROPERTY_TID, FILTER_INTEGER },
	{ "pid", PROPERTY_PID, FILTER_INTEGER },
	{ "tid", PROPERTY_TID, FILTER_INTEGER },
	{ "procname", PROPERTY_PROCNAME, FILTER_STRING },
	{ "domain", PROPERTY_DOMAIN, FILTER_STRING },
	{ "hostname", PROPERTY_HOST, FILTER_STRING },
};
enum { N_PROPERTY_NAMES = sizeof properties / sizeof *properties };

struct match_class {
	struct filter *filter;	     /* NULL: no event of the class matches */
	struct match_field **fields; /* numbered PROPERTIES + i in the filter */
	uint32_t n_fields;
};

struct match {
	struct filter_code code;
	uint32_t n_classes;
	struct match_class *classes; /* by number */
};

struct class_names { /* resolves names while linking */
	struct filter_names names;
	const struct ctf_event_class *class;
	const struct ctf_type *context; /* of its stream */
	struct match_class *out;	/* NULL: fields are not stored */
	bool has_failed;		/* no memory */
};

static bool find_property(const char *name, size_t size, struct filter_location *place)
{
	for (size_t i = 0; i < N_PROPERTY_NAMES; i++)
		if (strlen(properties[i].name) == size && !memcmp(properties[i].name, name, size)) {
			*place = (struct filter_location){ .type = properties[i].type,
							   .from = FILTER_FROM_SOURCE,
							   .offset = properties[i].property };
			return true;
		}
	return false;
}

/* Stores a field once: the linker asks for the same name several times.  A linear search is
 * enough. */
static bool keep_field(struct match_class *c, const struct match_field *f, uint32_t *i)
{
	struct match_field **fields;

	for (*i = 0; *i < c->n_fields; ++*i)
		if (c->fields[*i]->scope == f->scope && !strcmp(c->fields[*i]->name, f->name))
			return true;
	fields = reallocarray(c->fields, c->n_fields + (size_t)1, sizeof(struct match_field *));
	if (!fields)
		return false;
	c->fields = fields;
	fields[*i] = malloc(sizeof *f);
	if (!fields[*i])
		return false;
	*fields[*i] = *f;
	for (uint32_t s = 0; s < f->n_steps; s++)
		if (f->steps[s].name)
			fields[*i]->steps[s].name = fields[*i]->name + (f->steps[s].name - f->name);
	c->n_fields++;
	return true;
}

static enum filter_error find(const struct filter_names *names, bool is_context, const char *name,
			      size_t size, struct filter_location *place)
{
	struct class_names *n = (struct class_names *)names;
	struct match_field f;
	enum filter_error why;
	uint32_t i = 0;

	if (is_context && find_property(name, size, place))
		return FILTER_FINE;
	why = match_field_find(&f, n->class, n->context, is_context, name, size);
	if (why != FILTER_FINE)
		return why;
	if (n->out && !keep_field(n->out, &f, &i)) {
		n->has_failed = true;
		return FILTER_TOO_LARGE;
	}
	*place = (struct filter_location){
		.type = f.filter_type,
		.from = FILTER_FROM_SOURCE,
		.is_enum = f.type->kind == CTF_ENUM,
		.is_signed = f.type->is_signed,
		.offset = PROPERTIES + i,
		.tag = i,
	};
	return FILTER_FINE;
}

static bool next_label(const struct filter_names *names, const struct filter_location *place,
		       struct filter_label *out)
{
	const struct class_names *n = (const struct class_names *)names;
	const struct ctf_type *t = n->out->fields[place->tag]->type;

	if (out->i >= t->n_members)
		return false;
	out->text = t->labels[out->i].text;
	out->size = strlen(out->text);
	out->first = t->labels[out->i].first;
	out->last = t->labels[out->i].last;
	return true;
}

static struct class_names names_of(const struct ctf_meta *meta, const struct ctf_event_class *c,
				   struct match_class *out)
{
	const struct ctf_stream_class *s = ctf_meta_stream(meta, c->stream_id);

	return (struct class_names){
		{ find, next_label }, c, s ? s->event_context : NULL, out, false
	};
}

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
	struct class_names names = names_of(s->meta, c, out);
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
			struct class_names names = names_of(s->meta, c, NULL);
			struct filter_location place;
			enum filter_error why;

			if (!is_used(o, c))
				continue;
			why = find(&names.names, o->is_context, name, strlen(name), &place);
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
	for (size_t i = 0; is_context && i < N_PROPERTY_NAMES; i++)
		consider(o, properties[i].name);
	o->is_missing = !is_anywhere(o, name);
}

/* No class links: reports the most helpful reason. */
static int explain(struct linking *o, struct diag *d)
{
	struct filter_location place;
	const char *sign;

	if (!o->n_wanted)
		return diag_fail(d, -ENOENT, "filter: there are no events to apply it to");
	filter_each_name(o->code, check_name, o);
	sign = o->is_context ? "$" : "";
	if (o->is_missing && !o->is_context &&
	    find_property(o->missing, strlen(o->missing), &place))
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

static void close_classes(struct match_class *classes, uint32_t n)
{
	for (uint32_t i = 0; classes && i < n; i++) {
		for (uint32_t f = 0; f < classes[i].n_fields; f++)
			free(classes[i].fields[f]);
		free(classes[i].fields);
		free(classes[i].filter);
	}
	free(classes);
}

void match_close(struct match *m)
{
	if (!m)
		return;
	close_classes(m->classes, m->n_classes);
	free(m);
}

struct event_source {
	struct filter_source source;
	const struct trace_event *e;
	const struct thread_identity *thread;
	const struct match_class *class;
};

static bool set_text(const char *text, size_t size, struct filter_value *v)
{
	v->text = text;
	v->more = size;
	return true;
}

static bool set_number(int64_t number, struct filter_value *v)
{
	*v = number_signed(number);
	return number >= 0;
}

static bool get_value(const struct filter_source *source, uint32_t number, struct filter_value *v)
{
	static const char *const domains[] = { "other", "ust", "kernel" };
	const struct event_source *s = (const struct event_source *)source;
	const struct trace_event *e = s->e;

	switch (number) {
	case PROPERTY_NAME:
		return set_text(e->ctf->class->name, strlen(e->ctf->class->name), v);
	case PROPERTY_CPU:
		return set_number(e->cpu == TRACE_CPU_UNKNOWN ? -1 : (int64_t)e->cpu, v);
	case PROPERTY_PID:
		return set_number(s->thread->pid, v);
	case PROPERTY_TID:
		return set_number(s->thread->tid, v);
	case PROPERTY_PROCNAME:
		return set_text(s->thread->name, s->thread->size, v) && s->thread->size > 0;
	case PROPERTY_DOMAIN:
		return set_text(domains[e->stream->source->domain],
				strlen(domains[e->stream->source->domain]), v);
	case PROPERTY_HOST:
		return set_text(e->stream->source->hostname, strlen(e->stream->source->hostname),
				v);
	}
	assert(number - PROPERTIES < s->class->n_fields);
	return match_field_get(s->class->fields[number - PROPERTIES], e->ctf, v);
}

bool match_event(const struct match *m, const struct trace_event *e,
		 const struct thread_identity *w)
{
	const struct match_class *c = &m->classes[trace_class_number(e)];
	struct event_source s = { { get_value }, e, w, c };

	assert(trace_class_number(e) < m->n_classes);
	return c->filter && filter_run(c->filter, NULL, 0, &s.source);
}

/* ---------------------------------------------------------------- one value */

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
			struct class_names names = names_of(s->meta, c, &v->classes[c->number]);
			struct filter_location place;

			if (!c->program || find(&names.names, is_context, name, strlen(name),
						&place) != FILTER_FINE) {
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
	close_classes(v->classes, v->n_classes);
	free(v->locations);
	free(v);
}

int match_value_get(const struct match_value *v, const struct trace_event *e,
		    const struct thread_identity *w, struct filter_value *value)
{
	uint32_t number = trace_class_number(e);
	const struct value_location *p = &v->locations[number];
	struct event_source s = { { get_value }, e, w, &v->classes[number] };

	assert(number < v->n_classes);
	return p->is_there && get_value(&s.source, p->number, value) ? p->type : -1;
}
