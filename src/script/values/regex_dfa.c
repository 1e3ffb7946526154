/* SPDX-License-Identifier: MIT */
/*
 * values/regex_dfa.c - whether a regular expression matches anywhere, one step of a table a byte.
 *
 * A state is the set of instructions at which the expression can be (Rabin and Scott, 1959).  States
 * are made when a text first leads to them, and all are forgotten when there are too many (Russ Cox,
 * "Regular Expression Matching Can Be Simple And Fast", 2007): so memory is bounded, and a text that
 * needs many states takes as long as with sets alone.  Bytes that no instruction tells apart share a
 * column.
 */
#include <assert.h>
#include <string.h>

#include "script/values/regex_code.h"

enum { STATES_MAX = 128, UNKNOWN = UINT8_MAX, BUCKETS = 64 };

struct state {
	bool matches, matches_at_end;
	uint8_t next_in_bucket; /* UNKNOWN: none */
};

struct regex_dfa {
	uint32_t n_words;   /* of a set */
	uint32_t n_classes; /* of bytes */
	uint8_t class[256];
	uint8_t example[256]; /* a byte of each class */
	uint32_t n_states;
	struct state states[STATES_MAX];
	uint8_t buckets[BUCKETS];
	uint64_t *sets; /* n_words for each state */
	uint8_t *next;	/* n_classes for each state: the state, or UNKNOWN */
	uint64_t *set;	/* being made */
	uint32_t *stack;
};

/* ---------------------------------------------------------------- classes of bytes */

static bool takes(const struct regex_insn *i, unsigned c)
{
	return i->op == REGEX_ANY || (i->op == REGEX_BYTE && i->byte == c) ||
	       (i->op == REGEX_SET && i->set[c / 64] >> c % 64 & 1);
}

/* Splits the classes of which @i takes some bytes and others not. */
static void split_classes(struct regex_dfa *d, const struct regex_insn *i)
{
	uint32_t size[256] = { 0 }, taken[256] = { 0 }, become[256];

	for (unsigned c = 0; c < 256; c++) {
		size[d->class[c]]++;
		taken[d->class[c]] += takes(i, c);
	}
	for (uint32_t k = 0, n = d->n_classes; k < n; k++)
		become[k] = taken[k] && taken[k] < size[k] ? d->n_classes++ : k;
	for (unsigned c = 0; c < 256; c++)
		if (takes(i, c))
			d->class[c] = (uint8_t)become[d->class[c]];
}

static void find_classes(const struct script_regex *r, struct regex_dfa *d)
{
	d->n_classes = 1;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->code[i].op == REGEX_BYTE || r->code[i].op == REGEX_SET)
			split_classes(d, &r->code[i]);
	for (unsigned c = 0; c < 256; c++)
		d->example[d->class[c]] = (uint8_t)c;
}

/* ---------------------------------------------------------------- sets */

static bool has(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> i % 64 & 1;
}

/* Adds @insn to the set that is being made, and all that it leads to without a byte.  Each enters
 * the stack at most once for each way to it: two a SPLIT. */
static void add(const struct script_regex *r, uint64_t *set, uint32_t insn, bool is_begin,
		bool is_end)
{
	uint32_t *stack = r->dfa->stack, n = 0;

	stack[n++] = insn;
	while (n) {
		uint32_t at = stack[--n];
		const struct regex_insn *i = &r->code[at];

		if (has(set, at))
			continue;
		set[at / 64] |= 1ull << at % 64;
		if (i->op == REGEX_SPLIT)
			stack[n++] = i->b;
		if (i->op == REGEX_SPLIT || i->op == REGEX_JUMP)
			stack[n++] = i->a;
		if (i->op == REGEX_SAVE || (i->op == REGEX_BEGIN && is_begin) ||
		    (i->op == REGEX_END && is_end))
			stack[n++] = at + 1;
	}
}

static bool has_match(const struct script_regex *r, const uint64_t *set)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (has(set, i) && r->code[i].op == REGEX_MATCH)
			return true;
	return false;
}

/* Whether the set matches if the text ends here. */
static bool matches_at_end(const struct script_regex *r, const uint64_t *set, bool is_begin)
{
	uint64_t *all = r->dfa->set;

	memset(all, 0, r->dfa->n_words * sizeof *all);
	for (uint32_t i = 0; i < r->n; i++)
		if (has(set, i))
			add(r, all, i, is_begin, true);
	return has_match(r, all);
}

