/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/print.c - prints system calls, signals and the summary.
 *
 * The summary is a linear list: a program uses at most some hundred different calls.
 */
#include "cmd/strace/print.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/tracefs/public.h"

/* ---------------------------------------------------------------- counting */

static struct strace_count *row_of(struct strace_printer *p, const char *call)
{
	for (uint32_t i = 0; i < p->n_rows; i++)
		if (!strcmp(p->rows[i].call, call))
			return &p->rows[i];
	if (pass_grow(&p->rows, &p->capacity, p->n_rows, sizeof *p->rows))
		return NULL;
	p->rows[p->n_rows].call = call;
	return &p->rows[p->n_rows++];
}

/* A call that does not return is not counted: its duration is unknown. */
static int count(struct strace_printer *p, const struct pairing_item *item)
{
	struct strace_count *row = item->has_end ? row_of(p, item->name) : NULL;
	uint64_t ns = item->end_ns > item->begin_ns ? (uint64_t)(item->end_ns - item->begin_ns) : 0;

	if (!item->has_end)
		return 0;
	if (!row || (item->has_begin && samples_add(&row->time, ns)))
		return -ENOMEM;
	row->n++;
	row->n_errors += call_is_error(item->result);
	return 0;
}

/* ---------------------------------------------------------------- lines */

static void add(struct out *o, const char *s)
{
	out_text(o, s, strlen(s));
}

static void add_seconds(struct out *o, uint64_t ns, int digits)
{
	char text[40];

	snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	out_bytes(o, text, strlen(text) - (size_t)(9 - digits));
}

static void add_time(struct strace_printer *p, int64_t time_ns)
{
	time_t t = (time_t)(time_ns / 1000000000);
	char text[64];
	struct tm tm;

	switch (p->time) {
	case STRACE_NO_TIME:
		return;
	case STRACE_TIME:
	case STRACE_MICROSECONDS:
		localtime_r(&t, &tm);
		strftime(text, sizeof text, "%H:%M:%S", &tm);
		add(p->to, text);
		if (p->time == STRACE_MICROSECONDS) {
			snprintf(text, sizeof text, ".%06lld",
				 (long long)(time_ns % 1000000000 / 1000));
			add(p->to, text);
		}
		break;
	case STRACE_EPOCH:
		add_seconds(p->to, (uint64_t)time_ns, 6);
		break;
	case STRACE_RELATIVE:
		snprintf(text, sizeof text, "%6s", "");
		add(p->to, text);
		add_seconds(p->to,
			    p->has_last && time_ns > p->last_ns ? (uint64_t)(time_ns - p->last_ns)
								: 0,
			    6);
		break;
	}
	p->last_ns = time_ns;
	p->has_last = true;
	out_byte(p->to, ' ');
}

/* "[pid  4711<name>] ", or in a file "4711<name> ". */
static void add_thread(struct strace_printer *p, const struct pairing_item *item)
{
	const struct thread *th = threads_at(p->threads, item->thread);
	char number[32];

	if (p->prefix == STRACE_NAMES) {
		out_byte(p->to, '[');
		out_text(p->to, th->name, th->name_size);
		out_byte(p->to, ':');
		out_i64(p->to, th->tid);
		return out_literal(p->to, "] ");
	}
	if (p->prefix == STRACE_NO_PIDS || (p->prefix == STRACE_PIDS && item->n_threads < 2))
		return;
	snprintf(number, sizeof number,
		 p->prefix == STRACE_PIDS ? "[pid %5d"
		 : p->names_pids	  ? "%d"
					  : "%-5d",
		 (int)th->tid);
	add(p->to, number);
	if (p->names_pids) {
		struct text name = { 0 };

		call_plain(&name, th->name, th->name_size);
		out_byte(p->to, '<');
		if (name.size)
			out_text(p->to, name.bytes, name.size);
		out_byte(p->to, '>');
		text_fini(&name);
	}
	add(p->to, p->prefix == STRACE_PIDS ? "] " : " ");
}

/* -n; of a signal the call that was made last. */
static void add_call_number(struct strace_printer *p, const struct pairing_item *item)
{
	const char *call = *item->name ? item->name : item->last_call;
	char text[32];
	int nr = 0;

	if (!p->numbers)
		return;
	while (nr < KERNEL_SYSCALLS_MAX &&
	       (!kernel_syscall_name(nr) || strcmp(kernel_syscall_name(nr), call) != 0))
		nr++;
	if (nr == KERNEL_SYSCALLS_MAX)
		return add(p->to, *item->name ? "[????] " : "");
	snprintf(text, sizeof text, "[%4d] ", nr);
	add(p->to, text);
}

