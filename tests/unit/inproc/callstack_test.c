/* SPDX-License-Identifier: MIT */
/* A call stack is right where there are frame pointers, and harmless everywhere else. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "callstack_bare.h"
#include "context_host.h"

enum { STACK_BYTES = 4 << 20, DEEP_BYTES = 4 << 20 };

static struct stack {
	uint32_t n;
	uint64_t at[ABI_CALLSTACK_MAX];
} stack;

static void take(const void *ip, const void *frame)
{
	char bytes[ABI_CONTEXT_MAX_BYTES], *end;

	errno = ENOTTY;
	end = context_put(ABI_CONTEXT_BIT(ABI_CONTEXT_CALLSTACK), bytes, ip, frame);
	is(errno, ENOTTY);
	memcpy(&stack.n, bytes, 4);
	is(end - bytes, 4 + 8 * stack.n);
	ok(stack.n >= 1 && stack.n <= ABI_CALLSTACK_MAX);
	memcpy(stack.at, bytes + 4, 8 * stack.n);
	is(stack.at[0], (uintptr_t)ip);
}

/* As emit(): the function that a site calls. */
__attribute__((noinline)) void emit_here(const void *ip)
{
	take(ip, __builtin_frame_address(0));
	__asm__ volatile("" ::: "memory"); /* nothing above is the last act, and leaves no frame */
}

/* As mark(): called from where the event is. */
static __attribute__((noinline)) void mark_here(void)
{
	take(__builtin_return_address(0), __builtin_frame_address(0));
	__asm__ volatile("" ::: "memory");
}

/* As duet_i_put_...(): between a site and emit(). */
static __attribute__((noinline)) void site(void)
{
	emit_here(__builtin_return_address(0));
	__asm__ volatile("" ::: "memory");
}

static uint64_t returns_to[3];

static __attribute__((noinline)) void inner(void)
{
	returns_to[0] = (uintptr_t)__builtin_return_address(0);
	site();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void middle(void)
{
	returns_to[1] = (uintptr_t)__builtin_return_address(0);
	inner();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void outer(void)
{
	returns_to[2] = (uintptr_t)__builtin_return_address(0);
	middle();
	__asm__ volatile("" ::: "memory");
}

static void is_complete(void)
{
	stack.n = 0;
	outer();
	ok(stack.n >= 4);
	for (int i = 0; i < 3; i++)
		is(stack.at[i + 1], returns_to[i]);
}

static void callers_are_reported_innermost_first(void)
{
	is_complete();
}

static __attribute__((noinline)) void marks(void)
{
	returns_to[0] = (uintptr_t)__builtin_return_address(0);
	stack.n = 0;
	mark_here();
	__asm__ volatile("" ::: "memory");
}

static void a_mark_has_no_function_between(void)
{
	marks();
	ok(stack.n >= 2);
	is(stack.at[1], returns_to[0]);
}

/* Calls the site when @until, an address of the stack, is reached. */
static __attribute__((noinline)) int recurse_to(uintptr_t until)
{
	volatile char frame[1000];
	int sum;

	frame[0] = 1;
	if ((uintptr_t)__builtin_frame_address(0) < until) {
		site();
		return 0;
	}
	sum = recurse_to(until) + frame[0];
	__asm__ volatile("" : "+r"(sum)::"memory");
	return sum;
}

static void recurse(size_t bytes)
{
	recurse_to((uintptr_t)__builtin_frame_address(0) - bytes);
}

static void recursion_shows_its_inner_end(void)
{
	int asked;

	recurse(DEEP_BYTES);
	is(stack.n, ABI_CALLSTACK_MAX);
	for (int i = 2; i < ABI_CALLSTACK_MAX; i++)
		is(stack.at[i], stack.at[1]);
	asked = n_asked;
	for (int i = 0; i < 100; i++)
		recurse(DEEP_BYTES);
	is(n_asked, asked);
	is_complete();
}

/* ---------------------------------------------------------------- without frame pointers */

static void code_without_frame_pointers_is_harmless(void)
{
	stack.n = 0;
	bare_recurse(10);
	ok(stack.n >= 1);
	is_complete();
}

#if defined __x86_64__
/* The function that a site calls finds @rbp as its caller's frame. */
static __attribute__((noinline)) void emit_with(uintptr_t rbp)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %%rbp, %%r12\n\t"
			 "subq $256, %%rsp\n\t" /* the red zone */
			 "andq $-16, %%rsp\n\t"
			 "movq %0, %%rbp\n\t"
			 "movl $1, %%edi\n\t"
			 "call emit_here\n\t"
			 "movq %%r12, %%rbp\n\t"
			 "movq %%rbx, %%rsp"
			 :
			 : "a"(rbp)
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3",
			   "xmm4", "xmm5", "xmm6", "xmm7");
}

