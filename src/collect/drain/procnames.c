/* SPDX-License-Identifier: MIT */
/* collect/drain/procnames.c - see procnames.h. */
#include "collect/drain/procnames.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/session.h"
#include "abi/ctf.h"
#include "abi/pool.h"
#include "collect/drain/internal.h"

enum { NAME_ID = 0, FIRING_ID = 1, FIRING_TEXT = 1024 };
enum {
	PROCNAME = 17,
	NAMES_BYTES = 64 << 10,
	NAMES_MOST_BYTES = 2 << 20,
	STREAM_ID = ABI_CHANNELS
};

struct name_event {
	struct abi_ctf_event_extended header;
	uint32_t vpid, vtid;
	char procname[PROCNAME];
	uint32_t pid; /* as we see it, and the kernel's events */
} __attribute__((packed));

struct firing_event {
	struct abi_ctf_event_extended header;
	uint32_t vpid, vtid;
	uint32_t number;
	uint64_t fired, value;
	char text[FIRING_TEXT]; /* only up to its NUL */
} __attribute__((packed));

/* One of them, read from a text. */
struct noted {
	size_t size;
	union {
		struct abi_ctf_event_extended header;
		struct name_event name;
		struct firing_event firing;
	};
};

int procnames_describe(struct ctf_writer *sink, struct diag *d)
{
	struct text t = { 0 };
	int err;

	drain_add_stream(&t, STREAM_ID, 0);
	text_addf(&t,
		  "event {\n\tname = \"lttng_ust_statedump:procname\";\n\tid = %d;\n\tstream_id = "
		  "%d;\n"
		  "\tloglevel = 13;\n\tfields := struct {\n"
		  "\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; } "
		  "_procname[%d];\n"
		  "\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _pid;\n"
		  "\t};\n};\n\n"
		  "event {\n\tname = \"duet:trigger\";\n\tid = %d;\n\tstream_id = %d;\n"
		  "\tloglevel = 6;\n\tfields := struct {\n"
		  "\t\tinteger { size = 32; align = 8; signed = false; } _number;\n"
		  "\t\tinteger { size = 64; align = 8; signed = false; } _fired;\n"
		  "\t\tinteger { size = 64; align = 8; signed = false; } _value;\n"
		  "\t\tstring { encoding = UTF8; } _trigger;\n"
		  "\t};\n};\n\n",
		  NAME_ID, STREAM_ID, PROCNAME, FIRING_ID, STREAM_ID);
	err = t.failed ? diag_fail(d, -ENOMEM, "no memory for the collector")
		       : ctf_writer_describe(sink, t.bytes, t.size, d);
	text_fini(&t);
	return err;
}

void procnames_close(struct procnames *n)
{
	if (n->is_open)
		ctf_stream_close(&n->stream);
	n->is_open = false;
	text_fini(&n->text);
}

static void add_event(struct procnames *n, const void *event, size_t size)
{
	struct abi_ctf_event_extended header;

	memcpy(&header, event, sizeof header);
	if (!n->text.size)
		n->begin_ns = header.time;
	n->end_ns = header.time;
	text_add(&n->text, event, size);
}

/* The event at @at of what was noted; false at the end. */
static bool next_event(const struct text *t, size_t at, struct noted *e)
{
	size_t left = t->size - at;

	if (!left)
		return false;
	memcpy(&e->header, t->bytes + at, left < sizeof e->firing ? left : sizeof e->firing);
	e->size = e->header.id == NAME_ID
			  ? sizeof e->name
			  : offsetof(struct firing_event, text) + strlen(e->firing.text) + 1;
	return true;
}

