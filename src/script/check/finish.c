/* SPDX-License-Identifier: MIT */
/*
 * check/finish.c - the tables of the program.
 *
 * Only sites that are left in a handler's tree become slots, in the order of their first use.
 */
#include "script/check/internal.h"

/* ---- needs and effects ---- */

struct finishing {
	struct check_walk walk; /* first */
	struct check *c;
	struct check_scope *scope;
	uint64_t needs;
	bool writes_globals, prints;
	int32_t *slots; /* by site; -1: none yet */
	uint32_t n_slots;
};

static void call(struct finishing *f, const struct script_expr *e)
{
	if (e->function) {
		f->needs |= e->function->needs;
		f->writes_globals |= e->function->writes_globals;
		f->prints |= e->function->prints;
	} else if (e->builtin) {
		f->needs |= e->builtin->needs;
		if (e->builtin->standard >= 0)
			f->needs |= 1ull << e->builtin->standard;
		f->prints |= !e->builtin->is_pure;
	} else { /* table(), plot() */
		f->prints = true;
	}
}

static void writes(struct finishing *f, const struct script_expr *to)
{
	f->writes_globals |= to && to->variable && to->variable->is_global;
}

static bool collect_expr(struct check_walk *w, struct script_expr **at)
{
	struct finishing *f = (struct finishing *)w;
	struct script_expr *e = *at;

	if (e->is_elided || e->slot >= 0)
		return false;
	if (e->kind == EXPR_CALL)
		call(f, e);
	else if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP)
		writes(f, e->kids[0]);
	else if (e->kind == EXPR_PRINT)
		f->prints |= e->text[0] != 's';
	return true;
}

static bool collect_stmt(struct check_walk *w, struct script_stmt *s)
{
	struct finishing *f = (struct finishing *)w;

	if (s->kind == STMT_DELETE)
		writes(f, s->expr);
	for (uint32_t i = 0; s->foreach && i < s->foreach->n_keys; i++)
		writes(f, s->foreach->keys[i]);
	if (s->foreach)
		writes(f, s->foreach->value);
	writes(f, s->variable);
	return true;
}

static struct finishing collect(struct check *c, struct check_scope *s)
{
	struct finishing f = { .walk = { .enter = collect_expr, .statement = collect_stmt },
			       .c = c,
			       .scope = s };

	check_walk_expr(&f.walk, &s->condition);
	for (uint32_t i = 0; i < s->n_body; i++)
		check_walk_stmt(&f.walk, s->body[i]);
	if (s->function && s->own.next) {
		f.needs |= s->own.next->needs;
		f.writes_globals |= s->own.next->writes_globals;
		f.prints |= s->own.next->prints;
	}
	return f;
}

/* Functions call each other, so until nothing is new. */
static void collect_functions(struct check *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->n_scopes; i++) {
			struct check_scope *s = c->scopes[i];
			struct finishing f;

			if (!s->function)
				continue;
			f = collect(c, s);
			changed |= f.needs != s->own.needs || f.prints != s->own.prints ||
				   f.writes_globals != s->own.writes_globals;
			s->own.needs = f.needs;
			s->own.prints = f.prints;
			s->own.writes_globals = f.writes_globals;
		}
	}
}

/* ---- slots ---- */

static bool number_slot(struct check_walk *w, struct script_expr **at)
{
	struct finishing *f = (struct finishing *)w;
	struct script_expr *e = *at;
	struct script_handler *h = f->scope->handler;
	const struct check_site *site;

	if (e->is_elided)
		return false;
	if (e->slot < 0)
		return true;
	site = f->scope->template->sites[e->slot];
	if (f->slots[e->slot] < 0) {
		if (h->n_slots == SCRIPT_SLOTS_MAX) {
			semantic(f->c, e->place, "a probe reads at most %d values of its event",
				 SCRIPT_SLOTS_MAX);
			longjmp(f->c->full, 2);
		}
		h->slots[h->n_slots] = (struct script_slot){ .type = e->type,
							     .expr = site->expr,
							     .text = site->text };
		f->slots[e->slot] = (int32_t)h->n_slots++;
	}
	e->slot = f->slots[e->slot];
	return false;
}

