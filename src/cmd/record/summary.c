/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/summary.c - print the summary of a recording.
 *
 * The counts are the collector's: it counts while it records (collect/drain/count.h), so also what
 * retention has removed since.  Of a small recording the events are counted by name, too, by reading
 * it.  A large one is not read: that would take as long as it is large.
 */
#include "cmd/record/summary.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/record/chunk_options.h"
#include "cmd/record/next.h"
#include "cmd/summary/loss_hint.h"
#include "trace/public.h"

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Above this a recording is not read at its end: about a second. */
#define READ_MOST_BYTES 1000000000ull

static void print_lost(uint64_t lost, const char *hint)
{
	if (lost && *hint)
		print_err(", %llu LOST (%s)\n", (unsigned long long)lost, hint);
	else if (lost)
		print_err(", %llu LOST\n", (unsigned long long)lost);
	else
		print_err(", none lost\n");
}

/* A link that is too slow fills the spool, and then the buffers. */
static const char *link_hint(const struct recording_summary *a, const char *hint, char *text,
			     size_t size)
{
	if (!a->is_gone)
		return hint;
	snprintf(text, size, "a faster link or a larger --spool%s%s", *hint ? "; or " : "", hint);
	return text;
}

static uint64_t lost_for_disk(const struct disk_losses *l)
{
	uint64_t n = l->more;

	for (uint32_t i = 0; i < l->n; i++)
		n += l->at[i].events;
	return n;
}

/* More memory would not help against a full disk. */
static bool is_for_disk(const struct recording_summary *a)
{
	const struct recorder_result *r = &a->result;

	return lost_for_disk(&r->disk) > (r->app_lost + r->kernel_lost) / 2;
}

static void print_disk_losses(const struct disk_losses *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct disk_loss *one = &l->at[i];
		const char *reason = disk_reason_text((enum disk_reason)one->reason);

		print_err("  disk          %.63s%s%s:", one->of, *one->of ? ": " : "", reason);
		if (one->events || !one->n_removed)
			print_err(" %llu event%s LOST", (unsigned long long)one->events,
				  plural(one->events));
		if (one->n_removed)
			print_err("%s %u old piece%s removed", one->events ? "," : "",
				  one->n_removed, plural(one->n_removed));
		print_err("\n");
	}
	if (l->more)
		print_err("  disk          others: %llu events LOST\n",
			  (unsigned long long)l->more);
}

static void print_app_lost(const struct recording_summary *a)
{
	char hint[LOSS_HINT_MAX], text[LOSS_HINT_MAX + 64];

	if (is_for_disk(a)) {
		print_lost(a->result.app_lost, "most for lack of disk: below");
		return;
	}
	if (a->result.app_unwritten) {
		print_lost(a->result.app_lost, "they could not be written");
		return;
	}
	print_lost(a->result.app_lost,
		   link_hint(a, loss_hint_application(a, hint), text, sizeof text));
	loss_hint_print(a);
}

static void print_kernel_lost(const struct recording_summary *a)
{
	char hint[LOSS_HINT_MAX], text[LOSS_HINT_MAX + 64];

	if (is_for_disk(a)) {
		print_lost(a->result.kernel_lost, "most for lack of disk: below");
		return;
	}
	print_lost(a->result.kernel_lost,
		   link_hint(a, loss_hint_kernel(a, hint), text, sizeof text));
}

static void print_missing_size(const struct recorder_result *r)
{
	char size[32];

	if (r->app_unwritten)
		print_err(", %s of events NOT WRITTEN", cmd_size_text(r->app_unwritten, size));
}

static void print_missing(const struct recording_summary *a)
{
	const struct recorder_result *r = &a->result;

	print_missing_size(r);
	if (r->app_unwritten && !r->app_lost)
		print_err("\n");
	else
		print_app_lost(a);
}

/* Print the most frequent events of one domain, in a line or two. */
static void print_names(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;
	int shown = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain && s->events[i].n) {
			if (shown < 6)
				print_err("%s%.60s %llu", shown ? ", " : "                ",
					  s->events[i].name, (unsigned long long)s->events[i].n);
			n += shown++ >= 6;
		}
	if (n)
		print_err(", and %llu more kind%s", (unsigned long long)n, plural(n));
	if (shown)
		print_err("\n");
}

static void print_kernel_reason(const char *before, const struct diag *d)
{
	print_err("%s", before);
	print_reason_err(d->text);
	print_err("\n");
}

