/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/user_values.c - values at points in programs: registers, parameters, operands.
 *
 * At a function's first instruction its parameters are where the ABI puts them (symbol/signature.h).
 * A mark's operands are in its note.  All other memory is the program's, and may not be in memory.
 */
#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/kernel/points/user.h"
#include "symbol/signature.h"

#if defined __x86_64__
/* By the processor's numbers. */
static const int registers[] = {
	offsetof(struct pt_regs, rax), offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, rbx), offsetof(struct pt_regs, rsp), offsetof(struct pt_regs, rbp),
	offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),  offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13), offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
};
static const int arguments[] = { 7, 6, 2, 1, 8, 9 };
static const char *const names[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
				     "8",  "9",	 "10", "11", "12", "13", "14", "15" };
enum { RESULT = 0 };
#else
static const int registers[] = { 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120 };
static const int arguments[] = { 0, 1, 2, 3, 4, 5 };
static const char *const names[] = { "0", "1", "2",  "3",  "4",	 "5",  "6",  "7",
				     "8", "9", "10", "11", "12", "13", "14", "15" };
enum { RESULT = 0 };
#endif
enum { N_REGISTERS = sizeof registers / sizeof *registers, N_ARGUMENTS = 6 };

static struct kernel_fetch of_register(uint32_t reg, uint8_t bytes, bool is_signed)
{
	return (struct kernel_fetch){ .base = FETCH_REGISTER,
				      .at = registers[reg],
				      .bytes = bytes,
				      .is_signed = is_signed,
				      .user_from = FETCH_NEVER_USER };
}

static struct kernel_fetch of_memory(uint32_t reg, int64_t offset, uint8_t bytes, bool is_signed)
{
	struct kernel_fetch f = of_register(reg, bytes, is_signed);

	f.what = FETCH_LOAD;
	f.user_from = 0;
	f.offset = (int32_t)offset;
	f.may_fault = true;
	return f;
}

/* ---------------------------------------------------------------- operands of marks */

/* "%edi", "%r8d", "%al": its number, or -1. */
static int register_named(const char *text, size_t size)
{
	char name[8] = "";

	if (size < 2 || size >= sizeof name || text[0] != '%')
		return -1;
	memcpy(name, text + 1, size - 1);
	for (int i = 0; i < N_REGISTERS; i++) {
		const char *base = names[i];
		size_t n = strlen(base);
		const char *at = name + (name[0] == 'r' || name[0] == 'e');

		if (i >= 8 ? !strncmp(at, base, n) && (!at[n] || strchr("dwb", at[n]))
			   : !strcmp(at, base) ||
				     (name[0] == base[0] && name[1] == 'l' && !name[2]) ||
				     (!strncmp(name, base, 2) && name[2] == 'l'))
			return i;
	}
	return -1;
}

