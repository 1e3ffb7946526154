/* SPDX-License-Identifier: MIT */
/*
 * ctf/class.c - see class.h.
 *
 * A program is compiled twice.  The first time finds which integers are lengths or tags of what
 * comes after them; the second places an OP_SAVE for each at the end of its run.  Both visit the
 * fields in the same order, so a field is known by its place in that order.
 *
 * Lengths and tags may also lie in the packet or in the event's header.  All integers at the top of
 * those are saved; if an event refers to its header, that header is decoded in the generic way.
 */
#include "ctf/class.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 65536, OPS_OF_TRACE_MAX = 2 << 20, OUTER_MAX = 48 };
static const uint64_t RUN_BITS_MAX = 1ull << 40, STEPS_MAX = 1ull << 28;

struct node { /* a field already visited */
	const char *name;
	int32_t parent; /* node it is in; TOP_... at the top of a scope */
	uint32_t op; /* that shows it: numbers only */
	const struct ctf_type *type;
};

struct outer { /* what packet and header save */
	const char *scope; /* "stream.event.header" */
	const char *name;
	const struct ctf_type *type;
	uint8_t slot;
};

struct compiler {
	struct ctf_meta *meta;
	struct ctf_op *ops;
	uint32_t n_ops, capacity;
	struct node *nodes;
	uint32_t n_nodes, node_capacity;
	uint8_t *slots; /* by place of node; the first pass fills it */
	uint32_t n_slots_known;
	const struct outer *outer;
	int n_outer;
	bool uses_header;
	bool saves_all; /* compiling packet or header */
	uint8_t n_slots; /* used so far */
	int scope;
	int loops;
	int32_t run; /* the open run, or -1 */
	uint32_t n_pending; /* saves of the open run */
	struct ctf_op *pending;
	uint32_t known_align; /* of the place, outside of a run */
	uint64_t run_bits;
	struct ctf_op nowhere; /* takes what is emitted after an error */
	const char *option; /* a variant's: the name of the next node instead of its own */
	char why[160];
	int err;
};

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static uint32_t low_bit(uint64_t v, uint32_t most)
{
	uint64_t bit = v & -v;

	return v && bit < most ? (uint32_t)bit : most;
}

static void fail(struct compiler *c, const char *what, const char *name)
{
	if (c->err)
		return;
	c->err = -EINVAL;
	snprintf(c->why, sizeof c->why, "field `%.60s` %s", name ? name : "?", what);
}

static struct ctf_op *emit(struct compiler *c, enum ctf_opcode code)
{
	if (!c->err && c->n_ops >= OPS_MAX)
		fail(c, "makes its event larger than 65536 fields", "...");
	if (!c->err && c->n_ops == c->capacity) {
		uint32_t capacity = c->capacity ? c->capacity * 2 : 64;
		struct ctf_op *ops = realloc(c->ops, capacity * sizeof *ops);

		if (!ops) {
			c->err = -ENOMEM;
		} else {
			c->ops = ops;
			c->capacity = capacity;
		}
	}
	if (c->err) {
		c->nowhere = (struct ctf_op){ 0 };
		return &c->nowhere;
	}
	c->ops[c->n_ops] = (struct ctf_op){ .code = code, .slot = CTF_NO_SLOT, .scope = (uint8_t)c->scope };
	return &c->ops[c->n_ops++];
}

static void close_run(struct compiler *c)
{
	struct ctf_op *run;
	uint32_t n = c->n_pending;

	if (c->run < 0 || c->err)
		return;
	run = &c->ops[c->run];
	run->size_bits = 0;
	run->count = c->run_bits;
	run->to = c->n_ops;
	c->known_align = low_bit(c->run_bits, run->align_bits);
	for (uint32_t i = 0; i < n; i++) {
		struct ctf_op save = c->pending[i];

		*emit(c, OP_SAVE) = save;
	}
	c->n_pending = 0;
	c->run = -1;
}

/* Makes sure a run is open at a place so aligned; the place is then c->run_bits. */
static void open_run(struct compiler *c, uint32_t align)
{
	if (c->run >= 0 && c->ops && c->ops[c->run].align_bits < align)
		close_run(c);
	if (c->run < 0) {
		struct ctf_op *run = emit(c, OP_RUN);

		run->align_bits = align > c->known_align ? align : c->known_align;
		if (c->err)
			return;
		c->run = (int32_t)c->n_ops - 1;
		c->run_bits = 0;
	}
	c->run_bits = align_up(c->run_bits, align);
}

