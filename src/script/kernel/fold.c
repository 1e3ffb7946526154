/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/fold.c - which handlers run whole in the kernel, and which tests are made there.
 *
 * A handler is folded if its body only tests values of the event and counts:
 *
 *	x++  x += e  x -= e  s <<< e, each also with keys that are values of the event
 *
 * and no streamed handler of an event touches its targets: then the order of the counts cannot be
 * seen.  Handlers of begin, end and timers may touch it: they run after the counts are merged.
 *
 * A streamed handler that begins with `if (test) next`, or is nothing but `if (test) ...`, is not
 * recorded where that test ends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/kernel/plan.h"

enum { DEPTH_MAX = 64, KEY_TEXT = 16, MAP_BYTES_MAX = 64 << 20, LINEAR_MAX = 512 };

/* ---------------------------------------------------------------- globals of a handler */

struct touch { /* a walk over code: which globals it uses */
	const struct script_program *program;
	bool *touched; /* by the place in program->globals */
	bool *visited; /* functions */
};

static void touch_stmt(struct touch *t, const struct script_stmt *s, int depth);

static void touch_variable(struct touch *t, const struct script_variable *v)
{
	for (uint32_t i = 0; v && v->is_global && i < t->program->n_globals; i++)
		if (t->program->globals[i] == v)
			t->touched[i] = true;
}

static void touch_function(struct touch *t, const struct script_function *f, int depth)
{
	for (; f; f = f->next)
		for (uint32_t i = 0; i < t->program->n_functions; i++)
			if (t->program->functions[i] == f && !t->visited[i]) {
				t->visited[i] = true;
				touch_stmt(t, f->body, depth + 1);
			}
}

static void touch_expr(struct touch *t, const struct script_expr *x, int depth)
{
	if (!x || depth > DEPTH_MAX * 8)
		return;
	touch_variable(t, x->variable);
	touch_function(t, x->function, depth);
	for (uint32_t i = 0; i < x->n_kids; i++)
		touch_expr(t, x->kids[i], depth + 1);
}

static void touch_foreach(struct touch *t, const struct script_foreach *f, int depth)
{
	if (!f)
		return;
	touch_expr(t, f->array, depth);
	touch_expr(t, f->value, depth);
	touch_expr(t, f->limit, depth);
	for (uint32_t i = 0; i < f->n_keys; i++)
		touch_expr(t, f->keys[i], depth);
}

static void touch_stmt(struct touch *t, const struct script_stmt *s, int depth)
{
	if (!s || depth > DEPTH_MAX * 8)
		return;
	touch_expr(t, s->expr, depth);
	touch_expr(t, s->init, depth);
	touch_expr(t, s->step, depth);
	touch_expr(t, s->variable, depth);
	touch_foreach(t, s->foreach, depth);
	for (uint32_t i = 0; i < s->n_body; i++)
		touch_stmt(t, s->body[i], depth + 1);
}

static void touch_handler(struct touch *t, const struct script_handler *h)
{
	memset(t->visited, 0, t->program->n_functions * sizeof *t->visited);
	touch_expr(t, h->condition, 0);
	for (uint32_t i = 0; i < h->n_body; i++)
		touch_stmt(t, h->body[i], 0);
}

/* ---------------------------------------------------------------- counting */

const struct script_expr *kernel_counted(const struct script_expr *x, const struct script_expr **by,
					 bool *is_minus)
{
	*by = NULL;
	*is_minus = false;
	if (x->kind == EXPR_STEP) {
		*is_minus = x->op == SCRIPT_SUB;
		return x->kids[0];
	}
	if (x->kind != EXPR_ASSIGN ||
	    (x->op != SCRIPT_ADD && x->op != SCRIPT_SUB && x->op != SCRIPT_COLLECT))
		return NULL;
	*by = x->kids[1];
	*is_minus = x->op == SCRIPT_SUB;
	return x->kids[0];
}

enum script_standard kernel_probe_name(const struct script_expr *x)
{
	int which = x->kind == EXPR_CALL && x->builtin && !x->function && !x->builtin->is_site
			    ? x->builtin->standard
			    : -1;

