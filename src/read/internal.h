/* SPDX-License-Identifier: MIT */
/* read/internal.h - inside libduet-read: the reader behind duet/read.h, for its two files. */
#ifndef READ_INTERNAL_H
#define READ_INTERNAL_H

#include <duet/read.h>

#include "trace/trace.h"

struct read_class {
	struct duet_read_class public;
	const struct ctf_event_class *ctf;
	const struct ctf_op **ops; /* of its fields, in their order */
};

struct duet_read {
	struct trace *trace;
	struct trace_event event; /* the current item; event.ctf is of an event only if has_event */
	bool has_event, is_walking, is_part;
	struct ctf_walk walk;
	struct read_class **classes; /* shared with parts; each stays where it is */
	struct duet_read_stream **streams;
	uint32_t n_streams, n_classes;
	bool follows, has_ended; /* has_ended: what is there is all */
	int64_t known_ns;	 /* up to when it may be given */
	void (*damage)(void *context, const char *text);
	void *context;
	struct diag why;
};

/* What is there and not described yet.  0 or -ENOMEM. */
int read_describe(struct duet_read *r);

/* The value that @op shows in the current event. */
void read_field(const struct ctf_event *e, const struct ctf_op *op, struct duet_read_value *v);

#endif
