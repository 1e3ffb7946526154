/* SPDX-License-Identifier: MIT */
/*
 * Functions are patched and switched while eight threads run them: no result changes.
 *
 *   toggle [N]    switches 700 sites N times; short: 400, long: 26000
 */
#include <pthread.h>

#include "host.h"

enum { SITES = 700, NOP_STRIDE = 11, NOPS_STRIDE = 16, PROLOGUE_STRIDE = 13, SLED_STRIDE = 17 };

/* Each returns the sum of its arguments.  The strides give all alignments. */
extern const char nop_functions[], nops_functions[], prologue_functions[], sled_functions[];
__asm__(".text\n"
	".p2align 6\n"
	"nop_functions:\n"
	".rept 700\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	lea (%rdi,%rsi), %rax\n"
	"	ret\n"
	"	int3\n"
	".endr\n"
	".p2align 6\n"
	"nops_functions:\n"
	".rept 700\n"
	"	nop\n nop\n nop\n nop\n nop\n"
	"	lea (%rdi,%rsi), %rax\n"
	"	ret\n"
	"	.fill 6, 1, 0xcc\n"
	".endr\n"
	".p2align 6\n"
	"prologue_functions:\n"
	".rept 700\n"
	"	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"	add %rsi, %rbx\n"
	"	mov %rbx, %rax\n"
	"	pop %rbx\n"
	"	ret\n"
	"	int3\n"
	".endr\n"
	".p2align 6\n"
	"sled_functions:\n"
	".rept 700\n"
	"	.byte 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00\n"
	"	lea (%rdi,%rsi), %rax\n"
	"	ret\n"
	"	int3\n"
	".endr\n");

typedef uint64_t sum(uint64_t a, uint64_t b);

static struct {
	const char *at;
	uint32_t stride;
	bool stop;
	uint64_t wrong;
	uint32_t n_running; /* threads that have called all functions */
} work;

static void *call_all(void *unused)
{
	uint64_t n = 0, wrong = 0;

	(void)unused;
	while (!load(&work.stop)) {
		for (uint64_t i = 0; i < SITES; i++, n++)
			wrong += ((sum *)(uintptr_t)(work.at + i * work.stride))(i, n) != i + n;
		if (n == SITES)
			fetch_add(&work.n_running, 1);
	}
	fetch_add(&work.wrong, wrong);
	return NULL;
}

enum { THREADS = 8 };
static pthread_t threads[THREADS];

static void start(const char *at, uint32_t stride)
{
	work.at = at;
	work.stride = stride;
	work.stop = false;
	work.wrong = work.n_running = 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_all, NULL))
			exit(3);
	while (load(&work.n_running) < THREADS)
		usleep(100);
}

static void stop(void)
{
	store(&work.stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	is(work.wrong, 0);
}

static uint32_t times = 400;

static struct target make(struct draft *d, const char *at, uint32_t stride, int kind,
			  uint8_t window, uint16_t displaced)
{
	struct target t = host_target();

	memset(d, 0, sizeof *d);
	for (uint32_t i = 0; i < SITES; i++)
		draft_add(d, t.loaded.bias, at + i * stride, kind, window, displaced);
	ok(draft_end(d, &t) && target_make(&t));
	return t;
}

/* Sum of calls that hooks saw in a single pass over all functions. */
static uint64_t calls_seen(const char *at, uint32_t stride)
{
	uint64_t before = n_entered;

	for (uint64_t i = 0; i < SITES; i++)
		is(((sum *)(uintptr_t)(at + i * stride))(i, 5), i + 5);
	is(n_entered, n_left);
	return n_entered - before;
}

static void switch_many(struct target *t, const char *at, uint32_t stride)
{
	is(target_patch(t, PATCH_QUIET), SITES);
	target_set_hooks(t, 0, false);
	is(calls_seen(at, stride), SITES);
	start(at, stride);
	for (uint32_t i = 0; i < times; i++)
		ok(target_switch(t, NULL, i & 1));
	ok(target_switch(t, NULL, false));
	stop();
	is(calls_seen(at, stride), 0);
	ok(target_switch(t, NULL, true));
	is(calls_seen(at, stride), SITES);
	ok(target_switch_one(t, 3, false));
	is(calls_seen(at, stride), SITES - 1);
	ok(target_switch_one(t, 3, true));
	ok(target_restore(t));
	is(calls_seen(at, stride), 0);
}

static void five_nops_are_switched_while_threads_run(void)
{
	static struct draft d;
	struct target t = make(&d, nops_functions, NOPS_STRIDE, ABI_SITE_NOPS, 5, 0);

	switch_many(&t, nops_functions, NOPS_STRIDE);
}

static void displaced_prologues_are_switched_while_threads_run(void)
{
	static struct draft d;
	struct target t = make(&d, prologue_functions, PROLOGUE_STRIDE, ABI_SITE_PROLOGUE, 7, 7);

	switch_many(&t, prologue_functions, PROLOGUE_STRIDE);
}

static uint32_t count_waiting(const struct target *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SITES; i++)
		n += t->states[i] == SITE_WAITS;
	return n;
}

