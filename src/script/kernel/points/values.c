/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/values.c - the value of an expression at a point.
 *
 * $x asks the point's family.  @cast and functions like kernel_string() take an address, which must
 * itself come from the event: $x, members of it, @cast, a number, or a sum of these and a number.
 */
#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "script/kernel/points/points.h"
#include "script/syntax/parse.h"

/* ---------------------------------------------------------------- results */

static int give(struct script_kernel *k, struct kernel_value value, enum script_type type,
		bool may_fault, struct script_world_value *v, struct diag *d)
{
	struct kernel_value *copy = script_allocate(k->arena, sizeof *copy);

	if (!copy)
		return diag_fail(d, -ENOMEM, "no memory for values");
	*copy = value;
	*v = (struct script_world_value){ .type = type, .may_fault = may_fault, .data = copy };
	return 0;
}

int kernel_give_form(struct script_kernel *k, enum kernel_form form,
		     const struct kernel_fetch *fetches, uint32_t n, struct script_world_value *v,
		     struct diag *d)
{
	struct kernel_fetch *copy = script_allocate(k->arena, (n + 1) * sizeof *copy);
	bool may_fault = false;

	if (!copy)
		return diag_fail(d, -ENOMEM, "no memory for values");
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = fetches[i];
		may_fault |= fetches[i].may_fault;
	}
	/* A text of an argument that cannot be read is shown as its address. */
	if (form == FORM_ARGUMENTS)
		may_fault = false;
	return give(k, (struct kernel_value){ .form = form, .n_fetches = n, .fetches = copy },
		    form == FORM_NUMBER ? SCRIPT_LONG : SCRIPT_STRING, may_fault, v, d);
}

int kernel_give_fetch(struct script_kernel *k, const struct kernel_fetch *f,
		      struct script_world_value *v, struct diag *d)
{
	return kernel_give_form(k, fetch_is_text(f) ? FORM_TEXT : FORM_NUMBER, f, 1, v, d);
}

/* The address of the text that @f fetches, as a number. */
static struct kernel_fetch address_of_text(const struct kernel_fetch *f)
{
	struct kernel_fetch a = *f;

	a.size = 0;
	a.bytes = 8;
	a.what = FETCH_VALUE;
	if (a.n_hops && !a.offset) {
		a.what = FETCH_LOAD;
		a.offset = a.hops[--a.n_hops];
		a.hops[a.n_hops] = 0;
	}
	if (a.user_from > a.n_hops || a.what == FETCH_VALUE)
		a.user_from = a.user_from > a.n_hops ? FETCH_NEVER_USER : a.user_from;
	a.may_fault = a.is_trusted && !a.n_hops ? false : a.may_fault && a.n_hops;
	return a;
}

int kernel_give_user_text(struct script_kernel *k, const struct kernel_point *p,
			  const struct kernel_fetch *fetches, uint32_t n, enum kernel_form form,
			  struct script_world_value *v, struct diag *d)
{
	struct kernel_fetch all[4];
	struct kernel_value *value;
	int err;

	memcpy(all, fetches, n * sizeof *all);
	all[n] = address_of_text(&fetches[0]);
	all[n + 1] = (struct kernel_fetch){ .base = FETCH_PID_TGID,
					    .bytes = 8,
					    .bit = 32,
					    .bits = 32,
					    .user_from = FETCH_NEVER_USER };
	err = kernel_give_form(k, form, all, n + 2, v, d);
	if (err)
		return err;
	value = v->data;
	value->has_rescue = true;
	value->shows_address = p->kind == KIND_CALL; /* as recordings do */
	v->may_fault = !value->shows_address;
	return 0;
}

int kernel_give_constant(struct script_kernel *k, const char *text, struct script_world_value *v,
			 struct diag *d)
{
	const struct script_string *s = kernel_constant(k, text);

	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for values");
	return give(k, (struct kernel_value){ .form = FORM_CONSTANT, .constant = s }, SCRIPT_STRING,
		    false, v, d);
}

/* ---------------------------------------------------------------- addresses */

struct lookup {
	struct script_kernel *k;
	const struct script_world_point *point;
	struct diag *d;
};

static int value_of(struct lookup *l, const struct script_expr *e, struct script_world_value *v);

