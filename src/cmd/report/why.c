/* SPDX-License-Identifier: MIT */
/* cmd/report/why.c - `duet report why`: the states of a thread, and the causes of its waits. */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/names/public.h"
#include "analysis/wait/public.h"
#include "cmd/cmd.h"
#include "cmd/report/futex.h"
#include "cmd/report/internal.h"

static const char *where_text(const struct wait_analysis *w, const struct wait_part *p,
			      char buffer[WAIT_CALL_BYTES])
{
	if (p->is_fault)
		return "page fault";
	if (p->state != WAIT_BLOCKED || p->call)
		return p->call ? wait_call_words(w->calls.names[p->call - 1], &w->objects,
						 p->object, buffer)
			       : "";
	return w->calls.has_entries ? "outside of known calls" : "";
}

/* A call with all its arguments. */
static const char *arguments_text(const struct wait_analysis *w, const struct wait_interval *wait,
				  char buffer[512])
{
	const struct call_made *m = &wait->call;
	struct text object = { 0 };
	size_t n;

	if (!m->call)
		return wait->is_fault ? "page fault" : "";
	n = (size_t)snprintf(buffer, 512, "%s(", w->calls.names[m->call - 1]);
	objects_words(&w->objects, wait->object, &object);
	for (uint32_t i = 0; m->class && i < m->class->n_fields && n < 512; i++) {
		const char *name = m->class->name[i];
		bool is_address = m->args[i] < -4096 || m->args[i] > 0xffffffff;
		char op[48];

		if (!i && object.size) { /* calls_object() is the first argument */
			n += (size_t)snprintf(buffer + n, 512 - n, "%.300s", object.bytes);
			continue;
		}
		if (!strcmp(w->calls.names[m->call - 1], "futex") && !strcmp(name, "op"))
			snprintf(op, sizeof op, "%s", futex_op_text(m->args[i], (char[32]){ 0 }));
		else
			snprintf(op, sizeof op, is_address ? "0x%" PRIx64 : "%" PRId64, m->args[i]);
		n += (size_t)snprintf(buffer + n, 512 - n, "%s%s=%s", i ? ", " : "", name, op);
	}
	text_fini(&object);
	if (n < 511)
		strcat(buffer, ")");
	return buffer;
}

/* "take_lock at worker.c:88"; "" if it is unknown. */
static const char *site_text(const struct wait_analysis *w, uint32_t site, struct text *t)
{
	text_fini(t);
	if (site)
		heap_sites_words(w->sites, site - 1, t);
	return t->size ? t->bytes : "";
}