void procnames_add(struct procnames *n, uint64_t at_ns, uint32_t vpid, pid_t pid,
		   const char *program)
{
	struct name_event e = {
		.header = { ABI_CTF_EXTENDED, NAME_ID, at_ns },
		.vpid = vpid,
		.vtid = vpid,
		.pid = (uint32_t)pid,
	};

	snprintf(e.procname, sizeof e.procname, "%s", program);
	for (char *p = e.procname; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '_';
	add_event(n, &e, sizeof e);
}

void procnames_fired(struct procnames *n, uint64_t at_ns, const struct procnames_firing *f)
{
	struct firing_event e = { .header = { ABI_CTF_EXTENDED, FIRING_ID, at_ns },
				  .vpid = f->vpid,
				  .vtid = f->vtid,
				  .number = f->number,
				  .fired = f->fired,
				  .value = f->value };

	snprintf(e.text, sizeof e.text, "%s", f->text);
	add_event(n, &e, offsetof(struct firing_event, text) + strlen(e.text) + 1);
}

void procnames_add_all(struct procnames *n, const struct procnames *other, uint64_t from_ns)
{
	struct noted e;

	for (size_t at = 0; next_event(&other->text, at, &e); at += e.size) {
		if (e.header.time < from_ns && e.header.id != NAME_ID)
			continue;
		if (e.header.time < from_ns)
			e.header.time = from_ns;
		add_event(n, &e.header, e.size);
	}
}

bool procnames_many(const struct procnames *n)
{
	return n->text.size > NAMES_BYTES && n->text.size > n->enough;
}

/* What is asked of each event that was noted, while some are forgotten. */
struct forgetting {
	uint64_t oldest_ns;
	size_t from; /* what is before goes as if it were older than that */
	struct last {
		uint64_t selector;
		size_t at; /* the last old name of it */
	} * lasts;	   /* in the order of who; NULL: no memory, all are taken for the last */
	size_t n;
};

static bool is_old(const struct forgetting *f, size_t at, const struct noted *e)
{
	return at < f->from || e->header.time < f->oldest_ns;
}

/* A process that we do not see, in another pid namespace, is who it says. */
static uint64_t selector(const struct name_event *e)
{
	return e->pid ? e->pid : 1ull << 32 | e->vpid;
}

static int compare_selectors(const void *a, const void *b)
{
	const struct last *x = a, *y = b;

	return (x->selector > y->selector) - (x->selector < y->selector);
}

static int compare_last(const void *a, const void *b)
{
	const struct last *x = a, *y = b;
	int order = compare_selectors(a, b);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void find_lasts(struct forgetting *f, const struct text *all)
{
	struct noted e;
	size_t n = 0, at;

	f->lasts = malloc(all->size / sizeof e.name * sizeof *f->lasts + 1);
	if (!f->lasts)
		return;
	for (at = 0; next_event(all, at, &e); at += e.size)
		if (e.header.id == NAME_ID && is_old(f, at, &e))
			f->lasts[n++] = (struct last){ selector(&e.name), at };
	qsort(f->lasts, n, sizeof *f->lasts, compare_last);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || f->lasts[i].selector != f->lasts[i + 1].selector)
			f->lasts[f->n++] = f->lasts[i];
}

static bool is_last(const struct forgetting *f, size_t at, const struct name_event *e)
{
	const struct last key = { .selector = selector(e) };
	const struct last *found =
		f->lasts ? bsearch(&key, f->lasts, f->n, sizeof key, compare_selectors) : NULL;

	return !f->lasts || (found && found->at == at);
}

/*
 * A flight recorder keeps the names until it ends, perhaps for weeks: those of the dead, and what
 * has fired, go when the pools hold nothing as old as their joining, that is, now and then, when as
 * many came again.  A pool that fills slowly reaches back far: of more than NAMES_MOST_BYTES the
 * older half goes nevertheless, but for the living. Of a living one that joined again and again its
 * last name is enough: all that is older than that has gone.
 */
void procnames_forget_dead(struct procnames *n, uint64_t oldest_ns)
{
	struct text all = n->text;
	struct forgetting f = { .oldest_ns = oldest_ns,
				.from = all.size > NAMES_MOST_BYTES
						? all.size - NAMES_MOST_BYTES / 2
						: 0 };
	struct noted e;

	n->text = (struct text){ 0 };
	find_lasts(&f, &all);
	for (size_t at = 0; next_event(&all, at, &e); at += e.size)
		if (!is_old(&f, at, &e) || (e.header.id == NAME_ID && is_last(&f, at, &e.name) &&
					    !drain_is_dead(e.name.pid)))
			add_event(n, &e.header, e.size);
	free(f.lasts);
	text_fini(&all);
	n->enough = 2 * n->text.size;
}

static int make_ready(struct procnames *n, struct ctf_writer *sink, struct diag *d)
{
	int err = n->is_open ? 0 : ctf_stream_open(&n->stream, sink, PROCNAMES_STREAM, d);

	n->stream.class_id = STREAM_ID;
	n->is_open = !err;
	return err;
}

int procnames_write(struct procnames *n, struct ctf_writer *sink, uint64_t lost, uint64_t now_ns,
		    struct diag *d)
{
	struct iovec body = { n->text.bytes, n->text.size };
	struct ctf_packet p = { .begin_ns = n->text.size ? n->begin_ns : now_ns,
				.end_ns = n->text.size ? n->end_ns : now_ns,
				.discarded = lost,
				.cpu = ABI_CPU_UNKNOWN,
				.n_body = n->text.size ? 1 : 0,
				.body = &body };
	int err;

	if (!n->text.size && lost == n->lost)
		return 0;
	err = make_ready(n, sink, d);
	if (err)
		return err;
	p.sequence = n->stream.sequence;
	err = ctf_stream_append(&n->stream, &p, d);
	if (err)
		return err;
	n->text.size = 0;
	n->lost = lost;
	return 0;
}
