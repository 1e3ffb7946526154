/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hook/recorder.c - stands for the rest of libduet: patching, the calls file, the
 * event of a batch.
 */
#include "recorder.h"

#include <elf.h>

#include "inproc/calls/target.h"
#include "inproc/emit.h"
#include "inproc/process.h"

struct process process;
__thread uint64_t thread_context;
ptrdiff_t rseq_offset;
uint32_t rseq_knows_cpu;
struct calls calls;

uint32_t recorder_n_slow;
struct sent *recorder_sent;
uint32_t *recorder_sent_number;

enum { SENT_BYTES = MOST_BATCH_BYTES + 64 };
static uint8_t *pool;

static uint32_t n_unpatched[1024];

/* ---------------------------------------------------------------- libduet's */

static void emit(struct duet_i_site *site, const void *payload, size_t size, const void *ip)
{
	uint32_t i;

	(void)ip;
	if (!strcmp(site->name, "duet_calls:slow")) {
		fetch_add(&recorder_n_slow, 1);
		return;
	}
	i = fetch_add(recorder_sent_number, 1);
	if (i >= MOST_BATCHES || size > SENT_BYTES || strcmp(site->name, "duet_calls:batch"))
		abort();
	memcpy(pool + (size_t)i * SENT_BYTES, payload, size);
	recorder_sent[i].bytes = pool + (size_t)i * SENT_BYTES;
	recorder_sent[i].n_bytes = (uint32_t)size;
	store_release(&recorder_sent[i].tid, (uint32_t)syscall(SYS_gettid));
}

/* No plan here has marks. */
void count_lost(uint32_t session_slot)
{
	(void)session_slot;
	abort();
}

void emit_slow(struct duet_i_site *site, const void *payload, uint32_t size, const void *ip,
	       const void *frame)
{
	(void)site, (void)payload, (void)size, (void)ip, (void)frame;
	abort();
}

static const struct duet_i_api test_api = { .size = sizeof test_api, .emit = emit };
static const uint64_t enabled = 1;

void duet_i_register(struct duet_i_site *begin, struct duet_i_site *end,
		     const struct duet_i_api **api)
{
	for (; begin < end; begin++)
		begin->enabled = &enabled;
	*api = &test_api;
}

void process_renew(void)
{
}

void calls_poll(void)
{
}

size_t calls_name(uint32_t function, char *name, size_t size)
{
	(void)function;
	(void)size;
	*name = 0;
	return 0;
}

void calls_objects_changed(void)
{
}

bool calls_unpatch(uint32_t function)
{
	n_unpatched[function % 1024]++;
	store(&calls_functions()[function].state, ABI_FUNCTION_ELIDED);
	return true;
}

uint32_t recorder_unpatched(uint32_t function)
{
	return n_unpatched[function % 1024];
}

enum { FILE_BYTES = ABI_CALLS_THREADS_AT + 64 * ABI_CALLS_THREAD_BYTES };

