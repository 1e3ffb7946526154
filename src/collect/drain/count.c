/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/count.c - step over events by the lengths of their classes.
 *
 * The begin of an event depends on the length of the event before, which depends on its header: a
 * chain of two loads for each event, 4 ns.  Most events have the class of the one before, or the
 * length of one of the two before.  So the length is guessed, by a branch: the processor predicts it
 * and reads many headers at once.  A wrong guess costs more than the chain, so where lengths change at
 * random none is made.
 *
 *   (1) the fast loops only step over events that step_any() would accept.  They stop in front of
 *       any other; step_any() alone decides that the count ends
 */
#include "collect/drain/count.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "abi/pool.h"
#include "ctf/write/public.h"

struct class_size {
	bool is_described;
	uint32_t fixed;
	uint32_t n_steps;
	struct sizes_step *steps;
};

struct counter {
	uint64_t contexts;
	bool has_ids;
	struct class_size classes[ABI_SCHEMAS + 1]; /* by id */
	/* Bytes of an event with the shortest header, by the id in it; 0: they vary, or it is another. */
	uint16_t whole[1u << ABI_CTF_ID_BITS];
};

enum { PART = 8192, LINE = 64 };   /* a sixth of a first cache: the source passes through it too */
#define LATEST_NS (UINT64_MAX / 2) /* no sum of short times beyond it wraps */

/* How far a count is. */
struct walk {
	const uint8_t *p, *end;
	uint64_t last_ns, most_ns;
	uint64_t fast_most_ns; /* at most LATEST_NS */
	uint64_t events;
	bool has_late;	 /* step_run() met a time that is not sound: it is behind w->p */
	ptrdiff_t ahead; /* from a byte to one that is copied next: counter_copy() */
	/* of the last event that was not of one length */
	uint32_t id;
	const struct class_size *class;
};

/* The compiler must not make a choice without a branch of it: see the head. */
#define BY_BRANCH(value) __asm__("" : "+r"(value))

struct counter *counter_open(uint64_t contexts, bool has_ids)
{
	struct counter *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->contexts = contexts;
	c->has_ids = has_ids;
	return c;
}

void counter_close(struct counter *c)
{
	for (uint32_t i = 0; c && i <= ABI_SCHEMAS; i++)
		free(c->classes[i].steps);
	free(c);
}

static uint16_t whole_of(const struct class_size *c)
{
	enum { HEADER = sizeof(uint32_t) };

	return !c->n_steps && c->fixed <= UINT16_MAX - HEADER ? (uint16_t)(c->fixed + HEADER) : 0;
}

int counter_describe(struct counter *c, uint32_t id, const char *schema, size_t size)
{
	struct sizes s = { .n_steps = 0 };
	struct class_size *to;
	struct sizes_step *steps = NULL;

	assert(id && id <= ABI_SCHEMAS);
	to = &c->classes[id];

	sizes_add_fixed(&s, c->has_ids ? sizeof(struct abi_ctf_ids) : 0);
	context_to_sizes(&s, c->contexts);
	schema_to_sizes(&s, schema, size);
	if (s.n_steps && !(steps = malloc(s.n_steps * sizeof *steps)))
		return -ENOMEM;
	if (s.n_steps)
		memcpy(steps, s.steps, s.n_steps * sizeof *steps);
	free(to->steps);
	*to = (struct class_size){
		.is_described = true, .fixed = s.fixed, .n_steps = s.n_steps, .steps = steps
	};
	if (id < ABI_CTF_WIDE)
		c->whole[id] = whole_of(to);
	return 0;
}

/*
 * Behind the first NUL; NULL: there is none.  A word at a time: most texts are too short for a call.
 * The lowest zero byte of a word is found exactly (Mycroft 1987).
 */
static const uint8_t *text_end(const uint8_t *p, const uint8_t *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t ones = 0x0101010101010101u;
	uint64_t word, zeros;

	for (; end - p >= (ptrdiff_t)sizeof word; p += sizeof word) {
		memcpy(&word, p, sizeof word);
		zeros = (word - ones) & ~word & ones << 7;
		if (zeros)
			return p + __builtin_ctzll(zeros) / 8 + 1;
	}
#endif
	p = memchr(p, 0, (size_t)(end - p));
	return p ? p + 1 : NULL;
}

