/* SPDX-License-Identifier: MIT */
/*
 * ui/query/query.h - the answers of the timeline's server: what is asked of a recording, as JSON.
 *
 * The interface is docs/formats/ui.md.  A query knows nothing of HTTP's connections: the server gives
 * it a request that it has let in, and sends what it answers.
 *
 * Invariants:
 *   (1) an answer depends on the index, the recording and the request alone; any number of threads
 *       may ask at once
 *   (2) every parameter is untrusted; a wrong one is answered by 400 and a sentence
 *   (3) every string of a recording leaves as a JSON string
 *   (4) a query that may take longer than a frame asks ui_is_cancelled() from time to time
 */
#ifndef UI_QUERY_QUERY_H
#define UI_QUERY_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "ui/index/index.h"

struct ui_query_params {
	const char *name, *value; /* decoded, of UTF-8 */
};

struct ui_request {
	const char *method, *path; /* "GET", "/api/picture" */
	const struct ui_query_params *params;
	int n_params;
	const char *body; /* NUL-terminated; "" */
	size_t body_size;
	const uint32_t
		*is_cancelled; /* atomic; NULL: never.  Nobody waits for the answer any more */
};

struct ui_answer {
	int status;	     /* of HTTP; 200 */
	const char *type;    /* "application/json" if NULL; lives as long as the program */
	char file_name[128]; /* "": shown, else offered as a file of this name */
	struct text body;    /* the receiver frees it */
	int body_fd;	     /* -1, or an open file that is the body (then `body` is empty) */
};

/* What queries are about. */
struct ui_subject {
	struct ui_index *index; /* NULL: no recording, only sessions */
	const char *const *paths;
	int n_paths;
	bool is_live;	  /* a session that is followed */
	const char *self; /* this program's file, for exports and scripts that run as commands */
};

/* ui_query_fn - answer @q about @s.  @a is {.status = 200, .body_fd = -1} before. */
typedef void ui_query_fn(const struct ui_subject *s, const struct ui_request *q,
			 struct ui_answer *a);

struct ui_route {
	const char *method, *path;
	ui_query_fn *answer;
	bool is_slow; /* it may read the recording: not in the line of pictures */
};

extern const struct ui_route ui_query_routes[];
extern const int ui_query_n_routes;

/* ui_param - the value of parameter @name, or NULL. */
const char *ui_param(const struct ui_request *q, const char *name);
/* ui_param_int - parameter @name as a decimal number within [@least, @most], @otherwise if there is
 * none.  Returns false after it answered that the number is wrong. */
bool ui_param_int(const struct ui_request *q, struct ui_answer *a, const char *name, int64_t least,
		  int64_t most, int64_t otherwise, int64_t *value);
/* ui_param_rows - parameter "rows", at most @most numbers of rows that exist, parted by commas.
 * Returns their number; -1 after it answered what is wrong. */
int ui_param_rows(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		  uint32_t *rows, int most);
bool ui_is_cancelled(const struct ui_request *q);
/* ui_refuse - answer @status and {"error": text}. */
void ui_refuse(struct ui_answer *a, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* ui_json_string - append @bytes as a JSON string with its quotes: escapes, bytes that are no UTF-8 as
 * U+FFFD. */
void ui_json_string(struct text *t, const char *bytes, size_t size);

/* Each answers the request of its name; docs/formats/ui.md. */
ui_query_fn ui_query_recording, ui_query_picture, ui_query_overview, ui_query_item, ui_query_next,
	ui_query_search, ui_query_wakes, ui_query_events, ui_query_area, ui_query_latency,
	ui_query_flame, ui_query_why, ui_query_script, ui_query_export, ui_query_titles;

#endif
