/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/function.c - kernel.function("NAME"), .call, .return; kprobe.function("NAME");
 * module("NAME").function("NAME").
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

/* A request, and the points found for it. */
struct search {
	struct script_kernel *k;
	struct script_found *found;
	const char *wanted, *pattern; /* the same, or NULL: no pattern */
	bool call, returns;
	uint32_t n;
	struct script_nearest nearest;
};

/* @id: in the kernel's types; 0: of a module. */
static int add(const struct search *s, const char *name, uint32_t id, const char *module,
	       bool is_return)
{
	struct script_kernel *k = s->k;
	const struct btf_type *t = id ? btf_type(&k->types, id) : NULL;
	struct kernel_point *p = script_allocate(k->arena, sizeof *p);
	char *copy = script_copy(k->arena, name, strlen(name));
	const char *end = is_return ? "return" : "call";
	char *text =
		module ? kernel_textf(k, "module(\"%s\").function(\"%s\").%s", module, name, end)
		       : kernel_textf(k, "kernel.function(\"%s\").%s", name, end);

	if (!p || !copy || !text)
		return -ENOMEM;
	*p = (struct kernel_point){ .owner = k,
				    .kind = KIND_FUNCTION,
				    .is_return = is_return,
				    .name = copy,
				    .pattern = s->pattern,
				    .btf_id = t && has_plain_arguments(k, t->type) ? id : 0,
				    .prototype = t ? t->type : 0 };
	kernel_found(s->found, p, text, copy, false);
	return 0;
}

static int try(struct search *s, const char *name, uint32_t id, const char *module, struct diag *d)
{
	int err;

	if (fnmatch(s->wanted, name, 0)) {
		script_nearest_try(&s->nearest, name);
		return 0;
	}
	if (++s->n > FUNCTIONS_MAX)
		return diag_fail(d, -E2BIG, "`%s` means more than %d functions", s->wanted,
				 FUNCTIONS_MAX);
	err = s->call ? add(s, name, id, module, false) : 0;
	return !err && s->returns ? add(s, name, id, module, true) : err;
}

/* Which ends of a function are probed; -ENOENT: none. */
static int which(const struct script_point *p, bool *call, bool *returns, struct diag *d)
{
	const char *name = p->at[1].kind == COMPONENT_TEXT ? p->at[1].text : "NAME";
	const char *at = strchr(name, '@');
	const char *end = p->n == 3 && p->at[2].kind == COMPONENT_PLAIN ? p->at[2].name : "call";

	*call = !fnmatch(end, "call", 0);
	*returns = !fnmatch(end, "return", 0);
	if (at && p->at[1].kind == COMPONENT_TEXT)
		return diag_fail(
			d, -ENOENT,
			"kernel.function(\"%s\"): source files of the kernel are not known "
			"here: leave %s out",
			name, at);
	if (!strcmp(end, "inline"))
		return diag_fail(
			d, -ENOENT,
			"a function that is inlined cannot be probed; .call and .return are "
			"for those that are called");
	if (p->at[1].kind != COMPONENT_TEXT || p->n > 3 || (!*call && !*returns))
		return diag_fail(d, -ENOENT, "it is kernel.function(\"NAME\"), .call or .return");
	return 0;
}

static int search_types(struct search *s, struct diag *d)
{
	struct script_kernel *k = s->k;
	int err = kernel_types(k, d);

	for (uint32_t id = 1; !err && id < k->types.n; id++) {
		const struct btf_type *t = btf_type(&k->types, id);

		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC)
			err = try(s, btf_name(&k->types, t->name_off), id, NULL, d);
	}
	return err;
}

/* Modules have names in /proc/kallsyms; their types are not read. */
static int search_modules(struct search *s, const char *module, struct diag *d)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], of[64], kind;
	int err = 0;

	while (f && !err && fgets(line, sizeof line, f))
		if (sscanf(line, "%*x %c %255s [%63[^]]]", &kind, name, of) == 3 &&
		    (kind == 't' || kind == 'T') && !strchr(name, '.') && !fnmatch(module, of, 0))
			err = try(s, name, 0, of, d);
	if (f)
		fclose(f);
	return err;
}

int kernel_function_points(struct script_kernel *k, const struct script_point *p,
			   struct script_found *f, struct diag *d)
{
	struct search s = { .k = k, .found = f };
	bool is_module =
		p->n > 1 && !strcmp(p->at[0].name, "module") && p->at[0].kind == COMPONENT_TEXT;
	char text[160];
	int err;

	if (p->n < 2 || strcmp(p->at[1].name, "function") != 0 ||
	    (!is_module && strcmp(p->at[0].name, "kernel") && strcmp(p->at[0].name, "kprobe")))
		return -ENOTSUP;
	err = which(p, &s.call, &s.returns, d);
	if (err)
		return err;
	s.wanted = p->at[1].text;
	if (access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		return refuse(d, s.wanted);
	if (strpbrk(s.wanted, "*?["))
		s.pattern = script_copy(k->arena, s.wanted, strlen(s.wanted));
	s.nearest = (struct script_nearest){ .wanted = s.wanted, .wanted_size = strlen(s.wanted) };
	err = is_module ? kernel_types(k, d) : search_types(&s, d);
	if (!err && !s.n)
		err = search_modules(&s, is_module ? p->at[0].text : "*", d);
	if (err || s.n)
		return err;
	return diag_fail(d, -ENOENT, "%s%s%s has no function `%s`%s",
			 is_module ? "module `" : "the kernel", is_module ? p->at[0].text : "",
			 is_module ? "`, if it is loaded," : "", s.wanted,
			 script_nearest_text(&s.nearest, text));
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

	if (!p->prototype)
		return diag_fail(d, -ENOENT,
				 "types of modules are not known: returnval() is the result, "
				 "int_arg(1) an argument");
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
	if (!p->prototype)
		return diag_fail(d, -ENOENT,
				 "types of modules are not known: int_arg(1) or pointer_arg(1) is "
				 "the first argument");
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
