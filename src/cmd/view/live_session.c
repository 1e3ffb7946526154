/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/live_session.c - finds the directory a session of this machine records into, and checks
 * that it can be followed.
 *
 * A session with a flight recorder in every channel writes no file until a snapshot: it is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/view/live.h"
#include "collect/session/public.h"

/* @channel: its number, or -1 for the session. */
static int ask(const char *verb, const char *name, int channel, struct cmd_answer *answer)
{
	const struct cmd_asking options = { .passed = -1, .timeout_s = CMD_TIMEOUT_S };
	struct text t = { 0 };
	int status;

	json_line_add_text(&t, "verb", "status");
	if (channel >= 0)
		json_line_add_number(&t, "channel", (uint64_t)channel);
	status = cmd_ask(verb, name, &t, &options, answer);
	return status ? status : cmd_refused(verb, name, answer);
}

static int find_path(const char *verb, const char *name, const struct cmd_answer *answer,
		     char path[PATH_MAX])
{
	char recording[PATH_MAX], cwd[PATH_MAX] = "", link[64];
	uint64_t pid = 0;

	if (!json_line_text(&answer->line, "path", recording, sizeof recording) ||
	    !json_line_number(&answer->line, "pid", &pid))
		return cmd_error(verb, "session %s does not say where it records to", name);
	snprintf(link, sizeof link, "/proc/%" PRIu64 "/cwd", pid);
	if (*recording != '/' && readlink(link, cwd, sizeof cwd - 1) < 0)
		return cmd_error(verb,
				 "session %s records into %s, relative to an unknown directory: "
				 "name the directory",
				 name, recording);
	if (snprintf(path, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", recording) >= PATH_MAX)
		return cmd_error(verb, "session %s: the path is too long", name);
	return 0;
}

/* Events of a flight recorder are in memory until a snapshot is taken. */
static int refuse_flight_recorder(const char *verb, const char *name, uint64_t n_channels)
{
	char mode[32] = "", channel[ABI_CHANNEL_NAME_BYTES] = "";
	struct cmd_answer answer;
	uint64_t n_overwrite = 0;
	int status = 0;

	for (uint64_t i = 0; i < n_channels && i < ABI_CHANNELS && !status; i++) {
		status = ask(verb, name, (int)i, &answer);
		if (!status && json_line_text(&answer.line, "mode", mode, sizeof mode) &&
		    !strcmp(mode, "overwrite")) {
			json_line_text(&answer.line, "name", channel, sizeof channel);
			n_overwrite++;
		}
	}
	if (status || !n_overwrite)
		return status;
	if (n_overwrite < n_channels) {
		print_err("duet %s: channel %s of session %s is a flight recorder: duet snapshot "
			  "shows what it holds\n",
			  verb, channel, name);
		return 0;
	}
	return cmd_error(verb,
			 "session %s is a flight recorder: its events stay in memory\n"
			 "  duet snapshot -s %s writes what it holds now, for duet view",
			 name, name);
}

int live_session(const char *verb, const char *wanted, char path[PATH_MAX])
{
	int dir = runtime_dir_open(false), status;
	struct abi_session session;
	struct cmd_answer answer;
	uint64_t n_channels = 0;

	if (dir < 0 && dir != -ENOENT)
		return cmd_error(verb, "cannot use the runtime directory: %s", strerror(-dir));
	if (dir < 0 || (wanted && !session_is_live(dir, wanted)))
		status = 1;
	else
		status = cmd_select_session(verb, dir, wanted, &session);
	if (dir >= 0)
		close(dir);
	if (status == 1)
		return wanted ? cmd_error(verb,
					  "%s: no such session is recording, and no such directory",
					  wanted)
			      : cmd_error(verb,
					  "nothing records: `duet start` and `duet record` do");
	if (!status)
		status = ask(verb, session.name, -1, &answer);
	if (!status)
		status = find_path(verb, session.name, &answer, path);
	if (!status) {
		json_line_number(&answer.line, "channels", &n_channels);
		status = refuse_flight_recorder(verb, session.name, n_channels);
	}
	return status;
}
