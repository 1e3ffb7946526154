/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/record.h - one record into the batch of a thread, safe against its signal handlers.
 *
 * The word of a batch holds the time of its last record and its length, so one compare-and-exchange
 * reserves bytes for a record and dates the next one.  It is not locked: only handlers of this
 * thread compete.  The bytes are put in by an OR, because the eight bytes may reach into the record
 * of a handler; unreserved bytes are zero.
 *
 * Bytes first and the word after would need no reservation, but the bytes would overwrite the
 * record of a handler that came between.
 */
#ifndef INPROC_CALLS_RECORD_H
#define INPROC_CALLS_RECORD_H

#include "inproc/calls/hook/thread.h"

#define CALLS_INLINE static inline __attribute__((always_inline))

CALLS_INLINE uint64_t calls_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Adds at once, as far as handlers can tell. */
CALLS_INLINE void calls_count(uint64_t *count, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*count) : "er"(n) : "cc");
}

/*
 * Adds the call to its function's sums.  True if the governor has to decide: after the first calls,
 * and again after each CALLS_WINDOW.  A long call counts for 16 short ones at most: one page fault
 * must not keep a function of 20 ns.
 */
CALLS_INLINE bool calls_govern(uint32_t number, uint64_t entry, uint64_t now)
{
	struct abi_calls_function *function = &calls_functions()[number];
	uint32_t n = load(&function->calls) + 1, state = load(&function->state);
	uint64_t quanta = (now >> calls_settings.shift) - (entry >> calls_settings.shift),
		 most = 16ull * calls_settings.elide_under_quanta;

	if (unlikely(state != ABI_FUNCTION_ON && state != ABI_FUNCTION_KEPT))
		return false;
	store(&function->calls, n);
	store(&function->quanta, load(&function->quanta) + (quanta < most ? quanta : most));
	return n == calls_settings.elide_after_calls || n % CALLS_WINDOW == 0;
}

CALLS_INLINE bool calls_is_long(enum abi_calls_mode mode, uint64_t entry, uint64_t now)
{
	return mode != ABI_CALLS_OVER || now - entry >= calls_settings.threshold_ticks;
}

/* LEB128 of @v < 1 << 21, shifted left by *@bits, which grows by its length. */
CALLS_INLINE uint64_t calls_leb(uint64_t v, unsigned *bits)
{
	unsigned at = *bits;

	if (likely(v < 1 << 7)) {
		*bits += 8;
		return v << at;
	}
	if (likely(v < 1 << 14)) {
		*bits += 16;
		return ((v & 127) | 128 | v >> 7 << 8) << at;
	}
	*bits += 24;
	return ((v & 127) | 128 | (v >> 7 & 127) << 8 | 128 << 8 | v >> 14 << 16) << at;
}

/* A record in one word. */
struct calls_word {
	uint64_t bytes;
	unsigned bits; /* more than 64: it does not fit */
};

/* @last: calls_self.last, for a record at @position. */
CALLS_INLINE struct calls_word calls_encode(uint64_t delta, uint64_t duration, uint32_t function,
					    uint32_t depth, uint64_t last, uint64_t position)
{
	uint32_t step = depth - (uint32_t)last + 1; /* 0: the parent, 1: the same, 2: a child */
	struct calls_word r = { 0, 0 };

	if (unlikely((delta | duration) >> 21 || function >= ABI_CALLS_FUNCTIONS)) {
		r.bits = 128;
		return r;
	}
	r.bytes = calls_leb(delta, &r.bits);
	r.bytes |= calls_leb(duration, &r.bits);
	if (likely(step <= 2 && last >> 32 == position)) {
		uint32_t how =
			(ABI_CALL_PARENT | ABI_CALL_SAME << 2 | ABI_CALL_CHILD << 4) >> 2 * step &
			3;

		r.bytes |= calls_leb(function << 2 | how, &r.bits);
		return r;
	}
	r.bytes |= calls_leb(function << 2 | ABI_CALL_DEPTH, &r.bits);
	if (unlikely(r.bits > 48 || depth >> 14)) {
		r.bits = 128;
		return r;
	}
	r.bytes |= calls_leb(depth, &r.bits);
	return r;
}

