/* SPDX-License-Identifier: MIT */
/* Contexts hold the kernel's values, as of the moment they were read. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context_host.h"

#define BIT(name) ABI_CONTEXT_BIT(ABI_CONTEXT_##name)

static int32_t value_of(enum abi_context context)
{
	char bytes[ABI_CONTEXT_MAX_BYTES];
	int32_t v;

	is(context_put(ABI_CONTEXT_BIT(context), bytes, NULL, NULL) - bytes, 4);
	memcpy(&v, bytes, sizeof v);
	return v;
}

static const char *procname(void)
{
	static __thread char bytes[ABI_CONTEXT_MAX_BYTES];

	is(context_put(BIT(PROCNAME), bytes, NULL, NULL) - bytes, ABI_PROCNAME_BYTES);
	return bytes;
}

static ino_t inode(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/thread-self/ns/%s", name);
	return stat(path, &st) ? 0 : st.st_ino;
}

static void ids_are_those_of_the_process(void)
{
	is(value_of(ABI_CONTEXT_PPID), getppid());
	is(value_of(ABI_CONTEXT_VUID), getuid());
	is(value_of(ABI_CONTEXT_VEUID), geteuid());
	is(value_of(ABI_CONTEXT_VGID), getgid());
	is(value_of(ABI_CONTEXT_VEGID), getegid());
}

static void namespaces_are_those_of_proc(void)
{
	static const char *const names[] = { "cgroup", "ipc",  "mnt",  "net",
					     "pid",    "time", "user", "uts" };

	for (int i = 0; i < 8; i++) {
		is(inode(names[i]) != 0, 1);
		is((uint32_t)value_of((enum abi_context)(ABI_CONTEXT_CGROUP_NS + i)),
		   inode(names[i]));
	}
}

static void values_lie_in_the_order_of_the_bits(void)
{
	char all[ABI_CONTEXT_MAX_BYTES] = "", one[ABI_CONTEXT_MAX_BYTES], *p = all, *end, *one_end;

	end = context_put(~0ull, all, &all, NULL); /* unknown bits have no effect */
	for (int i = 0; i < ABI_CONTEXTS; i++) {
		one_end = context_put(ABI_CONTEXT_BIT(i), one, &all, NULL);
		/* Counters go on counting. */
		ok(one_end - one <= end - p &&
		   (i >= ABI_CONTEXT_PERF_CYCLES || !memcmp(one, p, (size_t)(one_end - one))));
		p += one_end - one;
	}
	is(p - all, end - all);
	is(end - all, ABI_CONTEXT_MAX_BYTES - 8 * (ABI_CALLSTACK_MAX - 1));
	is(context_put(0, all, NULL, NULL) - all, 0);
}

static void nothing_is_asked_twice_and_errno_stays(void)
{
	char bytes[ABI_CONTEXT_MAX_BYTES];
	uint64_t kept = ABI_CONTEXT_BIT(ABI_CONTEXT_UTS_NS + 1) - 1;
	int before;

	context_forget();
	errno = ENOTTY;
	context_put(kept, bytes, NULL, NULL);
	is(errno, ENOTTY);
	before = n_asked;
	for (int i = 0; i < 1000; i++)
		context_put(kept, bytes, NULL, NULL);
	is(n_asked, before);
}

static void a_name_is_the_threads_and_renewed_on_request(void)
{
	prctl(PR_SET_NAME, "first");
	context_forget();
	is_text(procname(), "first");
	prctl(PR_SET_NAME, "fifteen_letters");
	is_text(procname(), "first");
	context_forget();
	is_text(procname(), "fifteen_letters");
}

static void *thread(void *arg)
{
	static const unsigned char other[16] = { 1 };
	char bytes[ABI_CONTEXT_MAX_BYTES], zeros[16] = "";

	(void)arg;
	prctl(PR_SET_NAME, "a thread");
	is_text(procname(), "a thread");
	context_put(BIT(SLOT), bytes, NULL, NULL);
	ok(!memcmp(bytes, zeros, 16));
	context_set(other);
	/* A namespace may be one thread's alone. */
	if (!unshare(CLONE_NEWUTS)) {
		context_forget();
		is((uint32_t)value_of(ABI_CONTEXT_UTS_NS), inode("uts"));
	} else if (!geteuid()) {
		ok(!"root may unshare");
	}
	return NULL;
}

static void in_a_thread(void *(*f)(void *))
{
	pthread_t t;

	is(pthread_create(&t, NULL, f, NULL), 0);
	is(pthread_join(t, NULL), 0);
}

static void threads_have_names_slots_and_namespaces_of_their_own(void)
{
	static const unsigned char id[16] = { 0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
					      0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36 };
	char bytes[ABI_CONTEXT_MAX_BYTES], name[ABI_PROCNAME_BYTES];
	uint32_t uts = (uint32_t)value_of(ABI_CONTEXT_UTS_NS);

	strcpy(name, procname());
	context_set(id);
	in_a_thread(thread);
	is(context_put(BIT(SLOT), bytes, NULL, NULL) - bytes, 16);
	ok(!memcmp(bytes, id, 16));
	is_text(procname(), name);
	is((uint32_t)value_of(ABI_CONTEXT_UTS_NS), uts);
	context_set(NULL);
	context_put(BIT(SLOT), bytes, NULL, NULL);
	ok(!memcmp(bytes, (char[16]){ 0 }, 16));
}

/* Runs @f in a child; its checks count. */
static void in_a_child(void (*f)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		test_n_failed = 0;
		f();
		fflush(stdout);
		_exit(test_n_failed != 0);
	}
	is(waitpid(child, &status, 0), child);
	is(status, 0);
}

