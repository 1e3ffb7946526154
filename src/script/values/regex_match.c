/* SPDX-License-Identifier: MIT */
/*
 * values/regex_match.c - a regular expression run over a text.
 *
 * The table of regex_dfa.c knows whether there is a match; this finds where it and its groups are.
 * A list holds the threads at one place of the text, the one with the greatest priority first; an
 * instruction is in it at most once.
 */
#include <string.h>

#include "script/values/regex_code.h"

struct run {
	struct script_regex *r;
	const char *text;
	int32_t size;
	int32_t bounds[2 * SCRIPT_REGEX_GROUPS]; /* of the thread that is being added */
};

static void push(struct run *run, uint32_t *n, struct regex_visit v)
{
	run->r->stack[(*n)++] = v;
}

/* Follows one instruction that reads no byte; true: it does not belong into the list. */
static bool follow(struct run *run, const struct regex_insn *i, uint32_t number, int32_t at,
		   uint32_t *n)
{
	switch (i->op) {
	case REGEX_SPLIT:
		push(run, n, (struct regex_visit){ .insn = i->b, .bound = -1 });
		push(run, n, (struct regex_visit){ .insn = i->a, .bound = -1 });
		return true;
	case REGEX_JUMP:
		push(run, n, (struct regex_visit){ .insn = i->a, .bound = -1 });
		return true;
	case REGEX_SAVE:
		push(run, n,
		     (struct regex_visit){ .bound = (int32_t)i->a, .value = run->bounds[i->a] });
		push(run, n, (struct regex_visit){ .insn = number + 1, .bound = -1 });
		run->bounds[i->a] = at;
		return true;
	case REGEX_BEGIN:
	case REGEX_END:
		if (at == (i->op == REGEX_BEGIN ? 0 : run->size))
			push(run, n, (struct regex_visit){ .insn = number + 1, .bound = -1 });
		return true;
	default:
		return false;
	}
}

/* Adds instruction @insn and all that it leads to without a byte, with the bounds in run->bounds.
 * The stack suffices: an instruction adds at most two to it, once a step. */
static void add(struct run *run, struct regex_threads *list, uint32_t insn, int32_t at)
{
	struct script_regex *r = run->r;
	uint32_t n = 0;

	push(run, &n, (struct regex_visit){ .insn = insn, .bound = -1 });
	while (n) {
		struct regex_visit v = r->stack[--n];

		if (v.bound >= 0) {
			run->bounds[v.bound] = v.value;
			continue;
		}
		if (list->seen[v.insn] == r->step)
			continue;
		list->seen[v.insn] = r->step;
		if (follow(run, &r->code[v.insn], v.insn, at, &n))
			continue;
		list->at[list->n].insn = v.insn;
		memcpy(list->at[list->n].bounds, run->bounds, sizeof run->bounds);
		list->n++;
	}
}

static bool takes(const struct regex_insn *i, unsigned char c)
{
	return i->op == REGEX_ANY || (i->op == REGEX_BYTE && i->byte == c) ||
	       (i->op == REGEX_SET && i->set[c / 64] >> c % 64 & 1);
}

/* A step of all threads over the byte at @at.  Of matches that begin at one place the longest one
 * stays; among those the one with the greatest priority. */
static bool step(struct run *run, struct regex_threads *from, struct regex_threads *to, int32_t at,
		 int32_t best[2 * SCRIPT_REGEX_GROUPS])
{
	bool found = false;

	for (uint32_t i = 0; i < from->n; i++) {
		struct regex_thread *t = &from->at[i];
		const struct regex_insn *insn = &run->r->code[t->insn];

		if (best[0] >= 0 && t->bounds[0] > best[0])
			continue;
		if (insn->op == REGEX_MATCH) {
			if (!found &&
			    (best[0] < 0 || t->bounds[1] > best[1] || t->bounds[0] < best[0]))
				memcpy(best, t->bounds, sizeof t->bounds);
			found = true;
		} else if (at < run->size && takes(insn, (unsigned char)run->text[at])) {
			memcpy(run->bounds, t->bounds, sizeof t->bounds);
			add(run, to, t->insn + 1, at + 1);
		}
	}
	return to->n;
}

static void run_over(struct run *run, int32_t best[2 * SCRIPT_REGEX_GROUPS])
{
	struct script_regex *r = run->r;
	struct regex_threads *from = &r->threads[0], *to = &r->threads[1], *swap;

	best[0] = -1;
	from->n = 0;
	if (r->step > UINT32_MAX - (uint32_t)run->size - 2) {
		r->step = 0;
		memset(r->threads[0].seen, 0, r->n * sizeof(uint32_t));
		memset(r->threads[1].seen, 0, r->n * sizeof(uint32_t));
	}
	r->step++;
	for (int32_t at = 0; at <= run->size; at++) {
		if (best[0] < 0) {
			memset(run->bounds, 0xff, sizeof run->bounds);
			add(run, from, 0, at);
		}
		to->n = 0;
		r->step++;
		if (!step(run, from, to, at, best) && best[0] >= 0)
			return;
		swap = from;
		from = to;
		to = swap;
	}
}

static bool match_literal(const struct script_regex *r, const char *text, size_t size,
			  struct script_regex_match *m)
{
	const char *found = memmem(text, size, r->literal, r->literal_size);

	if (!found)
		return false;
	if (m) {
		*m = (struct script_regex_match){ .n_groups = 1 };
		m->begin[0] = (int32_t)(found - text);
		m->end[0] = m->begin[0] + (int32_t)r->literal_size;
	}
	return true;
}

bool script_regex_find(struct script_regex *r, const char *text, size_t size,
		       struct script_regex_match *m)
{
	struct run run = { .r = r, .text = text, .size = (int32_t)size };
	int32_t best[2 * SCRIPT_REGEX_GROUPS];

	run_over(&run, best);
	if (best[0] < 0)
		return false;
	for (uint32_t i = 0; i < SCRIPT_REGEX_GROUPS; i++) {
		m->begin[i] = best[2 * i];
		m->end[i] = best[2 * i + 1];
	}
	m->n_groups = r->n_groups < SCRIPT_REGEX_GROUPS ? r->n_groups : SCRIPT_REGEX_GROUPS;
	return true;
}

bool script_regex_match(struct script_regex *r, const char *text, size_t size,
			struct script_regex_match *m)
{
	if (r->literal)
		return match_literal(r, text, size, m);
	return regex_dfa_match(r, text, size) && (!m || script_regex_find(r, text, size, m));
}
