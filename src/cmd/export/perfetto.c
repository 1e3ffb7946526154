/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/perfetto.c - `duet export perfetto`: writes Perfetto's trace format.
 *
 * Slices, instants, counters and flows are track events.  Switches and wake-ups are ftrace events:
 * Perfetto computes the states of threads and CPUs from them.  Times of track events are
 * differences to the packet before, and names are interned.  So packets must be read in order, as
 * their flags say.  The trace clock (BOOTTIME) is set to REALTIME: times are those of the
 * recording. Field numbers: github.com/google/perfetto, protos/perfetto/trace.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/export/export.h"
#include "cmd/export/proto.h"
#include "cmd/view/print.h"

enum { TRACE_PACKET = 1 };
enum { /* TracePacket */
       PACKET_FTRACE = 1,
       PACKET_CLOCKS = 6,
       PACKET_TIME = 8,
       PACKET_SEQUENCE = 10,
       PACKET_EVENT = 11,
       PACKET_INTERNED = 12,
       PACKET_FLAGS = 13,
       PACKET_CLOCK = 58,
       PACKET_DEFAULTS = 59,
       PACKET_TRACK = 60,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2, SEQUENCE = 1, SEQUENCE_FTRACE = 2 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_IS_DELTA = 3 };
enum { REALTIME = 1, BOOTTIME = 6, OURS = 64 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_TEXT = 5 };
enum { /* TrackEvent */
       EVENT_CATEGORY = 3,
       EVENT_ANNOTATION = 4,
       EVENT_TYPE = 9,
       EVENT_NAME = 10,
       EVENT_TRACK = 11,
       EVENT_TEXT = 23,
       EVENT_NUMBER = 30,
       EVENT_FLOW = 47,
       EVENT_LAST_OF_FLOW = 48,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	ANNOTATION_NAME = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_REAL = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_MEMBER = 11,
	ANNOTATION_ELEMENT = 12
};
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_EVENT = 2,
	INTERNED_ANNOTATION = 3,
	INTERNED_ID = 1,
	INTERNED_TEXT = 2
};
enum {
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	FTRACE_TIME = 1,
	FTRACE_PID = 2,
	FTRACE_SWITCH = 4,
	FTRACE_WAKEUP = 17,
	FTRACE_WAKING = 20
};
enum { CATEGORIES = 3, DEPTH_MAX = 2 * CTF_DEPTH_MAX };
static const char *const categories[CATEGORIES] = { "other", "app",
						    "kernel" }; /* by enum trace_domain */

enum kind { KIND_PROCESS = 1, KIND_THREAD, KIND_CPU, KIND_COUNTER, KIND_CPUS };

struct interned {
	const char *text; /* of the metadata: equal texts may have different addresses */
	uint32_t size, field;
	uint64_t id;
};

struct perfetto {
	struct export *x;
	struct timeline timeline;
	struct proto p;
	struct interned *interned; /* open addressing, at most half full */
	uint32_t n_interned, n_slots;
	struct interned pending[DEPTH_MAX * 4]; /* to be written with this packet */
	uint32_t n_pending;
	uint8_t *has_track; /* bits by thread: 1 as a thread, 2 as a process */
	bool *has_cpu_track, *has_counter_track;
	uint32_t n_has_track, n_has_cpu_track, n_has_counter_track;
	bool has_cpus_track;
	int64_t last_ns;
};

static uint64_t uuid_of(enum kind kind, uint64_t number)
{
	return (uint64_t)kind << 48 | number;
}

static int end_packet(struct perfetto *p, size_t opened)
{
	proto_close(&p->p, opened);
	if (p->p.failed)
		return -ENOMEM;
	out_text(&p->x->out, p->p.bytes, p->p.size);
	return 0;
}

static size_t begin_packet(struct perfetto *p)
{
	size_t opened;

	proto_clear(&p->p);
	opened = proto_open(&p->p, TRACE_PACKET);
	return opened;
}

static void put_text(struct proto *p, uint32_t field, const char *text)
{
	proto_text(p, field, text, strlen(text));
}

/* ---------------------------------------------------------------- interned names */

