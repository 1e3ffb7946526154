/* SPDX-License-Identifier: MIT */
/*
 * vm/error.c - errors of a running script: raised, passed up the calls, caught, put into words.
 *
 *	division by 0 near operator `/` at top.stp:3:9
 *	 in function share, called at top.stp:9:2
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "script/vm/internal.h"

enum { OPERATOR_MOST = 40 };

void script_raise(struct script_vm *vm, const char *format, ...)
{
	va_list arguments;

	if (vm->error)
		return;
	vm->error = VM_ERROR;
	vm->n_chain = 0;
	va_start(arguments, format);
	vsnprintf(vm->error_text, sizeof vm->error_text, format, arguments);
	va_end(arguments);
}

void vm_raise_actions(struct script_vm *vm)
{
	script_raise(vm, "the handler ran too long: %u loop rounds and calls (limit: -D MAXACTION)",
		     vm->limits.actions);
	vm->error = VM_END;
}

void vm_raise_nesting(struct script_vm *vm)
{
	script_raise(vm, "calls are nested too deeply: %u (limit: -D MAXNESTING)",
		     vm->limits.nesting);
}

static const struct script_catch *catch_at(const struct script_unit *u, uint32_t insn)
{
	uint32_t i;

	for (i = 0; i < u->n_catches; i++)
		if (insn >= u->catches[i].begin && insn < u->catches[i].end)
			return &u->catches[i];
	return NULL;
}

/* A catch is an action, so that a loop made of errors ends too. */
int64_t vm_unwind(struct script_vm *vm, uint32_t insn)
{
	const struct script_catch *c = catch_at(vm->unit, insn);

	if (vm->n_chain < VM_CHAIN_MOST)
		vm->chain[vm->n_chain] = insn;
	vm->n_chain++;
	if (!c || vm->error == VM_END)
		return -1;
	if (--vm->actions < 0) {
		vm->error = VM_NO_ERROR;
		vm_raise_actions(vm);
		return vm_unwind(vm, insn);
	}
	memcpy(vm->caught, vm->error_text, sizeof vm->caught);
	vm->error = VM_NO_ERROR;
	return c->target;
}

uint32_t vm_function_at(const struct script_unit *u, uint32_t insn)
{
	uint32_t i;

	for (i = 0; i < u->n_functions; i++)
		if (insn >= u->functions[i].entry && insn < u->functions[i].end)
			return i;
	return 0;
}

static struct script_place place_at(const struct script_unit *u, uint32_t insn)
{
	struct script_place none = { UINT32_MAX, 0, 0 };
	uint32_t low = 0, high = u->n_lines, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (u->lines[middle].insn <= insn)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? u->lines[low - 1].place : none;
}

static const struct script_source *source_of(const struct script_unit *u, struct script_place p)
{
	const struct script_source *s;

	if (!u->sources || p.source >= u->sources->n)
		return NULL;
	s = &u->sources->at[p.source];
	return p.at <= s->size && p.size <= s->size - p.at ? s : NULL;
}

/* " near operator `/`": the first word of the place. */
static void add_operator(struct text *t, const struct script_source *s, struct script_place p)
{
	const char *word = s->text + p.at;
	bool is_name = p.size && (isalpha((unsigned char)*word) || strchr("_$@", *word));
	uint32_t n = 0;

	while (n < p.size && n < OPERATOR_MOST && isgraph((unsigned char)word[n]) &&
	       (!is_name || isalnum((unsigned char)word[n]) || strchr("_$@", word[n])))
		n++;
	if (n)
		text_addf(t, " near %s `%.*s`", is_name ? "identifier" : "operator", (int)n, word);
}

static void add_place(struct text *t, const struct script_unit *u, struct script_place p)
{
	const struct script_source *s = source_of(u, p);
	uint32_t line, column;

	if (!s)
		return;
	script_place_line(u->sources, p, &line, &column);
	text_addf(t, " at %s:%u:%u", s->name, line, column);
}

static void add_caller(struct text *t, const struct script_unit *u, uint32_t callee, uint32_t call)
{
	const char *name = u->functions[vm_function_at(u, callee)].name;

	text_addf(t, "\n in function %s, called", name ? name : "?");
	add_place(t, u, place_at(u, call));
}

void vm_report(struct script_vm *vm)
{
	const struct script_unit *u = vm->unit;
	struct text *t = &vm->report;
	uint32_t i;

	t->size = 0;
	t->failed = false;
	text_addf(t, "%s", vm->error_text);
	vm->place = vm->n_chain ? place_at(u, vm->chain[0]) : (struct script_place){ UINT32_MAX };
	if (source_of(u, vm->place))
		add_operator(t, source_of(u, vm->place), vm->place);
	add_place(t, u, vm->place);
	for (i = 1; i < vm->n_chain && i < VM_CHAIN_MOST; i++)
		add_caller(t, u, vm->chain[i - 1], vm->chain[i]);
	if (vm->n_chain > VM_CHAIN_MOST)
		text_addf(t, "\n .. and %u more calls", vm->n_chain - VM_CHAIN_MOST);
}

const char *script_vm_error(const struct script_vm *vm, struct script_place *place)
{
	if (place)
		*place = vm->place;
	return vm->report.size && !vm->report.failed ? vm->report.bytes : vm->error_text;
}
