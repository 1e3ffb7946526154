/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/calls.c - syscall.NAME, nd_syscall.NAME, syscall_any, each also with .return, and
 * the values there.
 *
 * Names of arguments and their types are those of the kernel's own events (syscalls:sys_enter_X).
 * $x is the number in its register, cut to its type.  A name without $ is the same, but the text for
 * an argument that points to one, as in recordings.
 */
#include <errno.h>
#include <fnmatch.h>
#include <asm/ptrace.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/convert/layout.h"
#include "kernel/tracefs/public.h"
#include "script/kernel/points/points.h"

enum { CALL_ARGUMENTS = 6, ARGUMENTS_AT = 16, PATH_TEXT = 256 };

/* ---------------------------------------------------------------- points */

static int add_call(struct script_kernel *k, struct script_found *f, const char *family, int nr,
		    bool is_return)
{
	struct kernel_point *p = script_allocate(k->arena, sizeof *p);
	const char *name = nr < 0 ? NULL : kernel_syscall_name(nr);
	char *text = kernel_textf(k, "%s%s%s%s", family, name ? "." : "", name ? name : "",
				  is_return ? ".return" : "");

	if (!p || !text)
		return -ENOMEM;
	*p = (struct kernel_point){
		.owner = k, .kind = KIND_CALL, .is_return = is_return, .name = name, .number = nr
	};
	kernel_found(f, p, text, name, false);
	return 0;
}

static bool is_call_family(const char *name, bool *is_any)
{
	*is_any = !strcmp(name, "syscall_any") || !strcmp(name, "nd_syscall_any");
	return *is_any || !strcmp(name, "syscall") || !strcmp(name, "nd_syscall");
}

int kernel_call_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d)
{
	bool is_any, is_return;
	uint32_t names, n_found = 0;
	struct script_nearest nearest;
	char text[160];
	int err = 0;

	if (!p->n || !is_call_family(p->at[0].name, &is_any))
		return -ENOTSUP;
	names = is_any ? 1 : 2;
	is_return = p->n == names + 1 && !strcmp(p->at[names].name, "return");
	if (p->n != names + is_return)
		return diag_fail(d, -ENOENT, "a system call is %s%s, or the same with .return",
				 p->at[0].name, is_any ? "" : ".NAME");
	if (is_any)
		return add_call(k, f, p->at[0].name, -1, is_return);
	nearest = (struct script_nearest){ .wanted = p->at[1].name,
					   .wanted_size = strlen(p->at[1].name) };
	for (int nr = 0; !err && nr < KERNEL_SYSCALLS_MAX; nr++) {
		const char *name = kernel_syscall_name(nr);

		if (!name)
			continue;
		script_nearest_try(&nearest, name);
		if (fnmatch(p->at[1].name, name, 0))
			continue;
		err = add_call(k, f, p->at[0].name, nr, is_return);
		n_found++;
	}
	if (err || n_found)
		return err;
	return diag_fail(d, -ENOENT, "there is no system call `%s`%s", p->at[1].name,
			 script_nearest_text(&nearest, text));
}

/* ---------------------------------------------------------------- values */

#if defined __x86_64__
static const int registers[CALL_ARGUMENTS] = {
	offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
};
enum { NUMBER_AT = offsetof(struct pt_regs, orig_rax) };
#else
static const int registers[CALL_ARGUMENTS] = { 0, 8, 16, 24, 32, 40 }; /* x0 to x5 */
enum { NUMBER_AT = 8 * 35 };					       /* syscallno */
#endif

/* The number at byte @at of the caller's registers. */
static struct kernel_fetch of_registers(int at, uint8_t bytes, bool is_signed)
{
	return (struct kernel_fetch){ .base = FETCH_ARGUMENT,
				      .what = FETCH_LOAD,
				      .offset = at,
				      .bytes = bytes,
				      .is_signed = is_signed,
				      .user_from = FETCH_NEVER_USER,
				      .is_trusted = true };
}

static struct kernel_fetch of_result(void)
{
	return (struct kernel_fetch){ .base = FETCH_ARGUMENT,
				      .what = FETCH_VALUE,
				      .at = 1,
				      .bytes = 8,
				      .is_signed = true,
				      .user_from = FETCH_NEVER_USER };
}

/* The text that register @at points to. */
static struct kernel_fetch text_of_register(int at)
{
	struct kernel_fetch f = of_registers(0, 8, false);

	f.what = FETCH_TEXT;
	f.hops[f.n_hops++] = at;
	f.user_from = 1;
	f.size = PATH_TEXT;
	f.may_fault = true;
	return f;
}

static int read_format(struct script_kernel *k, const struct kernel_point *p,
		       struct kernel_format *f, struct diag *d)
{
	int root = kernel_tracefs(k, d);
	char event[96];

	if (root < 0)
		return root;
	if (p->number < 0)
		return diag_fail(d, -ENOENT, "the arguments of syscall_any have no names");
	snprintf(event, sizeof event, "sys_enter_%s", kernel_syscall_kernel_name(p->number));
	return kernel_event_format(root, "syscalls", event, f, d);
}

/* Argument @name of the call; its number in *@number. */
static const struct kernel_field *argument_of(const struct kernel_format *f, const char *name,
					      int *number)
{
	for (int i = 0; i < f->n_fields; i++) {
		const struct kernel_field *field = &f->fields[i];

		*number = ((int)field->offset - ARGUMENTS_AT) / 8;
		if (field->offset >= ARGUMENTS_AT && *number < CALL_ARGUMENTS &&
		    !strcmp(field->name, name))
			return field;
	}
	return NULL;
}

