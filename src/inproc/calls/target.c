/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/target.c - the stubs of one object.
 *
 * They are written while their pages are writable, which then become executable and are written
 * through /proc/self/mem only.  They are private memory: a forked child switches its own.  An arena
 * is never unmapped, because a thread may still return through it after dlclose; a file that is
 * loaded again gets its old one.
 */
#include "inproc/calls/target.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/runtime.h"
#include "base/compose.h"
#include "clock/clock.h"
#include "inproc/calls/file.h"
#include "inproc/calls/near.h"
#include "inproc/calls/stub.h"

enum { PAGE = 4096, REACH = 0x7ff00000 };

void *target_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---------------------------------------------------------------- hooks */

/* An entry hook that records nothing: its call is a jump to the body.  At its entry the frame is
 * above the return address. */
__attribute__((naked)) static void pass(void)
{
	__asm__("movq $0, 24(%rsp)\n\tret");
}

static calls_hook **hook_words(const struct target *t, enum calls_kind kind)
{
	return (calls_hook **)t->arena + 2 * kind;
}

void target_set_hooks(struct target *t, uint32_t mode, bool passes)
{
	for (enum calls_kind k = 0; t->arena && k < CALLS_KINDS; k++) {
		struct calls_hooks h = calls_hooks_for(k, mode);

		store_release(&hook_words(t, k)[1], h.leave);
		store_release(&hook_words(t, k)[0], passes ? pass : h.enter);
	}
}

/* ---------------------------------------------------------------- stubs */

/* Where stubs are written: at `to`, for address `at`. */
struct room {
	uint8_t *to;
	uintptr_t at;
	size_t used, size;
	bool is_known; /* heads and unwinding are those of the first time */
};

/* Whether the site's calls can be recorded at all. */
static bool is_usable(const struct target *t, const struct abi_plan_site *s)
{
	if (s->kind == ABI_SITE_ISLAND &&
	    !loaded_contains(&t->loaded, target_island(t, s), JUMP_BYTES, PF_R | PF_X))
		return false;
	return s->kind != ABI_SITE_MARK &&
	       loaded_contains(&t->loaded, t->loaded.bias + s->address, s->window, PF_R | PF_X);
}

static bool write_one(struct target *t, uint32_t i, struct room *room, struct stub_parts *parts)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	enum calls_kind kind = calls_kind_of(s->flags);
	struct stub stub = {
		.bias = t->loaded.bias,
		.plan = &t->plan,
		.site = s,
		.function = target_object(t)->first + i,
		.enter = (uintptr_t)&hook_words(t, kind)[0],
		.leave = (uintptr_t)&hook_words(t, kind)[1],
		.arguments = t->marks ? t->marks[i] : NULL,
		.result = t->marks ? t->results[i] : NULL,
	};
	uint8_t bytes[STUB_MOST_BYTES];

	if (!is_usable(t, s) || !stub_write(bytes, room->at + room->used, &stub, parts) ||
	    parts->size > room->size - room->used)
		return false;
	memcpy(room->to + room->used, bytes, parts->size);
	return true;
}

/* Those without copies lie together, so that one unwind range holds all of them. */
static void write_all(struct target *t, struct room *room, bool copies)
{
	size_t begin = room->used;

	for (uint32_t i = 0; i < t->plan.head->n_sites; i++) {
		uintptr_t at = room->at + room->used;
		struct stub_parts parts;

		if (copies != (t->plan.sites[i].stack_bytes != 0) || !write_one(t, i, room, &parts))
			continue;
		if (!room->is_known)
			t->heads[i] = (uint32_t)(PAGE + room->used + parts.head);
		room->used += parts.size;
		if (copies && !room->is_known)
			unwind_add(&t->unwind, &(struct unwind_range){
						       at, at + parts.size, at + parts.copies_begin,
						       at + parts.copies_end, parts.copied });
	}
	if (!copies && !room->is_known && room->used > begin)
		unwind_add(&t->unwind, &(struct unwind_range){ .begin = room->at + begin,
							       .end = room->at + room->used });
}

/* Marks have no frame: their stubs lie behind the ranges that unwinders know. */
static void write_marks(struct target *t, struct room *room)
{
	uint8_t bytes[USDT_STUB_MOST];

	for (uint32_t i = 0; i < t->plan.head->n_sites; i++) {
		uint32_t n = t->plan.sites[i].kind == ABI_SITE_MARK
				     ? marks_stub(t, i, bytes, room->at + room->used)
				     : 0;

		if (!n || n > room->size - room->used)
			continue;
		memcpy(room->to + room->used, bytes, n);
		if (!room->is_known)
			t->heads[i] = (uint32_t)(PAGE + room->used);
		room->used += n;
	}
}

static size_t stubs_bytes(const struct target *t, uint32_t *n_copied)
{
	size_t n = 0;

	*n_copied = 0;
	for (uint32_t i = 0; i < t->plan.head->n_sites; i++) {
		n += t->plan.sites[i].kind == ABI_SITE_MARK
			     ? (size_t)USDT_STUB_OVER + t->plan.sites[i].code_bytes
			     : stub_size(&t->plan, &t->plan.sites[i]);
		if (t->plan.sites[i].flags & (ABI_SITE_ARGUMENTS | ABI_SITE_RESULT))
			n += STUB_MARKS_BYTES;
		*n_copied += t->plan.sites[i].stack_bytes != 0;
	}
	return n;
}