static struct interned *find_slot(struct interned *slots, uint32_t n, const char *text,
				  uint32_t size, uint32_t field)
{
	uint64_t hash = ((uintptr_t)text ^ (uint64_t)size << 48 ^ (uint64_t)field << 56) *
			0x9E3779B97F4A7C15u;
	uint32_t i = (uint32_t)(hash >> 32) & (n - 1);

	while (slots[i].text &&
	       (slots[i].text != text || slots[i].size != size || slots[i].field != field))
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static bool grow_interned(struct perfetto *p)
{
	uint32_t n = p->n_slots ? p->n_slots * 2 : 1024;
	struct interned *bigger = calloc(n, sizeof *bigger);

	if (!bigger)
		return false;
	for (uint32_t i = 0; i < p->n_slots; i++)
		if (p->interned[i].text)
			*find_slot(bigger, n, p->interned[i].text, p->interned[i].size,
				   p->interned[i].field) = p->interned[i];
	free(p->interned);
	p->interned = bigger;
	p->n_slots = n;
	return true;
}

/* Returns the number for @text, which must live as long as the trace; 0 if it cannot have one. */
static uint64_t intern(struct perfetto *p, uint32_t field, const char *text, uint32_t size)
{
	struct interned *at;

	if (p->n_interned * 2 >= p->n_slots && !grow_interned(p))
		return 0;
	at = find_slot(p->interned, p->n_slots, text, size, field);
	if (at->text)
		return at->id;
	if (p->n_pending == sizeof p->pending / sizeof *p->pending)
		return 0;
	*at = (struct interned){ text, size, field, ++p->n_interned };
	p->pending[p->n_pending++] = *at;
	return at->id;
}

static void write_interned(struct perfetto *p)
{
	size_t all, one;

	if (!p->n_pending)
		return;
	all = proto_open(&p->p, PACKET_INTERNED);
	for (uint32_t i = 0; i < p->n_pending; i++) {
		one = proto_open(&p->p, p->pending[i].field);
		proto_uint(&p->p, INTERNED_ID, p->pending[i].id);
		proto_text(&p->p, INTERNED_TEXT, p->pending[i].text, p->pending[i].size);
		proto_close(&p->p, one);
	}
	proto_close(&p->p, all);
	p->n_pending = 0;
}

/* ---------------------------------------------------------------- tracks */

static int begin(struct perfetto *p, int64_t begin_ns)
{
	static const struct {
		uint32_t id;
		bool is_delta;
	} clocks[] = { { REALTIME, false }, { BOOTTIME, false }, { OURS, true } };
	size_t packet = begin_packet(p), all, one;

	all = proto_open(&p->p, PACKET_CLOCKS);
	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		one = proto_open(&p->p, CLOCKS_CLOCK);
		proto_uint(&p->p, CLOCK_ID, clocks[i].id);
		proto_int(&p->p, CLOCK_TIME, begin_ns);
		if (clocks[i].is_delta)
			proto_uint(&p->p, CLOCK_IS_DELTA, true);
		proto_close(&p->p, one);
	}
	proto_uint(&p->p, CLOCKS_PRIMARY, BOOTTIME);
	proto_close(&p->p, all);
	proto_uint(&p->p, PACKET_SEQUENCE, SEQUENCE);
	proto_uint(&p->p, PACKET_FLAGS, FLAG_CLEARED);
	all = proto_open(&p->p, PACKET_DEFAULTS);
	proto_uint(&p->p, PACKET_CLOCK, OURS);
	proto_close(&p->p, all);
	all = proto_open(&p->p, PACKET_INTERNED);
	for (unsigned i = 0; i < CATEGORIES; i++) {
		one = proto_open(&p->p, INTERNED_CATEGORY);
		proto_uint(&p->p, INTERNED_ID, i + 1);
		put_text(&p->p, INTERNED_TEXT, categories[i]);
		proto_close(&p->p, one);
	}
	proto_close(&p->p, all);
	p->last_ns = begin_ns;
	return end_packet(p, packet);
}

static size_t begin_track(struct perfetto *p, uint64_t uuid, size_t *track)
{
	size_t packet = begin_packet(p);

	proto_uint(&p->p, PACKET_SEQUENCE, SEQUENCE);
	*track = proto_open(&p->p, PACKET_TRACK);
	proto_uint(&p->p, TRACK_UUID, uuid);
	return packet;
}

static int end_track(struct perfetto *p, size_t packet, size_t track)
{
	proto_close(&p->p, track);
	return end_packet(p, packet);
}

static int add_process_track(struct perfetto *p, uint32_t number)
{
	const struct thread *th = timeline_thread(&p->timeline, number);
	size_t track, packet, one;

	if (p->has_track[number] & 2)
		return 0;
	p->has_track[number] |= 2;
	packet = begin_track(p, uuid_of(KIND_PROCESS, number), &track);
	one = proto_open(&p->p, TRACK_PROCESS);
	proto_int(&p->p, PROCESS_PID, th->tid);
	if (th->name_size)
		proto_text(&p->p, PROCESS_NAME, th->name, th->name_size);
	proto_close(&p->p, one);
	return end_track(p, packet, track);
}

