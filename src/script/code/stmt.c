/* SPDX-License-Identifier: MIT */
/*
 * code/stmt.c - statements.
 *
 * A loop tests its condition at its end, so that a round takes one jump: the machine counts that
 * jump, as it goes backwards.  A try costs nothing while nothing fails: errors look for it in a
 * table.
 */
#include "script/code/internal.h"

static void list(struct code *c, struct script_stmt *const *body, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (body[i])
			code_stmt(c, body[i]);
}

static void if_stmt(struct code *c, struct script_stmt *s)
{
	uint32_t other = code_label(c), end = code_label(c);
	struct script_stmt *otherwise = s->n_body > 1 ? s->body[1] : NULL;

	code_branch(c, s->expr, false, other, BPF_REG_1);
	if (s->body[0])
		code_stmt(c, s->body[0]);
	if (otherwise)
		code_goto(c, end);
	code_put(c, other, false);
	if (otherwise)
		code_stmt(c, otherwise);
	code_put(c, end, false);
}

static bool is_endless(const struct script_stmt *s)
{
	int64_t number;

	return !s->expr || (code_constant(s->expr, &number) && number);
}

static void loop(struct code *c, struct script_stmt *s)
{
	struct code_loop l = { .up = c->loop,
			       .break_to = code_label(c),
			       .continue_to = code_label(c) };
	uint32_t body = code_label(c), test = code_label(c);

	if (s->init)
		code_effect(c, s->init);
	if (c->is_dead)
		return;
	if (!is_endless(s))
		code_goto(c, test);
	code_put(c, body, true);
	c->loop = &l;
	list(c, s->body, s->n_body);
	c->loop = l.up;
	code_put(c, l.continue_to, false);
	if (s->step)
		code_effect(c, s->step);
	code_put(c, test, false);
	code_at(c, s->place);
	if (is_endless(s))
		code_goto(c, body);
	else
		code_branch(c, s->expr, true, body, BPF_REG_1);
	code_put(c, l.break_to, false);
}

static void end_iteration(struct code *c, struct code_home handle)
{
	code_from_home(c, BPF_REG_1, handle);
	code_helper(c, SCRIPT_HELPER_ITER_END);
}

void code_end_iterations(struct code *c)
{
	for (struct code_loop *l = c->loop; l; l = l->up)
		if (l->is_foreach)
			end_iteration(c, l->handle);
}

static bool iterates(const struct code *c)
{
	for (struct code_loop *l = c->loop; l; l = l->up)
		if (l->is_foreach)
			return true;
	return false;
}

static void break_stmt(struct code *c)
{
	if (c->loop->is_foreach)
		end_iteration(c, c->loop->handle);
	code_goto(c, c->loop->break_to);
}

static void return_stmt(struct code *c, struct script_stmt *s)
{
	enum script_type type = c->of ? c->of->type : SCRIPT_NOTHING;
	struct code_home value;

	if (!s->expr) {
		code_end_iterations(c);
		code_zero(c, type, BPF_REG_0);
	} else if (!iterates(c)) {
		code_expr(c, s->expr, BPF_REG_0);
	} else {
		value = code_to_temporary(c, s->expr);
		code_end_iterations(c);
		code_from_home(c, BPF_REG_0, value);
		code_drop(c, value);
	}
	code_exit(c);
}

static void next_stmt(struct code *c, struct script_stmt *s)
{
	code_end_iterations(c);
	if (c->of)
		code_call_next(c, s->place);
	code_exit(c);
}

static bool calls_function(const struct script_expr *e)
{
	if (!e)
		return false;
	if (e->kind == EXPR_CALL && e->function)
		return true;
	for (uint32_t i = 0; i < e->n_kids; i++)
		if (calls_function(e->kids[i]))
			return true;
	return false;
}

/* Whether an error can leave iterations open that began inside @s. */
static bool may_iterate(const struct script_stmt *s)
{
	if (s->kind == STMT_FOREACH || calls_function(s->expr) || calls_function(s->init) ||
	    calls_function(s->step))
		return true;
	for (uint32_t i = 0; i < s->n_body; i++)
		if (s->body[i] && may_iterate(s->body[i]))
			return true;
	return false;
}

static void catch_part(struct code *c, struct script_stmt *s)
{
	if (s->variable) {
		code_helper(c, SCRIPT_HELPER_ERROR_TEXT);
		code_move(c, BPF_REG_3, BPF_REG_0);
		code_set_variable(c, s->variable->variable, BPF_REG_3);
	}
	if (s->n_body > 1 && s->body[1])
		code_stmt(c, s->body[1]);
}

/* The row of [begin, here), whose errors come here.  False: nothing there can fail. */
static bool add_catch(struct code *c, uint32_t begin, uint32_t end)
{
	struct script_unit *u = c->unit;

	if (begin == end || !code_room(c, &u->catches, u->n_catches, &c->catches_room))
		return false;
	u->catches[u->n_catches++] = (struct script_catch){ begin, end, u->n_insns };
	return true;
}

static void try_stmt(struct code *c, struct script_stmt *s)
{
	uint32_t behind = code_label(c), caught = code_label(c), begin, end;
	bool unwinds = may_iterate(s->body[0]);
	struct code_home depth = { 0 };

	if (unwinds) {
		depth = code_take(c);
		code_helper(c, SCRIPT_HELPER_ITER_DEPTH);
		code_to_home(c, depth, BPF_REG_0);
	}
	begin = c->unit->n_insns;
	c->n_tries++;
	code_stmt(c, s->body[0]);
	c->n_tries--;
	end = c->unit->n_insns;
	code_goto(c, behind);
	if (add_catch(c, begin, end)) {
		code_put(c, caught, true);
		if (unwinds) {
			code_from_home(c, BPF_REG_1, depth);
			code_helper(c, SCRIPT_HELPER_ITER_UNWIND);
		}
		catch_part(c, s);
	}
	code_put(c, behind, false);
	if (unwinds)
		code_drop(c, depth);
}

static void any(struct code *c, struct script_stmt *s)
{
	switch (s->kind) {
	case STMT_BLOCK:
		list(c, s->body, s->n_body);
		break;
	case STMT_EXPR:
		code_effect(c, s->expr);
		break;
	case STMT_IF:
		if_stmt(c, s);
		break;
	case STMT_WHILE:
	case STMT_FOR:
		loop(c, s);
		break;
	case STMT_FOREACH:
		code_foreach(c, s);
		break;
	case STMT_BREAK:
		break_stmt(c);
		break;
	case STMT_CONTINUE:
		code_goto(c, c->loop->continue_to);
		break;
	case STMT_NEXT:
		next_stmt(c, s);
		break;
	case STMT_RETURN:
		return_stmt(c, s);
		break;
	case STMT_DELETE:
		code_delete(c, s->expr);
		break;
	case STMT_TRY:
		try_stmt(c, s);
		break;
	}
}

void code_stmt(struct code *c, struct script_stmt *s)
{
	if (c->error || c->is_dead)
		return;
	if (c->depth >= CODE_DEPTH_MOST) {
		code_too_large(c, s->place, "has statements too deep inside each other");
		return;
	}
	c->depth++;
	code_at(c, s->place);
	any(c, s);
	c->depth--;
}
