/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/calls.h - calls of functions of programs, read from a recording, in one tree with
 * the kernel.
 *
 * The names begin with fcalls ("calls of functions"), because calls_... are system calls
 * (analysis/syscalls).  A recording is opened once (fcalls_open); then it is read in one of three
 * ways:
 *
 *   fcalls_each      every call of programs, in the order of exits of each thread; the fastest
 *   fcalls_walk      entries and exits of everything, and all other events, in the order of time
 *   fcalls_tree      sums by path of callers, of functions alone or with the kernel below them
 *
 * What always holds:
 *
 *   (1) memory does not grow with the number of calls: a batch for each thread, the open calls, and
 *       the results
 *   (2) a call lies within its caller, in time too; where a damaged recording contradicts that, the
 *       call is cut to its caller's time and counted in n_misnested
 *   (3) the parts of a call's time (struct fcalls_split) add up to its duration, to the nanosecond
 *   (4) bytes of batches, calls files and plans are untrusted: bytes that do not fit are counted, never
 *       followed
 *
 * Times are those of struct trace_event: nanoseconds from the Epoch.  One thread at a time may use a
 * struct fcalls.  Formats: docs/formats/calls.md.
 */
#ifndef ANALYSIS_CALLS_CALLS_H
#define ANALYSIS_CALLS_CALLS_H

#include "abi/plan.h"
#include "analysis/pass.h"
#include "analysis/calls/spread.h"
#include "analysis/samples.h"

/* ---------------------------------------------------------------- the recording */

struct fcalls;

