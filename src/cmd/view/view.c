/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/view.c - `duet view`: prints the events of recordings, one line each, ordered by time.
 * Also follows recordings that are still written, for `duet live` and --follow.
 *
 * Lost events are shown where they were lost, and summed at the end.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/selection.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/finding.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/strace/strace.h"
#include "cmd/view/internal.h"
#include "cmd/view/print.h"
#include "trace/text/public.h"
#include "cmd/view/view.h"
#include "trace/filter/match.h"
#include "trace/public.h"

enum {
	REFRESH_MS = 100,
	/* smaller streams are read from their beginning: they name threads */
	SKIP_BYTES_MIN = 4 << 20,
};

static volatile sig_atomic_t is_interrupted;

int view_fail(const struct view *v, const char *text)
{
	return cmd_error(v->verb, "%s", text);
}

static void warn(void *context, const char *text)
{
	const struct view *v = context;

	cmd_error(v->verb, "%s", text);
}

static void mark_state(struct view *v)
{
	for (uint32_t i = 0; i < trace_n_sources(v->trace); i++)
		for (const struct ctf_event_class *c = trace_source(v->trace, i)->meta->events; c;
		     c = c->next)
			v->is_wanted[c->number] |= trace_is_state_event(c->name);
}

static int select_by_events(struct view *v, struct diag *d)
{
	uint32_t n = trace_n_classes(v->trace);
	const char *missing;
	bool *is_wanted;

	assert(n >= v->n_classes);
	if (v->is_wanted && n == v->n_classes)
		return 0;
	is_wanted = realloc(v->is_wanted, (n + (size_t)1) * sizeof *is_wanted);
	if (!is_wanted)
		return diag_fail(d, -ENOMEM, "no memory");
	v->is_wanted = is_wanted;
	memset(is_wanted + v->n_classes, 0, (n + (size_t)1 - v->n_classes) * sizeof *is_wanted);
	v->n_classes = n;
	if (!v->n_patterns)
		selection_mark_default(v->trace, v->is_wanted);
	if (!v->n_patterns && (v->shows_state || v->form == AS_JSON))
		mark_state(v);
	missing = selection_mark_all(v->trace, v->patterns, v->n_patterns, v->is_wanted);
	return missing && !trace_may_grow(v->trace) ? selection_refuse(v->trace, missing, d) : 0;
}

static bool has_several_hosts(const struct trace *t)
{
	for (uint32_t i = 1; i < trace_n_sources(t); i++)
		if (strcmp(trace_source(t, i)->hostname, trace_source(t, 0)->hostname))
			return true;
	return false;
}

static void select_host(struct view *v)
{
	if (!v->texts.style.has_columns && has_several_hosts(v->trace))
		v->texts.style.columns |= VIEW_COLUMN_HOST;
}

static int show_event(struct view *v, const struct trace_event *e, const struct thread_identity *w)
{
	if (v->form == AS_CSV)
		return csv_event(&v->csv, e, w);
	if (v->form == AS_JSON)
		view_json(&v->out, e, w);
	else
		view_text(&v->out, &v->texts, e, w);
	return 0;
}

static void show_lost(struct view *v, const struct trace_event *e)
{
	v->lost_events += e->lost_events;
	v->lost_packets += e->lost_packets;
	if (v->form == AS_JSON)
		view_json_lost(&v->out, e);
	else if (v->form == AS_TEXT)
		view_text_lost(&v->out, &v->texts, e);
}

static bool is_chosen(const struct view *v, const struct trace_event *e,
		      const struct thread_identity *w)
{
	return !v->match || match_event(v->match, e, w);
}

static int show_call(struct view *v, const struct view_call_item *c)
{
	if (v->form == AS_CSV)
		return csv_call(&v->csv, &c->event, &c->who, &c->call);
	if (v->form == AS_JSON)
		view_json_call(&v->out, &c->event, &c->who, &c->call);
	else
		view_text_call(&v->out, &v->texts, &c->event, &c->who, &c->call);
	return 0;
}

static void count_hidden(struct view *v, const struct trace_event *e)
{
	if (trace_is_batch(e->ctf->class->name))
		v->n_batches++;
	else
		v->n_hidden++;
}

/* Whether the item of this time is before --from; a few of these name threads of later events. */
static bool is_before(const struct view *v, const struct trace_event *e)
{
	return v->from.is_given && e->time_ns < v->from.ns;
}

/* Names of threads are right without their processes. */
static bool uses_process(const struct view *v, const struct trace_event *e)
{
	return v->form != AS_TEXT || (v->match && match_uses_process(v->match)) ||
	       fields_have_addresses(e);
}

