/* SPDX-License-Identifier: MIT */
/*
 * script/live/live.h - the running system as the surroundings of a script.
 *
 * Each probe goes to the source that can serve it: kernel events, system calls and un-instrumented
 * programs to BPF programs of the script (script/kernel); duet's own events of applications to a
 * session that is followed while it records (script/replay).  With a recording to be kept, all
 * probes go to the session.
 */
#ifndef SCRIPT_LIVE_LIVE_H
#define SCRIPT_LIVE_LIVE_H

#include <sys/types.h>

#include "script/engine/source.h"

struct script_live;

struct script_live_options {
	pid_t target;	     /* of -x; 0: none, or not yet known */
	const char *save;    /* directory of the recording to keep; or NULL */
	const char *command; /* of -c: its events are known before it runs; or NULL */
	bool wants_words; /* argstr, retstr: system calls are recorded and followed, because only a
			   * session captures all the memory that these words show */
	bool is_verbose;
	bool checks_no_overload;
	void (*warn)(void *context, const char *text); /* may be NULL */
	void *context;
};

/* script_live_open - the world of the running system; nothing is loaded.  0 or -errno. */
int script_live_open(struct script_live **l, struct script_arena *arena,
		     const struct script_live_options *o, struct diag *d);
void script_live_close(struct script_live *l); /* accepts NULL; after its sources */
struct script_world *script_live_world(struct script_live *l);
/*
 * script_live_is_mixed - whether both parts serve probes of @program.
 *
 * Their clocks differ by some microseconds.  script_live_prefer_session() makes the session the first
 * to be asked; a script that is checked again then has one clock, if the session has all it needs.
 */
bool script_live_is_mixed(const struct script_live *l, const struct script_program *program);
void script_live_prefer_session(struct script_live *l, bool is_first);
/* script_live_target - the process of -c is known now; before script_live_sources(). */
void script_live_target(struct script_live *l, pid_t target);
/*
 * script_live_sources - the sources of @program's probes, at most @most; their number in @n.
 *
 * Returns 0 or -errno, reason in @d; sources made before are closed then.
 */
int script_live_sources(struct script_live *l, const struct script_program *program,
			struct script_vm *vm, struct script_source_of **sources, uint32_t most,
			uint32_t *n, struct diag *d);

#endif
