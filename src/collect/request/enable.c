/* SPDX-License-Identifier: MIT */
/* collect/request/enable.c - see enable.h. */
#include "collect/request/enable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/session/selectors.h"
#include "collect/collector.h"

/* ---------------------------------------------------------------- what is asked */

struct wish {
	bool enable;
	char pattern[512];
	char filter[4096]; /* "": none */
	char channel[ABI_CHANNEL_NAME_BYTES]; /* "": as ruled */
	char who[1024]; /* conditions: rules/selector.h */
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

/* Programs that start later are told at once.  The filter's number, 0 for none, or -errno. */
static int tell_later_ones(struct collector *c, const struct wish *w, struct abi_session *fresh, struct diag *d)
{
	int filter = *w->filter ? filters_add(&c->filters, &c->session, w->filter, d) : 0, err;

	if (filter < 0)
		return filter;
	err = change_rules(fresh, &c->session, w, (uint32_t)filter, d);
	if (!err && !w->pid)
		err = session_change(&c->session, fresh, d);
	return err ? err : filter;
}

/* ---------------------------------------------------------------- the answer */

struct answer {
	struct apps_switched done;
	bool is_unfit;
	struct diag why;
};

static struct answer answer_for(struct collector *c, pid_t pid, const struct apps_wish *w)
{
	struct answer a = { .done = w->done, .why = { "" } };

	a.is_unfit = w->filter && filters_check(&c->filters, &c->session, pid, w->filter, &a.why);
	return a;
}

static void send_answer(int fd, const struct answer *a)
{
	struct text t = { 0 };

	text_addf(&t, "{\"ok\":true");
	control_add_number(&t, "events", a->done.events);
	control_add_number(&t, "programs", a->done.programs);
	control_add_number(&t, "elsewhere", a->done.limited);
	control_add_number(&t, "strict", a->done.strict);
	if (a->is_unfit)
		control_add_text(&t, "unfit", a->why.text);
	control_send(fd, &t, -1); /* who does not wait gets nothing */
	text_fini(&t);
}

/* ---------------------------------------------------------------- together */

/* The same one that is kept already, if those after it agree with it about the events they share.  -1: there is none. */
static int find_wish(const struct switches *s, const struct apps_wish *w)
{
	for (int i = (int)s->n_wishes - 1; i >= 0; i--) {
		const struct apps_wish *other = &s->wishes[i];

		if (other->enable != w->enable || other->filter != w->filter)
			return -1;
		if (!strcmp(other->pattern, w->pattern) && !strcmp(other->who, w->who))
			return i;
	}
	return -1;
}

/* Its texts are copied.  Its index, or -1: no memory. */
static int keep_wish(struct switches *s, const struct apps_wish *w)
{
	size_t pattern = strlen(w->pattern) + 1, who = strlen(w->who) + 1;
	int found = find_wish(s, w);
	char *texts = found < 0 ? malloc(pattern + who) : NULL;

	if (!texts)
		return found;
	memcpy(texts, w->pattern, pattern);
	memcpy(texts + pattern, w->who, who);
	s->texts[s->n_wishes] = texts;
	s->wishes[s->n_wishes] = *w;
	s->wishes[s->n_wishes].pattern = texts;
	s->wishes[s->n_wishes].who = texts + pattern;
	return (int)s->n_wishes++;
}

static void answer_all(struct collector *c, uint32_t wish)
{
	const struct switches *s = &c->switches;
	struct answer answer = answer_for(c, 0, &s->wishes[wish]);

	for (uint32_t i = 0; i < s->n_askers; i++)
		if (s->askers[i].wish == wish) {
			send_answer(s->askers[i].fd, &answer);
			close(s->askers[i].fd);
		}
}

void switches_settle(struct collector *c)
{
	struct switches *s = &c->switches;

	if (!s->n_wishes)
		return;
	apps_switch_all(c->session.dir, 0, s->wishes, s->n_wishes, &c->session.file);
	for (uint32_t i = 0; i < s->n_wishes; i++) {
		answer_all(c, i);
		free(s->texts[i]);
	}
	s->n_wishes = s->n_askers = 0;
}

/* ---------------------------------------------------------------- the request */

static void switch_one(struct collector *c, pid_t pid, struct apps_wish *w, const struct abi_session *fresh, int fd)
{
	struct answer answer;

	switches_settle(c); /* what was asked before comes before */
	apps_switch_all(c->session.dir, pid, w, 1, fresh);
	answer = answer_for(c, pid, w);
	send_answer(fd, &answer);
}

/* False: no memory. */
static bool switch_later(struct collector *c, const struct apps_wish *w, int fd)
{
	struct switches *s = &c->switches;
	int wish;

	if (s->n_wishes == APPS_WISHES || s->n_askers == SWITCHES_ASKERS)
		switches_settle(c);
	wish = keep_wish(s, w);
	if (wish < 0)
		return false;
	s->askers[s->n_askers].fd = fd;
	s->askers[s->n_askers++].wish = (uint32_t)wish;
	return true;
}

bool switches_request(struct collector *c, const struct control_line *l, bool enable, int fd)
{
	struct wish asked = { .enable = enable };
	struct abi_session fresh;
	struct diag d = { "" };
	const char *why = read_wish(l, &asked, &d);
	int filter = why ? -EINVAL : tell_later_ones(c, &asked, &fresh, &d);
	struct apps_wish w = { .who = asked.who, .pattern = asked.pattern, .filter = (uint32_t)filter, .enable = enable };

	if (filter < 0) {
		control_refuse(fd, false, why ? why : d.text);
		return false;
	}
	if (!asked.pid && switch_later(c, &w, fd))
		return true;
	switch_one(c, (pid_t)asked.pid, &w, &fresh, fd);
	return false;
}