static void any_frame_pointer_is_harmless(void)
{
	static const uintptr_t odd[] = { 0,
					 1,
					 8,
					 4095,
					 4096,
					 (uintptr_t)-1,
					 (uintptr_t)-8,
					 (uintptr_t)-16,
					 (uintptr_t)1 << 47,
					 (uintptr_t)1 << 63,
					 0x7ffffffff000,
					 0xdeadbeef };
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), random = 88172645463325252u;

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		emit_with(odd[i]);
	/* Every place above, down to single bytes, and a while below. */
	for (uintptr_t p = here - 65536; p < here + 4096; p++)
		emit_with(p);
	for (int i = 0; i < 100000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		emit_with(i % 2 ? random : here + random % (1 << 20));
	}
}

/* The environment and data of the kernel lie above; behind them is nothing. */
static void the_last_bytes_of_the_stack_are_harmless(void)
{
	extern void *__libc_stack_end;
	uintptr_t end = (uintptr_t)__libc_stack_end;

	for (uintptr_t p = end - 4096; p < end + 65536; p++)
		emit_with(p);
}
#endif

/* ---------------------------------------------------------------- threads */

static void *thread(void *arg)
{
	is_complete();
	recurse(arg ? STACK_BYTES / 2 : DEEP_BYTES);
	is(stack.n, ABI_CALLSTACK_MAX);
#if defined __x86_64__
	any_frame_pointer_is_harmless();
	for (uintptr_t p = (uintptr_t)pthread_self() - 8192; p < (uintptr_t)pthread_self() + 8192;
	     p++)
		emit_with(p);
#endif
	return NULL;
}

static void a_thread_has_a_stack_of_its_own(void)
{
	pthread_t t;

	is(pthread_create(&t, NULL, thread, NULL), 0);
	is(pthread_join(t, NULL), 0);
}

/* With a page at each end that must not be touched. */
static char *guarded_memory(size_t size)
{
	char *m = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED || mprotect(m + 4096, size, PROT_READ | PROT_WRITE))
		exit(1);
	return m + 4096;
}

static void a_thread_may_bring_its_stack(void)
{
	char *m = guarded_memory(STACK_BYTES);
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	is(pthread_attr_setstack(&a, m, STACK_BYTES), 0);
	is(pthread_create(&t, &a, thread, m), 0);
	is(pthread_join(t, NULL), 0);
	munmap(m - 4096, STACK_BYTES + 8192);
}

static void *forking_thread(void *arg)
{
	int status;
	pid_t child = fork();

	(void)arg;
	if (!child) {
		test_n_failed = 0;
		is_complete();
		fflush(stdout);
		_exit(test_n_failed != 0);
	}
	is(waitpid(child, &status, 0), child);
	is(status, 0);
	return NULL;
}

static void a_thread_that_forked_keeps_its_stack(void)
{
	pthread_t t;

	fflush(stdout);
	is(pthread_create(&t, NULL, forking_thread, NULL), 0);
	is(pthread_join(t, NULL), 0);
}

static void *sandboxed_thread(void *arg)
{
	(void)arg;
	site();
	is(stack.n, 1);
	return NULL;
}

static void a_new_sandboxed_thread_reports_only_its_ip(void)
{
	pthread_t t;

	is_sandboxed = true;
	is_complete(); /* known before */
	is(pthread_create(&t, NULL, sandboxed_thread, NULL), 0);
	is(pthread_join(t, NULL), 0);
	is_sandboxed = false;
}

/* ---------------------------------------------------------------- other stacks */

static void handle(int signal)
{
	(void)signal;
	site();
}

static void take_signal(int flags)
{
	struct sigaction a = { .sa_handler = handle, .sa_flags = flags }, before;

	is(sigaction(SIGUSR1, &a, &before), 0);
	stack.n = 0;
	is(raise(SIGUSR1), 0);
	is(sigaction(SIGUSR1, &before, NULL), 0);
}

static void a_handler_is_on_the_stack_of_what_it_interrupted(void)
{
	take_signal(0);
	ok(stack.n >= 2);
}

static void on_an_alternate_stack_only_ip_is_reported(void)
{
	char *m = guarded_memory(STACK_BYTES);
	stack_t s = { .ss_sp = m, .ss_size = STACK_BYTES }, before;

	is(sigaltstack(&s, &before), 0);
	take_signal(SA_ONSTACK);
	is(stack.n, 1);
	is(sigaltstack(&before, NULL), 0);
	munmap(m - 4096, STACK_BYTES + 8192);
	is_complete();
}

