/* SPDX-License-Identifier: MIT */
/*
 * Plans that do not fit, memory that is not there, calls that are forbidden: the program runs on.
 * Libraries that come and go.
 *
 *   objects LIBRARY [N]    opens it N times; short: 300, long: 10000
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"
#include "inproc/calls/near.h"

enum { SITES = 8, STRIDE = 32 };

/* first: mov value(%rip), %rax; add %rdi, %rax.  Others: the sum of their arguments. */
extern const char functions[];
uint64_t value = 1000;
__asm__(".text\n"
	".p2align 6\n"
	"functions:\n"
	"	mov value(%rip), %rax\n"
	"	add %rdi, %rax\n"
	"	ret\n"
	".rept 7\n"
	"	.p2align 5\n"
	"	nop\n nop\n nop\n nop\n nop\n"
	"	lea (%rdi,%rsi), %rax\n"
	"	ret\n"
	".endr\n"
	".p2align 5\n");

typedef uint64_t two(uint64_t a, uint64_t b);

static two *function(int i)
{
	return (two *)(uintptr_t)(functions + i * STRIDE);
}

static void draft_all(struct draft *d, struct target *t)
{
	struct abi_plan_site *s;

	*t = host_target();
	memset(d, 0, sizeof *d);
	s = draft_add(d, t->loaded.bias, functions, ABI_SITE_PROLOGUE, 7, 7);
	s->n_fixups = 1;
	d->fixups[0] = (struct abi_plan_fixup){ .target = (uintptr_t)&value - t->loaded.bias,
						.at = 3,
						.end = 7 };
	d->head.n_fixups = 1;
	for (int i = 1; i < SITES; i++)
		draft_add(d, t->loaded.bias, functions + i * STRIDE, ABI_SITE_NOPS, 5, 0);
}

static bool works(void)
{
	bool good = function(0)(7, 0) == 1007;

	for (int i = 1; i < SITES; i++)
		good &= function(i)((uint64_t)i, 2) == (uint64_t)i + 2;
	return good;
}

static void drop(struct target *t)
{
	if (t->arena)
		munmap(t->arena, t->arena_bytes);
	if (t->unwind.mapping)
		munmap(t->unwind.mapping, t->unwind.size);
	calls.shared->n_objects = 0;
	calls.shared->n_functions = 1;
}

static void displaced_code_finds_its_data(void)
{
	static struct draft d;
	struct target t;

	draft_all(&d, &t);
	ok(draft_end(&d, &t) && target_make(&t));
	is(target_patch(&t, PATCH_QUIET), SITES);
	target_set_hooks(&t, 0, false);
	n_entered = 0;
	ok(works());
	is(n_entered, SITES);
	ok(target_restore(&t));
	drop(&t);
}

static void sites_with_other_bytes_are_refused(void)
{
	static struct draft d;
	struct target t;

	draft_all(&d, &t);
	d.sites[3].expected[4] ^= 1;
	ok(draft_end(&d, &t) && target_make(&t));
	is(target_patch(&t, PATCH_QUIET), SITES - 1);
	is(target_object(&t)->n_refused, 1);
	is(*target_function_state(&t, 3), ABI_FUNCTION_REFUSED);
	is(*target_function_state(&t, 4), ABI_FUNCTION_ON);
	ok(works());
	ok(target_restore(&t));
	drop(&t);
}

/* Tries a plan; if it is taken, what it patched is put back. */
static void try_plan(const void *bytes, size_t size)
{
	struct target t = host_target();

	if (!plan_check(&t.plan, bytes, size))
		return;
	if (target_make(&t)) {
		target_patch(&t, PATCH_QUIET);
		target_restore(&t);
	}
	drop(&t);
}

static void damaged_plans_harm_nothing(void)
{
	static struct draft d, copy;
	struct target t;
	size_t text = offsetof(struct draft, sites) + SITES * sizeof *d.sites;

	draft_all(&d, &t);
	ok(draft_end(&d, &t));
	for (size_t i = 0; i < text; i++)
		for (int bit = 0; bit < 8; bit++) {
			copy = d;
			((uint8_t *)&copy)[i] ^= (uint8_t)(1 << bit);
			if (bit == (int)(i % 8)) /* what is mapped for one stays: few */
				try_plan(&copy, sizeof copy);
			else
				plan_check(&t.plan, &copy, sizeof copy);
		}
	for (size_t n = 0; n < sizeof d; n += n < 2000 ? 1 : 1009) {
		copy = d;
		ok(!plan_check(&t.plan, &copy, n));
		copy.head.size_bytes = (uint32_t)n;
		try_plan(&copy, n);
	}
	ok(works());
}

static void without_memory_near_the_program_is_untouched(void)
{
	static struct draft d;
	struct target t;
	void *p;
	size_t n = 0;

	draft_all(&d, &t);
	ok(draft_end(&d, &t));
	/* All that is free around the program. */
	for (size_t bytes = (size_t)1 << 30; bytes >= 4096; bytes /= 2)
		while ((p = near_reserve(t.loaded.low, t.loaded.high, bytes)))
			n++;
	ok(n);
	ok(!target_make(&t));
	is(target_object(&t)->n_refused, SITES);
	is(*target_function_state(&t, 2), ABI_FUNCTION_REFUSED);
	is(target_patch(&t, PATCH_QUIET), 0);
	ok(works());
}

/* @number fails from now on if its argument @argument has all bits of @bits. */
static void forbid(int number, int argument, uint32_t bits)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)offsetof(struct seccomp_data, args) + 8u * (uint32_t)argument),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(3);
}

