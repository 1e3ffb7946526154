/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hook/decoder.c - batches decoded as docs/formats/calls.md says, without a line of
 * the programs that write or read them.
 */
#include "recorder.h"

struct reader {
	const uint8_t *p, *end;
	bool is_bad;
};

static uint64_t number(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (r->p == r->end)
			break;
		v |= (uint64_t)(*r->p & 127) << shift;
		if (!(*r->p++ & 128))
			return v;
	}
	r->is_bad = true;
	return 0;
}

static void add(struct decoded *d, struct call c)
{
	if (d->n == d->room) {
		d->room = d->room ? 2 * d->room : 4096;
		d->calls = realloc(d->calls, d->room * sizeof *d->calls);
		if (!d->calls)
			abort();
	}
	d->calls[d->n++] = c;
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A batch counts from its base.  Whole nanoseconds are enough to compare. */
static uint64_t to_quanta(const struct abi_calls_batch_header *h)
{
	return (uint64_t)(((unsigned __int128)h->base_ns << 32) / h->mult);
}

void decode_batch(struct decoded *d, const struct abi_calls_batch_header *h, const uint8_t *bytes,
		  uint32_t n)
{
	struct reader r = { bytes, bytes + n, false };
	uint64_t now = to_quanta(h), depth = 0;
	bool is_first = true, is_unwound = false;

	d->stack = 0;
	d->lost += h->lost;
	if (d->has_sequence && h->sequence != d->next_sequence)
		d->is_wrong = true;
	d->has_sequence = true;
	d->next_sequence = h->sequence + 1;
	while (r.p < r.end && !r.is_bad) {
		uint64_t delta = number(&r), duration = number(&r), code = number(&r);
		uint32_t how = code & 3;

		if (code >> 2 == 0) {
			d->is_wrong |= delta || duration;
			if (how == 0) {
				d->is_torn = true;
				return;
			}
			if (how == ABI_NOTE_OPEN) {
				struct call c = { .is_open = true,
						  .is_announced = true,
						  .exit = now,
						  .stack = d->stack };

				c.function = (uint32_t)number(&r);
				c.depth = (uint32_t)number(&r);
				c.entry = now - (uint64_t)unzigzag(number(&r));
				add(d, c);
			} else if (how == ABI_NOTE_OTHER) {
				uint64_t kind = number(&r), value = number(&r);

				if (kind == ABI_OTHER_UNWOUND)
					is_unwound = true;
				else if (kind == ABI_OTHER_STACK)
					d->stack = (uint32_t)value;
				else if (kind == ABI_OTHER_LOST)
					d->lost += value;
				else
					d->is_wrong = true;
			} else {
				d->is_wrong = true;
			}
			continue;
		}
		if (how == ABI_CALL_DEPTH)
			depth = number(&r);
		else if (is_first)
			d->is_wrong = true;
		else
			depth += how == ABI_CALL_CHILD ? 1 : how == ABI_CALL_PARENT ? -1ull : 0;
		is_first = false;
		now += delta;
		add(d, (struct call){ .entry = now - duration,
				      .exit = now,
				      .function = (uint32_t)(code >> 2),
				      .depth = (uint32_t)depth,
				      .stack = d->stack,
				      .is_unwound = is_unwound });
		is_unwound = false;
	}
	d->is_wrong |= r.is_bad;
}

void decode_sent(struct decoded *d, uint32_t tid)
{
	for (uint32_t i = 0; i < *recorder_sent_number; i++) {
		const struct abi_calls_batch_header *h = (const void *)recorder_sent[i].bytes;

		if (recorder_sent[i].tid != tid)
			continue;
		if (h->n_bytes != recorder_sent[i].n_bytes - sizeof *h)
			d->is_wrong = true;
		decode_batch(d, h, recorder_sent[i].bytes + sizeof *h, h->n_bytes);
	}
}

/* An open call with a record at its depth had returned: the thread was killed between
 * both stores. */
static bool has_returned(const struct decoded *d, uint64_t first, struct call c)
{
	for (uint64_t i = first; i < d->n; i++)
		if (!d->calls[i].is_open && d->calls[i].depth == c.depth &&
		    d->calls[i].function == c.function &&
		    d->calls[i].entry - c.entry + 1 <= 2) /* ns rounded */
			return true;
	return false;
}

void decode_file(struct decoded *d, const struct abi_calls_thread *area)
{
	const struct abi_calls_batch *b = &area->batches[area->current & 1];
	uint32_t n = b->word & 0xffff;
	uint64_t first, base;

	decode_sent(d, area->tid);
	first = d->n;
	if ((!d->has_sequence || b->header.sequence == d->next_sequence) && n <= sizeof b->bytes)
		decode_batch(d, &b->header, b->bytes, n);
	base = to_quanta(&b->header);
	for (uint32_t i = 0; i < area->depth && i < ABI_CALLS_FRAMES; i++) {
		struct call c = { .is_open = true,
				  .function = area->frames[i].function,
				  .depth = i,
				  .entry = base + (area->frames[i].ticks >> b->header.shift) -
					   (b->base_ticks >> b->header.shift) };

		if (!has_returned(d, first, c))
			add(d, c);
	}
}

void decoded_free(struct decoded *d)
{
	free(d->calls);
	*d = (struct decoded){ 0 };
}

uint64_t decoded_number(const struct decoded *d, uint32_t function, bool is_open, bool is_unwound)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->n; i++)
		n += d->calls[i].function == function && d->calls[i].is_open == is_open &&
		     d->calls[i].is_unwound == is_unwound;
	return n;
}

enum { STACKS = 32, DEPTHS = 16384 };

bool decoded_is_nested(const struct decoded *d)
{
	/* The earliest entry of the calls at each depth that have no caller yet. */
	static uint64_t earliest[STACKS][DEPTHS], last;

	memset(earliest, 255, sizeof earliest);
	last = 0;
	for (uint64_t i = 0; i < d->n; i++) {
		const struct call *c = &d->calls[i];
		uint64_t *at = earliest[c->stack % STACKS];

		if (c->is_open || c->depth + 1 >= DEPTHS)
			continue;
		if (c->entry > c->exit || c->exit + 1 < last || at[c->depth + 1] < c->entry - 1) {
			printf("# call %lu of function %u at depth %u, stack %u: %lu to %lu, "
			       "last %lu, callee %lu\n",
			       i, c->function, c->depth, c->stack, c->entry, c->exit, last,
			       at[c->depth + 1]);
			for (uint64_t k = i > 8 ? i - 8 : 0; k < i + 3 && k < d->n; k++)
				printf("#   %lu: function %u depth %u: %lu to %lu%s\n", k,
				       d->calls[k].function, d->calls[k].depth,
				       d->calls[k].entry - c->entry, d->calls[k].exit - c->entry,
				       d->calls[k].is_open ? " open" : "");
			return false;
		}
		last = c->exit;
		for (uint32_t k = c->depth + 1; k < DEPTHS && at[k] != UINT64_MAX; k++)
			at[k] = UINT64_MAX;
		if (c->entry < at[c->depth])
			at[c->depth] = c->entry;
	}
	return true;
}
