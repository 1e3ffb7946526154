/* SPDX-License-Identifier: MIT */
/*
 * inproc/usdt/stub.c - write a mark's stub:
 *
 *	[displaced code that runs before the mark]
 *	lea -136(%rsp), %rsp	past the red zone; a push would overwrite it
 *	push mark(%rip)
 *	call *entry(%rip)
 *	lea 144(%rsp), %rsp
 *	[the rest of the displaced code]
 *	jmp site + window
 *	mark, entry		two words
 *
 * Neither lea nor push changes flags.
 */
#include <string.h>

#include "inproc/usdt/internal.h"

enum { WORDS = 16 };

struct writer {
	uint8_t *to;
	uintptr_t at;
	uint32_t n;
	bool fits;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
	if (n > USDT_STUB_MOST - WORDS - w->n) {
		w->fits = false;
		return;
	}
	memcpy(w->to + w->n, bytes, n);
	w->n += (uint32_t)n;
}

#define PUT(w, ...)                                                                                \
	do {                                                                                       \
		static const uint8_t bytes_[] = { __VA_ARGS__ };                                   \
		put(w, bytes_, sizeof bytes_);                                                     \
	} while (0)

static void put_distance(struct writer *w, uintptr_t target)
{
	int64_t distance = (int64_t)(target - (w->at + w->n + 4));
	int32_t field = (int32_t)distance;

	w->fits &= distance == field;
	put(w, &field, sizeof field);
}

/* Displaced code from byte @from to @to, with its fixups. */
static void put_code(struct writer *w, const struct usdt_stub *s, uint32_t from, uint32_t to)
{
	uintptr_t begin = w->at + w->n - from; /* where byte 0 of the code would lie */
	uint8_t *bytes = w->to + w->n - from;

	put(w, s->code + from, to - from);
	for (uint32_t i = 0; i < s->site->n_fixups && w->fits; i++) {
		const struct abi_plan_fixup *f = &s->fixups[i];
		int64_t distance = (int64_t)(s->bias + f->target - (begin + f->end));
		int32_t field = (int32_t)distance;

		if (f->at < from || f->at >= to)
			continue;
		w->fits &= distance == field && (uint32_t)f->at + sizeof field <= to;
		if (w->fits)
			memcpy(bytes + f->at, &field, sizeof field);
	}
}

/* Returns the offset of the two words, if it is @words already. */
static void put_all(struct writer *w, const struct usdt_stub *s, uint32_t words)
{
	put_code(w, s, 0, s->site->lead);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x78, 0xff, 0xff, 0xff); /* lea -136(%rsp), %rsp */
	PUT(w, 0xff, 0x35);					/* push mark(%rip) */
	put_distance(w, w->at + words);
	PUT(w, 0xff, 0x15); /* call *entry(%rip) */
	put_distance(w, w->at + words + 8);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x90, 0x00, 0x00, 0x00); /* lea 144(%rsp), %rsp */
	put_code(w, s, s->site->lead, s->site->code_bytes);
	PUT(w, 0xe9);
	put_distance(w, s->bias + s->site->address + s->site->window);
	while (w->n % WORDS && w->fits)
		PUT(w, 0xcc);
}

uint32_t usdt_stub_write(uint8_t *to, uintptr_t at, const struct usdt_stub *s)
{
	struct writer w = { .to = to, .at = at, .fits = true };
	const uint64_t words[] = { (uintptr_t)s->mark, (uintptr_t)usdt_entry };
	uint32_t size;

	if (s->site->lead > s->site->code_bytes)
		return 0;
	put_all(&w, s, 0);
	if (w.n > USDT_STUB_MOST - WORDS)
		return 0;
	size = w.n;
	w = (struct writer){ .to = to, .at = at, .fits = true };
	put_all(&w, s, size);
	if (!w.fits)
		return 0;
	memcpy(to + size, words, sizeof words);
	return size + WORDS;
}