	return which == STANDARD_POINT || which == STANDARD_FUNCTION || which == STANDARD_MODULE
		       ? (enum script_standard)which
		       : STANDARD_N;
}

static bool is_key_text(const struct kernel_section *s, const struct script_expr *x)
{
	int leaf = kernel_leaf(s, x);
	const struct kernel_fetch *f = leaf < 0 ? NULL : &s->capture.fetches[leaf];

	if (x->kind == EXPR_TEXT)
		return x->size < KEY_TEXT && x->size == strlen(x->text);
	if (kernel_probe_name(x) != STANDARD_N)
		return true;
	if (x->slot >= 0 && (uint32_t)x->slot < s->handler->n_slots &&
	    s->slot_name[x->slot] != SLOT_NO_NAME)
		return true;
	return f && !f->may_fault && f->base != FETCH_RECORD && f->user_from == FETCH_NEVER_USER &&
	       (f->what == FETCH_COMM || (f->what == FETCH_BYTES && f->size == COMM_BYTES));
}

static const char *why_not_keys(const struct kernel_section *s, const struct script_expr *target)
{
	for (uint32_t i = 0; target->kind == EXPR_ELEMENT && i < target->n_kids; i++) {
		const struct script_expr *key = target->kids[i];

		if (key->type == SCRIPT_STRING ? !is_key_text(s, key)
					       : !kernel_can_express(s, key, 0))
			return "has a key that is not a number, a short constant, or a name "
			       "known at the event";
	}
	return NULL;
}

static const char *why_not_count(const struct kernel_section *s, const struct script_expr *x)
{
	const struct script_expr *by, *target;
	const struct script_variable *v;
	bool is_minus;

	target = kernel_counted(x, &by, &is_minus);
	v = target ? target->variable : NULL;
	if (!v || !v->is_global || (v->type != SCRIPT_LONG && v->type != SCRIPT_STATS))
		return "does more than filter and count";
	if (v->wraps)
		return "counts in an array that replaces its oldest element";
	if (v->has_variance || v->has_quantiles)
		return "collects for @variance or @quantile";
	if (by && !kernel_can_express(s, by, 0))
		return "adds a value that is not computed from the event's numbers alone";
	return why_not_keys(s, target);
}

static const char *why_not(const struct kernel_section *s, const struct script_stmt *t, int depth)
{
	const char *why = NULL;

	if (!t || depth > DEPTH_MAX)
		return t ? "is nested too deeply" : NULL;
	switch (t->kind) {
	case STMT_EMPTY:
	case STMT_NEXT:
		return NULL;
	case STMT_EXPR:
		return t->expr->is_elided ? NULL : why_not_count(s, t->expr);
	case STMT_IF:
		if (!kernel_can_express(s, t->expr, 0))
			return "tests a value that is not computed from the event's alone";
		break;
	case STMT_BLOCK:
		break;
	default:
		return "does more than filter and count";
	}
	for (uint32_t i = 0; !why && i < t->n_body; i++)
		why = why_not(s, t->body[i], depth + 1);
	return why;
}

static const char *why_not_section(const struct kernel_section *s)
{
	const char *why = NULL;

	if (s->handler->condition)
		return "has a condition";
	if (s->capture.may_fault)
		return "reads memory that may not be there";
	for (uint32_t i = 0; !why && i < s->handler->n_body; i++)
		why = why_not(s, s->handler->body[i], 0);
	return why;
}

/* ---------------------------------------------------------------- tests before a record */

static bool ends_handler(const struct script_stmt *s)
{
	while (s && s->kind == STMT_BLOCK && s->n_body == 1)
		s = s->body[0];
	return s && s->kind == STMT_NEXT;
}

static const struct script_stmt *only(const struct script_handler *h)
{
	const struct script_stmt *s = h->n_body == 1 ? h->body[0] : NULL;

	while (s && s->kind == STMT_BLOCK && s->n_body == 1)
		s = s->body[0];
	return s;
}