static void add_lines(struct out *o, const char *text)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		out_text(o, text, (size_t)(end - text));
		out_byte(o, '\n');
	}
}

/* The reason why a call is not shown to its end. */
static void add_reason(struct out *o, const struct pairing_item *item)
{
	if (!item->becomes)
		return add(o, item->is_left ? " <detached ...>" : " <unfinished ...>");
	out_literal(o, " <pid changed to ");
	out_i64(o, item->becomes);
	out_literal(o, " ...>");
}

static void add_call(struct strace_printer *p, const struct pairing_item *item, size_t width)
{
	struct out *o = p->to;

	if (item->was_given || !item->has_begin) {
		out_literal(o, "<... ");
		add(o, item->name);
		out_literal(o, " resumed>");
		add(o, item->late_text);
		out_byte(o, ')');
		width += strlen(item->name) + strlen(item->late_text) + 15;
	} else if (!item->has_end && *item->result_text != '?') {
		add(o, item->name);
		out_byte(o, '(');
		add(o, item->early_text);
		add_reason(o, item);
		return out_byte(o, '\n');
	} else {
		add(o, item->name);
		out_byte(o, '(');
		add(o, item->text);
		width += strlen(item->name) + strlen(item->text) + 2;
		out_byte(o, ')');
	}
	do
		out_byte(o, ' ');
	while (++width < p->column && width < 512);
	out_literal(o, "= ");
	add(o, *item->result_text ? item->result_text : "?");
	if (p->has_durations && item->has_begin && item->has_end) {
		out_literal(o, " <");
		add_seconds(o,
			    item->end_ns > item->begin_ns
				    ? (uint64_t)(item->end_ns - item->begin_ns)
				    : 0,
			    9);
		out_byte(o, '>');
	}
	out_byte(o, '\n');
	add_lines(o, item->dump);
	if (p->stacks && item->n_stack)
		strace_stacks_add(p->stacks, o, threads_at(p->threads, item->thread)->pid, item);
}

static void add_lost(struct strace_printer *p, const struct pairing_item *item)
{
	p->lost_events += item->lost_events;
	p->lost_packets += item->lost_packets;
	out_literal(&p->out, "... ");
	if (item->lost_events) {
		out_u64(&p->out, item->lost_events);
		out_literal(&p->out, " events lost here\n");
	} else {
		out_u64(&p->out, item->lost_packets);
		out_literal(&p->out, " packets of events lost here\n");
	}
}

static bool has_wanted_ending(const struct strace_printer *p, const struct pairing_item *item)
{
	unsigned ending = !item->has_end		? STRACE_UNFINISHED
			  : call_is_error(item->result) ? STRACE_FAILED
							: STRACE_OK;

	return p->filter.endings & ending;
}

static bool is_reported(const struct strace_printer *p, const struct pairing_item *item)
{
	if (item->kind == PAIRING_SUPERSEDED)
		return !p->hides_superseded && p->quiet < 3;
	if (item->kind == PAIRING_DEATH)
		return p->quiet < 2;
	return item->result > 0 && item->result <= 64 &&
	       p->filter.signals >> (item->result - 1) & 1;
}

static void print(struct strace_printer *p, const struct pairing_item *item)
{
	const char *begin;
	size_t width;

	assert(p->threads);
	p->to = strace_output(p, item->thread);
	if (!p->to)
		return;
	out_room(p->to);
	begin = p->to->at;
	add_thread(p, item);
	add_time(p, item->begin_ns);
	add_call_number(p, item);
	width = p->prefix == STRACE_NAMES ? 0 : (size_t)(p->to->at - begin);
	if (item->kind == PAIRING_SIGNAL || item->kind == PAIRING_DEATH ||
	    item->kind == PAIRING_SUPERSEDED) {
		const char *mark = item->kind == PAIRING_SIGNAL ? "---" : "+++";

		add(p->to, mark);
		out_byte(p->to, ' ');
		add(p->to, item->text);
		out_byte(p->to, ' ');
		add(p->to, mark);
		out_byte(p->to, '\n');
	} else {
		add_call(p, item, width);
	}
	p->n_lines++;
}

