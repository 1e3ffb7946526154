/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/procnames.c - collect names and firings in memory, and write them as packets of one
 * stream.
 *
 * The buffer holds the events exactly as the packet will.  In overwrite mode they stay in it until
 * the end; procnames_forget_dead bounds it.
 */
#include "collect/drain/procnames.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/session.h"
#include "abi/ctf.h"
#include "abi/pool.h"
#include "collect/drain/internal.h"

enum { NAME_ID = 0, FIRING_ID = 1, IMPOSSIBLE_ID = 2, FIRING_TEXT = 1024 };
enum {
	PROCNAME = 17,
	NAMES_BYTES = 64 << 10,
	NAMES_MOST_BYTES = 2 << 20,
	STREAM_ID = ABI_CHANNELS
};

struct name_event {
	struct abi_ctf_event_extended header;
	struct abi_ctf_ids ids;
	char procname[PROCNAME];
	uint32_t pid; /* in our pid namespace, as in kernel events */
} __attribute__((packed));

struct firing_event {
	struct abi_ctf_event_extended header;
	struct abi_ctf_ids ids;
	uint32_t number;
	uint64_t fired, value;
	char text[FIRING_TEXT]; /* only up to its NUL is stored */
} __attribute__((packed));

struct impossible_event {
	struct abi_ctf_event_extended header;
	struct abi_ctf_ids ids;
	uint32_t pid, uid; /* pid 0: not known */
	uint64_t times, bytes, counters;
	char program[ABI_NAME_BYTES]; /* only up to its NUL is stored */
} __attribute__((packed));

/* One event, read from the buffer. */
struct stored_event {
	size_t size;
	union {
		struct abi_ctf_event_extended header;
		struct name_event name;
		struct firing_event firing;
		struct impossible_event impossible;
	};
};

int procnames_describe(struct ctf_writer *sink, struct diag *d)
{
	struct text t = { 0 };
	int err;

	drain_add_stream(&t, STREAM_ID, 0, true);
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
		  "\t};\n};\n\n"
		  "event {\n\tname = \"duet:impossible\";\n\tid = %d;\n\tstream_id = %d;\n"
		  "\tloglevel = 4;\n\tfields := struct {\n"
		  "\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _pid;\n"
		  "\t\tinteger { size = 32; align = 8; signed = false; } _uid;\n"
		  "\t\tinteger { size = 64; align = 8; signed = false; } _times;\n"
		  "\t\tinteger { size = 64; align = 8; signed = false; } _bytes;\n"
		  "\t\tinteger { size = 64; align = 8; signed = false; } _counters;\n"
		  "\t\tstring { encoding = UTF8; } _program;\n"
		  "\t};\n};\n\n",
		  NAME_ID, STREAM_ID, PROCNAME, FIRING_ID, STREAM_ID, IMPOSSIBLE_ID, STREAM_ID);
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

	assert(size >= sizeof header);
	memcpy(&header, event, sizeof header);
	if (!n->text.size)
		n->begin_ns = header.time;
	n->end_ns = header.time;
	text_add(&n->text, event, size);
}

/* Reads the event at @at.  False at the end. */
static bool next_event(const struct text *t, size_t at, struct stored_event *e)
{
	size_t left = t->size - at;

	if (!left)
		return false;
	memcpy(&e->header, t->bytes + at, left < sizeof e->firing ? left : sizeof e->firing);
	if (e->header.id == NAME_ID)
		e->size = sizeof e->name;
	else if (e->header.id == FIRING_ID)
		e->size = offsetof(struct firing_event, text) + strlen(e->firing.text) + 1;
	else
		e->size = offsetof(struct impossible_event, program) +
			  strlen(e->impossible.program) + 1;
	return true;
}

