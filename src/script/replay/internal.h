/* SPDX-License-Identifier: MIT */
/*
 * script/replay/internal.h - shared by the files of this room.
 *
 * A point is bound to an event class by the class's name, when the class appears; so the points of
 * a session that is followed can be checked before anything was recorded.
 */
#ifndef SCRIPT_REPLAY_INTERNAL_H
#define SCRIPT_REPLAY_INTERNAL_H

#include "analysis/public.h"
#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "collect/child/child.h"
#include "script/replay/replay.h"
#include "trace/filter/match.h"
#include "trace/symbols/public.h"

/* ---------------------------------------------------------------- event kinds */

/* What the name of a kernel event says about it. */
enum replay_kind {
	REPLAY_OTHER, /* a tracepoint, or an application's event */
	REPLAY_ENTRY,
	REPLAY_EXIT, /* of a system call */
	REPLAY_CALLED,
	REPLAY_RETURNED, /* kprobe, fprobe: of a function of the kernel */
	REPLAY_USER_CALLED,
	REPLAY_USER_RETURNED, /* uprobe: of a function of a program */
	REPLAY_MARKER,	      /* USDT, recorded by the kernel: subject is PROVIDER_NAME */
	REPLAY_GRAPH_ENTRY,
	REPLAY_GRAPH_EXIT, /* the function is a field */
	REPLAY_FUNCTION,   /* the same, without exits */
	REPLAY_SAMPLE,	   /* profile */
	REPLAY_DUMP,	   /* of what existed when recording began */
};

/* An event class by name; the same in all traces that have it. */
struct replay_event {
	const char *name;    /* as the recording has it */
	const char *subject; /* the call, function or marker; else the name behind the channel */
	const char *channel; /* of applications; else "" */
	enum replay_kind kind;
	bool is_kernel;
	const struct ctf_event_class *class; /* one of its classes */
	const struct ctf_type *context;	     /* of the class's stream */
	struct replay_event *next;
};

/* replay_kind_of - the kind of a kernel event; sets @subject to a part of @name. */
enum replay_kind replay_kind_of(const char *name, const char **subject);
/* replay_tracepoint - the kernel's names for an event: "sched", "sched_switch"; @system is "" if it
 * is not known.  Both have room for 96 bytes. */
void replay_tracepoint(const char *name, char system[96], char event[96]);
/* replay_member_field - the recorded field that has $prev->pid of @event ("prev->pid"), or NULL;
 * @add: to its number. */
const char *replay_member_field(const char *event, const char *path, int64_t *add);
/* replay_kernel_field - the recorded name of field @name of the kernel's format; @name if it is the
 * same. */
const char *replay_kernel_field(const char *event, const char *name);

/* ---------------------------------------------------------------- points */

enum replay_at {
	AT_EVENT, /* `event` by name */
	AT_ENTRY, /* system call `event`, or all if it is NULL */
	AT_EXIT,
	AT_CALLED, /* function `event` of the kernel */
	AT_RETURNED,
	AT_USER_CALLED, /* function `event` of a program */
	AT_USER_RETURNED,
	AT_MARKER, /* channel and event of an application's event or USDT marker */
	AT_SAMPLE,
	AT_PROCESS_BEGIN,
	AT_PROCESS_END,
	AT_THREAD_BEGIN,
	AT_THREAD_END,
};

struct replay_point { /* `data` of a struct script_world_point */
	enum replay_at at;
	const char *event;
	const char *program;		  /* basename; NULL: of any process */
	const char *object;		  /* of functions: glob on the file's basename; NULL: any */
	int64_t pid;			  /* 0: any */
	int64_t hz;			  /* AT_SAMPLE: as asked for */
	const struct replay_event *known; /* for the types of values; NULL: not in the recording */
};

/* replay_point_is_at - whether events of @e are at @p, apart from its process. */
bool replay_point_is_at(const struct replay_point *p, const struct replay_event *e);

enum { REPLAY_SAMPLES_HZ = 100, REPLAY_SAMPLES_HZ_MAX = 100000 };

/* ---------------------------------------------------------------- values */

enum replay_value_kind {
	VALUE_FIELD, /* path */
	VALUE_LABEL, /* path: the label of an enumeration, or the number in full */
	VALUE_ALL,   /* $$vars, $$parms: all fields, as text */
	VALUE_NAME,  /* the point's name */
	VALUE_CALL,  /* name of the system call */
	VALUE_ARGSTR,
	VALUE_RETSTR,
	VALUE_CALL_NUMBER,
	VALUE_PROCESS, /* path: the process of the thread in that field */
};

struct replay_value { /* `data` of a struct script_world_value */
	enum replay_value_kind kind;
	const char *path;
	int64_t index; /* added to a number */
	enum script_type type;
	bool is_quoted;
	int64_t limit;	 /* bytes of a text; 0: all */
	bool of_entry;	 /* at the exit of a call: a field of its entry */
	uint32_t number; /* of_entry: among these values */
};

