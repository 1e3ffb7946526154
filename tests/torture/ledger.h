/* SPDX-License-Identifier: MIT */
/*
 * torture/ledger.h - the writers' record of their events, to be compared with the trace.
 *
 * Every event belongs to an account, its key, and has a number in it.  Both are in the event's
 * context, and a checksum of them is in its payload, so that each event shows by itself which one
 * it is and whether it is complete.  The ledger is in shared memory of its own and outlives its
 * writers: a number is marked as attempted before the call, and as recorded or refused after it.
 *
 * One account has one writer at a time.  A signal handler uses another account than the code that
 * it interrupts.
 */
#ifndef TORTURE_LEDGER_H
#define TORTURE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/write.h"

/* Given up: its writer thought better of it, so it is neither in the trace nor counted as lost. */
enum ledger_status { LEDGER_UNKNOWN, LEDGER_RECORDED, LEDGER_REFUSED, LEDGER_GIVEN_UP };

/* How an event is written; also its class in the trace. */
enum ledger_form {
	LEDGER_EMPTY = 1,	     /* ring_write, no payload */
	LEDGER_STAMP = 2,	     /* ring_write, 8 bytes: the time before the call */
	LEDGER_BODY = 29,	     /* ring_write, struct ledger_body; the last short id */
	LEDGER_WORDS = 30,	     /* the same, of at most 16 bytes of body, by ring_try_words */
	LEDGER_TEXT = 31,	     /* the same, the body a string, by ring_try_text */
	LEDGER_PREFIXED = 7,	     /* words behind a prefix, by ring_try_prefixed */
	LEDGER_PREFIXED_TEXT = 4000, /* a string behind a prefix, by ring_try_prefixed_text */
	LEDGER_ABANDONED = 6,	  /* ring_open, ring_abandon: no event of this class is ever seen */
	LEDGER_PLACED = 65534,	  /* ring_open, ring_commit of less than was asked for */
	LEDGER_TOO_LARGE = 65533, /* ring_write of more than a chunk: always refused */
};

/* Both numbers of an event in its context, which has 48 bits. */
#define LEDGER_CONTEXT(key, seq) ((uint64_t)(seq) << 20 | (key))
#define LEDGER_KEY(context) ((uint32_t)(context)&0xfffff)
#define LEDGER_SEQ(context) ((uint32_t)((context) >> 20) & 0xfffffff)
enum { LEDGER_KEYS_MAX = 1 << 20, LEDGER_LIMIT_MAX = 1 << 28 };

struct ledger_body {
	uint64_t before_ns;
	uint32_t n;
	uint32_t tag;
	uint8_t bytes[];
} __attribute__((packed));

struct ledger_account {
	uint32_t attempted;
	uint32_t recorded;    /* number + 1 of the last recorded event */
	uint64_t recorded_ns; /* before that call */
};

struct ledger {
	uint32_t n_keys;
	uint32_t limit;			 /* events per key */
	struct ledger_account *accounts; /* [n_keys] */
	uint8_t *status;		 /* [n_keys][limit] */
	size_t size;			 /* bytes of the mapping */
};

/* ledger_open - a ledger that children share.  NULL: no memory. */
struct ledger *ledger_open(uint32_t n_keys, uint32_t limit);
void ledger_close(struct ledger *l);

/* Called between ring_open and ring_commit of a LEDGER_PLACED, or ring_abandon of a
 * LEDGER_ABANDONED; NULL: nothing. */
extern void (*ledger_in_place)(void);

/*
 * ledger_write - write the next event of @key, with @n bytes of body if its form has one.
 *
 * Returns the result; LEDGER_UNKNOWN if the account is full: nothing was attempted.
 */
enum ledger_status ledger_write(struct ledger *l, struct pool *p, uint32_t key,
				enum ledger_form form, uint32_t n);

/* The bytes that LEDGER_PLACED and LEDGER_ABANDONED reserve beyond those that they use. */
static inline uint32_t ledger_placed_size(uint32_t n)
{
	return (uint32_t)sizeof(struct ledger_body) + n + n % 32;
}

/* Whether events of class @id bear a struct ledger_body. */
static inline bool ledger_has_body(uint32_t id)
{
	return id == LEDGER_BODY || id == LEDGER_WORDS || id == LEDGER_TEXT ||
	       id == LEDGER_PREFIXED || id == LEDGER_PREFIXED_TEXT || id == LEDGER_PLACED;
}

/* The checksum of event @seq of @key, and byte @i of its body. */
uint32_t ledger_tag(uint32_t key, uint32_t seq);
uint8_t ledger_byte(uint32_t tag, uint32_t i);
/* The same in an event of class @id with @n bytes: those of a string are no NUL but for the last.
 */
uint8_t ledger_byte_of(uint32_t id, uint32_t tag, uint32_t i, uint32_t n);

static inline uint32_t ledger_random(uint64_t *state) /* Marsaglia's xorshift64 (2003) */
{
	uint64_t s = *state;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	*state = s;
	return (uint32_t)(s >> 20);
}

#endif
