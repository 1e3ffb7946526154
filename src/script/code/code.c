/* SPDX-License-Identifier: MIT */
/*
 * code/code.c - a program to a unit: its tables, its functions, its handlers.
 *
 * Functions have the numbers 0 .., handlers follow them.
 */
#include "script/code/internal.h"

#include <errno.h>

static struct script_limits filled(const struct script_limits *limits)
{
	struct script_limits l = limits ? *limits : (struct script_limits){ 0 };

	if (l.string_bytes < 2)
		l.string_bytes = 512;
	if (!l.entries)
		l.entries = 65536;
	return l;
}

/* ---- globals ---- */

static void add_cell(struct code *c, struct script_variable *v)
{
	struct script_global_code *g = &c->unit->globals[c->unit->n_globals];

	v->index = c->unit->n_globals++;
	*g = (struct script_global_code){ .name = v->name, .type = v->type };
	if (v->value && v->value->kind == EXPR_TEXT)
		g->text = v->value->text;
	else if (v->value)
		code_constant(v->value, &g->number);
}

static void add_array(struct code *c, struct script_variable *v)
{
	struct script_array_code *a = &c->unit->arrays[c->unit->n_arrays];

	v->index = c->unit->n_arrays++;
	*a = (struct script_array_code){
		.name = v->name,
		.n_keys = v->n_keys,
		.value = v->type,
		.capacity = v->capacity ? v->capacity : c->limits.entries,
		.wraps = v->wraps,
		.histogram = v->histogram,
		.has_quantiles = v->has_quantiles,
		.has_variance = v->has_variance,
		.low = v->low,
		.high = v->high,
		.width = v->width,
		.variance_bits = v->variance_bits,
	};
	for (uint32_t i = 0; i < v->n_keys; i++)
		a->keys[i] = v->keys[i];
}

static void add_globals(struct code *c)
{
	const struct script_program *p = c->program;

	c->unit->globals = script_allocate(c->arena, (p->n_globals + 1) * sizeof *c->unit->globals);
	c->unit->arrays = script_allocate(c->arena, (p->n_globals + 1) * sizeof *c->unit->arrays);
	if (!c->unit->globals || !c->unit->arrays) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < p->n_globals; i++) {
		if (code_is_cell(p->globals[i]))
			add_cell(c, p->globals[i]);
		else
			add_array(c, p->globals[i]);
	}
}

/* ---- functions ---- */

static void begin_function(struct code *c, struct script_function_code *f)
{
	f->entry = c->unit->n_insns;
	c->function = f;
	c->n_labels = c->n_jumps = 0;
	c->stack = 0;
	c->originals = NULL;
	c->is_dead = false;
}

/* Whether the function's last instruction leads away, and nothing comes behind it. */
static bool is_ended(const struct code *c)
{
	uint8_t last = c->is_dead ? c->unit->insns[c->unit->n_insns - 1].code : 0;

	return last == (BPF_JMP | BPF_EXIT) || last == (BPF_JMP | BPF_JA);
}

/* The last instruction must be a way out, also behind a helper that only raises. */
static void end_function(struct code *c, enum script_type type)
{
	if (!c->is_dead && c->of)
		code_zero(c, type, BPF_REG_0);
	if (!c->error && !is_ended(c)) {
		c->is_dead = false;
		code_exit(c);
	}
	code_resolve(c);
	c->function->end = c->unit->n_insns;
}

static bool has_next(const struct script_stmt *s)
{
	if (s->kind == STMT_NEXT)
		return true;
	for (uint32_t i = 0; i < s->n_body; i++)
		if (s->body[i] && has_next(s->body[i]))
			return true;
	return false;
}