/* Where the part of variable size ends; NULL: beyond @end. */
static const uint8_t *step_over(const struct sizes_step *s, const uint8_t *p, const uint8_t *end)
{
	uint32_t n;

	if ((size_t)(end - p) < s->skip)
		return NULL;
	p += s->skip;
	if (!s->element)
		return text_end(p, end);
	if ((size_t)(end - p) < sizeof n)
		return NULL;
	memcpy(&n, p, sizeof n);
	p += sizeof n;
	return (uint64_t)n * s->element <= (uint64_t)(end - p) ? p + (uint64_t)n * s->element
							       : NULL;
}

static const uint8_t *body_end(const struct class_size *c, const uint8_t *p, const uint8_t *end)
{
	for (uint32_t i = 0; i < c->n_steps && p; i++)
		p = step_over(&c->steps[i], p, end);
	return p && (size_t)(end - p) >= c->fixed ? p + c->fixed : NULL;
}

/* The time of the event with this head: the first one from @last_ns on with its low bits. */
static inline uint64_t head_time(uint32_t head, uint64_t last_ns)
{
	return last_ns + (((head >> ABI_CTF_ID_BITS) - (uint32_t)last_ns) & (ABI_CTF_GAP_NS - 1));
}

static inline uint32_t head_at(const uint8_t *p)
{
	uint32_t head;

	memcpy(&head, p, sizeof head);
	return head;
}

/* The class of the event at w->p and its time; NULL: there is no header.  *@body: behind it. */
static inline const struct class_size *read_header(const struct counter *c, struct walk *w,
						   uint64_t *ns, const uint8_t **body)
{
	uint32_t id;
	size_t size;

	*ns = w->last_ns;
	size = abi_ctf_read_event(w->p, (size_t)(w->end - w->p), &id, ns);
	if (!size)
		return NULL;
	*body = w->p + size;
	if (id != w->id) {
		w->id = id;
		w->class = &c->classes[id <= ABI_SCHEMAS ? id : 0];
	}
	return w->class;
}

/* Steps over one event of any class; false: the count ends in front of it. */
static inline bool step_any(const struct counter *c, struct walk *w)
{
	const uint8_t *body;
	uint64_t ns;
	const struct class_size *class = read_header(c, w, &ns, &body);

	if (!class || ns < w->last_ns || ns > w->most_ns || !class->is_described)
		return false;
	body = body_end(class, body, w->end);
	if (!body)
		return false;
	w->p = body;
	w->last_ns = ns;
	w->events++;
	return true;
}

/*
 * Steps over an event of any class, and over those behind it whose lengths vary; false: the count ends
 * in front of one.  The copy stays in registers.
 */
static bool step_varied(const struct counter *c, struct walk *w)
{
	struct walk own = *w;
	bool is_sound;

	do {
		is_sound = step_any(c, &own);
		if ((size_t)(own.end - own.p) < sizeof(uint32_t))
			break;
	} while (is_sound && !c->whole[head_at(own.p) & ABI_CTF_EXTENDED]);
	*w = own;
	return is_sound;
}

/*
 * The length of the event at @p, if it is of one length, within the packet, and its time is sound:
 * (1).  Otherwise 0.  @last_ns is at most LATEST_NS, so the sum does not wrap.
 */
static inline uint32_t whole_at(const struct counter *c, const struct walk *w, const uint8_t *p,
				uint64_t last_ns, uint64_t *ns)
{
	uint32_t head, whole;

	if ((size_t)(w->end - p) < sizeof head)
		return 0;
	head = head_at(p);
	whole = c->whole[head & ABI_CTF_EXTENDED];
	if (whole > (size_t)(w->end - p))
		return 0;
	*ns = head_time(head, last_ns);
	if (*ns > w->fast_most_ns)
		return 0;
	return whole;
}

