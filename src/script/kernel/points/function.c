/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/function.c - kernel.function("NAME"), .call, .return; kprobe.function("NAME").
 *
 * A function is probed by a kprobe, whose registers hold the arguments; BTF has their names and
 * types.  Where the kernel cannot (CONFIG_KPROBES, lockdown) a point is refused with the reason
 * before anything runs.
 */
#include <asm/ptrace.h>
#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "script/kernel/points/points.h"

enum { FUNCTIONS_MAX = 512 };

#if defined __x86_64__
static const int registers[] = {
	offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
};
enum { RESULT_AT = offsetof(struct pt_regs, rax) };
#else
static const int registers[] = { 0, 8, 16, 24, 32, 40 };
enum { RESULT_AT = 0 };
#endif
enum { N_REGISTERS = sizeof registers / sizeof *registers };

/* ---------------------------------------------------------------- points */

static int refuse(struct diag *d, const char *name)
{
	return diag_fail(
		d, -ENOENT,
		"kernel.function(\"%s\"): this kernel has no kprobes, it was built without "
		"CONFIG_KPROBES\n"
		"  kernel.trace(\"...\") and syscall.* work; `duet script -l "
		"'kernel.trace(\"*\")'` lists tracepoints",
		name);
}

static int add(struct script_kernel *k, struct script_found *f, const char *name, bool is_return,
	       uint32_t prototype)
{
	struct kernel_point *p = script_allocate(k->arena, sizeof *p);
	char *copy = script_copy(k->arena, name, strlen(name));
	char *text =
		kernel_textf(k, "kernel.function(\"%s\").%s", name, is_return ? "return" : "call");

	if (!p || !copy || !text)
		return -ENOMEM;
	*p = (struct kernel_point){ .owner = k,
				    .kind = KIND_FUNCTION,
				    .is_return = is_return,
				    .name = copy,
				    .prototype = prototype };
	kernel_found(f, p, text, copy, false);
	return 0;
}

int kernel_function_points(struct script_kernel *k, const struct script_point *p,
			   struct script_found *f, struct diag *d)
{
	struct script_nearest nearest;
	bool is_return;
	uint32_t n = 0;
	char text[160];
	int err = 0;

	if (p->n < 2 || (strcmp(p->at[0].name, "kernel") && strcmp(p->at[0].name, "kprobe")) ||
	    strcmp(p->at[1].name, "function"))
		return -ENOTSUP;
	is_return = p->n == 3 && !strcmp(p->at[2].name, "return");
	if (p->at[1].kind != COMPONENT_TEXT || p->n > 3 ||
	    (p->n == 3 && !is_return && strcmp(p->at[2].name, "call")))
		return diag_fail(d, -ENOENT, "it is kernel.function(\"NAME\"), .call or .return");
	if (access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		return refuse(d, p->at[1].text);
	err = kernel_types(k, d);
	nearest = (struct script_nearest){ .wanted = p->at[1].text,
					   .wanted_size = strlen(p->at[1].text) };
	for (uint32_t id = 1; !err && id < k->types.n; id++) {
		const struct btf_type *t = btf_type(&k->types, id);
		const char *name = btf_name(&k->types, t->name_off);

		if (BTF_INFO_KIND(t->info) != BTF_KIND_FUNC)
			continue;
		if (fnmatch(p->at[1].text, name, 0)) {
			script_nearest_try(&nearest, name);
			continue;
		}
		if (++n > FUNCTIONS_MAX)
			return diag_fail(d, -E2BIG,
					 "kernel.function(\"%s\") means more than %d "
					 "functions",
					 p->at[1].text, FUNCTIONS_MAX);
		err = add(k, f, name, is_return, t->type);
	}
	if (err || n)
		return err;
	return diag_fail(d, -ENOENT, "the kernel has no function `%s`%s", p->at[1].text,
			 script_nearest_text(&nearest, text));
}

/* ---------------------------------------------------------------- values */

int kernel_function_value(struct script_kernel *k, const struct kernel_point *p,
			  const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	const struct btf_type *proto = btf_type(&k->types, p->prototype);
	struct kernel_fetch f = { .base = FETCH_REGISTER,
				  .bytes = 8,
				  .user_from = FETCH_NEVER_USER };
	struct script_nearest n = { .wanted = e->text, .wanted_size = strlen(e->text) };
	const char *name;
	uint32_t type;
	char text[160];
	int err;

	if (e->kind == EXPR_VARIABLE)
		return strcmp(e->text, "name") ? -ENOENT : kernel_give_constant(k, p->name, v, d);
	if (p->is_return && !strcmp(e->text, "return") && proto) {
		f.at = RESULT_AT;
		err = kernel_follow(k, &f, proto->type, e, "$return", d);
		return err ? err : kernel_give_fetch(k, &f, v, d);
	}
	for (uint32_t i = 0; btf_parameter(&k->types, p->prototype, i, &type, &name); i++) {
		script_nearest_try(&n, name);
		if (strcmp(name, e->text))
			continue;
		if (i >= N_REGISTERS)
			return diag_fail(d, -ENOENT, "$%s is not in a register", e->text);
		if (p->is_return)
			return diag_fail(d, -ENOENT,
					 "$%s is gone at the return: @entry($%s) keeps it", e->text,
					 e->text);
		f.at = registers[i];
		err = kernel_follow(k, &f, type, e, kernel_shown(k, e), d);
		return err ? err : kernel_give_fetch(k, &f, v, d);
	}
	return diag_fail(d, -ENOENT, "function %s has no parameter `%s`%s", p->name, e->text,
			 script_nearest_text(&n, text));
}

void kernel_function_names(struct script_kernel *k, const struct kernel_point *p,
			   void (*visit)(void *context, const char *name), void *context)
{
	const char *name;
	uint32_t type;

	if (p->is_return)
		visit(context, "return");
	for (uint32_t i = 0;
	     !p->is_return && btf_parameter(&k->types, p->prototype, i, &type, &name); i++)
		visit(context, name);
}