static int argument_value(struct script_kernel *k, const struct kernel_point *p, const char *name,
			  bool is_text, struct script_world_value *v, struct diag *d)
{
	struct kernel_format format;
	const struct kernel_field *field;
	struct kernel_fetch f;
	int number, bytes;

	if (read_format(k, p, &format, NULL))
		return -ENOENT;
	field = argument_of(&format, name, &number);
	if (!field)
		return -ENOENT;
	if (is_text && kernel_layout_texts(&format) >> number & 1) {
		f = text_of_register(registers[number]);
		return kernel_give_user_text(k, p, &f, 1, FORM_TEXT, v, d);
	}
	bytes = field->type_size && !field->is_pointer ? field->type_size : 8;
	f = of_registers(registers[number], (uint8_t)bytes,
			 !field->is_pointer && field->type_is_signed);
	return kernel_give_fetch(k, &f, v, d);
}

static void offer(void *context, const char *name)
{
	script_nearest_try(context, name);
}

static int no_argument(struct script_kernel *k, const struct kernel_point *p, const char *name,
		       struct diag *d)
{
	struct script_nearest n = { .wanted = name, .wanted_size = strlen(name) };
	char text[160];

	kernel_call_names(k, p, offer, &n);
	return diag_fail(d, -ENOENT, "%s%s has no argument `%s`%s",
			 p->name ? "system call " : "syscall_any", p->name ? p->name : "", name,
			 script_nearest_text(&n, text));
}

/* $arg1 .. $arg6 of any call, also without names. */
static int numbered(const char *name)
{
	return !strncmp(name, "arg", 3) && name[3] >= '1' && name[3] <= '6' && !name[4]
		       ? name[3] - '1'
		       : -1;
}

static int convenience(struct script_kernel *k, const struct kernel_point *p, const char *name,
		       struct script_world_value *v, struct diag *d)
{
	struct kernel_fetch f;

	if (!strcmp(name, "name"))
		return p->name ? kernel_give_constant(k, p->name, v, d)
			       : kernel_give_form(k, FORM_CALL_NAME,
						  (struct kernel_fetch[]){
							  of_registers(NUMBER_AT, 8, true) },
						  1, v, d);
	if (!strcmp(name, "syscall_nr")) {
		f = of_registers(NUMBER_AT, 8, true);
		return kernel_give_fetch(k, &f, v, d);
	}
	if (p->is_return && (!strcmp(name, "retval") || !strcmp(name, "ret"))) {
		f = of_result();
		return kernel_give_fetch(k, &f, v, d);
	}
	if (p->is_return && !strcmp(name, "retstr")) {
		struct kernel_fetch both[] = { of_result(), of_registers(NUMBER_AT, 8, true) };

		return kernel_give_form(k, FORM_RESULT, both, 2, v, d);
	}
	return !p->is_return && p->name ? argument_value(k, p, name, true, v, d) : -ENOENT;
}

static int argstr(struct script_kernel *k, const struct kernel_point *p,
		  struct script_world_value *v, struct diag *d)
{
	struct kernel_fetch fetches[1 + 2 * CALL_ARGUMENTS];
	struct kernel_format format;
	uint32_t n = 0;

	fetches[n++] = of_registers(NUMBER_AT, 8, true);
	for (int i = 0; i < CALL_ARGUMENTS; i++)
		fetches[n++] = of_registers(registers[i], 8, true);
	if (!read_format(k, p, &format, NULL))
		for (int i = 0; i < CALL_ARGUMENTS; i++)
			if (kernel_layout_texts(&format) >> i & 1)
				fetches[n++] = text_of_register(registers[i]);
	return kernel_give_form(k, FORM_ARGUMENTS, fetches, n, v, d);
}

int kernel_call_value(struct script_kernel *k, const struct kernel_point *p,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	const char *name = e->text;
	struct kernel_fetch f;
	int number, err;

	if (e->kind == EXPR_VARIABLE)
		return !strcmp(name, "argstr") ? argstr(k, p, v, d) : convenience(k, p, name, v, d);
	if (e->n_path)
		return diag_fail(d, -ENOENT,
				 "$%s is a number: @cast($%s, \"struct ...\", \"kernel\") gives it "
				 "members",
				 name, name);
	number = numbered(name);
	if (p->is_return && !strcmp(name, "return")) {
		f = of_result();
		return kernel_give_fetch(k, &f, v, d);
	}
	if (number >= 0) {
		f = of_registers(registers[number], 8, true);
		return kernel_give_fetch(k, &f, v, d);
	}
	err = argument_value(k, p, name, false, v, d);
	return err == -ENOENT ? no_argument(k, p, name, d) : err;
}

void kernel_call_names(struct script_kernel *k, const struct kernel_point *p,
		       void (*visit)(void *context, const char *name), void *context)
{
	struct kernel_format f;

	if (p->is_return)
		visit(context, "return");
	if (p->number < 0 || read_format(k, p, &f, NULL))
		return;
	for (int i = 0; i < f.n_fields; i++) {
		char *name =
			f.fields[i].offset < ARGUMENTS_AT
				? NULL
				: script_copy(k->arena, f.fields[i].name, strlen(f.fields[i].name));

		if (name)
			visit(context, name);
	}
}

/* kernel_call_number - the number of the call at an event: for the values above and for the table of
 * calls (build.c). */
struct kernel_fetch kernel_call_number(void)
{
	return of_registers(NUMBER_AT, 8, true);
}
