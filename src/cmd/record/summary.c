/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/summary.c - print the summary of a recording.
 *
 * Events are counted by reading the recording, which shows that it can be read.
 */
#include "cmd/record/summary.h"

#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/record/chunk_options.h"
#include "trace/public.h"

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_lost(uint64_t lost, const char *hint)
{
	if (lost)
		fprintf(stderr, ", %llu LOST (%s)\n", (unsigned long long)lost, hint);
	else
		fprintf(stderr, ", none lost\n");
}

static void print_missing(const struct recorder_result *r, const char *hint)
{
	char size[32];

	if (r->app_unwritten)
		fprintf(stderr, ", %s of events NOT WRITTEN",
			cmd_size_text(r->app_unwritten, size));
	if (r->app_unwritten && !r->app_lost)
		fputc('\n', stderr);
	else
		print_lost(r->app_lost, hint);
}

/* Print the most frequent events of one domain, in a line or two. */
static void print_names(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;
	int shown = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain) {
			if (shown < 6)
				fprintf(stderr, "%s%.60s %llu", shown ? ", " : "                ",
					s->events[i].name, (unsigned long long)s->events[i].n);
			n += shown++ >= 6;
		}
	if (n)
		fprintf(stderr, ", and %llu more kind%s", (unsigned long long)n, plural(n));
	if (shown)
		fputc('\n', stderr);
}

static uint64_t count_domain(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain)
			n += s->events[i].n;
	return n;
}

/* A single channel lost what the line above says. */
static void print_channels_lost(const struct recording_summary *a, const struct recorder_result *r)
{
	for (int i = 0; i < a->n_channels && a->n_channels > 1; i++)
		if (r->channel_lost[i])
			fprintf(stderr, "                %llu of them in channel %s\n",
				(unsigned long long)r->channel_lost[i], a->channels[i]);
}

static void print_kernel_recorder(const struct recording_summary *a,
				  const struct recorder_result *r)
{
	if (!a->is_verbose)
		return;
	if (!strcmp(r->kernel_recorder, "bpf"))
		fprintf(stderr, "                by BPF programs, and by ftrace what these do not "
				"record\n");
	else
		fprintf(stderr, "                by ftrace%s%s\n",
			r->kernel_no_bpf.text[0] ? ": " : "", r->kernel_no_bpf.text);
}

static void print_sources(const struct recording_summary *a, const struct recorder_result *r,
			  const struct summary *s)
{
	char size[32];

	fprintf(stderr, "  applications  %llu event%s from %u program%s, %s",
		(unsigned long long)count_domain(s, TRACE_UST), plural(count_domain(s, TRACE_UST)),
		r->programs, plural(r->programs), cmd_size_text(r->app_bytes, size));
	print_missing(r, "more memory: -b 256M, or fewer events: -e");
	print_channels_lost(a, r);
	print_names(s, TRACE_UST);
	if (r->kernel_recorded) {
		fprintf(stderr, "  kernel        %llu event%s, %s",
			(unsigned long long)count_domain(s, TRACE_KERNEL),
			plural(count_domain(s, TRACE_KERNEL)),
			cmd_size_text(r->kernel_bytes, size));
		print_lost(r->kernel_lost, "fewer events: -k");
		print_kernel_recorder(a, r);
		print_names(s, TRACE_KERNEL);
	} else if (a->wants_kernel) {
		fprintf(stderr, "  kernel        not recorded: %s\n", r->kernel_reason.text);
	}
}

static void print_replacements(const struct recorder_result *r)
{
	if (r->n_collectors > 1)
		fprintf(stderr,
			"  the collector was killed %u time%s; another one went on each time\n",
			r->n_collectors - 1, plural(r->n_collectors - 1));
}

/*
 * For recordings that are sent, or that have trace chunks: print the recorder's own counters.  The
 * data may not be here, or may be weeks long.
 */
static void print_counts(const struct recording_summary *a, const struct recorder_result *r)
{
	char size[32];

	fprintf(stderr, "\n%s: %.3f s\n  applications  %u program%s, %s", a->path,
		(double)r->duration_ns / 1e9, r->programs, plural(r->programs),
		cmd_size_text(r->app_bytes, size));
	print_missing(r, a->is_gone ? "a faster link, more memory: -b, or fewer events: -e"
				    : "more memory: -b 256M, or fewer events: -e");
	print_channels_lost(a, r);
	if (r->kernel_recorded) {
		fprintf(stderr, "  kernel        %llu events, %s",
			(unsigned long long)r->kernel_events, cmd_size_text(r->kernel_bytes, size));
		print_lost(r->kernel_lost,
			   a->is_gone ? "a faster link, or fewer events: -k" : "fewer events: -k");
		print_kernel_recorder(a, r);
	}
	trace_chunks_print(a->verb, r);
	print_replacements(r);
}

void summary_print(const struct recording_summary *a)
{
	const struct recorder_result *r = &a->result;
	struct summary s;
	struct trace *t;
	struct diag d = { "" };
	char size[32];

	if (a->is_gone || r->trace_chunks)
		return print_counts(a, r);
	if (trace_open(&t, &a->path, 1, NULL, &d) || trace_summary(t, &s, &d)) {
		cmd_error(a->verb, "cannot read what was recorded: %s", d.text);
		return;
	}
	fprintf(stderr, "\n%s: %.3f s, %s\n", a->path, (double)r->duration_ns / 1e9,
		cmd_size_text(r->app_bytes + r->kernel_bytes, size));
	print_sources(a, r, &s);
	print_replacements(r);
	fprintf(stderr,
		"\nNext: duet view %s | less          all of it, merged by time\n"
		"      duet view -e 'PATTERN' %s    some events of it\n"
		"%s%s%s"
		"      babeltrace2 %s               it is CTF: other tools read it too\n",
		a->path, a->path, r->kernel_recorded ? "      duet report syscalls " : "",
		r->kernel_recorded ? a->path : "",
		r->kernel_recorded ? "      how long its system calls took\n" : "", a->path);
	summary_fini(&s);
	trace_close(t);
}
