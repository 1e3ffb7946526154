/* SPDX-License-Identifier: MIT */
/*
 * marks_test LIBRARY - windows of the marks of marks.S, their place in a plan, and operands.
 */
#include "make_plan.h"
#include "patch/internal.h"

static struct patch_file *file;

static const struct patch_mark *find(const char *name)
{
	const struct patch_mark *m;
	uint32_t n = patch_marks(file, &m);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(m[i].name, name))
			return &m[i];
	printf("# no mark %s\n", name);
	return NULL;
}

static void is_refused(const char *name, enum patch_reason reason)
{
	const struct patch_mark *m = find(name);

	if (!ok(m && m->reason == reason && !m->kind == !!reason))
		printf("# %s: %s\n", name, m ? patch_reason_text(m->reason) : "-");
}

static void window_begins_at_the_nop(void)
{
	const struct patch_mark *m = find("forward");

	if (!ok(m && !m->reason))
		return;
	is(m->site, m->address);
	is(m->window, 6);
	is(m->lead, 0);
	ok(m->semaphore);
	is(m->n_operands, 4);
}

/* The loop's head is right behind the nop. */
static void window_begins_before_the_nop_if_a_branch_leads_behind_it(void)
{
	const struct patch_mark *m = find("backward");

	if (!ok(m && !m->reason))
		return;
	is(m->address - m->site, 7);
	is(m->window, 8);
	is(m->lead, 7);
}

static void marks_without_a_safe_window_are_refused(void)
{
	is_refused("no_room", PATCH_WINDOW);
	is_refused("call_behind", PATCH_CALL);
	is_refused("unknown_operand", PATCH_OPERAND);
}

static void mark_does_not_lie_in_the_window_of_another(void)
{
	const struct patch_mark *m = find("second");

	is_refused("first", PATCH_WINDOW);
	ok(m && !m->reason && m->site == m->address);
}

static void function_with_a_mark_in_its_first_bytes_is_refused(void)
{
	const struct patch_function *f;
	uint32_t n = patch_functions(file, &f), found = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, "at_entry"))
			found += f[i].reason == PATCH_MARKED;
	is(found, 1);
}

static void plan_has_fields_as_the_uprobe_way_names_them(void)
{
	const struct patch_wanted_mark wanted[] = {
		{ "libpatched*:sh?p:forward", "id, text:str" },
		{ "*:shop:relative", NULL },
		{ "*:other:*", NULL },
	};
	struct patch_request r = { .marks = wanted, .n_marks = 3 };
	struct patch_count counts[3] = { 0 };
	struct diag d = { "" };
	const struct abi_plan_site *s;
	const struct abi_plan_operand *o;
	struct abi_plan *p;

	is(patch_make_plan(file, &r, plan_dir, counts, &d), 2);
	p = plan_take(file);
	if (!ok(p))
		return;
	plan_check(p);
	is(counts[0].patched, 1);
	is(counts[2].matched, 0);
	s = plan_find(p, "forward");
	if (!ok(s && s->kind == ABI_SITE_MARK))
		return;
	is_text(plan_text(p, s->schema), "13 shop:forward i32 id str text f64 arg3 u32 arg4");
	ok(s->address > s->function_begin && s->semaphore);
	is(s->code_bytes, 5); /* without the nop */
	o = &plan_operands(p)[s->operand];
	ok(o[0].place == ABI_OPERAND_REGISTER && o[0].reg == 7 && o[0].is_signed);
	ok(o[1].is_text && o[1].value == -5);
	ok(o[2].place == ABI_OPERAND_VECTOR && o[2].reg == 2);
	ok(o[3].place == ABI_OPERAND_MEMORY && o[3].reg == ABI_OPERAND_RIP && o[3].value > 4);
	s = plan_find(p, "relative");
	ok(s && s->n_fixups == 1 && plan_fixups(p)[s->fixup].at == 2 &&
	   plan_operands(p)[s->operand].is_high);
	free(p);
}

/* ---------------------------------------------------------------- operands */