static void *make_file(void *at)
{
	void *p = mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

bool calls_renew(void)
{
	static char copy[ABI_CALLS_THREADS_AT];

	memcpy(copy, calls.shared, sizeof copy);
	if (!make_file(calls.shared))
		return false;
	memcpy(calls.shared, copy, sizeof copy);
	calls.shared->n_threads = 0;
	calls.shared->lost = 0;
	return true;
}

/* ---------------------------------------------------------------- patching */

/* There are no marks here. */
bool marks_make(struct target *t)
{
	return t;
}

void marks_moved(struct target *t)
{
	(void)t;
}

uint32_t marks_stub(struct target *t, uint32_t site, uint8_t *to, uintptr_t at)
{
	return t && site && to ? (uint32_t)at : 0;
}

void marks_register(struct target *t)
{
	(void)t;
}

void marks_settle(struct target *t)
{
	(void)t;
}

extern const uintptr_t __start___patchable_function_entries[],
	__stop___patchable_function_entries[];

enum { MOST_FUNCTIONS = 256 };

static struct {
	struct abi_plan head;
	struct abi_plan_site sites[MOST_FUNCTIONS];
	char text[16];
} plan_bytes;

static struct target target;
static const void *flagged[16];
static uint32_t flags_of[16], n_flagged;

void recorder_flags(const void *function, uint32_t flags)
{
	flagged[n_flagged] = function;
	flags_of[n_flagged++] = flags;
}

static uint32_t flags_at(uintptr_t at)
{
	for (uint32_t i = 0; i < n_flagged; i++)
		if (at - (uintptr_t)flagged[i] < 8)
			return flags_of[i];
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct abi_plan_site *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void make_plan(uint32_t mode)
{
	struct abi_plan *h = &plan_bytes.head;
	const uintptr_t *p = __start___patchable_function_entries;

	for (; p < __stop___patchable_function_entries && h->n_sites < MOST_FUNCTIONS; p++) {
		struct abi_plan_site *s = &plan_bytes.sites[h->n_sites++];

		s->address = *p - target.loaded.bias;
		s->kind = ABI_SITE_NOPS;
		s->window = 5;
		s->flags = flags_at(*p);
		memcpy(s->expected, (const void *)*p, 5);
	}
	qsort(plan_bytes.sites, h->n_sites, sizeof *plan_bytes.sites, by_address);
	h->magic = ABI_PLAN_MAGIC;
	h->version = ABI_PLAN_VERSION;
	h->size_bytes = sizeof plan_bytes;
	h->generation = 1;
	h->mode = mode;
	h->elide_after_calls = 256;
	h->elide_under_ns = 1000;
	h->sites = offsetof(typeof(plan_bytes), sites);
	h->fixups = h->operands = h->code = h->text = offsetof(typeof(plan_bytes), text);
	h->text_bytes = sizeof plan_bytes.text;
	h->build_id_bytes = target.loaded.build_id_bytes;
	memcpy(h->build_id, target.loaded.build_id, sizeof h->build_id);
}

static bool see_program(const struct loaded *o, void *arg)
{
	(void)arg;
	if (!loaded_contains(o, (uintptr_t)see_program, 1, PF_X))
		return true;
	target.loaded = *o;
	target.is_loaded = true;
	return false;
}

/* Nanoseconds in 2^32 ticks, well enough. */
static uint64_t measure_mult(void)
{
	struct timespec t;
	uint64_t ns, ticks;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	ticks = __builtin_ia32_rdtsc();
	usleep(20000);
	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - ns;
	ticks = __builtin_ia32_rdtsc() - ticks;
	return (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

static void die(const char *what)
{
	printf("# %s\n", what);
	exit(3);
}

void recorder_configure(const struct abi_plan *plan)
{
	calls_configure(plan);
	target_set_hooks(&target, plan->mode, false);
}

void recorder_share(void)
{
	calls.shared = make_file(NULL);
	recorder_sent =
		mmap(NULL, MOST_BATCHES * sizeof *recorder_sent + 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pool = mmap(NULL, (size_t)MOST_BATCHES * SENT_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!calls.shared || recorder_sent == MAP_FAILED || pool == MAP_FAILED)
		die("no memory");
	recorder_sent_number = (uint32_t *)(recorder_sent + MOST_BATCHES);
	calls.shared->clock = (struct abi_clock){ .kind = ABI_CLOCK_TSC, .mult = measure_mult() };
	calls.shared->n_functions = 1;
}

void recorder_open(uint32_t mode)
{
	if (!calls.shared)
		recorder_share();
	if (!calls_start())
		die("calls_start failed");
	loaded_for_each(see_program, NULL);
	make_plan(mode);
	calls_configure(&plan_bytes.head);
	if (!plan_check(&target.plan, &plan_bytes, sizeof plan_bytes))
		die("the plan is wrong");
	if (!target_make(&target))
		die("no stubs");
	target_set_hooks(&target, mode, false);
	if (target_patch(&target, PATCH_QUIET) != plan_bytes.head.n_sites)
		die("not all are patched");
	unwind_register(&target.unwind);
}

uint32_t recorder_number(const void *function)
{
	uintptr_t at = (uintptr_t)function - target.loaded.bias;

	for (uint32_t i = 0; i < plan_bytes.head.n_sites; i++)
		if (plan_bytes.sites[i].address - at < 8)
			return target_object(&target)->first + i;
	return 0;
}

void recorder_clear(void)
{
	madvise(pool, (size_t)*recorder_sent_number * SENT_BYTES / 4096 * 4096, MADV_REMOVE);
	memset(recorder_sent, 0, *recorder_sent_number * sizeof *recorder_sent);
	*recorder_sent_number = 0;
}

struct abi_calls_thread *recorder_area(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < calls.shared->n_threads; i++)
		if (calls_area(i)->tid == tid)
			return calls_area(i);
	return NULL;
}

static CALLED void nothing(void)
{
	__asm__ volatile("");
}

uint32_t recorder_flush_number(void)
{
	return recorder_number(nothing);
}

void recorder_flush(void)
{
	nothing();
	recorder_area()->limit = 0;
	nothing();
}
