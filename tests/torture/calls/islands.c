/* SPDX-License-Identifier: MIT */
/*
 * Functions that begin with a call, planned by src/patch, patched in this program by a jump of two
 * bytes and an island.
 *
 *   islands LIBRARY [N]    N calls of each; short: 100000
 */
#include <dlfcn.h>
#include <fcntl.h>

#include "host.h"
#include "inproc/calls/objects.h"
#include "patch/patch.h"

enum { FUNCTIONS = 3 };

typedef uint64_t outer(uint64_t n);

static const char *library;
static uint64_t n_calls = 100000;
static struct target target;
static outer *functions[FUNCTIONS];
static uint64_t *counter;
static uint8_t before[FUNCTIONS][64];

static bool is_library(const struct loaded *o, void *arg)
{
	if (!strstr(o->path, "calls_island"))
		return true;
	*(struct loaded *)arg = *o;
	return false;
}

static void load_library(void)
{
	static const char *const names[] = { "island_a", "island_b", "island_c" };
	void *handle = dlopen(library, RTLD_NOW);

	if (!ok(handle))
		exit(1);
	for (int i = 0; i < FUNCTIONS; i++) {
		*(void **)&functions[i] = dlsym(handle, names[i]);
		ok(functions[i]);
	}
	counter = dlsym(handle, "island_counter");
	ok(counter);
}

static void plan_library(void)
{
	static const char *const patterns[] = { "*:island_?" };
	struct patch_request r = { .patterns = patterns, .n_patterns = 1, .generation = 1 };
	char path[] = "/tmp/duet-islands-XXXXXX", file[64];
	int dir = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
	struct patch_file *f = NULL;
	struct diag d = { "" };

	if (patch_open(&f, library, NULL, &d))
		is_text(d.text, "");
	is(patch_make_plan(f, &r, dir, NULL, &d), FUNCTIONS);
	is_text(d.text, "");
	loaded_for_each(is_library, &target.loaded);
	is(plan_open(&target.plan, dir, target.loaded.build_id, target.loaded.build_id_bytes), 0);
	plan_name(file, target.loaded.build_id, target.loaded.build_id_bytes);
	unlinkat(dir, file, 0);
	close(dir);
	rmdir(path);
	patch_close(f);
	target.is_loaded = true;
}

static uint64_t sum_of_calls(void)
{
	uint64_t sum = 0;

	*counter = 0;
	for (uint64_t i = 0; i < n_calls; i++)
		for (int k = 0; k < FUNCTIONS; k++)
			sum = sum * 31 + functions[k](i);
	return sum;
}

static void functions_that_begin_with_a_call_are_patched_through_islands(void)
{
	uint64_t plain = sum_of_calls();

	plan_library();
	if (!ok(target.plan.head))
		exit(1);
	for (uint32_t i = 0; i < target.plan.head->n_sites; i++)
		is(target.plan.sites[i].kind, ABI_SITE_ISLAND);
	for (int k = 0; k < FUNCTIONS; k++)
		memcpy(before[k], (void *)(uintptr_t)functions[k], sizeof before[k]);
	host_open();
	ok(target_make(&target));
	target_set_hooks(&target, ABI_CALLS_EXACT, false);
	is(target_patch(&target, PATCH_QUIET), FUNCTIONS);
	n_entered = n_left = 0;
	ok(sum_of_calls() == plain);
	is(n_entered, n_calls * FUNCTIONS);
	is(n_left, n_calls * FUNCTIONS);
}

static void they_are_switched_restored_and_patched_again(void)
{
	ok(target_switch(&target, NULL, false));
	n_entered = 0;
	functions[0](1);
	is(n_entered, 0);
	ok(target_switch(&target, NULL, true));
	functions[1](1);
	is(n_entered, 1);
	ok(target_restore(&target));
	for (int k = 0; k < FUNCTIONS; k++)
		ok(!memcmp(before[k], (void *)(uintptr_t)functions[k], sizeof before[k]));
	functions[2](1);
	is(n_entered, 1);
	is(target_patch(&target, PATCH_QUIET), FUNCTIONS);
	functions[2](1);
	is(n_entered, 2);
}

static void functions_given_back_have_their_own_bytes(void)
{
	n_entered = 0;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		ok(target_give_back(&target, i));
	for (int k = 0; k < FUNCTIONS; k++)
		functions[k](1);
	is(n_entered, 0);
	is(target_patch(&target, PATCH_QUIET) > 0, true);
}

int main(int argc, char **argv)
{
	library = argv[1];
	if (argc > 2)
		n_calls = strtoull(argv[2], NULL, 10);
	load_library();
	run(functions_that_begin_with_a_call_are_patched_through_islands);
	run(they_are_switched_restored_and_patched_again);
	run(functions_given_back_have_their_own_bytes);
	return test_status();
}