/* Steps over at most @most events of one length each. */
static __attribute__((noinline)) void step_in_chain(const struct counter *c, struct walk *w,
						    uint32_t most)
{
	const uint8_t *p = w->p;
	uint64_t last_ns = w->last_ns, ns;
	uint32_t n = 0, whole;

	if (last_ns > w->fast_most_ns)
		return;
	for (; n < most && (whole = whole_at(c, w, p, last_ns, &ns)); n++) {
		p += whole;
		last_ns = ns;
	}
	w->p = p;
	w->last_ns = last_ns;
	w->events += n;
}

/* The same, with a guess.  Returns how often it was wrong. */
static __attribute__((noinline)) uint32_t step_by_guess(const struct counter *c, struct walk *w,
							uint32_t most)
{
	uint32_t n = 0, n_wrong = 0, whole, guess = 0, other = 0;
	const uint8_t *p = w->p;
	uint64_t last_ns = w->last_ns, ns;

	if (last_ns > w->fast_most_ns)
		return 0;
	for (; n < most && (whole = whole_at(c, w, p, last_ns, &ns)); n++) {
		if (whole == guess) {
			whole = guess;
			BY_BRANCH(whole);
		} else if (whole == other) {
			whole = other;
			BY_BRANCH(whole);
		} else {
			other = guess;
			guess = whole;
			n_wrong++;
		}
		p += whole;
		last_ns = ns;
	}
	w->p = p;
	w->last_ns = last_ns;
	w->events += n;
	return n_wrong;
}

/*
 * The heads of a run have one id, so the difference of two is a difference of times above zeros.  No event
 * waits for the one before: of eight differences one branch looks at all ids, and one at all times.  If
 * each is short, their sum is the difference of the first and the last head.
 */
struct run {
	const uint8_t *p;
	uint32_t head; /* of the event before @p */
	uint64_t sum;  /* of the differences, with the bits of the id */
};

enum { AT_ONCE = 8 };
#define SHORT_ENOUGH ((uint32_t)(UINT32_MAX / AT_ONCE))

static inline void add_head(struct run *r, uint32_t head)
{
	r->sum += (uint32_t)(head - r->head);
	r->head = head;
}

/* Steps over AT_ONCE events; false: some have another id. */
static inline bool follow_eight(struct run *r, size_t whole)
{
	const uint8_t *p = r->p;
	uint32_t a = head_at(p), b = head_at(p + whole), c = head_at(p + 2 * whole),
		 d = head_at(p + 3 * whole), e = head_at(p + 4 * whole), f = head_at(p + 5 * whole),
		 g = head_at(p + 6 * whole), h = head_at(p + 7 * whole);
	uint32_t any =
		(a - r->head) | (b - a) | (c - b) | (d - c) | (e - d) | (f - e) | (g - f) | (h - g);

	if (any & ABI_CTF_EXTENDED)
		return false;
	if (any <= SHORT_ENOUGH)
		add_head(r, h);
	else
		for (uint32_t i = 0; i < AT_ONCE; i++)
			add_head(r, head_at(p + i * whole));
	r->p += AT_ONCE * whole;
	return true;
}

/* Steps over events with the id of r->head, up to @last, where the last one may begin. */
static inline void follow_run(struct run *r, size_t whole, const uint8_t *last, ptrdiff_t ahead)
{
	while (r->p <= last && (size_t)(last - r->p) >= (AT_ONCE - 1) * whole) {
		uintptr_t next = (uintptr_t)r->p + (uintptr_t)ahead;

		if (!follow_eight(r, whole))
			break;
		__builtin_prefetch((const void *)next, 0, 2);
		__builtin_prefetch((const void *)(next + AT_ONCE / 2 * whole), 0, 2);
	}
	for (; r->p <= last && !((head_at(r->p) ^ r->head) & ABI_CTF_EXTENDED); r->p += whole)
		add_head(r, head_at(r->p));
}