static pid_t parent;

static void child_asks_anew(void)
{
	context_forget(); /* as process_renew() does */
	is(value_of(ABI_CONTEXT_PPID), parent);
}

static void after_fork_the_parent_is_another(void)
{
	is(value_of(ABI_CONTEXT_PPID), getppid());
	parent = getpid();
	in_a_child(child_asks_anew);
}

static void child_becomes_another(void)
{
	is(setresgid(1234, 1235, 0), 0);
	is(setresuid(2234, 2235, 0), 0);
	is(value_of(ABI_CONTEXT_VEUID), 0);
	context_forget();
	is(value_of(ABI_CONTEXT_VUID), 2234);
	is(value_of(ABI_CONTEXT_VEUID), 2235);
	is(value_of(ABI_CONTEXT_VGID), 1234);
	is(value_of(ABI_CONTEXT_VEGID), 1235);
}

static void refresh_sees_setuid(void)
{
	if (geteuid()) {
		printf("# not root: setuid is not tried\n");
		return;
	}
	is(value_of(ABI_CONTEXT_VEUID), 0);
	in_a_child(child_becomes_another);
}

static void *sandboxed_thread(void *arg)
{
	(void)arg;
	is(value_of(ABI_CONTEXT_PPID), getppid());
	is((uint32_t)value_of(ABI_CONTEXT_NET_NS), inode("net"));
	return NULL;
}

static void in_a_sandbox_a_thread_has_the_values_of_another(void)
{
	is_sandboxed = true;
	in_a_thread(sandboxed_thread);
	is_sandboxed = false;
}

static void contexts_a_sandbox_forbids_are_unknown(void)
{
	is_sandboxed = true;
	is(value_of(ABI_CONTEXT_VUID), -1);
	is(value_of(ABI_CONTEXT_NET_NS), 0);
	is_sandboxed = false;
	context_forget();
	is(value_of(ABI_CONTEXT_VUID), getuid());
}

static void prepared_values_are_asked_for_no_more(void)
{
	int before;

	context_forget();
	context_prepare(~0ull);
	before = n_asked;
	value_of(ABI_CONTEXT_VUID);
	value_of(ABI_CONTEXT_UTS_NS);
	is(n_asked, before);
}

static uint64_t nth_mask(int i)
{
	return BIT(PROCNAME) | ABI_CONTEXT_BIT(ABI_CONTEXT_PPID + i);
}

/* Makes the values of mask number @i, which are not there. */
static void make(int i)
{
	char bytes[ABI_CONTEXT_MAX_BYTES];
	const struct ring_prefix *p;

	ok(!context_ready(nth_mask(i)));
	p = context_make_prefix(nth_mask(i));
	ok(p && p == context_ready(nth_mask(i)));
	is(p->size, context_put(nth_mask(i), bytes, NULL, NULL) - bytes);
	ok(!memcmp(p->bytes, bytes, p->size));
}

static bool is_kept(int i)
{
	const struct ring_prefix *p = context_ready(nth_mask(i));
	char bytes[ABI_CONTEXT_MAX_BYTES];
	size_t size = (size_t)(context_put(nth_mask(i), bytes, NULL, NULL) - bytes);

	return p && p->what == nth_mask(i) && p->size == size && !memcmp(p->bytes, bytes, size);
}

static void channels_in_turn_keep_their_values(void)
{
	context_forget();
	for (int i = 0; i < CONTEXTS_KEPT; i++)
		make(i);
	for (int i = 0; i < CONTEXTS_KEPT; i++)
		ok(is_kept(i));
	make(CONTEXTS_KEPT); /* in the place of the oldest */
	ok(!context_ready(nth_mask(0)));
	for (int i = 1; i <= CONTEXTS_KEPT; i++)
		ok(is_kept(i));
	ok(!context_ready(0));
}

static void none_of_them_outlives_a_refresh(void)
{
	prctl(PR_SET_NAME, "before");
	context_forget();
	for (int i = 0; i < CONTEXTS_KEPT; i++)
		make(i);
	prctl(PR_SET_NAME, "after");
	context_forget();
	make(1); /* the generation of this one is not that of the others */
	for (int i = 0; i < CONTEXTS_KEPT; i++)
		is(is_kept(i), i == 1);
	is_text(context_ready(nth_mask(1))->bytes, "after");
}

static void what_has_no_room_takes_no_place(void)
{
	context_forget();
	make(0);
	for (int i = 0; i < 2 * CONTEXTS_KEPT; i++)
		ok(!context_make_prefix(ABI_CONTEXT_BIT(ABI_CONTEXT_UTS_NS + 1) - 1));
	ok(!context_make_prefix(BIT(SLOT)));
	ok(is_kept(0));
}

int main(void)
{
	run(contexts_a_sandbox_forbids_are_unknown); /* first */
	run(ids_are_those_of_the_process);
	run(namespaces_are_those_of_proc);
	run(values_lie_in_the_order_of_the_bits);
	run(nothing_is_asked_twice_and_errno_stays);
	run(a_name_is_the_threads_and_renewed_on_request);
	run(threads_have_names_slots_and_namespaces_of_their_own);
	run(after_fork_the_parent_is_another);
	run(refresh_sees_setuid);
	run(in_a_sandbox_a_thread_has_the_values_of_another);
	run(prepared_values_are_asked_for_no_more);
	run(channels_in_turn_keep_their_values);
	run(none_of_them_outlives_a_refresh);
	run(what_has_no_room_takes_no_place);
	return test_status();
}
