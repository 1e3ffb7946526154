/* SPDX-License-Identifier: MIT */
/* script/engine/internal.h - what the files of the engine share. */
#ifndef SCRIPT_ENGINE_INTERNAL_H
#define SCRIPT_ENGINE_INTERNAL_H

#include <poll.h>

#include "script/engine/engine.h"

enum { ENGINE_SOURCES_MAX = 8, ENGINE_LINE_MAX = 4096 };

struct engine_source {
	struct script_source_of *of;
	struct script_event event; /* the next one, if has_event */
	bool is_started, has_event, has_ended;
};

struct engine_timer {
	const struct script_probe *probe;
	int64_t due_ns;
	uint64_t random; /* state of its generator */
};

/* The command of -c, or the process of -x. */
struct engine_target {
	pid_t pid;  /* 0: none */
	int pidfd;  /* -1: none */
	int go;	    /* write end of the pipe that a command waits on; -1 */
	int report; /* read end: errno of a failed exec; -1 */
	int status; /* once ended */
	bool is_command, ended;
};

struct engine_input {
	char line[ENGINE_LINE_MAX];
	uint32_t size;
	bool wants_chars, wants_lines, has_ended;
};

struct engine_procfs; /* procfs.c */

struct script_engine {
	struct script_engine_options o;
	struct script_engine_result result;
	struct engine_source sources[ENGINE_SOURCES_MAX];
	uint32_t n_sources;
	struct engine_timer *timers;
	uint32_t n_timers;
	struct engine_target target;
	struct engine_input input;
	struct engine_procfs *procfs;
	struct script_frame *frame; /* of the engine's own probes */
	int64_t offset_ns;	    /* time from the Epoch less CLOCK_MONOTONIC, at the begin */
	int64_t now_ns;		    /* stream time: of the last handler */
	int64_t limit_ns;	    /* nothing later than this runs */
	int64_t losses_ns;	    /* monotonic: when losses were asked for last */
	int64_t stopped_ns;	    /* monotonic: when the sources were stopped; 0: they were not */
	uint64_t *lost;		    /* by probe; the last one: not known */
	bool has_warned;
	bool is_exiting;
};

/* engine.c */
int64_t engine_clock(const struct script_engine *e); /* now, on the clock of events */
/* Runs a probe of the engine's own families; @text: what its variable holds, or NULL. */
void engine_run_own(struct script_engine *e, const struct script_probe *p, int64_t time_ns,
		    const char *text, size_t size);
void engine_run_event(struct script_engine *e, const struct script_event *event);
void engine_run_family(struct script_engine *e, enum script_family family);
void engine_message(struct script_engine *e, enum script_message kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* merge.c */
enum engine_step { ENGINE_RAN, ENGINE_WAIT, ENGINE_OVER };
/* The next handler, if nothing can come before it.  Or -errno of a source. */
int engine_step(struct script_engine *e, struct diag *d);
bool engine_is_held_up(const struct script_engine *e); /* an event waits for other sources */

/* timers.c */
int engine_timers_open(struct script_engine *e);
void engine_timers_begin(struct script_engine *e, int64_t begin_ns);
struct engine_timer *engine_timers_next(struct script_engine *e); /* NULL: there is none */
void engine_timer_fire(struct script_engine *e, struct engine_timer *t);

/* losses.c */
int engine_losses_open(struct script_engine *e);
void engine_losses_take(struct script_engine *e);
void engine_losses_report(struct script_engine *e); /* at the end */

/* target.c */
int engine_target_open(struct engine_target *t, const char *command, pid_t pid, struct diag *d);
int engine_target_release(struct engine_target *t, const char *command, struct diag *d);
bool engine_target_has_ended(struct engine_target *t);
void engine_target_close(struct engine_target *t);

/* input.c */
void engine_input_open(struct script_engine *e);
bool engine_input_is_open(const struct script_engine *e);
void engine_input_take(struct script_engine *e);

/* procfs.c */
int engine_procfs_open(struct script_engine *e, struct diag *d);
uint32_t engine_procfs_poll(struct script_engine *e, struct pollfd *fds, uint32_t n);
void engine_procfs_take(struct script_engine *e);
void engine_procfs_close(struct script_engine *e);

#endif
