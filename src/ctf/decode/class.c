/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/class.c - compiles the scopes of packets and events to programs.  One field:
 * compile.h.
 *
 * A program is compiled in two passes.  The first finds the integers that are lengths or tags of
 * later fields.  The second places an OP_SAVE for each at the end of its run.  Both visit the
 * fields in the same order, so a field is identified by its position in that order.
 *
 * Lengths and tags may also be in the packet or in the event's header.  All integers at the top
 * level of those are saved.  If an event refers to its header, that header is decoded by its
 * program.
 */
#include "ctf/decode/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/decode/columns.h"

enum { OPS_OF_TRACE_MAX = 2 << 20 };

/* The members of the struct of a scope; the struct itself only aligns. */
static void compile_scope(struct compiler *c, const struct ctf_type *t, int32_t top,
			  enum ctf_scope which)
{
	c->scope = which;
	if (!t || c->err)
		return;
	compile_open_run(c, t->align_bits);
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		compile_field(c, t->members[i].name, t->members[i].type, top);
}

static void begin_pass(struct compiler *c)
{
	c->n_ops = c->n_nodes = c->n_pending = 0;
	c->run = -1;
	c->known_align = 1;
	c->run_bits = 0;
	c->loops = 0;
}

/* (1) of class.h. */
static inline bool is_sound(const struct ctf_op *ops, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct ctf_op *op = &ops[i];

		if ((op->code == OP_RUN || op->code == OP_LOOP || op->code == OP_JUMP) &&
		    (op->to <= i || op->to >= n))
			return false;
		if (op->code == OP_AGAIN && (op->to >= i || ops[op->to].code != OP_LOOP))
			return false;
		for (uint32_t k = 0; op->code == OP_CHOICE && k < op->n_cases; k++)
			if (op->cases[k].to <= i || op->cases[k].to >= n)
				return false;
	}
	return n && ops[n - 1].code == OP_END;
}

static const struct ctf_program *finish(struct compiler *c, uint32_t payload)
{
	struct ctf_program *p;
	struct ctf_op *ops;

	compile_close_run(c);
	compile_emit(c, OP_END);
	if (!c->err && (c->meta->n_ops += c->n_ops) > OPS_OF_TRACE_MAX)
		compile_fail(c, "is one of more fields than a trace may have", "...");
	if (c->err)
		return NULL;
	p = ctf_meta_alloc(c->meta, sizeof *p);
	ops = ctf_meta_alloc(c->meta, c->n_ops * sizeof *ops);
	if (!p || !ops) {
		c->err = -ENOMEM;
		return NULL;
	}
	memcpy(ops, c->ops, c->n_ops * sizeof *ops);
	assert(is_sound(ops, c->n_ops) && payload < c->n_ops);
	p->ops = ops;
	p->n_ops = c->n_ops;
	p->payload = payload;
	p->align_bits = ops[0].code == OP_RUN ? ops[0].align_bits : 1;
	p->size_bits = ops[0].code == OP_RUN ? ops[0].count : 0;
	c->err = ctf_columns_compile(c->meta, p);
	return c->err ? NULL : p;
}

static void compiler_fini(struct compiler *c)
{
	free(c->ops);
	free(c->nodes);
	free(c->slots);
	free(c->pending);
}

/* Compiles the packet header, packet context or event header: one struct.  Its integers are
 * saved from slot @n_outer on and added to @outer. */
static int compile_outer(struct ctf_meta *m, const struct ctf_type *t, const char *name,
			 enum ctf_scope which, struct outer *outer, int *n_outer,
			 const struct ctf_program **program, struct diag *d)
{
	struct compiler c = { .meta = m,
			      .outer = outer,
			      .n_outer = *n_outer,
			      .saves_all = true,
			      .own = name,
			      .n_slots = (uint8_t)*n_outer };
	int err;

	for (int pass = 0; pass < 2; pass++) {
		begin_pass(&c);
		compile_scope(&c, t, TOP_FIELDS, which);
	}
	*program = finish(&c, 0);
	for (uint32_t i = 0; i < c.n_nodes && !c.err; i++) {
		uint8_t slot = c.slots[i];

		if (slot != CTF_NO_SLOT && c.nodes[i].name && slot < COMPILE_OUTER_MAX) {
			outer[slot] =
				(struct outer){ name, c.nodes[i].name, c.nodes[i].type, slot };
			if (slot >= *n_outer)
				*n_outer = slot + 1;
		}
	}
	err = c.err ? diag_fail(d, c.err, "%s: %s", name, c.err == -ENOMEM ? "no memory" : c.why)
		    : 0;
	compiler_fini(&c);
	return err;
}