static uint32_t add_node(struct compiler *c, const char *name, int32_t parent, const struct ctf_type *t)
{
	uint32_t place = c->n_nodes;

	if (c->n_nodes == c->node_capacity) {
		uint32_t capacity = c->node_capacity ? c->node_capacity * 2 : 64;
		struct node *nodes = realloc(c->nodes, capacity * sizeof *nodes);
		uint8_t *slots = nodes ? realloc(c->slots, capacity) : NULL;

		if (nodes)
			c->nodes = nodes;
		if (!slots) {
			c->err = -ENOMEM;
			return 0;
		}
		memset(slots + c->node_capacity, CTF_NO_SLOT, capacity - c->node_capacity);
		c->slots = slots;
		c->node_capacity = capacity;
	}
	c->nodes[c->n_nodes++] = (struct node){
		.name = name,
		.parent = parent,
		.type = t,
	};
	return place;
}

static const char *shown_name(const char *name)
{
	return name && name[0] == '_' ? name + 1 : name;
}

static bool is_big(const struct compiler *c, const struct ctf_type *t)
{
	return (t->order == CTF_NATIVE ? c->meta->order : t->order) == CTF_BIG;
}

static bool is_number(const struct ctf_type *t)
{
	return t->kind == CTF_INTEGER || t->kind == CTF_ENUM || t->kind == CTF_FLOAT;
}

static bool is_padding(const struct compiler *c, const char *name, const struct ctf_type *t)
{
	return c->scope == CTF_PAYLOAD && name && !strncmp(name, "_pad", 4) && name[4] >= '0' &&
	       name[4] <= '9' && t->kind == CTF_ARRAY && t->of->size_bits == 8;
}

static struct ctf_op *emit_shown(struct compiler *c, enum ctf_opcode code, const char *name,
				 const struct ctf_type *t)
{
	struct ctf_op *op = emit(c, code);

	op->name = shown_name(name);
	op->name_size = op->name ? (uint32_t)strlen(op->name) : 0;
	op->type = t;
	op->is_hidden = is_padding(c, name, t);
	return op;
}

static void describe_number(struct compiler *c, struct ctf_op *op, const struct ctf_type *t)
{
	op->size_bits = t->size_bits;
	op->align_bits = t->align_bits;
	op->is_big = is_big(c, t);
	op->is_signed = t->is_signed;
	op->stride_bits = (uint32_t)align_up(t->size_bits, t->align_bits);
}

static void grow_run(struct compiler *c, uint64_t bits, const char *name)
{
	if (bits > RUN_BITS_MAX || c->run_bits > RUN_BITS_MAX)
		return fail(c, "is larger than any packet", name);
	c->run_bits += bits;
}

static void save_number(struct compiler *c, uint8_t slot, const struct ctf_op *number)
{
	struct ctf_op save = *number, *pending;

	pending = realloc(c->pending, (c->n_pending + 1) * sizeof *pending);
	if (!pending) {
		c->err = -ENOMEM;
		return;
	}
	save.code = OP_SAVE;
	save.slot = slot;
	c->pending = pending;
	c->pending[c->n_pending++] = save;
}

/* Known beforehand only in a run that begins on a byte. */
static bool is_plain(const struct ctf_op *op, const struct ctf_op *run)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && run->align_bits >= 8 &&
	       op->offset_bits % 8 == 0 && op->size_bits % 8 == 0 && (!op->is_big || op->size_bits == 8);
}

static void number(struct compiler *c, const char *name, const struct ctf_type *t, uint32_t place)
{
	struct ctf_op *op;
	uint64_t at;

	open_run(c, t->align_bits);
	at = c->run_bits;
	op = emit_shown(c, OP_NUMBER, name, t);
	c->nodes[place].op = c->n_ops - 1;
	describe_number(c, op, t);
	op->offset_bits = at;
	op->is_first_run = c->run == 0;
	op->is_plain = !c->err && is_plain(op, &c->ops[c->run]);
	op->sign = op->is_signed ? 1ull << (op->size_bits - 1) : 0;
	grow_run(c, t->size_bits, name);
	if (!c->err && t->kind != CTF_FLOAT && c->slots[place] != CTF_NO_SLOT)
		save_number(c, c->slots[place], op);
}

