/* SPDX-License-Identifier: MIT */
/*
 * cmd/announce.c - the first line of a recording, from its options, and the line with its counts.
 *
 * It names the patterns that were asked for, and without any the default.  A list is cut after a few
 * names, so that the line stays one.
 */
#include "cmd/announce.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/record/recording.h"
#include "collect/session/public.h"

enum { SHOWN = 4 };

__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + n, ANNOUNCE_BYTES - n, format, ap);
	va_end(ap);
}

static void add_item(char *text, int i, int n, const char *item)
{
	if (i < SHOWN)
		add(text, "%s%.60s", i ? ", " : "", item);
	else if (i == SHOWN)
		add(text, " and %d more", n - SHOWN);
}

static int count_program(void *n, struct program *a)
{
	(void)a;
	++*(int *)n;
	return 0;
}

/* Traced programs of this user that run now. */
static int count_programs(void)
{
	int dir = runtime_dir_open(false), n = 0;

	if (dir < 0)
		return 0;
	programs_each(dir, 0, count_program, &n);
	close(dir);
	return n;
}

static void add_processes(const struct recording *a, char *text)
{
	if (a->o.command)
		add(text, "%.100s and its children", a->o.command[0]);
	else if (a->o.n_pids == 1)
		add(text, "process %d", (int)a->o.pids[0]);
	else if (a->o.n_pids)
		add(text, "%d processes", a->o.n_pids);
	else if (a->o.all_users || a->o.containers)
		add(text, "programs of %s", a->o.all_users ? "all users" : "containers");
	else
		add(text, "all programs (%d of them now)", count_programs());
}

static void add_events(const struct recording *a, char *text)
{
	if (a->o.no_default_events && !a->n_events) {
		add(text, "no events until duet enable, of ");
		return;
	}
	for (int i = 0; i < a->n_events; i++)
		add_item(text, i, a->n_events, a->events[i].pattern);
	if (a->n_events)
		add(text, " of ");
}

static void add_kernel(const struct recording *a, char *text)
{
	const struct cmd_strings *k = &a->kernel_events;

	if (!a->kernel_records)
		return;
	add(text, " and the kernel's %s",
	    k->n			 ? ""
	    : a->n_uprobes || a->graph.n ? "probes"
					 : "sched, syscalls");
	for (int i = 0; i < k->n; i++)
		add_item(text, i, k->n, k->at[i]);
	if (a->o.kernel.whole_machine)
		add(text, ", of the whole machine,");
}

/* ", in trace chunks of 1.0 GB", and which channels keep only their newest events. */
static void add_manner(const struct recording *a, char *text)
{
	const struct trace_chunks_options *c = &a->o.trace_chunks;
	char size[32];
	int n = 0;

	if (c->rotate)
		add(text, ", in trace chunks");
	if (c->rotate && c->rotate_bytes)
		add(text, " of %s", cmd_size_text(c->rotate_bytes, size));
	if (c->rotate && c->rotate_ns)
		add(text, "%s %g s", c->rotate_bytes ? " or" : " of", (double)c->rotate_ns / 1e9);
	for (int i = 0; i < a->channels.n; i++)
		n += a->channels.at[i].channel.flight_recorder;
	if (n && n == a->channels.n) {
		add(text, ", when asked by duet snapshot");
		return;
	}
	for (int i = 0, k = 0; i < a->channels.n && n; i++)
		if (a->channels.at[i].channel.flight_recorder) {
			add(text, k ? "" : ", channels when asked by duet snapshot: ");
			add_item(text, k++, n, a->channels.at[i].channel.name);
		}
}

const char *announce_manner(const struct recording *a, char text[ANNOUNCE_BYTES])
{
	*text = 0;
	add_manner(a, text);
	return text;
}

const char *announce_subject(const struct recording *a, char text[ANNOUNCE_BYTES])
{
	*text = 0;
	add_events(a, text);
	add_processes(a, text);
	add_kernel(a, text);
	return text;
}

int announce_recording(void *recording, struct diag *d)
{
	const struct recording *a = recording;
	char subject[ANNOUNCE_BYTES], manner[ANNOUNCE_BYTES];

	(void)d;
	if (a->quiet || (a->o.command && !a->verbose))
		return 0;
	print_err("duet %s: recording %s into %s%s; %s\n", a->verb, announce_subject(a, subject),
		  a->o.path, announce_manner(a, manner),
		  a->o.command			       ? "ends with the command"
		  : a->o.ends_with_pids && a->o.n_pids ? "ends with the last process, or by Ctrl-C"
						       : "Ctrl-C ends");
	return 0;
}

/* Of the collector's process: a successor of a killed one begins anew. */
static struct recorder_counts before;

static void show_counts(void *recording, const struct recorder_counts *now)
{
	const struct recording *a = recording;
	uint64_t ns = now->duration_ns - before.duration_ns, rate;
	char text[80], size[32], lost[32] = "none";

	rate = ns && now->events >= before.events
		       ? (uint64_t)((double)(now->events - before.events) * 1e9 / (double)ns)
		       : 0;
	if (now->lost)
		snprintf(lost, sizeof lost, "%" PRIu64, now->lost);
	snprintf(text, sizeof text, "duet %s: %" PRIu64 " s, %" PRIu64 " events/s, %s, %s lost",
		 a->verb, now->duration_ns / 1000000000, rate, cmd_size_text(now->bytes, size),
		 lost);
	progress_line(text);
	before = *now;
}

void announce_counts(struct recording *a)
{
	if (a->quiet || (a->o.command && !a->shows_progress) || !isatty(STDERR_FILENO))
		return;
	a->o.on_second = show_counts;
	a->o.on_second_arg = a;
}