/* Makes the number that @f fetches the base of the next fetch. */
static int make_base(struct lookup *l, struct kernel_fetch *f)
{
	if (f->what == FETCH_BYTES || f->what == FETCH_TEXT) { /* an array: its address */
		f->what = FETCH_VALUE;
		return 0;
	}
	if (f->what == FETCH_LOAD) {
		if (f->bytes != 8 || f->bits)
			return diag_fail(l->d, -EINVAL, "an address has 8 bytes");
		if (f->n_hops == FETCH_HOPS_MAX)
			return diag_fail(l->d, -EINVAL, "too many pointers");
		f->hops[f->n_hops++] = f->offset;
		f->offset = 0;
		f->what = FETCH_VALUE;
	}
	return f->what == FETCH_VALUE ? 0 : diag_fail(l->d, -EINVAL, "it is no address");
}

static int not_of_event(struct lookup *l, const struct script_expr *e)
{
	(void)e;
	return diag_fail(l->d, -ENOENT,
			 "this is read where the event happens: its address must come from the "
			 "event, as $x->y does");
}

/* @f becomes a fetch whose value is the address that @e is. */
static int address(struct lookup *l, const struct script_expr *e, struct kernel_fetch *f)
{
	struct script_world_value v;
	const struct kernel_value *value;
	int err;

	if (e->kind == EXPR_NUMBER) {
		*f = (struct kernel_fetch){ .base = FETCH_NUMBER,
					    .number = e->number,
					    .bytes = 8,
					    .user_from = FETCH_NEVER_USER };
		return 0;
	}
	if (e->kind == EXPR_BINARY && (e->op == SCRIPT_ADD || e->op == SCRIPT_SUB) &&
	    e->kids[1]->kind == EXPR_NUMBER) {
		int64_t by = e->op == SCRIPT_ADD ? e->kids[1]->number : -e->kids[1]->number;

		err = address(l, e->kids[0], f);
		if (err || by > 1 << 24 || by < -(1 << 24))
			return err ? err : diag_fail(l->d, -EINVAL, "the offset is too large");
		f->offset += (int32_t)by;
		return 0;
	}
	if (e->kind == EXPR_CALL && !strcmp(e->text, "task_current")) {
		*f = (struct kernel_fetch){ .base = FETCH_TASK,
					    .bytes = 8,
					    .is_trusted = true,
					    .user_from = FETCH_NEVER_USER };
		return 0;
	}
	if (e->kind != EXPR_CONTEXT && e->kind != EXPR_CAST && e->kind != EXPR_CALL)
		return not_of_event(l, e);
	err = value_of(l, e, &v);
	if (err)
		return err;
	value = v.data;
	if (value->n_fetches != 1)
		return not_of_event(l, e);
	*f = value->fetches[0];
	return make_base(l, f);
}

/* ---------------------------------------------------------------- @cast, @var */

const char *kernel_shown(struct script_kernel *k, const struct script_expr *e)
{
	struct text t = { 0 };
	const char *shown;

	script_print_expr(&t, e);
	shown = t.size ? script_copy(k->arena, t.bytes, t.size) : NULL;
	text_fini(&t);
	return shown ? shown : "this";
}

static int cast(struct lookup *l, const struct script_expr *e, struct script_world_value *v)
{
	struct kernel_fetch f;
	uint32_t type;
	int err = kernel_types(l->k, l->d);

	err = err ? err : address(l, e->kids[0], &f);
	if (err)
		return err;
	type = btf_find_type(&l->k->types, e->type_name);
	if (!type)
		return diag_fail(l->d, -ENOENT, "the kernel has no type `%s`", e->type_name);
	f.is_trusted = f.is_trusted && f.base == FETCH_TASK && !f.n_hops &&
		       strstr(e->type_name, "task_struct");
	f.what = FETCH_LOAD;
	return kernel_path_value(l->k, &f, type, e, v, l->d);
}

/* ---------------------------------------------------------------- functions */

static const struct {
	const char *begin; /* of the name, behind kernel_ or user_ */
	uint8_t bytes, is_signed;
} numbers[] = {
	{ "long", 8, 1 },    { "ulong", 8, 0 },	 { "int", 4, 1 },    { "uint", 4, 0 },
	{ "short", 2, 1 },   { "ushort", 2, 0 }, { "char", 1, 1 },   { "uchar", 1, 0 },
	{ "pointer", 8, 0 }, { "int8", 1, 1 },	 { "int16", 2, 1 },  { "int32", 4, 1 },
	{ "int64", 8, 1 },   { "uint8", 1, 0 },	 { "uint16", 2, 0 }, { "uint32", 4, 0 },
	{ "uint64", 8, 0 },
};

