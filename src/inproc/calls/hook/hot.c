/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/hot.c - the hooks of stubs: entry and exit of a function.
 *
 * They keep all registers but the flags.  So this file is compiled with general registers alone and
 * without red zone, and calls other functions by an instruction of its own: a compiler may restore
 * the argument's register before it jumps to such a function.
 *
 * Two comparisons at entry find everything unusual: the frame is at most CALLS_REACH below the one
 * before it, but further than that of a tail call, and its depth is usual.  The middle functions
 * serve what is unusual but frequent, without saving vector registers; the slow path does the rest.
 * The clock is read late at entry, and first at exit.
 */
#include "inproc/calls/hook/hooks.h"
#include "inproc/calls/hook/path.h"
#include "inproc/calls/hook/record.h"

#define COLD __attribute__((used, noinline, cold)) CALLS_HOOK

COLD calls_middle_enter(struct calls_frame *f);
COLD calls_middle_leave(struct calls_frame *f);
COLD calls_middle_slot(struct calls_frame *f);

/* The stub's three words lie above our return address and saved %rbp.  The compiler must not know:
 * it removes stores to a frame that ends. */
#define FRAME frame_above(__builtin_frame_address(0))
CALLS_INLINE struct calls_frame *frame_above(void *saved)
{
	char *p = saved;

	__asm__("" : "+r"(p));
	return (struct calls_frame *)(p + 16);
}

/* @function keeps all registers but that of its argument. */
#define CALL(function, frame)                                                                      \
	do {                                                                                       \
		struct calls_frame *argument = (frame);                                            \
		__asm__ volatile("call " #function : "+D"(argument) : : "memory", "cc");           \
	} while (0)

/* ---------------------------------------------------------------- the usual case */

/*
 * Makes @f the innermost frame.  The slot of the area is complete before the depth counts it.
 *
 * A handler that comes between the clock and the depth runs calls at the same depth, which must not
 * lie inside this one: it has changed the batch or, behind the test of that, the slot.
 */
CALLS_INLINE void open_frame(struct calls_here *h, struct calls_self *s, struct calls_frame *f,
			     uint32_t depth)
{
	struct abi_calls_frame *slot = &s->area->frames[depth];
	uint64_t word = load(&s->batch->word), now;

	f->top = h->top;
	now = calls_ticks() & ~1ull;
	store(&slot->ticks, now);
	store((uint64_t *)&slot->function, (uint64_t)f->function);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(load(&s->batch->word) != word)) {
		CALL(calls_enter_unusual, f);
		return;
	}
	f->depth = depth;
	store(&h->depth, depth + 1);
	store(&s->area->depth, depth + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&s->frames[depth], f);
	store(&f->ticks, now);
	store(&h->top, f);
	if (unlikely(load(&slot->ticks) != now))
		CALL(calls_middle_slot, f);
}

CALLS_INLINE void close_frame(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	store(&h->depth, f->depth);
	store(&s->area->depth, f->depth);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&h->top, f->top);
}

CALLS_INLINE uint64_t distance(const struct calls_here *h, const struct calls_frame *f)
{
	return (uint64_t)((const char *)h->top - (const char *)f);
}

CALLS_INLINE bool is_near(const struct calls_here *h, const struct calls_self *s,
			  const struct calls_frame *f)
{
	return distance(h, f) - (CALLS_TAIL_BYTES + 1) < s->reach;
}

/* Records the usual call: calls_record_short. */
CALLS_INLINE void leave(struct calls_frame *f, enum abi_calls_mode mode)
{
	uint64_t now = calls_ticks(), entry = f->ticks;
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;

	if (likely(f == h->top && s->reach && !(entry & 1) &&
		   calls_record_short(s, f, entry, now))) {
		close_frame(h, s, f);
		calls_done(s);
	} else {
		CALL(calls_middle_leave, f);
	}
	if (mode == ABI_CALLS_GOVERNED && !(entry & 1) &&
	    unlikely(calls_govern(f->function, entry, now)))
		CALL(calls_decide_unusual, f);
}

CALLS_HOOK calls_enter(void)
{
	struct calls_frame *f = FRAME;
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;
	uint32_t depth = h->depth;

	if (likely(is_near(h, s, f) && depth < s->most_depth))
		open_frame(h, s, f, depth);
	else
		CALL(calls_middle_enter, f);
}