static int in_child(int (*f)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(f());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int text_may_not_be_written(void)
{
	static struct draft d;
	struct target t;

	forbid(SYS_mprotect, 2, PROT_WRITE | PROT_EXEC);
	draft_all(&d, &t);
	if (!draft_end(&d, &t) || !target_make(&t) || target_patch(&t, PATCH_QUIET) != SITES)
		return 1;
	target_set_hooks(&t, 0, false);
	n_entered = 0;
	return !works() || n_entered != SITES || !target_switch(&t, NULL, false) || !works() ||
	       n_entered != SITES;
}

static int nothing_may_be_executable(void)
{
	static struct draft d;
	struct target t;

	forbid(SYS_mprotect, 2, PROT_EXEC);
	draft_all(&d, &t);
	if (!draft_end(&d, &t) || target_make(&t) || target_patch(&t, PATCH_QUIET))
		return 1;
	return !works() || target_object(&t)->n_refused != SITES;
}

static int nothing_may_be_written(void)
{
	static struct draft d;
	struct target t;

	forbid(SYS_mprotect, 2, PROT_WRITE | PROT_EXEC);
	forbid(SYS_pwrite64, 2, 0);
	draft_all(&d, &t);
	if (!draft_end(&d, &t) || !target_make(&t) || target_patch(&t, PATCH_QUIET))
		return 1;
	return !works() || target_object(&t)->n_refused != SITES;
}

static int without_membarrier(void)
{
	static struct draft d;
	struct target t;

	forbid(SYS_membarrier, 0, 0);
	draft_all(&d, &t);
	if (!draft_end(&d, &t) || !target_make(&t) || target_patch(&t, PATCH_QUIET) != SITES)
		return 1;
	/* Heads need none; opcodes stay as they are. */
	return target_switch(&t, NULL, false) || !works() || t.states[0] != SITE_BYPASSED ||
	       t.states[1] != SITE_ON;
}

static void forbidden_calls_leave_the_program_untouched(void)
{
	is(in_child(text_may_not_be_written), 0);
	is(in_child(nothing_may_be_executable), 0);
	is(in_child(nothing_may_be_written), 0);
	is(in_child(without_membarrier), 0);
}

/* ---------------------------------------------------------------- a library */

static const char *library_path;
static int times = 300;

struct wanted {
	const void *function;
	struct loaded o;
};

static bool see_library(const struct loaded *o, void *arg)
{
	struct wanted *w = arg;

	if (!loaded_contains(o, (uintptr_t)w->function, 1, PF_X))
		return true;
	w->o = *o;
	return false;
}

static struct loaded library_of(const void *function)
{
	struct wanted w = { .function = function };

	loaded_for_each(see_library, &w);
	return w.o;
}

static void libraries_come_and_go(void)
{
	static struct draft d;
	struct target t = { .is_loaded = false };
	uint64_t changes = loaded_changes();
	uint32_t before = calls.shared->n_objects;

	n_entered = n_left = 0;
	for (int i = 0; i < times; i++) {
		/* Something in its old place from time to time: it is loaded elsewhere. */
		void *hole = i % 3 == 2 ? mmap((void *)t.loaded.low, 4096, PROT_NONE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
					: NULL;
		void *library = dlopen(library_path, RTLD_NOW);
		two *sum = library ? (two *)dlsym(library, "library_sum") : NULL;

		if (!ok(sum))
			return;
		ok(loaded_changes() != changes);
		t.loaded = library_of((const void *)sum);
		t.is_loaded = true;
		if (!i) {
			draft_add(&d, t.loaded.bias, (const void *)sum, ABI_SITE_NOPS, 5, 0);
			draft_add(&d, t.loaded.bias, dlsym(library, "library_times"), ABI_SITE_NOPS,
				  5, 0);
			ok(draft_end(&d, &t) && target_make(&t));
			target_set_hooks(&t, 0, false);
		} else {
			ok(target_reload(&t));
		}
		is(target_patch(&t, PATCH_QUIET), 2);
		is(sum(40, 2), 42);
		changes = loaded_changes();
		dlclose(library);
		target_unloaded(&t);
		is(target_object(&t)->state, ABI_OBJECT_UNLOADED);
		if (hole)
			munmap(hole, 4096);
	}
	is(n_entered, times);
	is(n_left, times);
	is(calls.shared->n_objects, before + 1);
	drop(&t);
}

/* Each child switches its own stubs; the parent's stay as they are. */
static void forked_children_have_stubs_of_their_own(void)
{
	static struct draft d;
	struct target t;
	int status;

	draft_all(&d, &t);
	ok(draft_end(&d, &t) && target_make(&t));
	is(target_patch(&t, PATCH_QUIET), SITES);
	target_set_hooks(&t, 0, false);
	for (int i = 0; i < times; i++) {
		pid_t child = fork();

		if (!child) {
			bool good = target_switch(&t, NULL, false) && works();

			n_entered = 0;
			_exit(!good || !works() || n_entered);
		}
		ok(target_switch(&t, NULL, i & 1));
		ok(waitpid(child, &status, 0) == child && status == 0);
		n_entered = 0;
		ok(works());
		is(n_entered, i & 1 ? SITES : 0);
	}
	ok(target_restore(&t));
	drop(&t);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	library_path = argv[1];
	if (argc > 2)
		times = atoi(argv[2]);
	host_open();
	run(displaced_code_finds_its_data);
	run(sites_with_other_bytes_are_refused);
	run(damaged_plans_harm_nothing);
	run(forbidden_calls_leave_the_program_untouched);
	run(libraries_come_and_go);
	run(forked_children_have_stubs_of_their_own);
	run(without_memory_near_the_program_is_untouched);
	return test_status();
}
