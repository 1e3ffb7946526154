/* SPDX-License-Identifier: MIT */
/*
 * collect/dispatch.c - parse a request, find its verb in a table, carry it out and answer.
 *
 * Handlers return true if they keep the descriptors to answer later.
 */
#include "collect/dispatch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/collector.h"
#include "collect/calls_request.h"
#include "base/json_line.h"
#include "collect/request/stop.h"
#include "collect/drain/files.h"
#include "collect/chunks/chunks.h"
#include "collect/rotate.h"
#include "collect/request/enable.h"
#include "collect/trigger/request.h"
#include "ctf/write/public.h"
#include "net/send/public.h"

/* A request being answered. */
struct request {
	struct collector *collector;
	const struct json_line *line;
	const char *text; /* the line itself */
	int fd;		  /* receives the answer */
	int passed;	  /* a descriptor passed with it, or -1 */
};

static void refuse(const struct request *a, const char *why)
{
	json_line_refuse(a->fd, false, why);
}

static void begin_answer(struct text *t)
{
	text_addf(t, "{\"ok\":true");
}

static void send_answer(const struct request *a, struct text *t)
{
	json_line_send(a->fd, t, -1); /* a client that does not read gets no answer */
	text_fini(t);
}

/* ---------------------------------------------------------------- snapshot */

static bool has_flight_recorder(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		if (s->channels[i].flight_recorder)
			return true;
	return false;
}

static bool snapshot(const struct request *a)
{
	if (!has_flight_recorder(&a->collector->session))
		refuse(a, "the session does not keep events in memory: start it with --overwrite "
			  "to take snapshots");
	else if (snapshot_is_open(&a->collector->snapshot))
		json_line_refuse(a->fd, true, "another snapshot is being written");
	else {
		snapshot_begin(&a->collector->snapshot, a->line, a->fd, a->passed);
		return true; /* answers and closes later */
	}
	return false;
}

/* ---------------------------------------------------------------- enable, disable */

static bool switch_events(const struct request *a, bool enable)
{
	if (json_line_has(a->line, "graph")) {
		calls_request(a->collector, a->line, a->text, a->fd);
		return false;
	}
	if (!enable_request_read(&a->collector->enable_batch, a->line, enable, a->fd))
		return false;
	if (a->passed >= 0)
		close(a->passed);
	return true;
}

static bool enable(const struct request *a)
{
	return switch_events(a, true);
}

static bool disable(const struct request *a)
{
	return switch_events(a, false);
}

/* ---------------------------------------------------------------- flush */

enum { POLLS = 64 }; /* the kernel may record without end meanwhile */

static bool flush(const struct request *a)
{
	struct collector *c = a->collector;
	uint64_t until_ns = collector_now_ns(c);
	struct diag d = { "" };
	struct text t = { 0 };
	int err = streams_flush(c->streams, &d), more = c->kernel && !c->o->flight_recorder;

	for (int i = 0; i < POLLS && !err && more > 0; i++)
		more = kernel_poll(c->kernel, until_ns, &d);
	err = err ? err : more;
	if (err > 0)
		json_line_refuse(a->fd, true, "the kernel records faster than it can be written");
	else if (err) {
		refuse(a, d.text);
	} else {
		begin_answer(&t);
		json_line_add_number(&t, "app_bytes",
				     ctf_ledger_read(&c->handover->apps.ledger).bytes);
		send_answer(a, &t);
	}
	return false;
}

/* ---------------------------------------------------------------- stop */

static bool stop(const struct request *a)
{
	if (!stopping_add(&a->collector->result.stopping, a->fd)) {
		json_line_refuse(a->fd, true,
				 "the session is ending, and too many clients wait for its result");
		return false;
	}
	a->collector->stop = true;
	if (a->passed >= 0)
		close(a->passed);
	return true;
}

/* ---------------------------------------------------------------- rotate */

static bool rotate(const struct request *a)
{
	struct collector *c = a->collector;
	char path[PATH_MAX], whole[PATH_MAX];
	struct diag d = { "" };
	struct text t = { 0 };
	int err;

	if (!c->o->trace_chunks.rotate) {
		refuse(a, "its recording has no trace chunks: start it with --rotate to rotate it");
		return false;
	}
	err = rotate_now(c, &d);
	if (!err)
		err = trace_chunks_path(path, sizeof path, c->output.recording,
					c->rotation.finished, &d);
	if (err) {
		json_line_refuse(a->fd, err == -EBUSY, d.text);
		return false;
	}
	begin_answer(&t);
	json_line_add_number(&t, "piece", c->rotation.finished);
	json_line_add_text(&t, "path", files_whole(path, whole));
	send_answer(a, &t);
	return false;
}

/* ---------------------------------------------------------------- status */

