/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/internal.h - what the files of calls.h share:
 *
 *   files.c      calls files and plans of the recording, checked
 *   functions.c  numbers of functions, one for each function of a file
 *   processes.c  whose batches: calls files by pid and time
 *   index.c      where each batch lies; its thread
 *   batch.c      one batch as calls, with times and self times
 *   resolve.c    their callers
 *   pipe.c       batches passed from one thread to another
 *   each.c       all batches, one thread after another
 *   edges.c      a batch as entries and exits in the order of time
 *   walk.c       entries, exits and events in the order of time; spans.c: open spans of a thread;
 *                kernel.c: spans of the kernel
 *   tree.c, report.c  sums
 */
#ifndef ANALYSIS_CALLS_INTERNAL_H
#define ANALYSIS_CALLS_INTERNAL_H

#include "abi/calls.h"
#include "analysis/calls/calls.h"
#include "analysis/calls/files.h"
#include "trace/stream/stream.h"

/* Limits against hostile input. */
enum {
	FCALLS_DEPTH_MAX = 1 << 18,
	FCALLS_STACKS_MAX = 4096, /* of a thread */
	FCALLS_BATCH_BYTES_MAX = 64 << 10,
};

/* ---------------------------------------------------------------- batches */

/* One batch of the index. */
struct batch_ref {
	const uint8_t *bytes;  /* its records, in a stream's map or in a calls file */
	uint64_t offset;       /* of the bytes in the stream's file */
	struct stream *stream; /* NULL: in a calls file */
	uint32_t n_bytes;
	uint32_t sequence, lost, flags;
	uint32_t process, thread;
	int64_t pid, tid; /* as the process sees them */
	int64_t base_ns;  /* from the Epoch */
	int64_t event_ns; /* of the event; of an unfinished batch: INT64_MAX */
	uint64_t mult;
};

/* A call that has not returned. */
struct batch_frame {
	int64_t begin_ns;
	uint32_t function; /* of the process */
	bool is_new;	   /* it was entered in this batch */
	bool is_sure;	   /* the calls file has it: it was open to the end */
};

/* One stack of a thread. */
struct batch_lane {
	uint32_t stack;
	uint32_t n_open, n_rooms;
	struct batch_frame *open;
	uint64_t *inner_ns; /* by depth: time of ended calls under an open caller */
	uint32_t n_inner, n_inner_rooms;
	uint32_t last; /* its last call in the block, plus 1 */
};

struct block_call {
	int64_t begin_ns, end_ns;
	uint64_t self_ns;
	uint32_t function; /* of the process; after block_resolve: number of fcalls_function() */
	uint32_t caller;
	uint32_t depth;
	uint32_t lane;
	uint32_t before; /* the call before it on its lane, plus 1 */
	uint8_t flags;
	bool is_recursive;
	bool was_open; /* it was open when the batch began */
};

/* A batch as calls, in the order of exits. */
struct block {
	struct block_call *calls;
	uint32_t n, n_rooms;
	/* open calls that ended unseen, in a lost batch: before all others */
	struct block_call *cuts;
	uint32_t n_cuts, n_cut_rooms;
	int64_t base_ns, end_ns;  /* the base; the last exit */
	struct batch_frame *path; /* scratch of block_resolve */
	uint32_t n_path_rooms;
	uint32_t *active; /* scratch, by function of the process: how often it is open */
	uint32_t n_active;
	uint64_t n_lost;
	bool is_torn, is_damaged;
	uint32_t n_misnested;
};

/* The state of a thread between its batches. */
struct batch_thread {
	struct batch_lane *lanes;
	uint32_t n_lanes, n_lane_rooms;
	uint32_t lane; /* the last used */
	int64_t last_ns;
};

void batch_thread_fini(struct batch_thread *t);
void block_fini(struct block *b);

/*
 * block_decode - decode batch @ref after the batches of @t before it.
 *
 * @is_gap: batches between are lost: open calls may have ended there.
 * Returns 0 or -ENOMEM.  Damage ends the batch and is noted in @b.
 */
int block_decode(struct block *b, struct batch_thread *t, const struct batch_ref *ref, bool is_gap);
/* block_resolve - set callers, recursion, and numbers of functions. */
int block_resolve(struct block *b, const struct batch_thread *t, struct fcalls *c,
		  uint32_t process);
/* block_cut_all - make calls with FCALLS_OPEN, which end at @end_ns, of all that is open on lane
 * @lane. */
int block_cut_all(struct block *b, struct batch_thread *t, uint32_t lane, int64_t end_ns);
/* block_overlaps - whether the call lies in the range of @o, at least partly. */
static inline bool block_overlaps(const struct block_call *call, const struct fcalls_options *o)
{
	return call->end_ns >= o->range.from_ns && call->begin_ns <= o->range.to_ns;
}
/* batch_open - @function was entered at @begin_ns at @depth, and has not returned. */
int batch_open(struct batch_lane *lane, uint32_t depth, uint32_t function, int64_t begin_ns,
	       bool is_sure);
/* batch_lane_of - the lane of @stack, made if it is new; NULL: no memory, or too many. */
struct batch_lane *batch_lane_of(struct batch_thread *t, uint32_t stack);

