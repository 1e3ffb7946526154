/* SPDX-License-Identifier: MIT */
/*
 * inproc/emit.h - the path of an event, shared by typed events (emit.c) and marks (mark_emit.c).
 *
 * Any thread, any signal handler.
 */
#ifndef INPROC_EMIT_H
#define INPROC_EMIT_H

#include <wchar.h>

#include "base/atomic.h"
#include "inproc/process.h"
#include "ring/write.h"
#include "ring/write_coarse.h"
#include "ring/write_fast.h"

/* The one session that wants the event; NULL if there are several, or if anything has to be
 * prepared first. */
static inline __attribute__((always_inline)) struct session *
only_session(const struct duet_i_site *site)
{
	struct session *s = load_acquire(&site->data[SITE_SESSION]); /* pairs with remember() */
	/* Behind that load, so that the compiler need not read it again for what follows. */
	const struct abi_control_event *e = (const struct abi_control_event *)site->enabled;

	if (unlikely(!s || load(&s->word) != load(&e->enabled) || load(s->current) != s->epoch ||
		     load(process.guard) != GUARD_OK || !thread_context))
		return NULL;
	return s;
}

/* The destination of an event in the common case: one session and no filter.  .pool is NULL in all
 * other cases. */
struct fast_destination {
	struct pool *pool;
	uint64_t context;
	uint32_t id;
};

/* Of the event at @site, for session @s. */
static inline __attribute__((always_inline)) uint32_t routing_of(const struct session *s,
								 const struct duet_i_site *site)
{
	const struct abi_control_event *e = (const struct abi_control_event *)site->enabled;

	return load(&e->routing[s->session_slot]);
}

/* A channel beyond the session's has no classes. */
static inline __attribute__((always_inline)) struct channel *channel_of(struct session *s,
									uint32_t routing)
{
	struct channel *c = &s->channels[0];

	routing = ABI_ROUTING_CHANNEL(routing);
	if (unlikely(routing)) {
		/* A branch, which is predicted, and no arithmetic: as most events go to the first
		 * channel, the address of the chunk does not wait for `routing`. */
		__asm__ volatile("" : "+r"(c));
		c += routing;
	}
	return c;
}

static inline __attribute__((always_inline)) struct fast_destination
fast_destination(const struct duet_i_site *site)
{
	struct session *s = only_session(site);
	struct fast_destination r = { .context = thread_context };
	struct channel *c;
	uint32_t routing;

	if (unlikely(!s))
		return r;
	routing = routing_of(s, site);
	if (unlikely(routing >= ABI_CHANNELS)) /* higher bits are a filter */
		return r;
	c = channel_of(s, routing);
	r.id = load(&c->plain[site->index]);
	if (likely(r.id))
		r.pool = &c->pool;
	return r;
}

/* Room for a string of an event. */
enum { TEXT_SPACE = 512 };

/* A payload in memory, readable up to the next multiple of 8.  False if it is not the common case: then
 * emit_slow() has to write it. */
static inline __attribute__((always_inline)) bool emit_fast(struct duet_i_site *site,
							    const void *payload, size_t size)
{
	struct session *s = only_session(site);
	enum filters_answer answer;
	struct channel *c;
	uint32_t routing, id;

	if (unlikely(!s))
		return false;
	routing = routing_of(s, site);
	if (unlikely(routing >= ABI_CHANNELS)) {
		answer = filters_pass_directly(s, site, routing, payload, size);
		if (answer != FILTERS_PASS)
			return answer == FILTERS_REFUSE;
	}
	c = channel_of(s, routing);
	id = load(&c->plain[site->index]);
	if (unlikely(!id))
		return false;
	ring_write(&c->pool, id, thread_context, payload, (uint32_t)size);
	return true;
}

/* All but the common case.  @frame: context_put's; NULL: the callee's. */
void emit_slow(struct duet_i_site *site, const void *payload, uint32_t size, const void *ip,
	       const void *frame) HIDDEN __attribute__((cold));

/* emit_words - duet_i_api.words; emit_text - duet_i_api.text: registers/registers.c. */
void emit_words(struct duet_i_site *site, const void *ip, uint64_t w0, uint64_t w1, uint64_t w2,
		uint64_t w3) HIDDEN;
void emit_text(struct duet_i_site *site, const void *ip, const char *text, uint64_t w0,
	       uint64_t w1) HIDDEN;
/* emit_open - begin an event of at most @size bytes in place; NULL if no session takes it.
 * emit_commit - end it at @end, for all sessions that want it. */
void *emit_open(struct duet_i_site *site, struct duet_i_open *o, size_t size, const void *ip,
		const void *frame) HIDDEN;
void emit_commit(struct duet_i_open *o, char *end) HIDDEN;

/* text_copy - copy @s and its NUL to @p, not past @end; see duet/site.h for @cut. */
char *text_copy(char *p, char *end, const char *s, int *cut) HIDDEN;
/* text_copy_limited - the same for a string that ends at a NUL or after @limit bytes, behind which
 * nothing is read. */
char *text_copy_limited(char *p, char *end, const char *s, size_t limit, int *cut) HIDDEN;

/* text_copy_wide - the same for wchar_t, in UTF-8: at most @limit bytes, whole characters only.
 * text_size_wide - the bytes that it would copy, without the NUL. */
char *text_copy_wide(char *p, char *end, const wchar_t *s, size_t limit, int *cut) HIDDEN;
size_t text_size_wide(const wchar_t *s, size_t limit) HIDDEN;

/* mark_emit - duet_i_api.mark: goes on to one of the two below. */
void mark_emit(struct duet_i_site *site, const char *format, ...) HIDDEN
	__attribute__((format(printf, 2, 3)));
/* mark_by_codes - fetches each argument by its code. */
void mark_by_codes(struct duet_i_site *site, const char *format, ...) HIDDEN
	__attribute__((format(printf, 2, 3)));
/* mark_by_plan - the site's plan is not MARK_BY_CODES: the arguments lie in these registers. */
void mark_by_plan(struct duet_i_site *site, const char *format, uint64_t a, uint64_t b, uint64_t c,
		  uint64_t d) HIDDEN;

#endif
