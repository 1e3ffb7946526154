/* SPDX-License-Identifier: MIT */
/* cmd/session/session_info.h - all that duet status tells of one session, from its collector, its
 * programs and its files. */
#ifndef CMD_SESSION_SESSION_INFO_H
#define CMD_SESSION_SESSION_INFO_H

#include <sys/types.h>

#include "abi/session.h"
#include "abi/control.h"
#include "cmd/client.h"
#include "cmd/session/tenant_sessions.h"

struct session_info_program {
	pid_t pid; /* as we see it */
	char name[ABI_NAME_BYTES];
	char container[80]; /* "": it sees what we see */
	uint64_t lost;	    /* events that found no way to the session's memory */
	uint64_t events_per_s, bytes_per_s;
};

/* Of a channel. */
struct session_info_channel {
	uint64_t memory, limit, used, waited, lost;
};

/* Of one session, or one part of it (cmd/session/tenant_sessions.h). */
struct session_info {
	char name[ABI_NAME_BYTES];
	struct cmd_answer session, channels[ABI_CHANNELS]; /* docs/formats/control.md */
	int n_channels;
	struct cmd_answer *triggers;
	int n_triggers;
	struct session_info_channel rooms[ABI_CHANNELS];
	uint64_t lost; /* of applications: in all channels and outside */
	char path[4096];

	bool has_disk;
	uint64_t disk_used, disk_free; /* bytes: by the recording, in its file system */

	bool has_rates; /* analysis/recent.h; not of what stays in memory or is sent away */
	uint64_t events_per_s, bytes_per_s, kernel_events_per_s, kernel_bytes_per_s;
	struct session_info_program *programs; /* that run, by pid */
	int n_programs;
};

/* session_info_read - at session @name; @dir: our runtime directory; @places: of its programs, if
 * it is a tenant's.  Returns 0, or CMD_ENDED, or CMD_FAILED having said why; session_info_fini in
 * any case. */
int session_info_read(struct session_info *l, int dir, const char *name,
		      const struct tenant_dirs *places);
void session_info_fini(struct session_info *l);

/* A member of an answer; 0 or "?" if it is not there. */
uint64_t session_info_number(const struct cmd_answer *a, const char *key);
const char *session_info_text(const struct cmd_answer *a, const char *key, char *value,
			      size_t size);

/* session_info_json - the members of its object (duet-status(1)). */
void session_info_json(struct text *t, const struct session_info *l);

#endif