/* replay_field - find @path in events of @e: `a`, `a.b`, `a[3]`, `ctx.uid`.  True also for structs
 * and arrays; then @why is FILTER_IS_MANY. */
bool replay_field(const struct replay_event *e, const char *path, struct match_field *f,
		  enum filter_error *why);

/* ---------------------------------------------------------------- the world */

struct replay_live { /* live.c */
	struct replay_live_options o;
	struct recorder_child child;
	const char *path;
	bool is_recording, is_stopped;
};

struct replay_metadata { /* of events that were not recorded yet */
	struct replay_metadata *next;
	struct ctf_meta meta;
};

struct replay {
	struct script_world world; /* first */
	struct replay_options o;
	struct trace *trace;
	int64_t from_ns, to_ns;
	struct replay_event *events, **last;
	uint32_t n_classes; /* of the trace, that are among `events` */
	struct replay_event **by_class;
	uint32_t n_by_class;
	bool has_syscalls;
	struct kallsyms *kernel;
	struct modules *modules;
	struct symbols *symbols;
	struct replay_live *live;	    /* NULL: of recordings */
	struct replay_metadata *metadata;   /* live: events before one was recorded */
	const struct replay_point **points; /* that were reported: by address, at most half full */
	uint32_t n_points, n_point_rooms;
	uint64_t clock; /* of the event that was read last */
};

/* replay_has_calls - whether calls of programs were recorded by --graph. */
bool replay_has_calls(const struct replay *r);
/* replay_symbols_open - prepare names of addresses; files are read when one is asked for. */
int replay_symbols_open(struct replay *r);

/* replay_learn - add the classes that appeared since the last call.  0 or -ENOMEM. */
int replay_learn(struct replay *r);
/* replay_renumber - the same after trace_forget().  Events whose classes are all gone have none. */
int replay_renumber(struct replay *r);
/* replay_add_event - one more event of @domain.  NULL: no memory. */
struct replay_event *replay_add_event(struct replay *r, enum trace_domain domain,
				      const struct ctf_meta *m, const struct ctf_event_class *c);
/* replay_sites - add the events of programs that run, or that @o names.  0 or -errno. */
int replay_sites(struct replay *r, const struct replay_live_options *o, struct diag *d);
/* replay_kernel_events - live: add the kernel's events of @system that are called @pattern, by duet or
 * the kernel; both are globs.  0 or -errno. */
int replay_kernel_events(struct replay *r, const char *system, const char *pattern, struct diag *d);
/* replay_note_point - @p was reported: replay_has() knows it.  0 or -ENOMEM. */
int replay_note_point(struct replay *r, const struct replay_point *p);

struct replay_app {
	const char *name;
	struct text filter; /* passes what some probe needs */
	bool is_whole;	    /* some probe needs all of them */
};

struct replay_needs { /* needs.c: what a recorder records for a script */
	struct replay_app *apps;
	int n_apps;
	const char **kernel; /* patterns of kernel events */
	int n_kernel;
	uint64_t app_contexts;
	uint32_t kernel_contexts;
	uint32_t n_entries, n_exits; /* probes of system calls */
	bool has_failed;
};

/* replay_needs_find - what the probes of @program need.  @vm: has its globals and limits.
 * Returns 0 or -errno with the reason in @d; always to be undone by replay_needs_fini(). */
int replay_needs_find(struct replay_needs *n, const struct replay *r,
		      const struct script_program *program, struct script_vm *vm, struct diag *d);
void replay_needs_fini(struct replay_needs *n);
/* replay_needs_filter - append the filter of the events at which @probe has an effect.  False: it may
 * have one at any. */
bool replay_needs_filter(const struct replay *r, const struct script_probe *probe,
			 struct script_vm *vm, struct text *t);

/* replay_live_start - start the recorder and open its recording. */
int replay_live_start(struct replay *r, const struct script_program *program, struct script_vm *vm,
		      struct diag *d);
/* replay_live_was_read - what can be read now was read: let the recorder remove it. */
void replay_live_was_read(struct replay *r);
/* replay_live_stop - nothing more is recorded; the rest can be read. */
void replay_live_stop(struct replay *r);
void replay_live_close(struct replay *r); /* accepts a world of recordings */
/* replay_find - the event called @name; or NULL. */
struct replay_event *replay_find(const struct replay *r, const char *name);

/* world->points and the rest; points.c and values.c. */
int replay_points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d);
int replay_entry(struct script_world *w, const struct script_world_point *p,
		 struct script_world_point *entry, struct diag *d);
int replay_value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d);
void replay_each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context);

/* replay_format - text in the arena, or NULL. */
const char *replay_format(struct script_arena *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* replay_lacks - the reason why @d fails: the recording has no @what; with the command that records
 * it. */
int replay_lacks(struct diag *d, const char *what, const char *command);

#endif
