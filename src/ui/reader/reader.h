/* SPDX-License-Identifier: MIT */
/*
 * ui/reader/reader.h - recordings kept open, to read a few events at any time.
 *
 * Opening a large recording takes longer than reading a page of it, so readers that are given back are
 * kept for as long as the index lives.  One query uses a reader at a time.
 *
 * Reading begins at a packet near the wanted time, not at the begin of the recording.  So threads are
 * named by the rows of the index; from there on by the events that are read.
 */
#ifndef UI_READER_READER_H
#define UI_READER_READER_H

#include "trace/public.h"
#include "trace/text/public.h"
#include "ui/index/index.h"

enum { UI_NO_ROW = UINT32_MAX };

struct ui_reader {
	struct ui_index *index;
	struct trace *trace;
	struct names *names;
	struct addresses *addresses; /* functions of addresses in fields */
	struct places *places;	     /* variables at addresses */
	struct out out;
	struct text *text;	      /* where `out` writes */
	const uint32_t *is_cancelled; /* as in struct ui_request */
	int64_t begin_ns;	      /* of the index */
	bool *is_shown;		      /* by class: no state dump, no batch of calls */
	bool *learns;		      /* by class: its events name threads */
	bool has_failed;	      /* not used again */
	/* private to reader.c */
	struct ui_reader *next;
	struct reader_base *base;
	struct reader_pool *pool;
	struct reader_thread *threads; /* by host, tid, begin of life */
	struct reader_thread *cpus;    /* `tid` is the number */
	uint32_t *hosts;	       /* by source: its number, as in struct ui_row */
	uint32_t n_threads, n_cpus;
	uint64_t version; /* of the index, when these were listed */
};

/*
 * ui_reader_take - a reader of the recordings of @x.
 *
 * @is_live: they are still written.  @is_cancelled: may be NULL; reading fails soon after it is set.
 *
 * Returns NULL with the reason in @d.  Give it back with ui_reader_give().
 */
struct ui_reader *ui_reader_take(struct ui_index *x, const char *const *paths, int n_paths,
				 bool is_live, const uint32_t *is_cancelled, struct diag *d);
void ui_reader_give(struct ui_reader *r); /* accepts NULL */

/* ui_reader_warm - open the first reader in a thread of its own: of a large recording that takes a while.
 * Any number of calls. */
void ui_reader_warm(struct ui_index *x, const char *const *paths, int n_paths);

/* ui_reader_seek - the next item is the first at @ns (of the index) or later.  0 or -errno. */
int ui_reader_seek(struct ui_reader *r, int64_t ns, struct diag *d);
/* ui_reader_next - as trace_next().  *@who: the thread of an event. */
int ui_reader_next(struct ui_reader *r, struct trace_event *e, struct thread_identity *who,
		   struct diag *d);
/* ui_reader_skim - as ui_reader_next(), but learns only names from events of classes that are not
 * @is_wanted, by number: *@who is not set for these. */
int ui_reader_skim(struct ui_reader *r, const bool *is_wanted, struct trace_event *e,
		   struct thread_identity *who, struct diag *d);
/* ui_reader_row - the row of thread @tid that lived at @ns, on @e's host; UI_NO_ROW. */
uint32_t ui_reader_row(const struct ui_reader *r, const struct trace_event *e, int64_t tid,
		       int64_t ns);
/* ui_reader_cpu_row - the row of @e's CPU; UI_NO_ROW. */
uint32_t ui_reader_cpu_row(const struct ui_reader *r, const struct trace_event *e);
/* ui_reader_fields - contexts and fields of @e as text, NUL-terminated, valid until the next call. */
const char *ui_reader_fields(struct ui_reader *r, const struct trace_event *e, int64_t pid,
			     size_t *size);

/* ui_reader_bytes - bytes of the packets before @ns, between packets in proportion to time.  With
 * INT64_MAX: all.  A measure of how many events lie before it. */
uint64_t ui_reader_bytes(const struct ui_reader *r, int64_t ns);

#endif
