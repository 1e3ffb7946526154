/* SPDX-License-Identifier: MIT */
/*
 * ui/item/internal.h - one interval or point and all that is known of it, shared by:
 *
 *   item.c		the request; names, neighbours, what encloses it
 *   waits.c	where its time went, what it waited for, who woke it
 *   rank.c	its place among those of the same name
 *   event.c	fields and stack of its events
 *   call.c	a system call in words
 *
 * Answers from the index are given even if the recording cannot be read; a note reports that.
 */
#ifndef UI_ITEM_INTERNAL_H
#define UI_ITEM_INTERNAL_H

#include "ui/query/answer.h"
#include "ui/reader/reader.h"

enum { ITEM_NOTES = 8 };

struct item {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct ui_index *x;
	struct text *t; /* the answer */
	uint32_t track, index;
	struct ui_track_info info;
	struct ui_interval v;
	const char *name;
	struct ui_row row;
	uint32_t thread; /* row, plus 1; 0: none */
	struct ui_row thread_row;
	uint32_t states; /* track of that thread, plus 1 */
	struct ui_reader *reader;
	const char *notes[ITEM_NOTES];
	char reasons[ITEM_NOTES][256];
	int n_notes;
};

/* item_find - fill in interval @index of @track and its thread; .q and .x are set.  False: it is not there. */
bool item_find(struct item *i, uint32_t track, uint32_t index);
void item_note(struct item *i, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* item_around - the innermost of the system calls, spans and calls of thread row @row that go on at
 * @ns, at most @most; returns their number. */
struct item_around {
	uint32_t track, index;
	struct ui_interval v;
	uint8_t kind;
};
uint32_t item_around(struct ui_index *x, uint32_t row, int64_t ns, struct item_around *found,
		     uint32_t most);

void item_add_sums(struct item *i);
void item_add_waits(struct item *i);
void item_add_rank(struct item *i);
void item_add_events(struct item *i);
void item_add_call(struct item *i);

/* item_calls_title - add what the system call @i works on to @title: "/var/audit.log", "0x7f12", "fd 7"; or
 * nothing.  Calls are given in the order of their begins: what one teaches of descriptors serves the next.
 * 0 or -errno. */
struct call_reading;
struct call_reading *item_calls_open(struct ui_reader *reader, struct diag *d); /* or NULL */
int item_calls_title(struct call_reading *r, struct item *i, struct text *title, struct diag *d);
void item_calls_close(struct call_reading *r); /* accepts NULL */

/* item_values_title - add the values of the event that began @i to @title, cut to @most bytes.  @is_near: the
 * reader stands before it.  1: found; 0: not; or -errno. */
int item_values_title(struct item *i, bool is_near, struct text *title, size_t most,
		      struct diag *d);

/* item_whole_characters - bytes of @text, at most @most of them, that end with a whole character. */
size_t item_whole_characters(const char *text, size_t size, size_t most);

#endif