CALLS_LEAVE CALLS_HOOK calls_leave_exact(void)
{
	leave(FRAME, ABI_CALLS_EXACT);
}

CALLS_LEAVE CALLS_HOOK calls_leave_governed(void)
{
	leave(FRAME, ABI_CALLS_GOVERNED);
}

CALLS_LEAVE CALLS_HOOK calls_leave_over(void)
{
	struct calls_frame *f = FRAME;
	uint64_t now = calls_ticks(), entry = f->ticks;
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;

	if (likely(f == h->top && s->reach && !(entry & 1) &&
		   now - entry < calls_settings.threshold_ticks && load(&s->area->limit)))
		close_frame(h, s, f);
	else
		CALL(calls_middle_leave, f);
}

CALLS_HOOK calls_enter_path(void)
{
	struct calls_frame *f = FRAME;
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;

	if (likely(is_near(h, s, f) && h->depth < s->most_depth)) {
		uint32_t node = calls_path_find(s, s->node, f->function);

		if (likely(node)) {
			calls_path_enter(h, s, f, node);
			return;
		}
	}
	CALL(calls_middle_enter, f);
}

CALLS_LEAVE CALLS_HOOK calls_leave_path(void)
{
	struct calls_frame *f = FRAME;
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;

	if (likely(f == h->top && s->reach && f->ticks == CALLS_UNSAMPLED))
		calls_path_leave(h, s, f);
	else
		CALL(calls_middle_leave, f);
}

/* ---------------------------------------------------------------- kinds that are rare */

/* The slow path reads the kind where the stub has stored 0. */
#define ENTER_SPECIAL(name, kind)                                                                  \
	CALLS_HOOK calls_enter_##name(void)                                                        \
	{                                                                                          \
		FRAME->depth = (kind);                                                             \
		CALL(calls_enter_unusual, FRAME);                                                  \
	}

ENTER_SPECIAL(switch, CALLS_SWITCH)
ENTER_SPECIAL(switch_hidden, CALLS_SWITCH_HIDDEN)
ENTER_SPECIAL(rescan, CALLS_RESCAN)
ENTER_SPECIAL(rescan_hidden, CALLS_RESCAN_HIDDEN)

CALLS_LEAVE CALLS_HOOK calls_leave_switch(void)
{
	CALL(calls_switch_unusual, FRAME);
}

CALLS_LEAVE CALLS_HOOK calls_leave_rescan(void)
{
	CALL(calls_rescan_unusual, FRAME);
}

/* ---------------------------------------------------------------- unusual, but frequent */

static bool is_unwanted(const struct calls_self *s, uint32_t depth)
{
	return depth >= calls_settings.depth ||
	       ((calls_settings.flags & ABI_PLAN_WITHIN) && !s->within) ||
	       load(&calls.shared->collect);
}

/* Whether the return address above @f follows a stub's `call body`: there the stub calls a hook of
 * ours. */
static bool returns_to_stub(const struct calls_frame *f)
{
	extern const char __start_calls_leave[] CALLS_HIDDEN, __stop_calls_leave[] CALLS_HIDDEN;
	const uint8_t *code = *(const uint8_t *const *)(f + 1);
	const char *hook;
	int32_t offset;

	if (code[0] != 0xff || code[1] != 0x15)
		return false;
	__builtin_memcpy(&offset, code + 2, sizeof offset);
	hook = *(const char *const *)(code + 6 + offset);
	return hook >= __start_calls_leave && hook < __stop_calls_leave;
}

/* The path of the call that jumped ends, and its frame becomes that of the next one. */
static bool jump_path(struct calls_here *h, struct calls_self *s, struct calls_frame *above,
		      uint32_t function)
{
	uint32_t node = calls_path_find(s, above->depth % ABI_CALLS_PATHS, function);

	if (!node)
		return false;
	calls_path_leave(h, s, above);
	calls_path_enter(h, s, above, node);
	return true;
}