/*
 * Steps over the events of one class that begin here, and returns their number.
 *
 * Times only grow, so if the last one is sound they all are.  Otherwise nothing is done: the other
 * loops look at each.
 */
static __attribute__((noinline)) size_t step_run(const struct counter *c, struct walk *w)
{
	struct run r = { .p = w->p };
	uint64_t ns = w->last_ns;
	uint32_t whole;
	size_t n;

	if (w->has_late || (size_t)(w->end - r.p) < sizeof r.head || ns > w->fast_most_ns)
		return 0;
	r.head = head_at(r.p);
	whole = c->whole[r.head & ABI_CTF_EXTENDED];
	if (!whole || whole > (size_t)(w->end - r.p))
		return 0;
	ns = head_time(r.head, ns);
	r.p += whole;
	follow_run(&r, whole, w->end - whole, w->ahead);
	ns += r.sum >> ABI_CTF_ID_BITS;
	if (ns > w->fast_most_ns) {
		w->has_late = true; /* not again: the others come to that event in small steps */
		return 0;
	}
	n = (size_t)(r.p - w->p) / whole;
	w->p = r.p;
	w->last_ns = ns;
	w->events += n;
	return n;
}

/* Steps over all events up to w->end, or to one that no reader accepts. */
static void step_all(const struct counter *c, struct walk *w)
{
	enum { SHORT = 8, TRIED = 128, TOLERATED = TRIED / 8, NOT_TRIED = 1024 };
	uint64_t events;

	do {
		events = w->events;
		if (step_run(c, w) < SHORT && step_by_guess(c, w, TRIED) > TOLERATED)
			step_in_chain(c, w, NOT_TRIED);
	} while (w->events > events || step_varied(c, w));
}

static struct walk begin_walk(const struct counter *c, const void *bytes, uint64_t begin_ns,
			      uint64_t most_ns)
{
	return (struct walk){ .p = bytes,
			      .end = bytes,
			      .last_ns = begin_ns,
			      .most_ns = most_ns,
			      .fast_most_ns = most_ns < LATEST_NS ? most_ns : LATEST_NS,
			      .class = &c->classes[0] };
}

static struct counted result_of(const struct walk *w, const void *bytes)
{
	assert(w->p >= (const uint8_t *)bytes && w->p <= w->end);
	return (struct counted){ .events = w->events,
				 .bytes = (size_t)(w->p - (const uint8_t *)bytes),
				 .last_ns = w->last_ns };
}

struct counted counter_count(const struct counter *c, const void *bytes, size_t size,
			     uint64_t begin_ns, uint64_t most_ns)
{
	struct walk w = begin_walk(c, bytes, begin_ns, most_ns);

	w.end += size;
	step_all(c, &w);
	return result_of(&w, bytes);
}

/* Parts of one size, of whole lines of a cache; what is left belongs to the last one. */
static size_t part_of(size_t size)
{
	size_t n = (size + PART - 1) / PART;

	return n < 2 ? PART : size / n & ~(size_t)(LINE - 1);
}

/*
 * An event at the end of a part is stepped over with the next one.  The source was written by another
 * CPU, so its bytes come from that CPU's cache.  While a part is counted the next one is fetched, and
 * at the end the first one of @next: into the second cache, as the first one is full.  No part is larger
 * than the one behind it, so nothing is fetched beyond the source, where a program may write.
 */
struct counted counter_copy(const struct counter *c, void *to, const void *from, size_t size,
			    const void *next, uint64_t begin_ns, uint64_t most_ns)
{
	struct walk w = begin_walk(c, to, begin_ns, most_ns);
	size_t part = part_of(size);

	for (size_t done = 0, n; done < size; done += n) {
		const char *ahead;

		n = size - done < 2 * part ? size - done : part;
		ahead = done + n < size ? (const char *)from + done + n : next;
		memcpy((char *)to + done, (const char *)from + done, n);
		w.end += n;
		w.ahead = ahead ? (ptrdiff_t)((uintptr_t)ahead - (uintptr_t)to - done) : 0;
		step_all(c, &w);
	}
	return result_of(&w, to);
}
