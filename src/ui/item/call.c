/* SPDX-License-Identifier: MIT */
/*
 * ui/item/call.c - a system call in words, with the names of its files: see call.h.
 *
 * The words are those of analysis/syscalls (`duet report strace`).  It learns descriptors from the calls
 * that opened them.  These are found by the index, which has the results of all calls, and only they are
 * read.  Descriptors that were open at the begin are in the state dump, which is a stream of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "ui/item/call.h"
#include "ui/item/internal.h"

enum {
	ENTRIES_AT_ONCE = 512,
	ENTRIES_MOST = 500000,
	EVENTS_LOOKED_AT = 200000,
	DUMP_BYTES_MOST = 8 << 20
};

struct call_reading {
	struct item *i;
	struct item_call *out;
	struct pairing pairing;
	uint32_t thread; /* of the call, in the pairing */
	bool is_own;	 /* the item's call is read, not one that opened a descriptor */
	bool has_end;
	bool has_dump;	/* what was open at the begin is known */
	uint64_t clock; /* of the event that was read last */
};

/* ---------------------------------------------------------------- reading calls */

static int take_call(void *context, const struct pairing_item *item)
{
	struct call_reading *r = context;

	if (!r->is_own || item->kind != PAIRING_CALL || item->thread != r->thread)
		return 0;
	text_addf(&r->out->words, "%s(%s)", item->name, item->text);
	text_addf(&r->out->result, "%s", item->result_text);
	r->has_end = true;
	return 0;
}

/* The entry or exit of call @name at @ns of thread @tid is given to the pairing.  Returns its thread
 * there; 0: it was not found; or -errno. */
static int64_t read_event(struct call_reading *r, int64_t ns, int64_t tid, struct diag *d)
{
	struct pass *pass = &r->pairing.run;
	int64_t begin_ns = r->i->reader->begin_ns;
	struct trace_event e;
	uint32_t thread;

	trace_seek(r->i->reader->trace, begin_ns + ns);
	for (int n = 0; n < EVENTS_LOOKED_AT; n++) {
		int got = pass_next(pass, &e, &thread, d);
		const struct call_class *c;

		if (got <= 0)
			return got;
		if (e.time_ns > begin_ns + ns)
			return 0;
		if (got != TRACE_EVENT || e.time_ns < begin_ns + ns ||
		    threads_at(pass->threads, thread)->tid != tid)
			continue;
		c = r->pairing.calls.classes[trace_class_number(&e)];
		if (c->is == CALL_NONE)
			continue;
		r->thread = thread;
		r->clock = e.clock;
		got = pairing_handle(&r->pairing, &e, thread);
		return got < 0 ? got : (int64_t)thread;
	}
	return 0;
}

/* ---------------------------------------------------------------- descriptors */

static bool gives_descriptor(struct ui_index *x, uint32_t name)
{
	return fds_gives(ui_index_name(x, name));
}

/* The last call before @before on @track that returned @fd.  @looked: entries, of all tracks. */
static bool find_opening(struct item *i, uint32_t track, int64_t before, int64_t fd,
			 struct ui_interval *found, uint32_t *looked)
{
	struct ui_interval v[ENTRIES_AT_ONCE];
	uint32_t end = ui_track_find(i->x, track, before);

	while (end && *looked < ENTRIES_MOST && !ui_is_cancelled(i->q)) {
		uint32_t n = end < ENTRIES_AT_ONCE ? end : ENTRIES_AT_ONCE;

		n = ui_track_read(i->x, track, end - n, v, n);
		if (!n)
			return false;
		for (uint32_t k = n; k--;) {
			if (v[k].end_ns < found->end_ns)
				return false;
			if (v[k].aux == fd && !v[k].is_open && !v[k].is_cut &&
			    gives_descriptor(i->x, v[k].what)) {
				*found = v[k];
				return true;
			}
		}
		*looked += n;
		end -= n;
	}
	return false;
}

/* Reads the call that opened @fd of the item's process, by whichever of its threads.  Returns whether
 * there is one. */
