/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/perfetto_tracks.c - packets, interned names and tracks of `duet export perfetto`.
 *
 * The table of interned names compares addresses, not texts: all names are texts of the metadata,
 * and a second number for an equal text does no harm.
 */
#include "cmd/export/perfetto_tracks.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/export/perfetto_format.h"

enum { CATEGORIES = 3 };
static const char *const categories[CATEGORIES] = { "other", "app",
						    "kernel" }; /* by enum trace_domain */

enum track_kind { KIND_PROCESS = 1, KIND_THREAD, KIND_CPU, KIND_COUNTER, KIND_CPUS };

static uint64_t uuid_of(enum track_kind kind, uint64_t number)
{
	assert(number < 1ull << 48);
	return (uint64_t)kind << 48 | number;
}

int perfetto_end_packet(struct perfetto *p, size_t opened)
{
	proto_close(&p->p, opened);
	if (p->p.failed)
		return -ENOMEM;
	out_data(&p->x->out, p->p.bytes, p->p.size);
	return 0;
}

size_t perfetto_begin_packet(struct perfetto *p)
{
	size_t opened;

	proto_clear(&p->p);
	opened = proto_open(&p->p, TRACE_PACKET);
	return opened;
}

void perfetto_put_text(struct proto *p, uint32_t field, const char *text)
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

uint64_t perfetto_intern(struct perfetto *p, uint32_t field, const char *text, uint32_t size)
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
	assert(p->n_interned * 2 <= p->n_slots);
	return at->id;
}

void perfetto_write_interned(struct perfetto *p)
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

int perfetto_begin(struct perfetto *p, int64_t begin_ns)
{
	static const struct {
		uint32_t id;
		bool is_delta;
	} clocks[] = { { REALTIME, false }, { BOOTTIME, false }, { OURS, true } };
	size_t packet = perfetto_begin_packet(p), all, one;

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
		perfetto_put_text(&p->p, INTERNED_TEXT, categories[i]);
		proto_close(&p->p, one);
	}
	proto_close(&p->p, all);
	p->last_ns = begin_ns;
	return perfetto_end_packet(p, packet);
}

static size_t begin_track(struct perfetto *p, uint64_t uuid, size_t *track)
{
	size_t packet = perfetto_begin_packet(p);

	proto_uint(&p->p, PACKET_SEQUENCE, SEQUENCE);
	*track = proto_open(&p->p, PACKET_TRACK);
	proto_uint(&p->p, TRACK_UUID, uuid);
	return packet;
}

static int end_track(struct perfetto *p, size_t packet, size_t track)
{
	proto_close(&p->p, track);
	return perfetto_end_packet(p, packet);
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
		perfetto_put_text(&p->p, TRACK_NAME, "CPUs");
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
	perfetto_put_text(&p->p, TRACK_NAME, name);
	return end_track(p, packet, track);
}

int perfetto_add_counter_track(struct perfetto *p, const struct timeline_item *item, uint64_t *uuid)
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
	perfetto_put_text(&p->p, TRACK_NAME, name);
	one = proto_open(&p->p, TRACK_COUNTER);
	proto_close(&p->p, one);
	return end_track(p, packet, track);
}

int perfetto_add_row_track(struct perfetto *p, const struct timeline_item *item, uint64_t *uuid)
{
	uint32_t cpu = item->cpu < 4096 ? item->cpu : 4096;

	*uuid = item->is_of_cpu ? uuid_of(KIND_CPU, cpu) : uuid_of(KIND_THREAD, item->thread);
	return item->is_of_cpu ? add_cpu_track(p, cpu) : add_thread_track(p, item->thread);
}

void perfetto_fini(struct perfetto *p)
{
	proto_fini(&p->p);
	free(p->interned);
	free(p->has_track);
	free(p->has_cpu_track);
	free(p->has_counter_track);
}
