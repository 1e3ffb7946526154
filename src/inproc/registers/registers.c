/* SPDX-License-Identifier: MIT */
/*
 * inproc/registers/registers.c - events whose payload lies in registers: up to 32 bytes, or up to 16
 * and a string.
 *
 * An event for one session is written here, in the order of what it can be spared: a filter that
 * refuses it comes before all else, and only its words are stored for it, each read back as it was
 * stored.  Then come contexts that this thread keeps, and one sequence of the ring.  What does not
 * fit goes to emit_slow(): several sessions, triggers, call stacks, events of no class yet.
 */
#include <string.h>

#include "inproc/context.h"
#include "inproc/emit.h"

/* A word as an argument in a vector register: of these there are plenty.  Its bits are not looked at. */
#define ARGUMENT(word) as_argument((uint64_t)(uintptr_t)(word))
static inline double as_argument(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

/* The same for one that is kept until then: it takes none of the few others. */
static inline double kept_argument(uint64_t bits)
{
	double d = as_argument(bits);

#ifdef __x86_64__
	__asm__("" : "+x"(d));
#endif
	return d;
}

/* It stays in its register. */
static inline uint64_t bits_of(double d)
{
	uint64_t bits;

#if defined __x86_64__ && !defined __clang__ /* which finds that by itself */
	__asm__("" : "=x"(bits) : "0"(d));
#else
	memcpy(&bits, &d, sizeof bits);
#endif
	return bits;
}

static inline const void *address_of(double d)
{
	return (const void *)(uintptr_t)bits_of(d);
}

/* From here on the words are read from memory, each as it was stored; their registers are free. */
#define IN_MEMORY(words) __asm__("" : "+m"(words))

/* Room for a string with a prefix and words before it. */
enum { PREFIXED_SPACE = TEXT_SPACE + RING_PREFIX_BYTES_MAX + 8 + 32 };

/* ---------------------------------------------------------------- the rest */

/*
 * A call stack is walked from @frame on (inproc/context.h): that of the function here which was called,
 * not jumped to, and calls this one.
 */
static inline __attribute__((always_inline)) void words_slowly(struct duet_i_site *site,
							       const void *ip, const void *frame,
							       uint64_t w0, uint64_t w1,
							       uint64_t w2, uint64_t w3)
{
	uint64_t words[] = { w0, w1, w2, w3 };

	if (!emit_fast(site, words, site->fixed_size))
		emit_slow(site, words, site->fixed_size, ip, frame);
}

static __attribute__((noinline)) void words_slow(struct duet_i_site *site, const void *ip,
						 uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	words_slowly(site, ip, __builtin_frame_address(0), w0, w1, w2, w3);
}

/* @frame: NULL: its own. */
static __attribute__((noinline)) void text_slow(struct duet_i_site *site, const void *ip,
						const char *text, uint64_t w0, uint64_t w1,
						const void *frame)
{
	char payload[2 * sizeof(uint64_t) + TEXT_SPACE + 8], *end;
	size_t size = site->fixed_size;
	struct duet_i_open o;
	int cut = 0;

	if (!frame)
		frame = __builtin_frame_address(0);
	memcpy(payload, &w0, sizeof w0);
	memcpy(payload + sizeof w0, &w1, sizeof w1);
	end = text_copy(payload + size, payload + size + TEXT_SPACE, text, &cut);
	if (!cut) {
		if (!emit_fast(site, payload, (size_t)(end - payload)))
			emit_slow(site, payload, (uint32_t)(end - payload), ip, frame);
		return;
	}
	size_t room = size + strlen(text) + 1;
	char *at = emit_open(site, &o, room + 4, ip, frame);

	if (at) {
		memcpy(at, payload, size);
		emit_commit(&o, text_copy(at + size, at + room, text, &cut));
	}
}

/* ---------------------------------------------------------------- contexts */

/* Behind @prefix, in a pool of either clock.  False: the event is not written. */
static inline __attribute__((always_inline)) bool
try_words_behind(const struct ring_prefix *prefix, struct duet_i_site *site, struct channel *c,
		 ring_context context, uint64_t ip, uint64_t w0, uint64_t w1, uint64_t w2,
		 uint64_t w3)
{
	uint64_t mask = c->contexts,
		 ip_bytes = mask & ABI_CONTEXT_BIT(ABI_CONTEXT_IP) ? sizeof ip : 0;
	uint32_t id = load(&c->ids[site->index]);

	if (unlikely(!id))
		return false;
	if (likely(ring_may_restart(&c->pool, PREFIXED_SPACE)))
		return ring_try_prefixed(&c->pool, id, context, prefix, mask, ip, ip_bytes,
					 &site->fixed_size, w0, w1, w2, w3) == RING_DONE;
	return ring_may_be_coarse(&c->pool, PREFIXED_SPACE) &&
	       ring_try_coarse_prefixed(&c->pool, id, context, prefix, mask, ip, ip_bytes,
					&site->fixed_size, w0, w1, w2, w3) == RING_DONE;
}

static inline __attribute__((always_inline)) bool
try_text_behind(const struct ring_prefix *prefix, struct duet_i_site *site, struct channel *c,
		ring_context context, uint64_t ip, const char *text, uint64_t w0, uint64_t w1)
{
	uint64_t mask = c->contexts,
		 ip_bytes = mask & ABI_CONTEXT_BIT(ABI_CONTEXT_IP) ? sizeof ip : 0;
	uint32_t id = load(&c->ids[site->index]);

	if (unlikely(!id))
		return false;
	if (likely(ring_may_restart(&c->pool, PREFIXED_SPACE)))
		return ring_try_prefixed_text(&c->pool, id, context, prefix, mask, ip, ip_bytes,
					      &site->fixed_size, w0, w1, text) == RING_DONE;
	return ring_may_be_coarse(&c->pool, PREFIXED_SPACE) &&
	       ring_try_coarse_prefixed_text(&c->pool, id, context, prefix, mask, ip, ip_bytes,
					     &site->fixed_size, w0, w1, text) == RING_DONE;
}

/* The thread has other values ready, or none.  Not inlined: it calls, so the words would have to be
 * saved. */
static __attribute__((noinline)) void words_with_new_contexts(struct duet_i_site *site,
							      struct channel *c, double context,
							      double ip, double w0, double w1,
							      double w2, double w3)
{
	const struct ring_prefix *prefix = c->contexts ? context_make_prefix(c->contexts) : NULL;
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), v2 = bits_of(w2), v3 = bits_of(w3),
		 vip = bits_of(ip);

	if (!prefix || !try_words_behind(prefix, site, c, bits_of(context), vip, v0, v1, v2, v3))
		words_slowly(site, (const void *)(uintptr_t)vip, __builtin_frame_address(0), v0, v1,
			     v2, v3);
}