static ucontext_t here, there;
static int n_events;

static void coroutine(void)
{
	for (int i = 0; i < n_events; i++)
		site();
#if defined __x86_64__
	for (uintptr_t p = (uintptr_t)__builtin_frame_address(0) - 8192, i = 0; i < 1 << 16; i++)
		emit_with(p + i);
#endif
}

static void run_coroutine(char *m, int events)
{
	is(getcontext(&there), 0);
	there.uc_stack.ss_sp = m;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	n_events = events;
	makecontext(&there, coroutine, 0);
	is(swapcontext(&here, &there), 0);
}

/* kB of the main thread's stack. */
static long stack_size(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long size = -1;

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmStk: %ld", &size);
	if (f)
		fclose(f);
	return size;
}

static void *coroutines_first(void *arg)
{
	char *m = guarded_memory(STACK_BYTES);

	run_coroutine(m, 1000);
	for (int i = 0; i < 1 << 18 && stack.n < 2; i++)
		site();
	is_complete();
	munmap(m - 4096, STACK_BYTES + 8192);
	return arg;
}

static void coroutines_do_not_hide_the_stack_for_good(void)
{
	pthread_t t;

	is(pthread_create(&t, NULL, coroutines_first, NULL), 0);
	is(pthread_join(t, NULL), 0);
}

static void looking_for_the_stack_does_not_make_it_grow(void)
{
	long before;
	int status;
	pid_t child = fork();

	if (child) {
		is(waitpid(child, &status, 0), child);
		is(status, 0);
		return;
	}
	test_n_failed = 0;
	before = stack_size();
	run_coroutine(guarded_memory(STACK_BYTES), 1);
	is(stack.n, 1);
	ok(before > 0);
	is(stack_size(), before);
	fflush(stdout);
	_exit(test_n_failed != 0);
}

static void *thread_with_coroutines(void *arg)
{
	char *m = guarded_memory(STACK_BYTES);
	int asked;

	(void)arg;
	is_complete();
	run_coroutine(m, 1000);
	is(stack.n, 1);
	asked = n_asked;
	run_coroutine(m, 1000);
	ok(n_asked - asked <= 2); /* of thousands */
	is_complete();
	munmap(m - 4096, STACK_BYTES + 8192);
	return NULL;
}

static void in_coroutines_only_ip_is_reported(void)
{
	pthread_t t;

	is(pthread_create(&t, NULL, thread_with_coroutines, NULL), 0);
	is(pthread_join(t, NULL), 0);
	thread_with_coroutines(NULL);
}

static void *thread_above_a_coroutine(void *arg)
{
	run_coroutine(arg, 10);
	is(stack.n, 1);
	return NULL;
}

/* [coroutine][a page without access][thread], which mincore(2) takes for one piece. */
static void a_page_without_access_is_not_crossed(void)
{
	char *m = guarded_memory(2 * STACK_BYTES + 4096);
	pthread_attr_t a;
	pthread_t t;

	is(mprotect(m + STACK_BYTES, 4096, PROT_NONE), 0);
	pthread_attr_init(&a);
	is(pthread_attr_setstack(&a, m + STACK_BYTES + 4096, STACK_BYTES), 0);
	is(pthread_create(&t, &a, thread_above_a_coroutine, m), 0);
	is(pthread_join(t, NULL), 0);
	munmap(m - 4096, 2 * STACK_BYTES + 4096 + 8192);
}

static void a_coroutine_may_live_in_an_array_on_the_stack(void)
{
	char m[STACK_BYTES];

	run_coroutine(m, 10);
	ok(stack.n >= 1);
}

int main(void)
{
	run(looking_for_the_stack_does_not_make_it_grow); /* first */
	run(callers_are_reported_innermost_first);
	run(a_mark_has_no_function_between);
	run(code_without_frame_pointers_is_harmless);
#if defined __x86_64__
	run(any_frame_pointer_is_harmless);
	run(the_last_bytes_of_the_stack_are_harmless);
#endif
	run(recursion_shows_its_inner_end);
	run(a_thread_has_a_stack_of_its_own);
	run(a_thread_may_bring_its_stack);
	run(a_thread_that_forked_keeps_its_stack);
	run(a_new_sandboxed_thread_reports_only_its_ip);
	run(a_handler_is_on_the_stack_of_what_it_interrupted);
	run(on_an_alternate_stack_only_ip_is_reported);
	run(a_page_without_access_is_not_crossed);
	run(a_coroutine_may_live_in_an_array_on_the_stack);
	run(in_coroutines_only_ip_is_reported);
	run(coroutines_do_not_hide_the_stack_for_good);
	return test_status();
}
