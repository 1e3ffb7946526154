/* SPDX-License-Identifier: MIT */
/*
 * ui/item/event.c - the events that an item was made of: fields and stack: see internal.h.
 *
 * The recording is read at the item's time alone.  An event is recognized by its time, which the index
 * has exactly, its thread and its name.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbol/symbol.h"
#include "trace/symbols/public.h"
#include "ui/item/internal.h"

enum { EVENTS_LOOKED_AT = 200000, FIELDS_MOST = 256, FRAMES_MOST = 256 };

/* ---------------------------------------------------------------- which event */

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool has_number(const struct trace_event *e, const char *field, int64_t number)
{
	const struct ctf_op *op = ctf_class_find(e->ctf->class, CTF_PAYLOAD, field);
	int64_t value;

	return op && ctf_event_number(e->ctf, op, &value) && value == number;
}

static bool is_call_event(const char *class, const char *call, bool is_end)
{
	const char *at = strstr(class, is_end ? "syscall_exit_" : "syscall_entry_");

	return at && !strcmp(at + (is_end ? 13 : 14), call);
}

/* A change of a thread's state, or of the thread on a CPU. */
static bool is_change(const struct item *i, const struct trace_event *e, int64_t tid, bool is_end)
{
	bool is_switch = begins(e->ctf->class->name, "sched_switch");

	if (i->info.kind == UI_TRACK_RUNNING)
		return is_switch && has_number(e, is_end ? "prev_tid" : "next_tid", tid);
	return has_number(e, "next_tid", tid) || has_number(e, "prev_tid", tid) ||
	       (has_number(e, "tid", tid) && begins(e->ctf->class->name, "sched_wak"));
}

static bool is_device_event(const struct item *i, const struct trace_event *e, bool is_end)
{
	const char *name = e->ctf->class->name;

	if (i->row.kind == UI_ROW_DISK)
		return begins(name, is_end ? "block_rq_complete" : "block_rq_issue");
	return e->cpu == i->info.depth && strstr(name, is_end ? "exit" : "entry") &&
	       (begins(name, "irq_") || begins(name, "softirq_") || begins(name, "x86_irq_"));
}

static bool is_event_of(const struct item *i, const struct trace_event *e,
			const struct thread_identity *who, bool is_end)
{
	bool is_kernel = e->stream->source->domain == TRACE_KERNEL;
	bool is_own = i->thread && who->tid == i->thread_row.tid;
	const char *name = e->ctf->class->name;

	switch (i->info.kind) {
	case UI_TRACK_SYSCALLS:
		return is_kernel && is_own && is_call_event(name, i->name, is_end);
	case UI_TRACK_SPANS:
		return !is_kernel && is_own && begins(name, i->name);
	case UI_TRACK_EVENTS:
		return is_own && !strcmp(name, i->name);
	case UI_TRACK_SAMPLES:
		return is_own && begins(name, "profile");
	case UI_TRACK_COUNTER:
		return begins(i->row.name, name);
	case UI_TRACK_BUSY:
		return is_kernel && is_device_event(i, e, is_end);
	case UI_TRACK_STATES:
		return is_kernel && (is_change(i, e, i->thread_row.tid, is_end) ||
				     (is_own && strstr(name, "syscall_")));
	case UI_TRACK_RUNNING:
		return is_kernel && i->thread && is_change(i, e, i->thread_row.tid, is_end);
	}
	return false;
}

/* The event at @ns, behind @skip others, from where the reader is.  1: found; 0: not; or -errno. */
static int scan_event(struct item *i, int64_t ns, bool is_end, int skip, struct trace_event *e,
		      struct thread_identity *who, struct diag *d)
{
	for (int n = 0; n < EVENTS_LOOKED_AT; n++) {
		int got = ui_reader_next(i->reader, e, who, d);

		if (got == TRACE_END)
			return 0;
		if (got < 0 || e->time_ns - i->reader->begin_ns > ns)
			return got < 0 ? got : 0;
		if (got == TRACE_EVENT && e->time_ns - i->reader->begin_ns == ns &&
		    is_event_of(i, e, who, is_end) && !skip--)
			return 1;
	}
	return 0;
}

static int find_event(struct item *i, int64_t ns, bool is_end, int skip, struct trace_event *e,
		      struct thread_identity *who, struct diag *d)
{
	int err = ui_reader_seek(i->reader, ns, d);

	return err ? err : scan_event(i, ns, is_end, skip, e, who, d);
}

/* ---------------------------------------------------------------- fields */

/* The end of the value at @p: a comma or brace outside of quotes and brackets. */
static const char *end_of_value(const char *p, const char *end)
{
	int depth = 0;
	bool is_quoted = false;

	for (; p < end; p++) {
		if (is_quoted) {
			is_quoted = *p != '"';
			p += *p == '\\';
		} else if (*p == '"') {
			is_quoted = true;
		} else if (strchr("{[(", *p) && *p) {
			depth++;
		} else if (depth && strchr("}])", *p) && *p) {
			depth--;
		} else if (!depth && (*p == ',' || (*p == '}' && p[-1] == ' '))) {
			return p;
		}
	}
	return p < end ? p : end;
}

