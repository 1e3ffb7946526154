/* SPDX-License-Identifier: MIT */
/*
 * script/replay/entries.c - arguments of a system call at its return: kept from the entry.
 *
 * Each value of the script that is of_entry has a number.  A row of cells for each thread holds them
 * from the entry of the call to its exit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/replay/bind.h"

struct entry_cell {
	int64_t number;
	char *text; /* NULL: a number */
	uint32_t size, room;
	bool is_there;
};

struct entries {
	struct entry_cell *cells; /* by thread, then by number of the value */
	uint32_t n_cells, n_values;
};

int entries_open(struct entries **entries, const struct replay *r,
		 const struct script_program *program)
{
	struct entries *e = *entries = calloc(1, sizeof *e);

	for (uint32_t i = 0; e && i < program->n_probes; i++) {
		const struct script_probe *p = program->probes[i];

		if (!replay_has(&r->world, &p->point))
			continue;
		for (uint32_t k = 0; k < p->handler->n_slots; k++) {
			struct replay_value *v = p->slots[k].data;

			if (v->of_entry)
				v->number = e->n_values++;
		}
	}
	return e ? 0 : -ENOMEM;
}

void entries_close(struct entries *e)
{
	for (uint32_t i = 0; e && i < e->n_cells; i++)
		free(e->cells[i].text);
	if (e)
		free(e->cells);
	free(e);
}

static int keep_text(struct entry_cell *c, const struct script_string *s)
{
	if (s->size + 1 > c->room) {
		char *text = realloc(c->text, s->size + (size_t)1);

		if (!text)
			return -ENOMEM;
		c->text = text;
		c->room = s->size + 1;
	}
	memcpy(c->text, s->bytes, s->size);
	c->size = s->size;
	return 0;
}

int entries_keep(struct entries *e, struct fill *f, const struct bound_slot *slots, uint32_t n)
{
	fill_forget_strings(f); /* of the frame before */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)f->thread * e->n_values + slots[i].value->number;
		struct entry_cell *c;
		union script_cell cell;

		if (at > UINT32_MAX ||
		    pass_grow(&e->cells, &e->n_cells, (uint32_t)at, sizeof *e->cells))
			return -ENOMEM;
		c = &e->cells[at];
		c->is_there = fill_field(f, &slots[i], &cell);
		if (c->is_there && slots[i].type == SCRIPT_STRING && keep_text(c, cell.text))
			return -ENOMEM;
		if (c->is_there && slots[i].type != SCRIPT_STRING)
			c->number = cell.number;
	}
	return 0;
}

bool entries_take(const struct entries *e, struct fill *f, const struct bound_slot *s,
		  union script_cell *cell)
{
	uint64_t at = (uint64_t)f->thread * e->n_values + s->value->number;

	if (at >= e->n_cells || !e->cells[at].is_there)
		return false;
	if (s->type == SCRIPT_STRING)
		cell->text = fill_string(f, e->cells[at].text, e->cells[at].size);
	else
		cell->number = e->cells[at].number;
	return true;
}
