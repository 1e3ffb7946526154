/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/batch.c - batches of a thread on the slow path: notes, long records, and the event
 * that sends a full one.
 *
 * Signals are blocked here, but the caller may be a handler that interrupted a hook while it stored
 * a record (calls_self.pending).  Invariants:
 *
 *   (1) such a record is completed before anything is appended or sent
 *   (2) the word of a batch that was sent is closed, so that an interrupted hook cannot reserve
 *       bytes of it; the word of a new one begins with another number of quanta than before
 *   (3) until that hook goes on, the batch is replaced once at most: both are needed
 */
#include <string.h>
#include <time.h>

#include "inproc/calls/hook/record.h"
#include "inproc/emit.h"

/* Filled in like those of a program: duet/site.h. */
static const uint64_t disabled;
static const struct duet_i_api *api;
static struct duet_i_site site = {
	.enabled = &disabled,
	.name = "duet_calls:batch",
	.schema = " u32 sequence u32 lost u64 base_ns u64 mult u32 shift u32 flags u8[] calls",
	.kind = DUET_I_TYPED,
	.level = 13 /* DUET_DEBUG_LINE */,
};

void batch_start(void)
{
	duet_i_register(&site, &site + 1, &api);
}

uint64_t calls_now(void)
{
	struct timespec t;

	if (likely(calls_settings.has_ticks))
		return calls_ticks() & ~1ull;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) & ~1ull;
}

/* ---------------------------------------------------------------- bytes */

enum { LONGEST_LEB = 10, LONGEST_RECORD = 8 * LONGEST_LEB };

struct bytes {
	uint8_t at[LONGEST_RECORD];
	uint32_t n;
};

static void put_leb(struct bytes *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		b->at[b->n++] = (uint8_t)(v | 128);
	b->at[b->n++] = (uint8_t)v;
}