static uint32_t process_of(const struct perfetto *p, uint32_t thread)
{
	uint32_t process = timeline_thread(&p->timeline, thread)->process;

	return process ? process : thread;
}

static int add_thread_track(struct perfetto *p, uint32_t number)
{
	const struct thread *th = timeline_thread(&p->timeline, number);
	uint32_t process = process_of(p, number);
	size_t track, packet, one;
	int err;

	if (pass_grow(&p->has_track, &p->n_has_track, number > process ? number : process,
		      sizeof *p->has_track))
		return -ENOMEM;
	if (p->has_track[number] & 1)
		return 0;
	p->has_track[number] |= 1;
	err = add_process_track(p, process);
	if (err)
		return err;
	packet = begin_track(p, uuid_of(KIND_THREAD, number), &track);
	proto_uint(&p->p, TRACK_PARENT, uuid_of(KIND_PROCESS, process));
	one = proto_open(&p->p, TRACK_THREAD);
	proto_int(&p->p, THREAD_PID, timeline_thread(&p->timeline, process)->tid);
	proto_int(&p->p, THREAD_TID, th->tid);
	if (th->name_size)
		proto_text(&p->p, THREAD_TEXT, th->name, th->name_size);
	proto_close(&p->p, one);
	return end_track(p, packet, track);
}

static int add_cpu_track(struct perfetto *p, uint32_t cpu)
{
	char name[32] = "CPU ?";
	size_t track, packet;
	int err;

	if (!p->has_cpus_track) {
		p->has_cpus_track = true;
		packet = begin_track(p, uuid_of(KIND_CPUS, 0), &track);
		put_text(&p->p, TRACK_NAME, "CPUs");
		err = end_track(p, packet, track);
		if (err)
			return err;
	}
	if (pass_grow(&p->has_cpu_track, &p->n_has_cpu_track, cpu, sizeof *p->has_cpu_track))
		return -ENOMEM;
	if (p->has_cpu_track[cpu])
		return 0;
	p->has_cpu_track[cpu] = true;
	if (cpu < 4096)
		snprintf(name, sizeof name, "CPU %u", cpu);
	packet = begin_track(p, uuid_of(KIND_CPU, cpu), &track);
	proto_uint(&p->p, TRACK_PARENT, uuid_of(KIND_CPUS, 0));
	put_text(&p->p, TRACK_NAME, name);
	return end_track(p, packet, track);
}

/* A counter belongs to a process. */
static int add_counter_track(struct perfetto *p, const struct timeline_item *item, uint64_t *uuid)
{
	const struct timeline_counter *c = &p->x->counters[item->counter];
	uint32_t process = process_of(p, item->thread);
	uint32_t slot = process * p->x->n_counters + item->counter;
	size_t track, packet, one;
	char name[256];
	int err;

	*uuid = uuid_of(KIND_COUNTER, slot);
	if (pass_grow(&p->has_counter_track, &p->n_has_counter_track, slot,
		      sizeof *p->has_counter_track))
		return -ENOMEM;
	if (p->has_counter_track[slot])
		return 0;
	p->has_counter_track[slot] = true;
	err = process ? add_thread_track(p, process) : 0;
	if (err)
		return err;
	snprintf(name, sizeof name, "%s:%s", c->event, c->field);
	packet = begin_track(p, *uuid, &track);
	if (process)
		proto_uint(&p->p, TRACK_PARENT, uuid_of(KIND_PROCESS, process));
	put_text(&p->p, TRACK_NAME, name);
	one = proto_open(&p->p, TRACK_COUNTER);
	proto_close(&p->p, one);
	return end_track(p, packet, track);
}

static int add_row_track(struct perfetto *p, const struct timeline_item *item, uint64_t *uuid)
{
	uint32_t cpu = item->cpu < 4096 ? item->cpu : 4096;

	*uuid = item->is_of_cpu ? uuid_of(KIND_CPU, cpu) : uuid_of(KIND_THREAD, item->thread);
	return item->is_of_cpu ? add_cpu_track(p, cpu) : add_thread_track(p, item->thread);
}

/* ---------------------------------------------------------------- fields */