/* A function of a file; the same for all processes that mapped this file. */
struct fcalls_function {
	const char *name;   /* the linker's; "" if unknown */
	const char *shown;  /* for people: demangled; "#17" if there is no plan with names */
	const char *object; /* path of the file; "" if unknown */
	const char *file;   /* of the source; "" if unknown */
	uint32_t line;	    /* 0: unknown */
	uint64_t address;   /* in the file's own numbering */
	uint8_t build_id[ABI_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	bool is_elided; /* in some process: unpatched by the governor because it is too short */
	/* sums of the governor over all processes, from the calls files.  For elided functions they
	 * are all that is known of calls after the first ones. */
	uint64_t n_governed, governed_ns;
};

/* A process that recorded calls: one calls file, or batches without one. */
struct fcalls_process {
	uint32_t source; /* number of its trace_source */
	int64_t pid;	 /* as it sees itself */
	const char *program;
	bool has_file; /* its calls file is in the recording; else functions have no names */
	uint32_t mode; /* enum abi_calls_mode */
	uint64_t threshold_ns; /* ABI_CALLS_OVER */
	uint64_t hook_ns_x256; /* calibrated cost of one recorded call, in 1/256 ns; 0: unknown */
	uint64_t lost;	       /* calls of threads without an area */
	uint32_t n_objects, n_patched, n_refused;
};

/* A thread of a program, as its batches name it. */
struct fcalls_thread {
	uint32_t process; /* index */
	int64_t tid;	  /* as the process sees it */
	uint32_t n_batches;
	uint32_t n_lost_batches; /* gaps in the sequence: overwritten or discarded */
	uint32_t n_before;	 /* batches before the first one recorded: overwritten, or in an
				    earlier recording */
	uint64_t lost;		 /* calls that the program could not record */
	uint32_t n_torn;	 /* batches that end where the thread was killed */
	uint32_t n_damaged;	 /* batches that end in bytes that are no records */
	uint32_t n_nodes;	 /* of its profile; 0 if calls were recorded */
};

/*
 * fcalls_open - find all batches, calls files and plans of @t.
 *
 * @t: borrowed until fcalls_close().  Its cursor is not moved.
 *
 * It reads the heads of all batches, not the calls.  A recording without calls is no error:
 * fcalls_has_calls() is false then.  Returns 0 or -errno, with the reason in @d.
 */
int fcalls_open(struct fcalls **c, struct trace *t, struct diag *d);
void fcalls_close(struct fcalls *c); /* accepts NULL */

/* Whether there is a batch, an open frame or a profile. */
bool fcalls_has_calls(const struct fcalls *c);
/* Whether there are events of the kernel that split time: switches, system calls, interrupts or
 * kernel functions. */
bool fcalls_has_kernel(const struct fcalls *c);
/* Whether @e is an event duet_calls:batch, which a display of events leaves out. */
bool fcalls_is_batch(const struct fcalls *c, const struct trace_event *e);

uint32_t fcalls_n_processes(const struct fcalls *c);
const struct fcalls_process *fcalls_process(const struct fcalls *c, uint32_t i);
/* A file that a process had mapped, and whose functions may be patched. */
struct fcalls_object {
	uint64_t bias; /* added to addresses of the file */
	uint8_t build_id[ABI_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	char path[256];
};
/* fcalls_object - object @i of process @process; false: it has no more. */
bool fcalls_object(const struct fcalls *c, uint32_t process, uint32_t i, struct fcalls_object *o);

uint32_t fcalls_n_threads(const struct fcalls *c);
const struct fcalls_thread *fcalls_thread(const struct fcalls *c, uint32_t i);

/*
 * fcalls_function - a function by its number, 1 .. fcalls_n_functions(); never NULL.
 *
 * Numbers are given out as functions are first needed, so that a plan of 200 000 functions costs
 * nothing; they stay the same until fcalls_close().  0 is a function that no plan names.
 */
const struct fcalls_function *fcalls_function(const struct fcalls *c, uint32_t number);
uint32_t fcalls_n_functions(const struct fcalls *c);
/* fcalls_add_elided - give numbers to all elided functions too.  Returns 0 or -ENOMEM. */
int fcalls_add_elided(struct fcalls *c);
/*
 * fcalls_is_like - whether function @number matches @pattern: FUNCTION, or FILE:FUNCTION; globs as in
 * rules/pattern.h, FILE on the basename of the object.
 */
bool fcalls_is_like(const struct fcalls *c, uint32_t number, const char *pattern);

/* ---------------------------------------------------------------- every call */

/* flags of a call */
enum {
	FCALLS_OPEN = 1, /* had not returned when the recording, or the program, ended */
	FCALLS_UNWOUND =
		2, /* did not return: longjmp or an exception; it ends where that was seen */
	FCALLS_HEADLESS = 4, /* its entry lies before the first batch that was recorded */
};

struct fcalls_call {
	int64_t begin_ns, end_ns;
	uint64_t self_ns;  /* without the calls that it made directly */
	uint32_t function; /* number */
	uint32_t caller;   /* its function; 0: none */
	uint32_t thread;   /* index: fcalls_thread() */
	uint32_t stack;	   /* of the thread; 0: its own */
	uint32_t depth;	   /* 0: the outermost recorded call */
	uint8_t flags;	   /* FCALLS_OPEN .. */
	bool is_recursive; /* the function is open further out on this stack */
};

/* A selection; a zeroed struct with `range` set reads all. */
struct fcalls_options {
	struct pass_range range; /* calls that overlap it; both ends are included */
	int64_t pid, tid;	 /* as the program sees them; 0: all */
	const char *pattern;	 /* fcalls_is_like(): of rows and trees; NULL: all */
	bool is_without_kernel; /* leave the kernel out: no split of time, but several times as fast */
};

/*
 * fcalls_each - call @on_call for each call, callees before their caller, one thread after another.
 * Open calls come last of their thread.
 *
 * Of @o only range, pid and tid count.  Calls are not cut to the range.  Returns 0, or the result of @on_call
 * returned, or -errno with the reason in @d.
 */
typedef int fcalls_on_call(void *context, const struct fcalls_call *call);
int fcalls_each(struct fcalls *c, const struct fcalls_options *o, fcalls_on_call *on_call,
		void *context, struct diag *d);

/* ---------------------------------------------------------------- the order of time */

enum fcalls_part {
	FCALLS_USER,
	FCALLS_KERNEL,	    /* in system calls and in recorded kernel functions */
	FCALLS_BLOCKED,	    /* from its switch-out until it is woken */
	FCALLS_RUNNABLE,    /* until it runs again; also preempted */
	FCALLS_INTERRUPTED, /* interrupts on its CPU */
	FCALLS_PARTS
};

/* Time by part.  Where the recording does not show the thread's state (before its first event, around
 * a loss, without switches) the time counts as user. */
struct fcalls_split {
	uint64_t ns[FCALLS_PARTS];
};

enum fcalls_kind {
	FCALLS_FUNCTION, /* of a program */
	FCALLS_SYSCALL,
	FCALLS_KERNEL_FUNCTION,
	FCALLS_IRQ,   /* hard and soft interrupts, and vectors */
	FCALLS_WAIT,  /* blocked */
	FCALLS_DELAY, /* runnable or preempted, without a CPU */
	FCALLS_KINDS
};

enum fcalls_is {
	FCALLS_END,
	FCALLS_ENTER,
	FCALLS_LEAVE,
	FCALLS_EVENT, /* every event of the recording but batches */
	FCALLS_LOST,  /* a loss of events: event->lost_events, .. */
};

/*
 * One step of a walk.  ENTER and LEAVE of a stack of a thread are properly nested, whatever the
 * recording holds: spans are cut to the one around them.  Waits and delays lie inside the system call or
 * function that was open; interrupts lie inside all.
 */
struct fcalls_item {
	enum fcalls_is is;
	enum fcalls_kind kind; /* ENTER, LEAVE */
	int64_t time_ns;
	uint32_t thread; /* number in fcalls_walk_pass(w)->threads, as for every analysis */
	uint32_t depth;	 /* spans of the thread around this item, of any kind */
	uint32_t stack; /* FCALLS_FUNCTION: as struct fcalls_call; spans of the kernel belong to the
			    stack that ran last */
	uint32_t id;	/* FUNCTION: number of fcalls_function(); else an index by kind and name */
	const char
		*name; /* ENTER, LEAVE: function, system call, interrupt, "wait", .. ; valid until
			     fcalls_walk_close() */
	uint64_t address; /* KERNEL_FUNCTION */
	int64_t begin_ns; /* ENTER, LEAVE */
	int64_t end_ns;	  /* LEAVE; ENTER of a function: INT64_MAX unless it is known already, as it
			     is for short calls */
	uint8_t flags; /* LEAVE: FCALLS_OPEN, ..; an ENTER of an open call at the beginning of the
			     range has its true begin_ns */
	/* LEAVE */
	uint32_t caller;   /* FUNCTION: the function around it; 0: none */
	bool is_recursive; /* FUNCTION: it is open further out */
	uint64_t self_ns;  /* FUNCTION: without functions called directly; kernel kinds: without the
			     spans inside */
	struct fcalls_split total, self; /* FUNCTION; self: without functions called directly */
	/* LEAVE of WAIT: why, as `duet report why` names it; "" if unknown, e.g. "futex 0x55d0",
	 * "read fd 7", "page fault"; waker: number of the thread that ended it, 0: none; cause: the
	 * interrupt or device that did, "" if a thread did.  Valid until the next item. */
	const char *why, *cause;
	uint32_t waker;
	/* the event itself, or the one that made this span begin or end; NULL for calls of
	 * programs.  Valid until the next item. */
	const struct trace_event *event;
	bool is_span; /* EVENT: ENTER or LEAVE items that it made follow, of any thread */
};

struct fcalls_walk;

/*
 * fcalls_walk_open - begin to read @c in the order of time.
 *
 * @o: copied.  `pattern` is ignored.  pid and tid restrict calls of programs and spans; events of
 * others still come as FCALLS_EVENT.
 *
 * Calls that are open where the range begins are entered first, with time_ns at its beginning;
 * spans open at its end are left last, with FCALLS_OPEN.
 */
int fcalls_walk_open(struct fcalls_walk **w, struct fcalls *c, const struct fcalls_options *o,
		     struct diag *d);
void fcalls_walk_close(struct fcalls_walk *w); /* accepts NULL */

/* fcalls_walk_next - the next item: the result is item->is; or -errno with the reason in @d. */
int fcalls_walk_next(struct fcalls_walk *w, struct fcalls_item *item, struct diag *d);

/* The pass under the walk: threads and their names, counts, losses. */
struct pass *fcalls_walk_pass(struct fcalls_walk *w);

/* fcalls_walk_inside - the innermost open function of a program on thread @thread now: its number;
 * 0: none.  For events: the function around them. */
uint32_t fcalls_walk_inside(const struct fcalls_walk *w, uint32_t thread);

/* ---------------------------------------------------------------- losses, for display */

struct fcalls_losses {
	uint64_t lost_batches, lost_calls, n_torn, n_damaged;
	uint64_t n_misnested; /* calls that reached beyond their caller */
	uint64_t
		n_crossings; /* kernel spans that did not nest with functions of their thread; 0 in a
				 sound recording */
	/* a thread ran, but the kernel had reported no switch to it: ftrace misses some when a
	 * thread changes its CPU; the time counts as runnable up to its next call or return */
	uint64_t n_unseen_switches;
	uint32_t n_without_file; /* processes whose calls file is missing or damaged */
	uint32_t n_without_plan; /* objects without a plan that fits */
};
/* fcalls_losses - as known now: complete after all was read once. */
void fcalls_losses(const struct fcalls *c, struct fcalls_losses *l);

/* ---------------------------------------------------------------- sums by path */

struct fcalls_node {
	uint32_t parent;      /* index; 0 is the root */
	uint32_t child, next; /* first child, next sibling; 0: none.  Most total time first */
	enum fcalls_kind kind;
	uint32_t id;	  /* as in struct fcalls_item */
	const char *name; /* valid until fcalls_tree_close() */
	uint64_t calls;
	uint64_t n_open;	    /* of them had not returned */
	uint64_t total_ns, self_ns; /* self: without child nodes */
	uint64_t min_ns, max_ns;
	struct fcalls_split total,
		self; /* FUNCTION; self without called functions; not from profiles */
};

struct fcalls_tree {
	struct fcalls_node *at; /* 0 is the root */
	uint32_t n;
	bool has_split;
	bool is_estimated; /* times of profile mode: counts are exact, times are scaled samples */
	uint64_t n_beyond; /* calls on paths beyond FCALLS_NODES_MAX; they count for their caller */
	struct fcalls_losses losses;
};
enum { FCALLS_NODES_MAX = 1 << 19 };

/*
 * fcalls_tree_open - sum all calls of @o by path.
 *
 * With `pattern`, paths begin at functions that match, also of the kernel, and at system calls of that
 * name: the callees of a function.  Nodes of a
 * profile (duet record --graph-mode profile) are part of it.  With the kernel, system calls, kernel
 * functions, interrupts, waits and delays are nodes below functions.
 * Returns 0 or -errno with the reason in @d.
 */
int fcalls_tree_open(struct fcalls_tree **tree, struct fcalls *c, const struct fcalls_options *o,
		     struct diag *d);
/* fcalls_tree_callers - the same upside down: each function that matches `pattern` is a child of the
 * root, its callers are below it.  Made from @from, which stays. */
int fcalls_tree_callers(struct fcalls_tree **tree, const struct fcalls_tree *from,
			const struct fcalls *c, const char *pattern, struct diag *d);
void fcalls_tree_close(struct fcalls_tree *tree); /* accepts NULL */

/* ---------------------------------------------------------------- sums by function */

struct fcalls_row {
	uint32_t function;
	uint64_t calls, n_open, n_unwound;
	uint64_t total_ns; /* of a recursive function only the outermost call counts */
	uint64_t self_ns;
	struct fcalls_split total, self; /* zero unless has_split */
	struct spread time;    /* durations of calls that returned: min, max, percentiles; empty if
				estimated */
	uint64_t hook_ns_x256; /* cost of recording one call; 0: unknown */
};

struct fcalls_edge {
	uint32_t caller, callee; /* functions; caller 0: none */
	uint64_t calls, total_ns;
};

struct fcalls_report {
	struct pass run; /* threads, counts and losses of the recording */
	struct fcalls *calls;
	struct fcalls_row *rows; /* most self time first */
	uint32_t n_rows;
	struct fcalls_edge *edges; /* most total time first */
	uint32_t n_edges;
	struct slowest slowest; /* subject: function; thread: number in run.threads */
	uint64_t n_calls;
	bool has_split;
	bool is_estimated; /* some rows come from a profile */
	struct fcalls_losses losses;
};

/* fcalls_report_open - sum the calls of @c by function.  @n_slowest: the longest calls to keep. */
int fcalls_report_open(struct fcalls_report *r, struct fcalls *c, const struct fcalls_options *o,
		       uint32_t n_slowest, struct diag *d);
void fcalls_report_close(struct fcalls_report *r);

/* fcalls_is_hook_heavy - whether recording costs more than 30 % of the row's mean duration. */
bool fcalls_is_hook_heavy(const struct fcalls_row *row);

#endif
