/* SPDX-License-Identifier: MIT */
/*
 * check/entry.c - @entry(x) at a return: x as it was at the entry.
 *
 * A hidden array keeps it by thread; a probe of the entry stores it there, and the probe of the return
 * begins by taking it out.  Functions of programs often call themselves, so for them the number of
 * calls that the thread is in is a second key:
 *
 *	entry	depth[tid()]++; stored[tid(), depth[tid()]] = x
 *	return	known = [tid(), depth[tid()]] in stored; x = stored[...]; delete stored[...];
 *		if (--depth[tid()] < 1) delete ...; if (!known) next
 *
 * A return without its entry is of a call that began before the script, or whose values could not be
 * read.  Its handler does not run: a duration since 0 would spoil every sum that it is added to.
 * A call whose return is never seen leaves an element behind; the arrays wrap, so that costs at most
 * their size.
 */
#include "script/check/internal.h"

static struct script_variable *hidden_array(struct check *c, const char *name,
					    struct script_place place)
{
	struct check_variable *made = check_allocate(c, sizeof *made);

	made->is_hidden = true;
	made->v = (struct script_variable){ .name = name,
					    .is_global = true,
					    .is_array = true,
					    .wraps = true,
					    .place = place,
					    .typed_at = place };
	check_push(c, &c->program->globals, &c->program->n_globals, &made->v);
	return &made->v;
}

/* ---- pieces of trees ---- */

static struct script_expr *by_thread(struct check *c, struct script_variable *v,
				     struct script_place place)
{
	struct script_expr *e = check_expr(c, EXPR_ELEMENT, place, v->name, 1);

	e->kids[0] = check_expr(c, EXPR_CALL, place, "tid", 0);
	e->variable = v;
	return e;
}

/* stored[tid()], or stored[tid(), depth[tid()]] */
static struct script_expr *stored(struct check *c, const struct check_template *t,
				  struct script_variable *v, struct script_place place)
{
	struct script_expr *e;

	if (!t->is_user)
		return by_thread(c, v, place);
	e = check_expr(c, EXPR_ELEMENT, place, v->name, 2);
	e->kids[0] = check_expr(c, EXPR_CALL, place, "tid", 0);
	e->kids[1] = by_thread(c, t->depth, place);
	e->variable = v;
	return e;
}

static struct script_expr *assign(struct check *c, struct script_expr *to,
				  struct script_expr *value)
{
	struct script_expr *e = check_expr(c, EXPR_ASSIGN, to->place, NULL, 2);

	e->kids[0] = to;
	e->kids[1] = value;
	return e;
}

/* ++depth[tid()] or --depth[tid()] */
static struct script_expr *step(struct check *c, const struct check_template *t, enum script_op op,
				struct script_place place)
{
	struct script_expr *e = check_expr(c, EXPR_STEP, place, NULL, 1);

	e->op = op;
	e->is_prefix = true;
	e->kids[0] = by_thread(c, t->depth, place);
	return e;
}

/* if (--depth[tid()] < 1) delete depth[tid()] */
static struct script_stmt *leave(struct check *c, const struct check_template *t,
				 struct script_place place)
{
	struct script_expr *less = check_expr(c, EXPR_BINARY, place, NULL, 2);
	struct script_stmt *s = check_stmt(c, STMT_IF, place, less);

	less->op = SCRIPT_LT;
	less->kids[0] = step(c, t, SCRIPT_SUB, place);
	less->kids[1] = check_number(c, place, 1);
	s->body = check_allocate(c, sizeof *s->body);
	s->body[0] = check_stmt(c, STMT_DELETE, place, by_thread(c, t->depth, place));
	s->n_body = 1;
	return s;
}

/* known = [keys of @element] in stored */
static struct script_stmt *ask(struct check *c, const char *known, struct script_expr *element)
{
	element->kind = EXPR_IN;
	return check_stmt(
		c, STMT_EXPR, element->place,
		assign(c, check_expr(c, EXPR_VARIABLE, element->place, known, 0), element));
}

/* if (!known) next */
static struct script_stmt *unless_known(struct check *c, const char *known,
					struct script_place place)
{
	struct script_expr *not = check_expr(c, EXPR_UNARY, place, NULL, 1);
	struct script_stmt *s = check_stmt(c, STMT_IF, place, not );

	not ->op = SCRIPT_NOT;
	not ->kids[0] = check_expr(c, EXPR_VARIABLE, place, known, 0);
	s->body = check_allocate(c, sizeof *s->body);
	s->body[0] = check_stmt(c, STMT_NEXT, place, NULL);
	s->n_body = 1;
	return s;
}

/* ---- the doors ---- */

struct script_expr *check_entry(struct check *c, struct check_template *t,
				const struct script_expr *e)
{
	const char *text = check_expr_text(c, e);
	struct check_entry *entry = NULL;

	for (uint32_t i = 0; i < t->n_entries && !entry; i++)
		if (!strcmp(check_expr_text(c, t->entries[i]->expr), text))
			entry = t->entries[i];
	if (!entry) {
		entry = check_allocate(c, sizeof *entry);
		entry->expr = (struct script_expr *)e;
		entry->local = check_text(c, "@entry%u", ++c->n_entries);
		entry->global = hidden_array(c, entry->local, e->place);
		if (t->is_user && !t->depth)
			t->depth =
				hidden_array(c, check_text(c, "@depth%u", c->n_entries), e->place);
		check_push(c, &t->entries, &t->n_entries, entry);
	}
	return check_expr(c, EXPR_VARIABLE, e->place, entry->local, 0);
}

void check_entry_loads(struct check *c, struct check_template *t)
{
	struct script_place place = t->entries[0]->expr->place;
	const struct check_entry *last = t->entries[t->n_entries - 1];
	const char *known = check_text(c, "@known%s", last->local + strlen("@entry"));
	struct script_stmt **body = NULL;
	uint32_t n = 0;

	/* The last one is there only if all could be read. */
	check_push(c, &body, &n, ask(c, known, stored(c, t, last->global, place)));
	for (uint32_t i = 0; i < t->n_entries; i++) {
		const struct check_entry *e = t->entries[i];
		struct script_expr *local = check_expr(c, EXPR_VARIABLE, place, e->local, 0);

		check_push(c, &body, &n,
			   check_stmt(c, STMT_EXPR, place,
				      assign(c, local, stored(c, t, e->global, place))));
		check_push(c, &body, &n,
			   check_stmt(c, STMT_DELETE, place, stored(c, t, e->global, place)));
	}
	if (t->is_user)
		check_push(c, &body, &n, leave(c, t, place));
	check_push(c, &body, &n, unless_known(c, known, place));
	t->own += n;
	for (uint32_t i = 0; i < t->n_body; i++)
		check_push(c, &body, &n, t->body[i]);
	t->body = body;
	t->n_body = n;
}

void check_entry_stores(struct check_copier *k, struct check_template *t, struct check_template *of)
{
	struct script_place place = of->entries[0]->expr->place;
	struct check *c = k->c;

	if (of->is_user)
		check_push(c, &t->body, &t->n_body,
			   check_stmt(c, STMT_EXPR, place, step(c, of, SCRIPT_ADD, place)));
	for (uint32_t i = 0; i < of->n_entries; i++) {
		const struct check_entry *e = of->entries[i];
		struct script_expr *value = check_copy_expr(k, e->expr);

		check_push(c, &t->body, &t->n_body,
			   check_stmt(c, STMT_EXPR, place,
				      assign(c, stored(c, of, e->global, place), value)));
	}
}
