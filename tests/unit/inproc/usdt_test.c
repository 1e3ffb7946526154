/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/inproc/usdt_test.c - marks through real stubs: operands, and registers that survive.
 *
 * The sources are those of libduet; emit_slow() is the test's own: it keeps the payload, and spoils
 * every register that a function may spoil.
 */
#include "inproc/usdt/usdt.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "inproc/emit.h"
#include "test.h"

/* ---------------------------------------------------------------- instead of libduet */

struct process process;
__thread uint64_t thread_context;
ptrdiff_t rseq_offset;
uint32_t rseq_knows_cpu;

static uint64_t enabled = 1;
static char payload[1024];
static uint32_t payload_size;
static const void *payload_ip;
static unsigned n_events, n_lost;

void count_lost(uint32_t session_slot)
{
	n_lost += session_slot == 0;
}

void emit_slow(struct duet_i_site *site, const void *bytes, uint32_t size, const void *ip,
	       const void *frame)
{
	(void)site, (void)frame;
	memcpy(payload, bytes, size);
	payload_size = size;
	payload_ip = ip;
	n_events++;
	__asm__ volatile(
		"pcmpeqb %%xmm0, %%xmm0\n\tpcmpeqb %%xmm7, %%xmm7\n\tpcmpeqb %%xmm15, %%xmm15" ::
			: "xmm0", "xmm7", "xmm15");
}

void duet_i_register(struct duet_i_site *begin, struct duet_i_site *end,
		     const struct duet_i_api **api)
{
	(void)api;
	for (struct duet_i_site *s = begin; s < end; s++)
		s->enabled = &enabled;
}

/* ---------------------------------------------------------------- a function with a mark */

/*
 * marked(state): loads all registers from the words at rdi, runs over the mark, stores them again.
 * It is a leaf: the word below its stack pointer is its own.  The nop of the mark and the two moves
 * after it are the window.
 */
struct state {
	uint64_t general[16]; /* by the processor's numbers; rsp is the function's */
	uint64_t flags, red, vectors[16][2];
};
void marked(struct state *s);
extern const char mark_at[], mark_end[];
__asm__(".text\n"
	"marked:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	push %rdi\n"
	"	mov 136(%rdi), %rax\n"
	"	mov %rax, -8(%rsp)\n"
	"	mov %rax, -128(%rsp)\n"
	"	movups 144(%rdi), %xmm0\n"
	"	movups 256(%rdi), %xmm7\n"
	"	movups 384(%rdi), %xmm15\n"
	"	mov 8(%rdi), %rcx\n	mov 16(%rdi), %rdx\n	mov 24(%rdi), %rbx\n"
	"	mov 40(%rdi), %rbp\n	mov 48(%rdi), %rsi\n"
	"	mov 64(%rdi), %r8\n	mov 72(%rdi), %r9\n	mov 80(%rdi), %r10\n"
	"	mov 88(%rdi), %r11\n	mov 96(%rdi), %r12\n	mov 104(%rdi), %r13\n"
	"	mov 112(%rdi), %r14\n	mov 120(%rdi), %r15\n"
	"	mov 128(%rdi), %al\n"
	"	add $0x7f, %al\n"
	"	mov 129(%rdi), %ah\n"
	"	sahf\n"
	"	mov 0(%rdi), %rax\n"
	"	mov 56(%rdi), %rdi\n"
	"mark_at:\n"
	"	nop\n"
	"	lea 1(%rdi), %rdi\n"
	"	lea 1(%r15), %r15\n"
	"mark_end:\n"
	"	push %rax\n" /* overwrites -8(%rsp), which is checked by the copy at -128 */
	"	lahf\n"
	"	seto %al\n"
	"	push %rdi\n"
	"	mov 16(%rsp), %rdi\n"
	"	mov %rax, 128(%rdi)\n"
	"	pop %rax\n"
	"	mov %rax, 56(%rdi)\n"
	"	pop %rax\n"
	"	mov %rax, 0(%rdi)\n"
	"	mov %rcx, 8(%rdi)\n	mov %rdx, 16(%rdi)\n	mov %rbx, 24(%rdi)\n"
	"	mov %rsp, 32(%rdi)\n"
	"	mov %rbp, 40(%rdi)\n	mov %rsi, 48(%rdi)\n"
	"	mov %r8, 64(%rdi)\n	mov %r9, 72(%rdi)\n	mov %r10, 80(%rdi)\n"
	"	mov %r11, 88(%rdi)\n	mov %r12, 96(%rdi)\n	mov %r13, 104(%rdi)\n"
	"	mov %r14, 112(%rdi)\n	mov %r15, 120(%rdi)\n"
	"	movups %xmm0, 144(%rdi)\n"
	"	movups %xmm7, 256(%rdi)\n"
	"	movups %xmm15, 384(%rdi)\n"
	"	mov -128(%rsp), %rax\n"
	"	mov %rax, 136(%rdi)\n"
	"	pop %rdi\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	"
	"pop %rbx\n"
	"	ret\n");