/* Learns from the event, and finds its thread if the event is shown.  False: what was skipped is needed. */
static bool learn(struct view *v, const struct trace_event *e, struct thread_identity *who)
{
	if (v->n_again || is_before(v, e) || !v->is_wanted[trace_class_number(e)]) {
		names_learn(v->names, e);
	} else {
		names_on_event(v->names, e, who);
		if (unlikely(who->pid < 0) && uses_process(v, e))
			names_find_process(v->names, e, who);
	}
	return !names_is_unsure(v->names);
}

static void report_note(struct view *v)
{
	if (*v->note.text)
		cmd_error(v->verb, "%s\n  the recording is read from its begin", v->note.text);
	*v->note.text = 0;
}

static int go_to_mark(struct view *v, struct diag *d)
{
	int err;

	report_note(v);
	err = v->from.is_given ? marks_go(&v->marks, v->from.ns, &v->note, d) : 0;
	report_note(v);
	return err;
}

/* Reads all that was skipped, and goes on behind the items that were printed. */
static int begin_anew(struct view *v, struct diag *d)
{
	v->n_again = v->n_done;
	v->n_done = 0;
	if (names_forget(v->names))
		return diag_fail(d, -ENOMEM, "no memory for names of threads");
	trace_seek(v->trace, INT64_MIN);
	marks_begin_anew(&v->marks);
	return go_to_mark(v, d);
}

static int print_events(struct view *v, struct diag *d)
{
	struct trace_event e;
	struct view_call_item call;
	struct thread_identity who;
	int item = TRACE_EVENT, err;

	while (v->n_shown < v->limit && !v->out.is_over &&
	       (item = view_calls_next(&v->calls, &e, &call, d)) > 0) {
		v->n_seen++;
		if (progress_is_stopped())
			return diag_fail(d, -EINTR, "interrupted");
		if (v->to.is_given && e.time_ns > v->to.ns) {
			v->limit = 0; /* ends the loop of follow(), too */
			break;
		}
		marks_on_item(&v->marks, e.time_ns);
		if (item == TRACE_EVENT && !learn(v, &e, &who)) {
			err = begin_anew(v, d);
			if (err)
				return err;
			continue;
		}
		if (is_before(v, &e))
			continue;
		v->n_done++;
		if (v->n_again) {
			v->n_again--;
		} else if (item == TRACE_LOST) {
			show_lost(v, &e);
		} else if (item == VIEW_CALL) {
			if (show_call(v, &call))
				return diag_fail(d, -ENOMEM, "no memory");
			v->n_shown++;
		} else if (!v->is_wanted[trace_class_number(&e)]) {
			count_hidden(v, &e);
		} else if (is_chosen(v, &e, &who)) {
			if (show_event(v, &e, &who))
				return diag_fail(d, -ENOMEM, "no memory");
			v->n_shown++;
		}
	}
	return item < 0 ? item : 0;
}

/* ---------------------------------------------------------------- following */

static void interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

/* Adds new classes and sources to everything that is indexed by them. */
static int update(struct view *v, struct diag *d)
{
	int err = names_update(v->names, v->trace, d);

	if (!err)
		err = select_by_events(v, d);
	if (!err && v->match)
		err = match_update(v->match, v->trace, v->is_wanted, d);
	if (!err && view_templates_grow(&v->texts.templates, trace_n_classes(v->trace)))
		err = diag_fail(d, -ENOMEM, "no memory");
	select_host(v);
	return err;
}

/* Classes have new numbers: everything that is indexed by them is made anew. */
static int renumber(struct view *v, const uint32_t *was, struct diag *d)
{
	const struct view_style *style = &v->texts.style;
	int err = names_renumber(v->names, v->trace, was, d);

	free(v->is_wanted);
	v->is_wanted = NULL;
	v->n_classes = 0;
	match_close(v->match);
	v->match = NULL;
	view_templates_close(&v->texts.templates);
	if (!err)
		err = select_by_events(v, d);
	if (!err && v->filter)
		err = match_open(&v->match, v->trace, v->filter, v->is_wanted, d);
	if (!err && view_templates_open(&v->texts.templates, trace_n_classes(v->trace), style->name,
					style->plain))
		err = diag_fail(d, -ENOMEM, "no memory");
	return err;
}

/* A session that rotates goes on for weeks. */
static int forget_read_chunks(struct view *v, struct diag *d)
{
	const uint32_t *was = trace_forget(v->trace);

	return was ? renumber(v, was, d) : 0;
}

static void report_silent(struct view *v)
{
	const char *silent = trace_following(v->trace)->silent;

	if (silent && silent != v->silent)
		cmd_error(v->verb,
			  "%s is silent: its recorder or the link to it has stopped; "
			  "duet waits for it%s",
			  silent,
			  trace_following(v->trace)->known_ns == INT64_MIN
				  ? "\n  if it is a flight recorder: duet snapshot writes what it "
				    "holds"
				  : "");
	v->silent = silent;
}

