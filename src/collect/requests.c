/* SPDX-License-Identifier: MIT */
/* collect/requests.c - see requests.h. */
#include "collect/requests.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "collect/apps.h"
#include "collect/choice.h"
#include "collect/collector.h"
#include "collect/control.h"
#include "collect/files.h"
#include "collect/pieces.h"
#include "collect/rotate.h"
#include "collect/trigger_requests.h"
#include "ctf/context.h"
#include "net/sender.h"

/* A request being answered. */
struct asked {
	const struct requests *r;
	const struct control_line *line;
	int fd; /* who gets the answer */
	int passed; /* a descriptor that came with it, or -1 */
};

static void refuse(const struct asked *a, const char *why)
{
	control_refuse(a->fd, false, why);
}

static void begin_answer(struct text *t)
{
	text_addf(t, "{\"ok\":true");
}

static void send_answer(const struct asked *a, struct text *t)
{
	control_send(a->fd, t, -1); /* who does not wait gets nothing */
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

static bool snapshot(const struct asked *a)
{
	if (!has_flight_recorder(a->r->session))
		refuse(a, "it is not a flight recorder: only one started with --overwrite keeps events in "
			  "memory");
	else if (snapshot_is_open(a->r->snapshot))
		control_refuse(a->fd, true, "another snapshot is being written");
	else {
		snapshot_begin(a->r->snapshot, a->line, a->fd, a->passed);
		return true; /* answers, and closes, later */
	}
	return false;
}

/* ---------------------------------------------------------------- enable, disable */

struct wish {
	bool enable;
	char pattern[512];
	char filter[4096]; /* "": none */
	char channel[ABI_CHANNEL_NAME_BYTES]; /* "": as ruled */
	char who[1024]; /* conditions: base/who.h */
	uint64_t pid; /* 0: all programs, and those to come */
};

/* A text that need not be there.  False: it is there, and too long, or no text. */
static bool optional_text(const struct control_line *l, const char *key, char *value, size_t size)
{
	*value = 0;
	return !control_has(l, key) || control_text(l, key, value, size);
}

/* For whom: members called as choice_keys. */
static const char *read_who(const struct control_line *l, struct wish *w, struct diag *d)
{
	char list[512];
	struct text who = { 0 };
	const char *why = NULL;

	for (int i = 0; i < N_CHOICES && !why; i++) {
		if (!optional_text(l, choice_keys[i], list, sizeof list))
			why = "\"program\", \"uid\", \"container\" and \"level\" are texts of at most 511 bytes";
		else if (*list && choice_add(&who, (enum choice)i, list, d))
			why = d->text;
	}
	if (!why && (who.failed || who.size >= sizeof w->who))
		why = "too many programs, users or containers in one request";
	if (!why)
		snprintf(w->who, sizeof w->who, "%s", who.bytes ? who.bytes : "");
	text_fini(&who);
	return why;
}

/* NULL, or why it makes no sense. */
static const char *read_wish(const struct control_line *l, struct wish *w, struct diag *d)
{
	if (!control_text(l, "pattern", w->pattern, sizeof w->pattern) || !*w->pattern)
		return "no \"pattern\" of at most 511 bytes";
	if (*w->pattern == '!')
		return "the pattern begins with \"!\": enable and disable say which of both";
	if (!optional_text(l, "filter", w->filter, sizeof w->filter))
		return "\"filter\" is no text of at most 4095 bytes";
	if (!optional_text(l, "channel", w->channel, sizeof w->channel))
		return "the session has no such channel";
	w->pid = 0;
	if (control_has(l, "pid") && (!control_number(l, "pid", &w->pid) || !w->pid || w->pid > INT_MAX))
		return "\"pid\" is not a process number";
	if (!w->enable && (*w->filter || *w->channel))
		return "what is disabled goes through no filter and to no channel";
	return read_who(l, w, d);
}

static uint32_t find_channel(const struct session *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		if (!strcmp(s->channels[i].name, name))
			return i;
	return SESSION_ANY_CHANNEL;
}

/* Rules as they are to be, in @fresh.  0 or -errno. */
static int change_rules(struct abi_session *fresh, const struct session *s, const struct wish *w,
			uint32_t filter, struct diag *d)
{
	char excluding[sizeof w->pattern + 1] = "!";
	struct session_rule where = { w->pattern, w->who, SESSION_ANY_CHANNEL, 0 };
	struct session_rule what = { w->pattern, w->who, SESSION_ANY_CHANNEL, filter };
	int err = 0;

	*fresh = s->file;
	if (!w->enable) {
		strcpy(excluding + 1, w->pattern);
		what.pattern = excluding;
	}
	if (*w->channel) {
		where.channel = find_channel(s, w->channel);
		if (where.channel == SESSION_ANY_CHANNEL)
			return diag_fail(d, -ENOENT, "the session has no channel \"%s\"", w->channel);
		err = session_add_rule(fresh, &where, d);
	}
	/* Of one program nothing is to be known to the next; but where its events go is read there. */
	return err || w->pid ? err : session_add_rule(fresh, &what, d);
}

/* Programs that start later first, then those that run: an event is reached one way or the other. */
static int carry_out(const struct requests *r, const struct wish *w, uint32_t *filter,
		     struct apps_switched *done, struct diag *d)
{
	struct session *s = r->session;
	struct abi_session fresh;
	int number = *w->filter ? filters_add(r->filters, s, w->filter, d) : 0, err;

	if (number < 0)
		return number;
	*filter = (uint32_t)number;
	err = change_rules(&fresh, s, w, *filter, d);
	if (!err && !w->pid)
		err = session_change(s, &fresh, d);
	if (!err)
		*done = apps_switch(s->dir, (pid_t)w->pid, w->who, w->pattern, w->enable, &fresh, *filter);
	return err;
}

static void switch_events(const struct asked *a, bool enable)
{
	struct wish w = { .enable = enable };
	struct apps_switched done = { 0 };
	struct diag d = { "" };
	const char *why = read_wish(a->line, &w, &d);
	struct text t = { 0 };
	uint32_t filter;

	if (why)
		return refuse(a, why);
	if (carry_out(a->r, &w, &filter, &done, &d))
		return refuse(a, d.text);
	begin_answer(&t);
	control_add_number(&t, "events", done.events);
	control_add_number(&t, "programs", done.programs);
	control_add_number(&t, "elsewhere", done.limited);
	control_add_number(&t, "strict", done.strict);
	if (filter && filters_check(a->r->filters, a->r->session, (pid_t)w.pid, filter, &d))
		control_add_text(&t, "unfit", d.text);
	send_answer(a, &t);
}

static bool enable(const struct asked *a)
{
	switch_events(a, true);
	return false;
}

static bool disable(const struct asked *a)
{
	switch_events(a, false);
	return false;
}

/* ---------------------------------------------------------------- flush */

enum { POLLS = 64 }; /* of what the kernel records meanwhile there is no end */

static bool flush(const struct asked *a)
{
	const struct requests *r = a->r;
	uint64_t until_ns = clock_now_ns(&r->session->clock);
	struct diag d = { "" };
	struct text t = { 0 };
	int err = streams_flush(r->streams, &d), more = r->kernel && !r->kernel_in_memory;

	for (int i = 0; i < POLLS && !err && more > 0; i++)
		more = kernel_poll(r->kernel, until_ns, &d);
	err = err ? err : more;
	if (err > 0)
		control_refuse(a->fd, true, "the kernel records faster than it can be written");
	else if (err) {
		refuse(a, d.text);
	} else {
		begin_answer(&t);
		control_add_number(&t, "app_bytes", streams_bytes(r->streams));
		send_answer(a, &t);
	}
	return false;
}

/* ---------------------------------------------------------------- stop */

static bool stop(const struct asked *a)
{
	if (!stopping_add(a->r->stopping, a->fd)) {
		control_refuse(a->fd, true, "it is ending, and many wait for that already");
		return false;
	}
	*a->r->stop = true;
	if (a->passed >= 0)
		close(a->passed);
	return true;
}

/* ---------------------------------------------------------------- rotate */

static bool rotate(const struct asked *a)
{
	struct collector *c = a->r->collector;
	char path[PATH_MAX], whole[PATH_MAX];
	struct diag d = { "" };
	struct text t = { 0 };
	int err;

	if (!c->o->pieces.rotate) {
		refuse(a, "its recording is in one piece: only one started with --rotate can be rotated");
		return false;
	}
	err = rotate_now(c, &d);
	if (!err)
		err = pieces_path(path, sizeof path, c->base, c->finished, &d);
	if (err) {
		control_refuse(a->fd, err == -EBUSY, d.text);
		return false;
	}
	begin_answer(&t);
	control_add_number(&t, "piece", c->finished);
	control_add_text(&t, "path", files_whole(path, whole));
	send_answer(a, &t);
	return false;
}

/* ---------------------------------------------------------------- status */

static void tell_kernel(struct text *t, const struct kernel *k)
{
	struct kernel_counts c;

	text_addf(t, ",\"kernel\":%s", k ? "true" : "false");
	if (!k)
		return;
	kernel_counts(k, &c);
	control_add_number(t, "kernel_events", c.events);
	control_add_number(t, "kernel_bytes", c.bytes);
	control_add_number(t, "kernel_lost", c.lost);
}

static void tell_pieces(struct text *t, const struct collector *c)
{
	const struct tidy_status *s = &c->kept->tidy;

	if (!c->piece)
		return;
	control_add_number(t, "piece", c->piece);
	control_add_number(t, "pieces_removed", s->n_removed);
	control_add_number(t, "pieces_waiting", s->n_waiting);
	control_add_number(t, "pieces_held", s->n_held);
	control_add_number(t, "packed_from_bytes", s->plain_bytes);
	control_add_number(t, "packed_bytes", s->packed_bytes);
	control_add_number(t, "synced_piece", s->synced);
	if (load_acquire(&s->n_failures))
		control_add_text(t, "pieces_trouble", s->text);
}

/* The sender may be writing its texts, or be killed over it: they are for people. */
static void tell_link(struct text *t, const struct recorder_options *o)
{
	const struct sender_status *s = o->sent ? o->sent->status : NULL;
	char path[sizeof s->path], trouble[sizeof s->text];
	bool is_there;

	if (!s)
		return;
	is_there = sender_is_there(o->sent);
	snprintf(path, sizeof path, "%.*s", (int)sizeof path - 1, s->path);
	snprintf(trouble, sizeof trouble, "%.*s", (int)sizeof trouble - 1,
		 is_there ? s->text : "both processes that send were killed: `duet send` does it later");
	control_add_text(t, "sent_to", o->sent_to);
	control_add_text(t, "sent_as", path);
	text_addf(t, ",\"link\":%s", is_there && load(&s->is_connected) ? "true" : "false");
	control_add_number(t, "sent_bytes", load(&s->acknowledged));
	control_add_number(t, "spool_bytes", load(&s->quota.held));
	control_add_number(t, "spool_limit", load(&s->quota.limit));
	text_addf(t, ",\"spool_was_full\":%s", load(&s->quota.was_full) ? "true" : "false");
	control_add_number(t, "link_connections", load(&s->n_connections));
	control_add_number(t, "link_senders", load(&s->lives.n));
	if (*trouble)
		control_add_text(t, "link_trouble", trouble);
}

static void tell_session(const struct asked *a)
{
	const struct requests *r = a->r;
	struct session *s = r->session;
	char whole[PATH_MAX];
	struct text t = { 0 };

	begin_answer(&t);
	control_add_text(&t, "session", s->asked_as);
	control_add_text(&t, "path", files_whole(r->path, whole));
	control_add_number(&t, "pid", (uint64_t)r->pid);
	control_add_number(&t, "duration_ns", clock_now_ns(&s->clock) - r->begin_ns);
	control_add_number(&t, "programs", s->n_joined);
	control_add_number(&t, "app_bytes", streams_bytes(r->streams));
	control_add_number(&t, "lost_outside", r->lost_outside + apps_lost(s->dir, &s->file));
	control_add_number(&t, "channels", s->n_channels);
	control_add_number(&t, "filters", s->n_filters);
	control_add_number(&t, "lives", r->lives ? r->lives : 1);
	if (*r->trouble)
		control_add_text(&t, "trouble", r->trouble);
	tell_pieces(&t, r->collector);
	tell_link(&t, r->collector->o);
	tell_kernel(&t, r->kernel);
	send_answer(a, &t);
}

static const char *mode_of(const struct session_channel *c)
{
	return c->flight_recorder ? "overwrite" : c->patience_us ? "block" : "discard";
}

static void tell_channel(const struct asked *a, uint32_t i)
{
	const struct requests *r = a->r;
	const struct session_channel *c = &r->session->channels[i];
	const struct pool *p = &r->session->pools[i];
	struct supply_counts n;
	struct text t = { 0 }, contexts = { 0 };

	supply_count(&r->session->supplies[i], &n);
	context_names(&contexts, c->contexts);
	begin_answer(&t);
	control_add_text(&t, "name", c->name);
	control_add_text(&t, "mode", mode_of(c));
	if (c->patience_us)
		control_add_number(&t, "wait_ns", c->patience_us * 1000ull);
	control_add_number(&t, "chunk_bytes", p->chunk_size);
	control_add_number(&t, "limit_bytes", (uint64_t)n.chunks * p->chunk_size);
	control_add_number(&t, "memory_bytes", (uint64_t)n.backed * p->chunk_size);
	control_add_number(&t, "used_bytes", (uint64_t)n.used * p->chunk_size);
	control_add_number(&t, "lost", streams_lost(r->streams, i));
	control_add_number(&t, "waited", load(&p->shared->waited));
	control_add_text(&t, "contexts", contexts.bytes ? contexts.bytes : "");
	text_fini(&contexts);
	send_answer(a, &t);
}

static bool status(const struct asked *a)
{
	uint64_t i;

	if (!control_has(a->line, "channel"))
		tell_session(a);
	else if (!control_number(a->line, "channel", &i) || i >= a->r->session->n_channels)
		refuse(a, "the session has no such channel");
	else
		tell_channel(a, (uint32_t)i);
	return false;
}

/* ---------------------------------------------------------------- triggers */

static bool trigger(const struct asked *a)
{
	trigger_request(a->r->collector, a->line, a->fd);
	return false;
}

static bool watch(const struct asked *a)
{
	if (!watch_request(a->r->collector, a->fd))
		return false;
	if (a->passed >= 0)
		close(a->passed);
	return true;
}

/* ---------------------------------------------------------------- verbs */

/* Does it; true if the descriptors are not ours any more. */
static const struct {
	const char *name;
	bool (*answer)(const struct asked *a);
} verbs[] = {
	{ "snapshot", snapshot },
	{ "enable", enable },
	{ "disable", disable },
	{ "rotate", rotate },
	{ "flush", flush },
	{ "stop", stop },
	{ "status", status },
	{ "trigger", trigger },
	{ "watch", watch },
};

static bool answer(const struct asked *a, const char *verb)
{
	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verb, verbs[i].name))
			return verbs[i].answer(a);
	refuse(a, "no such verb");
	return false;
}

void requests_answer(const struct requests *r, const struct session_message *m)
{
	struct control_line line;
	struct asked a = { .r = r, .line = &line, .fd = m->fd, .passed = m->passed };
	char verb[32];
	bool taken = false;

	if (control_parse(&line, m->text, strlen(m->text)) ||
	    !control_text(&line, "verb", verb, sizeof verb))
		refuse(&a, "not a request: {\"verb\":...} expected");
	else
		taken = answer(&a, verb);
	if (taken)
		return;
	close(m->fd);
	if (m->passed >= 0)
		close(m->passed);
}