static void number_array(struct compiler *c, const char *name, const struct ctf_type *t)
{
	const struct ctf_type *e = t->of;
	uint64_t stride = align_up(e->size_bits, e->align_bits), bits = 0, at;
	bool is_text = e->kind == CTF_INTEGER && e->is_text && e->size_bits == 8 && e->align_bits >= 8 &&
		       stride == 8;
	struct ctf_op *op;

	open_run(c, e->align_bits);
	at = c->run_bits;
	op = emit_shown(c, is_text ? OP_TEXT_ARRAY : OP_ARRAY, name, t);
	describe_number(c, op, e);
	op->offset_bits = at;
	op->count = t->length;
	op->is_first_run = c->run == 0;
	if (t->length && (__builtin_mul_overflow(t->length - 1, stride, &bits) ||
			  __builtin_add_overflow(bits, e->size_bits, &bits)))
		return fail(c, "is larger than any packet", name);
	grow_run(c, bits, name);
}

/* The member @name of node or scope @parent, the latest if there are several. */
static int32_t find_node(const struct compiler *c, int32_t parent, const char *name, size_t size)
{
	c->meta->n_steps += c->n_nodes;
	for (uint32_t i = c->n_nodes; i-- > 0;)
		if (c->nodes[i].parent == parent && c->nodes[i].name &&
		    !strncmp(c->nodes[i].name, name, size) && !c->nodes[i].name[size])
			return (int32_t)i;
	return -1;
}

static int32_t find_path(const struct compiler *c, int32_t parent, const char *path)
{
	int32_t found = -1;

	for (;;) {
		size_t n = strcspn(path, ".");

		found = find_node(c, parent, path, n);
		if (found < 0 || !path[n])
			return found;
		parent = found;
		path += n + 1;
	}
}

static const char *after_prefix(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(path, prefix, n) && path[n] == '.' ? path + n + 1 : NULL;
}

enum { TOP_STREAM_CONTEXT = -2, TOP_EVENT_CONTEXT = -3, TOP_FIELDS = -4 };

/* Scopes as TSDL spells them; a plain name goes from the innermost struct outwards. */
static int32_t resolve(const struct compiler *c, int32_t from, const char *path)
{
	const char *rest;
	int32_t found;

	if ((rest = after_prefix(path, "event.fields")))
		return find_path(c, TOP_FIELDS, rest);
	if ((rest = after_prefix(path, "stream.event.context")))
		return find_path(c, TOP_STREAM_CONTEXT, rest);
	if ((rest = after_prefix(path, "event.context")))
		return find_path(c, TOP_EVENT_CONTEXT, rest);
	for (;; from = c->nodes[from].parent) {
		found = find_path(c, from, path);
		if (found >= 0)
			return found;
		if (from < 0)
			break;
	}
	for (int32_t top = from + 1; top <= TOP_STREAM_CONTEXT; top++) {
		found = find_path(c, top, path);
		if (found >= 0)
			return found;
	}
	return -1;
}

static const struct outer *resolve_outer(struct compiler *c, const char *path)
{
	for (int i = c->n_outer; i-- > 0;) {
		const struct outer *o = &c->outer[i];
		const char *rest = after_prefix(path, o->scope);

		if (strcmp(rest ? rest : path, o->name))
			continue;
		if (!strcmp(o->scope, "stream.event.header"))
			c->uses_header = true;
		return o;
	}
	return NULL;
}

/* Where the number that @path means is saved; its type through @t. */
static uint8_t slot_of(struct compiler *c, int32_t from, const char *path, const struct ctf_type **t,
		       int32_t *node)
{
	int32_t n = path ? resolve(c, from, path) : -1;
	const struct outer *o;

	if (c->meta->n_steps > STEPS_MAX)
		fail(c, "is one reference too many", path);
	*node = n;
	if (n < 0) {
		o = path ? resolve_outer(c, path) : NULL;
		if (!o) {
			fail(c, "is the length or tag of another, but is not before it", path);
			return CTF_NO_SLOT;
		}
		*t = o->type;
		return o->slot;
	}
	*t = c->nodes[n].type;
	if ((*t)->kind != CTF_INTEGER && (*t)->kind != CTF_ENUM) {
		fail(c, "is the length or tag of another, but is no integer", path);
		return CTF_NO_SLOT;
	}
	if (c->slots[n] == CTF_NO_SLOT) {
		if (c->n_slots >= CTF_SLOTS)
			fail(c, "is one length or tag too many", path);
		else
			c->slots[n] = c->n_slots++;
	}
	return c->slots[n];
}