static void report_kernel(struct text *t, const struct kernel *k, const struct ctf_ledger *written)
{
	struct kernel_counts c;
	const char *why;

	text_addf(t, ",\"kernel\":%s", k ? "true" : "false");
	if (!k)
		return;
	json_line_add_text(t, "kernel_recorder", kernel_recorder(k, &why));
	json_line_add_text(t, "kernel_no_bpf", why);
	kernel_counts(k, &c);
	json_line_add_number(t, "kernel_events", ctf_ledger_read(written).events);
	json_line_add_number(t, "kernel_bytes", ctf_ledger_read(written).bytes);
	json_line_add_number(t, "kernel_lost", c.lost);
}

static void report_trace_chunks(struct text *t, const struct collector *c)
{
	const struct archiver_status *s = &c->handover->archiver;

	if (!c->rotation.trace_chunk)
		return;
	json_line_add_number(t, "piece", c->rotation.trace_chunk);
	json_line_add_number(t, "pieces_removed", s->n_removed);
	json_line_add_number(t, "pieces_waiting", s->n_waiting);
	json_line_add_number(t, "pieces_held", s->n_held);
	json_line_add_number(t, "packed_from_bytes", s->plain_bytes);
	json_line_add_number(t, "packed_bytes", s->compressed_bytes);
	json_line_add_number(t, "synced_piece", s->synced);
	if (load_acquire(&s->n_failures))
		json_line_add_text(t, "pieces_trouble", s->text);
}

/* The sender may be writing these texts or be killed while it does; they are only displayed. */
static void report_link(struct text *t, const struct recorder_options *o)
{
	const struct sender_status *s = o->sent ? o->sent->status : NULL;
	char path[sizeof s->path], trouble[sizeof s->text];
	bool is_there;

	if (!s)
		return;
	is_there = sender_is_there(o->sent);
	snprintf(path, sizeof path, "%.*s", (int)sizeof path - 1, s->path);
	snprintf(trouble, sizeof trouble, "%.*s", (int)sizeof trouble - 1,
		 is_there ? s->text
			  : "both processes that send were killed: `duet send` does it later");
	json_line_add_text(t, "sent_to", o->sent_to);
	json_line_add_text(t, "sent_as", path);
	text_addf(t, ",\"link\":%s,\"link_waits\":%s",
		  is_there && load(&s->is_connected) ? "true" : "false",
		  is_there && load(&s->relay_waits) ? "true" : "false");
	json_line_add_number(t, "sent_bytes", load(&s->acknowledged));
	json_line_add_number(t, "spool_bytes", load(&s->quota.held));
	json_line_add_number(t, "spool_limit", load(&s->quota.limit));
	text_addf(t, ",\"spool_was_full\":%s", load(&s->quota.was_full) ? "true" : "false");
	json_line_add_number(t, "link_connections", load(&s->n_connections));
	json_line_add_number(t, "link_senders", load(&s->supervision.n));
	if (*trouble)
		json_line_add_text(t, "link_trouble", trouble);
}

/* The members without a limit, a share or a floor are missing. */
static void report_disk(struct text *t, const struct disk_budget *b)
{
	uint64_t lost = 0;

	if (!disk_is_limited(b))
		return;
	if (b->rule.limit)
		json_line_add_number(t, "disk_limit", b->rule.limit);
	if (b->rule.limit || b->rule.shares)
		json_line_add_number(t, "disk_counted", load(&b->used));
	text_addf(t, ",\"disk_is_shared\":%s", b->rule.shares ? "true" : "false");
	json_line_add_number(t, "disk_floor", b->rule.floor);
	json_line_add_number(t, "disk_removed", load(&b->n_removed));
	for (int r = DISK_FITS + 1; r < DISK_REASONS; r++)
		lost += load(&b->lost[r]);
	json_line_add_number(t, "disk_lost", lost);
	json_line_add_number(t, "disk_refused", load(&b->n_refused));
	json_line_add_text(t, "disk_refuses", disk_reason_text(load(&b->reason)));
	if (lost)
		json_line_add_text(t, "disk_lost_by", disk_most_lost(b));
}

/* Other users and containers that are not recorded. */
static void report_refused(struct text *t, const struct tenants_refused *r)
{
	uint32_t n = r ? load_acquire(&r->n) : 0;

	if (!n)
		return;
	json_line_add_number(t, "tenants_refused", n);
	json_line_add_text(t, "tenants_refused_of", r->of);
}

/* The place explains a failed write. */
static void report_not_written(struct text *t, const struct collector *c)
{
	const struct diag *d =
		*c->output.place_trouble.text ? &c->output.place_trouble : &c->output.write_trouble;

	if (!*d->text)
		return;
	json_line_add_text(t, "not_written", d->text);
	json_line_add_number(t, "unwritten_bytes", streams_unwritten(c->streams));
}

