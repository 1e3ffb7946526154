/* SPDX-License-Identifier: MIT */
/*
 * library/symbol.c - addresses and call stacks in words.
 *
 * A stack is a string of addresses in hexadecimal, the innermost first, as backtrace() returns it.
 * An address without a name is shown as a number.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "script/library/internal.h"

enum { MOST_FRAMES = 256 };

/* Appends what is known of @address. */
static void add_symbol(struct script_vm *vm, struct text *to, bool is_user, uint64_t address,
		       char what)
{
	const struct script_services *s = script_vm_services(vm);
	size_t before = to->size;

	if (s->symbol)
		s->symbol(s->context, is_user ? standard_long(vm, STANDARD_PID) : 0, address, what,
			  to);
	if (to->size == before && what != 'm')
		text_addf(to, "0x%" PRIx64, address);
}

static uint64_t symbol(struct script_vm *vm, bool is_user, uint64_t address, char what)
{
	struct text *t = library_text(vm);

	add_symbol(vm, t, is_user, address, what);
	return new_text(vm, t->bytes, t->size);
}

HELP(library_symname)
{
	UNUSED2;
	return symbol(vm, false, r1, 's');
}

HELP(library_symdata)
{
	UNUSED2;
	return symbol(vm, false, r1, 'd');
}

HELP(library_symline)
{
	UNUSED2;
	return symbol(vm, false, r1, 'l');
}

HELP(library_modname)
{
	UNUSED2;
	return symbol(vm, false, r1, 'm');
}

HELP(library_usymname)
{
	UNUSED2;
	return symbol(vm, true, r1, 's');
}

HELP(library_usymdata)
{
	UNUSED2;
	return symbol(vm, true, r1, 'd');
}

HELP(library_usymline)
{
	UNUSED2;
	return symbol(vm, true, r1, 'l');
}

HELP(library_umodname)
{
	UNUSED2;
	return symbol(vm, true, r1, 'm');
}

/* The next address of a stack; false: its end. */
static bool next_address(const char **at, uint64_t *address)
{
	char *end;

	*address = strtoull(*at, &end, 16);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static void add_stack(struct script_vm *vm, struct text *to, const char *stack, bool is_user,
		      bool is_brief)
{
	uint64_t address;

	for (int i = 0; i < MOST_FRAMES && next_address(&stack, &address); i++) {
		if (!is_brief)
			text_addf(to, " 0x%" PRIx64 " : ", address);
		add_symbol(vm, to, is_user, address, 'd');
		text_add(to, "\n", 1);
	}
}

static uint64_t print_stack(struct script_vm *vm, const struct script_string *stack, bool is_user,
			    bool is_brief)
{
	struct text *t = library_text(vm);

	add_stack(vm, t, stack->bytes, is_user, is_brief);
	library_write_shown(vm, t->bytes, t->size);
	return 0;
}

static uint64_t sprint_stack(struct script_vm *vm, const struct script_string *stack, bool is_user)
{
	struct text *t = library_text(vm);

	add_stack(vm, t, stack->bytes, is_user, false);
	return new_text(vm, t->bytes, t->size);
}

static const struct script_string *kernel_stack(struct script_vm *vm)
{
	return script_vm_frame(vm)->standard[STANDARD_KERNEL_STACK].text;
}

static const struct script_string *user_stack(struct script_vm *vm)
{
	return script_vm_frame(vm)->standard[STANDARD_USER_STACK].text;
}

HELP(library_print_backtrace)
{
	UNUSED1;
	return print_stack(vm, kernel_stack(vm), false, false);
}

HELP(library_sprint_backtrace)
{
	UNUSED1;
	return sprint_stack(vm, kernel_stack(vm), false);
}

HELP(library_print_ubacktrace)
{
	UNUSED1;
	return print_stack(vm, user_stack(vm), true, false);
}

HELP(library_print_ubacktrace_brief)
{
	UNUSED1;
	return print_stack(vm, user_stack(vm), true, true);
}

HELP(library_sprint_ubacktrace)
{
	UNUSED1;
	return sprint_stack(vm, user_stack(vm), true);
}

HELP(library_print_stack)
{
	UNUSED2;
	return print_stack(vm, string_of(r1), false, false);
}

HELP(library_sprint_stack)
{
	UNUSED2;
	return sprint_stack(vm, string_of(r1), false);
}

HELP(library_print_ustack)
{
	UNUSED2;
	return print_stack(vm, string_of(r1), true, false);
}

HELP(library_sprint_ustack)
{
	UNUSED2;
	return sprint_stack(vm, string_of(r1), true);
}

/* The first @n addresses; -1: all. */
static uint64_t first_addresses(struct script_vm *vm, const struct script_string *stack, int64_t n)
{
	const char *at = stack->bytes, *end = at;
	uint64_t address;

	for (int64_t i = 0; (n < 0 || i < n) && next_address(&end, &address); i++)
		;
	return new_text(vm, at, (size_t)(end - at));
}

HELP(library_callers)
{
	UNUSED2;
	return first_addresses(vm, kernel_stack(vm), (int64_t)r1);
}

HELP(library_ucallers)
{
	UNUSED2;
	return first_addresses(vm, user_stack(vm), (int64_t)r1);
}

/* Address @depth, from 0; 0: the stack is not as deep. */
static uint64_t address_at(const struct script_string *stack, uint64_t depth)
{
	const char *at = stack->bytes;
	uint64_t address = 0;

	for (uint64_t i = 0; i <= depth; i++)
		if (!next_address(&at, &address))
			return 0;
	return address;
}

HELP(library_stack_at)
{
	UNUSED2;
	return address_at(kernel_stack(vm), r1);
}

HELP(library_ustack_at)
{
	UNUSED2;
	return address_at(user_stack(vm), r1);
}

HELP(library_caller_addr)
{
	UNUSED1;
	return address_at(kernel_stack(vm), 1);
}

HELP(library_caller)
{
	uint64_t address = address_at(kernel_stack(vm), 1);
	struct text *t = library_text(vm);

	UNUSED1;
	add_symbol(vm, t, false, address, 's');
	text_addf(t, " 0x%" PRIx64, address);
	return new_text(vm, t->bytes, t->size);
}

/* "main;run;read": names, the outermost first, as flame graphs take them. */
static uint64_t folded(struct script_vm *vm, const struct script_string *stack, bool is_user)
{
	struct text *t = library_text(vm);
	const char *at = stack->bytes;
	uint64_t addresses[MOST_FRAMES];
	int n = 0;

	while (n < MOST_FRAMES && next_address(&at, &addresses[n]))
		n++;
	while (n--) {
		add_symbol(vm, t, is_user, addresses[n], 's');
		if (n)
			text_add(t, ";", 1);
	}
	return new_text(vm, t->bytes, t->size);
}

HELP(library_folded_stack)
{
	UNUSED2;
	return folded(vm, string_of(r1), false);
}

HELP(library_folded_ustack)
{
	UNUSED2;
	return folded(vm, string_of(r1), true);
}