static const struct script_stmt *first(const struct script_handler *h)
{
	const struct script_stmt *s = h->n_body ? h->body[0] : NULL;

	while (s && s->kind == STMT_BLOCK && s->n_body)
		s = s->body[0];
	return s;
}

static void find_test(struct kernel_section *s)
{
	const struct script_stmt *t = first(s->handler);

	if (!t || t->kind != STMT_IF || !t->n_body || !kernel_can_express(s, t->expr, 0))
		return;
	if (ends_handler(t->body[0]) && (t->n_body < 2 || !t->body[1])) {
		s->test = t->expr;
		s->is_test_negated = true;
	} else if (only(s->handler) == t && (t->n_body < 2 || !t->body[1])) {
		s->test = t->expr;
	}
}

/* ---------------------------------------------------------------- targets */

const struct kernel_count *kernel_count_of(const struct kernel_source *s,
					   const struct script_variable *v)
{
	for (uint32_t i = 0; i < s->n_counts; i++)
		if (s->counts[i].variable == v)
			return &s->counts[i];
	return NULL;
}

static uint32_t buckets_of(const struct script_variable *v)
{
	uint64_t n;

	if (v->type != SCRIPT_STATS || v->histogram == HIST_NONE)
		return 0;
	if (v->histogram == HIST_LOG)
		return VALUES_LOG_BUCKETS;
	if (v->width <= 0 || v->high < v->low || v->width > INT32_MAX)
		return LINEAR_MAX + 1;
	n = ((uint64_t)v->high - (uint64_t)v->low) / (uint64_t)v->width;
	return n + 3 > LINEAR_MAX ? LINEAR_MAX + 1 : (uint32_t)n + 3;
}

uint32_t kernel_count_entries(const struct kernel_source *s, const struct script_variable *v)
{
	const struct script_limits *limits = script_vm_limits(s->source.vm);
	uint32_t n = v->capacity ? v->capacity : limits ? limits->entries : 0;

	return !v->n_keys ? 1 : n ? n : 65536;
}

/* Lays out the map for @v; the reason why there can be none, or NULL. */
static const char *add_count(struct kernel_source *s, const struct script_variable *v)
{
	struct kernel_count c = { .variable = v, .n_keys = v->n_keys, .maps = { -1, -1 } };
	uint64_t bytes;

	if (kernel_count_of(s, v))
		return NULL;
	for (uint32_t i = 0; i < v->n_keys; i++) {
		c.key_at[i] = (uint16_t)c.key_bytes;
		c.key_bytes += v->keys[i] == SCRIPT_STRING ? KEY_TEXT : 8;
	}
	c.n_buckets = buckets_of(v);
	c.value_bytes = v->type == SCRIPT_LONG ? 8 : 32 + 8 * c.n_buckets;
	c.n_copies = v->n_keys ? 1 : (uint32_t)s->n_cpus;
	bytes = (uint64_t)kernel_count_entries(s, v) *
		(c.key_bytes + 64 + (uint64_t)c.value_bytes * c.n_copies);
	if (c.n_buckets > LINEAR_MAX || bytes > MAP_BYTES_MAX)
		return "counts in more memory than the kernel should hold";
	if (s->n_counts == COUNTS_MAX)
		return "counts in more variables than are folded";
	s->counts[s->n_counts++] = c;
	return NULL;
}

static const char *add_counts(struct kernel_source *s, const struct script_stmt *t)
{
	const struct script_expr *by, *target = NULL;
	const char *why = NULL;
	bool is_minus;

	if (!t)
		return NULL;
	if (t->kind == STMT_EXPR && !t->expr->is_elided)
		target = kernel_counted(t->expr, &by, &is_minus);
	if (target)
		why = add_count(s, target->variable);
	for (uint32_t i = 0; !why && i < t->n_body; i++)
		why = add_counts(s, t->body[i]);
	return why;
}

/* ---------------------------------------------------------------- the decision */