static bool has_sites(const struct wait_analysis *w)
{
	return w->sites && heap_sites_any(w->sites);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---------------------------------------------------------------- tables */

static void print_states(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	const struct wait_span *slow = w->n_slowest ? &w->slowest[0] : NULL;
	const struct column columns[] = {
		{ "state", NULL, CELL_TEXT },
		{ "what", "its time", CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		{ "ns", "total", CELL_NS },
		{ "percent", "of all", CELL_PERCENT },
		{ "mean_ns", r->a ? "on average" : NULL, CELL_NS },
		{ "slowest_ns", r->a ? "the slowest" : NULL, CELL_NS },
		{ "slowest_percent", r->a ? "of it" : NULL, CELL_PERCENT },
	};
	struct table t = TABLE(columns);

	for (int i = WAIT_STATES - 1; i >= 0; i--) {
		if (!w->all.ns[i])
			continue;
		table_text(&t, wait_state_keys[i]);
		table_text(&t, wait_state_words(w, i));
		table_number(&t, (int64_t)w->all.n[i]);
		table_number(&t, (int64_t)w->all.ns[i]);
		table_real(&t, share(w->all.ns[i], w->ns));
		table_number_or_nothing(&t, w->spans.n,
					w->spans.n ? (int64_t)(w->all.ns[i] / w->spans.n) : 0);
		table_number_or_nothing(&t, slow, slow ? (int64_t)slow->account.ns[i] : 0);
		table_real(&t, slow ? share(slow->account.ns[i], slow->ns) : 0);
	}
	page_table(p, "states", NULL, &t, UINT64_MAX);
}

static void print_threads(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	static const struct column columns[] = {
		{ "thread", "thread", CELL_TEXT },
		{ "tid", NULL, CELL_COUNT },
		{ "ns", "known", CELL_NS },
		{ "user_ns", "user", CELL_NS },
		{ "kernel_ns", "kernel", CELL_NS },
		{ "irq_ns", "interrupted", CELL_NS },
		{ "preempted_ns", "preempted", CELL_NS },
		{ "runnable_ns", "for a CPU", CELL_NS },
		{ "blocked_ns", "blocked", CELL_NS },
		{ "unknown_ns", "unknown", CELL_NS },
	};
	static const enum wait_state states[] = { WAIT_USER,	  WAIT_KERNEL,	 WAIT_IRQ,
						  WAIT_PREEMPTED, WAIT_RUNNABLE, WAIT_BLOCKED,
						  WAIT_UNKNOWN };
	struct table t = TABLE(columns);
	char name[48];

	if (w->n_rows < 2 && !p->is_json)
		return;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		const struct wait_row *row = &w->rows[i];

		table_text(&t, thread_text(w->run.threads, row->thread, name));
		table_number(&t, threads_at(w->run.threads, row->thread)->tid);
		table_number(&t, (int64_t)(row->ns - row->account.ns[WAIT_UNKNOWN]));
		for (int k = 0; k < 7; k++)
			table_number(&t, (int64_t)row->account.ns[states[k]]);
	}
	page_table(p, "threads", "By thread", &t, r->limit);
}

static void print_parts(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	const struct column columns[] = {
		{ "state", NULL, CELL_TEXT },
		{ "what", "what", CELL_TEXT },
		{ "where", "in", CELL_TEXT },
		{ "site", has_sites(w) ? "called in" : NULL, CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		{ "ns", "total", CELL_NS },
		{ "max_ns", "longest", CELL_NS },
		{ "max_at_ns", "that began", CELL_TIME },
	};
	struct table t = TABLE(columns);
	struct text site = { 0 };
	char text[WAIT_CALL_BYTES];

	for (uint32_t i = 0; i < w->parts.n; i++) {
		const struct wait_part *part = &w->parts.at[i];

		table_text(&t, wait_state_keys[part->state]);
		table_text(&t, wait_state_words(w, part->state));
		table_text(&t, where_text(w, part, text));
		table_text(&t, site_text(w, part->site, &site));
		table_number(&t, (int64_t)part->n);
		table_number(&t, (int64_t)part->ns);
		table_number(&t, (int64_t)part->max_ns);
		table_number(&t, part->max_at_ns);
	}
	page_table(p, "parts", "In detail", &t, r->limit);
	text_fini(&site);
}

/* "hog:12"; CPUs without a thread are idle. */
static const char *holder_text(const struct wait_analysis *w, uint32_t holder, char buffer[48])
{
	return holder ? thread_text(w->run.threads, holder, buffer) : "(idle)";
}

static void print_holders(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	bool has_others = false;
	uint64_t whole = w->all.ns[WAIT_PREEMPTED] + w->all.ns[WAIT_RUNNABLE];

	for (uint32_t i = 0; i < w->holders.n; i++)
		has_others |= w->holders.at[i].has_others;

	const struct column columns[] = {
		{ "state", NULL, CELL_TEXT },
		{ "what", w->is_overview ? NULL : "was", CELL_TEXT },
		{ "thread", "while there ran", CELL_TEXT },
		{ "tid", NULL, CELL_COUNT },
		{ "others", has_others ? "and" : NULL, CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		{ "ns", "total", CELL_NS },
		{ "percent", "of the wait for a CPU", CELL_PERCENT },
	};
	struct table t = TABLE(columns);
	char name[48];

	for (uint32_t i = 0; i < w->holders.n; i++) {
		const struct wait_part *part = &w->holders.at[i];

		table_text(&t, w->is_overview ? "" : wait_state_keys[part->state]);
		table_text(&t, w->is_overview ? "" : wait_state_words(w, part->state));
		table_text(&t, holder_text(w, part->thread, name));
		table_number(&t, part->thread ? threads_at(w->run.threads, part->thread)->tid : 0);
		table_text(&t, part->has_others ? "others, unrecorded" : "");
		table_number(&t, (int64_t)part->n);
		table_number(&t, (int64_t)part->ns);
		table_real(&t, share(part->ns, whole));
	}
	page_table(p, "holders", "What ran on the CPU that it waited for", &t, r->limit);
}

/* A slice of a path as text. */
static const char *slice_text(const struct wait_analysis *w, uint8_t state, uint32_t call,
			      uint32_t object, struct wait_cause cause, uint32_t holder,
			      char buffer[WAIT_SLICE_BYTES])
{
	char text[80], words[WAIT_CALL_BYTES];
	const char *name = call ? w->calls.names[call - 1] : NULL;

	if (state == WAIT_PREEMPTED && holder) {
		snprintf(buffer, WAIT_SLICE_BYTES, "preempted by %s", holder_text(w, holder, text));
		return buffer;
	}

	if (name)
		name = wait_call_words(name, &w->objects, state == WAIT_BLOCKED ? object : 0,
				       words);
	return wait_slice_words(w, state, name,
				cause.kind ? wait_cause_words(w, cause, text) : NULL, buffer);
}

static void print_chain(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	static const struct column columns[] = {
		{ "thread", "thread", CELL_TEXT },
		{ "tid", NULL, CELL_COUNT },
		{ "state", NULL, CELL_TEXT },
		{ "what", "was", CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		{ "ns", "total", CELL_NS },
		{ "percent", "of blocked", CELL_PERCENT },
	};
	uint64_t whole = 0;
	char name[48], text[WAIT_SLICE_BYTES];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < w->chain.n; i++)
		whole += w->chain.at[i].ns;
	for (uint32_t i = 0; i < w->chain.n; i++) {
		const struct wait_part *part = &w->chain.at[i];

		table_text(&t, thread_text(w->run.threads, part->thread, name));
		table_number(&t, threads_at(w->run.threads, part->thread)->tid);
		table_text(&t, wait_state_keys[part->state]);
		table_text(&t, slice_text(w, part->state, part->call, part->object, part->cause,
					  part->holder, text));
		table_number(&t, (int64_t)part->n);
		table_number(&t, (int64_t)part->ns);
		table_real(&t, share(part->ns, whole));
	}
	page_table(p, "chain", "Causes of the time it was blocked", &t, r->limit);
}

/* A table of waits. The path of the longest is a table of its own. */
static void print_waits(struct page *p, const struct wait_analysis *w,
			const struct wait_interval *waits, uint32_t n, const char *heading)
{
	const struct column columns[] = {
		TABLE_SLOW("waited", "from"),
		{ "for_cpu_ns", "of it for a CPU", CELL_NS },
		{ "holder", "while there ran", CELL_TEXT },
		{ "waker", "woken by", CELL_TEXT },
		{ "call", "in", CELL_TEXT },
		{ "site", has_sites(w) ? "called in" : NULL, CELL_TEXT },
	};
	char name[48], text[512], cause[80];
	struct text site = { 0 };
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < n; i++) {
		const struct wait_interval *wait = &waits[i];
		struct slow slow = { (uint64_t)(wait->end_ns - wait->begin_ns), wait->begin_ns,
				     wait->thread, 0, 0 };
		bool is_preempted = wait->is_woken && wait->woken_ns <= wait->begin_ns;

		report_slow(&t, &w->run, &slow);
		table_number(&t, wait->end_ns - (wait->woken_ns > wait->begin_ns ? wait->woken_ns
										 : wait->begin_ns));
		table_text(&t, wait->holder ? holder_text(w, wait->holder, name) : "");
		table_text(&t, wait->waker	  ? thread_text(w->run.threads, wait->waker, name)
			       : is_preempted	  ? "(preempted)"
			       : wait->cause.kind ? wait_cause_words(w, wait->cause, cause)
			       : wait->is_woken	  ? "?"
						  : "(not recorded)");
		table_text(&t, arguments_text(w, wait, text));
		table_text(&t, site_text(w, wait->site, &site));
	}
	page_table(p, "waits", heading, &t, UINT64_MAX);
	text_fini(&site);
}

static void print_path(struct page *p, const struct wait_analysis *w,
		       const struct wait_interval *wait, const struct report *r)
{
	static const struct column columns[] = {
		{ "time_ns", "from", CELL_TIME }, { "ns", "for", CELL_NS },
		{ "depth", NULL, CELL_COUNT },	  { "thread", "thread", CELL_TEXT },
		{ "tid", NULL, CELL_COUNT },	  { "what", "was", CELL_TEXT },
	};
	char name[48], text[WAIT_SLICE_BYTES];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < wait->n_slices; i++) {
		const struct wait_slice *slice = &wait->slices[i];

		table_number(&t, slice->begin_ns);
		table_number(&t, slice->end_ns - slice->begin_ns);
		table_number(&t, slice->depth);
		table_text(&t, thread_text(w->run.threads, slice->thread, name));
		table_number(&t, threads_at(w->run.threads, slice->thread)->tid);
		table_text(&t, slice_text(w, slice->state, slice->call, slice->object, slice->cause,
					  slice->holder, text));
	}
	page_table(p, "path", "The longest wait, step by step", &t, r->limit);
}

static void print_spans(struct page *p, const struct wait_analysis *w)
{
	static const struct column columns[] = {
		TABLE_SLOW("duration", "from"),		{ "running_ns", "running", CELL_NS },
		{ "for_cpu_ns", "for a CPU", CELL_NS }, { "blocked_ns", "blocked", CELL_NS },
		{ "unknown_ns", "unknown", CELL_NS },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < w->n_slowest; i++) {
		const struct wait_span *s = &w->slowest[i];
		const uint64_t *ns = s->account.ns;

		report_slow(&t, &w->run, &(struct slow){ s->ns, s->begin_ns, s->thread, 0, 0 });
		table_number(&t, (int64_t)(ns[WAIT_USER] + ns[WAIT_KERNEL] + ns[WAIT_IRQ]));
		table_number(&t, (int64_t)(ns[WAIT_RUNNABLE] + ns[WAIT_PREEMPTED]));
		table_number(&t, (int64_t)ns[WAIT_BLOCKED]);
		table_number(&t, (int64_t)ns[WAIT_UNKNOWN]);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
}

/* ---------------------------------------------------------------- words */

/* The summary: "on a CPU 30 %, ... blocked longest in ...". */
static void print_summary(struct page *p, const struct wait_analysis *w, const struct report *r)
{
	const uint64_t *ns = w->all.ns;
	const struct wait_part *most = NULL, *link = NULL;
	char time[32], text[WAIT_SLICE_BYTES], name[48], part_time[32];

	for (uint32_t i = 0; i < w->parts.n && !most; i++)
		most = w->parts.at[i].state == WAIT_BLOCKED ? &w->parts.at[i] : NULL;
	if (w->chain.n)
		link = &w->chain.at[0];
	page_line(p, "%s", "");
	if (r->a)
		page_line(p, "%s from %s to %s took %s:", cmd_count_text(w->spans.n, "time", text),
			  r->a, r->b, duration_text(w->ns, time));
	else if (w->n_rows == 1)
		page_line(p, "%s, of %s:", thread_text(w->run.threads, w->rows[0].thread, name),
			  duration_text(w->ns, time));
	else
		page_line(p, "%s, of %s together:", cmd_count_text(w->n_rows, "thread", text),
			  duration_text(w->ns, time));
	page_line(p, "  %s", wait_share_words(ns, text));
	if (most)
		page_line(p, "  blocked longest in %s: %s",
			  *where_text(w, most, text) ? where_text(w, most, text) : "?",
			  duration_text(most->ns, part_time));
	if (w->holders.n && w->holders.at[0].thread)
		page_line(p, "  while %s waited for a CPU, most of all, %s ran there: %s",
			  w->n_rows == 1 ? "it" : "they",
			  holder_text(w, w->holders.at[0].thread, name),
			  duration_text(w->holders.at[0].ns, part_time));
	if (link)
		page_line(p, "  meanwhile, most of all, %s was %s: %s",
			  thread_text(w->run.threads, link->thread, name),
			  slice_text(w, link->state, link->call, link->object, link->cause,
				     link->holder, text),
			  duration_text(link->ns, part_time));
}

static void print_missing(struct page *p, const struct wait_analysis *w)
{
	char count[64];

	for (int i = 0; wait_lack_words(w, i); i++)
		page_line(p, "%s", wait_lack_words(w, i));
	if (w->n_cut)
		page_line(p, "left out because events were lost during them: %s",
			  cmd_count_text(w->n_cut, "time", count));
	if (w->n_open)
		page_line(p, "without an end, and not in the sum: %s",
			  cmd_count_text(w->n_open, "time", count));
	if (w->n_without_waker)
		page_line(p, "without a recorded wakeup: %" PRIu64 " of %s", w->n_without_waker,
			  cmd_count_text(w->n_waits_seen, "wait", count));
	if (w->n_left_out)
		page_line(p,
			  w->is_overview ? "left out because the recording does not follow them: "
					   "%s (record with --all-kernel)"
					 : "the recording lacks switches of %s: record with "
					   "--all-kernel",
			  cmd_count_text(w->n_left_out, "thread", count));
	if (w->n_contradictions)
		page_line(p, "a switch is missing %s: the time around it is unknown",
			  cmd_count_text(w->n_contradictions, "time", count));
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	const struct wait_question q = { .tid = r->tid,
					 .pid = r->pid,
					 .a = r->a,
					 .b = r->b,
					 .n_slowest = r->n_slowest,
					 .paths = r->paths,
					 .n_paths = r->n_paths };

	return wait_init(analysis, r->trace, &r->range, &q, d);
}

static int refuse_threads(const struct report *r)
{
	static const char rest[] = "this part of the recording has no such thread; "
				   "`duet stats --by thread` lists its threads";

	if (r->tid >= 0)
		return cmd_error("report", "-t %" PRId64 ": %s", r->tid, rest);
	if (r->pid >= 0)
		return cmd_error("report", "-p %" PRId64 ": %s", r->pid, rest);
	return cmd_error("report", "%s", rest);
}

static int check(const void *analysis, const struct report *r)
{
	const struct wait_analysis *w = analysis;

	if (!w->has_switches)
		return report_lacks(&w->run, "switches of threads", "-k sched -k syscalls -k irq");
	if (r->a && (!w->n_classes_a || !w->n_classes_b))
		return report_unknown(r, w->n_classes_a ? r->b : r->a);
	if (!w->n_rows)
		return refuse_threads(r);
	return 0;
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct wait_analysis *w = analysis;
	static const struct column times[] = { { "n", "times", CELL_COUNT }, TABLE_SAMPLES };
	const struct wait_interval *waits = r->a && w->n_slowest ? w->slowest[0].waits : w->waits;
	uint32_t n_waits = r->a && w->n_slowest ? w->slowest[0].n_waits : w->n_waits;
	struct table t = TABLE(times);

	page_number(p, "ns", (int64_t)w->ns);
	page_number(p, "n_waits", (int64_t)w->n_waits_seen);
	page_number(p, "n_without_waker", (int64_t)w->n_without_waker);
	page_number(p, "n_contradictions", (int64_t)w->n_contradictions);
	page_number(p, "n_cut", (int64_t)w->n_cut);
	page_number(p, "n_open", (int64_t)w->n_open);
	page_number(p, "n_left_out", (int64_t)w->n_left_out);
	print_missing(p, w);
	print_summary(p, w, r);
	print_states(p, w, r);
	if (r->a) {
		table_number(&t, (int64_t)w->spans.n);
		table_samples(&t, &w->spans);
		page_table(p, "times", "Durations", &t, UINT64_MAX);
		page_histogram(p, "histogram", NULL, &w->spans, CELL_NS);
		print_spans(p, w);
	}
	print_threads(p, w, r);
	print_holders(p, w, r);
	if (w->is_overview) {
		page_line(p, "%s", "");
		page_line(p,
			  "-t TID or -p PID shows where a thread waited and which thread woke it");
		return;
	}
	print_parts(p, w, r);
	print_chain(p, w, r);
	print_waits(p, w, waits, n_waits,
		    r->a ? "The longest waits of the slowest" : "The longest waits");
	if (n_waits)
		print_path(p, w, &waits[0], r);
}

static void fini(void *analysis)
{
	wait_fini(analysis);
}

int report_why(const struct report *r)
{
	static const struct report_kind kind = { sizeof(struct wait_analysis),
						 offsetof(struct wait_analysis, run),
						 read_recording,
						 check,
						 print,
						 fini };

	return report_run(r, &kind);
}
