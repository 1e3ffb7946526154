/* SPDX-License-Identifier: MIT */
/*
 * filter/direct.h - the common filters as a few comparisons, which are inlined where events begin.
 *
 * Most filters compare integers with constants: `a > 1`, `b == 2 && c != 3`, `state == "DONE" || d < 0`.
 * A value of n bits for which such a comparison holds lies in one interval modulo 2^n, whatever the
 * operation and the sign.  So each is
 *
 *	((word - low) & mask) <= span
 *
 * with the value in its place in one aligned word of the payload: below it `low` has zeros, so nothing
 * is borrowed from there, and `mask` drops what is above.  Nothing is shifted, and each word is read
 * as it was stored.  One string may be compared too, behind them.  All other filters are run by
 * filter_run().
 */
#ifndef FILTER_DIRECT_H
#define FILTER_DIRECT_H

#include <string.h>

#include "filter/filter.h"

enum { FILTER_DIRECT_MAX = 6 };

struct filter_comparison {
	uint64_t low, mask, span;
	uint32_t at; /* of the word in the payload */
};

struct filter_direct {
	uint32_t n;	/* comparisons of integers */
	uint32_t size;	/* bytes of the payload that these need */
	bool decisive;	/* the result of one that decides: false for `&&`, true for `||` */
	bool has_text;	/* a string is compared, if nothing decided before */
	bool is_match;	/* with a pattern */
	bool is_wanted; /* the result of that with which the event passes */
	uint32_t text_at;
	uint32_t constant, constant_size; /* offset in the filter */
	struct filter_comparison comparisons[FILTER_DIRECT_MAX];
};

/*
 * filter_make_direct - the comparisons of a linked filter; false if it has another form, or compares
 * integers beyond the first @size bytes.
 *
 * Any thread or signal handler.
 */
bool filter_make_direct(struct filter_direct *d, const struct filter *f, size_t size);

/* filter_compares_integers - the comparisons of integers, if there are any; @payload: d->size bytes,
 * readable up to the next multiple of 8.  Returns !d->decisive if none decides. */
static inline __attribute__((always_inline)) bool
filter_compares_integers(const struct filter_direct *d, const void *payload)
{
	const struct filter_comparison *c = d->comparisons, *end = c + d->n;

	do {
		uint64_t word;
		bool is_true;

		memcpy(&word, (const char *)payload + c->at, sizeof word);
		is_true = ((word - c->low) & c->mask) <= c->span;
		if (is_true == d->decisive)
			return is_true;
	} while (++c < end);
	return !d->decisive;
}

/* filter_compares_text - the comparison of a string, if d->has_text; @payload: all of it. */
bool filter_compares_text(const struct filter_direct *d, const struct filter *f,
			  const void *payload, size_t size);

#endif
