/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/sites.c - patch the sites of an object, and switch them.
 *
 * A site is patched once, by a jump of five bytes.  Later changes are one byte each, so threads may
 * run there: its opcode if nothing is displaced, else the head of the stub.  The latter costs three
 * jumps a call.  So a function that is given up for good gets its own bytes back where one store can
 * do it; it is patched again only while all threads are stopped.
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/calls/stub.h"
#include "inproc/calls/target.h"

/* A jump of two bytes, to an island: abi/plan.h. */
enum { HOP_BYTES = 2, OPCODE_HOP = 0xeb };

static uint8_t *site_bytes(const struct target *t, uint32_t i)
{
	return (uint8_t *)(t->loaded.bias + t->plan.sites[i].address);
}

static uint32_t segment_of(const struct target *t, uint32_t i)
{
	uint32_t n = 0;

	while (n < t->loaded.n_segments &&
	       ((uintptr_t)site_bytes(t, i) < t->loaded.segments[n].begin ||
		(uintptr_t)site_bytes(t, i) >= t->loaded.segments[n].end))
		n++;
	return n;
}

static uint32_t segment_of_island(const struct target *t, uint32_t i)
{
	uintptr_t at = target_island(t, &t->plan.sites[i]);
	uint32_t n = 0;

	while (n < t->loaded.n_segments &&
	       (at < t->loaded.segments[n].begin || at >= t->loaded.segments[n].end))
		n++;
	return n;
}

/* Changes in one segment, and the sites and states that they give. */
struct batch {
	struct target *t;
	enum text_how how;
	uint32_t segment, n, most;
	struct text_change *changes;
	uint32_t *sites;
	uint8_t state; /* of the sites, once the changes are made */
	bool failed;
};

static bool batch_open(struct batch *b, struct target *t, enum text_how how, uint8_t state,
		       uint32_t n)
{
	*b = (struct batch){ .t = t, .how = how, .state = state, .most = n };
	b->changes = target_memory(n * (sizeof *b->changes + sizeof *b->sites));
	b->sites = (uint32_t *)(b->changes + n);
	return b->changes;
}

static void batch_flush(struct batch *b)
{
	int err =
		b->n ? text_write(b->changes, b->n, b->t->loaded.segments[b->segment].flags, b->how)
		     : 0;

	for (uint32_t i = 0; i < b->n; i++)
		if (!err)
			b->t->states[b->sites[i]] = b->state;
		else if (b->how == TEXT_QUIET)
			b->t->states[b->sites[i]] = SITE_REFUSED;
	b->failed |= err != 0;
	b->n = 0;
}

static void batch_add(struct batch *b, uint32_t site, const struct text_change *c)
{
	uint32_t segment = segment_of(b->t, site);

	if (segment != b->segment)
		batch_flush(b);
	b->segment = segment;
	b->changes[b->n] = *c;
	b->sites[b->n++] = site;
}

static void batch_close(struct batch *b)
{
	batch_flush(b);
	munmap(b->changes, b->most * (sizeof *b->changes + sizeof *b->sites));
}

/* Whether the jump may become an instruction that does nothing: nothing is displaced. */
static bool is_nop(const struct abi_plan_site *s)
{
	return (s->kind == ABI_SITE_NOP5 || s->kind == ABI_SITE_NOPS) && s->window == JUMP_BYTES;
}

static bool can_patch(const struct abi_plan_site *s, const uint8_t *at, enum patch_how how)
{
	bool is_one =
		s->kind == ABI_SITE_SLED || (s->kind == ABI_SITE_NOP5 && s->window == JUMP_BYTES);

	return how == PATCH_QUIET || (is_one && text_may_toggle((uintptr_t)at));
}

static bool bytes_are_expected(const uint8_t *at, const struct abi_plan_site *s)
{
	for (uint32_t i = 0; i < s->window; i++)
		if (at[i] != s->expected[i])
			return false;
	return true;
}

/* Bytes of an island: nothing runs there while the site is not patched. */
static bool write_island(const struct target *t, uint32_t i, const uint8_t bytes[JUMP_BYTES])
{
	uint32_t segment = segment_of_island(t, i);
	struct text_change c = { .at = (uint8_t *)target_island(t, &t->plan.sites[i]),
				 .n = JUMP_BYTES };

	memcpy(c.to, bytes, sizeof c.to);
	return segment < t->loaded.n_segments &&
	       !text_write(&c, 1, t->loaded.segments[segment].flags, TEXT_QUIET);
}

/* The jump of the island to the stub; true also if it is there already. */
static bool fill_island(const struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const uint8_t *at = (const uint8_t *)target_island(t, s);
	uint8_t jump[JUMP_BYTES];

	if (!text_jump(jump, (uintptr_t)at, (uintptr_t)t->arena + t->heads[i]))
		return false;
	if (!memcmp(at, jump, sizeof jump))
		return true;
	return !memcmp(at, s->expected + ABI_PLAN_ISLAND_AT, sizeof jump) &&
	       write_island(t, i, jump);
}

