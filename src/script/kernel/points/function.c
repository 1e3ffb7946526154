/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/function.c - kernel.function("NAME"), .call, .return; kprobe.function("NAME").
 *
 * At the entry, registers hold the arguments; BTF has their names and types.  Of a result the place
 * depends on how the return is probed: site_function.c.  Where the kernel cannot (CONFIG_KPROBES, lockdown) a point is refused with the reason
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

/* Whether arguments are in the context one by one: not if one is a structure. */
static bool has_plain_arguments(const struct script_kernel *k, uint32_t prototype)
{
	uint32_t type;

	for (uint32_t i = 0; btf_parameter(&k->types, prototype, i, &type, NULL); i++) {
		uint32_t kind = btf_kind(&k->types, type);

		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION)
			return false;
	}
	return true;
}

static int add(struct script_kernel *k, struct script_found *f, uint32_t id, bool is_return,
	       const char *pattern)
{
	const struct btf_type *t = btf_type(&k->types, id);
	const char *name = btf_name(&k->types, t->name_off);
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
				    .pattern = pattern,
				    .btf_id = has_plain_arguments(k, t->type) ? id : 0,
				    .prototype = t->type };
	kernel_found(f, p, text, copy, false);
	return 0;
}

/* What behind the name is probed; -ENOENT: nothing. */
static int which(const struct script_point *p, bool *call, bool *returns, struct diag *d)
{
	const char *name = p->at[1].kind == COMPONENT_TEXT ? p->at[1].text : "NAME";
	const char *at = strchr(name, '@');
	const char *end = p->n == 3 && p->at[2].kind == COMPONENT_PLAIN ? p->at[2].name : "call";

	*call = !fnmatch(end, "call", 0);
	*returns = !fnmatch(end, "return", 0);
	if (at && p->at[1].kind == COMPONENT_TEXT)
		return diag_fail(d, -ENOENT,
				 "kernel.function(\"%s\"): source files of the kernel are not known "
				 "here: leave %s out",
				 name, at);
	if (!strcmp(end, "inline"))
		return diag_fail(d, -ENOENT,
				 "a function that is inlined cannot be probed; .call and .return are "
				 "for those that are called");
	if (p->at[1].kind != COMPONENT_TEXT || p->n > 3 || (!*call && !*returns))
		return diag_fail(d, -ENOENT, "it is kernel.function(\"NAME\"), .call or .return");
	return 0;
}

static int add_all(struct script_kernel *k, const char *wanted, const char *pattern, bool call,
		   bool returns, struct script_found *f, struct script_nearest *nearest,
		   struct diag *d)
{
	uint32_t n = 0;
	int err = 0;

	for (uint32_t id = 1; !err && id < k->types.n; id++) {
		const struct btf_type *t = btf_type(&k->types, id);
		const char *name = btf_name(&k->types, t->name_off);

		if (BTF_INFO_KIND(t->info) != BTF_KIND_FUNC)
			continue;
		if (fnmatch(wanted, name, 0)) {
			script_nearest_try(nearest, name);
			continue;
		}
		if (++n > FUNCTIONS_MAX)
			return diag_fail(d, -E2BIG,
					 "kernel.function(\"%s\") means more than %d functions",
					 wanted, FUNCTIONS_MAX);
		err = call ? add(k, f, id, false, pattern) : 0;
		err = !err && returns ? add(k, f, id, true, pattern) : err;
	}
	return err ? err : (int)n;
}

int kernel_function_points(struct script_kernel *k, const struct script_point *p,
			   struct script_found *f, struct diag *d)
{
	struct script_nearest nearest;
	const char *wanted, *pattern;
	bool call, returns;
	char text[160];
	int err;

	if (p->n < 2 || (strcmp(p->at[0].name, "kernel") && strcmp(p->at[0].name, "kprobe")) ||
	    strcmp(p->at[1].name, "function"))
		return -ENOTSUP;
	err = which(p, &call, &returns, d);
	if (err)
		return err;
	wanted = p->at[1].text;
	if (access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		return refuse(d, wanted);
	err = kernel_types(k, d);
	if (err)
		return err;
	pattern = strpbrk(wanted, "*?[") ? script_copy(k->arena, wanted, strlen(wanted)) : NULL;
	nearest =
		(struct script_nearest){ .wanted = wanted, .wanted_size = strlen(wanted) };
	err = add_all(k, wanted, pattern, call, returns, f, &nearest, d);
	if (err)
		return err < 0 ? err : 0;
	return diag_fail(d, -ENOENT, "the kernel has no function `%s`%s", wanted,
			 script_nearest_text(&nearest, text));
}

/* ---------------------------------------------------------------- values */

static uint32_t n_parameters(const struct script_kernel *k, uint32_t prototype)
{
	uint32_t n = 0, type;

	while (btf_parameter(&k->types, prototype, n, &type, NULL))
		n++;
	return n;
}

struct kernel_fetch kernel_function_result(const struct script_kernel *k,
					   const struct kernel_point *p)
{
	return (struct kernel_fetch){ .base = FETCH_RESULT,
				      .at = (int32_t)n_parameters(k, p->prototype),
				      .number = RESULT_AT,
				      .bytes = 8,
				      .user_from = FETCH_NEVER_USER };
}

static int result(struct script_kernel *k, const struct kernel_point *p,
		  const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	const struct btf_type *prototype = btf_type(&k->types, p->prototype);
	struct kernel_fetch f = kernel_function_result(k, p);

	if (!prototype || !prototype->type)
		return diag_fail(d, -ENOENT, "function %s returns nothing", p->name);
	return kernel_path_value(k, &f, prototype->type, e, v, d);
}

int kernel_function_value(struct script_kernel *k, const struct kernel_point *p,
			  const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct kernel_fetch f = { .base = FETCH_REGISTER,
				  .bytes = 8,
				  .user_from = FETCH_NEVER_USER };
	struct script_nearest n = { .wanted = e->text, .wanted_size = strlen(e->text) };
	const char *name;
	uint32_t type;
	char text[160];

	if (e->kind == EXPR_VARIABLE)
		return strcmp(e->text, "name") ? -ENOENT : kernel_give_constant(k, p->name, v, d);
	if (p->is_return && !strcmp(e->text, "return"))
		return result(k, p, e, v, d);
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
		return kernel_path_value(k, &f, type, e, v, d);
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