static void hide_length(struct compiler *c, int32_t node, const char *name)
{
	const char *length = node >= 0 ? c->nodes[node].name : NULL;
	const char *shown = shown_name(name);
	size_t n = shown ? strlen(shown) : 0;
	size_t skip = length ? strspn(length, "_") : 0;

	if (!n || !length || !skip || c->err || c->nodes[node].op >= c->n_ops)
		return;
	if (!strncmp(length + skip, shown + strspn(shown, "_"), n - strspn(shown, "_")) &&
	    !strcmp(length + skip + n - strspn(shown, "_"), "_length"))
		c->ops[c->nodes[node].op].is_hidden = true;
}

static void number_sequence(struct compiler *c, const char *name, const struct ctf_type *t, uint8_t slot)
{
	const struct ctf_type *e = t->of;
	bool is_text = e->kind == CTF_INTEGER && e->is_text && e->size_bits == 8 && e->align_bits >= 8 &&
		       align_up(8, e->align_bits) == 8;
	struct ctf_op *op;

	close_run(c);
	op = emit_shown(c, is_text ? OP_TEXT_SEQUENCE : OP_SEQUENCE, name, t);
	describe_number(c, op, e);
	op->slot = slot;
	c->known_align = low_bit(e->size_bits, e->align_bits);
}

static void any(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent);

static void loop(struct compiler *c, const char *name, const struct ctf_type *t, uint8_t slot,
		 uint32_t place)
{
	struct ctf_op *op;
	uint32_t begin;

	close_run(c);
	if (++c->loops > CTF_LOOPS_MAX)
		fail(c, "is an array in too many arrays", name);
	op = emit_shown(c, OP_LOOP, name, t);
	op->align_bits = t->of->align_bits;
	op->slot = slot;
	op->count = t->length;
	begin = c->n_ops - 1;
	c->known_align = 1;
	any(c, NULL, t->of, (int32_t)place);
	close_run(c);
	emit(c, OP_AGAIN)->to = begin;
	if (!c->err)
		c->ops[begin].to = c->n_ops - 1;
	emit_shown(c, OP_CLOSE_ARRAY, name, t);
	c->known_align = 1;
	c->loops--;
}

static void array(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent,
		  uint32_t place)
{
	const struct ctf_type *counter;
	uint8_t slot = CTF_NO_SLOT;
	int32_t node = -1;

	if (t->kind == CTF_SEQUENCE) {
		slot = slot_of(c, parent, t->path, &counter, &node);
		hide_length(c, node, name);
		if (is_number(t->of))
			number_sequence(c, name, t, slot);
		else
			loop(c, name, t, slot, place);
	} else if (is_number(t->of)) {
		number_array(c, name, t);
	} else {
		loop(c, name, t, slot, place);
	}
}

static void structure(struct compiler *c, const char *name, const struct ctf_type *t, uint32_t place)
{
	open_run(c, t->align_bits);
	emit_shown(c, OP_OPEN, name, t);
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		any(c, t->members[i].name, t->members[i].type, (int32_t)place);
	emit_shown(c, OP_CLOSE, name, t);
}

/* How many cases the labels of @tag make of the options of @t. */
static uint32_t count_cases(const struct ctf_type *t, const struct ctf_type *tag)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_members; i++)
		for (uint32_t l = 0; l < tag->n_members; l++)
			n += !strcmp(tag->labels[l].text, t->members[i].name);
	return n;
}