static bool make_arena(struct target *t)
{
	uint32_t n_copied, n = t->plan.head->n_sites;
	size_t bytes = PAGE + ((stubs_bytes(t, &n_copied) + PAGE - 1) & ~(size_t)(PAGE - 1));
	uint8_t *p = near_reserve(t->loaded.low, t->loaded.high, bytes);
	void *tables;

	if (!p)
		return false;
	tables = target_memory((size_t)n * (sizeof *t->heads + sizeof *t->states));
	if (!tables || mprotect(p, bytes, PROT_READ | PROT_WRITE) ||
	    !unwind_make(&t->unwind, n_copied + 1)) {
		if (tables)
			munmap(tables, (size_t)n * (sizeof *t->heads + sizeof *t->states));
		munmap(p, bytes);
		return false;
	}
	t->arena = p;
	t->arena_bytes = bytes;
	t->heads = tables;
	t->states = (uint8_t *)(t->heads + n);
	return true;
}

static void drop_arena(struct target *t)
{
	munmap(t->arena, t->arena_bytes);
	t->arena = NULL;
}

static bool write_stubs(struct target *t)
{
	struct room room = { .to = t->arena + PAGE,
			     .at = (uintptr_t)t->arena + PAGE,
			     .size = t->arena_bytes - PAGE };

	target_set_hooks(t, t->plan.head->mode, true);
	write_all(t, &room, false);
	write_all(t, &room, true);
	write_marks(t, &room);
	for (uint32_t i = 0; i < t->plan.head->n_sites; i++)
		if (!t->heads[i])
			t->states[i] = SITE_REFUSED;
	return !mprotect(t->arena + PAGE, t->arena_bytes - PAGE, PROT_READ | PROT_EXEC);
}

/* ---------------------------------------------------------------- the object in the calls file */

static uint64_t now_ns(void)
{
	return clock_now_ns(&calls.shared->clock);
}

/* Gives numbers to the functions of the object; its entry counts once n_objects has it. */
static bool number(struct target *t)
{
	struct abi_calls *c = calls.shared;
	uint32_t n = t->plan.head->n_sites, first = load(&c->n_functions);
	struct abi_calls_object *o;

	t->object = load(&c->n_objects);
	if (t->object >= ABI_CALLS_OBJECTS || first < 1 || first > ABI_CALLS_FUNCTIONS)
		return false;
	o = target_object(t);
	if (!runtime_reserve(o, sizeof *o))
		return false;
	*o = (struct abi_calls_object){ .bias = t->loaded.bias,
					.loaded_ns = now_ns(),
					.generation = t->plan.head->generation,
					.first = first,
					.state = ABI_OBJECT_LOADED,
					.build_id_bytes = t->loaded.build_id_bytes };
	memcpy(o->build_id, t->loaded.build_id, sizeof o->build_id);
	compose(o->path, sizeof o->path, t->path, NULL);
	t->has_number =
		n <= ABI_CALLS_FUNCTIONS - first &&
		runtime_reserve(&calls_functions()[first], n * sizeof(struct abi_calls_function));
	if (t->has_number) {
		o->n_sites = n;
		store(&c->n_functions, first + n);
	} else {
		o->n_refused = n;
	}
	store_release(&c->n_objects, t->object + 1);
	return t->has_number;
}

static void refuse_all(struct target *t)
{
	struct abi_calls_object *o = target_object(t);

	for (uint32_t i = 0; i < t->plan.head->n_sites; i++)
		store(target_function_state(t, i), ABI_FUNCTION_REFUSED);
	store(&o->n_refused, t->plan.head->n_sites);
}

bool target_make(struct target *t)
{
	if (!number(t))
		return false;
	if (marks_make(t) && make_arena(t)) {
		if (write_stubs(t)) {
			marks_register(t);
			return true;
		}
		drop_arena(t);
	}
	refuse_all(t);
	return false;
}

/* ---------------------------------------------------------------- unloaded, and loaded again */

void target_unloaded(struct target *t)
{
	t->is_loaded = false;
	if (!t->has_number)
		return;
	store(&target_object(t)->unloaded_ns, now_ns());
	store(&target_object(t)->state, ABI_OBJECT_UNLOADED);
	for (uint32_t i = 0; t->arena && i < t->plan.head->n_sites; i++)
		if (t->states[i] != SITE_REFUSED)
			t->states[i] = SITE_UNPATCHED;
	marks_settle(t);
}

static bool reaches(const struct target *t)
{
	uintptr_t begin = (uintptr_t)t->arena, end = begin + t->arena_bytes;
	uintptr_t low = t->loaded.low < begin ? t->loaded.low : begin;
	uintptr_t high = t->loaded.high > end ? t->loaded.high : end;

	return high - low < REACH;
}

/* The same bytes again but for distances to the file, and heads: no thread is in these parts. */
static bool write_again(struct target *t)
{
	size_t bytes = t->arena_bytes - PAGE;
	struct room room = { .to = target_memory(bytes),
			     .at = (uintptr_t)t->arena + PAGE,
			     .size = bytes,
			     .is_known = true };
	int mem;
	bool done;

	if (!room.to)
		return false;
	marks_moved(t);
	write_all(t, &room, false);
	write_all(t, &room, true);
	write_marks(t, &room);
	mem = text_memory_open();
	done = mem >= 0 && text_poke(mem, t->arena + PAGE, room.to, room.used);
	if (mem >= 0)
		syscall(SYS_close, mem);
	munmap(room.to, bytes);
	return done;
}

bool target_reload(struct target *t)
{
	struct abi_calls_object *o = target_object(t);

	if (!t->arena || !reaches(t) || !write_again(t))
		return false;
	t->is_loaded = true;
	store(&o->bias, t->loaded.bias);
	store(&o->loaded_ns, now_ns());
	store(&o->unloaded_ns, 0);
	store(&o->state, ABI_OBJECT_LOADED);
	return true;
}