typedef void on_field(void *context, const char *name, size_t name_size, const char *value,
		      size_t size);

/* Calls @on for each field of @text: "{ a = 1 }, { b = "x", c = [ 1, 2 ] }". */
static void each_field(const char *text, size_t size, on_field *on, void *context)
{
	const char *p = text, *end = text + size;

	for (int n = 0; p < end && n < FIELDS_MOST; n++) {
		const char *name, *value, *stop;

		while (p < end && strchr("{}, ", *p) && *p)
			p++;
		name = p;
		value = memmem(p, (size_t)(end - p), " = ", 3);
		if (!value)
			return;
		stop = end_of_value(value + 3, end);
		p = stop;
		while (stop > value + 3 && stop[-1] == ' ')
			stop--;
		on(context, name, (size_t)(value - name), value + 3, (size_t)(stop - value - 3));
	}
}

static bool is_stack(const char *name, size_t size)
{
	return size > 10 && !memcmp(name, "callstack_", 10);
}

/* Where the event was emitted: a stack of one. */
static bool is_place(const char *name, size_t size)
{
	return size == 2 && !memcmp(name, "ip", 2);
}

static void add_field(void *context, const char *name, size_t name_size, const char *value,
		      size_t size)
{
	struct text *t = context;

	if (is_stack(name, name_size))
		return;
	add(t, t->bytes[t->size - 1] == '[' ? "[" : ",[");
	ui_json_string(t, name, name_size);
	add(t, ",");
	ui_json_string(t, value, size);
	add(t, "]");
}

/* ---------------------------------------------------------------- stack */

struct resolver {
	pthread_mutex_t lock;
	struct modules *modules;
	struct symbols *symbols;
};

static const char resolver_key;

static void *resolver_make(void *context)
{
	const struct ui_subject *s = context;
	struct resolver *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->symbols = symbols_open();
	if (modules_open(&r->modules, s->paths, s->n_paths, NULL))
		r->modules = NULL;
	return r;
}

