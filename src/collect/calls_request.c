/* SPDX-License-Identifier: MIT */
/*
 * collect/calls_request.c - let a running session record other functions.
 *
 * The collector makes the directory of plans and enables the event of batches; the planner does the
 * rest and answers.  It finds a complete session: programs see the batch event before they have a
 * plan.
 */
#include "collect/calls_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS "duet_calls:batch"

static int add_rules(struct collector *c, struct diag *d)
{
	struct session *s = &c->session;
	struct session_rule where = { EVENTS, NULL, SESSION_ANY_CHANNEL, 0 },
			    what = { EVENTS, NULL, SESSION_ANY_CHANNEL, 0 };
	struct abi_session *fresh = malloc(sizeof *fresh);
	int err = 0;

	if (!fresh)
		return diag_fail(d, -ENOMEM, "no memory");
	*fresh = s->file;
	fresh->has_calls = 1;
	for (uint32_t i = 1; i < s->n_channels; i++)
		if (!strcmp(s->channels[i].name, "calls"))
			where.channel = i;
	if (where.channel != SESSION_ANY_CHANNEL)
		err = session_add_rule(fresh, &where, d);
	if (!err)
		err = session_add_rule(fresh, &what, d);
	if (!err)
		err = session_publish(s->dir, fresh, d);
	if (!err)
		s->file = *fresh;
	free(fresh);
	return err;
}

static int begin_calls(struct collector *c, struct diag *d)
{
	struct session *s = &c->session;
	int err = calls_open(&c->calls, s, c->o, d);

	if (!err)
		err = add_rules(c, d);
	if (err) {
		calls_close(&c->calls);
		return err;
	}
	programs_switch(s->dir, 0, "", EVENTS, true, &s->file, 0);
	return 0;
}

void calls_request(struct collector *c, const struct json_line *line, const char *text, int fd)
{
	struct diag d = { "" };
	char verb[16] = "";
	int err = 0;

	json_line_text(line, "verb", verb, sizeof verb);
	if (c->calls.plans < 0)
		err = strcmp(verb, "enable")
			      ? diag_fail(&d, -ENOENT, "it records no functions of programs")
			      : begin_calls(c, &d);
	if (!err && (err = calls_pass_change(&c->calls, text, fd)))
		diag_fail(&d, err, "the process that plans functions cannot be asked: %s",
			  strerror(-err));
	if (err)
		json_line_refuse(fd, err == -EAGAIN, d.text);
}
