/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/calls/host.h - patching without recording: hooks that count, and plans by hand.
 */
#ifndef TESTS_CALLS_HOST_H
#define TESTS_CALLS_HOST_H

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/calls/file.h"
#include "inproc/calls/target.h"
#include "inproc/emit.h"
#include "test.h"

struct process process;
__thread uint64_t thread_context;
ptrdiff_t rseq_offset;
uint32_t rseq_knows_cpu;
struct calls calls;
uint64_t n_entered, n_left, n_unwound;

void test_enter(void);
void test_leave(void);
__asm__(".text\n"
	"test_enter:\n"
	"	movq $1, 24(%rsp)\n"
	"	lock incq n_entered(%rip)\n"
	"	ret\n"
	"test_leave:\n"
	"	lock incq n_left(%rip)\n"
	"	ret\n");

enum calls_kind calls_kind_of(uint32_t flags)
{
	(void)flags;
	return CALLS_CALL;
}

struct calls_hooks calls_hooks_for(enum calls_kind kind, uint32_t mode)
{
	(void)kind;
	(void)mode;
	return (struct calls_hooks){ test_enter, test_leave };
}

void calls_unwound(struct calls_frame *frame)
{
	if (frame->ticks == 1 && frame->function)
		fetch_add(&n_unwound, 1);
}

/* Events of marks: the test's own. */
uint64_t mark_enabled;
char mark_payload[1024];
uint32_t mark_size;
const char *mark_name;
uint64_t n_marks, n_mark_lost;

void count_lost(uint32_t session_slot)
{
	n_mark_lost += session_slot == 0;
}

void emit_slow(struct duet_i_site *site, const void *payload, uint32_t size, const void *ip,
	       const void *frame)
{
	(void)ip, (void)frame;
	mark_name = site->name;
	memcpy(mark_payload, payload, size);
	mark_size = size;
	fetch_add(&n_marks, 1);
}

void duet_i_register(struct duet_i_site *begin, struct duet_i_site *end,
		     const struct duet_i_api **api)
{
	(void)api;
	for (struct duet_i_site *s = begin; s < end; s++)
		s->enabled = &mark_enabled;
}

/* A calls file without a name. */
static void host_open(void)
{
	int fd = memfd_create("calls", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, ABI_CALLS_THREADS_AT))
		exit(3);
	calls.shared = mmap(NULL, ABI_CALLS_THREADS_AT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (calls.shared == MAP_FAILED)
		exit(3);
	calls.shared->clock = (struct abi_clock){ .kind = ABI_CLOCK_TSC, .mult = 1u << 31 };
	calls.shared->n_functions = 1;
}

/* A plan in memory that grows. */
struct draft {
	struct abi_plan head;
	struct abi_plan_site sites[1024];
	struct abi_plan_fixup fixups[64];
	uint8_t code[8192];
	char text[16];
};

/* Adds the site at @at of the program; @displaced bytes of it run in the stub. */
__attribute__((unused)) static struct abi_plan_site *draft_add(struct draft *d, uintptr_t bias,
							       const void *at, int kind,
							       uint8_t window, uint16_t displaced)
{
	struct abi_plan_site *s = &d->sites[d->head.n_sites++];

	*s = (struct abi_plan_site){ .address = (uintptr_t)at - bias,
				     .kind = (uint8_t)kind,
				     .window = window,
				     .code = d->head.code_bytes,
				     .code_bytes = displaced };
	memcpy(s->expected, at, window);
	memcpy(d->code + d->head.code_bytes, at, displaced);
	d->head.code_bytes += displaced;
	return s;
}

static int by_address(const void *a, const void *b)
{
	const struct abi_plan_site *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Finishes it; the plan of @t points into @d. */
__attribute__((unused)) static bool draft_end(struct draft *d, struct target *t)
{
	struct abi_plan *h = &d->head;

	qsort(d->sites, h->n_sites, sizeof *d->sites, by_address);
	h->magic = ABI_PLAN_MAGIC;
	h->version = ABI_PLAN_VERSION;
	h->size_bytes = sizeof *d;
	h->generation = 1;
	h->mode = ABI_CALLS_EXACT;
	h->sites = offsetof(struct draft, sites);
	h->fixups = offsetof(struct draft, fixups);
	h->code = offsetof(struct draft, code);
	h->text = offsetof(struct draft, text);
	h->text_bytes = sizeof d->text;
	h->build_id_bytes = t->loaded.build_id_bytes;
	memcpy(h->build_id, t->loaded.build_id, sizeof h->build_id);
	return plan_check(&t->plan, d, sizeof *d);
}

static bool see_program(const struct loaded *o, void *arg)
{
	struct target *t = arg;

	if (!loaded_contains(o, (uintptr_t)test_enter, 1, PF_X))
		return true;
	t->loaded = *o;
	t->is_loaded = true;
	return false;
}

/* A target of the program itself, without a plan. */
__attribute__((unused)) static struct target host_target(void)
{
	struct target t = { .is_loaded = false };

	loaded_for_each(see_program, &t);
	if (!t.is_loaded)
		exit(3);
	return t;
}

#endif