static void add_value(struct proto *p, enum ctf_found found, const struct ctf_value *v)
{
	if (found == CTF_TEXT)
		proto_text(p, ANNOTATION_TEXT, v->text, v->size);
	else if (found == CTF_LABEL && v->label)
		put_text(p, ANNOTATION_TEXT, v->label);
	else if (found == CTF_REAL)
		proto_double(p, ANNOTATION_REAL, v->real);
	else if (v->is_signed)
		proto_int(p, ANNOTATION_INT, v->i);
	else
		proto_uint(p, ANNOTATION_UINT, v->u);
}

/* Adds the contexts and fields of the current event. */
static void add_fields(struct perfetto *p, const struct trace_event *e)
{
	size_t opened[DEPTH_MAX];
	uint32_t member[DEPTH_MAX + 1] = { EVENT_ANNOTATION };
	int depth = 0, skipped = 0;
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;
	size_t one;

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
		bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;

		if (skipped || depth == DEPTH_MAX || v.is_hidden ||
		    (!depth && !closes && view_is_left_out(v.scope, v.name))) {
			skipped += opens ? 1 : closes && skipped ? -1 : 0;
			continue;
		}
		if (closes) {
			proto_close(&p->p, opened[--depth]);
			continue;
		}
		one = proto_open(&p->p, member[depth]);
		if (v.name)
			proto_uint(&p->p, ANNOTATION_NAME,
				   intern(p, INTERNED_ANNOTATION, v.name, v.name_size));
		if (opens) {
			opened[depth++] = one;
			member[depth] = found == CTF_OPEN ? ANNOTATION_MEMBER : ANNOTATION_ELEMENT;
			continue;
		}
		add_value(&p->p, found, &v);
		proto_close(&p->p, one);
	}
}

/* ---------------------------------------------------------------- events */

/* Times ascend, except in a stream that is itself out of order. */
static size_t begin_event(struct perfetto *p, int64_t time_ns, uint64_t track, uint32_t type,
			  size_t *event)
{
	size_t packet = begin_packet(p);

	if (time_ns >= p->last_ns) {
		proto_int(&p->p, PACKET_TIME, time_ns - p->last_ns);
		p->last_ns = time_ns;
	} else {
		proto_int(&p->p, PACKET_TIME, time_ns);
		proto_uint(&p->p, PACKET_CLOCK, BOOTTIME);
	}
	proto_uint(&p->p, PACKET_SEQUENCE, SEQUENCE);
	proto_uint(&p->p, PACKET_FLAGS, FLAG_NEEDS_STATE);
	*event = proto_open(&p->p, PACKET_EVENT);
	proto_uint(&p->p, EVENT_TYPE, type);
	proto_uint(&p->p, EVENT_TRACK, track);
	return packet;
}

static int end_event(struct perfetto *p, size_t packet, size_t event)
{
	proto_close(&p->p, event);
	write_interned(p);
	return end_packet(p, packet);
}

static int put_event(struct perfetto *p, const struct timeline_item *item, uint32_t type)
{
	size_t packet, event;
	uint64_t track;
	int err = add_row_track(p, item, &track);

	if (err)
		return err;
	packet = begin_event(p, item->time_ns, track, type, &event);
	if (type != TYPE_END) {
		proto_uint(&p->p, EVENT_NAME,
			   intern(p, INTERNED_EVENT, item->name, item->name_size));
		proto_uint(&p->p, EVENT_CATEGORY, item->event->stream->source->domain + 1u);
	}
	if (item->flow)
		proto_fixed64(&p->p, EVENT_FLOW, item->flow);
	if (item->event)
		add_fields(p, item->event);
	return end_event(p, packet, event);
}

static int put_runs(struct perfetto *p, const struct timeline_item *item)
{
	static const char name[] = "woken";
	size_t packet, event;
	uint64_t track;
	int err = add_row_track(p, item, &track);

	if (err)
		return err;
	packet = begin_event(p, item->time_ns, track, TYPE_INSTANT, &event);
	proto_uint(&p->p, EVENT_NAME, intern(p, INTERNED_EVENT, name, sizeof name - 1));
	proto_uint(&p->p, EVENT_CATEGORY, TRACE_KERNEL + 1);
	proto_fixed64(&p->p, EVENT_LAST_OF_FLOW, item->flow);
	return end_event(p, packet, event);
}

static int put_lost(struct perfetto *p, const struct timeline_item *item)
{
	size_t packet, event;
	uint64_t track;
	char text[64];
	int err = add_row_track(p, item, &track);

	if (err)
		return err;
	snprintf(text, sizeof text, "%llu events lost", (unsigned long long)item->lost);
	packet = begin_event(p, item->time_ns, track, TYPE_INSTANT, &event);
	put_text(&p->p, EVENT_TEXT, text);
	return end_event(p, packet, event);
}

