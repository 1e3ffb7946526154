/* SPDX-License-Identifier: MIT */
/*
 * sites_test LIBRARY - where each function of functions.S is patched, or the reason why not; also in
 * the stripped library.
 */
#include <unistd.h>

#include "patch/patch.h"
#include "test.h"

static const char *library;
static struct patch_file *file;

static const struct patch_function *find(const char *name)
{
	const struct patch_function *f;
	uint32_t n = patch_functions(file, &f);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	printf("# no function %s\n", name);
	return NULL;
}

static void has_site(const char *name, enum abi_site_kind kind, unsigned before, unsigned window)
{
	const struct patch_function *f = find(name);

	if (!f || f->reason || f->kind != kind || f->site != f->address + before ||
	    f->window != window)
		printf("# %s: %s, kind %d, site +%d, window %d\n", name,
		       f ? patch_reason_text(f->reason) : "", f ? f->kind : -1,
		       f ? (int)(f->site - f->address) : -1, f ? f->window : -1);
	ok(f && !f->reason && f->kind == kind && f->site == f->address + before &&
	   f->window == window);
}

static void is_refused(const char *name, enum patch_reason reason)
{
	const struct patch_function *f = find(name);

	if (!ok(f && f->reason == reason))
		printf("# %s: %s, not %s\n", name, f ? patch_reason_text(f->reason) : "-",
		       patch_reason_text(reason));
}

static void has_stack(const char *name, unsigned bytes)
{
	const struct patch_function *f = find(name);

	if (!ok(f && !f->reason) || !is(f->stack_bytes, bytes))
		printf("# %s: %s\n", name, f ? patch_reason_text(f->reason) : "-");
}

static void nops_and_sleds_at_the_entry_are_sites(void)
{
	has_site("five_nops", ABI_SITE_NOPS, 0, 5);
	has_site("one_nop", ABI_SITE_NOP5, 0, 5);
	has_site("nops_behind_endbr", ABI_SITE_NOPS, 4, 5);
	has_site("xray_sled", ABI_SITE_SLED, 0, 11);
}

static void prologues_are_whole_instructions_behind_endbr64(void)
{
	has_site("prologue", ABI_SITE_PROLOGUE, 0, 7);
	has_site("prologue_behind_endbr", ABI_SITE_PROLOGUE, 4, 5);
	has_site("short_branch_first", ABI_SITE_PROLOGUE, 0, 9);
}

static void padding_behind_a_short_function_counts_unless_another_begins_there(void)
{
	has_site("short_with_padding", ABI_SITE_PROLOGUE, 0, 5);
	is_refused("short_before_another", PATCH_SHORT);
}

static void no_branch_may_lead_into_the_window(void)
{
	is_refused("branch_inside", PATCH_TARGET);
	is_refused("branch_from_outside", PATCH_TARGET);
	is_refused("loop_to_first_byte", PATCH_LOOP);
}

static void jump_tables_are_read(void)
{
	is_refused("switch_into_window", PATCH_TARGET);
	is_refused("computed_goto_into_window", PATCH_TARGET);
	has_site("switch_elsewhere", ABI_SITE_PROLOGUE, 0, 5);
}

static void instructions_that_work_only_in_place_are_refused(void)
{
	is_refused("call_first", PATCH_CALL);
	is_refused("jrcxz_first", PATCH_RELATIVE);
}

static void jump_of_two_bytes_to_padding_serves_before_a_call(void)
{
	const struct patch_function *f = find("island_before_call");
	uint64_t island = f ? f->site + 2 + (uint64_t)(int64_t)f->island : 0;

	has_site("island_before_call", ABI_SITE_ISLAND, 0, 4);
	ok(f && (island + 5 <= f->address || island >= f->address + f->size));
	is_refused("data_instead_of_padding", PATCH_CALL);
}

static void stack_arguments_are_measured_in_parts_and_callees_too(void)
{
	has_stack("prologue", 0);
	has_stack("locals_only", 0);
	has_stack("two_stack_arguments", 16);
	has_stack("stack_argument_in_frame", 48);
	has_stack("stack_argument_in_part", 32);
	has_stack("stack_argument_in_callee", 16);
	has_stack("unknown_callee", 64);
}