/* ---------------------------------------------------------------- states */

static void forget(struct regex_dfa *d)
{
	d->n_states = 0;
	memset(d->buckets, UNKNOWN, sizeof d->buckets);
}

static uint8_t *bucket_of(struct regex_dfa *d, const uint64_t *set)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < d->n_words; i++)
		hash = (hash ^ set[i]) * 0x9e3779b97f4a7c15;
	return &d->buckets[(hash >> 32) % BUCKETS];
}

/* The state of the set that was made.  There is room for one. */
static uint8_t state_of_set(const struct script_regex *r, bool is_begin)
{
	struct regex_dfa *d = r->dfa;
	size_t bytes = d->n_words * sizeof *d->set;
	uint8_t *bucket = bucket_of(d, d->set), number;
	uint64_t *set;

	for (number = *bucket; number != UNKNOWN; number = d->states[number].next_in_bucket)
		if (!is_begin && !memcmp(d->sets + number * d->n_words, d->set, bytes))
			return number;
	assert(d->n_states < STATES_MAX);
	number = (uint8_t)d->n_states++;
	set = d->sets + number * d->n_words;
	memcpy(set, d->set, bytes);
	memset(d->next + number * d->n_classes, UNKNOWN, d->n_classes);
	d->states[number] = (struct state){ .matches = has_match(r, set),
					    .matches_at_end = matches_at_end(r, set, is_begin),
					    .next_in_bucket = UNKNOWN };
	if (is_begin) /* the first state, which is found by its number */
		return number;
	d->states[number].next_in_bucket = *bucket;
	*bucket = number;
	return number;
}

/* State 0: at the begin of the text. */
static void make_first(const struct script_regex *r)
{
	struct regex_dfa *d = r->dfa;

	forget(d);
	memset(d->set, 0, d->n_words * sizeof *d->set);
	add(r, d->set, 0, true, false);
	state_of_set(r, true);
}

/* The state behind @from and a byte of class @class; a match may begin there. */
static uint8_t make_next(const struct script_regex *r, uint8_t from, uint8_t class)
{
	struct regex_dfa *d = r->dfa;
	const uint64_t *set = d->sets + from * d->n_words;
	uint8_t next;

	memset(d->set, 0, d->n_words * sizeof *d->set);
	for (uint32_t i = 0; i < r->n; i++)
		if (has(set, i) && takes(&r->code[i], d->example[class]))
			add(r, d->set, i + 1, false, false);
	add(r, d->set, 0, false, false);
	if (d->n_states == STATES_MAX) {
		uint64_t *kept = d->sets + (STATES_MAX - 1) * d->n_words;

		/* make_first() uses `set`; the last place is free again then. */
		memcpy(kept, d->set, d->n_words * sizeof *kept);
		make_first(r);
		memcpy(d->set, kept, d->n_words * sizeof *kept);
		return state_of_set(r, false);
	}
	next = state_of_set(r, false);
	d->next[from * d->n_classes + class] = next;
	return next;
}

struct regex_dfa *regex_dfa_new(struct script_arena *a, const struct script_regex *r)
{
	struct regex_dfa *d = script_allocate(a, sizeof *d);

	if (!d)
		return NULL;
	find_classes(r, d);
	d->n_words = (r->n + 63) / 64;
	d->sets = script_allocate(a, STATES_MAX * d->n_words * sizeof *d->sets);
	d->next = script_allocate(a, STATES_MAX * d->n_classes);
	d->set = script_allocate(a, d->n_words * sizeof *d->set);
	d->stack = script_allocate(a, (2 * r->n + 2) * sizeof *d->stack);
	forget(d);
	return d->sets && d->next && d->set && d->stack ? d : NULL;
}

bool regex_dfa_match(const struct script_regex *r, const char *text, size_t size)
{
	struct regex_dfa *d = r->dfa;
	uint8_t state = 0;

	if (!d->n_states)
		make_first(r);
	for (size_t i = 0; i < size && !d->states[state].matches; i++) {
		uint8_t class = d->class[(unsigned char)text[i]];
		uint8_t next = d->next[state * d->n_classes + class];

		state = next == UNKNOWN ? make_next(r, state, class) : next;
	}
	return d->states[state].matches || d->states[state].matches_at_end;
}