static int put_counter(struct perfetto *p, const struct timeline_item *item)
{
	size_t packet, event;
	uint64_t track;
	int err = add_counter_track(p, item, &track);

	if (err)
		return err;
	packet = begin_event(p, item->time_ns, track, TYPE_COUNTER, &event);
	proto_int(&p->p, EVENT_NUMBER, item->number);
	return end_event(p, packet, event);
}

/* ---------------------------------------------------------------- as ftrace */

/* The fields of ftrace messages are numbered in their order. */
static void add_in_order(struct proto *p, const struct trace_event *e, const char *const *names)
{
	for (uint32_t i = 0; names[i]; i++) {
		const struct ctf_op *op = ctf_class_find(e->ctf->class, CTF_PAYLOAD, names[i]);
		const char *text;
		size_t size;
		int64_t v;

		if (op && ctf_event_number(e->ctf, op, &v))
			proto_int(p, i + 1, v);
		else if (op && ctf_event_text(e->ctf, op, &text, &size))
			proto_text(p, i + 1, text, strnlen(text, size));
	}
}

static int put_ftrace(struct perfetto *p, const struct timeline_item *item, uint32_t kind)
{
	static const char *const on_switch[] = { "prev_comm", "prev_tid", "prev_prio", "prev_state",
						 "next_comm", "next_tid", "next_prio", NULL };
	static const char *const on_waking[] = { "comm",    "tid",	  "prio",
						 "success", "target_cpu", NULL };
	size_t packet = begin_packet(p), bundle, event, message;
	int32_t tid = timeline_thread(&p->timeline, item->thread)->tid;

	proto_uint(&p->p, PACKET_SEQUENCE, SEQUENCE_FTRACE);
	bundle = proto_open(&p->p, PACKET_FTRACE);
	proto_uint(&p->p, BUNDLE_CPU, item->event->cpu);
	event = proto_open(&p->p, BUNDLE_EVENT);
	proto_int(&p->p, FTRACE_TIME, item->time_ns);
	proto_int(&p->p, FTRACE_PID, tid < 0 ? 0 : tid);
	message = proto_open(&p->p, kind);
	add_in_order(&p->p, item->event, kind == FTRACE_SWITCH ? on_switch : on_waking);
	proto_close(&p->p, message);
	proto_close(&p->p, event);
	proto_close(&p->p, bundle);
	return end_packet(p, packet);
}

static int put_instant(struct perfetto *p, const struct timeline_item *item)
{
	uint32_t kind = item->event->stream->source->domain != TRACE_KERNEL ? 0
			: !strcmp(item->name, "sched_waking")		    ? FTRACE_WAKING
			: !strcmp(item->name, "sched_wakeup")		    ? FTRACE_WAKEUP
									    : 0;
	int err = kind ? put_ftrace(p, item, kind) : 0;

	return err ? err : put_event(p, item, TYPE_INSTANT);
}

static int put_item(void *context, const struct timeline_item *item)
{
	struct perfetto *p = context;

	switch (item->kind) {
	case TIMELINE_BEGIN:
		return put_event(p, item, TYPE_BEGIN);
	case TIMELINE_END:
		return put_event(p, item, TYPE_END);
	case TIMELINE_INSTANT:
		return put_instant(p, item);
	case TIMELINE_SWITCH:
		return put_ftrace(p, item, FTRACE_SWITCH);
	case TIMELINE_RUNS:
		return put_runs(p, item);
	case TIMELINE_COUNTER:
		return put_counter(p, item);
	case TIMELINE_LOST:
		return put_lost(p, item);
	case TIMELINE_STATE: /* Perfetto computes them from switches */
		return 0;
	}
	return 0;
}

/* The first packet needs the time at which the recording begins: it is known after the first
 * pass. */
static int put_first_item(void *context, const struct timeline_item *item)
{
	struct perfetto *p = context;
	int err = p->last_ns == INT64_MIN ? begin(p, p->timeline.run.first_ns) : 0;

	return err ? err : put_item(p, item);
}

int export_perfetto(struct export *x, struct diag *d)
{
	struct perfetto p = { .x = x, .last_ns = INT64_MIN };
	int err = export_timeline(x, &p.timeline, put_first_item, &p, d);

	if (!err && p.last_ns == INT64_MIN)
		err = begin(&p, p.timeline.run.first_ns);
	timeline_fini(&p.timeline);
	proto_fini(&p.p);
	free(p.interned);
	free(p.has_track);
	free(p.has_cpu_track);
	free(p.has_counter_track);
	return err;
}
