/* SPDX-License-Identifier: MIT */
/* trace/filter/match.c - see match.h. */
#include "trace/filter/match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/compile.h"
#include "filter/number.h"
#include "trace/filter/match_field.h"

/* What is known of an event besides its fields.  Any other context is one of the event's own. */
enum about {
	ABOUT_NAME,
	ABOUT_CPU,
	ABOUT_PID,
	ABOUT_TID,
	ABOUT_PROCNAME,
	ABOUT_DOMAIN,
	ABOUT_HOST,
	ABOUTS
};

static const struct {
	const char *name;
	uint8_t about, type;
} abouts[] = {
	{ "name", ABOUT_NAME, FILTER_STRING },	       { "cpu_id", ABOUT_CPU, FILTER_INTEGER },
	{ "vpid", ABOUT_PID, FILTER_INTEGER },	       { "vtid", ABOUT_TID, FILTER_INTEGER },
	{ "pid", ABOUT_PID, FILTER_INTEGER },	       { "tid", ABOUT_TID, FILTER_INTEGER },
	{ "procname", ABOUT_PROCNAME, FILTER_STRING }, { "domain", ABOUT_DOMAIN, FILTER_STRING },
	{ "hostname", ABOUT_HOST, FILTER_STRING },
};
enum { N_ABOUTS = sizeof abouts / sizeof *abouts };

struct match_class {
	struct filter *filter;	     /* NULL: it fits no event of the class */
	struct match_field **fields; /* asked for by ABOUTS + i */
	uint32_t n_fields;
};

struct match {
	struct filter_code code;
	uint32_t n_classes;
	struct match_class *classes; /* by number */
};

struct class_names { /* finds names while linking */
	struct filter_names names;
	const struct ctf_event_class *class;
	const struct ctf_type *context; /* of its stream */
	struct match_class *out;	/* NULL: nothing is kept */
	bool has_failed;		/* no memory */
};

static bool find_about(const char *name, size_t size, struct filter_location *place)
{
	for (size_t i = 0; i < N_ABOUTS; i++)
		if (strlen(abouts[i].name) == size && !memcmp(abouts[i].name, name, size)) {
			*place = (struct filter_location){ .type = abouts[i].type,
							   .from = FILTER_FROM_SOURCE,
							   .offset = abouts[i].about };
			return true;
		}
	return false;
}

/* The same name is found several times: there are few. */
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

	if (is_context && find_about(name, size, place))
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
		.offset = ABOUTS + i,
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

struct opening {
	struct match *m;
	const struct trace *trace;
	const bool *is_wanted;
	uint32_t first_class; /* those before it are linked */
	const struct filter_code *code;
	struct filter_problem problem; /* of a class, other than a missing name */
	uint32_t n_linked, n_wanted;
	/* what is said of a name that is nowhere */
	char missing[ABI_FILTER_NAME_MAX + 1], near[ABI_FILTER_NAME_MAX + 1];
	bool is_missing, is_context;
	unsigned distance;
};

static bool counts(const struct opening *o, const struct ctf_event_class *c)
{
	return c->program && (!o->is_wanted || o->is_wanted[c->number]);
}

static int link_class(struct opening *o, const struct trace_source *s,
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

static int link_all(struct opening *o)
{
	int err = 0;

	for (uint32_t i = 0; i < trace_n_sources(o->trace); i++) {
		const struct trace_source *s = trace_source(o->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c && !err; c = c->next)
			if (c->number >= o->first_class && counts(o, c))
				err = link_class(o, s, c);
	}
	return err;
}

static void weigh(struct opening *o, const char *name)
{
	unsigned distance;

	name += *name == '_';
	distance = filter_distance(o->missing, name);
	if (distance < o->distance && strlen(name) <= ABI_FILTER_NAME_MAX) {
		o->distance = distance;
		strcpy(o->near, name);
	}
}

static void weigh_members(struct opening *o, const struct ctf_type *t)
{
	for (uint32_t i = 0; t && t->kind == CTF_STRUCT && i < t->n_members; i++)
		if (strncmp(t->members[i].name, "__", 2)) /* lengths */
			weigh(o, t->members[i].name);
}

/* Whether @name is in any class; if not, o->near is what it may have been meant to be. */
static bool is_anywhere(struct opening *o, const char *name)
{
	for (uint32_t i = 0; i < trace_n_sources(o->trace); i++) {
		const struct trace_source *s = trace_source(o->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			struct class_names names = names_of(s->meta, c, NULL);
			struct filter_location place;
			enum filter_error why;

			if (!counts(o, c))
				continue;
			why = find(&names.names, o->is_context, name, strlen(name), &place);
			if (why != FILTER_NO_FIELD && why != FILTER_NO_CONTEXT)
				return true;
			weigh_members(o, o->is_context ? names.context : c->fields);
			weigh_members(o, o->is_context ? c->context : NULL);
		}
	}
	return false;
}

static void look_for_name(void *context, bool is_context, const char *name)
{
	struct opening *o = context;

	if (o->is_missing)
		return;
	o->is_context = is_context;
	o->distance = (unsigned)strlen(name) / 2 + 1; /* what is further away is not near */
	*o->near = 0;
	strcpy(o->missing, name);
	for (size_t i = 0; is_context && i < N_ABOUTS; i++)
		weigh(o, abouts[i].name);
	o->is_missing = !is_anywhere(o, name);
}

/* No class fits: of all reasons the one that helps. */
static int explain(struct opening *o, struct diag *d)
{
	struct filter_location place;
	const char *sign;

	if (!o->n_wanted)
		return diag_fail(d, -ENOENT, "filter: there are no events it could be asked of");
	filter_each_name(o->code, look_for_name, o);
	sign = o->is_context ? "$" : "";
	if (o->is_missing && !o->is_context && find_about(o->missing, strlen(o->missing), &place))
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
			 "filter: no event has all of these fields; only what one event has "
			 "can be combined");
}