/* Waits for the next round.  Returns false if the reader of our output is gone, or after Ctrl-C. */
static bool wait_for_more(struct view *v)
{
	struct pollfd p = { .fd = v->out.fd };

	if (poll(&p, 1, REFRESH_MS) > 0) { /* only errors are polled */
		if (p.revents & (POLLERR | POLLNVAL))
			v->out.is_over = true;
		else
			poll(NULL, 0, REFRESH_MS);
	}
	return !v->out.is_over && !is_interrupted && !progress_is_stopped();
}

static void begin_from_now(struct view *v)
{
	int64_t now_ns = trace_following(v->trace)->known_ns;

	if (!trace_may_grow(v->trace) || now_ns == INT64_MIN || v->from.is_given)
		return;
	trace_skip_to(v->trace, now_ns, SKIP_BYTES_MIN);
	v->from = (struct moment){ .is_given = true, .ns = now_ns };
}

static int follow(struct view *v, struct diag *d)
{
	const struct sigaction act = { .sa_handler = interrupt };
	int grows, err;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	do {
		bool is_first = !v->n_rounds++;
		uint64_t before = v->n_seen;

		grows = trace_refresh(v->trace, d);
		err = grows > 0 ? forget_read_chunks(v, d) : grows;
		if (!err)
			err = update(v, d);
		if (is_first) { /* the recording's day is not known before */
			moments_resolve(&v->from, &v->to, v->trace);
		}
		if (is_first && v->is_from_now)
			begin_from_now(v);
		if (!err)
			err = print_events(v, d);
		out_flush(&v->out);
		report_silent(v);
		if (!err && v->hook && grows)
			err = v->hook->on_round(v->hook->context, v->trace, v->n_seen == before, d);
	} while (!err && grows && v->n_shown < v->limit && wait_for_more(v));
	return err;
}

static void report_followed(const struct view *v)
{
	const struct trace_following *f = trace_following(v->trace);

	if (f->n_late)
		print_err("duet %s: %" PRIu64
			  " events came too late to be shown in order: duet view shows them\n",
			  v->verb, f->n_late);
	if (f->n_gone)
		print_err("duet %s: %" PRIu64 " files of finished trace chunks were removed before "
			  "all of them was read\n",
			  v->verb, f->n_gone);
	if (f->n_cut)
		print_err("duet %s: the recorder was killed; the recording ends there\n", v->verb);
	else if (!trace_may_grow(v->trace))
		print_err("duet %s: the recording has ended\n", v->verb);
}

/* ---------------------------------------------------------------- the command */

/* Reports losses, and events that are hidden by default. */
static void report_missing(const struct view *v)
{
	char text[160];

	if (v->lost_events || v->lost_packets)
		print_err("duet %s: %s lost while recording; larger or more buffers keep more\n",
			  v->verb, cmd_lost_text(v->lost_events, v->lost_packets, text));
	if (v->n_hidden && !v->n_patterns)
		print_err("duet %s: not shown: %s of the state dump (--state)\n", v->verb,
			  cmd_count_text(v->n_hidden, "event", text));
	if (v->n_batches && !v->n_patterns && !v->calls.walk)
		print_err("duet %s: not shown: %s of calls of programs%s\n", v->verb,
			  cmd_count_text(v->n_batches, "batch", text),
			  v->follows ? "; duet graph shows them when the recording has ended" : "");
	if (v->follows)
		report_followed(v);
}

/* With -e or -f only what was asked for is shown. */
static int open_calls(struct view *v, struct diag *d)
{
	bool are_shown =
		v->has_calls_form || (!v->n_patterns && !v->filter && v->form != AS_SYSCALLS);

	return view_calls_open(&v->calls, v->trace,
			       are_shown && !v->follows ? v->calls_form : VIEW_CALLS_NONE, d);
}

/* Of a smaller one all is read, so all damage is reported. */
static bool is_large(const struct trace *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		bytes += trace_stream(t, i)->size_bytes;
	return bytes >= MARKS_RECORDING_MIN;
}

/*
 * Begins near --from: at the last mark before it, if that is near, or at the packets that are open then, if names
 * need no more.  Calls need all that was before.
 */
static int go_near(struct view *v, struct diag *d)
{
	struct marks_file none = MARKS_NO_FILE;
	int err;

	if (v->follows || v->calls.walk)
		return 0;
	err = marks_open(&v->marks, &v->marks_file, v->trace, v->names, &v->note);
	v->marks_file = none;
	if (err)
		return diag_fail(d, err, "no memory");
	if (!v->from.is_given || !is_large(v->trace) || marks_are_near(&v->marks, v->from.ns) ||
	    !names_skip(v->names, v->trace, v->from.ns))
		return go_to_mark(v, d);
	marks_pause(&v->marks);
	return 0;
}

