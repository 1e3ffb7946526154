/* SPDX-License-Identifier: MIT */
/*
 * Real marks, planned by src/patch, patched in this program: their operands arrive, and the functions
 * give the same results.
 *
 *   marks LIBRARY [N]    N calls; short: 100000
 */
#include <dlfcn.h>
#include <fcntl.h>

#include "host.h"
#include "inproc/calls/objects.h"
#include "patch/patch.h"

typedef uint64_t order(int n, const char *text, uint64_t total, short size);
typedef uint64_t guarded(uint64_t n);
typedef unsigned semaphore(void);

static const char *library;
static uint64_t n_calls = 100000;
static struct target target;
static order *call_order;
static guarded *call_guarded;
static semaphore *read_semaphore;
static uint64_t *counter; /* of the library; results depend on it */

static bool is_library(const struct loaded *o, void *arg)
{
	if (!strstr(o->path, "calls_marked"))
		return true;
	*(struct loaded *)arg = *o;
	return false;
}

static void load_library(void)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (!ok(handle))
		exit(1);
	*(void **)&call_order = dlsym(handle, "marked_order");
	*(void **)&call_guarded = dlsym(handle, "marked_guarded");
	*(void **)&read_semaphore = dlsym(handle, "marked_semaphore");
	counter = dlsym(handle, "marked_counter");
	ok(counter && call_order && call_guarded && read_semaphore);
}

static void plan_library(void)
{
	static const struct patch_wanted_mark wanted[] = {
		{ "*:shop:plain", "n text:str total size last" },
		{ "*:shop:guarded", NULL },
	};
	struct patch_request r = { .marks = wanted, .n_marks = 2, .generation = 1 };
	char path[] = "/tmp/duet-marks-XXXXXX", file[64];
	int dir = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
	struct patch_file *f = NULL;
	struct diag d = { "" };

	if (patch_open(&f, library, NULL, &d))
		is_text(d.text, "");
	is(patch_make_plan(f, &r, dir, NULL, &d), 2);
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
		sum = sum * 31 + call_order((int)i, "tea", i * 5, (short)i) + call_guarded(i);
	return sum;
}

static void patched_marks_record_and_change_no_result(void)
{
	uint64_t unpatched = sum_of_calls();

	plan_library();
	if (!ok(target.plan.head))
		exit(1);
	is(target.plan.head->n_sites, 2);
	host_open();
	ok(target_make(&target));
	is(read_semaphore(), 0);
	is(target_patch(&target, PATCH_QUIET), 2);
	is(read_semaphore(), 1);

	mark_enabled = 0;
	n_marks = 0;
	call_order(1, "tea", 2, 3);
	is(n_marks, 0);
	mark_enabled = 1;
	call_order(-9, "tea", 1ull << 40, -3);
	is(n_marks, 1);
	is_text(mark_name, "shop:plain");
	/* The operands' sizes are the compiler's; their order and text are ours. */
	ok(mark_size >= 4 + 4 + 8 + 2 + 1);
	ok(!memcmp(mark_payload, (int32_t[]){ -9 }, 4) && !memcmp(mark_payload + 4, "tea", 4));
	ok(!memcmp(mark_payload + 8, (uint64_t[]){ 1ull << 40 }, 8));
	ok(!memcmp(mark_payload + 16, (int16_t[]){ -3 }, 2));
	is(mark_payload[mark_size - 4], -7);
	call_guarded(14);
	is(n_marks, 2);
	is_text(mark_name, "shop:guarded");
	is(*(uint64_t *)mark_payload, 42);

	n_marks = 0;
	ok(sum_of_calls() == unpatched);
	is(n_marks, 2 * n_calls);
}

static void switched_off_marks_do_not_count_in_semaphores(void)
{
	ok(target_switch(&target, NULL, false));
	is(read_semaphore(), 0);
	ok(target_switch(&target, NULL, true));
	is(read_semaphore(), 1);
	ok(target_restore(&target));
	is(read_semaphore(), 0);
	n_marks = 0;
	call_order(1, "tea", 2, 3);
	call_guarded(1);
	is(n_marks, 0);
	is(target_patch(&target, PATCH_QUIET), 2);
	call_order(1, "tea", 2, 3);
	call_guarded(1);
	is(n_marks, 2);
}

int main(int argc, char **argv)
{
	library = argv[1];
	if (argc > 2)
		n_calls = strtoull(argv[2], NULL, 10);
	load_library();
	run(patched_marks_record_and_change_no_result);
	run(switched_off_marks_do_not_count_in_semaphores);
	return test_status();
}