/* The classes that came since, or at first all. */
static int link_new(struct opening *o, struct diag *d)
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
	struct opening o = { .m = calloc(1, sizeof *o.m), .trace = t, .is_wanted = is_wanted };
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
	struct opening o = { .m = m, .trace = t, .is_wanted = is_wanted };

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
	const struct thread_identity *who;
	const struct match_class *class;
};

static bool give_text(const char *text, size_t size, struct filter_value *v)
{
	v->text = text;
	v->more = size;
	return true;
}

static bool give_number(int64_t number, struct filter_value *v)
{
	*v = number_signed(number);
	return number >= 0;
}

static bool give(const struct filter_source *source, uint32_t number, struct filter_value *v)
{
	static const char *const domains[] = { "other", "ust", "kernel" };
	const struct event_source *s = (const struct event_source *)source;
	const struct trace_event *e = s->e;

	switch (number) {
	case ABOUT_NAME:
		return give_text(e->ctf->class->name, strlen(e->ctf->class->name), v);
	case ABOUT_CPU:
		return give_number(e->cpu == TRACE_CPU_UNKNOWN ? -1 : (int64_t)e->cpu, v);
	case ABOUT_PID:
		return give_number(s->who->pid, v);
	case ABOUT_TID:
		return give_number(s->who->tid, v);
	case ABOUT_PROCNAME:
		return give_text(s->who->name, s->who->size, v) && s->who->size > 0;
	case ABOUT_DOMAIN:
		return give_text(domains[e->stream->source->domain],
				 strlen(domains[e->stream->source->domain]), v);
	case ABOUT_HOST:
		return give_text(e->stream->source->hostname, strlen(e->stream->source->hostname),
				 v);
	}
	return match_field_get(s->class->fields[number - ABOUTS], e->ctf, v);
}

bool match_event(const struct match *m, const struct trace_event *e,
		 const struct thread_identity *w)
{
	const struct match_class *c = &m->classes[trace_class_number(e)];
	struct event_source s = { { give }, e, w, c };

	return c->filter && filter_run(c->filter, NULL, 0, &s.source);
}

/* ---------------------------------------------------------------- one value */

struct match_value {
	uint32_t n_classes;
	struct match_class *classes; /* without filters */
	struct value_location {
		bool is_there;
		uint8_t type;
		uint32_t number; /* as give() takes it */
	} * places;		 /* by number of class */
};

static int place_all(struct match_value *v, const struct trace *t, bool is_context,
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
			v->places[c->number] =
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
		v->places = calloc(v->n_classes + (size_t)1, sizeof *v->places);
	}
	if (v && v->classes && v->places)
		found = place_all(v, t, true, is_context ? context + 4 : name);
	if (!found && !is_context)
		found = place_all(v, t, false, name);
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
	free(v->places);
	free(v);
}

int match_value_get(const struct match_value *v, const struct trace_event *e,
		    const struct thread_identity *w, struct filter_value *value)
{
	uint32_t number = trace_class_number(e);
	const struct value_location *p = &v->places[number];
	struct event_source s = { { give }, e, w, &v->classes[number] };

	return p->is_there && give(&s.source, p->number, value) ? p->type : -1;
}