static void frames_that_cannot_be_copied_are_refused(void)
{
	is_refused("variable_arguments", PATCH_VARIADIC);
	is_refused("realigned", PATCH_REALIGN);
	is_refused("many_arguments", PATCH_ARGUMENTS);
	is_refused("pops_arguments", PATCH_POPS);
	is_refused("switches_stacks", PATCH_STACK);
	has_site("restores_stack", ABI_SITE_PROLOGUE, 0, 7);
}

static void functions_that_look_at_their_caller_are_refused(void)
{
	is_refused("reads_return_address", PATCH_RETURN);
	is_refused("pops_return_address", PATCH_RETURN);
	is_refused("hands_on_return_address", PATCH_RETURN);
	is_refused("looks_up_next", PATCH_RETURN);
}

static void unusual_functions_are_refused(void)
{
	is_refused("result_in_flags", PATCH_FLAGS);
	is_refused("without_unwind_information", PATCH_NO_UNWIND);
	is_refused("resolved", PATCH_RESOLVER);
	is_refused("trampoline", PATCH_SIGNAL);
	is_refused("setjmp", PATCH_TWICE);
	is_refused("restartable", PATCH_RSEQ);
	is_refused("no_instruction", PATCH_UNDECODED);
}

static void parts_of_functions_are_none(void)
{
	const struct patch_function *f;
	uint32_t n = patch_functions(file, &f);

	for (uint32_t i = 0; i < n; i++)
		ok(!strstr(f[i].name, ".cold"));
}

static void longjmp_and_dlclose_are_known(void)
{
	const struct patch_function *l = find("longjmp"), *d = find("dlclose");

	ok(l && !l->reason && l->flags == ABI_SITE_LONGJMP);
	ok(d && !d->reason && d->flags == ABI_SITE_DLOPEN);
}

/* Bounds are those of .eh_frame; dynamic symbols still have names. */
static void stripped_file_has_the_same_sites(void)
{
	const struct patch_function *with, *without;
	struct patch_file *stripped = NULL;
	uint32_t n = patch_functions(file, &with), m, same = 0;
	char path[] = "/tmp/duet-sites-XXXXXX", command[4200];
	struct diag d = { "" };
	int fd = mkstemp(path);

	ok(fd >= 0);
	snprintf(command, sizeof command, "strip -o %s %s", path, library);
	is(system(command), 0);
	if (!is(patch_open(&stripped, path, NULL, &d), 0))
		printf("# %s\n", d.text);
	m = stripped ? patch_functions(stripped, &without) : 0;
	for (uint32_t i = 0, j = 0; i < n && j < m; i++) {
		while (j < m && without[j].address < with[i].address)
			j++;
		same += j < m && without[j].address == with[i].address &&
			without[j].site == with[i].site && without[j].reason == with[i].reason &&
			without[j].stack_bytes == with[i].stack_bytes;
	}
	is(same, n);
	patch_close(stripped);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	struct diag d = { "" };

	library = argc > 1 ? argv[1] : "";
	if (!is(patch_open(&file, library, NULL, &d), 0)) {
		printf("# %s\n", d.text);
		return 1;
	}
	run(nops_and_sleds_at_the_entry_are_sites);
	run(prologues_are_whole_instructions_behind_endbr64);
	run(padding_behind_a_short_function_counts_unless_another_begins_there);
	run(no_branch_may_lead_into_the_window);
	run(jump_tables_are_read);
	run(instructions_that_work_only_in_place_are_refused);
	run(jump_of_two_bytes_to_padding_serves_before_a_call);
	run(stack_arguments_are_measured_in_parts_and_callees_too);
	run(frames_that_cannot_be_copied_are_refused);
	run(functions_that_look_at_their_caller_are_refused);
	run(unusual_functions_are_refused);
	run(parts_of_functions_are_none);
	run(longjmp_and_dlclose_are_known);
	run(stripped_file_has_the_same_sites);
	patch_close(file);
	return test_status();
}