/* The call that jumped ends, and its frame becomes that of the next one. */
static void jump_call(struct calls_self *s, struct calls_frame *above, uint32_t function)
{
	struct abi_calls_frame *slot = &s->area->frames[above->depth];
	enum abi_calls_mode mode = calls_settings.mode;
	uint64_t entry = above->ticks, now = calls_ticks();

	bool is_done = calls_is_long(mode, entry, now) && calls_record(s, above, entry, now);

	if (!is_done && calls_is_long(mode, entry, now))
		CALL(calls_tail_unusual, above);
	if (mode == ABI_CALLS_GOVERNED && calls_govern(above->function, entry, now))
		CALL(calls_decide_unusual, above);
	above->function = function;
	now = calls_ticks() & ~1ull;
	if (above->depth < ABI_CALLS_FRAMES) {
		store(&slot->ticks, now);
		store((uint64_t *)&slot->function, (uint64_t)function);
	}
	store(&above->ticks, now);
	if (is_done)
		calls_done(s);
}

/* A body jumped to @f's function: its frame is the caller's.  False: it is treated as a call. */
static bool tail_call(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	struct calls_frame *above = h->top;

	if (!s->reach || distance(h, f) != CALLS_TAIL_BYTES || !returns_to_stub(f))
		return false;
	if (!(above->ticks & 1))
		jump_call(s, above, f->function);
	else if (above->ticks == CALLS_UNRECORDED)
		above->function = f->function;
	else if (!s->keys || !jump_path(h, s, above, f->function))
		return false;
	f->ticks = 0;
	return true;
}

static void mark_unrecorded(struct calls_here *h, struct calls_frame *f)
{
	f->top = h->top;
	f->depth = h->depth;
	f->ticks = CALLS_UNRECORDED;
}

/* A call by code that does not align the stack (-fipa-stack-alignment) is as close as a tail call; a
 * profile has no limit of depth. */
static bool open_close(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	bool is_close = s->reach && distance(h, f) == CALLS_TAIL_BYTES;
	uint32_t node;

	if (!(is_close || is_near(h, s, f)) || s->generation != load(&calls_settings.generation) ||
	    is_unwanted(s, h->depth))
		return false;
	if (calls_settings.mode != ABI_CALLS_PROFILE) {
		if (h->depth >= ABI_CALLS_FRAMES)
			return false;
		open_frame(h, s, f, h->depth);
		return true;
	}
	node = s->keys && s->most_depth ? calls_path_find(s, s->node, f->function) : 0;
	if (node)
		calls_path_enter(h, s, f, node);
	return node;
}

COLD calls_middle_enter(struct calls_frame *f)
{
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;

	if (h->inside) {
		mark_unrecorded(h, f);
	} else if (is_near(h, s, f) && s->generation == load(&calls_settings.generation) &&
		   is_unwanted(s, h->depth)) {
		mark_unrecorded(h, f);
		store(&h->top, f);
	} else if (!tail_call(h, s, f) && !open_close(h, s, f)) {
		CALL(calls_enter_unusual, f);
	}
}

COLD calls_middle_slot(struct calls_frame *f)
{
	struct abi_calls_frame *slot = &calls_here.self->area->frames[f->depth];
	uint64_t now = calls_ticks() & ~1ull;

	store(&slot->ticks, now);
	store((uint64_t *)&slot->function, (uint64_t)f->function);
	store(&f->ticks, now);
}

COLD calls_middle_leave(struct calls_frame *f)
{
	struct calls_here *h = &calls_here;
	struct calls_self *s = h->self;
	uint64_t now = calls_ticks();

	if (h->inside)
		return;
	if (f != h->top || !s->reach) {
		CALL(calls_leave_unusual, f);
	} else if (f->ticks == CALLS_UNRECORDED) {
		store(&h->top, f->top);
	} else if (f->ticks & 1) {
		if (s->keys)
			calls_path_leave(h, s, f);
	} else if (!calls_is_long(calls_settings.mode, f->ticks, now) && load(&s->area->limit)) {
		close_frame(h, s, f);
	} else if (calls_is_long(calls_settings.mode, f->ticks, now) &&
		   !(calls_settings.mode == ABI_CALLS_OVER && calls_slow_is_wanted()) &&
		   calls_record(s, f, f->ticks, now)) {
		close_frame(h, s, f);
		calls_done(s);
	} else {
		CALL(calls_leave_unusual, f);
	}
}
