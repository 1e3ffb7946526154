/* SPDX-License-Identifier: MIT */
/* cmd/session/session_info.h - the state of one session: its collector, programs and files. */
#ifndef CMD_SESSION_SESSION_INFO_H
#define CMD_SESSION_SESSION_INFO_H

#include <sys/types.h>

#include "abi/session.h"
#include "abi/control.h"
#include "cmd/session/status_calls.h"
#include "cmd/client.h"
#include "cmd/session/tenant_sessions.h"

struct session_info_program {
	pid_t pid; /* in this pid namespace */
	char name[ABI_NAME_BYTES];
	char container[80]; /* "": in no other namespace than this process */
	uint64_t lost;	    /* events that did not reach the session's memory */
	uint64_t events_per_s, bytes_per_s;
};

struct session_info_channel {
	uint64_t memory, limit, used, waited, lost;
	uint64_t clock_worst_ns; /* of a coarse channel: docs/formats/requests.md */
};

/* One session, or one tenant's part of it (cmd/session/tenant_sessions.h). */
struct session_info {
	char name[ABI_NAME_BYTES];
	struct cmd_answer session, channels[ABI_CHANNELS]; /* docs/formats/requests.md */
	int n_channels;
	struct cmd_answer *triggers;
	int n_triggers;
	struct session_info_channel rooms[ABI_CHANNELS];
	uint64_t lost; /* of applications: in all channels, and outside them */
	char path[4096];

	bool has_disk;
	uint64_t disk_used, disk_free; /* bytes: used by the recording; free in its file system */

	bool has_rates; /* analysis/recent.h; false if events stay in memory or are sent away */
	uint64_t events_per_s, bytes_per_s, kernel_events_per_s, kernel_bytes_per_s;
	struct session_info_program *programs; /* those that run, ordered by pid */
	int n_programs;
	struct status_calls calls;
};

/*
 * session_info_ask - ask the collector of session @name for its state.
 *
 * Returns 0; CMD_ENDED if it ended; CMD_FAILED after it printed why.  Call session_info_fini in each case.
 */
int session_info_ask(struct session_info *l, const char *name);

/*
 * session_info_look - then read the rest from files: disk, rates, programs.  A large recording takes long, so not
 * while other collectors wait to be asked (cmd_at_once).
 *
 * @dir: our runtime directory.  @places: where its programs are, if it is a tenant's.
 */
void session_info_look(struct session_info *l, int dir, const struct tenant_dirs *places);
void session_info_fini(struct session_info *l);

/* session_info_number, session_info_text - a member of an answer; 0 or "?" if it is missing. */
uint64_t session_info_number(const struct cmd_answer *a, const char *key);
const char *session_info_text(const struct cmd_answer *a, const char *key, char *value,
			      size_t size);

/* session_info_json - add the members of the session's JSON object (duet-status(1)). */
void session_info_json(struct text *t, const struct session_info *l);

#endif
