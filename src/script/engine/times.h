/* SPDX-License-Identifier: MIT */
/*
 * script/engine/times.h - what a recording keeps of the script that made it.
 *
 * .duet/script, one line: begin and end in nanoseconds from the Epoch, and the target's process.
 * With it a replay begins and ends where the live run did, so that timers fire at the same events.
 * .duet/scripts/NAME.json: each table and plot that script NAME made, as a line of JSON.
 */
#ifndef SCRIPT_ENGINE_TIMES_H
#define SCRIPT_ENGINE_TIMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

struct script_times {
	int64_t begin_ns, end_ns;
	pid_t target; /* 0: none */
};

/* script_times_write - keep @t in recording @dir.  0 or -errno, reason in @d. */
int script_times_write(const char *dir, const struct script_times *t, struct diag *d);
/* script_times_read - 0; -ENOENT: recording @dir has none, or nonsense.  @dir is not trusted. */
int script_times_read(const char *dir, struct script_times *t);
/*
 * script_results_write - keep the lines of @json in recording @dir, instead of those before.
 *
 * @script: its file; NULL: it has none, and is called "script".
 * 0 or -errno, reason in @d.
 */
int script_results_write(const char *dir, const char *script, const char *json, size_t size,
			 struct diag *d);

#endif