void procnames_add(struct procnames *n, uint64_t at_ns, uint32_t vpid, pid_t pid,
		   const char *program)
{
	struct name_event e = {
		.header = { ABI_CTF_EXTENDED, NAME_ID, at_ns },
		.ids = { (int32_t)vpid, (int32_t)vpid },
		.pid = (uint32_t)pid,
	};

	/* As long as the kernel's names of threads: filters compare them in programs, too. */
	snprintf(e.procname, sizeof e.procname, "%.15s", program);
	for (char *p = e.procname; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '_';
	add_event(n, &e, sizeof e);
}

void procnames_fired(struct procnames *n, uint64_t at_ns, const struct procnames_firing *f)
{
	struct firing_event e = { .header = { ABI_CTF_EXTENDED, FIRING_ID, at_ns },
				  .ids = { (int32_t)f->vpid, (int32_t)f->vtid },
				  .number = f->number,
				  .fired = f->fired,
				  .value = f->value };

	snprintf(e.text, sizeof e.text, "%s", f->text);
	add_event(n, &e, offsetof(struct firing_event, text) + strlen(e.text) + 1);
}

void procnames_impossible(struct procnames *n, uint64_t at_ns, uid_t uid,
			  const struct bounds_program *p, const struct bounds_kinds *found)
{
	struct impossible_event e = { .header = { ABI_CTF_EXTENDED, IMPOSSIBLE_ID, at_ns },
				      .pid = p->pid,
				      .uid = uid,
				      .times = found->times,
				      .bytes = found->bytes,
				      .counters = found->counters };

	snprintf(e.program, sizeof e.program, "%s", p->name);
	add_event(n, &e, offsetof(struct impossible_event, program) + strlen(e.program) + 1);
}

void procnames_add_all(struct procnames *n, const struct procnames *other, uint64_t from_ns)
{
	struct stored_event e;

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
	return n->text.size > NAMES_BYTES && n->text.size > n->forget_above_bytes;
}

/* Criteria for dropping stored events. */
struct dropping {
	uint64_t oldest_ns;
	size_t from; /* events before this offset count as older than oldest_ns */
	struct last {
		uint64_t selector;
		size_t at; /* of its last old name */
	} * last_names;	   /* sorted by selector; NULL: no memory, and every name counts as the
			    * last one */
	size_t n;
};

static bool is_old(const struct dropping *f, size_t at, const struct stored_event *e)
{
	return at < f->from || e->header.time < f->oldest_ns;
}

/* A process outside our pid namespace is identified by its own vpid. */
static uint64_t selector(const struct name_event *e)
{
	return e->pid ? e->pid : 1ull << 32 | (uint32_t)e->ids.vpid;
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

static void find_last_names(struct dropping *f, const struct text *all)
{
	struct stored_event e;
	size_t n = 0, at;

	f->last_names = malloc(all->size / sizeof e.name * sizeof *f->last_names + 1);
	if (!f->last_names)
		return;
	for (at = 0; next_event(all, at, &e); at += e.size)
		if (e.header.id == NAME_ID && is_old(f, at, &e))
			f->last_names[n++] = (struct last){ selector(&e.name), at };
	qsort(f->last_names, n, sizeof *f->last_names, compare_last);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || f->last_names[i].selector != f->last_names[i + 1].selector)
			f->last_names[f->n++] = f->last_names[i];
}

static bool is_last(const struct dropping *f, size_t at, const struct name_event *e)
{
	const struct last key = { .selector = selector(e) };
	const struct last *found =
		f->last_names ? bsearch(&key, f->last_names, f->n, sizeof key, compare_selectors)
			      : NULL;

	return !f->last_names || (found && found->at == at);
}

/*
 * A session in overwrite mode keeps names until it ends, perhaps for weeks.  Names of dead
 * processes and firings are dropped when they are older than everything in the pools; this runs
 * when their number has doubled.  A pool that fills slowly reaches back far: beyond
 * NAMES_MOST_BYTES the older half is dropped regardless, except names of live processes.  Of a live
 * process that joined repeatedly the last old name is kept.
 */
void procnames_forget_dead(struct procnames *n, uint64_t oldest_ns)
{
	struct text all = n->text;
	struct dropping f = { .oldest_ns = oldest_ns,
			      .from = all.size > NAMES_MOST_BYTES ? all.size - NAMES_MOST_BYTES / 2
								  : 0 };
	struct stored_event e;

	n->text = (struct text){ 0 };
	find_last_names(&f, &all);
	for (size_t at = 0; next_event(&all, at, &e); at += e.size)
		if (!is_old(&f, at, &e) || (e.header.id == NAME_ID && is_last(&f, at, &e.name) &&
					    !drain_is_dead(e.name.pid)))
			add_event(n, &e.header, e.size);
	free(f.last_names);
	text_fini(&all);
	n->forget_above_bytes = 2 * n->text.size;
}

static int make_ready(struct procnames *n, struct ctf_writer *sink, struct diag *d)
{
	int err = n->is_open ? 0 : ctf_stream_open(&n->stream, sink, PROCNAMES_STREAM, d);

	n->stream.class_id = STREAM_ID;
	n->is_open = !err;
	return err;
}

static uint64_t count_stored(const struct text *t)
{
	struct stored_event e;
	uint64_t n = 0;

	for (size_t at = 0; next_event(t, at, &e); at += e.size)
		n++;
	return n;
}

int procnames_write_nothing(struct procnames *n, struct ctf_writer *sink, uint64_t now_ns,
			    struct diag *d)
{
	const struct ctf_packet p = {
		.begin_ns = now_ns, .end_ns = now_ns, .is_report = true, .cpu = ABI_CPU_UNKNOWN
	};
	int err = make_ready(n, sink, d);

	return err ? err : ctf_stream_append(&n->stream, &p, d);
}

int procnames_write(struct procnames *n, struct ctf_writer *sink, const struct procnames_report *r,
		    struct diag *d)
{
	struct iovec body = { n->text.bytes, n->text.size };
	struct ctf_packet p = { .n_events = count_stored(&n->text),
				.begin_ns = n->text.size ? n->begin_ns : r->now_ns,
				.end_ns = n->text.size ? n->end_ns : r->now_ns,
				.discarded = r->lost,
				.is_report = r->is_last,
				.cpu = ABI_CPU_UNKNOWN,
				.n_body = n->text.size ? 1 : 0,
				.body = &body };
	int err;

	if (!n->text.size && r->lost == n->lost)
		return 0;
	err = make_ready(n, sink, d);
	if (err)
		return err;
	p.sequence = n->stream.sequence;
	err = ctf_stream_append(&n->stream, &p, d);
	if (err)
		return err;
	n->text.size = 0;
	n->lost = r->lost;
	return 0;
}