/* task_x(task): as a path in struct task_struct. */
static const struct {
	const char *name, *path;
} tasks[] = {
	{ "task_pid", "tgid" },
	{ "task_tid", "pid" },
	{ "task_parent", "real_parent" },
	{ "task_execname", "comm" },
	{ "task_state", "__state" },
	{ "task_cpu", "thread_info.cpu" },
	{ "task_prio", "prio" },
	{ "task_nice", "static_prio" },
	{ "task_uid", "cred->uid.val" },
	{ "task_euid", "cred->euid.val" },
	{ "task_gid", "cred->gid.val" },
	{ "task_egid", "cred->egid.val" },
	{ "task_start_time", "start_time" },
	{ "task_utime", "utime" },
	{ "task_stime", "stime" },
};

/* Texts: how many bytes, and the text instead of one that cannot be read. */
static int text_function(struct lookup *l, const struct script_expr *e, bool is_user,
			 struct script_world_value *v)
{
	bool is_counted = strstr(e->text, "_n") != NULL || strstr(e->text, "_buffer");
	bool has_other =
		e->n_kids > (is_counted ? 2u : 1u) && e->kids[e->n_kids - 1]->kind == EXPR_TEXT;
	enum kernel_form form = strstr(e->text, "quoted") ? FORM_QUOTED : FORM_TEXT;
	struct kernel_fetch fetches[2];
	struct kernel_value *value;
	uint32_t n = 1;
	int err = address(l, e->kids[0], &fetches[0]);

	if (err)
		return err;
	if (is_user && fetches[0].user_from == FETCH_NEVER_USER)
		fetches[0].user_from = fetches[0].n_hops;
	fetches[0].what = FETCH_TEXT;
	fetches[0].size = FETCH_TEXT_MAX;
	fetches[0].may_fault = true;
	if (is_counted && e->kids[1]->kind == EXPR_NUMBER) {
		if (e->kids[1]->number < 1)
			return kernel_give_constant(l->k, "", v, l->d);
		if (e->kids[1]->number < FETCH_TEXT_MAX)
			fetches[0].size = (uint16_t)(e->kids[1]->number + 1);
	} else if (is_counted) { /* a number of the event: cut in this process */
		err = address(l, e->kids[1], &fetches[1]);
		if (err)
			return err;
		fetches[1].what = FETCH_VALUE;
		n = 2;
	}
	err = is_user ? kernel_give_user_text(l->k, kernel_point_of(l->point), fetches, n, form, v,
					      l->d)
		      : kernel_give_form(l->k, form, fetches, n, v, l->d);
	if (err || (!has_other && !strstr(e->text, "warn")))
		return err;
	value = v->data;
	value->constant =
		kernel_constant(l->k, has_other ? e->kids[e->n_kids - 1]->text : "<unknown>");
	v->may_fault = false;
	return value->constant ? 0 : -ENOMEM;
}

static int number_function(struct lookup *l, const struct script_expr *e, const char *type,
			   bool is_user, struct script_world_value *v)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct kernel_fetch f;
		int err;

		if (strcmp(type, numbers[i].begin))
			continue;
		err = address(l, e->kids[0], &f);
		if (err)
			return err;
		if (is_user && f.user_from == FETCH_NEVER_USER)
			f.user_from = f.n_hops;
		f.what = FETCH_LOAD;
		f.is_trusted = false;
		f.may_fault = true;
		f.bytes = numbers[i].bytes;
		f.is_signed = numbers[i].is_signed;
		return kernel_give_fetch(l->k, &f, v, l->d);
	}
	return diag_fail(l->d, -ENOENT, "%s() is not known here", e->text);
}

static int task_function(struct lookup *l, const struct script_expr *e,
			 struct script_world_value *v)
{
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		struct kernel_fetch f = { .base = FETCH_TASK,
					  .bytes = 8,
					  .user_from = FETCH_NEVER_USER };
		bool is_current = !e->n_kids;
		int err = strcmp(tasks[i].name, e->text) ? -ENOENT : kernel_types(l->k, l->d);

