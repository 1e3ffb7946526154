/* SPDX-License-Identifier: MIT */
/*
 * check/inline.c - functions that read of the event.
 *
 * A function has no event that could evaluate $x, @cast(p, ...)->m or user_string(p).  But many such
 * functions are one expression of their parameters: a return, behind tests that return something else
 * and locals that are assigned once.  Then a call in a probe becomes that expression, and its sites
 * are those of the probe.
 */
#include "script/check/internal.h"

enum { MOST_LOCALS = 16, MOST_DEPTH = 32 };

static bool is_site_kind(const struct script_expr *e)
{
	return e->kind == EXPR_CONTEXT || e->kind == EXPR_CAST || e->kind == EXPR_STATIC ||
	       e->kind == EXPR_DEFINED || e->kind == EXPR_CHOOSE ||
	       (e->kind == EXPR_VARIABLE && e->n_path);
}

bool check_is_site_call(struct check *c, const struct script_expr *e)
{
	const struct script_builtin *b;

	if (e->kind != EXPR_CALL || check_find_function(c, e->text, e->n_kids, e->place))
		return false;
	b = check_find_builtin(e->text, e->n_kids);
	return b && b->is_site;
}

static bool returns_site(struct check *c, struct check_name *f);

static bool has_site(struct check *c, const struct script_expr *e)
{
	struct check_name *f;

	if (!e || is_site_kind(e) || check_is_site_call(c, e))
		return e != NULL;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (has_site(c, e->kids[i]))
			return true;
	f = e->kind == EXPR_CALL ? check_find_function(c, e->text, e->n_kids, e->place) : NULL;
	return f && returns_site(c, f);
}

/* Whether @e may be computed twice, or not at all. */
static bool is_repeatable(struct check *c, const struct script_expr *e)
{
	const struct script_builtin *b;

	if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP || e->kind == EXPR_PRINT)
		return false;
	if (e->kind == EXPR_CALL) {
		struct check_name *f = check_find_function(c, e->text, e->n_kids, e->place);

		b = f ? NULL : check_find_builtin(e->text, e->n_kids);
		if (f ? !returns_site(c, f) : !b || !b->is_pure)
			return false;
	}
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (e->kids[i] && !is_repeatable(c, e->kids[i]))
			return false;
	return true;
}

struct script_expr *check_go_on(struct check *c, struct script_expr *value,
				const struct script_expr *e)
{
	struct script_path *path;

	if (value->kind != EXPR_CONTEXT && value->kind != EXPR_CAST && value->kind != EXPR_STATIC)
		return NULL;
	path = check_allocate(c, (value->n_path + e->n_path) * sizeof *path);
	if (value->n_path)
		memcpy(path, value->path, value->n_path * sizeof *path);
	memcpy(path + value->n_path, e->path, e->n_path * sizeof *path);
	value->path = path;
	value->n_path += e->n_path;
	return value;
}

/* ---- a body as one expression ---- */

struct reducing {
	struct check_copier copier; /* first */
	const struct script_function_decl *decl;
	struct {
		const char *name;
		struct script_expr *value;
	} locals[MOST_LOCALS];
	uint32_t n_locals, depth;
	bool failed; /* it reads a local that has no single value */
};

static bool is_parameter(const struct script_function_decl *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_parameters; i++)
		if (!strcmp(d->parameters[i].name, name))
			return true;
	return false;
}

static struct script_expr *put_local(struct check_copier *k, const struct script_expr *e)
{
	struct reducing *r = (struct reducing *)k;
	struct check_copier plain = { .c = k->c };

	if (e->kind != EXPR_VARIABLE || is_parameter(r->decl, e->text))
		return NULL;
	for (uint32_t i = 0; i < r->n_locals; i++)
		if (!strcmp(r->locals[i].name, e->text)) {
			struct script_expr *copy = check_copy_expr(&plain, r->locals[i].value);

			return e->n_path ? check_go_on(k->c, copy, e) : copy;
		}
	r->failed |= !check_find_global(k->c, e->text, e->place);
	return NULL;
}

/* x = value, of a local: later reads of x are that value. */
static bool take_local(struct reducing *r, const struct script_expr *e)
{
	struct check *c = r->copier.c;
	const struct script_expr *to;

	if (e->kind != EXPR_ASSIGN || e->op != SCRIPT_NO_OP || r->n_locals == MOST_LOCALS)
		return false;
	to = e->kids[0];
	if (to->kind != EXPR_VARIABLE || to->n_path || is_parameter(r->decl, to->text) ||
	    check_find_global(c, to->text, to->place) || !is_repeatable(c, e->kids[1]))
		return false;
	for (uint32_t i = 0; i < r->n_locals; i++)
		if (!strcmp(r->locals[i].name, to->text))
			return false;
	r->locals[r->n_locals].value = check_copy_expr(&r->copier, e->kids[1]);
	r->locals[r->n_locals++].name = to->text;
	return true;
}