static void report_session(const struct request *a)
{
	struct collector *c = a->collector;
	struct session *s = &c->session;
	struct impossible impossible;
	const struct supervision *supervision = &c->handover->supervision;
	char whole[PATH_MAX];
	struct text t = { 0 };

	begin_answer(&t);
	json_line_add_text(&t, "session", s->asked_as);
	json_line_add_text(&t, "path", files_whole(c->o->path, whole));
	json_line_add_number(
		&t, "pid",
		(uint64_t)(supervision->supervisor ? supervision->supervisor : getpid()));
	json_line_add_number(&t, "duration_ns", collector_now_ns(c) - c->begin_ns);
	json_line_add_number(&t, "programs", s->n_joined);
	json_line_add_number(&t, "app_events", ctf_ledger_read(&c->handover->apps.ledger).events);
	json_line_add_number(&t, "app_bytes", ctf_ledger_read(&c->handover->apps.ledger).bytes);
	json_line_add_number(&t, "lost_most", bounds_most(c->bounds));
	json_line_add_number(&t, "lost_outside",
			     c->handover->lost_outside +
				     programs_lost(s->dir, &s->file, collector_count_losses, c));
	json_line_add_number(&t, "channels", s->n_channels);
	json_line_add_number(&t, "filters", s->n_filters);
	json_line_add_number(&t, "lives", supervision->n ? supervision->n : 1);
	report_not_written(&t, c);
	if (*c->result.trouble.text)
		json_line_add_text(&t, "trouble", c->result.trouble.text);
	bounds_describe(c->bounds, &impossible);
	if (*impossible.text)
		json_line_add_text(&t, "impossible", impossible.text);
	report_refused(&t, c->refused);
	report_disk(&t, &c->handover->disk);
	report_trace_chunks(&t, c);
	report_link(&t, c->o);
	report_kernel(&t, c->kernel, &c->handover->kernel.ledger);
	send_answer(a, &t);
}

static const char *mode_of(const struct session_channel *c)
{
	return c->flight_recorder ? "overwrite" : c->block_timeout_us ? "block" : "discard";
}

static void report_channel(const struct request *a, uint32_t i)
{
	const struct session *session = &a->collector->session;
	const struct session_channel *c = &session->channels[i];
	const struct pool *p = &session->pools[i];
	struct pool_memory_counts n;
	struct text t = { 0 }, contexts = { 0 };

	pool_memory_count(&session->supplies[i], &n);
	context_names(&contexts, c->contexts);
	begin_answer(&t);
	json_line_add_text(&t, "name", c->name);
	json_line_add_text(&t, "mode", mode_of(c));
	if (c->block_timeout_us)
		json_line_add_number(&t, "wait_ns", c->block_timeout_us * 1000ull);
	json_line_add_number(&t, "chunk_bytes", p->chunk_size);
	json_line_add_number(&t, "limit_bytes", (uint64_t)n.chunks * p->chunk_size);
	json_line_add_number(&t, "memory_bytes", (uint64_t)n.backed * p->chunk_size);
	json_line_add_number(&t, "used_bytes", (uint64_t)n.used * p->chunk_size);
	json_line_add_number(&t, "lost", streams_lost(a->collector->streams, i));
	json_line_add_number(&t, "waited", streams_waited(a->collector->streams, i));
	if (c->is_coarse) {
		json_line_add_number(&t, "clock_error_ns", streams_coarse_error_ns());
		json_line_add_number(&t, "clock_worst_ns",
				     streams_coarse_worst_ns(a->collector->streams, i));
	}
	json_line_add_text(&t, "contexts", contexts.bytes ? contexts.bytes : "");
	text_fini(&contexts);
	send_answer(a, &t);
}

static bool status(const struct request *a)
{
	uint64_t i;

	if (!json_line_has(a->line, "channel"))
		report_session(a);
	else if (!json_line_number(a->line, "channel", &i) || i >= a->collector->session.n_channels)
		refuse(a, "the session has no such channel");
	else
		report_channel(a, (uint32_t)i);
	return false;
}

/* ---------------------------------------------------------------- triggers */

static bool trigger(const struct request *a)
{
	trigger_request(&a->collector->triggers, a->line, a->fd);
	return false;
}

static bool watch(const struct request *a)
{
	if (!watch_request(&a->collector->triggers, a->fd))
		return false;
	if (a->passed >= 0)
		close(a->passed);
	return true;
}

/* ---------------------------------------------------------------- verbs */

/* Carries out the request; true if it keeps the descriptors. */
static const struct {
	const char *name;
	bool (*answer)(const struct request *a);
} verbs[] = {
	{ "snapshot", snapshot }, { "enable", enable },	  { "disable", disable },
	{ "rotate", rotate },	  { "flush", flush },	  { "stop", stop },
	{ "status", status },	  { "trigger", trigger }, { "watch", watch },
};

static bool answer(const struct request *a, const char *verb)
{
	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verb, verbs[i].name))
			return verbs[i].answer(a);
	refuse(a, "no such verb");
	return false;
}

void dispatch_request(struct collector *c, const struct session_message *m)
{
	struct json_line line;
	struct request a = {
		.collector = c, .line = &line, .text = m->text, .fd = m->fd, .passed = m->passed
	};
	char verb[32];
	bool taken = false;

	if (json_line_parse(&line, m->text, strlen(m->text)) ||
	    !json_line_text(&line, "verb", verb, sizeof verb))
		refuse(&a, "not a request: {\"verb\":...} expected");
	else
		taken = answer(&a, verb);
	if (taken)
		return;
	close(m->fd);
	if (m->passed >= 0)
		close(m->passed);
}