		if (err == -ENOENT && strcmp(tasks[i].name, e->text))
			continue;
		if (!err && e->n_kids)
			err = address(l, e->kids[0], &f);
		if (err)
			return err;
		f.is_trusted = is_current || (f.base == FETCH_TASK && !f.n_hops) ||
			       (f.base == FETCH_ARGUMENT && f.is_trusted && !f.n_hops && !f.offset);
		f.what = FETCH_LOAD;
		err = kernel_follow_text(l->k, &f,
					 btf_find(&l->k->types, BTF_KIND_STRUCT, "task_struct"),
					 tasks[i].path, l->d);
		return err ? err : kernel_give_fetch(l->k, &f, v, l->d);
	}
	return diag_fail(l->d, -ENOENT, "%s() is not known here", e->text);
}

#if defined __x86_64__
static const struct {
	const char *names[4];
	int at;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, offsetof(struct pt_regs, rax) },
	{ { "rbx", "ebx", "bx", "bl" }, offsetof(struct pt_regs, rbx) },
	{ { "rcx", "ecx", "cx", "cl" }, offsetof(struct pt_regs, rcx) },
	{ { "rdx", "edx", "dx", "dl" }, offsetof(struct pt_regs, rdx) },
	{ { "rsi", "esi", "si", "sil" }, offsetof(struct pt_regs, rsi) },
	{ { "rdi", "edi", "di", "dil" }, offsetof(struct pt_regs, rdi) },
	{ { "rbp", "ebp", "bp", "bpl" }, offsetof(struct pt_regs, rbp) },
	{ { "rsp", "esp", "sp", "spl" }, offsetof(struct pt_regs, rsp) },
	{ { "r8", "r8", "r8", "r8" }, offsetof(struct pt_regs, r8) },
	{ { "r9", "r9", "r9", "r9" }, offsetof(struct pt_regs, r9) },
	{ { "r10", "r10", "r10", "r10" }, offsetof(struct pt_regs, r10) },
	{ { "r11", "r11", "r11", "r11" }, offsetof(struct pt_regs, r11) },
	{ { "r12", "r12", "r12", "r12" }, offsetof(struct pt_regs, r12) },
	{ { "r13", "r13", "r13", "r13" }, offsetof(struct pt_regs, r13) },
	{ { "r14", "r14", "r14", "r14" }, offsetof(struct pt_regs, r14) },
	{ { "r15", "r15", "r15", "r15" }, offsetof(struct pt_regs, r15) },
	{ { "rip", "eip", "ip", "ip" }, offsetof(struct pt_regs, rip) },
};
static const int argument_registers[] = {
	offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdx),
	offsetof(struct pt_regs, rcx), offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
};
enum { RESULT_REGISTER = offsetof(struct pt_regs, rax) };

/* The offset of register @name, its bytes in *@bytes; or -1. */
static int register_of(const char *name, uint8_t *bytes)
{
	static const uint8_t sizes[] = { 8, 4, 2, 1 };

	for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
		for (int j = 0; j < 4; j++)
			if (!strcmp(name, registers[i].names[j])) {
				*bytes = sizes[j];
				return registers[i].at;
			}
	return -1;
}
#else
static const int argument_registers[] = { 0, 8, 16, 24, 32, 40 };
enum { RESULT_REGISTER = 0 };

static int register_of(const char *name, uint8_t *bytes)
{
	int n;
	char end;

	*bytes = 8;
	return sscanf(name, "x%d%c", &n, &end) == 1 && n >= 0 && n < 31 ? 8 * n : -1;
}
#endif

static int give_register(struct lookup *l, int at, uint8_t bytes, bool is_signed,
			 struct script_world_value *v)
{
	struct kernel_fetch f = { .base = FETCH_REGISTER,
				  .at = at,
				  .bytes = bytes,
				  .is_signed = is_signed,
				  .user_from = FETCH_NEVER_USER };

	return kernel_give_fetch(l->k, &f, v, l->d);
}

/* int_arg(1), register("rdi"), returnval(): registers at the probe. */
static int register_function(struct lookup *l, const struct script_expr *e,
			     struct script_world_value *v)
{
	const struct kernel_point *p = kernel_point_of(l->point);
	bool is_signed = e->text[0] != 'u' && e->text[0] != 'p';
	uint8_t bytes = strstr(e->text, "int_arg") ? 4 : 8;
	int64_t n;
	int at;