/* Another overload gets the arguments as they came, whatever the body did to the parameters. */
static void keep_arguments(struct code *c, const struct script_function *f)
{
	c->originals = script_allocate(c->arena, (f->n_parameters + 1) * sizeof *c->originals);
	if (!c->originals) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < f->n_parameters; i++) {
		c->originals[i] = code_take(c);
		code_from_home(c, BPF_REG_1, c->homes[i]);
		code_to_home(c, c->originals[i], BPF_REG_1);
	}
}

static void add_function(struct code *c, struct script_function *f)
{
	struct script_function_code *to = &c->unit->functions[f->index];

	*to = (struct script_function_code){
		.name = f->name,
		.n_parameters = f->n_parameters,
		.parameters = script_allocate(c->arena, f->n_parameters + 1),
		.type = f->type == SCRIPT_STRING ? SCRIPT_STRING : SCRIPT_LONG,
		.needs = f->needs,
	};
	if (!to->parameters) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < f->n_parameters; i++)
		to->parameters[i] = f->parameters[i]->type;
	c->of = f;
	c->handler = NULL;
	begin_function(c, to);
	code_homes(c, f->locals, f->n_locals, &f->body, 1, NULL);
	if (f->next && f->body && has_next(f->body))
		keep_arguments(c, f);
	if (f->body)
		code_stmt(c, f->body);
	end_function(c, to->type);
}

static const char *name_of(const struct script_program *p, const struct script_handler *h)
{
	for (uint32_t i = 0; i < p->n_probes; i++)
		if (p->probes[i]->handler == h)
			return p->probes[i]->point.text;
	return "probe";
}

static void handler_body(struct code *c, struct script_handler *h)
{
	uint32_t end = code_label(c);

	code_homes(c, h->locals, h->n_locals, h->body, h->n_body, h->condition);
	if (h->condition)
		code_branch(c, h->condition, false, end, BPF_REG_1);
	for (uint32_t i = 0; i < h->n_body; i++)
		if (h->body[i])
			code_stmt(c, h->body[i]);
	code_put(c, end, false);
}

static void add_handler(struct code *c, struct script_handler *h)
{
	struct script_function_code *to = &c->unit->functions[h->index];

	*to = (struct script_function_code){
		.name = name_of(c->program, h),
		.is_handler = true,
		.type = SCRIPT_NOTHING,
		.n_slots = h->n_slots,
		.slots = script_allocate(c->arena, h->n_slots + 1),
		.needs = h->needs,
	};
	if (!to->slots) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < h->n_slots; i++)
		to->slots[i] = h->slots[i].type;
	c->of = NULL;
	c->handler = h;
	begin_function(c, to);
	handler_body(c, h);
	end_function(c, SCRIPT_NOTHING);
}

static void add_functions(struct code *c)
{
	const struct script_program *p = c->program;

	c->unit->n_functions = p->n_functions + p->n_handlers;
	c->unit->functions =
		script_allocate(c->arena, (c->unit->n_functions + 1) * sizeof *c->unit->functions);
	if (!c->unit->functions) {
		code_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < p->n_functions; i++)
		p->functions[i]->index = i;
	for (uint32_t i = 0; i < p->n_handlers; i++)
		p->handlers[i]->index = p->n_functions + i;
	for (uint32_t i = 0; i < p->n_functions && !c->error; i++)
		add_function(c, p->functions[i]);
	for (uint32_t i = 0; i < p->n_handlers && !c->error; i++)
		add_handler(c, p->handlers[i]);
}

int script_code(struct script_unit **unit, struct script_program *program,
		const struct script_limits *limits, struct script_messages *m)
{
	struct code c = {
		.program = program, .arena = program->arena, .m = m, .limits = filled(limits)
	};

	c.unit = script_allocate(c.arena, sizeof *c.unit);
	if (!c.unit)
		return -ENOMEM;
	c.unit->arena = c.arena;
	c.unit->sources = program->sources;
	add_globals(&c);
	if (!c.error)
		add_functions(&c);
	if (c.error)
		return c.error;
	*unit = c.unit;
	return 0;
}