static __attribute__((noinline)) void text_with_new_contexts(struct duet_i_site *site,
							     struct channel *c, const char *text,
							     double context, double ip, double w0,
							     double w1)
{
	const struct ring_prefix *prefix = c->contexts ? context_make_prefix(c->contexts) : NULL;
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), vip = bits_of(ip);

	if (!prefix || !try_text_behind(prefix, site, c, bits_of(context), vip, text, v0, v1))
		text_slow(site, (const void *)(uintptr_t)vip, text, v0, v1,
			  __builtin_frame_address(0));
}

static __attribute__((noinline)) void words_with_contexts(struct duet_i_site *site,
							  struct channel *c, double context,
							  double ip, double w0, double w1,
							  double w2, double w3)
{
	const struct ring_prefix *prefix = context_ready(c->contexts);
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), v2 = bits_of(w2), v3 = bits_of(w3),
		 vip = bits_of(ip), threads = bits_of(context);

	if (unlikely(!prefix))
		words_with_new_contexts(site, c, ARGUMENT(threads), ARGUMENT(vip), ARGUMENT(v0),
					ARGUMENT(v1), ARGUMENT(v2), ARGUMENT(v3));
	else if (unlikely(!try_words_behind(prefix, site, c, threads, vip, v0, v1, v2, v3)))
		words_slow(site, (const void *)(uintptr_t)vip, v0, v1, v2, v3);
}

static __attribute__((noinline)) void text_with_contexts(struct duet_i_site *site,
							 struct channel *c, const char *text,
							 double context, double ip, double w0,
							 double w1)
{
	const struct ring_prefix *prefix = context_ready(c->contexts);
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), vip = bits_of(ip), threads = bits_of(context);

	if (unlikely(!prefix))
		text_with_new_contexts(site, c, text, ARGUMENT(threads), ARGUMENT(vip),
				       ARGUMENT(v0), ARGUMENT(v1));
	else if (unlikely(!try_text_behind(prefix, site, c, threads, vip, text, v0, v1)))
		text_slow(site, (const void *)(uintptr_t)vip, text, v0, v1, NULL);
}

/* ---------------------------------------------------------------- the ways of an event */

/*
 * From here on the compiler knows the site by the address of its size alone, and finds it again with
 * site_of(): so the sequence needs one register less, and no register of the caller is saved.
 */
