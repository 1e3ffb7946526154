/* SPDX-License-Identifier: MIT */
/* check/print.c - the resolved script as text: globals, functions and probes with their types. */
#include "script/check/internal.h"

static const char *word(enum script_type t)
{
	static const char *const words[] = {
		[SCRIPT_UNKNOWN] = "unknown", [SCRIPT_LONG] = "long",	 [SCRIPT_STRING] = "string",
		[SCRIPT_STATS] = "stats",     [SCRIPT_NOTHING] = "void",
	};

	return words[t];
}

static void print_global(struct text *t, const struct script_variable *v)
{
	text_addf(t, "%s%s", v->name, v->wraps ? "%" : "");
	if (v->capacity)
		text_addf(t, "[%u]", v->capacity);
	text_addf(t, ":%s", word(v->type));
	for (uint32_t i = 0; i < v->n_keys; i++)
		text_addf(t, "%s%s%s", i ? ", " : " [", word(v->keys[i]),
			  i + 1 == v->n_keys ? "]" : "");
	if (v->histogram == HIST_LOG)
		text_addf(t, " @hist_log");
	else if (v->histogram == HIST_LINEAR)
		text_addf(t, " @hist_linear(%lld, %lld, %lld)", (long long)v->low,
			  (long long)v->high, (long long)v->width);
	if (v->value) {
		text_addf(t, " = ");
		script_print_expr(t, v->value);
	}
	text_addf(t, "%s\n", v->prints_at_end ? "  # printed at the end" : "");
}

static void print_locals(struct text *t, struct script_variable *const *locals, uint32_t from,
			 uint32_t n)
{
	for (uint32_t i = from; i < n; i++)
		text_addf(t, "  # local %s:%s\n", locals[i]->name, word(locals[i]->type));
}

static void print_function(struct text *t, const struct script_function *f)
{
	text_addf(t, "%s:%s (", f->name, word(f->type));
	for (uint32_t i = 0; i < f->n_parameters; i++)
		text_addf(t, "%s%s:%s", i ? ", " : "", f->parameters[i]->name,
			  word(f->parameters[i]->type));
	text_addf(t, ")\n");
	print_locals(t, f->locals, f->n_parameters, f->n_locals);
	script_print_stmt(t, f->body, 0);
}

const char *check_point_name(const struct script_world_point *p)
{
	bool is_file = p->family == FAMILY_INPUT || p->family == FAMILY_PROCFS;

	return is_file && p->name ? p->name : p->text;
}

static void print_probe(struct text *t, const struct script_probe *p, bool with_body)
{
	const struct script_handler *h = p->handler;

	text_addf(t, "%s", check_point_name(&p->point));
	if (h->condition) {
		text_addf(t, " if (");
		script_print_expr(t, h->condition);
		text_addf(t, ")");
	}
	text_addf(t, " /* handler %u */\n", h->index);
	if (!with_body)
		return;
	print_locals(t, h->locals, 0, h->n_locals);
	for (uint32_t i = 0; i < h->n_slots; i++)
		text_addf(t, "  # value %s:%s\n", h->slots[i].text, word(h->slots[i].type));
	for (uint32_t i = 0; i < h->n_body; i++)
		script_print_stmt(t, h->body[i], 0);
}

void script_program_print(struct text *t, const struct script_program *p)
{
	uint32_t printed = 0;

	if (p->n_globals)
		text_addf(t, "# globals\n");
	for (uint32_t i = 0; i < p->n_globals; i++)
		print_global(t, p->globals[i]);
	if (p->n_functions)
		text_addf(t, "# functions\n");
	for (uint32_t i = 0; i < p->n_functions; i++)
		print_function(t, p->functions[i]);
	text_addf(t, "# probes\n");
	for (uint32_t i = 0; i < p->n_probes; i++) {
		/* Handlers are numbered as their first probes come. */
		bool is_first = p->probes[i]->handler->index >= printed;

		if (is_first)
			printed = p->probes[i]->handler->index + 1;
		print_probe(t, p->probes[i], is_first);
	}
}