static bool read_opening(struct call_reading *r, int64_t fd, struct diag *d)
{
	struct item *i = r->i;
	struct ui_interval opening = { .end_ns = INT64_MIN };
	uint32_t n_rows = ui_index_n_rows(i->x), looked = 0, track;
	struct ui_track_info info;
	int64_t tid = -1;
	struct ui_row row;

	for (uint32_t k = 0; k < n_rows && ui_index_row(i->x, k, &row); k++) {
		if (row.kind != UI_ROW_THREAD || row.parent != i->thread_row.parent)
			continue;
		for (uint32_t n = 0; (track = ui_row_track(i->x, k, n)) != UINT32_MAX; n++)
			if (ui_track_info(i->x, track, &info) && info.kind == UI_TRACK_SYSCALLS &&
			    find_opening(i, track, i->v.begin_ns, fd, &opening, &looked))
				tid = row.tid;
	}
	return tid >= 0 && read_event(r, opening.begin_ns, tid, d) > 0 &&
	       read_event(r, opening.end_ns, tid, d) > 0;
}

/* Learns the descriptors that were open when recording began. */
static void read_state_dump(struct call_reading *r)
{
	struct trace *t = r->i->reader->trace, *part;
	struct trace_event e;
	uint32_t thread;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *s = trace_stream(t, i);

		if (strncmp(s->name, "statedump", 9) != 0 || s->size_bytes > DUMP_BYTES_MOST ||
		    trace_part(t, i, NULL, r->i->reader, &part))
			continue;
		for (int got; (got = trace_next(part, &e, NULL)) > 0;)
			if (got == TRACE_EVENT && trace_is_state_event(e.ctf->class->name) &&
			    (pass_take(&r->pairing.run, got, &e, &thread, NULL) != TRACE_EVENT ||
			     pairing_handle(&r->pairing, &e, thread)))
				break;
		trace_close(part);
	}
}

static bool is_descriptor(const struct call_class *c, const char *call, uint32_t argument)
{
	const struct call_rule *rule = call_rule_of(call, c->name[argument]);

	return rule && (rule->kind == CALL_FD || rule->kind == CALL_AT_FD);
}

/* Learns the descriptors among the arguments of the item's call. */
static void read_descriptors(struct call_reading *r, struct diag *d)
{
	struct call_made made = r->pairing.states[r->thread].made;
	struct item *i = r->i;

	for (uint32_t k = 0; made.class && k < made.class->n_fields; k++) {
		if (!is_descriptor(made.class, i->name, k) || made.args[k] < 0 ||
		    read_opening(r, made.args[k], d) || r->has_dump)
			continue;
		read_state_dump(r);
		r->has_dump = true;
	}
}

/* The object of the call: its number, and its name if it has one: of a file, or a variable. */
static void note_object(struct call_reading *r, const struct call_made *made)
{
	int64_t process = threads_process(r->pairing.run.threads, r->thread);
	const struct fd_file *file;

	r->out->field = made->class ? calls_object(made, &r->out->number) : NULL;
	if (!r->out->field || process < 0)
		return;
	if (!strcmp(r->out->field, "uaddr")) {
		places_name(r->i->reader->places,
			    threads_at(r->pairing.run.threads, (uint32_t)process)->tid, r->clock,
			    (uint64_t)r->out->number, &r->out->object);
		return;
	}
	file = fds_look(&r->pairing.fds, (uint32_t)process, r->out->number);
	if (file && (file->name || file->call))
		text_addf(&r->out->object, "%s", file->name ? file->name : file->call);
}

/* ---------------------------------------------------------------- the item's call */

/* The entry is read twice: for its arguments, then, with their files known, for its words. */
static int read_call(struct call_reading *r, struct diag *d)
{
	struct item *i = r->i;
	int64_t tid = i->thread_row.tid, thread = read_event(r, i->v.begin_ns, tid, d);
	struct call_made made;

	if (thread <= 0)
		return (int)thread;
	read_descriptors(r, d);
	thread = read_event(r, i->v.begin_ns, tid, d);
	if (thread <= 0)
		return (int)thread;
	made = r->pairing.states[thread].made;
	note_object(r, &made);
	r->is_own = true;
	if (!i->v.is_open && !i->v.is_cut)
		thread = read_event(r, i->v.end_ns, tid, d);
	if (thread >= 0 && !r->has_end)
		text_addf(&r->out->words, "%s(%s)", i->name, pairing_text(&r->pairing, r->thread));
	return thread < 0 ? (int)thread : 0;
}

static int open_reading(struct call_reading *r, struct trace *t, struct diag *d)
{
	struct pairing_options o = { .has_text = true,
				     .names_fds = true,
				     .string_bytes = 256,
				     .command = -1,
				     .range = { INT64_MIN, INT64_MAX },
				     .give = take_call,
				     .context = r };

	return pairing_open(&r->pairing, t, &o, d);
}