/* Not locked: against handlers of this thread only. */
CALLS_INLINE bool calls_reserve(uint64_t *word, uint64_t seen, uint64_t next)
{
	bool done;

	__asm__ volatile("cmpxchg %3, %1"
			 : "=@cce"(done), "+m"(*word), "+a"(seen)
			 : "r"(next)
			 : "memory");
	return done;
}

CALLS_INLINE void calls_put(uint8_t *at, uint64_t bytes)
{
	__asm__ volatile("orq %1, %0" : "+m"(*(uint64_t(*)[1])at) : "r"(bytes) : "memory", "cc");
}

/* Reserves the @bytes of a record of @f, and stores them.  On success @f stays pending: calls_done. */
CALLS_INLINE bool calls_store(struct calls_self *s, struct abi_calls_batch *b,
			      struct calls_frame *f, uint64_t word, uint64_t next, uint64_t bytes)
{
	uint8_t *at = b->bytes + (uint16_t)word;
	bool done;

	store(&s->pending_bytes, bytes);
	store(&s->pending_at, at);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&s->pending, f);
	done = calls_reserve(&b->word, word, next);
	if (likely(done)) {
		calls_put(at, bytes);
		store(&s->last, next << 48 >> 16 | f->depth);
	} else {
		store(&s->pending, NULL);
	}
	return done;
}

/* After calls_record, when the recorded call is open no more. */
CALLS_INLINE void calls_done(struct calls_self *s)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&s->pending, NULL);
}

/* LEB128 in two bytes, of @v < 1 << 14. */
CALLS_INLINE uint64_t calls_leb2(uint64_t v)
{
	return (v & 127) | 128 | v >> 7 << 8;
}

/*
 * calls_record_short - calls_record for the usual case, with few instructions: delta and duration
 * have one byte each or two each, the function two.
 */
CALLS_INLINE bool calls_record_short(struct calls_self *s, struct calls_frame *f, uint64_t entry,
				     uint64_t now)
{
	struct abi_calls_batch *b = load(&s->batch);
	uint64_t word = load(&b->word), position = (uint16_t)word;
	unsigned shift = calls_settings.shift;
	uint64_t delta = (now >> shift) - load(&s->base) - (word >> 16);
	uint64_t duration = (now >> shift) - (entry >> shift), bytes, code;
	uint64_t step = (position << 32 | f->depth) - load(&s->last) + 1;

	if (unlikely(load(&s->pending) || position >= load(&s->area->limit) || step > 2 ||
		     f->function >= 1 << 12))
		return false;
	code = f->function << 2 |
	       ((ABI_CALL_PARENT | ABI_CALL_SAME << 2 | ABI_CALL_CHILD << 4) >> 2 * step & 3);
	if (likely((delta | duration) < 1 << 7)) {
		bytes = delta | duration << 8 | calls_leb2(code) << 16;
		return calls_store(s, b, f, word, word + (delta << 16) + 4, bytes);
	}
	if (unlikely((delta | duration) >= 1 << 14))
		return false;
	bytes = calls_leb2(delta) | calls_leb2(duration) << 16 | calls_leb2(code) << 32;
	return calls_store(s, b, f, word, word + (delta << 16) + 6, bytes);
}

/*
 * calls_record - record that the call of @f ended at @now.
 *
 * False: the slow path has to, as the batch is full, the record long, or a handler came between.
 * @f stays the innermost frame; the caller removes it, then calls calls_done.
 */
CALLS_INLINE bool calls_record(struct calls_self *s, struct calls_frame *f, uint64_t entry,
			       uint64_t now)
{
	struct abi_calls_batch *b = load(&s->batch);
	uint64_t word = load(&b->word), position = (uint16_t)word;
	uint64_t quantum = now >> calls_settings.shift, since_base = quantum - load(&s->base);
	struct calls_word r;

	if (unlikely(load(&s->pending) || position >= load(&s->area->limit)))
		return false;
	r = calls_encode(since_base - (word >> 16), quantum - (entry >> calls_settings.shift),
			 f->function, f->depth, load(&s->last), position);
	return likely(r.bits <= 64) &&
	       calls_store(s, b, f, word, since_base << 16 | (position + r.bits / 8), r.bytes);
}

#endif
