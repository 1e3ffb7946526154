/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/link.c - makes metadata ready to decode: tables of classes by id, and their programs.
 *
 * A class is found by its id in a table, or by binary search if its id is BY_ID_MAX or more.  So a
 * hostile id does not cost memory.
 */
#include "ctf/decode/link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/decode/class.h"
#include "ctf/decode/known.h"

enum { BY_ID_MAX = 16384 };

static int compare_id(const void *a, const void *b)
{
	uint32_t x = (*(struct ctf_event_class *const *)a)->id;
	uint32_t y = (*(struct ctf_event_class *const *)b)->id;

	return x < y ? -1 : x > y;
}

struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, uint32_t id)
{
	struct ctf_event_class key = { .id = id }, *k = &key, **found;

	if (id < s->n_by_id)
		return s->by_id[id].class;
	if (!s->n_sparse)
		return NULL;
	found = bsearch(&k, s->sparse, s->n_sparse, sizeof *s->sparse, compare_id);
	return found ? *found : NULL;
}

static uint32_t round_up(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* Tables are replaced, not moved, so that readers in the middle of a packet can continue to use
 * the old one. */
static int grow_tables(struct ctf_meta *m, struct ctf_stream_class *s, uint32_t n_by_id,
		       uint32_t n_sparse)
{
	struct ctf_event_class **sparse = s->sparse;
	struct ctf_by_id *by_id = s->by_id;

	if (!by_id || n_by_id > s->n_by_id)
		by_id = ctf_meta_alloc(m, round_up(n_by_id) * sizeof *by_id);
	if (!sparse || n_sparse > s->n_sparse)
		sparse = ctf_meta_alloc(m,
					(n_sparse + (size_t)1) * sizeof(struct ctf_event_class *));
	if (!by_id || !sparse)
		return -ENOMEM;
	assert(n_by_id <= BY_ID_MAX && n_sparse >= s->n_sparse);
	if (s->by_id && by_id != s->by_id)
		memcpy(by_id, s->by_id, s->n_by_id * sizeof *by_id);
	if (s->sparse && sparse != s->sparse)
		memcpy(sparse, s->sparse, s->n_sparse * sizeof(struct ctf_event_class *));
	s->n_by_id = by_id == s->by_id ? s->n_by_id : round_up(n_by_id);
	s->by_id = by_id;
	s->sparse = sparse;
	return 0;
}

/* Ids below a limit go into a table.  If two classes have one id, the first is used. */
static int link_events(struct ctf_meta *m, struct ctf_stream_class *s,
		       struct ctf_event_class *first)
{
	uint32_t n_sparse = s->n_sparse, top = 0;

	for (struct ctf_event_class *e = first; e; e = e->next) {
		if (e->stream_id != s->id)
			continue;
		if (e->id >= BY_ID_MAX)
			n_sparse++;
		else if (e->id >= top)
			top = e->id + 1;
	}
	if (grow_tables(m, s, top, n_sparse))
		return -ENOMEM;
	for (struct ctf_event_class *e = first; e; e = e->next) {
		if (e->stream_id != s->id)
			continue;
		if (e->id >= BY_ID_MAX)
			s->sparse[s->n_sparse++] = e;
		else if (!s->by_id[e->id].class)
			s->by_id[e->id].class = e;
	}
	qsort(s->sparse, s->n_sparse, sizeof *s->sparse, compare_id);
	return 0;
}

static bool has_id(const struct ctf_program *header)
{
	for (uint32_t i = 0; i < header->n_ops; i++) {
		const struct ctf_op *op = &header->ops[i];

		if ((op->code == OP_NUMBER || op->code == OP_LEB128) &&
		    !strcmp(ctf_op_role(op), "id"))
			return true;
	}
	return false;
}

/* An event header without id is read as id 0: it means the only class, whatever the class's id. */
static int link_only_event(struct ctf_meta *m, struct ctf_stream_class *s)
{
	struct ctf_event_class *only = NULL;

	for (struct ctf_event_class *e = m->events; e; e = e->next) {
		if (e->stream_id != s->id)
			continue;
		if (only)
			return 0;
		only = e;
	}
	if (!only || !only->id || has_id(s->header_program))
		return 0;
	if (grow_tables(m, s, 1, s->n_sparse))
		return -ENOMEM;
	s->by_id[0] =
		only->id < s->n_by_id ? s->by_id[only->id] : (struct ctf_by_id){ .class = only };
	return 0;
}

static void choose_only_stream(const struct ctf_meta *m, struct ctf_event_class *e)
{
	if (!e->has_stream_id && m->streams && !m->streams->next)
		e->stream_id = m->streams->id;
}

/* Whether an event from @first on belongs to @s. */
static bool has_new_event(const struct ctf_stream_class *s, const struct ctf_event_class *first)
{
	while (first && first->stream_id != s->id)
		first = first->next;
	return first || !s->packet_program;
}

static int link_all(struct ctf_meta *m, struct diag *d)
{
	struct ctf_event_class *first = m->last_linked ? m->last_linked->next : m->events;
	int err = m->packet_header_program ? 0 : ctf_class_compile_packets(m, d);

	for (struct ctf_event_class *e = first; e && !err; e = e->next) {
		choose_only_stream(m, e);
		err = ctf_known_labels(m, e);
	}
	for (struct ctf_stream_class *s = m->streams; s && !err; s = s->next) {
		if (!has_new_event(s, first))
			continue;
		err = link_events(m, s, first);
		if (!err)
			err = ctf_class_compile_stream(m, s, first, d);
		if (!err && link_only_event(m, s))
			err = diag_fail(d, -ENOMEM, "no memory");
	}
	for (; first; first = first->next)
		m->last_linked = first;
	return err;
}

int ctf_meta_link(struct ctf_meta *m, struct diag *d)
{
	if (!m->has_trace || !m->streams)
		return diag_fail(d, -EINVAL, "the metadata describes no %s",
				 m->has_trace ? "stream" : "trace");
	return link_all(m, d);
}

int ctf_meta_open(struct ctf_meta *m, const char *path, struct diag *d)
{
	struct diag why = { 0 };
	bool is_cut = false;
	size_t size = 0;
	char *text = NULL;
	int err, damage;

	*m = (struct ctf_meta){ 0 };
	err = ctf_meta_text(path, &text, &size, &is_cut, d);
	if (err)
		return err;
	damage = ctf_meta_read(m, text, size, &why);
	free(text);
	if (!damage && is_cut)
		damage = diag_fail(&why, -EINVAL, "a packet of it is incomplete");
	err = damage && !(m->has_trace && m->streams) ? damage : ctf_meta_link(m, &why);
	if (m->n_gaps > 1)
		diag_fail(d, err, "%.400s: %.500s, and %u more places", path, why.text,
			  m->n_gaps - 1);
	else if (err || damage)
		diag_fail(d, err, "%.400s: %.600s", path, why.text);
	if (err)
		ctf_meta_close(m);
	return err ? err : damage ? 1 : 0;
}