static void print_kernel_recorder(const struct recording_summary *a,
				  const struct recorder_result *r)
{
	if (!a->is_verbose)
		return;
	if (!strcmp(r->kernel_recorder, "bpf"))
		print_err("                by BPF programs, and by ftrace what these do not "
			  "record\n");
	else
		print_kernel_reason(r->kernel_no_bpf.text[0] ? "                by ftrace: "
							     : "                by ftrace",
				    &r->kernel_no_bpf);
}

static void print_sources(const struct recording_summary *a, const struct recorder_result *r,
			  const struct summary *s)
{
	char size[32];

	print_err("  applications  %llu event%s from %u program%s, %s",
		  (unsigned long long)r->app_events, plural(r->app_events), r->programs,
		  plural(r->programs), cmd_size_text(r->app_bytes, size));
	print_missing(a);
	print_names(s, TRACE_UST);
	if (r->kernel_recorded) {
		print_err("  kernel        %llu event%s, %s", (unsigned long long)r->kernel_events,
			  plural(r->kernel_events), cmd_size_text(r->kernel_bytes, size));
		print_kernel_lost(a);
		print_kernel_recorder(a, r);
		print_names(s, TRACE_KERNEL);
	} else if (a->wants_kernel) {
		print_kernel_reason("  kernel        not recorded: ", &r->kernel_reason);
	}
}

static void print_replacements(const struct recorder_result *r)
{
	if (r->n_collectors > 1)
		print_err("  the collector was killed %u time%s; another one went on each time\n",
			  r->n_collectors - 1, plural(r->n_collectors - 1));
}

/*
 * For recordings that are sent, that have trace chunks, or that are large: print the recorder's own counters.  The
 * data may not be here, or may be weeks long.
 */
static void print_counts(const struct recording_summary *a, const struct recorder_result *r)
{
	char size[32];

	print_err("\n%s: %.3f s, %s\n", a->path, (double)r->duration_ns / 1e9,
		  cmd_size_text(r->app_bytes + r->kernel_bytes, size));
	print_err("  applications  %llu event%s from %u program%s, %s",
		  (unsigned long long)r->app_events, plural(r->app_events), r->programs,
		  plural(r->programs), cmd_size_text(r->app_bytes, size));
	print_missing(a);
	if (r->kernel_recorded) {
		print_err("  kernel        %llu events, %s", (unsigned long long)r->kernel_events,
			  cmd_size_text(r->kernel_bytes, size));
		print_kernel_lost(a);
		print_kernel_recorder(a, r);
	} else if (a->wants_kernel) {
		print_kernel_reason("  kernel        not recorded: ", &r->kernel_reason);
	}
	trace_chunks_print(a->verb, r, a->is_gone);
	print_disk_losses(&r->disk);
	print_replacements(r);
}

/* Of one recording of a series. */
static void print_line(const struct recording_summary *a, const struct recorder_result *r)
{
	uint64_t n = r->app_events + r->kernel_events, lost = r->app_lost + r->kernel_lost;
	char size[32], count[64];

	print_err("%s: %.3f s, %s, %s", a->path, (double)r->duration_ns / 1e9,
		  cmd_size_text(r->app_bytes + r->kernel_bytes, size),
		  cmd_count_text(n, "event", count));
	print_missing_size(r);
	print_lost(lost, "more memory: -b");
	if (a->wants_kernel && !r->kernel_recorded)
		print_kernel_reason("  kernel        not recorded: ", &r->kernel_reason);
	print_disk_losses(&r->disk);
	print_replacements(r);
}

void summary_print(const struct recording_summary *a)
{
	const struct recorder_result *r = &a->result;
	struct summary s;
	struct trace *t;
	struct diag d = { "" };
	char size[32];

	if (a->is_brief) {
		print_line(a, r);
		return;
	}
	if (a->is_gone || r->trace_chunks || r->app_bytes + r->kernel_bytes > READ_MOST_BYTES) {
		print_counts(a, r);
		if (!a->is_gone && !r->trace_chunks)
			print_err("\nNext: duet stats %s    how many of each event\n"
				  "      duet view -e 'PATTERN' %s    some events of it\n"
				  "      duet ui %s    as a timeline in the browser\n",
				  a->path, a->path, a->path);
		return;
	}
	if (trace_open(&t, &a->path, 1, NULL, &d) || trace_summary(t, &s, &d)) {
		cmd_error(a->verb, "cannot read what was recorded: %s", d.text);
		print_counts(a, r);
		return;
	}
	print_err("\n%s: %.3f s, %s\n", a->path, (double)r->duration_ns / 1e9,
		  cmd_size_text(r->app_bytes + r->kernel_bytes, size));
	print_sources(a, r, &s);
	print_disk_losses(&r->disk);
	print_replacements(r);
	next_print(a->path, &s);
	summary_fini(&s);
	trace_close(t);
}