static inline __attribute__((always_inline)) const uint32_t *size_of(struct duet_i_site *site)
{
	const uint32_t *size = &site->fixed_size;

	__asm__("" : "+r"(size));
	return size;
}

static inline struct duet_i_site *site_of(const uint32_t *size)
{
	return (struct duet_i_site *)((uintptr_t)size - offsetof(struct duet_i_site, fixed_size));
}

/* In a coarse pool.  Not inlined: its sequence needs one register more, which all events would save. */
static __attribute__((noinline)) void put_coarse_words(struct duet_i_site *site, struct channel *c,
						       uint32_t id, double context, double ip,
						       double w0, double w1, double w2, double w3)
{
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), v2 = bits_of(w2), v3 = bits_of(w3),
		 vip = bits_of(ip);
	const uint32_t *size = size_of(site);

	if (unlikely(!ring_may_be_coarse(&c->pool, 4 * sizeof v0) ||
		     ring_try_coarse_words(&c->pool, id, bits_of(context), size, v0, v1, v2, v3)))
		words_slow(site_of(size), (const void *)(uintptr_t)vip, v0, v1, v2, v3);
}

static __attribute__((noinline)) void put_coarse_text(struct duet_i_site *site, struct channel *c,
						      const char *text, uint32_t id, double context,
						      double ip, double w0, double w1)
{
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), vip = bits_of(ip);
	const uint32_t *size = size_of(site);

	if (unlikely(!ring_may_be_coarse(&c->pool, TEXT_SPACE) ||
		     ring_try_coarse_text(&c->pool, id, bits_of(context), size, v0, v1, text)))
		text_slow(site_of(size), (const void *)(uintptr_t)vip, text, v0, v1, NULL);
}

/*
 * An event that has passed its filter, if it has one.  Its words are arguments in vector registers, so
 * that the caller saves none and ends with a jump, and one that refuses the event does nothing at all.
 */
static __attribute__((noinline)) void put_words(struct duet_i_site *site, struct channel *c,
						double context, double ip, double w0, double w1,
						double w2, double w3)
{
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), v2 = bits_of(w2), v3 = bits_of(w3),
		 vip = bits_of(ip), threads = bits_of(context);
	uint32_t id = load(&c->plain[site->index]);
	const uint32_t *size = size_of(site);

	if (unlikely(!id))
		words_with_contexts(site_of(size), c, ARGUMENT(threads), ARGUMENT(vip),
				    ARGUMENT(v0), ARGUMENT(v1), ARGUMENT(v2), ARGUMENT(v3));
	else if (unlikely(!ring_may_restart(&c->pool, 4 * sizeof v0)))
		put_coarse_words(site_of(size), c, id, ARGUMENT(threads), ARGUMENT(vip),
				 ARGUMENT(v0), ARGUMENT(v1), ARGUMENT(v2), ARGUMENT(v3));
	else if (unlikely(ring_try_words(&c->pool, id, threads, size, v0, v1, v2, v3)))
		words_slow(site_of(size), (const void *)(uintptr_t)vip, v0, v1, v2, v3);
}

static __attribute__((noinline)) void put_text(struct duet_i_site *site, struct channel *c,
					       const char *text, double context, double ip,
					       double w0, double w1)
{
	uint64_t v0 = bits_of(w0), v1 = bits_of(w1), vip = bits_of(ip), threads = bits_of(context);
	uint32_t id = load(&c->plain[site->index]);
	const uint32_t *size = size_of(site);

	if (unlikely(!id))
		text_with_contexts(site_of(size), c, text, ARGUMENT(threads), ARGUMENT(vip),
				   ARGUMENT(v0), ARGUMENT(v1));
	else if (unlikely(!ring_may_restart(&c->pool, TEXT_SPACE)))
		put_coarse_text(site_of(size), c, text, id, ARGUMENT(threads), ARGUMENT(vip),
				ARGUMENT(v0), ARGUMENT(v1));
	else if (unlikely(ring_try_text(&c->pool, id, threads, size, v0, v1, text)))
		text_slow(site_of(size), (const void *)(uintptr_t)vip, text, v0, v1, NULL);
}

/* A call stack is walked from the function that is called first. */
static bool has_stack(const struct channel *c)
{
	return c->contexts & ABI_CONTEXT_BIT(ABI_CONTEXT_CALLSTACK);
}