static void resolver_destroy(void *kept)
{
	struct resolver *r = kept;

	modules_close(r->modules);
	symbols_close(r->symbols);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct frames {
	bool (*is_stack)(const char *name, size_t size); /* which fields have addresses */
	struct item *i;
	struct resolver *r;
	int64_t pid;
	uint64_t clock;
	int n;
};

static void add_line(struct text *t, const struct symbol_line *at)
{
	const char *slash = at->source ? strrchr(at->source, '/') : NULL;
	char source[512];

	if (!at->source || !at->line)
		return;
	snprintf(source, sizeof source, "%s:%u", slash ? slash + 1 : at->source, at->line);
	ui_add_string(t, "source", source);
}

static void begin_frame(struct frames *f)
{
	struct text *t = f->i->t;

	if (!f->n++)
		ui_add_key(t, "stack");
	add(t, f->n == 1 ? "[{" : ",{");
}

static void end_frame(struct frames *f, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
	ui_add_string(f->i->t, "address", text);
	add(f->i->t, "}");
}

/* A return address of a program: the calls inlined there, and the function.  False: unknown. */
static bool add_frames(struct frames *f, uint64_t address)
{
	const struct symbol_frame *frames;
	struct module_location place;
	struct symbol_file *file;
	uint64_t in_file;
	unsigned n;

	if (!f->r || !f->r->modules || !f->r->symbols || !address ||
	    !modules_find(f->r->modules, f->pid, f->clock, address - 1, &place))
		return false;
	file = symbols_file(f->r->symbols, place.path, place.build_id);
	if (!file || !symbol_address(file, place.offset, &in_file))
		return false;
	n = symbol_frames(file, in_file, &frames);
	for (unsigned k = 0; k < n; k++) {
		const char *slash = strrchr(place.path, '/');

		begin_frame(f);
		ui_add_string(f->i->t, "function", symbol_written(f->r->symbols, frames[k].name));
		ui_add_string(f->i->t, "file", slash ? slash + 1 : place.path);
		add_line(f->i->t, &frames[k].at);
		end_frame(f, address);
	}
	return n;
}

/* "0x7f12 (main)": the address, and its symbol if it has one. */
static void add_plain_frame(struct frames *f, uint64_t address, const char *p, const char *end)
{
	const char *open = memchr(p, '(', (size_t)(end - p));
	const char *close = open ? memrchr(open, ')', (size_t)(end - open)) : NULL;

	begin_frame(f);
	if (close) {
		ui_add_key(f->i->t, "function");
		ui_json_string(f->i->t, open + 1, (size_t)(close - open - 1));
	}
	end_frame(f, address);
}

static void add_stack(void *context, const char *name, size_t name_size, const char *value,
		      size_t size)
{
	struct frames *f = context;
	const char *p = value, *end = value + size;

	if (!f->is_stack(name, name_size))
		return;
	while (p < end && f->n < FRAMES_MOST) {
		const char *stop;
		uint64_t address;

		while (p < end && strchr("[], ", *p) && *p)
			p++;
		if (p == end)
			return;
		stop = end_of_value(p, end);
		address = strtoull(p, NULL, 0);
		if (!add_frames(f, address))
			add_plain_frame(f, address, p, stop);
		p = stop;
	}
}

static void add_stack_of(struct item *i, const struct trace_event *e,
			 const struct thread_identity *who, const char *fields, size_t size)
{
	struct frames f = { .is_stack = is_stack,
			    .i = i,
			    .pid = who->pid < 0 ? who->tid : who->pid,
			    .clock = e->clock };

	f.r = ui_index_keep(i->x, &resolver_key, resolver_make, (void *)i->s, resolver_destroy);
	if (f.r)
		pthread_mutex_lock(&f.r->lock);
	each_field(fields, size, add_stack, &f);
	f.is_stack = is_place;
	if (!f.n)
		each_field(fields, size, add_stack, &f);
	if (f.r)
		pthread_mutex_unlock(&f.r->lock);
	if (f.n)
		add(i->t, "]");
}

/* ---------------------------------------------------------------- both events */

/* @member: "fields" or "end_fields".  Returns whether it was found. */
static bool add_event(struct item *i, int64_t ns, bool is_end, const char *member)
{
	bool is_zero = is_end && i->v.begin_ns == i->v.end_ns;
	struct thread_identity who;
	struct diag d = { "" };
	struct trace_event e;
	const char *fields;
	size_t size;
	int got =
		find_event(i, ns, is_end, is_zero && i->info.kind == UI_TRACK_SPANS, &e, &who, &d);

	if (got < 0)
		item_note(i, "the fields cannot be read: %.200s", d.text);
	if (got <= 0)
		return false;
	fields = ui_reader_fields(i->reader, &e, who.pid < 0 ? who.tid : who.pid, &size);
	if (!is_end) {
		ui_add_string(i->t, "event", e.ctf->class->name);
		if (e.cpu != TRACE_CPU_UNKNOWN)
			ui_add_member(i->t, "cpu", e.cpu);
	}
	ui_add_key(i->t, member);
	add(i->t, "[");
	each_field(fields, size, add_field, i->t);
	add(i->t, "]");
	if (!is_end)
		add_stack_of(i, &e, &who, fields, size);
	return true;
}

void item_add_events(struct item *i)
{
	bool is_interval = i->info.kind < UI_TRACK_EVENTS;

	if (i->info.kind == UI_TRACK_CALLS)
		return;
	add_event(i, i->v.begin_ns, false, "fields");
	if (is_interval && !i->v.is_open && !i->v.is_cut && !ui_is_cancelled(i->q))
		add_event(i, i->v.end_ns, true, "end_fields");
}

/* ---------------------------------------------------------------- in a word or two */

struct values {
	struct text *t;
	size_t most;
};

size_t item_whole_characters(const char *value, size_t size, size_t most)
{
	size_t n = size < most ? size : most;

	while (n < size && n && ((unsigned char)value[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void add_value(void *context, const char *name, size_t name_size, const char *value,
		      size_t size)
{
	struct values *v = context;
	size_t n;

	if (name[-2] == '{') /* contexts come before the fields */
		v->t->size = 0;
	if (is_stack(name, name_size) || is_place(name, name_size))
		return;
	if (size >= 2 && *value == '"') {
		value++;
		size -= 2;
	}
	if (!size || v->t->size >= v->most)
		return;
	if (v->t->size)
		text_add(v->t, " ", 1);
	n = item_whole_characters(value, size, v->most - v->t->size);
	text_add(v->t, value, n);
	if (n < size)
		add(v->t, "\xe2\x80\xa6");
}

int item_values_title(struct item *i, bool is_near, struct text *title, size_t most, struct diag *d)
{
	struct values v = { .t = title, .most = most };
	struct thread_identity who;
	struct trace_event e;
	const char *fields;
	size_t size;
	int got = is_near ? scan_event(i, i->v.begin_ns, false, 0, &e, &who, d)
			  : find_event(i, i->v.begin_ns, false, 0, &e, &who, d);

	if (got <= 0)
		return got;
	fields = ui_reader_fields(i->reader, &e, who.pid < 0 ? who.tid : who.pid, &size);
	each_field(fields, size, add_value, &v);
	if (size >= 3 && !memcmp(fields + size - 3, "{ }", 3)) /* it has only contexts */
		title->size = 0;
	return title->failed ? -ENOMEM : 1;
}