	if (p->kind == KIND_CALL) {
		struct script_expr x = { .kind = EXPR_CONTEXT, .text = "return" };

		if (strcmp(e->text, "returnval"))
			x.text = kernel_textf(l->k, "arg%lld",
					      e->n_kids ? (long long)e->kids[0]->number : 0);
		return kernel_call_value(l->k, p, &x, v, l->d);
	}
	if (p->kind != KIND_USER && p->kind != KIND_PERF && p->kind != KIND_FUNCTION)
		return diag_fail(l->d, -ENOENT, "%s() needs registers, which this point has not",
				 e->text);
	if (!strcmp(e->text, "returnval") && p->kind == KIND_FUNCTION && p->is_return) {
		struct kernel_fetch f = kernel_function_result(l->k, p);

		f.is_signed = true;
		return kernel_give_fetch(l->k, &f, v, l->d);
	}
	if (!strcmp(e->text, "returnval"))
		return give_register(l, RESULT_REGISTER, 8, true, v);
	if (strstr(e->text, "register")) {
		at = e->kids[0]->kind == EXPR_TEXT ? register_of(e->kids[0]->text, &bytes) : -1;
		return at < 0 ? diag_fail(l->d, -ENOENT, "%s() needs the name of a register",
					  e->text)
			      : give_register(l, at, bytes, false, v);
	}
	n = e->kids[0]->kind == EXPR_NUMBER ? e->kids[0]->number : 0;
	if (n < 1 || n > 6)
		return diag_fail(l->d, -ENOENT, "%s() needs a number from 1 to 6", e->text);
	return give_register(l, argument_registers[n - 1], bytes, is_signed, v);
}

static int function(struct lookup *l, const struct script_expr *e, struct script_world_value *v)
{
	bool is_user = !strncmp(e->text, "user_", 5), is_kernel = !strncmp(e->text, "kernel_", 7);
	const char *type = e->text + (is_user ? 5 : 7);

	if ((is_user || is_kernel) && (!strncmp(type, "string", 6) || !strncmp(type, "buffer", 6)))
		return text_function(l, e, is_user, v);
	if (is_user || is_kernel)
		return number_function(l, e, type, is_user, v);
	if (!strncmp(e->text, "task_", 5))
		return task_function(l, e, v);
	if (strstr(e->text, "_arg") || strstr(e->text, "register") || !strcmp(e->text, "returnval"))
		return register_function(l, e, v);
	return diag_fail(l->d, -ENOENT, "%s() is not known here", e->text);
}

/* ---------------------------------------------------------------- all */

static int own_value(struct lookup *l, const struct script_expr *e, struct script_world_value *v)
{
	const struct kernel_point *p = kernel_point_of(l->point);

	switch (p->kind) {
	case KIND_TRACE:
		if (e->kind == EXPR_VARIABLE)
			return !strcmp(e->text, "name")
				       ? kernel_give_constant(l->k, p->name, v, l->d)
				       : -ENOENT;
		return kernel_trace_value(l->k, p, e, v, l->d);
	case KIND_CALL:
		return kernel_call_value(l->k, p, e, v, l->d);
	case KIND_USER:
		return kernel_user_value(l->k, p, e, v, l->d);
	case KIND_FUNCTION:
		return kernel_function_value(l->k, p, e, v, l->d);
	default:
		return e->kind == EXPR_VARIABLE
			       ? -ENOENT
			       : diag_fail(l->d, -ENOENT, "%s has no values", l->point->text);
	}
}

/* $$vars, $$parms: the names of all with their values. */
struct all {
	struct lookup *l;
	struct kernel_fetch fetches[FETCHES_MAX];
	struct kernel_piece pieces[FETCHES_MAX + 1];
	uint32_t n, n_fetches;
};

static void add_one(void *context, const char *name)
{
	struct all *a = context;
	struct script_expr e = { .kind = EXPR_CONTEXT, .text = name };
	struct script_world_value v;
	const struct kernel_value *value;
	struct kernel_piece *p = &a->pieces[a->n];

	if (a->n == FETCHES_MAX / 2 || own_value(a->l, &e, &v))
		return;
	value = v.data;
	if (value->n_fetches != 1)
		return;
	p->before = kernel_textf(a->l->k, "%s%s=", a->n ? " " : "", name);
	p->fetch = a->n_fetches;
	p->how = v.type == SCRIPT_STRING ? PIECE_TEXT : PIECE_HEX;
	a->fetches[a->n_fetches++] = value->fetches[0];
	a->n += p->before != NULL;
}