/* One operand: SIZE@%reg, SIZE@$number, SIZE@offset(%reg). */
static bool read_operand(const char *text, size_t size, struct kernel_fetch *f)
{
	char *end;
	long bytes = strtol(text, &end, 10);
	bool is_signed = bytes < 0;
	const char *close;
	int64_t number;
	int reg;

	bytes = bytes < 0 ? -bytes : bytes;
	if (*end != '@' || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	end++;
	if (*end == '$') {
		*f = (struct kernel_fetch){ .base = FETCH_NUMBER,
					    .number = strtoll(end + 1, NULL, 0),
					    .bytes = 8,
					    .user_from = FETCH_NEVER_USER };
		return true;
	}
	if (*end == '%') {
		reg = register_named(end, size - (size_t)(end - text));
		if (reg < 0)
			return false;
		*f = of_register((uint32_t)reg, (uint8_t)bytes, is_signed);
		return true;
	}
	number = strtoll(end, &end, 0);
	close = *end == '(' ? memchr(end, ')', size - (size_t)(end - text)) : NULL;
	reg = close ? register_named(end + 1, (size_t)(close - end - 1)) : -1;
	if (reg < 0 || number > INT32_MAX || number < INT32_MIN)
		return false;
	*f = of_memory((uint32_t)reg, number, (uint8_t)bytes, is_signed);
	return true;
}

int kernel_mark_places(struct script_kernel *k, const char *operands, struct kernel_fetch **places,
		       uint32_t *n)
{
	struct kernel_fetch found[16];

	*n = 0;
	for (const char *p = operands; *p && *n < sizeof found / sizeof *found;) {
		size_t size = strcspn(p, " ");

		if (size && !read_operand(p, size, &found[*n]))
			found[*n] = (struct kernel_fetch){ .base = FETCH_NUMBER,
							   .bytes = 8,
							   .user_from = FETCH_NEVER_USER };
		*n += size != 0;
		p += size + (p[size] == ' ');
	}
	*places = script_allocate(k->arena, (*n + 1) * sizeof **places);
	if (*places)
		memcpy(*places, found, *n * sizeof **places);
	return *places ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- parameters */

static bool read_place(const struct signature_value *v, struct kernel_fetch *f)
{
	const struct abi_plan_operand *o = &v->at;

	if (o->place == ABI_OPERAND_REGISTER && o->reg < N_REGISTERS && !o->is_high)
		*f = of_register(o->reg, o->bytes, o->is_signed);
	else if (o->place == ABI_OPERAND_MEMORY && o->reg < N_REGISTERS &&
		 o->index == ABI_OPERAND_NONE && o->value <= INT32_MAX && o->value >= INT32_MIN)
		*f = of_memory(o->reg, o->value, o->bytes, o->is_signed);
	else
		return false;
	return true;
}

static int read_signature(struct script_kernel *k, const struct kernel_point *p,
			  struct signature *s, struct diag *d)
{
	struct symbol_file *f;

	if (!k->symbols)
		k->symbols = symbols_open();
	f = k->symbols ? symbols_file(k->symbols, p->path, "") : NULL;
	return f ? signature_of(f, p->address, s, d) : -ENOMEM;
}

/* "arg3": 2; -1: another name. */
static int numbered(const char *name)
{
	char *end;
	long n = strncmp(name, "arg", 3) ? 0 : strtol(name + 3, &end, 10);

	return n >= 1 && n <= 12 && !*end ? (int)n - 1 : -1;
}

static int give(struct script_kernel *k, const struct script_expr *e, struct kernel_fetch *f,
		struct script_world_value *v, struct diag *d)
{
	if (e->n_path || e->is_address)
		return diag_fail(d, -ENOENT,
				 "$%s is a number without a type: user_long($%s + OFFSET) reads a "
				 "member by its offset",
				 e->text, e->text);
	return kernel_give_fetch(k, f, v, d);
}

static int no_parameter(struct script_kernel *k, const struct kernel_point *p, const char *name,
			const struct diag *why, struct diag *d)
{
	struct script_nearest n = { .wanted = name, .wanted_size = strlen(name) };
	struct signature *s = calloc(1, sizeof *s);
	char text[160];
	int err;

	if (s && !p->has_places && !read_signature(k, p, s, NULL))
		for (unsigned i = 0; i < s->n && i < SIGNATURE_PARAMETERS; i++)
			script_nearest_try(&n, s->parameters[i].name);
	err = diag_fail(d, -ENOENT, "%s has no parameter `%s`%s%s%s", p->name, name,
			script_nearest_text(&n, text), why && *why->text ? "\n  " : "",
			why ? why->text : "");
	free(s);
	return err;
}

static int parameter(struct script_kernel *k, const struct kernel_point *p,
		     const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct signature *s = calloc(1, sizeof *s);
	struct kernel_fetch f;
	struct diag why = { "" };
	int err = s ? read_signature(k, p, s, &why) : -ENOMEM;
	bool found = false;

	for (unsigned i = 0; !err && i < s->n && i < SIGNATURE_PARAMETERS; i++)
		if (!strcmp(s->parameters[i].name, e->text))
			found = read_place(&s->parameters[i], &f);
	free(s);
	if (found && (e->n_path || e->is_address)) {
		err = kernel_user_follow(k, p, e, &f, d);
		return err ? err : kernel_give_fetch(k, &f, v, d);
	}
	return found ? give(k, e, &f, v, d) : no_parameter(k, p, e->text, err ? &why : NULL, d);
}

int kernel_user_value(struct script_kernel *k, const struct kernel_point *p,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	int number = numbered(e->text);
	struct kernel_fetch f;

	if (e->kind == EXPR_VARIABLE)
		return strcmp(e->text, "name") ? -ENOENT : kernel_give_constant(k, p->name, v, d);
	if (p->has_places) {
		if (number < 0 || (uint32_t)number >= p->n_arguments)
			return diag_fail(d, -ENOENT,
					 "mark %s has the operands $arg1 to $arg%u, not `%s`",
					 p->name, p->n_arguments, e->text);
		f = p->places[number];
		return give(k, e, &f, v, d);
	}
	if (p->is_return && !strcmp(e->text, "return")) {
		f = of_register(RESULT, 8, true);
		return give(k, e, &f, v, d);
	}
	if (p->is_return)
		return diag_fail(d, -ENOENT, "$%s is gone at the return: @entry($%s) keeps it",
				 e->text, e->text);
	if (number >= 0 && number < N_ARGUMENTS) {
		f = of_register((uint32_t)arguments[number], 8, true);
		return give(k, e, &f, v, d);
	}
	return parameter(k, p, e, v, d);
}

void kernel_user_names(struct script_kernel *k, const struct kernel_point *p,
		       void (*visit)(void *context, const char *name), void *context)
{
	struct signature *s;
	char name[16];

	if (p->is_return)
		visit(context, "return");
	for (uint32_t i = 0; p->has_places && i < p->n_arguments; i++) {
		snprintf(name, sizeof name, "arg%u", i + 1);
		visit(context, script_copy(k->arena, name, strlen(name)));
	}
	s = p->has_places || p->is_return ? NULL : calloc(1, sizeof *s);
	if (s && !read_signature(k, p, s, NULL))
		for (unsigned i = 0; i < s->n && i < SIGNATURE_PARAMETERS; i++)
			visit(context, script_copy(k->arena, s->parameters[i].name,
						   strlen(s->parameters[i].name)));
	free(s);
}
