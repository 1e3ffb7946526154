/* SPDX-License-Identifier: MIT */
/* read/internal.h - the reader behind duet/read.h, shared by the files of libduet-read. */
#ifndef READ_INTERNAL_H
#define READ_INTERNAL_H

#include <duet/read.h>

#include "trace/public.h"

struct read_class {
	struct duet_read_class public;
	const struct ctf_event_class *ctf;
	const struct ctf_op **ops; /* one for each of its fields, in order */
};

/* A text that was translated to UTF-8, kept while the event is current. */
struct read_text {
	struct read_text *next;
	struct text text;
};

struct duet_read {
	struct trace *trace;
	struct trace_event event; /* the current item; event.ctf is valid only if has_event */
	bool has_event, is_walking, is_part;
	struct ctf_walk walk;
	struct read_class **classes; /* shared with parts; their addresses never change */
	struct duet_read_stream **streams;
	uint32_t n_streams, n_classes;
	bool follows, has_ended; /* has_ended: no more will come */
	int64_t known_ns;	 /* events up to this time are complete */
	void (*damage)(void *context, const char *text);
	void *context;
	struct diag why;
	struct read_text *texts;
};

/* read_describe - add classes and streams that are new in the trace.  0 or -ENOMEM. */
int read_describe(struct duet_read *r);

/* read_field - store the value that @op fetches from the current event. */
void read_field(struct duet_read *r, const struct ctf_op *op, struct duet_read_value *v);

/* read_forget_texts - free the texts of the event that was current. */
void read_forget_texts(struct duet_read *r);

#endif
