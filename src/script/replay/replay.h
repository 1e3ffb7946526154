/* SPDX-License-Identifier: MIT */
/*
 * script/replay/replay.h - recordings as the surroundings of a script: probe points, values, events.
 *
 * A world answers the checker from the event classes of recordings; a source then returns their
 * events in time order, with the frames that the handlers need.  Fields are decoded only if a handler
 * reads them.  A recording that is still written is followed.
 *
 *	kernel.trace("sched:sched_switch")  kernel.tracepoint("sched_switch")
 *	syscall.openat  syscall.*.return  nd_syscall.read  syscall_any  syscall_any.return
 *	kernel.function("vfs_*")  .call  .return          kprobes, fprobes, function graph
 *	process("shop").mark("order")  .provider("shop")  duet's events and USDT markers
 *	process("shop").function("f")  .call  .return     uprobes, and calls of --graph
 *	process.begin  .end  .thread.begin  .thread.end   with ("shop") or (PID) too
 *	app.CHANNEL.NAME                                  duet's own events
 *	event("name")                                     any event by its name in the recording
 *	timer.profile                                     samples of -k profile
 *
 * Values at a point: $field and field->field for structs, [i] for elements, $field$ for a label or a
 * real number as text; a real number itself is rounded toward zero.  Kernel events have their fields
 * by duet's and by the kernel's names, and well-known members of the arguments ($next->pid).
 *
 * What always holds: a recording's bytes are not trusted; a field that an event lacks faults only
 * its slot; losses are reported, never hidden.
 */
#ifndef SCRIPT_REPLAY_REPLAY_H
#define SCRIPT_REPLAY_REPLAY_H

#include <sys/types.h>

#include "script/check/program.h"
#include "script/engine/source.h"

struct replay_options {
	const char *const *paths; /* recordings; valid as long as the world */
	int n_paths;
	bool follows;					 /* they may still be written */
	void (*warn)(void *context, const char *text);	 /* damage; may be NULL */
	bool (*progress)(void *context, uint64_t bytes); /* see trace_options; may be NULL */
	void *context;
};

/*
 * replay_world_open - open recordings as a world.
 *
 * @arena: of the script; the world's points and values lie in it.
 * Returns 0; -errno with the reason in @d.  Close the sources, then the world, then the arena.
 */
int replay_world_open(struct script_world **world, const struct replay_options *o,
		      struct script_arena *arena, struct diag *d);
void replay_world_close(struct script_world *world); /* accepts NULL */
/* replay_range - before a source is opened: only events of this period; both ends are included. */
void replay_range(struct script_world *world, int64_t from_ns, int64_t to_ns);
/* replay_trace - the recordings; NULL: of a live session that has not begun.  Do not move it. */
const struct trace *replay_trace(const struct script_world *world);

/*
 * replay_source_open - the events of @world for the probes of @program that are of its family.
 *
 * Only one source of a world at a time; the next one begins again at the start.
 * Returns 0; -errno with the reason in @d.
 */
int replay_source_open(struct script_source_of **s, struct script_world *world,
		       const struct script_program *program, struct script_vm *vm, struct diag *d);

/* ---------------------------------------------------------------- live sessions */

struct replay_live_options {
	const char *command; /* -c: shell words; its sites are known before it runs; or NULL */
	pid_t target;	     /* -x; 0: none */
	const char *save; /* keep the recording in this directory, which must not exist; NULL: not
			      * kept */
	void (*warn)(void *context, const char *text); /* may be NULL */
	void *context;
};

/*
 * replay_live_open - a world of what running programs can record: app.*, process.mark of duet's
 * events, system calls with their words, samples, begins and ends of processes.
 *
 * Its source (replay_source_open) starts a recorder in a child process for what the probes need, and
 * follows its recording; stop ends the recorder, and what it has recorded is still returned.  When
 * this process dies, however, the recorder stops and removes a recording that is not kept.
 */
int replay_live_open(struct script_world **world, const struct replay_live_options *o,
		     struct script_arena *arena, struct diag *d);
/* replay_has - whether @p is a point of @world: another world's has other `data`. */
bool replay_has(const struct script_world *world, const struct script_world_point *p);

/* replay_times - the first and the last time that the recordings have; both 0 if they are empty. */
void replay_times(const struct script_world *world, int64_t *first_ns, int64_t *last_ns);

/* replay_symbol - for script_services.symbol: names of addresses, as the recordings know them. */
void replay_symbol(struct script_world *world, int64_t pid, uint64_t address, char what,
		   struct text *to);

#endif