static void variant(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent,
		    uint32_t place)
{
	const struct ctf_type *tag = NULL;
	struct ctf_case *cases;
	uint32_t begin, n = 0, *ends;
	int32_t node;
	uint8_t slot = slot_of(c, parent, t->path, &tag, &node);

	if (c->err)
		return;
	if (tag->kind != CTF_ENUM)
		return fail(c, "is a tag, but no enum", t->path);
	c->meta->n_steps += (uint64_t)t->n_members * tag->n_members;
	if (c->meta->n_steps > STEPS_MAX)
		return fail(c, "is a variant with too many cases", name);
	close_run(c);
	cases = ctf_meta_alloc(c->meta, (count_cases(t, tag) + (size_t)1) * sizeof *cases);
	ends = calloc(t->n_members + (size_t)1, sizeof *ends);
	if (!cases || !ends) {
		c->err = -ENOMEM;
		free(ends);
		return;
	}
	begin = c->n_ops;
	emit_shown(c, OP_CHOICE, name, t)->slot = slot;
	for (uint32_t i = 0; i < t->n_members && !c->err; i++) {
		for (uint32_t l = 0; l < tag->n_members; l++)
			if (!strcmp(tag->labels[l].text, t->members[i].name))
				cases[n++] = (struct ctf_case){ tag->labels[l].first,
								tag->labels[l].last, c->n_ops };
		c->known_align = 1;
		c->option = t->members[i].name;
		any(c, name, t->members[i].type, (int32_t)place);
		close_run(c);
		ends[i] = c->n_ops;
		emit(c, OP_JUMP);
	}
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		c->ops[ends[i]].to = c->n_ops;
	if (!c->err) {
		c->ops[begin].cases = cases;
		c->ops[begin].n_cases = n;
		c->ops[begin].is_tag_signed = tag->is_signed;
	}
	c->known_align = 1;
	free(ends);
}

static void any(struct compiler *c, const char *name, const struct ctf_type *t, int32_t parent)
{
	uint32_t place;

	if (c->err)
		return;
	place = add_node(c, c->option ? c->option : name, parent, t);
	c->option = NULL;
	if (c->err)
		return;
	if (c->saves_all && parent < -1 && (t->kind == CTF_INTEGER || t->kind == CTF_ENUM) &&
	    c->slots[place] == CTF_NO_SLOT && c->n_slots < OUTER_MAX)
		c->slots[place] = c->n_slots++;
	switch (t->kind) {
	case CTF_INTEGER:
	case CTF_FLOAT:
	case CTF_ENUM:
		number(c, name, t, place);
		break;
	case CTF_STRING:
		close_run(c);
		emit_shown(c, OP_STRING, name, t);
		c->known_align = 8;
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		array(c, name, t, parent, place);
		break;
	case CTF_STRUCT:
		structure(c, name, t, place);
		break;
	case CTF_VARIANT:
		variant(c, name, t, parent, place);
		break;
	}
}

/* The members of a scope's struct; the struct itself is only an alignment. */
static void scope(struct compiler *c, const struct ctf_type *t, int32_t top, enum ctf_scope which)
{
	c->scope = which;
	if (!t || c->err)
		return;
	open_run(c, t->align_bits);
	for (uint32_t i = 0; i < t->n_members && !c->err; i++)
		any(c, t->members[i].name, t->members[i].type, top);
}

static void begin_pass(struct compiler *c)
{
	c->n_ops = c->n_nodes = c->n_pending = 0;
	c->run = -1;
	c->known_align = 1;
	c->run_bits = 0;
	c->loops = 0;
}

/* Returns how many cells; 0 if the program has anything else, or too many. */
static uint32_t list_cells(const struct ctf_op *op, const struct ctf_op **cells)
{
	uint32_t n = 0;

	for (; op->code != OP_END; op++) {
		if (op->code == OP_RUN || op->code == OP_SAVE)
			continue;
		if ((op->code != OP_NUMBER && op->code != OP_STRING && op->code != OP_TEXT_ARRAY &&
		     op->code != OP_TEXT_SEQUENCE) || n == CTF_CELLS_MAX)
			return 0;
		cells[n++] = op;
	}
	return n;
}

static void set_cells(struct compiler *c, struct ctf_program *p)
{
	const struct ctf_op *cells[CTF_CELLS_MAX];
	uint32_t n = list_cells(p->ops, cells);

	if (!n)
		return;
	p->cells = ctf_meta_alloc(c->meta, n * sizeof *p->cells);
	if (!p->cells) {
		c->err = -ENOMEM;
		return;
	}
	memcpy(p->cells, cells, n * sizeof *cells);
	p->n_cells = n;
}

