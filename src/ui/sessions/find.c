/* SPDX-License-Identifier: MIT */
/* ui/sessions/find.c - where a session records to, as its collector says. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_line.h"
#include "base/monotonic.h"
#include "base/runtime.h"
#include "control/exchange.h"
#include "ui/sessions/sessions.h"

#define ANSWER_LIMIT_NS 5000000000ull

struct status {
	char text[8192];
	struct json_line line; /* points into it */
};

/* @channel: its number; -1: the session. */
static int ask(const char *name, int channel, struct status *s)
{
	char directory[512];
	struct exchange e = { .directory = directory,
			      .session = name,
			      .until_ns = monotonic_ns() + ANSWER_LIMIT_NS,
			      .passed = -1,
			      .requires_own_user = true };
	struct text t = { 0 };
	int n;

	if (strchr(name, '/') || !runtime_path(directory, sizeof directory, NULL))
		return -ENOENT;
	json_line_add_text(&t, "verb", "status");
	if (channel >= 0)
		json_line_add_number(&t, "channel", (uint64_t)channel);
	n = json_line_end(&t);
	if (!n)
		n = exchange_run(&e, t.bytes, t.size, s->text, sizeof s->text);
	text_fini(&t);
	if (n < 0)
		return n;
	return json_line_parse(&s->line, s->text, (size_t)n);
}

static bool is_flight_recorder(const char *name, struct status *s)
{
	char mode[32] = "overwrite";
	uint64_t n = 0;

	json_line_number(&s->line, "channels", &n);
	for (uint64_t i = 0; i < n && !strcmp(mode, "overwrite"); i++)
		if (ask(name, (int)i, s) || !json_line_text(&s->line, "mode", mode, sizeof mode))
			return false;
	return n && !strcmp(mode, "overwrite");
}

/* A relative path is relative to the collector's directory. */
static int take_path(const struct status *s, char path[PATH_MAX])
{
	char recording[PATH_MAX], link[64], at[PATH_MAX] = "";
	uint64_t pid = 0;

	if (!json_line_text(&s->line, "path", recording, sizeof recording) ||
	    !json_line_number(&s->line, "pid", &pid))
		return -EBADMSG;
	snprintf(link, sizeof link, "/proc/%" PRIu64 "/cwd", pid);
	if (*recording != '/' && readlink(link, at, sizeof at - 1) < 0)
		return -errno;
	return snprintf(path, PATH_MAX, "%s%s%s", at, *at ? "/" : "", recording) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

int ui_session_find(const char *name, char path[PATH_MAX], struct diag *d)
{
	struct status s;
	int err = ask(name, -1, &s);

	if (err == -ENOENT || err == -ECONNREFUSED)
		return diag_fail(d, -ENOENT,
				 "%s: no such session is recording (`duet status` lists them)",
				 name);
	if (!err)
		err = take_path(&s, path);
	if (err)
		return diag_fail(d, err, "session %s does not say where it records to: %s", name,
				 strerror(-err));
	if (is_flight_recorder(name, &s))
		return diag_fail(d, -ENOTSUP,
				 "session %s is a flight recorder: its events are in memory until "
				 "a snapshot is taken",
				 name);
	return 0;
}
