/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/lines.c - lines are formatted into the text that its thread holds, and printed when
 * nothing can change them any more.
 *
 *	  DURATION   [pid.tid] | FUNCTION
 *
 * The sign before a duration is that of ftrace: + 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s.
 */
#include "cmd/graph/lines.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"

static const char *const colors[] = { "\33[32m", "\33[36m", "\33[33m",
				      "\33[35m", "\33[34m", "\33[31m" };

/* ---------------------------------------------------------------- one line */

static char sign_of(int64_t ns)
{
	static const struct {
		int64_t ns;
		char sign;
	} signs[] = { { 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' },
		      { 1000000, '#' },	   { 100000, '!' },    { 10000, '+' } };

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (ns >= signs[i].ns)
			return signs[i].sign;
	return ' ';
}

/* Thirteen columns. */
static void add_duration(struct text *to, int64_t ns)
{
	if (ns < 0)
		text_addf(to, "%13s", "");
	else if (ns < 1000000)
		text_addf(to, "%c %8.3f us", sign_of(ns), (double)ns / 1e3);
	else if (ns < 1000000000)
		text_addf(to, "%c %8.3f ms", sign_of(ns), (double)ns / 1e6);
	else
		text_addf(to, "%c %8.3f s ", sign_of(ns), (double)ns / 1e9);
}

static void begin_line(const struct lines *l, const struct lines_thread *t, struct text *to,
		       int64_t duration_ns, uint32_t depth)
{
	uint32_t column = l->has_columns ? t->color % 8 * 8 : 0;

	add_duration(to, duration_ns);
	if (l->has_colors)
		text_addf(to, " %s%15s\33[m | ",
			  colors[t->color % (sizeof colors / sizeof *colors)], t->who);
	else
		text_addf(to, " %15s | ", t->who);
	depth = depth < 100 ? depth : 100;
	text_addf(to, "%*s", (int)(column + 2 * depth), "");
}

static const char *kind_text(enum lines_kind kind)
{
	return kind == LINES_SYSCALL ? ", system call" : kind == LINES_IRQ ? ", interrupt" : "";
}

/* Adds a comment with all that is unusual about the call. */
static void add_marks(struct text *to, const char *name, uint32_t size, enum lines_kind kind,
		      unsigned marks)
{
	struct text comment = { 0 };

	if (size) {
		text_addf(&comment, ", ");
		text_add_printable(&comment, name, size);
	}
	text_addf(&comment, "%s%s%s%s", kind_text(kind),
		  marks & LINES_BEFORE ? ", had begun before" : "",
		  marks & LINES_UNWOUND ? ", unwound" : "",
		  marks & LINES_OPEN ? ", had not returned" : "");
	if (comment.size > 2)
		text_addf(to, " /* %s */", comment.bytes + 2);
	to->failed |= comment.failed;
	text_fini(&comment);
}

static void add_begin(const struct lines *l, const struct lines_thread *t, struct text *to,
		      const struct lines_open *c, uint32_t depth)
{
	begin_line(l, t, to, -1, depth);
	text_add_printable(to, c->name, c->name_size);
	text_addf(to, "() {");
	add_marks(to, NULL, 0, c->kind, c->marks & LINES_BEFORE);
	text_add(to, "\n", 1);
}

static void add_leaf(const struct lines *l, const struct lines_thread *t, struct text *to,
		     const struct lines_open *c, uint32_t depth, int64_t duration_ns)
{
	begin_line(l, t, to, duration_ns, depth);
	text_add_printable(to, c->name, c->name_size);
	text_addf(to, "();");
	add_marks(to, NULL, 0, c->kind, c->marks);
	text_add(to, "\n", 1);
}

static void add_end(const struct lines *l, const struct lines_thread *t, struct text *to,
		    const struct lines_open *c, uint32_t depth, int64_t duration_ns)
{
	begin_line(l, t, to, duration_ns, depth);
	text_add(to, "}", 1);
	add_marks(to, c->name, c->name_size, LINES_FUNCTION, c->marks & (unsigned)~LINES_BEFORE);
	text_add(to, "\n", 1);
}

/* ---------------------------------------------------------------- held lines */

/* All open calls last long enough. */
static void make_sure(struct lines_thread *t)
{
	for (uint32_t i = t->n_open; i-- && t->n_unsure;) {
		t->n_unsure -= t->open[i].is_unsure;
		t->open[i].is_unsure = false;
	}
	assert(!t->n_unsure);
}

static void print_held(struct lines *l, struct lines_thread *t)
{
	const char *at = t->held.bytes, *end = at + t->held.size;

	while (at < end && !l->is_full) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t n = line ? (size_t)(line + 1 - at) : (size_t)(end - at);

		out_room(l->out);
		out_data(l->out, at, n);
		at += n;
		l->is_full = ++l->n_lines >= l->limit;
	}
	make_sure(t);
	for (uint32_t i = t->n_open; i-- && t->open[i].at != SIZE_MAX;)
		t->open[i].at = t->open[i].is_hidden ? 0 : SIZE_MAX;
	t->held.size = 0;
	t->n_tails = 0;
}

/* Prints the lines that later ones cannot change; called before another is added. */
static void settle(struct lines *l, struct lines_thread *t)
{
	if ((!t->n_unsure && !t->n_tails) || t->held.size > LINES_HELD_MAX)
		print_held(l, t);
}