static const struct ctf_program *finish(struct compiler *c, uint32_t payload)
{
	struct ctf_program *p;
	struct ctf_op *ops;

	close_run(c);
	emit(c, OP_END);
	if (!c->err && (c->meta->n_ops += c->n_ops) > OPS_OF_TRACE_MAX)
		fail(c, "is one of more fields than a trace may have", "...");
	if (c->err)
		return NULL;
	p = ctf_meta_alloc(c->meta, sizeof *p);
	ops = ctf_meta_alloc(c->meta, c->n_ops * sizeof *ops);
	if (!p || !ops) {
		c->err = -ENOMEM;
		return NULL;
	}
	memcpy(ops, c->ops, c->n_ops * sizeof *ops);
	p->ops = ops;
	p->n_ops = c->n_ops;
	p->payload = payload;
	p->align_bits = ops[0].code == OP_RUN ? ops[0].align_bits : 1;
	p->size_bits = ops[0].code == OP_RUN ? ops[0].count : 0;
	set_cells(c, p);
	return c->err ? NULL : p;
}

static void compiler_fini(struct compiler *c)
{
	free(c->ops);
	free(c->nodes);
	free(c->slots);
	free(c->pending);
}

/* The packet header, packet context or event header: one struct, its integers saved from slot
 * @n_outer on and added to @outer. */
static int compile_outer(struct ctf_meta *m, const struct ctf_type *t, const char *name,
			 enum ctf_scope which, struct outer *outer, int *n_outer,
			 const struct ctf_program **program, struct diag *d)
{
	struct compiler c = { .meta = m, .outer = outer, .n_outer = *n_outer, .saves_all = true,
			      .n_slots = (uint8_t)*n_outer };
	int err;

	for (int pass = 0; pass < 2; pass++) {
		begin_pass(&c);
		scope(&c, t, TOP_FIELDS, which);
	}
	*program = finish(&c, 0);
	for (uint32_t i = 0; i < c.n_nodes && !c.err; i++) {
		uint8_t slot = c.slots[i];

		if (slot != CTF_NO_SLOT && c.nodes[i].name && slot < OUTER_MAX) {
			outer[slot] = (struct outer){ name, c.nodes[i].name, c.nodes[i].type, slot };
			if (slot >= *n_outer)
				*n_outer = slot + 1;
		}
	}
	err = c.err ? diag_fail(d, c.err, "%s: %s", name, c.err == -ENOMEM ? "no memory" : c.why) : 0;
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
	struct compiler c = { .meta = m, .outer = outer, .n_outer = n_outer,
			      .n_slots = (uint8_t)n_outer };
	uint32_t payload = 0;
	int err;

	for (int pass = 0; pass < 2; pass++) {
		begin_pass(&c);
		scope(&c, s->event_context, TOP_STREAM_CONTEXT, CTF_CONTEXT);
		scope(&c, e->context, TOP_EVENT_CONTEXT, CTF_CONTEXT);
		payload = c.n_ops;
		scope(&c, e->fields, TOP_FIELDS, CTF_PAYLOAD);
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
	struct outer outer[OUTER_MAX];
	int n = 0;

	return compile_outer(m, m->packet_header, "trace.packet.header", CTF_PACKET_HEADER, outer, &n,
			     &m->packet_header_program, d);
}

int ctf_class_compile_stream(struct ctf_meta *m, struct ctf_stream_class *s, struct diag *d)
{
	const struct ctf_program *again;
	struct outer outer[OUTER_MAX];
	int n = 0, err;

	err = compile_outer(m, m->packet_header, "trace.packet.header", CTF_PACKET_HEADER, outer, &n,
			    &again, d);
	if (!err)
		err = compile_outer(m, s->packet_context, "stream.packet.context", CTF_PACKET_CONTEXT,
				    outer, &n, &s->packet_program, d);
	if (!err)
		err = compile_outer(m, s->event_header, "stream.event.header", CTF_EVENT_HEADER, outer,
				    &n, &s->header_program, d);
	s->header_kind = ctf_header_recognise(m, s->event_header);
	for (struct ctf_event_class *e = m->events; e && !err; e = e->next)
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
				op->code == OP_TEXT_ARRAY || op->code == OP_TEXT_SEQUENCE;

		if (op->code == OP_OPEN || op->code == OP_LOOP)
			depth++;
		else if (op->code == OP_CLOSE || op->code == OP_CLOSE_ARRAY)
			depth--;
		else if (!depth && is_shown && op->scope == which && op->name && !strcmp(op->name, name))
			return op;
	}
	return NULL;
}