static struct script_expr *reduce(struct reducing *r, struct script_stmt *const *s, uint32_t n);

/* if (test) return a; [else] ... is test ? a : ... */
static struct script_expr *reduce_if(struct reducing *r, struct script_stmt *const *s, uint32_t n)
{
	struct check *c = r->copier.c;
	struct script_expr *e = check_expr(c, EXPR_CONDITION, s[0]->place, NULL, 3);
	uint32_t n_locals = r->n_locals;

	e->kids[0] = check_copy_expr(&r->copier, s[0]->expr);
	e->kids[1] = reduce(r, s[0]->body, 1);
	r->n_locals = n_locals;
	e->kids[2] = s[0]->n_body > 1 && s[0]->body[1] ? reduce(r, s[0]->body + 1, 1)
						       : reduce(r, s + 1, n - 1);
	r->n_locals = n_locals;
	return e->kids[1] && e->kids[2] ? e : NULL;
}

static struct script_expr *reduce(struct reducing *r, struct script_stmt *const *s, uint32_t n)
{
	struct script_expr *e = NULL;

	if (++r->depth > MOST_DEPTH) {
		r->depth--;
		return NULL;
	}
	for (; n && !e; s++, n--) {
		if (!*s || (*s)->kind == STMT_EMPTY)
			continue;
		if ((*s)->kind == STMT_RETURN && (*s)->expr)
			e = check_copy_expr(&r->copier, (*s)->expr);
		else if ((*s)->kind == STMT_IF)
			e = reduce_if(r, s, n);
		else if ((*s)->kind == STMT_BLOCK && n == 1)
			e = reduce(r, (*s)->body, (*s)->n_body);
		if (!e && ((*s)->kind != STMT_EXPR || !take_local(r, (*s)->expr)))
			break;
	}
	r->depth--;
	return e;
}

static bool returns_site(struct check *c, struct check_name *f)
{
	struct reducing r = { .copier = { .c = c, .replace = put_local }, .decl = f->decl };

	if (f->sites == SITES_UNKNOWN) {
		f->sites = SITES_NONE; /* a recursive function counts once */
		f->reduced = f->decl->body ? reduce(&r, &f->decl->body, 1) : NULL;
		if (r.failed)
			f->reduced = NULL;
		f->sites = has_site(c, f->reduced) ? SITES_SOME : SITES_NONE;
	}
	return f->sites == SITES_SOME;
}

/* ---- a call ---- */

struct inlining {
	struct check_copier copier; /* first */
	const struct script_function_decl *decl;
	struct script_expr **arguments;
	unsigned depth;
};

static struct script_expr *put_argument(struct check_copier *k, const struct script_expr *e)
{
	struct inlining *in = (struct inlining *)k;

	if (e->kind == EXPR_CALL)
		return check_inline(k->c, e, k, in->depth);
	if (e->kind != EXPR_VARIABLE)
		return NULL;
	for (uint32_t i = 0; i < in->decl->n_parameters; i++)
		if (!strcmp(in->decl->parameters[i].name, e->text)) {
			struct check_copier plain = { .c = k->c };
			struct script_expr *copy = check_copy_expr(&plain, in->arguments[i]);

			return e->n_path ? check_go_on(k->c, copy, e) : copy;
		}
	return NULL;
}

struct script_expr *check_inline(struct check *c, const struct script_expr *e,
				 struct check_copier *outer, unsigned depth)
{
	struct check_name *f = check_find_function(c, e->text, e->n_kids, e->place);
	struct inlining k = { .copier = { .c = c, .replace = put_argument }, .depth = depth - 1 };

	if (!f || !depth || !returns_site(c, f))
		return NULL;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (!is_repeatable(c, e->kids[i]))
			return NULL;
	k.decl = f->decl;
	k.arguments = check_allocate(c, (e->n_kids + 1) * sizeof *k.arguments);
	for (uint32_t i = 0; i < e->n_kids; i++)
		k.arguments[i] = check_copy_expr(outer, e->kids[i]);
	return check_copy_expr(&k.copier, f->reduced);
}
