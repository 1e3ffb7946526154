/* SPDX-License-Identifier: MIT */
/* trace/marks/internal.h - the marks of a recording, shared by the files of this directory. */
#ifndef TRACE_MARKS_INTERNAL_H
#define TRACE_MARKS_INTERNAL_H

#include "trace/marks/marks.h"

enum { MARKS_VERSION = 2, MARKS_MOST = 1 << 16 };

struct mark {
	int64_t time_ns;
	uint64_t at, size; /* its bytes in the file */
	char *bytes;	   /* NULL: they are in the file alone */
	uint64_t checksum;
};

/* The header is followed by bytes of marks; the table is the end of the file. */
struct marks_header {
	char magic[8];
	uint32_t version, n;
	uint64_t fingerprint[2];
	uint64_t every;
	uint64_t table_at, file_bytes;
	uint64_t checksum; /* of the header with 0 here, and of the table */
};

struct marks_made {
	struct trace *trace;
	struct names *names;
	struct marks_file file;
	struct marks_header seen; /* of the table in `at`; zeroes: there was none */
	uint64_t fingerprint[2]; /* of the files as they are mapped; the marks are of these alone */
	uint64_t every;		 /* items from mark to mark */
	uint64_t bytes, bytes_most;
	struct mark *at; /* ascending */
	uint32_t n, n_rooms;
	bool has_new, is_over;
};

struct marks_entry {
	int64_t time_ns;
	uint64_t at, size;
	uint64_t checksum; /* of its bytes */
};

/* file.c: which recording it is.  False: a file has not the size that is mapped, as it grows meanwhile. */
bool marks_identify(const struct trace *t, uint64_t hash[2]);
/* file.c: the table of the file.  Returns what is wrong, or NULL; then there may be no marks. */
const char *marks_read_table(struct marks_made *m);
/* file.c: the bytes of @k, allocated; NULL if they are damaged, or another reader has written the file since its
 * table was read, or writes it: @has_changed. */
char *marks_read_mark(const struct marks_made *m, const struct mark *k, bool *has_changed);
/* file.c: replace the file by all marks, or add later ones to those of another reader. */
void marks_write(struct marks_made *m);

/* marks.c: free the bytes of all marks; there are none then. */
void marks_forget(struct marks_made *m);

/* marks.c: leave out every second mark until all of them fit. */
void marks_thin(struct marks_made *m);

#endif