/* ---------------------------------------------------------------- patching it */

static uint8_t *stub_memory; /* near the function */

static uint8_t *near_memory(void)
{
	uintptr_t from = (uintptr_t)mark_at & ~(uintptr_t)0xfffff;
	uint8_t *p = MAP_FAILED;

	for (uintptr_t at = from - (1 << 24); p == MAP_FAILED && at > from - (1 << 30);
	     at -= 1 << 20)
		p = mmap((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return p;
}

static bool make_writable(const void *at)
{
	return !mprotect((void *)((uintptr_t)at & ~(uintptr_t)4095), 8192,
			 PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void put_jump(void)
{
	uint8_t bytes[5] = { 0xe9 };
	int32_t distance = (int32_t)(stub_memory - ((const uint8_t *)mark_at + 5));

	memcpy(bytes + 1, &distance, sizeof distance);
	memcpy((void *)(uintptr_t)mark_at, bytes, sizeof bytes);
}

static struct usdt usdt;

/* Patches the mark with @n operands, of which the first @lead bytes of displaced code run before. */
static void patch(const char *schema, const struct abi_plan_operand *operands, uint8_t n,
		  uint8_t lead)
{
	static uint8_t original[9];
	struct abi_plan_site site = { .address = (uintptr_t)mark_at,
				      .kind = ABI_SITE_MARK,
				      .window = (uint8_t)(mark_end - mark_at),
				      .code_bytes = (uint16_t)(mark_end - mark_at - 1),
				      .lead = lead,
				      .n_operands = n };
	struct usdt_stub stub = { .site = &site };

	if (!stub_memory) {
		stub_memory = near_memory();
		memcpy(original, mark_at, sizeof original);
		ok(stub_memory != MAP_FAILED && make_writable(mark_at));
	}
	is(site.window, 9);
	stub.code = original + 1;
	ok(usdt_make(&usdt, 1, strlen(schema) + 1));
	stub.mark = usdt_add(&usdt, site.address, operands, n, schema, strlen(schema), 0, 0, 0);
	if (!ok(stub.mark))
		exit(1);
	usdt_register(&usdt);
	ok(usdt_stub_write(stub_memory, (uintptr_t)stub_memory, &stub) > 32);
	put_jump();
}

static struct state random_state(unsigned seed)
{
	struct state s;
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1, *words = (uint64_t *)&s;

	for (size_t i = 0; i < sizeof s / sizeof *words; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		words[i] = x;
	}
	/* ah: sign, zero, adjust, parity, carry, and bit 1; al: overflow. */
	s.flags = (s.flags & 0xd501) | 0x200;
	return s;
}

/* ---------------------------------------------------------------- tests */

static const struct abi_plan_operand no_operands[1];

static void every_register_is_kept(void)
{
	patch("13 shop:order", no_operands, 0, 0);
	for (unsigned seed = 0; seed < 10000; seed++) {
		struct state before = random_state(seed), after = before;

		n_events = 0;
		marked(&after);
		after.general[7]--;
		after.general[15]--;
		after.general[4] = before.general[4];
		if (after.flags << 48 != before.flags << 48)
			is(after.flags & 0xffff, before.flags & 0xffff);
		after.flags = before.flags;
		if (memcmp(&before, &after, sizeof before) != 0) {
			for (unsigned i = 0; i < sizeof before / 8; i++)
				is(((uint64_t *)&after)[i], ((uint64_t *)&before)[i]);
			return;
		}
		if (n_events != 1)
			is(n_events, 1);
	}
	ok(payload_ip == mark_at);
	is(payload_size, 0);
}

static void operands_are_packed_by_their_sizes(void)
{
	static const struct abi_plan_operand operands[] = {
		{ -5, ABI_OPERAND_CONSTANT, 0, ABI_OPERAND_NONE, 0, 4, 1, 0, 0 },
		{ 0, ABI_OPERAND_REGISTER, 3, ABI_OPERAND_NONE, 0, 8, 0, 0, 0 },
		{ 0, ABI_OPERAND_REGISTER, 1, ABI_OPERAND_NONE, 0, 1, 0, 1, 0 }, /* ch */
		{ 0, ABI_OPERAND_REGISTER, 7, ABI_OPERAND_NONE, 0, 2, 1, 0, 0 },
		{ 8, ABI_OPERAND_MEMORY, 6, 2, 2, 4, 0, 0, 0 }, /* 8(%rsi,%rdx,4) */
		{ 0, ABI_OPERAND_VECTOR, 7, ABI_OPERAND_NONE, 0, 8, 0, 0, 0 },
	};
	static const uint32_t memory[] = { 1, 2, 3, 4, 5, 6 };
	struct state s = random_state(7);
	char want[27];
	int32_t constant = -5;

	s.general[6] = (uintptr_t)memory;
	s.general[2] = 3;
	memcpy(want, &constant, 4);
	memcpy(want + 4, &s.general[3], 8);
	want[12] = (char)(s.general[1] >> 8);
	memcpy(want + 13, &s.general[7], 2);
	memcpy(want + 15, &memory[5], 4);
	memcpy(want + 19, &s.vectors[7][0], 8);
	patch("13 shop:order i32 a u64 b u8 c i16 d u32 e f64 f", operands, 6, 0);
	marked(&s);
	is(payload_size, sizeof want);
	ok(!memcmp(payload, want, sizeof want));
	/* After the first of the two instructions rdi is one more. */
	patch("13 shop:order i32 a u64 b u8 c i16 d u32 e f64 f", operands, 6, 4);
	s.general[7]--;
	marked(&s);
	ok(!memcmp(payload + 13, &s.general[7], 2));
}

static void text_is_copied_and_bad_addresses_are_named(void)
{
	static const struct abi_plan_operand operands[] = {
		{ 0, ABI_OPERAND_REGISTER, 3, ABI_OPERAND_NONE, 0, 8, 0, 0, 1 },
		{ 7, ABI_OPERAND_CONSTANT, 0, ABI_OPERAND_NONE, 0, 1, 0, 0, 0 },
	};
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char long_text[1000];
	struct state s = random_state(9);

	mprotect(pages + 4096, 4096, PROT_NONE);
	memset(long_text, 'x', sizeof long_text);
	long_text[sizeof long_text - 1] = 0;
	memcpy(pages + 4092, "tea", 4);
	patch("13 shop:order str a u8 b", operands, 2, 0);
	s.general[3] = (uintptr_t)(pages + 4092);
	marked(&s);
	ok(payload_size == 5 && !memcmp(payload, "tea\0\7", 5));
	s.general[3] = 0;
	marked(&s);
	ok(payload_size == 8 && !memcmp(payload, "(null)\0\7", 8));
	s.general[3] = 5;
	marked(&s);
	ok(payload_size == 9 && !memcmp(payload, "(fault)\0\7", 9));
	s.general[3] = 0x8000000000000000; /* not canonical */
	marked(&s);
	ok(payload_size == 9 && !memcmp(payload, "(fault)\0\7", 9));
	pages[4095] = '!'; /* runs into the missing page: cut there */
	s.general[3] = (uintptr_t)(pages + 4092);
	marked(&s);
	ok(payload_size == 6 && !memcmp(payload, "tea!\0\7", 6));
	s.general[3] = (uintptr_t)long_text;
	marked(&s);
	is(payload_size, 257);
	is(strlen(payload), 255);
	munmap(pages, 8192);
}

static void twelve_texts_fit(void)
{
	struct abi_plan_operand operands[ABI_PLAN_OPERANDS_MAX];
	char schema[256] = "13 shop:order", long_text[400];
	struct state s = random_state(11);
	size_t at = 0;

	memset(long_text, 'y', sizeof long_text);
	long_text[sizeof long_text - 1] = 0;
	for (int i = 0; i < ABI_PLAN_OPERANDS_MAX; i++) {
		operands[i] = (struct abi_plan_operand){
			0, ABI_OPERAND_REGISTER, 3, ABI_OPERAND_NONE, 0, 8, 0, 0, 1
		};
		snprintf(schema + strlen(schema), 16, " str a%d", i);
	}
	s.general[3] = (uintptr_t)long_text;
	patch(schema, operands, ABI_PLAN_OPERANDS_MAX, 0);
	marked(&s);
	for (int i = 0; i < ABI_PLAN_OPERANDS_MAX; i++)
		at += strlen(payload + at) + 1;
	is(at, payload_size);
	ok(payload_size <= 3 * 256 + 9);
}

static void a_disabled_event_records_nothing(void)
{
	struct state s = random_state(3);

	patch("13 shop:order", no_operands, 0, 0);
	n_events = 0;
	enabled = 0;
	marked(&s);
	is(n_events, 0);
	enabled = 1;
	marked(&s);
	is(n_events, 1);
}

static void equal_events_are_one_and_unsound_ones_none(void)
{
	static const struct abi_plan_operand a = {
		1, ABI_OPERAND_CONSTANT, 0, ABI_OPERAND_NONE, 0, 4, 0, 0, 0
	};
	struct usdt u;

	ok(usdt_make(&u, 8, 256));
	ok(usdt_add(&u, 0, &a, 1, "13 a:b i32 x", strlen("13 a:b i32 x"), 0, 0, 0));
	ok(usdt_add(&u, 0, &a, 1, "13 a:b i32 x", strlen("13 a:b i32 x"), 0, 0, 0));
	is(u.n_events, 1);
	ok(usdt_add(&u, 0, &a, 1, "13 a:b u32 y", strlen("13 a:b u32 y"), 0, 0, 0));
	is(u.n_events, 2);
	is_text(u.events[1].name, "a:b");
	is_text(u.events[1].schema, " u32 y");
	is(u.events[1].level, 13);
	static const char *const bad[] = { "13 a:b i64 x", "13 a:b",	     "13 a:b str x",
					   "a:b i32 x",	   "13 ab i32 x",    "13 a:b i32 x i32 y",
					   "13 a:b i32",   "13 a:b u32[] x", "" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!usdt_add(&u, 0, &a, 1, bad[i], strlen(bad[i]), 0, 0, 0));
	is(u.n_marks, 3);
}

static void a_semaphore_counts(void)
{
	uint16_t counters[2] = { 0, 7 };

	usdt_semaphore((uintptr_t)&counters[0], 1);
	usdt_semaphore((uintptr_t)&counters[0], 1);
	usdt_semaphore((uintptr_t)&counters[0], -1);
	is(counters[0], 1);
	is(counters[1], 7);
}

int main(void)
{
	run(every_register_is_kept);
	run(operands_are_packed_by_their_sizes);
	run(text_is_copied_and_bad_addresses_are_named);
	run(twelve_texts_fit);
	run(a_disabled_event_records_nothing);
	run(equal_events_are_one_and_unsound_ones_none);
	run(a_semaphore_counts);
	return test_status();
}
