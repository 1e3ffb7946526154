/* SPDX-License-Identifier: MIT */
/*
 * collect/request/enable.c - parse `enable` and `disable`, change the session's rules, and update
 * running programs in batches.
 *
 * Equal requests of one turn share an entry in the batch, so that many clients cost one visit.
 */
#include "collect/request/enable.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/session/selectors.h"

/* ---------------------------------------------------------------- parsing */

struct enable_item {
	bool enable;
	char pattern[512];
	char filter[4096];		      /* "": none */
	char channel[ABI_CHANNEL_NAME_BYTES]; /* "": as the rules say */
	char selector[1024];		      /* conditions: rules/selector.h */
	uint64_t pid;			      /* 0: all programs, including future ones */
};

/* Reads an optional text.  False: it is present and too long, or not a text. */
static bool optional_text(const struct json_line *l, const char *key, char *value, size_t size)
{
	*value = 0;
	return !json_line_has(l, key) || json_line_text(l, key, value, size);
}

/* Reads the conditions; members are named as in selector_keys. */
static const char *read_conditions(const struct json_line *l, struct enable_item *w, struct diag *d)
{
	char list[512];
	struct text selector = { 0 };
	const char *why = NULL;

	for (int i = 0; i < N_SELECTOR_KINDS && !why; i++) {
		if (!optional_text(l, selector_keys[i], list, sizeof list))
			why = "\"program\", \"uid\", \"container\" and \"level\" are texts of at "
			      "most 511 bytes";
		else if (*list && selector_add(&selector, (enum selector_kind)i, list, d))
			why = d->text;
	}
	if (!why && (selector.failed || selector.size >= sizeof w->selector))
		why = "too many programs, users or containers in one request";
	if (!why)
		snprintf(w->selector, sizeof w->selector, "%s",
			 selector.bytes ? selector.bytes : "");
	text_fini(&selector);
	return why;
}

/* NULL, or the reason to refuse it. */
static const char *read_request(const struct json_line *l, struct enable_item *w, struct diag *d)
{
	if (!json_line_text(l, "pattern", w->pattern, sizeof w->pattern) || !*w->pattern)
		return "no \"pattern\" of at most 511 bytes";
	if (*w->pattern == '!')
		return "the pattern begins with \"!\": use enable or disable instead";
	if (!optional_text(l, "filter", w->filter, sizeof w->filter))
		return "\"filter\" must be a text of at most 4095 bytes";
	if (!optional_text(l, "channel", w->channel, sizeof w->channel))
		return "the session has no such channel";
	w->pid = 0;
	if (json_line_has(l, "pid") &&
	    (!json_line_number(l, "pid", &w->pid) || !w->pid || w->pid > INT_MAX))
		return "\"pid\" is not a process number";
	if (!w->enable && (*w->filter || *w->channel))
		return "a request to disable events takes no filter and no channel";
	return read_conditions(l, w, d);
}

static uint32_t find_channel(const struct session *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		if (!strcmp(s->channels[i].name, name))
			return i;
	return SESSION_ANY_CHANNEL;
}

/* Makes the new rules in @fresh.  0 or -errno. */
static int change_rules(struct abi_session *fresh, const struct session *s,
			const struct enable_item *w, uint32_t filter, struct diag *d)
{
	char excluding[sizeof w->pattern + 1] = "!";
	struct session_rule where = { w->pattern, w->selector, SESSION_ANY_CHANNEL, 0 };
	struct session_rule what = { w->pattern, w->selector, SESSION_ANY_CHANNEL, filter };
	int err = 0;

	*fresh = s->file;
	if (!w->enable) {
		strcpy(excluding + 1, w->pattern);
		what.pattern = excluding;
	}
	if (*w->channel) {
		where.channel = find_channel(s, w->channel);
		if (where.channel == SESSION_ANY_CHANNEL)
			return diag_fail(d, -ENOENT, "the session has no channel \"%s\"",
					 w->channel);
		err = session_add_rule(fresh, &where, d);
	}
	/*
	 * A rule for one process must not reach others; but the channel of its events is read from
	 * the rules.
	 */
	return err || w->pid ? err : session_add_rule(fresh, &what, d);
}

/*
 * Changes the rules for programs that start later.  Returns the filter's number, 0 for none, or
 * -errno.
 */
static int change_rules_for_later_programs(struct enable_batch *b, const struct enable_item *w,
					   struct abi_session *fresh, struct diag *d)
{
	int filter = *w->filter ? filters_add(b->filters, b->session, w->filter, d) : 0, err;

	if (filter < 0)
		return filter;
	err = change_rules(fresh, b->session, w, (uint32_t)filter, d);
	if (!err && !w->pid)
		err = session_change(b->session, fresh, d);
	return err ? err : filter;
}

/* ---------------------------------------------------------------- the answer */

