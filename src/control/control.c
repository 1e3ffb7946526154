/* SPDX-License-Identifier: MIT */
/*
 * control/control.c - the calls of duet/control.h that are one request and one answer.
 *
 * They are a library of their own, not a part of libduet.  libduet is mapped into every traced
 * program, where each page costs every start, while few programs control a recording; and a program
 * that does need not be traced.  It needs libc alone.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "control/internal.h"

static uint64_t number_in(const struct client_answer *answer, const char *key)
{
	uint64_t n = 0;

	json_line_number(&answer->line, key, &n);
	return n;
}

/* Send a verb without members. */
static int just(struct duet_control *c, const char *verb)
{
	struct client_answer answer;
	struct client_request r;
	struct client_call a;
	int err = client_begin(&a, c, CLIENT_LIMIT_NS);

	if (!err) {
		client_request_begin(&r, verb);
		err = client_ask(&a, &r, &answer);
	}
	return client_end(&a, err);
}

int duet_flush(struct duet_control *c)
{
	return just(c, "flush");
}

int duet_rotate(struct duet_control *c)
{
	return just(c, "rotate");
}

int duet_stop(struct duet_control *c)
{
	return just(c, "stop");
}

int duet_snapshot(struct duet_control *c, const struct duet_snapshot_options *o, char *path,
		  size_t path_bytes)
{
	struct client_answer answer;
	struct client_request r;
	struct client_call a;
	int err = client_begin(&a, c, CLIENT_LIMIT_NS);

	if (!err && o && o->size < sizeof *o)
		err = client_fail(&a, -EINVAL, "the options have no `size`", NULL, NULL);
	if (!err) {
		client_request_begin(&r, "snapshot");
		if (o && o->last_ns)
			client_request_number(&r, "last_ns", o->last_ns);
		if (o && o->max_bytes)
			client_request_number(&r, "max_size", o->max_bytes);
		err = client_ask(&a, &r, &answer);
	}
	if (!err && path && !json_line_text(&answer.line, "path", path, path_bytes))
		err = client_fail(&a, -EPROTO,
				  "the snapshot is written, but its path has no room here", NULL,
				  NULL);
	return client_end(&a, err);
}

static int switch_events(struct duet_control *c, const char *verb, const struct duet_events *e,
			 struct duet_switched *done)
{
	struct client_answer answer;
	struct client_request r;
	struct client_call a;
	int err = client_begin(&a, c, CLIENT_LIMIT_NS);

	if (!err && (!e || e->size < sizeof *e || !e->pattern || e->pid < 0))
		err = client_fail(&a, -EINVAL, "no pattern, no `size`, or no pid", NULL, NULL);
	if (!err) {
		client_request_begin(&r, verb);
		client_request_text(&r, "pattern", e->pattern);
		client_request_text(&r, "filter", e->filter);
		client_request_text(&r, "channel", e->channel);
		if (e->pid)
			client_request_number(&r, "pid", (uint64_t)e->pid);
		err = client_ask(&a, &r, &answer);
	}
	if (!err && done)
		*done = (struct duet_switched){ .events = number_in(&answer, "events"),
						.programs = number_in(&answer, "programs"),
						.left_alone = number_in(&answer, "elsewhere") +
							      number_in(&answer, "strict") };
	return client_end(&a, err);
}

int duet_enable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done)
{
	return switch_events(c, "enable", e, done);
}

int duet_disable(struct duet_control *c, const struct duet_events *e, struct duet_switched *done)
{
	return switch_events(c, "disable", e, done);
}

static void read_status(const struct client_answer *answer, struct duet_session_status *s)
{
	const size_t size = s->size;

	memset(s, 0, sizeof *s);
	s->size = size;
	json_line_text(&answer->line, "session", s->session, sizeof s->session);
	json_line_text(&answer->line, "path", s->path, sizeof s->path);
	s->pid = (int32_t)number_in(answer, "pid");
	s->has_kernel = json_line_is_true(&answer->line, "kernel");
	s->duration_ns = number_in(answer, "duration_ns");
	s->programs = number_in(answer, "programs");
	s->channels = number_in(answer, "channels");
	s->app_bytes = number_in(answer, "app_bytes");
	s->app_lost = number_in(answer, "lost_outside");
	s->kernel_events = number_in(answer, "kernel_events");
	s->kernel_bytes = number_in(answer, "kernel_bytes");
	s->kernel_lost = number_in(answer, "kernel_lost");
}

int duet_status(struct duet_control *c, struct duet_session_status *s)
{
	struct client_answer answer;
	struct client_request r;
	struct client_call a;
	int err = client_begin(&a, c, CLIENT_LIMIT_NS);

	if (!err && s->size < sizeof *s)
		err = client_fail(&a, -EINVAL, "the status has no `size`", NULL, NULL);
	if (!err) {
		client_request_begin(&r, "status");
		err = client_ask(&a, &r, &answer);
	}
	if (!err)
		read_status(&answer, s);
	return client_end(&a, err);
}

int duet_request(struct duet_control *c, const char *line, char *answer, size_t size)
{
	struct client_call a;
	int result = client_begin(&a, c, CLIENT_LIMIT_NS);

	if (!result && (!line || !size || strlen(line) >= CLIENT_ANSWER_BYTES))
		result = client_fail(&a, -EINVAL,
				     "a request has at most 8191 bytes, an answer at least 1", NULL,
				     NULL);
	if (!result)
		result = client_exchange(&a, line, strlen(line), answer, size);
	return client_end(&a, result);
}

int duet_sessions(struct duet_control *c, int (*each)(void *arg, const char *session), void *arg)
{
	struct duet_control any =
		c && c->size >= sizeof any ? *c : (struct duet_control){ .size = sizeof any };
	struct dirent *e;
	struct client_call a;
	DIR *list = NULL;
	int result;

	any.session = "any"; /* a placeholder: only the directory is used */
	result = client_begin(&a, &any, CLIENT_LIMIT_NS);
	if (!result)
		list = opendir(a.directory);
	while (list && !result && (e = readdir(list))) {
		const char *name = e->d_name + strlen("sock-");
		struct client_call one;

		if (strncmp(e->d_name, "sock-", strlen("sock-")) ||
		    strlen(name) >= DUET_SESSION_BYTES || client_begin(&one, &any, CLIENT_LIMIT_NS))
			continue;
		if (client_is_live(&one, name))
			result = each(arg, name);
	}
	if (list)
		closedir(list);
	if (result == -ENOENT && !list)
		result = 0; /* no directory: nothing records */
	if (c && c->size >= sizeof *c)
		memcpy(c->why, any.why, sizeof c->why);
	return client_end(&a, result);
}