static void put_note(struct bytes *b, uint64_t note)
{
	put_leb(b, 0);
	put_leb(b, 0);
	put_leb(b, note);
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static uint32_t length(const struct abi_calls_batch *b)
{
	return (uint16_t)load(&b->word);
}

/* Whether the reserved place at @at has no byte yet.  The third number of a record is not 0. */
static bool is_hole(const uint8_t *at, uint64_t bytes)
{
	uint64_t now, own = 0;
	unsigned n_ends = 0;

	for (unsigned i = 0; i < 8; i++) {
		own |= 255ull << 8 * i;
		n_ends += !(bytes >> 8 * i & 128);
		if (n_ends == 3)
			break;
	}
	memcpy(&now, at, sizeof now);
	return !(now & own);
}

static bool lies_in(const uint8_t *at, const struct abi_calls_batch *b)
{
	return at >= b->bytes && at < b->bytes + CALLS_BATCH_ROOM;
}

bool batch_settle(struct calls_self *s, const struct calls_frame *f)
{
	uint8_t *at = s->pending_at;

	if (!s->pending || !at)
		return false;
	if (lies_in(at, s->batch)) {
		if (length(s->batch) <= at - s->batch->bytes)
			return false; /* not reserved so far */
		if (is_hole(at, s->pending_bytes))
			calls_put(at, s->pending_bytes);
	}
	return f == s->pending;
}

void batch_forget(struct calls_self *s)
{
	batch_settle(s, s->pending);
	s->pending = NULL;
}

/* The depth of a call opened at @depth: (3) of thread.h.  The slot is another frame's if the recorded
 * call was closed before the handler came. */
static uint32_t true_depth(struct calls_self *s, uint32_t depth)
{
	const struct calls_frame *recorded = s->pending;

	return batch_settle(s, recorded) && recorded->depth < ABI_CALLS_FRAMES &&
			       s->frames[recorded->depth] == recorded && depth > recorded->depth
		       ? depth - 1
		       : depth;
}

/* Appends whole records.  There is room. */
static void append(struct calls_self *s, const struct bytes *b, uint64_t since_base)
{
	uint32_t at = length(s->batch);
	bool was_reserved = batch_settle(s, s->pending);

	memcpy(s->batch->bytes + at, b->at, b->n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&s->batch->word, since_base << 16 | (at + b->n));
	if (s->pending && !was_reserved)
		s->pending_at = NULL; /* what the hook has seen is over */
}

static bool have_room(struct calls_self *s)
{
	uint32_t n = length(s->batch);

	if (n + LONGEST_RECORD <= CALLS_BATCH_LIMIT && n < load(&s->area->limit))
		return true;
	return batch_flush(s, 0) || length(s->batch) + LONGEST_RECORD <= CALLS_BATCH_ROOM;
}

static void count_lost_call(struct calls_self *s)
{
	calls_count(&s->area->lost, 1);
}

/* ---------------------------------------------------------------- records */

static void put_other(struct bytes *b, uint32_t kind, uint64_t value)
{
	put_note(b, ABI_NOTE_OTHER);
	put_leb(b, kind);
	put_leb(b, value);
}

void batch_note(struct calls_self *s, uint32_t kind, uint64_t value)
{
	struct bytes b = { .n = 0 };

	if (!have_room(s))
		return;
	put_other(&b, kind, value);
	append(s, &b, load(&s->batch->word) >> 16);
}

void batch_record(struct calls_self *s, uint32_t function, uint32_t depth, uint64_t entry,
		  bool is_unwound)
{
	struct bytes b = { .n = 0 };
	uint64_t quantum, before;

	if (!have_room(s)) {
		count_lost_call(s);
		return;
	}
	depth = true_depth(s, depth);
	before = load(&s->batch->word) >> 16;
	quantum = calls_now() >> calls_settings.shift;
	if (quantum < s->base + before)
		quantum = s->base + before; /* clocks of two processors */
	if (is_unwound)
		put_other(&b, ABI_OTHER_UNWOUND, 0);
	put_leb(&b, quantum - s->base - before);
	put_leb(&b, quantum - (entry >> calls_settings.shift));
	put_leb(&b, (uint64_t)function << 2 | ABI_CALL_DEPTH);
	put_leb(&b, depth);
	append(s, &b, quantum - s->base);
	s->last = (uint64_t)length(s->batch) << 32 | depth;
}

/* ---------------------------------------------------------------- open calls */

static uint32_t n_slots(const struct calls_self *s)
{
	uint32_t n = load(&s->area->depth);

	return n < ABI_CALLS_FRAMES ? n : ABI_CALLS_FRAMES;
}

/* Those that are not announced are the innermost ones, as all are announced at each flush. */
static uint32_t first_unannounced(const struct calls_self *s)
{
	uint32_t i = n_slots(s);

	while (i && !s->area->frames[i - 1].announced)
		i--;
	return i;
}

/* True if all of them have room. */
static bool announce(struct calls_self *s)
{
	uint64_t since_base = load(&s->batch->word) >> 16;

	for (uint32_t i = first_unannounced(s); i < n_slots(s); i++) {
		struct abi_calls_frame *frame = &s->area->frames[i];
		struct bytes b = { .n = 0 };

		if (length(s->batch) + LONGEST_RECORD > CALLS_BATCH_ROOM)
			return false;
		frame->announced = 1;
		if (s->frames[i] == s->pending && batch_settle(s, s->pending))
			continue; /* recorded already */
		put_note(&b, ABI_NOTE_OPEN);
		put_leb(&b, frame->function);
		put_leb(&b, true_depth(s, i));
		put_leb(&b, zigzag((int64_t)(s->base + since_base -
					     (frame->ticks >> calls_settings.shift))));
		append(s, &b, since_base);
	}
	return true;
}

/* ---------------------------------------------------------------- sending */

static uint64_t nanoseconds(uint64_t ticks)
{
	const struct abi_clock *c = &calls.shared->clock;

	if (!calls_settings.has_ticks)
		return ticks + c->offset_ns;
	return (uint64_t)((unsigned __int128)ticks * c->mult >> 32) + c->offset_ns;
}

static uint64_t quantum_mult(void)
{
	uint64_t mult = calls_settings.has_ticks ? calls.shared->clock.mult : 1ull << 32;

	return mult << calls_settings.shift;
}

/* The word of a batch begins with 0 or 1 quanta in turns: an interrupted hook that has read the first
 * word of a batch does not take that of the next one for it. */
static void open_at(struct calls_self *s, struct abi_calls_batch *b, uint32_t sequence)
{
	uint64_t ahead = sequence >> 1 & 1, quantum = calls_now() >> calls_settings.shift;

	memset(b->bytes, 0, sizeof b->bytes);
	b->base_ticks = quantum << calls_settings.shift;
	b->header = (struct abi_calls_batch_header){
		.sequence = sequence,
		.base_ns = nanoseconds(b->base_ticks), /* the first record counts from here */
		.mult = quantum_mult(),
		.shift = calls_settings.shift,
	};
	store(&b->word, ahead << 16);
	s->base = quantum - ahead;
	s->last = UINT64_MAX >> 1; /* near no depth */
	s->lost_before = s->area->lost;
	store(&s->batch, b);
	store(&s->area->current, (uint32_t)(b - s->area->batches));
	store(&s->area->sequence, sequence);
	store(&s->area->limit, CALLS_BATCH_LIMIT);
}

static void begin_with_notes(struct calls_self *s)
{
	if (s->stack)
		batch_note(s, ABI_OTHER_STACK, s->stack);
}

void batch_open(struct calls_self *s)
{
	open_at(s, &s->area->batches[0], s->area->sequence);
	begin_with_notes(s);
}

/* The number of calls in a batch that cannot be sent. */
static uint64_t count_calls(const struct abi_calls_batch *b)
{
	uint64_t n_calls = 0;
	uint32_t at = 0, end = length(b);

	while (at < end) {
		uint64_t v[3] = { 0 };
		unsigned more = 0;

		for (int i = 0; i < 3; i++)
			for (unsigned shift = 0; at < end; shift += 7) {
				v[i] |= (uint64_t)(b->bytes[at] & 127) << (shift & 63);
				if (!(b->bytes[at++] & 128))
					break;
			}
		n_calls += v[2] >> 2 != 0;
		if (v[2] >> 2)
			more = (v[2] & 3) == ABI_CALL_DEPTH;
		else
			more = (v[2] & 3) == ABI_NOTE_OPEN ? 3 : 2;
		for (; more && at < end; more--)
			while (at < end && b->bytes[at++] & 128)
				;
	}
	return n_calls;
}

static void send(struct calls_self *s, struct abi_calls_batch *b, uint32_t flags)
{
	uint32_t n = length(b);

	b->header.n_bytes = n;
	b->header.flags = flags;
	b->header.lost = (uint32_t)(s->area->lost - s->lost_before);
	if (!load(site.enabled) || !api)
		calls_count(&s->area->lost, count_calls(b));
	else
		api->emit(&site, &b->header, sizeof b->header + n, __builtin_return_address(0));
}

bool batch_flush(struct calls_self *s, uint32_t flags)
{
	bool is_complete;

	if (!length(s->batch) && !flags) {
		store(&s->area->limit, CALLS_BATCH_LIMIT);
		return true;
	}
	do {
		struct abi_calls_batch *old = s->batch;

		if (s->pending && s->switched == s->pending->ticks)
			return false;
		if (!batch_settle(s, s->pending))
			s->pending_at = NULL;
		s->switched = s->pending ? s->pending->ticks : 0;
		is_complete = announce(s);
		send(s, old, flags);
		open_at(s, &s->area->batches[old == s->area->batches], s->area->sequence + 1);
		store(&old->word, old->word | CALLS_BATCH_CLOSED);
	} while (!is_complete);
	begin_with_notes(s);
	return true;
}
