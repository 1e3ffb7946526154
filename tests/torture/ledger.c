/* SPDX-License-Identifier: MIT */
/* torture/ledger.c - see ledger.h. */
#include "ledger.h"

#include <string.h>
#include <sys/mman.h>

#include "clock/clock.h"
#include "ring/write_coarse.h"

enum { BODY_BYTES = 6000 };

void (*ledger_in_place)(void);

struct ledger *ledger_open(uint32_t n_keys, uint32_t limit)
{
	size_t size = sizeof(struct ledger) + n_keys * sizeof(struct ledger_account) +
		      (size_t)n_keys * limit;
	struct ledger *l = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (l == MAP_FAILED || n_keys > LEDGER_KEYS_MAX || limit > LEDGER_LIMIT_MAX)
		return NULL;
	l->n_keys = n_keys;
	l->limit = limit;
	l->accounts = (struct ledger_account *)(l + 1);
	l->status = (uint8_t *)(l->accounts + n_keys);
	l->size = size;
	return l;
}

void ledger_close(struct ledger *l)
{
	if (l)
		munmap(l, l->size);
}

uint32_t ledger_tag(uint32_t key, uint32_t seq)
{
	return (uint32_t)(((uint64_t)key << 32 | seq) * 0x9e3779b97f4a7c15ull >> 32);
}

uint8_t ledger_byte(uint32_t tag, uint32_t i)
{
	return (uint8_t)((tag >> (i & 15)) + i * 7);
}

uint8_t ledger_byte_of(uint32_t id, uint32_t tag, uint32_t i, uint32_t n)
{
	if (id != LEDGER_TEXT && id != LEDGER_PREFIXED_TEXT)
		return ledger_byte(tag, i);
	return i == n - 1 ? 0 : ledger_byte(tag, i) | 1;
}

static uint32_t fill(struct ledger_body *b, uint32_t key, uint32_t seq, enum ledger_form form,
		     uint32_t n)
{
	b->n = n;
	b->tag = ledger_tag(key, seq);
	for (uint32_t i = 0; i < n; i++)
		b->bytes[i] = ledger_byte_of(form, b->tag, i, n);
	return (uint32_t)sizeof *b + n;
}

static enum ledger_status write_placed(struct pool *p, uint64_t before_ns, uint32_t key,
				       uint32_t seq, enum ledger_form form, uint32_t n)
{
	ring_context context = LEDGER_CONTEXT(key, seq);
	struct ring_open o;
	struct ledger_body *b;

	b = ring_open(p, &o, form, context, ledger_placed_size(n));
	if (!b)
		return LEDGER_REFUSED;
	b->before_ns = before_ns;
	if (ledger_in_place)
		ledger_in_place();
	n = fill(b, key, seq, form, n);
	if (form == LEDGER_ABANDONED) {
		ring_abandon(p, &o);
		return LEDGER_GIVEN_UP;
	}
	ring_commit(p, &o, n);
	return LEDGER_RECORDED;
}

/* As in libduet: an event that the rseq path refuses takes the path of all others. */
static bool write_registers(struct pool *p, ring_context context, enum ledger_form form,
			    const struct ledger_body *b, uint32_t size)
{
	uint32_t fixed = form == LEDGER_WORDS ? size : (uint32_t)sizeof *b;
	enum ring_outcome r = RING_SLOW;
	uint64_t w[4] = { 0 };

	memcpy(w, b, fixed);
	if (ring_may_be_coarse(p, size) && form == LEDGER_WORDS)
		r = ring_try_coarse_words(p, form, context, &fixed, w[0], w[1], w[2], w[3]);
	else if (ring_may_restart(p, size) && form == LEDGER_WORDS)
		r = ring_try_words(p, form, context, &fixed, w[0], w[1], w[2], w[3]);
	else if (ring_may_be_coarse(p, size))
		r = ring_try_coarse_text(p, form, context, &fixed, w[0], w[1],
					 (const char *)b->bytes);
	else if (ring_may_restart(p, size))
		r = ring_try_text(p, form, context, &fixed, w[0], w[1], (const char *)b->bytes);
	return r == RING_DONE || ring_write(p, form, context, b, size);
}

/* How an event of @size bytes is parted: bytes of the prefix, then 8 or none, then words, then text. */
struct parts {
	uint32_t prefix, w, words;
};

static struct parts parts_of(enum ledger_form form, uint32_t size, uint32_t n)
{
	struct parts p;

	if (form == LEDGER_PREFIXED_TEXT) {
		p.w = n % 3 == 1 ? 8 : 0;
		p.words = n % 3 == 2 ? 8 : 0;
		p.prefix = (uint32_t)sizeof(struct ledger_body) - p.w - p.words;
		return p;
	}
	p.prefix = 16 + n % (RING_PREFIX_BYTES_MAX - 15);
	if (p.prefix > size)
		p.prefix = size;
	else if (size - p.prefix > 8 + 32)
		p.prefix = RING_PREFIX_BYTES_MAX;
	p.w = size - p.prefix > 32 || (n % 2 && size - p.prefix >= 8) ? 8 : 0;
	p.words = size - p.prefix - p.w;
	return p;
}