int item_call_read(struct item_call *c, struct item *i, struct diag *d)
{
	struct call_reading r = { .i = i, .out = c };
	int err = open_reading(&r, i->reader->trace, d);

	*c = (struct item_call){ .number = 0 };
	if (!err)
		err = read_call(&r, d);
	pairing_close(&r.pairing);
	return err < 0 ? err : 0;
}

int item_call_of(struct item_call *c, struct ui_reader *reader, const struct ui_request *q,
		 uint32_t track, uint32_t index, struct diag *d)
{
	struct item i = { .q = q, .x = reader->index, .reader = reader };

	*c = (struct item_call){ .number = 0 };
	if (!item_find(&i, track, index) || i.info.kind != UI_TRACK_SYSCALLS || !i.thread)
		return diag_fail(d, -ENOENT, "there is no system call %u.%u", track, index);
	return item_call_read(c, &i, d);
}

void item_call_fini(struct item_call *c)
{
	text_fini(&c->words);
	text_fini(&c->result);
	text_fini(&c->object);
}

static void add_text(struct text *t, const char *name, const struct text *value)
{
	if (!value->size)
		return;
	ui_add_key(t, name);
	ui_json_string(t, value->bytes, value->size);
}

void item_add_call(struct item *i)
{
	struct diag d = { "" };
	struct item_call c;

	if (!i->thread)
		return;
	if (item_call_read(&c, i, &d))
		item_note(i, "the arguments cannot be read: %.200s", d.text);
	add_text(i->t, "object", &c.object);
	add_text(i->t, "call", &c.words);
	add_text(i->t, "result", &c.result);
	i->t->failed |= c.words.failed || c.result.failed || c.object.failed;
	item_call_fini(&c);
}

/* ---------------------------------------------------------------- objects of several calls */

/* The bytes of the text in quotes at @p: words have its controls and bytes above 127 escaped. */
static void add_plain(struct text *title, const char *p)
{
	static const char letters[] = "nrtvf", bytes[] = "\n\r\t\v\f";

	for (; *p && *p != '"'; p++) {
		const char *letter;
		char c = *p;

		if (c == '\\' && p[1] >= '0' && p[1] <= '7') {
			c = 0;
			for (int n = 0; n < 3 && p[1] >= '0' && p[1] <= '7'; n++)
				c = (char)(c * 8 + *++p - '0');
		} else if (c == '\\' && p[1]) {
			letter = strchr(letters, *++p);
			c = letter ? bytes[letter - letters] : *p;
		}
		text_add(title, &c, 1);
	}
}

/* The first text among the words of a call that has the path of a file. */
static bool add_path(struct call_reading *r, const struct call_made *made, struct text *title)
{
	const char *text = strchr(pairing_text(&r->pairing, r->thread), '"');
	bool has_path = false;

	for (uint32_t k = 0; made->class && k < made->class->n_fields; k++) {
		const struct call_rule *rule = call_rule_of(r->i->name, made->class->name[k]);

		has_path |= rule && rule->kind == CALL_PATH;
	}
	if (has_path && text)
		add_plain(title, text + 1);
	return has_path && text;
}

void item_call_object(const struct item_call *c, struct text *t)
{
	if (c->object.size)
		text_add(t, c->object.bytes, c->object.size);
	else if (c->field && !strcmp(c->field, "uaddr"))
		text_addf(t, "0x%" PRIx64, (uint64_t)c->number);
	else if (c->field)
		text_addf(t, "fd %" PRId64, c->number);
}

struct call_reading *item_calls_open(struct ui_reader *reader, struct diag *d)
{
	struct call_reading *r = calloc(1, sizeof *r);

	if (!r || open_reading(r, reader->trace, d)) {
		item_calls_close(r);
		return NULL;
	}
	return r;
}

int item_calls_title(struct call_reading *r, struct item *i, struct text *title, struct diag *d)
{
	struct item_call c = { .number = 0 };
	struct call_made made;
	int64_t thread;

	r->i = i;
	r->out = &c;
	thread = read_event(r, i->v.begin_ns, i->thread_row.tid, d);
	if (thread <= 0)
		return (int)thread;
	made = r->pairing.states[thread].made;
	if (!add_path(r, &made, title)) {
		read_descriptors(r, d);
		thread = read_event(r, i->v.begin_ns, i->thread_row.tid, d);
		if (thread > 0)
			note_object(r, &made);
		item_call_object(&c, title);
	}
	item_call_fini(&c);
	return thread < 0 ? (int)thread : title->failed ? -ENOMEM : 0;
}

void item_calls_close(struct call_reading *r)
{
	if (r)
		pairing_close(&r->pairing);
	free(r);
}