static void nops_are_patched_while_threads_run(void)
{
	static struct draft d;
	struct target t = make(&d, nop_functions, NOP_STRIDE, ABI_SITE_NOP5, 5, 0);
	uint32_t patched;

	start(nop_functions, NOP_STRIDE);
	patched = target_patch(&t, PATCH_LIVE);
	target_set_hooks(&t, 0, false);
	for (uint32_t i = 0; i < times; i++)
		target_switch(&t, NULL, i & 1);
	ok(target_switch(&t, NULL, true));
	stop();
	/* One of eight begins with the last byte of a word. */
	is(patched + count_waiting(&t), SITES);
	is(patched, SITES - SITES / 8);
	is(calls_seen(nop_functions, NOP_STRIDE), patched);
	is(target_object(&t)->n_patched, patched);
	is(target_object(&t)->n_refused, count_waiting(&t));
	is(target_patch(&t, PATCH_QUIET), SITES);
	is(calls_seen(nop_functions, NOP_STRIDE), SITES);
	ok(target_restore(&t));
}

static void sleds_are_patched_while_threads_run(void)
{
	static struct draft d;
	struct target t = make(&d, sled_functions, SLED_STRIDE, ABI_SITE_SLED, 11, 0);

	start(sled_functions, SLED_STRIDE);
	is(target_patch(&t, PATCH_LIVE) + count_waiting(&t), SITES);
	target_set_hooks(&t, 0, false);
	for (uint32_t i = 0; i < times / 8; i++)
		ok(target_switch(&t, NULL, i & 1));
	stop();
	ok(target_switch(&t, NULL, true));
	is(calls_seen(sled_functions, SLED_STRIDE), SITES - count_waiting(&t));
	ok(target_restore(&t));
}

static void prologues_wait_while_threads_run(void)
{
	static struct draft d;
	struct target t = make(&d, prologue_functions, PROLOGUE_STRIDE, ABI_SITE_PROLOGUE, 7, 7);

	is(target_patch(&t, PATCH_LIVE), 0);
	is(count_waiting(&t), SITES);
	is(*target_function_state(&t, 5), ABI_FUNCTION_WAITS);
	is(calls_seen(prologue_functions, PROLOGUE_STRIDE), 0);
}

/* A nop becomes a jump and a nop again, by the protocol for five bytes. */
static void five_bytes_change_while_threads_run(void)
{
	static struct draft d;
	static struct text_change on[SITES], off[SITES];
	struct target t = make(&d, nop_functions, NOP_STRIDE, ABI_SITE_NOP5, 5, 0);
	uint32_t n = 0;

	target_set_hooks(&t, 0, false);
	for (uint32_t i = 0; i < SITES; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)nop_functions + i * NOP_STRIDE;

		if (!text_may_toggle((uintptr_t)at))
			continue;
		on[n] = off[n] = (struct text_change){ .at = at, .n = JUMP_BYTES };
		memcpy(off[n].to, at, JUMP_BYTES);
		ok(text_jump(on[n].to, (uintptr_t)at, (uintptr_t)t.arena + t.heads[i]));
		n++;
	}
	start(nop_functions, NOP_STRIDE);
	for (uint32_t i = 0; i < times; i++)
		is(text_write(i & 1 ? off : on, n, PF_R | PF_X, TEXT_LIVE), 0);
	is(text_write(off, n, PF_R | PF_X, TEXT_LIVE), 0);
	stop();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times = (uint32_t)atoi(argv[1]);
	host_open();
	run(five_nops_are_switched_while_threads_run);
	run(displaced_prologues_are_switched_while_threads_run);
	run(nops_are_patched_while_threads_run);
	run(sleds_are_patched_while_threads_run);
	run(prologues_wait_while_threads_run);
	run(five_bytes_change_while_threads_run);
	return test_status();
}