static int failure(const struct lines_thread *t)
{
	return t->held.failed ? -ENOMEM : 0;
}

static bool hides(const struct lines_thread *t)
{
	return t->n_open && t->open[t->n_open - 1].is_hidden;
}

int lines_begin(struct lines *l, struct lines_thread *t, const struct lines_call *c)
{
	struct lines_open one = { .name = c->name,
				  .name_size = c->name_size,
				  .kind = (uint8_t)c->kind,
				  .marks = (uint8_t)c->marks,
				  .begin_ns = c->time_ns };

	if (pass_grow(&t->open, &t->n_rooms, t->n_open, sizeof *t->open))
		return -ENOMEM;
	one.is_hidden = hides(t) || (l->depth && t->n_open >= l->depth) ||
			(c->duration_ns >= 0 && (uint64_t)c->duration_ns < l->over_ns);
	one.is_unsure =
		!one.is_hidden && l->over_ns && c->duration_ns < 0 && !(c->marks & LINES_BEFORE);
	l->n_short += one.is_hidden;
	if (!one.is_hidden) {
		settle(l, t);
		one.at = t->held.size;
		add_begin(l, t, &t->held, &one, t->n_open);
		one.end = t->held.size;
		t->n_unsure += one.is_unsure;
	}
	t->open[t->n_open++] = one;
	return failure(t);
}

int lines_end(struct lines *l, struct lines_thread *t, int64_t time_ns, unsigned marks)
{
	struct lines_open *c;
	int64_t ns;

	if (!t->n_open)
		return 0;
	c = &t->open[--t->n_open];
	if (c->is_hidden)
		return 0;
	t->n_unsure -= c->is_unsure;
	c->marks |= (uint8_t)marks;
	ns = time_ns > c->begin_ns ? time_ns - c->begin_ns : 0;
	if (c->at != SIZE_MAX && c->is_unsure && (uint64_t)ns < l->over_ns &&
	    !(marks & LINES_OPEN)) {
		t->held.size = c->at;
		l->n_short++;
		return 0;
	}
	if (marks & LINES_BEFORE)
		ns = -1;
	if (c->at != SIZE_MAX && t->held.size == c->end) {
		t->held.size = c->at;
		add_leaf(l, t, &t->held, c, t->n_open, ns);
	} else {
		add_end(l, t, &t->held, c, t->n_open, ns);
	}
	if (c->is_unsure)
		make_sure(t); /* its callers last longer still */
	settle(l, t);
	return failure(t);
}

/* Inserts @line at @at. */
static void insert(struct text *held, size_t at, const struct text *line)
{
	size_t before = held->size;

	text_add(held, line->bytes, line->size);
	if (held->failed)
		return;
	memmove(held->bytes + at + line->size, held->bytes + at, before - at);
	memcpy(held->bytes + at, line->bytes, line->size);
}

int lines_ended(struct lines *l, struct lines_thread *t, const struct lines_call *c, int64_t depth)
{
	struct lines_open one = { .name = c->name,
				  .name_size = c->name_size,
				  .kind = (uint8_t)c->kind,
				  .marks = (uint8_t)c->marks };
	uint32_t level = t->n_open + (depth > 0 && depth < 100 ? (uint32_t)depth : 0);
	struct text line = { 0 };
	size_t at;

	if (hides(t) || (uint64_t)c->duration_ns < l->over_ns || (l->depth && level >= l->depth)) {
		l->n_short++;
		return 0;
	}
	if (!t->n_tails)
		settle(l, t);
	at = t->held.size;
	while (t->n_tails && t->tails[t->n_tails - 1].depth > depth)
		at = t->tails[--t->n_tails].at;
	if (at == t->held.size) {
		add_leaf(l, t, &t->held, &one, level, c->duration_ns);
	} else {
		add_begin(l, t, &line, &one, level);
		if (!line.failed)
			insert(&t->held, at, &line);
		add_end(l, t, &t->held, &one, level, c->duration_ns);
	}
	text_fini(&line);
	if (pass_grow(&t->tails, &t->n_tail_rooms, t->n_tails, sizeof *t->tails))
		return -ENOMEM;
	t->tails[t->n_tails++] = (struct lines_tail){ depth, at };
	if (depth <= 0)
		t->n_tails = 0;
	settle(l, t);
	return failure(t);
}

int lines_note(struct lines *l, struct lines_thread *t, int64_t duration_ns, const char *text,
	       size_t size)
{
	if (hides(t) || (duration_ns >= 0 && (uint64_t)duration_ns < l->over_ns))
		return 0;
	if (duration_ns >= 0)
		make_sure(t); /* the calls around it last longer still */
	settle(l, t);
	begin_line(l, t, &t->held, duration_ns, t->n_open);
	text_addf(&t->held, "/* ");
	text_add(&t->held, text, size);
	text_addf(&t->held, " */\n");
	return failure(t);
}

int lines_finish(struct lines *l, struct lines_thread *t)
{
	int err = 0;

	while (t->n_open && !err) {
		struct lines_open *c = &t->open[t->n_open - 1];

		err = lines_end(l, t, c->begin_ns, LINES_OPEN | LINES_BEFORE);
	}
	print_held(l, t);
	return err;
}

void lines_free(struct lines_thread *t)
{
	text_fini(&t->held);
	free(t->open);
	free(t->tails);
	*t = (struct lines_thread){ 0 };
}