/* Slots of the handler's tree; then the values of each of its probes. */
static void number_slots(struct check *c, struct check_scope *s)
{
	uint32_t n = s->template->n_sites;
	struct finishing f = { .walk.enter = number_slot, .c = c, .scope = s };
	struct script_handler *h = s->handler;

	f.slots = check_allocate(c, (n + 1) * sizeof *f.slots);
	memset(f.slots, -1, (n + 1) * sizeof *f.slots);
	h->slots = check_allocate(c, SCRIPT_SLOTS_MAX * sizeof *h->slots);
	check_walk_expr(&f.walk, &s->condition);
	for (uint32_t i = 0; i < s->n_body; i++)
		check_walk_stmt(&f.walk, s->body[i]);
	s->site_slots = f.slots;
}

static void fill_probe(struct check *c, struct check_probe *p)
{
	struct script_handler *h = p->probe->handler;
	const int32_t *slots = p->shape->scope->site_slots;

	p->probe->slots = check_allocate(c, (h->n_slots + 1) * sizeof *p->probe->slots);
	for (uint32_t i = 0; i < p->n_facts; i++) {
		int32_t slot = slots[i];

		if (slot < 0)
			continue;
		p->probe->slots[slot] = p->facts[i].value;
		h->slots[slot].may_fault |= p->facts[i].value.may_fault;
	}
}

/* ---- the program ---- */

static void finish_locals(struct check_scope *s)
{
	for (uint32_t i = 0; i < s->n_locals; i++) {
		if (!s->locals[i]->type) /* only expressions that are left out had it */
			s->locals[i]->type = SCRIPT_LONG;
		s->locals[i]->index = i;
	}
}

static void finish_handler(struct check *c, struct check_scope *s)
{
	struct script_handler *h = s->handler;
	struct finishing f = collect(c, s);

	h->body = s->body;
	h->n_body = s->n_body;
	h->condition = s->condition;
	h->locals = s->locals;
	h->n_locals = s->n_locals;
	h->needs = f.needs;
	h->writes_globals = f.writes_globals;
	h->index = c->program->n_handlers;
	number_slots(c, s);
	check_push(c, &c->program->handlers, &c->program->n_handlers, h);
}

static void finish_function(struct check *c, struct check_scope *s)
{
	struct script_function *f = &s->own;

	if (f->n_parameters > SCRIPT_PARAMETERS_MAX)
		semantic(c, f->decl->place, "a function has at most %d parameters",
			 SCRIPT_PARAMETERS_MAX);
	if (!f->type)
		f->type = SCRIPT_NOTHING;
	f->body = s->body[0];
	f->locals = s->locals;
	f->n_locals = s->n_locals;
	f->index = c->program->n_functions;
	check_push(c, &c->program->functions, &c->program->n_functions, f);
}

static void finish_global(struct script_variable *v)
{
	if (!v->type)
		v->type = SCRIPT_LONG;
	if (v->is_array && !v->n_keys) /* only deleted, or not used at all */
		v->n_keys = 1;
	for (uint32_t i = 0; i < v->n_keys; i++)
		if (!v->keys[i])
			v->keys[i] = SCRIPT_LONG;
}

void check_finish(struct check *c)
{
	struct script_program *p = c->program;

	collect_functions(c);
	for (uint32_t i = 0; i < c->n_scopes; i++) {
		finish_locals(c->scopes[i]);
		if (c->scopes[i]->handler)
			finish_handler(c, c->scopes[i]);
		else
			finish_function(c, c->scopes[i]);
	}
	for (uint32_t i = 0; i < p->n_globals; i++) {
		finish_global(p->globals[i]);
		p->globals[i]->index = i;
	}
	for (uint32_t i = 0; i < c->n_probes; i++) {
		fill_probe(c, c->probes[i]);
		check_push(c, &p->probes, &p->n_probes, c->probes[i]->probe);
	}
}
