/* SPDX-License-Identifier: MIT */
/*
 * Exceptions, coroutines and all registers: calls are recorded, and the program sees nothing of it.
 *
 *   stacks [N]    N throws through 20 calls, 100 N switches; short: 1000
 */
#include <cpuid.h>
#include <ucontext.h>

#include "recorder.h"

static uint64_t times = 1000;

static struct decoded take(void)
{
	struct decoded d = { 0 };

	recorder_flush();
	decode_sent(&d, (uint32_t)syscall(SYS_gettid));
	is(d.lost, 0);
	ok(!d.is_wrong && !d.is_torn);
	recorder_clear();
	return d;
}

/* ---------------------------------------------------------------- exceptions */

int throw_through(int n);
int catch_thrown(int n);

static void calls_left_by_exceptions_end(void)
{
	uint64_t n_unwound = 0, n_caught = 0, n_wrong = 0;
	struct decoded d;

	for (uint64_t i = 0; i < times; i++) {
		n_wrong += catch_thrown(19) != 20;
		if (i % 10000 == 9999 || i == times - 1) {
			d = take();
			n_unwound +=
				decoded_number(&d, recorder_number(throw_through), false, true);
			n_caught += decoded_number(&d, recorder_number(catch_thrown), false, false);
			ok(decoded_is_nested(&d));
			decoded_free(&d);
		}
	}
	is(n_wrong, 0);
	is(n_caught, times);
	is(n_unwound, times * 20);
}

/* ---------------------------------------------------------------- coroutines */

enum { COROUTINES = 3, STACK = 256 << 10 };

static ucontext_t own, coroutines[COROUTINES];
static uint64_t n_steps, n_inner;
static int current;