static void set_size(struct ctf_by_id *known, const struct ctf_program *p)
{
	const struct ctf_op *op = p->ops;
	uint32_t n = 0;

	if (p->align_bits > 8 || p->size_bits > UINT32_MAX)
		return;
	if (op->code == OP_RUN)
		op = p->ops + op->to;
	for (; op->code == OP_STRING; op++)
		n++;
	if (op->code != OP_END || (n && p->size_bits % 8))
		return;
	known->size_bits = (uint32_t)p->size_bits;
	known->n_strings = n;
}

static int compile_event(struct ctf_meta *m, struct ctf_stream_class *s, struct ctf_event_class *e,
			 const struct outer *outer, int n_outer)
{
	struct compiler c = {
		.meta = m, .outer = outer, .n_outer = n_outer, .n_slots = (uint8_t)n_outer
	};
	uint32_t payload = 0;
	int err;

	for (int pass = 0; pass < 2; pass++) {
		begin_pass(&c);
		compile_scope(&c, s->event_context, TOP_STREAM_CONTEXT, CTF_CONTEXT);
		compile_scope(&c, e->context, TOP_EVENT_CONTEXT, CTF_CONTEXT);
		payload = c.n_ops;
		compile_scope(&c, e->fields, TOP_FIELDS, CTF_PAYLOAD);
	}
	e->program = finish(&c, payload);
	if (c.err == -EINVAL)
		e->error = ctf_meta_string(m, c.why, strlen(c.why));
	if (c.uses_header)
		s->header_kind = CTF_HEADER_GENERIC;
	if (e->program && e->id < s->n_by_id && s->by_id[e->id].class == e)
		set_size(&s->by_id[e->id], e->program);
	err = c.err == -ENOMEM || (c.err && !e->error) ? -ENOMEM : 0;
	compiler_fini(&c);
	return err;
}

int ctf_class_compile_packets(struct ctf_meta *m, struct diag *d)
{
	struct outer outer[COMPILE_OUTER_MAX];
	int n = 0;

	return compile_outer(m, m->packet_header, "trace.packet.header", CTF_PACKET_HEADER, outer,
			     &n, &m->packet_header_program, d);
}

int ctf_class_compile_stream(struct ctf_meta *m, struct ctf_stream_class *s,
			     struct ctf_event_class *first, struct diag *d)
{
	bool is_new = !s->packet_program;
	const struct ctf_program *again;
	struct outer outer[COMPILE_OUTER_MAX];
	int n = 0, err;

	err = compile_outer(m, m->packet_header, "trace.packet.header", CTF_PACKET_HEADER, outer,
			    &n, &again, d);
	if (!err)
		err = compile_outer(m, s->packet_context, "stream.packet.context",
				    CTF_PACKET_CONTEXT, outer, &n, &s->packet_program, d);
	if (!err)
		err = compile_outer(m, s->event_header, "stream.event.header", CTF_EVENT_HEADER,
				    outer, &n, &s->header_program, d);
	if (is_new)
		s->header_kind = ctf_header_recognise(m, s->event_header);
	for (struct ctf_event_class *e = first; e && !err; e = e->next)
		if (e->stream_id == s->id)
			err = compile_event(m, s, e, outer, n);
	return err == -ENOMEM ? diag_fail(d, err, "no memory") : err;
}

const struct ctf_op *ctf_class_find(const struct ctf_event_class *e, enum ctf_scope which,
				    const char *name)
{
	int depth = 0;

	if (!e->program)
		return NULL;
	for (const struct ctf_op *op = e->program->ops; op->code != OP_END; op++) {
		bool is_shown = op->code == OP_NUMBER || op->code == OP_STRING ||
				op->code == OP_WIDE_STRING || op->code == OP_LEB128 ||
				op->code == OP_TEXT_ARRAY || op->code == OP_TEXT_SEQUENCE;

		if (op->code == OP_OPEN || op->code == OP_LOOP)
			depth++;
		else if (op->code == OP_CLOSE || op->code == OP_CLOSE_ARRAY)
			depth--;
		else if (!depth && is_shown && op->scope == which && op->name &&
			 !strcmp(op->name, name))
			return op;
	}
	return NULL;
}
