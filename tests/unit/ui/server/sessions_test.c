/* SPDX-License-Identifier: MIT */
/* unit/ui/server/sessions_test.c - requests about sessions become commands: here echo(1) shows its arguments. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "ui/sessions/body.h"
#include "ui/sessions/sessions.h"

static int count(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word))) {
		n++;
		text++;
	}
	return n;
}

static void change(const char *body, struct ui_answer *a)
{
	const struct ui_request q = { .path = "/api/session",
				      .body = body,
				      .body_size = strlen(body) };

	*a = (struct ui_answer){ .status = 200, .body_fd = -1 };
	ui_sessions_change("/bin/echo", &q, a);
}

static void each_of_many_events_has_its_filter_and_level(void)
{
	enum { EVENTS = BODY_PAIRS_MAX - 4 };
	struct text body = { 0 };
	struct ui_answer a;

	text_addf(&body, "{\"verb\":\"start\",\"session\":\"-x\",\"filter\":\"n > 1\",\"level\":"
			 "\"info\",\"events\":[");
	for (int i = 0; i < EVENTS; i++)
		text_addf(&body, "%s\"e\"", i ? "," : "");
	text_addf(&body, "]}");
	change(body.bytes, &a);
	is(a.status, 200);
	is(count(a.body.bytes, "--event=e --filter=n > 1 --level=info"), EVENTS);
	is(count(a.body.bytes, "-- -x"), 1);
	is(count(a.body.bytes, "\"path\":\"\""), 1);
	text_fini(&a.body);
	text_fini(&body);
}

static void nothing_in_a_request_is_an_option(void)
{
	struct ui_answer a;

	change("{\"verb\":\"stop\",\"session\":\"--all\"}", &a);
	is(count(a.body.bytes, "stop -- --all"), 1);
	text_fini(&a.body);
	change("{\"verb\":\"snapshot\",\"session\":\"-h\",\"output\":\"--x\",\"last\":\"-1\"}", &a);
	is(count(a.body.bytes, "snapshot --session=-h --output=--x --last=-1 --"), 1);
	text_fini(&a.body);
	change("{\"verb\":\"stop\",\"session\":\"a\",\"trigger\":\"x\"}", &a);
	is(a.status, 400);
	text_fini(&a.body);
}

int main(void)
{
	run(each_of_many_events_has_its_filter_and_level);
	run(nothing_in_a_request_is_an_option);
	return test_status();
}