/* Nothing was printed: a typing error in a time or a filter looks like a quiet program. */
static void report_none(const struct view *v)
{
	struct diag d = { "" };

	selection_explain_none(v->trace, &v->from, &v->to, v->patterns, v->n_patterns, v->filter,
			       &d);
	cmd_finding(v->verb, "%s", d.text);
}

static int view(struct view *v)
{
	struct view_style *style = &v->texts.style;
	struct diag d = { "no memory" };
	int err = names_open(&v->names, v->trace, &d);

	if (!err)
		err = select_by_events(v, &d);
	if (!err && v->filter)
		err = match_open(&v->match, v->trace, v->filter, v->is_wanted, &d);
	if (!err)
		err = view_templates_open(&v->texts.templates, trace_n_classes(v->trace),
					  style->name, style->plain);
	if (!err)
		err = out_init(&v->out, STDOUT_FILENO);
	v->out.is_shown = v->form == AS_CSV && terminal_is_shown_to();
	if (!err)
		err = open_calls(v, &d);
	if (err)
		return view_fail(v, d.text);
	if (!v->follows) {
		moments_resolve(&v->from, &v->to, v->trace);
	}
	if (go_near(v, &d))
		return view_fail(v, d.text);
	select_host(v);
	if (v->form == AS_CSV && csv_open(&v->csv, &v->out, v->trace, v->is_wanted, v->calls.walk))
		return view_fail(v, d.text);
	if (!v->has_no_pager && !v->follows)
		pager_open();
	if (!v->follows && !isatty(STDOUT_FILENO))
		progress_begin(v->verb, v->trace);
	err = v->follows ? follow(v, &d) : print_events(v, &d);
	progress_end();
	out_flush(&v->out);
	pager_close();
	if (err)
		return view_fail(v, d.text);
	if (v->out.err) {
		snprintf(d.text, sizeof d.text, "cannot write: %s", strerror(-v->out.err));
		return view_fail(v, d.text);
	}
	report_missing(v);
	if (!v->follows && !v->n_shown && !v->out.is_over)
		report_none(v);
	return 0;
}

static int run(struct view *v, const char *const *paths, int n)
{
	struct trace_options o = { .warn = warn, .context = v, .follows = v->follows };
	const struct reader usual = { .verb = v->verb };
	struct diag d = { "" };
	int status;

	if (!view_style_color(&v->texts.style, v->color))
		return CMD_FAILED;
	if (!v->has_no_pager && !v->follows)
		pager_prepare();
	if (!v->follows)
		marks_find(&v->marks_file, paths, n);
	if (reader_confine(v->hook && v->hook->reader ? v->hook->reader : &usual))
		return CMD_FAILED;
	progress_hook(&o);
	if (trace_open(&v->trace, paths, n, &o, &d) ||
	    addresses_open(&v->texts.symbols, paths, n, &d)) {
		trace_close(v->trace);
		return view_fail(v, d.text);
	}
	cmd_report_hosts(v->verb, trace_hosts(v->trace));
	signal(SIGPIPE, SIG_IGN);
	status = view(v);
	marks_close(&v->marks);
	if (v->marks_file.fd >= 0)
		close(v->marks_file.fd);
	csv_close(&v->csv);
	view_calls_close(&v->calls);
	out_fini(&v->out);
	addresses_close(v->texts.symbols);
	view_templates_close(&v->texts.templates);
	names_close(v->names);
	match_close(v->match);
	trace_close(v->trace);
	free(v->is_wanted);
	return status;
}

int view_follow(const char *verb, const char *const *paths, int n, bool is_from_now,
		const struct view_hook *hook, int argc, char **argv)
{
	struct view v = VIEW_NEW(verb);
	int status = view_options(&v, argc, argv);

	if (!status && v.form == AS_SYSCALLS)
		status = cmd_usage(
			verb,
			"--syscalls is for recordings: duet strace -p shows them as they happen");
	v.is_from_now = is_from_now;
	v.hook = hook;
	v.follows = true;
	return status ? status : run(&v, paths, n);
}

int cmd_view(int argc, char **argv)
{
	struct view v = VIEW_NEW("view");
	int status = view_options(&v, argc, argv);

	if (!status && optind == argc)
		status = cmd_usage("view", "no recording given");
	if (!status && v.form == AS_SYSCALLS && (v.n_patterns || v.filter || v.follows))
		status = cmd_usage("view", "--syscalls goes without -e, -f and --follow: duet "
					   "strace -i has filters of its own");
	if (!status && v.form == AS_SYSCALLS)
		return strace_view((const char *const *)argv + optind, argc - optind, &v.from,
				   &v.to, v.limit);
	if (!status)
		status = run(&v, (const char *const *)argv + optind, argc - optind);
	return cmd_findings_status(v.is_strict, status);
}
