/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/stub.c - write stubs.
 *
 * Flags are not kept: at a function's entry they hold nothing, and the plan refuses functions that
 * return a result in them.  So the head may be a `test`, which one byte makes a jump.
 */
#include "inproc/calls/stub.h"

#include <string.h>

enum { FRAME_BYTES = sizeof(struct calls_frame), COPIES_MOST = 512, CODE_MOST = 256, PREFIX = 8 };

struct writer {
	uint8_t *to;
	uintptr_t at;
	uint32_t n;
	bool fits;
};

static void put(struct writer *w, const void *bytes, uint32_t n)
{
	if (w->n + n > STUB_MOST_BYTES) {
		w->fits = false;
		return;
	}
	memcpy(w->to + w->n, bytes, n);
	w->n += n;
}

#define PUT(w, ...)                                                                                \
	do {                                                                                       \
		static const uint8_t bytes_[] = { __VA_ARGS__ };                                   \
		put(w, bytes_, sizeof bytes_);                                                     \
	} while (0)

static void put32(struct writer *w, uint32_t v)
{
	put(w, &v, sizeof v);
}

/* The last field of an instruction: the distance from its end to @target. */
static void put_distance(struct writer *w, uintptr_t target)
{
	int64_t distance = (int64_t)(target - (w->at + w->n + 4));

	if (distance != (int32_t)distance)
		w->fits = false;
	put32(w, (uint32_t)distance);
}

static void set32(struct writer *w, uint32_t at, uint32_t v)
{
	if (w->fits)
		memcpy(w->to + at, &v, sizeof v);
}

static void call_hook(struct writer *w, uintptr_t word)
{
	PUT(w, 0xff, 0x15); /* call *word(%rip) */
	put_distance(w, word);
}

/* Displaced instructions, with what they refer to relative to them. */
static void put_displaced(struct writer *w, const struct stub *s)
{
	const struct abi_plan_fixup *f = s->plan->fixups + s->site->fixup;
	uint32_t begin = w->n;

	put(w, s->plan->code + s->site->code, s->site->code_bytes);
	for (uint32_t i = 0; i < s->site->n_fixups && w->fits; i++) {
		int64_t distance = (int64_t)(s->bias + f[i].target - (w->at + begin + f[i].end));

		if (distance != (int32_t)distance)
			w->fits = false;
		set32(w, begin + f[i].at, (uint32_t)distance);
	}
}

/* Pushing one word that lies @words higher each time copies them in their order. */
static void push_copies(struct writer *w, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++) {
		PUT(w, 0xff, 0xb4, 0x24); /* push disp32(%rsp) */
		put32(w, FRAME_BYTES + 8 + 8 * (words - 1));
	}
}

static void put_copied_call(struct writer *w, uint32_t call, struct stub_parts *parts)
{
	push_copies(w, parts->copied / 8);
	parts->copies_begin = w->n;
	PUT(w, 0xe8); /* call body */
	put_distance(w, w->at + call);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24); /* lea disp32(%rsp), %rsp */
	put32(w, parts->copied);
	parts->copies_end = w->n;
}

/* Records @mark, whose word is at @word: the registers are the program's, before and after.  The
 * mark's own code is the same: inproc/usdt/stub.c. */
static void put_mark(struct writer *w, const struct usdt_mark *mark, uint32_t word)
{
	if (!mark)
		return;
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x78, 0xff, 0xff, 0xff); /* lea -136(%rsp), %rsp */
	PUT(w, 0xff, 0x35);					/* push mark(%rip) */
	put_distance(w, w->at + word);
	PUT(w, 0xff, 0x15); /* call *entry(%rip) */
	put_distance(w, w->at + word + 8);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x90, 0x00, 0x00, 0x00); /* lea 144(%rsp), %rsp */
}

static void put_words(struct writer *w, const struct usdt_mark *mark)
{
	const uint64_t words[] = { (uintptr_t)mark, usdt_entry_address() };

	if (mark)
		put(w, words, sizeof words);
}

/* Everything from the head to the body, which begins at offset @body. */
static void put_frame(struct writer *w, const struct stub *s, struct stub_parts *parts,
		      uint32_t body, uint32_t words)
{
	uint32_t je;

	put_mark(w, s->arguments, words);
	PUT(w, 0x48, 0x8d, 0x64, 0x24, 0xf0); /* lea -16(%rsp), %rsp */
	PUT(w, 0x68);			      /* push $function */
	put32(w, s->function);
	call_hook(w, s->enter);
	PUT(w, 0x48, 0x83, 0x7c, 0x24, 0x10, 0x00, 0x0f, 0x84); /* cmpq $0, 16(%rsp); je tail */
	je = w->n;
	put32(w, 0);
	if (parts->copied) {
		put_copied_call(w, body, parts);
	} else {
		PUT(w, 0xe8);
		put_distance(w, s->site->code_bytes ? w->at + body
						    : s->bias + s->site->address + s->site->window);
	}
	call_hook(w, s->leave);
	put_mark(w, s->result, words + (s->arguments ? 16 : 0));
	PUT(w, 0x48, 0x8d, 0x64, 0x24, FRAME_BYTES, 0xc3); /* lea 24(%rsp), %rsp; ret */
	set32(w, je, w->n - je - 4);
	PUT(w, 0x48, 0x8d, 0x64, 0x24, FRAME_BYTES);
}

/* Returns the offset at which the body begins. */
static uint32_t put_all(struct writer *w, const struct stub *s, struct stub_parts *parts,
			uint32_t body, uint32_t words)
{
	uint32_t begins;

	if (parts->copied) { /* its body is too far for a jump of two bytes: from here */
		PUT(w, 0xe9);
		put_distance(w, w->at + body);
		PUT(w, 0x0f, 0x1f, 0x00);
	}
	parts->head = w->n;
	PUT(w, STUB_ON, 0);
	put_frame(w, s, parts, body, words);
	begins = w->n;
	w->fits &= parts->copied || begins - (parts->head + 2) <= INT8_MAX;
	if (w->fits)
		w->to[parts->head + 1] =
			(uint8_t)((parts->copied ? 0 : begins) - (parts->head + 2));
	put_displaced(w, s);
	PUT(w, 0xe9); /* jmp site + window */
	put_distance(w, s->bias + s->site->address + s->site->window);
	while (w->n % 16)
		PUT(w, 0xcc);
	parts->words = w->n;
	put_words(w, s->arguments);
	put_words(w, s->result);
	parts->size = w->n;
	return begins;
}

bool stub_write(uint8_t *to, uintptr_t at, const struct stub *s, struct stub_parts *parts)
{
	struct writer w = { .to = to, .at = at, .fits = true };
	uint32_t body, copied = (s->site->stack_bytes + 15u) & ~15u;

	if (copied > COPIES_MOST || s->site->code_bytes > CODE_MOST)
		return false;
	*parts = (struct stub_parts){ .copied = copied };
	body = put_all(&w, s, parts, 0, 0);
	w = (struct writer){ .to = to, .at = at, .fits = true };
	put_all(&w, s, parts, body, parts->words);
	return w.fits;
}

uint32_t stub_size(const struct plan *plan, const struct abi_plan_site *site)
{
	uint8_t bytes[STUB_MOST_BYTES];
	/* Everything is near in an imagined file; displaced code may refer to anything. */
	struct stub s = { .plan = plan, .site = site };
	struct stub_parts parts = { .size = 0 };

	stub_write(bytes, 0, &s, &parts);
	return parts.size;
}