static void clear_island(const struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const uint8_t *at = (const uint8_t *)target_island(t, s);
	uint8_t jump[JUMP_BYTES];

	if (text_jump(jump, (uintptr_t)at, (uintptr_t)t->arena + t->heads[i]) &&
	    !memcmp(at, jump, sizeof jump))
		write_island(t, i, s->expected + ABI_PLAN_ISLAND_AT);
}

/* The bytes that lead from the site to its stub. False: too far, or the island is not free. */
static bool make_jump(const struct target *t, uint32_t i, struct text_change *c)
{
	const struct abi_plan_site *s = &t->plan.sites[i];

	c->n = JUMP_BYTES;
	if (s->kind != ABI_SITE_ISLAND)
		return text_jump(c->to, (uintptr_t)c->at, (uintptr_t)t->arena + t->heads[i]);
	c->n = HOP_BYTES;
	c->to[0] = OPCODE_HOP;
	c->to[1] = (uint8_t)s->island;
	return fill_island(t, i);
}

/* Adds the site's jump, or gives it a state. */
static void patch_site(struct batch *b, uint32_t i, enum patch_how how)
{
	struct target *t = b->t;
	const struct abi_plan_site *s = &t->plan.sites[i];
	struct text_change c = { .at = site_bytes(t, i), .is_jump = s->kind == ABI_SITE_SLED };

	if (load(target_function_state(t, i)) == ABI_FUNCTION_ELIDED)
		return;
	if (!bytes_are_expected(c.at, s))
		t->states[i] = SITE_REFUSED;
	else if (!can_patch(s, c.at, how))
		t->states[i] = SITE_WAITS;
	else if (!make_jump(t, i, &c))
		t->states[i] = SITE_REFUSED;
	else
		batch_add(b, i, &c);
}

static bool is_patched(uint8_t state)
{
	return state == SITE_ON || state == SITE_OFF || state == SITE_BYPASSED;
}

/* Counts the sites by state, for those who read the calls file. */
static void count(struct target *t)
{
	struct abi_calls_object *o = target_object(t);
	uint32_t patched = 0, refused = 0;

	for (uint32_t i = 0; i < o->n_sites && i < t->plan.head->n_sites; i++) {
		patched += is_patched(t->states[i]);
		refused += t->states[i] == SITE_REFUSED || t->states[i] == SITE_WAITS;
		if (t->states[i] == SITE_REFUSED)
			store(target_function_state(t, i), ABI_FUNCTION_REFUSED);
		if (t->states[i] == SITE_WAITS &&
		    load(target_function_state(t, i)) != ABI_FUNCTION_ELIDED)
			store(target_function_state(t, i), ABI_FUNCTION_WAITS);
	}
	store(&o->n_patched, patched);
	store(&o->n_refused, refused);
}

uint32_t target_patch(struct target *t, enum patch_how how)
{
	uint32_t n = t->arena ? t->plan.head->n_sites : 0;
	struct batch b;

	if (!n || !t->is_loaded ||
	    !batch_open(&b, t, how == PATCH_QUIET ? TEXT_QUIET : TEXT_LIVE, SITE_ON, n))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (t->states[i] == SITE_UNPATCHED || t->states[i] == SITE_WAITS)
			patch_site(&b, i, how);
	batch_close(&b);
	for (uint32_t i = 0; i < n; i++)
		if (t->states[i] == SITE_ON &&
		    load(target_function_state(t, i)) != ABI_FUNCTION_KEPT)
			store(target_function_state(t, i), ABI_FUNCTION_ON);
	marks_settle(t);
	count(t);
	return load(&target_object(t)->n_patched);
}

/* The program's own bytes in place of the jump. */
static struct text_change original(const struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	struct text_change c = { .at = site_bytes(t, i),
				 .n = s->kind == ABI_SITE_ISLAND ? HOP_BYTES : JUMP_BYTES };

	memcpy(c.to, s->expected, sizeof c.to);
	return c;
}

void target_wait(struct target *t)
{
	for (uint32_t i = 0; t->arena && i < t->plan.head->n_sites; i++)
		if (t->states[i] == SITE_UNPATCHED)
			t->states[i] = SITE_WAITS;
	count(t);
}

/* Whether the bytes at the site are still those that were put there: the file may have been unloaded
 * between two sessions, and other code may lie there, or nothing. */
static bool is_ours(const struct target *t, uint32_t i, int mem)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const uint8_t *at = site_bytes(t, i);
	uint8_t now[JUMP_BYTES], jump[JUMP_BYTES];

	if (syscall(SYS_pread64, mem, now, sizeof now, at) != (long)sizeof now)
		return false;
	if (s->kind == ABI_SITE_ISLAND)
		return now[0] == 0xeb;
	return text_jump(jump, (uintptr_t)at, (uintptr_t)t->arena + t->heads[i]) &&
	       !memcmp(now + 1, jump + 1, sizeof now - 1);
}

