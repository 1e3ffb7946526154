/* SPDX-License-Identifier: MIT */
/* cmd/session/session_info.h - all that duet status tells of one session, from its collector, its programs and its files. */
#ifndef CMD_SESSION_SESSION_INFO_H
#define CMD_SESSION_SESSION_INFO_H

#include <sys/types.h>

#include "abi/session.h"
#include "abi/control.h"
#include "cmd/client.h"
#include "cmd/session/tenant_sessions.h"

struct look_program {
	pid_t pid; /* as we see it */
	char name[ABI_NAME_BYTES];
	char container[80]; /* "": it sees what we see */
	uint64_t lost; /* events that found no way to the session's memory */
	uint64_t events_per_s, bytes_per_s;
};

/* Of a channel. */
struct look_room {
	uint64_t memory, limit, used, waited, lost;
};

/* Of one session, or one part of it (cmd/session/tenant_sessions.h). */
struct look {
	char name[ABI_NAME_BYTES];
	struct cmd_answer session, channels[ABI_CHANNELS]; /* docs/formats/control.md */
	int n_channels;
	struct cmd_answer *triggers;
	int n_triggers;
	struct look_room rooms[ABI_CHANNELS];
	uint64_t lost; /* of applications: in all channels and outside */
	char path[4096];

	bool has_disk;
	uint64_t disk_used, disk_free; /* bytes: by the recording, in its file system */

	bool has_rates; /* analysis/recent.h; not of what stays in memory or is sent away */
	uint64_t events_per_s, bytes_per_s, kernel_events_per_s, kernel_bytes_per_s;
	struct look_program *programs; /* that run, by pid */
	int n_programs;
};

/* look_at - at session @name; @dir: our runtime directory; @places: of its programs, if it is a tenant's.  Returns 0, or
 * CMD_ENDED, or CMD_FAILED having said why; look_fini in any case. */
int look_at(struct look *l, int dir, const char *name, const struct parts_places *places);
void look_fini(struct look *l);

/* A member of an answer; 0 or "?" if it is not there. */
uint64_t look_number(const struct cmd_answer *a, const char *key);
const char *look_text(const struct cmd_answer *a, const char *key, char *value, size_t size);

/* look_json - the members of its object (duet-status(1)). */
void look_json(struct text *t, const struct look *l);

#endif