static struct abi_plan_operand parse(const char *text)
{
	struct abi_plan_operand o;
	bool is_float;

	if (!patch_operand(file, text, strlen(text), &o, &is_float))
		return (struct abi_plan_operand){ .place = 0 };
	return o;
}

static void operand_is(const char *text, int place, int reg, int index, int scale, int64_t value)
{
	struct abi_plan_operand o = parse(text);

	if (!ok(o.place == place && o.reg == reg && o.index == index && o.scale == scale &&
		o.value == value))
		printf("# %s: place %d reg %d index %d scale %d value %lld\n", text, o.place, o.reg,
		       o.index, o.scale, (long long)o.value);
}

static void operands_of_all_forms_are_understood(void)
{
	const int none = ABI_OPERAND_NONE;

	operand_is("4@$5", ABI_OPERAND_CONSTANT, none, none, 0, 5);
	operand_is("-8@$-5", ABI_OPERAND_CONSTANT, none, none, 0, -5);
	operand_is("8@$0xffffffffffffffff", ABI_OPERAND_CONSTANT, none, none, 0, -1);
	operand_is("8@%rcx", ABI_OPERAND_REGISTER, 1, none, 0, 0);
	operand_is("-4@%r10d", ABI_OPERAND_REGISTER, 10, none, 0, 0);
	operand_is("2@%r9w", ABI_OPERAND_REGISTER, 9, none, 0, 0);
	operand_is("1@%sil", ABI_OPERAND_REGISTER, 6, none, 0, 0);
	operand_is("1@%bh", ABI_OPERAND_REGISTER, 3, none, 0, 0);
	operand_is("2@%sp", ABI_OPERAND_REGISTER, 4, none, 0, 0);
	operand_is("8@-16(%rbp)", ABI_OPERAND_MEMORY, 5, none, 0, -16);
	operand_is("8@(%r12)", ABI_OPERAND_MEMORY, 12, none, 0, 0);
	operand_is("4@8(%rax,%rbx,4)", ABI_OPERAND_MEMORY, 0, 3, 2, 8);
	operand_is("4@(%rax,%r15)", ABI_OPERAND_MEMORY, 0, 15, 0, 0);
	operand_is("4f@%xmm15", ABI_OPERAND_VECTOR, 15, none, 0, 0);
	operand_is("8f@24(%rsp)", ABI_OPERAND_MEMORY, 4, none, 0, 24);
	ok(parse("-2@%ax").is_signed && parse("-2@%ax").bytes == 2 && parse("1@%bh").is_high);
}

static void other_operands_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"4",
		"4@",
		"@%eax",
		"3@%eax",
		"16@%rax",
		"4@%fs:8",
		"4@%eaxx",
		"4@%r16d",
		"4@%r8q",
		"4@$",
		"4@$5x",
		"4@(",
		"4@()x",
		"4@8(%eax)",
		"4@8(%rax",
		"4@8(%rax)y",
		"8@%xmm16",
		"4@(%rax,%rsp)",
		"4@(%rax,%rbx,3)",
		"8@no(%rip)",
		"8@8(%rip)",
		"2f@%xmm1",
		"4f@$1",
		"4@(%ah)",
		"8@value(%rax)",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!is(parse(bad[i]).place, 0))
			printf("# %s\n", bad[i]);
}

int main(int argc, char **argv)
{
	struct diag d = { "" };

	if (!is(patch_open(&file, argc > 1 ? argv[1] : "", NULL, &d), 0)) {
		printf("# %s\n", d.text);
		return 1;
	}
	plan_dir_make();
	run(window_begins_at_the_nop);
	run(window_begins_before_the_nop_if_a_branch_leads_behind_it);
	run(marks_without_a_safe_window_are_refused);
	run(mark_does_not_lie_in_the_window_of_another);
	run(function_with_a_mark_in_its_first_bytes_is_refused);
	run(plan_has_fields_as_the_uprobe_way_names_them);
	run(operands_of_all_forms_are_understood);
	run(other_operands_are_refused);
	plan_dir_remove();
	patch_close(file);
	return test_status();
}
