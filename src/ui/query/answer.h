/* SPDX-License-Identifier: MIT */
/* ui/query/answer.h - what all queries use to read a request and to write an answer. */
#ifndef UI_QUERY_ANSWER_H
#define UI_QUERY_ANSWER_H

#include <string.h>

#include "base/atomic.h"
#include "ui/query/query.h"

/* As in docs/formats/ui.md. */
extern const char *const ui_row_kinds[];
extern const char *const ui_track_kinds[];
extern const char *const ui_state_names[];

static inline void add(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void ui_add_int(struct text *t, int64_t n);
/* "name": with a comma before it unless it follows the opening bracket. */
void ui_add_key(struct text *t, const char *name);
void ui_add_member(struct text *t, const char *name, int64_t n);
void ui_add_string(struct text *t, const char *name, const char *value);
/* "T.I" with its quotes. */
void ui_add_id(struct text *t, uint32_t track, uint32_t index);

/* id, times, row, kind and name of an interval or point; {} if it is not there. */
void ui_add_item(struct text *t, struct ui_index *x, uint32_t track, uint32_t index);
/* What an entry of a track of @kind is called. */
const char *ui_item_name(struct ui_index *x, uint8_t kind, const struct ui_interval *v);

/* ui_moment_text - a time, from the Epoch, as the options --from and --to of commands take it. */
enum { UI_MOMENT_TEXT = 40 };
void ui_moment_text(char text[UI_MOMENT_TEXT], int64_t ns);

/* ui_has_recording - false after it answered that none is open. */
bool ui_has_recording(const struct ui_subject *s, struct ui_answer *a);
/* ui_param_text - parameter @name, NULL if it is missing.  False after it answered that it is given more
 * than once. */
bool ui_param_text(const struct ui_request *q, struct ui_answer *a, const char *name,
		   const char **value);
/* ui_param_range - parameters "from" and "to"; the whole recording if they are missing.  Returns
 * false after it answered what is wrong: no number, or from > to. */
bool ui_param_range(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		    int64_t *from, int64_t *to);
/* ui_param_row, ui_param_id - parameter @name, which must be there: a row that exists; an interval
 * that exists. */
bool ui_param_row(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		  const char *name, uint32_t *row);
bool ui_param_id(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		 uint32_t *track, uint32_t *index);
/* ui_param_ids - parameter "ids", at most @most items that exist, parted by commas.  Returns their number;
 * -1 after it answered what is wrong. */
struct ui_id {
	uint32_t track, index;
};
int ui_param_ids(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		 struct ui_id *ids, int most);

#endif