/* The answer of a filter that is not only comparisons. */
static enum filters_answer ask_filter(const struct duet_i_site *site, const uint64_t words[4],
				      const char *text, const void *ip, struct channel **c)
{
	struct session *s = only_session(site);
	uint32_t routing = s ? routing_of(s, site) : 0;

	if (!s || routing & ABI_ROUTING_TRIGGER || !ABI_ROUTING_FILTER(routing))
		return FILTERS_ASK;
	*c = channel_of(s, routing);
	return filters_pass_words(s, site, ABI_ROUTING_FILTER(routing), words, text, ip);
}

static __attribute__((noinline)) void words_with_filter(struct duet_i_site *site, const void *ip,
							uint64_t w0, uint64_t w1, uint64_t w2,
							uint64_t w3)
{
	uint64_t words[] = { w0, w1, w2, w3 };
	struct channel *c = NULL;
	enum filters_answer answer = ask_filter(site, words, NULL, ip, &c);

	if (answer == FILTERS_PASS && !has_stack(c))
		put_words(site, c, ARGUMENT(thread_context), ARGUMENT(ip), ARGUMENT(w0),
			  ARGUMENT(w1), ARGUMENT(w2), ARGUMENT(w3));
	else if (answer != FILTERS_REFUSE)
		words_slowly(site, ip, __builtin_frame_address(0), w0, w1, w2, w3);
}

static __attribute__((noinline)) void text_with_filter(struct duet_i_site *site, const void *ip,
						       const char *text, uint64_t w0, uint64_t w1)
{
	uint64_t words[4] = { w0, w1 };
	struct channel *c = NULL;
	enum filters_answer answer = ask_filter(site, words, text, ip, &c);

	if (answer == FILTERS_PASS && !has_stack(c))
		put_text(site, c, text, ARGUMENT(thread_context), ARGUMENT(ip), ARGUMENT(w0),
			 ARGUMENT(w1));
	else if (answer != FILTERS_REFUSE)
		text_slow(site, ip, text, w0, w1, __builtin_frame_address(0));
}

/* A payload of up to 32 bytes in registers: nothing waits for memory that was just written. */
void emit_words(struct duet_i_site *site, const void *ip, uint64_t w0, uint64_t w1, uint64_t w2,
		uint64_t w3)
{
	double at = kept_argument((uint64_t)(uintptr_t)ip), context;
	struct session *s = only_session(site);
	uint32_t routing;

	if (unlikely(!s)) {
		words_slow(site, address_of(at), w0, w1, w2, w3);
		return;
	}
	context = kept_argument(thread_context);
	routing = routing_of(s, site);
	if (unlikely(routing >= ABI_CHANNELS)) {
		uint64_t w[] = { w0, w1, w2, w3 };
		enum filters_answer answer;

		IN_MEMORY(w);
		answer = filters_pass_directly(s, site, routing, w, FILTERS_WORDS);
		if (likely(answer == FILTERS_REFUSE))
			return;
		if (likely(answer == FILTERS_PASS))
			put_words(site, channel_of(s, routing), context, at, ARGUMENT(w[0]),
				  ARGUMENT(w[1]), ARGUMENT(w[2]), ARGUMENT(w[3]));
		else
			words_with_filter(site, address_of(at), w[0], w[1], w[2], w[3]);
		return;
	}
	put_words(site, channel_of(s, routing), context, at, ARGUMENT(w0), ARGUMENT(w1),
		  ARGUMENT(w2), ARGUMENT(w3));
}

/* emit_words() for up to 16 bytes and a string, which is read in place. */
void emit_text(struct duet_i_site *site, const void *ip, const char *text, uint64_t w0, uint64_t w1)
{
	double at = kept_argument((uint64_t)(uintptr_t)ip), context;
	struct session *s = only_session(site);
	uint32_t routing;

	if (unlikely(!text))
		text = "(null)";
	if (unlikely(!s)) {
		text_slow(site, address_of(at), text, w0, w1, NULL);
		return;
	}
	context = kept_argument(thread_context);
	routing = routing_of(s, site);
	if (unlikely(routing >= ABI_CHANNELS)) {
		uint64_t w[] = { w0, w1 };
		enum filters_answer answer;

		IN_MEMORY(w);
		answer = filters_pass_directly(s, site, routing, w, FILTERS_WORDS);
		if (likely(answer == FILTERS_REFUSE))
			return;
		if (likely(answer == FILTERS_PASS))
			put_text(site, channel_of(s, routing), text, context, at, ARGUMENT(w[0]),
				 ARGUMENT(w[1]));
		else
			text_with_filter(site, address_of(at), text, w[0], w[1]);
		return;
	}
	put_text(site, channel_of(s, routing), text, context, at, ARGUMENT(w0), ARGUMENT(w1));
}
