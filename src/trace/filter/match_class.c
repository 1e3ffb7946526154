/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match_class.c - resolves names of a filter in an event class, and fetches values.
 *
 * As a context, a name is looked up in the properties first, so that $pid means the same in every
 * class.
 */
#include "trace/filter/match_class.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "filter/number.h"

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

struct class_names match_names_of(const struct ctf_meta *meta, const struct ctf_event_class *c,
				  struct match_class *out)
{
	const struct ctf_stream_class *s = ctf_meta_stream(meta, c->stream_id);

	return (struct class_names){
		{ find, next_label }, c, s ? s->event_context : NULL, out, false
	};
}

void match_close_classes(struct match_class *classes, uint32_t n)
{
	for (uint32_t i = 0; classes && i < n; i++) {
		for (uint32_t f = 0; f < classes[i].n_fields; f++)
			free(classes[i].fields[f]);
		free(classes[i].fields);
		free(classes[i].filter);
	}
	free(classes);
}

const char *match_property_name(size_t i)
{
	return i < N_PROPERTY_NAMES ? properties[i].name : NULL;
}

bool match_is_property(const char *name)
{
	struct filter_location unused;

	return find_property(name, strlen(name), &unused);
}

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

bool match_get_value(const struct filter_source *source, uint32_t number, struct filter_value *v)
{
	static const char *const domains[] = { "other", "ust", "kernel" };
	const struct match_source *s = (const struct match_source *)source;
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