bool target_restore(struct target *t)
{
	uint32_t n = t->arena && t->is_loaded ? t->plan.head->n_sites : 0;
	struct batch b;
	int mem;

	if (!n)
		return true;
	mem = text_memory_open();
	if (mem < 0)
		return false;
	if (!batch_open(&b, t, TEXT_QUIET, SITE_UNPATCHED, n)) {
		syscall(SYS_close, mem);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct text_change c = original(t, i);
		if (is_patched(t->states[i]) && is_ours(t, i, mem))
			batch_add(&b, i, &c);
		else if (is_patched(t->states[i]))
			t->states[i] = SITE_REFUSED;
	}
	batch_close(&b);
	syscall(SYS_close, mem);
	for (uint32_t i = 0; i < n; i++)
		if (t->plan.sites[i].kind == ABI_SITE_ISLAND && t->states[i] == SITE_UNPATCHED)
			clear_island(t, i);
	marks_settle(t);
	return !b.failed;
}

/* ---------------------------------------------------------------- switched */

/*
 * A patched site without displaced code holds `jmp stub`, or the same four bytes behind the opcode
 * of `test $x, %eax`: it changes flags alone, which hold nothing at a function's entry.
 */
enum { OPCODE_JUMP = 0xe9, OPCODE_NOTHING = 0xa9 };

static bool switch_head(struct target *t, uint32_t i, bool on, int mem)
{
	const uint8_t byte = on ? STUB_ON : STUB_OFF;

	if (t->plan.sites[i].kind != ABI_SITE_MARK &&
	    (mem < 0 || !text_poke(mem, t->arena + t->heads[i], &byte, 1)))
		return false;
	t->states[i] = on ? SITE_ON : SITE_BYPASSED;
	return true;
}

static uint8_t state_to_switch(const struct abi_plan_site *s, bool on)
{
	return !on ? SITE_ON : is_nop(s) ? SITE_OFF : SITE_BYPASSED;
}

static bool switch_heads(struct target *t, const uint8_t *which, bool on)
{
	bool done = true;
	int mem = -1;

	for (uint32_t i = 0; i < t->plan.head->n_sites; i++) {
		const struct abi_plan_site *s = &t->plan.sites[i];

		if (is_nop(s) || (which && !which[i]) || t->states[i] != state_to_switch(s, on))
			continue;
		mem = mem < 0 ? text_memory_open() : mem;
		done &= switch_head(t, i, on, mem);
	}
	if (mem >= 0)
		syscall(SYS_close, mem);
	return done;
}

static struct text_change opcode(const struct target *t, uint32_t i, bool on)
{
	return (struct text_change){ .at = site_bytes(t, i),
				     .to = { on ? OPCODE_JUMP : OPCODE_NOTHING },
				     .n = 1 };
}

bool target_switch(struct target *t, const uint8_t *which, bool on)
{
	uint32_t n = t->arena && t->is_loaded ? t->plan.head->n_sites : 0;
	struct batch b;
	bool done;

	if (!n)
		return true;
	if (!batch_open(&b, t, TEXT_BYTE, on ? SITE_ON : SITE_OFF, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (is_nop(&t->plan.sites[i]) && (!which || which[i]) &&
		    t->states[i] == state_to_switch(&t->plan.sites[i], on)) {
			struct text_change c = opcode(t, i, on);

			batch_add(&b, i, &c);
		}
	batch_close(&b);
	done = switch_heads(t, which, on);
	marks_settle(t);
	return done && !b.failed;
}

bool target_switch_one(struct target *t, uint32_t i, bool on)
{
	struct text_change c;
	bool done;
	int mem;

	if (!t->is_loaded || !t->arena || t->states[i] != state_to_switch(&t->plan.sites[i], on))
		return t->states && t->states[i] == (on ? SITE_ON : SITE_OFF);
	if (!is_nop(&t->plan.sites[i])) {
		mem = text_memory_open();
		done = switch_head(t, i, on, mem);
		if (mem >= 0)
			syscall(SYS_close, mem);
		return done;
	}
	c = opcode(t, i, on);
	if (text_write(&c, 1, t->loaded.segments[segment_of(t, i)].flags, TEXT_BYTE))
		return false;
	t->states[i] = on ? SITE_ON : SITE_OFF;
	return true;
}

bool target_give_back(struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	struct text_change c = original(t, i);

	if (!t->is_loaded || !t->arena || t->states[i] != SITE_ON || is_nop(s) ||
	    !text_is_in_word((uintptr_t)c.at))
		return target_switch_one(t, i, false);
	if (text_write(&c, 1, t->loaded.segments[segment_of(t, i)].flags, TEXT_WORD))
		return target_switch_one(t, i, false);
	t->states[i] = SITE_WAITS;
	return true;
}
