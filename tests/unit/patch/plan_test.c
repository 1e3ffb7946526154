/* SPDX-License-Identifier: MIT */
/*
 * plan_test LIBRARY - plans of functions.S: selection, counts, flags, displaced code with fixups.
 */
#include "make_plan.h"

static struct patch_file *file;

static struct abi_plan *make(const struct patch_request *r, struct patch_count *counts, int want)
{
	struct diag d = { "" };
	int n = patch_make_plan(file, r, plan_dir, counts, &d);
	struct abi_plan *p;

	if (!is(n, want))
		printf("# %s\n", d.text);
	p = plan_take(file);
	if (p)
		plan_check(p);
	return p;
}

static void last_pattern_that_matches_decides(void)
{
	const char *const patterns[] = { "libpatched*:*nops*", "!libpatched*:nops_*", "other:one*",
					 "libpatched.so.1:nops_behind_endbr" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 3 };
	struct patch_count counts[4] = { 0 };
	struct abi_plan *p = make(&r, counts, 3);

	ok(plan_find(p, "five_nops"));
	ok(!plan_find(p, "nops_behind_endbr"));
	ok(!plan_find(p, "one_nop"));
	is(counts[0].matched, 2);
	is(counts[0].patched, 1);
	is(counts[1].matched, 1);
	is(counts[2].matched, 0);
	free(p);
	r.n_patterns = 4;
	p = make(&r, NULL, 4);
	ok(plan_find(p, "nops_behind_endbr"));
	free(p);
}

static void refused_functions_are_counted_by_reason(void)
{
	const char *const patterns[] = { "*:branch_*", "*:setjmp" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 2 };
	struct patch_count counts[2] = { 0 };

	free(make(&r, counts, 2));
	is(counts[0].matched, 2);
	is(counts[0].patched, 0);
	is(counts[0].refused[PATCH_TARGET], 2);
	is(counts[1].refused[PATCH_TWICE], 1);
}

static void longjmp_and_dlclose_are_in_every_plan(void)
{
	const char *const patterns[] = { "*:one_nop", "*:longjmp" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 2 };
	struct abi_plan *p = make(&r, NULL, 3);
	const struct abi_plan_site *l = plan_find(p, "longjmp"), *d = plan_find(p, "dlclose");

	ok(l && l->flags == ABI_SITE_LONGJMP);
	ok(d && d->flags == (ABI_SITE_DLOPEN | ABI_SITE_HIDDEN));
	free(p);
}

static void within_switches_recording_on_and_is_hidden_unless_selected(void)
{
	const char *const patterns[] = { "*:one_nop" }, *const within[] = { "*:*_nop*" };
	struct patch_request r = {
		.patterns = patterns, .n_patterns = 1, .within = within, .n_within = 1
	};
	struct patch_count counts[2] = { 0 };
	struct abi_plan *p = make(&r, counts, 4);
	const struct abi_plan_site *one = plan_find(p, "one_nop"),
				   *five = plan_find(p, "five_nops");

	ok(p && p->flags == ABI_PLAN_WITHIN);
	ok(one && one->flags == (ABI_SITE_SWITCH | ABI_SITE_ALWAYS));
	ok(five && five->flags == (ABI_SITE_SWITCH | ABI_SITE_ALWAYS | ABI_SITE_HIDDEN));
	is(counts[1].patched, 2);
	free(p);
}

static void options_and_names_are_in_the_plan(void)
{
	const char *const patterns[] = { "*:two_stack_arguments" };
	struct patch_request r = { .patterns = patterns,
				   .n_patterns = 1,
				   .mode = ABI_CALLS_OVER,
				   .threshold_ns = 12345,
				   .depth = 7,
				   .generation = 99 };
	struct abi_plan *p = make(&r, NULL, 3);
	const struct abi_plan_site *s = plan_find(p, "two_stack_arguments");

	ok(p && p->mode == ABI_CALLS_OVER && p->threshold_ns == 12345 && p->depth == 7 &&
	   p->generation == 99 && p->elide_after_calls == 256);
	ok(p && !strcmp(plan_text(p, p->path), patch_path(file)));
	ok(s && s->stack_bytes == 16 && s->kind == ABI_SITE_PROLOGUE && s->window == 5 &&
	   !memcmp(s->expected, "\xb8\x01\0\0\0", 5));
	free(p);
}

static void relative_operands_and_branches_get_fixups(void)
{
	const char *const patterns[] = { "*:relative_operand*", "*:short_branch_first",
					 "*:jump_first" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 3 };
	struct abi_plan *p = make(&r, NULL, 6);
	const struct abi_plan_site *s = plan_find(p, "relative_operand"),
				   *branch = plan_find(p, "short_branch_first"),
				   *jump = plan_find(p, "jump_first"),
				   *constant = plan_find(p, "relative_operand_and_constant");
	const struct abi_plan_fixup *f;

	if (!ok(s && branch && jump && constant))
		return;
	/* mov disp32(%rip), %rax */
	is(s->n_fixups, 1);
	f = &plan_fixups(p)[s->fixup];
	is(f->at, 3);
	is(f->end, 7);
	/* cmpl $100, disp32(%rip): a byte of constant behind the field */
	f = &plan_fixups(p)[constant->fixup];
	is(f->at, 2);
	is(f->end, 7);
	is(f->target, plan_fixups(p)[s->fixup].target);
	/* test; je short; mov: the branch became near, and leads behind the window */
	is(branch->code_bytes, 2 + 6 + 5);
	ok(!memcmp(plan_code(p, branch), "\x85\xff\x0f\x84", 4));
	f = &plan_fixups(p)[branch->fixup];
	is(f->at, 4);
	is(f->end, 8);
	is(f->target, branch->address + 9);
	is(plan_code(p, jump)[0], 0xe9);
	is(plan_fixups(p)[jump->fixup].end, 5);
	free(p);
}

static void file_of_which_nothing_is_wanted_gets_an_empty_plan_only_over_an_old_one(void)
{
	const char *const patterns[] = { "other:*" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 1 };
	struct patch_file *whole = file, *plain = NULL;
	struct diag d = { "" };
	char old[128];
	int fd;

	/* this test's own program has no function with flags */
	if (!is(patch_open(&plain, "/proc/self/exe", NULL, &d), 0))
		return;
	file = plain;
	ok(!make(&r, NULL, 0));
	snprintf(old, sizeof old, "%s", patch_build_id(plain));
	fd = openat(plan_dir, old, O_CREAT | O_WRONLY, 0600);
	ok(fd >= 0);
	close(fd);
	{
		struct abi_plan *p = make(&r, NULL, 0);

		ok(p && p->n_sites == 0);
		free(p);
	}
	patch_close(plain);
	file = whole;
}

int main(int argc, char **argv)
{
	struct diag d = { "" };

	if (!is(patch_open(&file, argc > 1 ? argv[1] : "", NULL, &d), 0)) {
		printf("# %s\n", d.text);
		return 1;
	}
	plan_dir_make();
	run(last_pattern_that_matches_decides);
	run(refused_functions_are_counted_by_reason);
	run(longjmp_and_dlclose_are_in_every_plan);
	run(within_switches_recording_on_and_is_hidden_unless_selected);
	run(options_and_names_are_in_the_plan);
	run(relative_operands_and_branches_get_fixups);
	run(file_of_which_nothing_is_wanted_gets_an_empty_plan_only_over_an_old_one);
	plan_dir_remove();
	patch_close(file);
	return test_status();
}
