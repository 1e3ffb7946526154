/* SPDX-License-Identifier: MIT */
/* ui/export/making.h - the data of one file in the making: html_data.c, html_tracks.c. */
#ifndef UI_EXPORT_MAKING_H
#define UI_EXPORT_MAKING_H

#include "ui/export/internal.h"
#include "ui/query/answer.h"

enum { HTML_REST_BYTES = 4096 }; /* for all that is small */

struct html_track {		       /* a track */
	uint32_t track, row, from, to; /* its intervals */
	struct ui_track_info info;
};

struct html_making {
	const struct ui_subject *s;
	const struct html_options *o;
	struct html_result *result;
	struct diag *d;
	struct text *t;
	size_t most; /* of *t */
	struct ui_index_status status;
	bool *has_row, *has_name;
	uint32_t n_rows, n_names;
	struct text rows;   /* made first, so that there is room for them */
	size_t names_bytes; /* room for all names so far */
	uint32_t *fresh;    /* names that only the newest track has */
	uint32_t n_fresh, n_fresh_rooms;
	struct html_track *tracks;
	uint32_t n_tracks;
	uint64_t left_out[UI_TRACK_COUNTER + 1]; /* intervals, by kind of track */
};

bool html_is_cancelled(const struct html_making *m);
/* html_put - add the JSON @piece if there is room for it and @spare bytes.  Whether it was added. */
bool html_put(struct html_making *m, const struct text *piece, size_t spare);
/* html_leave_out - tell the user what is missing in the file. */
void html_leave_out(struct html_making *m, const char *sentence);

/* html_find_tracks - choose and sort the tracks of the chosen rows.  0 or -ENOMEM. */
int html_find_tracks(struct html_making *m);
/* html_add_tracks - add those for which there is room.  0 or -ECANCELED. */
int html_add_tracks(struct html_making *m);
/* html_report_tracks - say which intervals are left out. */
void html_report_tracks(struct html_making *m);

#endif