static void visit_names(struct lookup *l, void (*visit)(void *context, const char *name),
			void *context)
{
	const struct kernel_point *p = kernel_point_of(l->point);

	if (p->kind == KIND_TRACE)
		kernel_trace_names(l->k, p, visit, context);
	else if (p->kind == KIND_CALL)
		kernel_call_names(l->k, p, visit, context);
	else if (p->kind == KIND_USER)
		kernel_user_names(l->k, p, visit, context);
	else if (p->kind == KIND_FUNCTION)
		kernel_function_names(l->k, p, visit, context);
}

static int all_values(struct lookup *l, const struct script_expr *e, struct script_world_value *v)
{
	const struct kernel_point *p = kernel_point_of(l->point);
	struct all a = { .l = l };
	struct kernel_piece *pieces;
	int err;

	if (!strcmp(e->text, "$name"))
		return kernel_give_constant(l->k, p->name ? p->name : "", v, l->d);
	if (!strcmp(e->text, "$return")) {
		if (p->is_return)
			add_one(&a, "return");
	} else if (!strcmp(e->text, "$vars") || !strcmp(e->text, "$parms")) {
		if (p->kind == KIND_TRACE) /* arguments, as -L shows them, not also the fields */
			kernel_trace_arguments(l->k, p, add_one, &a);
		else
			visit_names(l, add_one, &a);
	} else if (strcmp(e->text, "$locals")) {
		return diag_fail(l->d, -ENOENT, "there is no $%s here", e->text);
	}
	pieces = script_allocate(l->k->arena, (a.n + 1) * sizeof *pieces);
	if (!pieces)
		return -ENOMEM;
	memcpy(pieces, a.pieces, a.n * sizeof *pieces);
	err = kernel_give_form(l->k, FORM_PIECES, a.fetches, a.n_fetches, v, l->d);
	if (err)
		return err;
	((struct kernel_value *)v->data)->pieces = pieces;
	((struct kernel_value *)v->data)->n_pieces = a.n;
	return 0;
}

static int value_of(struct lookup *l, const struct script_expr *e, struct script_world_value *v)
{
	switch (e->kind) {
	case EXPR_CONTEXT:
		return e->text[0] == '$' ? all_values(l, e, v) : own_value(l, e, v);
	case EXPR_VARIABLE:
		return own_value(l, e, v);
	case EXPR_CAST:
		return cast(l, e, v);
	case EXPR_CALL:
		return function(l, e, v);
	default:
		return diag_fail(l->d, -ENOENT, "this cannot be read where the event happens");
	}
}

int kernel_value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct lookup l = { (struct script_kernel *)w, p, d };

	if (p->family != FAMILY_WORLD)
		return e->kind == EXPR_VARIABLE
			       ? -ENOENT
			       : diag_fail(d, -ENOENT, "%s is no event: it has no values", p->text);
	return value_of(&l, e, v);
}

/* ---------------------------------------------------------------- -L */

struct listing {
	struct lookup l;
	void (*report)(void *context, const struct script_world_value *v, const char *name);
	void *context;
};

static void list_one(void *context, const char *name)
{
	struct listing *a = context;
	struct script_expr e = { .kind = EXPR_CONTEXT, .text = name };
	struct script_world_value v;
	char *shown;

	if (own_value(&a->l, &e, &v))
		return;
	shown = kernel_textf(a->l.k, "$%s:%s", name, v.type == SCRIPT_STRING ? "string" : "long");
	if (!shown)
		return;
	v.text = shown;
	a->report(a->context, &v, shown);
}

void kernel_each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context)
{
	static const char *const words[][2] = { { "name", "name:string" },
						{ "argstr", "argstr:string" },
						{ "retstr", "retstr:string" } };
	struct listing a = { { (struct script_kernel *)w, p, NULL }, report, context };
	const struct kernel_point *point = kernel_point_of(p);

	if (p->family != FAMILY_WORLD || !point)
		return;
	visit_names(&a.l, list_one, &a);
	for (int i = 0; point->kind == KIND_CALL && i < (point->is_return ? 3 : 2); i++) {
		const struct script_world_value v = { .type = SCRIPT_STRING, .text = words[i][1] };

		report(context, &v, words[i][0]);
	}
}