struct answer {
	struct enable_result done;
	bool is_filter_mismatch;
	struct diag why;
};

static struct answer answer_for(struct enable_batch *b, pid_t pid, const struct enable_request *w)
{
	struct answer a = { .done = w->done, .why = { "" } };

	a.is_filter_mismatch =
		w->filter && filters_check(b->filters, b->session, pid, w->filter, &a.why);
	return a;
}

static void send_answer(int fd, const struct answer *a)
{
	struct text t = { 0 };

	text_addf(&t, "{\"ok\":true");
	json_line_add_number(&t, "events", a->done.events);
	json_line_add_number(&t, "programs", a->done.programs);
	json_line_add_number(&t, "elsewhere", a->done.other_session);
	json_line_add_number(&t, "strict", a->done.strict);
	if (a->is_filter_mismatch)
		json_line_add_text(&t, "unfit", a->why.text);
	json_line_send(fd, &t, -1); /* a client that does not read gets no answer */
	text_fini(&t);
}

/* ---------------------------------------------------------------- batches */

/*
 * The index of an equal request, if all requests after it have the same effect on the events they
 * share; or -1.
 */
static int find_request(const struct enable_batch *s, const struct enable_request *w)
{
	for (int i = (int)s->n_requests - 1; i >= 0; i--) {
		const struct enable_request *other = &s->requests[i];

		if (other->enable != w->enable || other->filter != w->filter)
			return -1;
		if (!strcmp(other->pattern, w->pattern) && !strcmp(other->selector, w->selector))
			return i;
	}
	return -1;
}

/* Copies its texts.  Returns its index; -1 without memory. */
static int keep_request(struct enable_batch *s, const struct enable_request *w)
{
	size_t pattern = strlen(w->pattern) + 1, selector = strlen(w->selector) + 1;
	int found = find_request(s, w);
	char *texts = found < 0 ? malloc(pattern + selector) : NULL;

	assert(s->n_requests < PROGRAMS_REQUESTS);
	if (!texts)
		return found;
	memcpy(texts, w->pattern, pattern);
	memcpy(texts + pattern, w->selector, selector);
	s->texts[s->n_requests] = texts;
	s->requests[s->n_requests] = *w;
	s->requests[s->n_requests].pattern = texts;
	s->requests[s->n_requests].selector = texts + pattern;
	return (int)s->n_requests++;
}

static void answer_all(struct enable_batch *b, uint32_t request)
{
	struct answer answer = answer_for(b, 0, &b->requests[request]);

	for (uint32_t i = 0; i < b->n_askers; i++)
		if (b->askers[i].request == request) {
			send_answer(b->askers[i].fd, &answer);
			close(b->askers[i].fd);
		}
}

void enable_flush_batch(struct enable_batch *b)
{

	assert(b->n_requests <= PROGRAMS_REQUESTS && b->n_askers <= SWITCHES_ASKERS);
	if (!b->n_requests)
		return;
	programs_switch_all(b->session->dir, 0, b->requests, b->n_requests, &b->session->file);
	for (uint32_t i = 0; i < b->n_requests; i++) {
		answer_all(b, i);
		free(b->texts[i]);
	}
	b->n_requests = b->n_askers = 0;
}

/* ---------------------------------------------------------------- the request */

static void switch_one(struct enable_batch *b, pid_t pid, struct enable_request *w,
		       const struct abi_session *fresh, int fd)
{
	struct answer answer;

	enable_flush_batch(b); /* earlier requests come first */
	programs_switch_all(b->session->dir, pid, w, 1, fresh);
	answer = answer_for(b, pid, w);
	send_answer(fd, &answer);
}

/* False: no memory. */
static bool switch_later(struct enable_batch *b, const struct enable_request *w, int fd)
{
	int request;

	if (b->n_requests == PROGRAMS_REQUESTS || b->n_askers == SWITCHES_ASKERS)
		enable_flush_batch(b);
	request = keep_request(b, w);
	if (request < 0)
		return false;
	b->askers[b->n_askers].fd = fd;
	b->askers[b->n_askers++].request = (uint32_t)request;
	return true;
}

bool enable_request_read(struct enable_batch *b, const struct json_line *l, bool enable, int fd)
{
	struct enable_item asked = { .enable = enable };
	struct abi_session fresh;
	struct diag d = { "" };
	const char *why = read_request(l, &asked, &d);
	int filter = why ? -EINVAL : change_rules_for_later_programs(b, &asked, &fresh, &d);
	struct enable_request w = { .selector = asked.selector,
				    .pattern = asked.pattern,
				    .filter = (uint32_t)filter,
				    .enable = enable };

	if (filter < 0) {
		json_line_refuse(fd, false, why ? why : d.text);
		return false;
	}
	if (!asked.pid && switch_later(b, &w, fd))
		return true;
	switch_one(b, (pid_t)asked.pid, &w, &fresh, fd);
	return false;
}
