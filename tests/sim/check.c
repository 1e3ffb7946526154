/* SPDX-License-Identifier: MIT */
/*
 * sim/check.c - compares the files with the ledger: see sim.h.
 *
 * (1) an event that was written is there once; in a flight recorder at most once, and the newest
 *     ones are there
 * (2) an event that was refused is not there, and is counted: in the result and in the streams
 * (3) events of one thread are in its order
 * (4) duet's reader reports nothing; so every class is described, every packet is complete
 * (5) after a flush the events that had been written before its request are there
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/drain/files.h"
#include "sim.h"
#include "trace/trace.h"

enum { SNAPSHOTS = 512 };

struct walk {
	uint32_t *next; /* number of each writer's next event, at least */
	uint64_t n_events, n_lost, n_lost_packets, unwritten_bytes;
	bool is_snapshot;
	bool *is_there; /* by serial; else NULL.  Then that is all that is asked: it is written on
			 */
	const char *what;
};

static void on_warning(void *context, const char *text)
{
	const struct walk *w = context;

	if (!sim->plan.liars && !w->is_there)
		sim_fail("%s: %s", w->what, text);
	else
		sim_log("%s: %s", w->what, text);
}

static void wrong(const struct walk *w, const struct trace_event *e, const char *what,
		  uint32_t serial)
{
	if (sim->plan.liars)
		return;
	sim_fail("%s: %s: event %u of writer %u (serial %u), %s at %llu ns", w->what, what,
		 serial < sim->n_events ? sim->events[serial].number : 0,
		 serial < sim->n_events ? sim->events[serial].writer : 0, serial, e->stream->name,
		 (unsigned long long)e->clock);
}

static void digest(uint64_t value)
{
	sim->digest = (sim->digest ^ value) * 0x100000001b3u;
}

static void check_event(struct walk *w, const struct trace_event *e)
{
	uint64_t number[3] = { 0 };
	const char *text = "";
	size_t size = 0;
	struct ctf_value v;
	struct ctf_walk c;
	enum ctf_found f;
	struct sim_event *s;
	int n = 0;

	if (strncmp(e->ctf->class->name, "sim:", 4) != 0)
		return;
	ctf_walk_event(&c, e->ctf, CTF_PAYLOAD);
	while ((f = ctf_walk_next(&c, &v)) != CTF_WALK_END) {
		if (f == CTF_UINT && n < 3)
			number[n++] = v.u;
		else if (f == CTF_TEXT)
			text = v.text, size = v.size;
	}
	w->n_events++;
	if (!w->is_there) {
		digest(number[0]);
		digest(e->clock);
	}
	if (!sim_check_event((uint32_t)number[0], (uint32_t)number[1], (uint32_t)number[2], text,
			     size))
		return wrong(w, e, "differs from the one written", (uint32_t)number[0]);
	if (w->is_there) {
		w->is_there[number[0]] = true;
		return;
	}
	s = &sim->events[number[0]];
	if (s->status == SIM_REFUSED)
		wrong(w, e, "was refused, and is there", (uint32_t)number[0]);
	if (s->number < w->next[s->writer])
		wrong(w, e, "comes after a later one", (uint32_t)number[0]);
	w->next[s->writer] = s->number + 1;
	if (!w->is_snapshot && s->seen++)
		wrong(w, e, "is there more than once", (uint32_t)number[0]);
}

static void read_trace(struct walk *w, const char *path)
{
	const struct trace_options o = { .warn = on_warning, .context = w };
	struct trace_event e;
	struct diag d = { "" };
	struct trace *t;
	int item;

	w->next = calloc(sizeof sim->numbers / sizeof *sim->numbers, sizeof *w->next);
	if (trace_open(&t, &path, 1, &o, &d)) {
		sim_fail("%s: %s", w->what, d.text);
		free(w->next);
		return;
	}
	while ((item = trace_next(t, &e, &d)) > 0) {
		if (item == TRACE_EVENT) {
			check_event(w, &e);
		} else {
			w->n_lost += e.lost_events;
			w->n_lost_packets += e.lost_packets;
		}
	}
	trace_close(t);
	free(w->next);
}

void check_flushed(uint32_t ended)
{
	struct walk w = { .what = "a recording that was flushed",
			  .is_there = calloc(sim->n_events + 1, sizeof *w.is_there) };
	uint32_t missing = 0, first = 0;
	char out[280];

	/* A day has thousands: later ones are looked at when the recording has grown by a part of
	 * itself. */
	if (++sim->n_flushes > 50 &&
	    sim->n_events < sim->n_events_looked + sim->n_events_looked / 8) {
		free(w.is_there);
		return;
	}
	sim->n_events_looked = sim->n_events;
	snprintf(out, sizeof out, "%s/out", sim_directory);
	read_trace(&w, out);
	for (uint32_t i = 0; i < sim->n_events; i++) {
		const struct sim_event *e = &sim->events[i];

		if (e->status == SIM_WRITTEN && e->ended <= ended && !w.is_there[i] &&
		    !sim->plan.overwrite[e->channel])
			first = missing++ ? first : i;
	}
	free(w.is_there);
	if (missing)
		sim_fail("%u events were written when a flush was asked for, which was done, and "
			 "are not there; the first is serial %u, event %u of writer %u in channel "
			 "%u",
			 missing, first, sim->events[first].number, sim->events[first].writer,
			 sim->events[first].channel);
}