static CALLED int inner(int x)
{
	n_inner++;
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static CALLED void step(int i)
{
	inner(i);
	swapcontext(&coroutines[i], &own);
	inner(i);
	n_steps++;
}

static void coroutine(int i)
{
	for (;;)
		step(i);
}

static CALLED void resume(int i)
{
	current = i;
	inner(i);
	swapcontext(&own, &coroutines[i]);
	inner(i);
}

static void check_switched(uint64_t n_resumed)
{
	struct decoded d = take();
	uint64_t on_own = 0;

	for (uint64_t i = 0; i < d.n; i++)
		on_own += !d.calls[i].is_open && d.calls[i].function == recorder_number(resume) &&
			  d.calls[i].stack == 0 && d.calls[i].depth == 0;
	is(decoded_number(&d, recorder_number(inner), false, false), n_inner);
	is(decoded_number(&d, recorder_number(step), false, false), n_steps);
	is(on_own, n_resumed);
	is(decoded_number(&d, recorder_number(step), false, true), 0);
	n_inner = n_steps = 0;
	decoded_free(&d);
}

static void calls_of_coroutines_are_recorded(void)
{
	static uint64_t n;

	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = mmap(NULL, STACK + (1 << 20), PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		coroutines[i].uc_stack.ss_size = STACK;
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	for (uint64_t i = 0; i < times * 100 / 2; i++) {
		resume((int)(i * 7 % COROUTINES));
		if (++n == 10000) {
			check_switched(n);
			n = 0;
		}
	}
	check_switched(n);
}

/* ---------------------------------------------------------------- registers */

enum { GENERAL = 14, VECTORS = 32, VECTOR_BYTES = 64 };

/* rax, rbx, rcx, rdx, rsi, rdi, r8 to r15; then vectors; then the opmasks. */
struct registers {
	uint64_t general[GENERAL];
	uint64_t masks[8];
	uint8_t vectors[VECTORS][VECTOR_BYTES] __attribute__((aligned(64)));
};

struct registers test_in __attribute__((aligned(64))), test_seen __attribute__((aligned(64))),
	test_out __attribute__((aligned(64))), test_after __attribute__((aligned(64)));
uint32_t test_vectors; /* 0: xmm, 1: ymm, 2: zmm */
uint64_t test_stack;

void call_with_registers(void);
void registers_callee(void);

/* LOAD and STORE go through no register that they have loaded already. */
#define GENERALS(m, at)                                                                            \
	m("rax", at, "0") m("rbx", at, "8") m("rcx", at, "16") m("rdx", at, "24")                  \
		m("rsi", at, "32") m("rdi", at, "40") m("r8", at, "48") m("r9", at, "56")          \
			m("r10", at, "64") m("r11", at, "72") m("r12", at, "80")                   \
				m("r13", at, "88") m("r14", at, "96") m("r15", at, "104")
#define LOAD(r, at, offset) "	mov " at "+" offset "(%rip), %" r "\n"
#define STORE(r, at, offset) "	mov %" r ", " at "+" offset "(%rip)\n"
#define MASKS(m, at)                                                                               \
	m("k1", at, "8") m("k2", at, "16") m("k3", at, "24") m("k4", at, "32") m("k5", at, "40")   \
		m("k6", at, "48") m("k7", at, "56")
#define LOAD_MASK(r, at, offset) "	kmovq " at "+112+" offset "(%rip), %" r "\n"
#define STORE_MASK(r, at, offset) "	kmovq %" r ", " at "+112+" offset "(%rip)\n"

/* All vector registers of the widest kind. */
#define VECTORS_ALL(at, load)                                                                      \
	"	cmpl $1, test_vectors(%rip)\n"                                                           \
	"	je 1f\n"                                                                                 \
	"	ja 2f\n"                                                                                 \
	".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" load(                                     \
		"movups", "xmm", at) ".endr\n"                                                     \
				     "	jmp 3f\n"                                                   \
				     "1:\n"                                                        \
				     ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" load(        \
					     "vmovups", "ymm",                                     \
					     at) ".endr\n"                                         \
						 "	jmp 3f\n"                                       \
						 "2:\n"                                            \
						 ".irp "                                           \
						 "i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,"  \
						 "18,19,20,21,22,23,24,25,26,27,28,"               \
						 "29,30,31\n" load("vmovups", "zmm", at) ".endr\n"
#define VECTOR_LOAD(move, r, at) "	" move " " at "+192+64*\\i(%rip), %" r "\\i\n"
#define VECTOR_STORE(move, r, at) "	" move " %" r "\\i, " at "+192+64*\\i(%rip)\n"

#define LOAD_ALL(at) VECTORS_ALL(at, VECTOR_LOAD) MASKS(LOAD_MASK, at) "3:\n" GENERALS(LOAD, at)
#define STORE_ALL(at) GENERALS(STORE, at) VECTORS_ALL(at, VECTOR_STORE) MASKS(STORE_MASK, at) "3:\n"

_Static_assert(offsetof(struct registers, masks) == 112 &&
		       offsetof(struct registers, vectors) == 192,
	       "the assembler's offsets");

__asm__(".text\n"
	".globl call_with_registers\n"
	".type call_with_registers, @function\n"
	"call_with_registers:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	sub $8, %rsp\n" LOAD_ALL("test_in") "	call registers_callee\n" STORE_ALL(
		"test_after") "	add $8, %rsp\n"
			      "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	"
			      "pop %rbp\n	pop %rbx\n"
			      "	ret\n"
			      ".globl registers_callee\n"
			      ".type registers_callee, @function\n"
			      ".p2align 4\n"
			      "registers_callee:\n"
			      "991:	nop\n	nop\n	nop\n	nop\n	nop\n" STORE_ALL(
				      "test_seen")
				      LOAD_ALL("test_out") "	ret\n"
							   ".pushsection "
							   "__patchable_function_entries,\"awo\",@"
							   "progbits,.text\n"
							   ".p2align 3\n"
							   ".quad 991b\n"
							   ".popsection\n");

static void fill(struct registers *r, uint8_t salt)
{
	uint8_t *p = (uint8_t *)r;

	for (size_t i = 0; i < sizeof *r; i++)
		p[i] = (uint8_t)(i * 31 + i / 251 + salt);
}

static bool are_equal(const struct registers *a, const struct registers *b)
{
	static const size_t widths[] = { 16, 32, 64 };
	uint32_t n = test_vectors == 2 ? 32 : 16;

	if (memcmp(a->general, b->general, sizeof a->general))
		return false;
	if (test_vectors == 2 && memcmp(a->masks + 1, b->masks + 1, 56))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(a->vectors[i], b->vectors[i], widths[test_vectors]))
			return false;
	return true;
}

static void find_vectors(void)
{
	uint32_t a, b, c, d, low = 0;

	if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE))
		__asm__("xgetbv" : "=a"(low) : "c"(0) : "edx");
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512BW) && (low & 0xe6) == 0xe6)
		test_vectors = 2;
	else if ((low & 6) == 6)
		test_vectors = 1;
}

static void call_once(uint8_t salt)
{
	fill(&test_in, salt);
	fill(&test_out, (uint8_t)(salt + 101));
	memset(&test_seen, 0, sizeof test_seen);
	memset(&test_after, 0, sizeof test_after);
	call_with_registers();
	ok(are_equal(&test_in, &test_seen));
	ok(are_equal(&test_out, &test_after));
}

static void all_registers_survive(void)
{
	struct decoded d;

	find_vectors();
	for (int i = 0; i < 200; i++) {
		call_once((uint8_t)i);
		recorder_area()->limit = 0; /* the slow path, at its end */
		call_once((uint8_t)i);
	}
	d = take();
	is(decoded_number(&d, recorder_number(registers_callee), false, false), 400);
	decoded_free(&d);
}

/* The first call of a thread begins in the slow path. */
static void *call_in_thread(void *arg)
{
	(void)arg;
	call_once(17);
	return NULL;
}

static void all_registers_survive_the_first_call(void)
{
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, call_in_thread, NULL);
		pthread_join(t, NULL);
	}
	recorder_clear();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times = (uint64_t)atol(argv[1]);
	recorder_open(ABI_CALLS_EXACT);
	run(calls_left_by_exceptions_end);
	run(calls_of_coroutines_are_recorded);
	run(all_registers_survive);
	run(all_registers_survive_the_first_call);
	return test_status();
}