/* ---------------------------------------------------------------- the recording */

struct process {
	struct fcalls_process public;
	char program[64];
	const struct trace_source *source;
	int64_t epoch_ns; /* added to times of the session's clock */
	struct calls_file *file;
	uint32_t *numbers; /* of functions, by the process's number; 0: not asked yet */
	uint32_t n_numbers;
};

struct thread_ref {
	struct fcalls_thread public;
	uint32_t first, n;		     /* its batches in `refs`, by sequence */
	const struct abi_calls_thread *area; /* newest; NULL: none that fits */
	bool is_last;			     /* a batch said that the thread ended */
	int64_t end_ns;			     /* the latest time known */
};

/* A text that lives as long as the recording is open. */
struct kept_text {
	struct kept_text *next;
	char text[];
};

struct fcalls {
	struct trace *trace;
	struct trace **parts; /* streams with batches, for their bytes */
	uint32_t n_parts, n_part_rooms;
	bool *is_batch;	 /* by class */
	bool *has_batch; /* by class: its channel has batches */
	uint32_t n_classes;
	bool has_kernel;
	int64_t end_ns; /* of the recording */
	struct calls_files files;
	struct process *processes;
	uint32_t n_processes, n_process_rooms;
	struct thread_ref *threads;
	uint32_t n_threads, n_thread_rooms;
	struct batch_ref *refs; /* by thread, then sequence */
	uint32_t n_refs, n_ref_rooms;
	struct fcalls_function **functions; /* from 1; pointers stay valid */
	uint32_t n_functions, n_function_rooms;
	uint32_t *by_key; /* hash of functions by file and address; plus 1 */
	uint32_t n_by_key;
	struct kept_text *kept;
	struct fcalls_losses losses;
	bool has_losses; /* all was read once: do not count again */
};

/* functions.c */
/* fcalls_keep - a copy of @text that lives as long as @c; "" without memory. */
const char *fcalls_keep(struct fcalls *c, const char *text);
/* fcalls_number - the number of function @function of process @process; 0 if it has none. */
uint32_t fcalls_number_of(struct fcalls *c, uint32_t process, uint32_t function);
static inline uint32_t fcalls_number(struct fcalls *c, uint32_t process, uint32_t function)
{
	const struct process *p = &c->processes[process];

	if (function < p->n_numbers && p->numbers[function])
		return p->numbers[function];
	return fcalls_number_of(c, process, function);
}
void functions_fini(struct fcalls *c);

/* processes.c: find calls files and plans; set the process of @ref, which is the number of its source.
 * 0 or -ENOMEM. */
int processes_find(struct fcalls *c);
int processes_set(struct fcalls *c, struct batch_ref *ref);

/* index.c */
/* batch_bytes - make the bytes of @ref readable; batch_release - they are not needed now. */
bool batch_bytes(struct batch_ref *ref);
void batch_release(const struct batch_ref *ref);

/* each.c */

/* Receives each batch in turn, resolved. */
struct each {
	struct fcalls *c;
	const struct fcalls_options *o;
	int (*on_block)(void *context, struct each *e);
	void *context;
	uint32_t thread;
	struct batch_thread state;
	struct block block;
};
int each_block(struct each *e, struct diag *d);
/* block_next - decode batch @i of @thread. */
int block_next(struct fcalls *c, uint32_t thread, uint32_t i, struct batch_thread *state,
	       struct block *block);
/* block_count - add what the block lost to the losses. */
void block_count(struct fcalls *c, uint32_t thread, const struct block *b);
/* thread_is_wanted - by pid and tid of @o. */
bool thread_is_wanted(const struct fcalls *c, uint32_t thread, const struct fcalls_options *o);
/* thread_begin - the open calls that are known before the first batch of @thread. */
int thread_begin(struct fcalls *c, uint32_t thread, struct batch_thread *state);
/* thread_end - the calls that are open after its last batch, from the calls file. */
int thread_end(struct fcalls *c, uint32_t thread, struct batch_thread *state);
/* thread_end_ns - the time up to which open calls of @thread are counted. */
int64_t thread_end_ns(const struct fcalls *c, uint32_t thread);

/* ---------------------------------------------------------------- profiles */

/* each_node - call @on_node for each node of a profile; node 0 is the root. */
typedef int each_node_fn(void *context, uint32_t process, const struct abi_calls_path *nodes,
			 uint32_t i);
int each_node(struct fcalls *c, const struct fcalls_options *o, each_node_fn *on_node,
	      void *context);
/* profile_parent - the index of a node's parent, less than @i. */
uint32_t profile_parent(const struct abi_calls_path *nodes, uint32_t i);
/* profile_ns - all calls of the node, estimated from those with a time. */
uint64_t profile_ns(const struct fcalls *c, uint32_t process, const struct abi_calls_path *node);

/* ---------------------------------------------------------------- walks */

/* walk_thread_number - the number in @threads of thread @thread; or -ENOMEM. */
int64_t walk_thread_number(const struct fcalls *c, struct threads *threads, uint32_t thread);
/* walk_take_pass - move the pass of a walk that is over to @to. */
void walk_take_pass(struct fcalls_walk *w, struct pass *to);

#endif