/* Returns how many events were written and are not there; all of those count as lost. */
static uint64_t check_written(bool all_written, uint64_t unwritten)
{
	uint64_t missing = 0, bytes = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < sim->n_events; i++) {
		const struct sim_event *e = &sim->events[i];

		if (e->status != SIM_WRITTEN || e->seen || sim->plan.overwrite[e->channel])
			continue;
		first = missing++ ? first : i;
		bytes += e->size + 13u;
	}
	digest(missing);
	if (missing && (all_written || bytes > unwritten))
		sim_fail("%llu events were written and are not there (%llu bytes at least, %llu "
			 "said not to be written); the first is serial %u, event %u of writer %u "
			 "in channel %u",
			 (unsigned long long)missing, (unsigned long long)bytes,
			 (unsigned long long)unwritten, first, sim->events[first].number,
			 sim->events[first].writer, sim->events[first].channel);
	for (uint32_t i = 0; i < sim->plan.n_channels && all_written; i++)
		if (sim->plan.overwrite[i] && sim->last_on[i] &&
		    !sim->events[sim->last_on[i] - 1].seen)
			sim_fail("the newest event of flight recorder %u is not there (serial %u)",
				 i, sim->last_on[i] - 1);
	return missing;
}

/* Events of flight recorders that are not there were overwritten, or are among those that the end
 * could not write. */
static uint64_t count_overwritten(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < sim->n_events; i++)
		n += sim->events[i].status == SIM_WRITTEN && !sim->events[i].seen &&
		     sim->plan.overwrite[sim->events[i].channel];
	return n;
}

static void check_lost(const struct walk *w, const struct recorder_result *r, bool all_written,
		       uint64_t missing)
{
	uint64_t least = sim->n_refused + missing, perhaps = sim->n_unknown;

	/* A thread that died in a write may have counted it, or not. */
	if (!all_written)
		perhaps += count_overwritten();
	if (r->app_lost < least || r->app_lost > least + perhaps)
		sim_fail("%u events were refused, %llu not written, %llu more perhaps; %llu are "
			 "counted as lost",
			 sim->n_refused, (unsigned long long)missing, (unsigned long long)perhaps,
			 (unsigned long long)r->app_lost);
	if (all_written && w->n_lost != r->app_lost)
		sim_fail("%llu events are counted as lost, and the streams report %llu",
			 (unsigned long long)r->app_lost, (unsigned long long)w->n_lost);
	if (all_written && w->n_lost_packets && !sim->n_takeovers)
		sim_fail("%llu packets are said to be lost", (unsigned long long)w->n_lost_packets);
}

/* Snapshots are inside the recording: each is checked by itself, and the recording is the rest. */
static int take_snapshots_out(const char *out, char paths[][300])
{
	struct dirent *e;
	char from[300];
	DIR *dir = opendir(out);
	int n = 0;

	while (dir && (e = readdir(dir)) && n < SNAPSHOTS)
		if (!strncmp(e->d_name, "snapshot", 8)) {
			snprintf(from, sizeof from, "%s/%.16s", out, e->d_name);
			snprintf(paths[n], 300, "%s/%.16s", sim_directory, e->d_name);
			rename(from, paths[n++]);
		}
	if (dir)
		closedir(dir);
	return n;
}

static void check_snapshot(const char *path)
{
	struct walk w = { .what = path, .is_snapshot = true };
	int i = atoi(strrchr(path, '-') + 1);

	if (i < (int)sizeof sim->is_snapshot && sim->is_snapshot[i])
		read_trace(&w, path);
	files_remove_trace(path);
}

/* For a sample of runs: the reference reader, too.  It is slow to start. */
static void check_with_babeltrace(const char *path, uint64_t n_events)
{
	char command[700], line[80] = "";
	unsigned long long n = 0;
	FILE *f;

	snprintf(command, sizeof command, "babeltrace2 %s 2>%s/complaints | grep -c ' sim:event_'",
		 path, sim_directory);
	f = popen(command, "r");
	if (f && fgets(line, sizeof line, f))
		n = strtoull(line, NULL, 10);
	if (f)
		pclose(f);
	if (n != n_events)
		sim_fail("babeltrace2 reads %llu events of %llu", n, (unsigned long long)n_events);
}

void check_recording(const struct recorder_result *r, bool all_written)
{
	static char paths[SNAPSHOTS][300];
	struct walk w = { .what = "recording" };
	char out[280];
	int n;

	snprintf(out, sizeof out, "%s/out", sim_directory);
	n = take_snapshots_out(out, paths);
	read_trace(&w, out);
	digest(w.n_events);
	digest(r->app_lost);
	sim_log("%llu events in the files, %llu lost; result: %llu lost, %llu unwritten bytes",
		(unsigned long long)w.n_events, (unsigned long long)w.n_lost,
		(unsigned long long)r->app_lost, (unsigned long long)r->app_unwritten);
	if (sim_asks_babeltrace && !sim->plan.liars && w.n_events)
		check_with_babeltrace(out, w.n_events);
	if (!sim->plan.liars) {
		uint64_t missing = check_written(all_written, r->app_unwritten);

		check_lost(&w, r, all_written, missing);
	}
	for (int i = 0; i < n; i++)
		check_snapshot(paths[i]);
}