int strace_print_item(void *context, const struct pairing_item *item)
{
	struct strace_printer *p = context;
	bool is_call = item->kind == PAIRING_CALL || item->kind == PAIRING_LASTING;

	if (item->kind == PAIRING_LOST) {
		add_lost(p, item);
		return 0;
	}
	if (is_call ? !has_wanted_ending(p, item) : !is_reported(p, item)) {
		if (item->kind == PAIRING_DEATH)
			strace_output_end(p, item->thread);
		return 0;
	}
	if (p->counts && item->kind == PAIRING_CALL && count(p, item))
		return -ENOMEM;
	if (p->prints)
		print(p, item);
	if (item->kind == PAIRING_DEATH || item->is_left)
		strace_output_end(p, item->thread);
	return p->n_lines >= p->limit || p->out.is_over;
}

bool strace_on_data(void *context, int32_t fd, bool is_write)
{
	const struct strace_printer *p = context;

	return strace_style_dumps(&p->style, fd, is_write);
}

bool strace_on_call(void *context, const char *call)
{
	const struct strace_printer *p = context;

	return strace_filter_has(&p->filter, call);
}

/* ---------------------------------------------------------------- the summary */

static const char *sort_key;

static int compare(const void *a, const void *b)
{
	const struct strace_count *x = a, *y = b;
	uint64_t m = x->time.sum, n = y->time.sum;

	if (!strcmp(sort_key, "calls"))
		m = x->n, n = y->n;
	else if (!strcmp(sort_key, "errors"))
		m = x->n_errors, n = y->n_errors;
	else if (!strcmp(sort_key, "max"))
		m = x->time.max, n = y->time.max;
	if (m != n && strcmp(sort_key, "name") != 0)
		return m < n ? 1 : -1;
	return strcmp(x->call, y->call);
}

static void summary_line(struct strace_printer *p, struct strace_count *row, uint64_t all_ns,
			 bool is_wide)
{
	char text[256], errors[24] = "";
	int n;

	if (row->n_errors)
		snprintf(errors, sizeof errors, "%" PRIu64, row->n_errors);
	n = snprintf(text, sizeof text, "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9s ",
		     all_ns ? 100.0 * (double)row->time.sum / (double)all_ns : 0,
		     (double)row->time.sum / 1e9,
		     row->time.n ? row->time.sum / row->time.n / 1000 : 0, row->n, errors);
	if (is_wide)
		snprintf(text + n, sizeof text - (size_t)n, "%9.1f %9.1f %11.1f ",
			 (double)samples_percentile(&row->time, 50) / 1e3,
			 (double)samples_percentile(&row->time, 99) / 1e3,
			 (double)row->time.max / 1e3);
	add(&p->out, text);
	add(&p->out, row->call);
	out_byte(&p->out, '\n');
}

void strace_summary(struct strace_printer *p, uint32_t width)
{
	bool is_wide = width >= 100;
	const char *line = "------ ----------- ----------- --------- --------- ",
		   *wide = is_wide ? "--------- --------- ----------- " : "";
	struct strace_count all = { .call = "total" };

	assert(p->sort);
	sort_key = p->sort;
	if (p->n_rows)
		qsort(p->rows, p->n_rows, sizeof *p->rows, compare);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		all.n += p->rows[i].n;
		all.n_errors += p->rows[i].n_errors;
		/* Without memory, the percentiles of the total lack some samples. */
		(void)!samples_merge(&all.time, &p->rows[i].time);
	}
	add(&p->out, "% time     seconds  usecs/call     calls    errors ");
	add(&p->out, is_wide ? "p50 usecs p99 usecs   max usecs syscall" : "syscall");
	out_byte(&p->out, '\n');
	for (int i = 0; i < 2; i++) {
		add(&p->out, line);
		add(&p->out, wide);
		out_literal(&p->out, "----------------\n");
		for (uint32_t k = 0; !i && k < p->n_rows; k++)
			summary_line(p, &p->rows[k], all.time.sum, is_wide);
	}
	summary_line(p, &all, all.time.sum, is_wide);
	samples_fini(&all.time);
}

void strace_printer_fini(struct strace_printer *p)
{
	for (uint32_t i = 0; i < p->n_rows; i++)
		samples_fini(&p->rows[i].time);
	free(p->rows);
	strace_stacks_close(p->stacks);
	strace_outputs_fini(p);
	out_fini(&p->out);
}