/*
 * As in libduet (inproc/context.c): the thread's one prefix, which handlers change too.  A handler
 * that comes while it is changed goes without.
 */
static bool write_prefixed(struct pool *p, ring_context context, enum ledger_form form,
			   const struct ledger_body *b, uint32_t size)
{
	static __thread struct ring_prefix prefix;
	static __thread bool is_changing;
	struct parts parts = parts_of(form, size, b->n);
	const char *at = (const char *)b;
	uint64_t what = (context ^ (uint64_t)form << 60) + 1, w[5] = { 0 };
	enum ring_outcome r;

	bool is_coarse = ring_may_be_coarse(p, size + 64);

	if ((!is_coarse && !ring_may_restart(p, size + 64)) || is_changing)
		return ring_write(p, form, context, b, size);
	is_changing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	prefix.what = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	prefix.size = parts.prefix;
	memcpy(prefix.bytes, at, parts.prefix);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	prefix.what = what;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	is_changing = false;
	at += parts.prefix;
	memcpy(w, at, parts.w);
	memcpy(w + 1, at + parts.w, parts.words);
	if (is_coarse && form == LEDGER_PREFIXED)
		r = ring_try_coarse_prefixed(p, form, context, &prefix, what, w[0], parts.w,
					     &parts.words, w[1], w[2], w[3], w[4]);
	else if (is_coarse)
		r = ring_try_coarse_prefixed_text(p, form, context, &prefix, what, w[0], parts.w,
						  &parts.words, w[1], w[2], (const char *)b->bytes);
	else if (form == LEDGER_PREFIXED)
		r = ring_try_prefixed(p, form, context, &prefix, what, w[0], parts.w, &parts.words,
				      w[1], w[2], w[3], w[4]);
	else
		r = ring_try_prefixed_text(p, form, context, &prefix, what, w[0], parts.w,
					   &parts.words, w[1], w[2], (const char *)b->bytes);
	return r == RING_DONE || ring_write(p, form, context, b, size);
}

static bool write_form(struct pool *p, uint64_t before_ns, uint32_t key, uint32_t seq,
		       enum ledger_form form, uint32_t n)
{
	ring_context context = LEDGER_CONTEXT(key, seq);
	uint64_t words[(sizeof(struct ledger_body) + BODY_BYTES) / 8];
	struct ledger_body *b = (struct ledger_body *)words;

	memset(words, 0, form == LEDGER_TOO_LARGE ? sizeof words : sizeof *b);
	b->before_ns = before_ns;
	switch (form) {
	case LEDGER_EMPTY:
		return ring_write(p, form, context, words, 0);
	case LEDGER_STAMP:
		return ring_write(p, form, context, words, 8);
	case LEDGER_TOO_LARGE:
		return ring_write(p, form, context, words, p->chunk_size);
	case LEDGER_WORDS:
		return write_registers(p, context, form, b, fill(b, key, seq, form, n % 17));
	case LEDGER_TEXT:
		n = n % (BODY_BYTES - 16) ? n % (BODY_BYTES - 16) : 1;
		return write_registers(p, context, form, b, fill(b, key, seq, form, n));
	case LEDGER_PREFIXED:
		return write_prefixed(p, context, form, b, fill(b, key, seq, form, n % 73));
	case LEDGER_PREFIXED_TEXT:
		n = n % (BODY_BYTES - 16) ? n % (BODY_BYTES - 16) : 1;
		return write_prefixed(p, context, form, b, fill(b, key, seq, form, n));
	case LEDGER_BODY:
		n = fill(b, key, seq, form, n > BODY_BYTES - 16 ? BODY_BYTES - 16 : n);
		return ring_write(p, form, context, b, n);
	case LEDGER_PLACED:
	case LEDGER_ABANDONED:
		break; /* write_placed() */
	}
	return false;
}

enum ledger_status ledger_write(struct ledger *l, struct pool *p, uint32_t key,
				enum ledger_form form, uint32_t n)
{
	uint64_t before_ns = clock_now_ns(&p->clock);
	struct ledger_account *a = &l->accounts[key];
	uint32_t seq = a->attempted;
	enum ledger_status s;

	if (seq == l->limit)
		return LEDGER_UNKNOWN;
	store(&a->attempted, seq + 1); /* first: after a longjmp the number is not used again */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (form == LEDGER_PLACED || form == LEDGER_ABANDONED)
		s = write_placed(p, before_ns, key, seq, form, n);
	else
		s = write_form(p, before_ns, key, seq, form, n) ? LEDGER_RECORDED : LEDGER_REFUSED;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&l->status[(size_t)key * l->limit + seq], s);
	if (s == LEDGER_RECORDED) {
		store(&a->recorded_ns, before_ns);
		store(&a->recorded, seq + 1);
	}
	return s;
}
