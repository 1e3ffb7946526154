/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/perfetto.c - `duet export perfetto`: writes Perfetto's trace format.
 *
 * Slices, instants, counters and flows are track events.  Switches and wake-ups are ftrace events:
 * Perfetto computes the states of threads and CPUs from them.  Times of track events are
 * differences to the packet before, and names are interned.  So packets must be read in order, as
 * their flags say.  The trace clock (BOOTTIME) is set to REALTIME: times are those of the
 * recording.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/export/span.h"
#include "cmd/export/internal.h"
#include "cmd/export/perfetto_format.h"
#include "cmd/export/perfetto_tracks.h"
#include "cmd/view/print.h"

/* ---------------------------------------------------------------- fields */

static void add_value(struct proto *p, enum ctf_found found, const struct ctf_value *v)
{
	struct text utf8 = { 0 };
	char labels[1024];
	const char *text;
	size_t size;

	if (found == CTF_TEXT) {
		text = encoding_text(v, &utf8, &size);
		proto_text(p, ANNOTATION_TEXT, text, size);
		text_fini(&utf8);
	} else if (found == CTF_LABEL && v->label)
		perfetto_put_text(p, ANNOTATION_TEXT,
				  v->labels
					  ? ctf_enum_labels(v->labels, v->u, labels, sizeof labels)
					  : v->label);
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
	size_t opened[PERFETTO_DEPTH_MAX];
	uint32_t member[PERFETTO_DEPTH_MAX + 1] = { EVENT_ANNOTATION };
	int depth = 0, skipped = 0;
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;
	size_t one;

	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		bool opens = found == CTF_OPEN || found == CTF_OPEN_ARRAY;
		bool closes = found == CTF_CLOSE || found == CTF_CLOSE_ARRAY;

		if (skipped || depth == PERFETTO_DEPTH_MAX || v.is_hidden ||
		    field_is_nothing(&w, found, &v) ||
		    (!depth && !closes && field_is_left_out(v.scope, v.name))) {
			skipped += opens ? 1 : closes && skipped ? -1 : 0;
			continue;
		}
		if (closes) {
			assert(depth > 0);
			proto_close(&p->p, opened[--depth]);
			continue;
		}
		one = proto_open(&p->p, member[depth]);
		if (v.name)
			proto_uint(&p->p, ANNOTATION_NAME,
				   perfetto_intern(p, INTERNED_ANNOTATION, v.name, v.name_size));
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
	size_t packet = perfetto_begin_packet(p);

	assert(p->last_ns != INT64_MIN); /* perfetto_begin() was called */
	if (time_ns >= p->last_ns) {
		proto_int(&p->p, PACKET_TIME, span_ns(p->last_ns, time_ns));
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
	perfetto_write_interned(p);
	return perfetto_end_packet(p, packet);
}

static int put_event(struct perfetto *p, const struct timeline_item *item, uint32_t type)
{
	size_t packet, event;
	uint64_t track;
	int err = perfetto_add_row_track(p, item, &track);

	if (err)
		return err;
	packet = begin_event(p, item->time_ns, track, type, &event);
	if (type != TYPE_END) {
		proto_uint(&p->p, EVENT_NAME,
			   perfetto_intern(p, INTERNED_EVENT, item->name, item->name_size));
		proto_uint(&p->p, EVENT_CATEGORY,
			   (item->event ? item->event->stream->source->domain : TRACE_UST) + 1u);
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
	int err = perfetto_add_row_track(p, item, &track);

	if (err)
		return err;
	packet = begin_event(p, item->time_ns, track, TYPE_INSTANT, &event);
	proto_uint(&p->p, EVENT_NAME, perfetto_intern(p, INTERNED_EVENT, name, sizeof name - 1));
	proto_uint(&p->p, EVENT_CATEGORY, TRACE_KERNEL + 1);
	proto_fixed64(&p->p, EVENT_LAST_OF_FLOW, item->flow);
	return end_event(p, packet, event);
}

static int put_lost(struct perfetto *p, const struct timeline_item *item)
{
	size_t packet, event;
	uint64_t track;
	char text[64];
	int err = perfetto_add_row_track(p, item, &track);

	if (err)
		return err;
	snprintf(text, sizeof text, "%llu events lost", (unsigned long long)item->lost);
	packet = begin_event(p, item->time_ns, track, TYPE_INSTANT, &event);
	perfetto_put_text(&p->p, EVENT_TEXT, text);
	return end_event(p, packet, event);
}

static int put_counter(struct perfetto *p, const struct timeline_item *item)
{
	size_t packet, event;
	uint64_t track;
	int err = perfetto_add_counter_track(p, item, &track);

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
	size_t packet = perfetto_begin_packet(p), bundle, event, message;
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
	return perfetto_end_packet(p, packet);
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
	int err = p->last_ns == INT64_MIN ? perfetto_begin(p, p->timeline.run.first_ns) : 0;

	return err ? err : put_item(p, item);
}

int export_perfetto(struct export *x, struct diag *d)
{
	struct perfetto p = { .x = x, .last_ns = INT64_MIN };
	int err = export_timeline(x, &p.timeline, put_first_item, &p, d);

	if (!err && p.last_ns == INT64_MIN)
		err = perfetto_begin(&p, p.timeline.run.first_ns);
	timeline_fini(&p.timeline);
	perfetto_fini(&p);
	return err;
}
