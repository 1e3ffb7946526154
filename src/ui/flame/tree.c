/* SPDX-License-Identifier: MIT */
/* ui/flame/tree.c - nodes and names of a flame graph, found by hash tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "base/hash.h"
#include "ui/flame/internal.h"

static uint32_t fail(struct flame *f)
{
	f->tables->failed = true;
	return 0;
}

uint32_t flame_name(struct flame *f, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text)), nth = 0;
	struct flame_tables *t = f->tables;
	struct slot *slot;

	for (;; nth++) {
		slot = table_find(&t->names, hash, nth);
		if (!slot)
			return fail(f);
		if (!slot->value)
			break;
		if (!strcmp(f->names[slot->value - 1], text))
			return slot->value - 1;
	}
	if (pass_grow(&f->names, &t->n_name_rooms, f->n_names, sizeof *f->names))
		return fail(f);
	f->names[f->n_names] = strdup(text);
	if (!f->names[f->n_names])
		return fail(f);
	fill(&t->names, slot, f->n_names);
	return f->n_names++;
}

uint32_t flame_index_name(struct flame_work *w, uint32_t name)
{
	struct slot *slot = table_find(&w->f->tables->by_index, name, 0);
	const char *text;

	if (!slot)
		return fail(w->f);
	if (!slot->value) {
		text = ui_index_name(w->o->index, name);
		fill(&w->f->tables->by_index, slot, flame_name(w->f, text && *text ? text : "?"));
	}
	return slot->value - 1;
}

uint32_t flame_child(struct flame *f, uint32_t parent, enum flame_what what, uint32_t name)
{
	struct flame_tables *t = f->tables;
	struct slot *slot = table_find(&t->children, parent, (uint64_t)what << 32 | name);

	if (!slot)
		return fail(f);
	if (slot->value)
		return slot->value - 1;
	if (pass_grow(&f->nodes, &t->n_node_rooms, f->n_nodes, sizeof *f->nodes))
		return fail(f);
	fill(&t->children, slot, f->n_nodes);
	f->nodes[f->n_nodes] =
		(struct flame_node){ .parent = parent, .name = name, .what = (uint8_t)what };
	return f->n_nodes++;
}

void flame_state(struct flame *f, uint32_t node, const char *state, uint64_t ns)
{
	uint32_t child;

	if (!ns)
		return;
	child = flame_child(f, node, FLAME_STATE, flame_name(f, state));
	f->nodes[child].self += ns;
}

int flame_tree_init(struct flame *f)
{
	f->tables = calloc(1, sizeof *f->tables);
	if (!f->tables || pass_grow(&f->nodes, &f->tables->n_node_rooms, 0, sizeof *f->nodes))
		return -ENOMEM;
	f->nodes[0] = (struct flame_node){ .name = flame_name(f, "all") };
	f->n_nodes = 1;
	return f->tables->failed ? -ENOMEM : 0;
}

void flame_fini(struct flame *f)
{
	for (uint32_t i = 0; i < f->n_names; i++)
		free(f->names[i]);
	free(f->names);
	free(f->nodes);
	if (f->tables) {
		free(f->tables->names.at);
		free(f->tables->by_index.at);
		free(f->tables->children.at);
		free(f->tables);
	}
	*f = (struct flame){ 0 };
}

/* Processes and threads of one name are different nodes: their names have the ids. */
static uint32_t row_node(struct flame_work *w, uint32_t parent, uint32_t row, enum flame_what what)
{
	struct ui_row r;
	char text[64];
	uint32_t node;

	if (!ui_index_row(w->o->index, row, &r))
		return parent;
	snprintf(text, sizeof text, "%.40s:%lld", *r.name ? r.name : "?",
		 (long long)(what == FLAME_PROCESS ? r.pid : r.tid));
	node = flame_child(w->f, parent, what, flame_name(w->f, text));
	w->f->nodes[node].row = row + 1;
	return node;
}

uint32_t flame_thread_node(struct flame_work *w, struct flame_thread *t)
{
	uint32_t node = 0;
	struct ui_row r, p;

	if (t->node)
		return t->node - 1;
	if (ui_index_row(w->o->index, t->row, &r) && r.parent &&
	    ui_index_row(w->o->index, r.parent - 1, &p) && p.kind == UI_ROW_PROCESS)
		node = row_node(w, 0, r.parent - 1, FLAME_PROCESS);
	node = row_node(w, node, t->row, FLAME_THREAD);
	t->node = node + 1;
	return node;
}

void flame_totals(struct flame *f)
{
	for (uint32_t i = 0; i < f->n_nodes; i++)
		f->nodes[i].total = f->nodes[i].self;
	for (uint32_t i = f->n_nodes - 1; i > 0; i--)
		f->nodes[f->nodes[i].parent].total += f->nodes[i].total;
}