struct decision {
	struct kernel_source *s;
	const char **why; /* of each handler of the program: NULL: folded */
	bool *touched;	  /* by streamed handlers */
	bool *own;	  /* by the handler looked at */
	struct touch touch;
};

static uint32_t handler_number(const struct script_program *p, const struct script_handler *h)
{
	for (uint32_t i = 0; i < p->n_handlers; i++)
		if (p->handlers[i] == h)
			return i;
	return 0;
}

/* Looks at each handler alone. */
static void look(struct decision *x)
{
	struct kernel_source *s = x->s;
	const struct script_program *p = s->program;

	for (uint32_t i = 0; i < p->n_probes; i++) {
		const char **why = &x->why[handler_number(p, p->probes[i]->handler)];

		if (!*why && !script_kernel_has(s->k, &p->probes[i]->point))
			*why = "serves other probes too";
	}
	for (uint32_t i = 0; i < s->n_probes; i++) {
		const char **why = &x->why[handler_number(p, s->probes[i]->handler)];

		if (!*why)
			*why = s->k->options.folds_nothing ? "folding is off"
							   : why_not_section(s->of[i]);
		for (uint32_t j = 0; !*why && j < s->probes[i]->handler->n_body; j++)
			*why = add_counts(s, s->probes[i]->handler->body[j]);
	}
}

/* A handler is streamed too if a streamed one touches its targets, until nothing changes. */
static void settle(struct decision *x)
{
	const struct script_program *p = x->s->program;
	bool changed = true;

	while (changed) {
		changed = false;
		memset(x->touched, 0, p->n_globals);
		x->touch.touched = x->touched;
		for (uint32_t i = 0; i < p->n_probes; i++)
			if (p->probes[i]->point.family == FAMILY_WORLD &&
			    x->why[handler_number(p, p->probes[i]->handler)])
				touch_handler(&x->touch, p->probes[i]->handler);
		for (uint32_t i = 0; i < p->n_handlers; i++) {
			if (x->why[i])
				continue;
			memset(x->own, 0, p->n_globals);
			x->touch.touched = x->own;
			touch_handler(&x->touch, p->handlers[i]);
			for (uint32_t j = 0; j < p->n_globals; j++)
				if (x->own[j] && x->touched[j] && p->globals[j]->is_written) {
					x->why[i] = "counts in a variable that a streamed handler "
						    "uses too";
					changed = true;
				}
			x->touch.touched = x->touched;
		}
	}
}

static void apply(struct decision *x)
{
	struct kernel_source *s = x->s;

	s->n_counts = 0; /* only those of handlers that stay folded */
	for (uint32_t i = 0; i < s->n_probes; i++) {
		const struct script_handler *h = s->probes[i]->handler;
		const char *why = x->why[handler_number(s->program, h)];

		s->of[i]->is_folded = !why;
		s->reasons[i] = why;
		if (why)
			find_test(s->of[i]);
		for (uint32_t j = 0; !why && j < h->n_body; j++)
			add_counts(s, h->body[j]);
	}
	s->active_at = kernel_control_room(s, 8);
	for (uint32_t i = 0; i < s->n_counts; i++) {
		s->counts[i].full_at = kernel_control_room(s, 8);
		s->counts[i].start_at = kernel_control_room(s, s->counts[i].value_bytes);
	}
}

int kernel_fold(struct kernel_source *s)
{
	const struct script_program *p = s->program;
	struct decision x = { .s = s };
	int err = 0;

	x.why = calloc(p->n_handlers + 1, sizeof *x.why);
	x.touched = calloc(p->n_globals + 1, 1);
	x.own = calloc(p->n_globals + 1, 1);
	x.touch = (struct touch){ .program = p, .visited = calloc(p->n_functions + 1, 1) };
	if (!x.why || !x.touched || !x.own || !x.touch.visited) {
		err = -ENOMEM;
	} else {
		look(&x);
		settle(&x);
		apply(&x);
	}
	free(x.why);
	free(x.touched);
	free(x.own);
	free(x.touch.visited);
	return err;
}
