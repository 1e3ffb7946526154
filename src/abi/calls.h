/* SPDX-License-Identifier: MIT */
/*
 * abi/calls.h - the calls of one program: what it keeps in shared memory, and one batch of them.
 *
 * A program that records calls makes the file
 *
 *   $RUNTIME/calls-<pid>-<proc>      0600; pid and proc as in the name of its control page
 *
 * and maps it shared.  Everybody else uses pread and pwrite.  Like a control page it is locked as
 * long as a mapping of it lives (F_OFD_SETLK, F_WRLCK of the whole file): that shows whether it is
 * in use.  If a file of that name exists - exec, or a pid that is used again - the program renames it
 * to calls-<pid>-<proc>.<registered_ns of that file>: the collector keeps it.
 *
 *   0                        struct abi_calls
 *   ABI_CALLS_OBJECTS_AT     struct abi_calls_object[ABI_CALLS_OBJECTS]
 *   ABI_CALLS_FUNCTIONS_AT   struct abi_calls_function[ABI_CALLS_FUNCTIONS], by number
 *   ABI_CALLS_THREADS_AT     struct abi_calls_thread[n_threads], ABI_CALLS_THREAD_BYTES each
 *
 * The file is sparse: pages that were never written cost nothing.
 *
 * A thread collects its calls in one of its two batches.  A full batch becomes one event
 * duet_calls:batch of the session (payload: struct abi_calls_batch_header, then u8[] calls).  When
 * the program has ended, at stop, snapshot and rotation the collector copies the file as it is to
 * DIR/.duet/calls/; the reader takes the objects, unfinished batches and open frames from there.
 *
 *   (1) each call is in one batch, once; a batch that was recorded as an event has a sequence below
 *       `sequence` of its thread
 *   (2) frames[0..depth) are the calls that have not returned, outermost first; each was complete
 *       before depth counted it
 *   (3) the bytes of a batch below its position are whole records, or zeros where a thread was
 *       killed between reservation and store
 *
 * Bytes of a batch: docs/formats/calls.md.
 */
#ifndef ABI_CALLS_H
#define ABI_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/clock.h"
#include "abi/plan.h"

#define ABI_CALLS_MAGIC 0x736c6c6163746575ull /* "uetcalls" */
#define ABI_CALLS_VERSION 1u

enum {
	ABI_CALLS_OBJECTS = 1024,
	ABI_CALLS_FUNCTIONS = 1 << 18, /* numbers 1 .. ABI_CALLS_FUNCTIONS - 1 */
	ABI_CALLS_OBJECT_PATH = 192,
	ABI_CALLS_FRAMES = 2048,      /* deeper calls are recorded, but not recovered when open */
	ABI_CALLS_BATCH_BYTES = 8192, /* header included */
	ABI_CALLS_PATHS = 4096,	      /* nodes of a thread's profile */
	ABI_CALLS_THREADS = 4096,
	ABI_CALLS_THREAD_BYTES = 256 << 10,
};

struct abi_calls {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;	     /* as the program sees itself */
	uint64_t epoch;	     /* of the session that has the program's calls; 0: none */
	uint64_t generation; /* of the plans applied last */
	uint64_t wanted;     /* generation that the program should apply: the collector writes it */
	struct abi_clock clock;
	uint32_t shift; /* a quantum is 1 << shift ticks */
	uint32_t mode;	/* enum abi_calls_mode */
	uint64_t threshold_ns;
	uint32_t n_objects;
	uint32_t n_functions; /* numbers below it are given out */
	uint32_t n_threads;
	uint32_t hook_ticks; /* of one call with entry and exit, measured at the start, << 8 */
	uint64_t lost;	     /* calls of threads without an area */
	uint64_t registered_ns;
	char session[64];
	char program[64];
	uint32_t collect; /* the collector writes here: 1 stops all recording of calls */
	uint32_t pad;
};

enum { ABI_OBJECT_LOADED = 1, ABI_OBJECT_UNLOADED = 2 };

struct abi_calls_object {
	uint64_t bias;	      /* added to addresses of the file */
	uint64_t loaded_ns;   /* the session's clock */
	uint64_t unloaded_ns; /* 0: it is loaded */
	uint64_t generation;  /* of its plan; a file whose plan changes gets a new object */
	uint32_t first;	      /* number of its first function; site i of the plan is first + i */
	uint32_t n_sites;
	uint32_t n_patched;
	uint32_t n_refused; /* bytes were not the expected ones, no memory near, .. */
	uint32_t state;	    /* ABI_OBJECT_... */
	uint32_t build_id_bytes;
	uint8_t build_id[ABI_BUILD_ID_BYTES];
	char path[ABI_CALLS_OBJECT_PATH - 12];
};
_Static_assert(sizeof(struct abi_calls_object) == 256, "layout both sides agree on");

enum abi_function_state {
	ABI_FUNCTION_OFF = 0,	  /* not patched */
	ABI_FUNCTION_ON = 1,	  /* patched */
	ABI_FUNCTION_ELIDED = 2,  /* by the governor, after `calls` calls */
	ABI_FUNCTION_REFUSED = 3, /* could not be patched */
	ABI_FUNCTION_KEPT = 4,	  /* patched; the governor has decided */
	ABI_FUNCTION_WAITS = 5,	  /* to be patched when all threads are stopped: duet attaches */
};

/* Sums of the governor.  Threads add without a lock, so a sum may miss some of a race.  A long call
 * counts for the time of 16 short ones at most; a function that is kept begins anew. */
struct abi_calls_function {
	uint32_t state;	 /* enum abi_function_state */
	uint32_t calls;	 /* while it was patched and governed */
	uint64_t quanta; /* their durations */
};

struct abi_calls_frame {
	uint64_t ticks; /* entry */
	uint32_t function;
	uint32_t announced; /* 1: a batch has an open record of it */
};

/* The head of a batch, and of the payload of the event duet_calls:batch:
 * "u32 sequence u32 lost u64 base_ns u64 mult u32 shift u32 flags u8[] calls". */
struct abi_calls_batch_header {
	uint32_t sequence; /* of this thread, from 0 */
	uint32_t lost;	   /* calls of this thread since the batch before that are in no batch */
	uint64_t base_ns;  /* time of the base, the session's clock */
	uint64_t mult;	   /* a quantum is mult / 2^32 ns long */
	uint32_t shift;	   /* ticks in a quantum: 1 << shift */
	uint32_t flags;	   /* ABI_BATCH_... */
	uint32_t n_bytes;  /* of the records that follow */
} __attribute__((packed));
_Static_assert(sizeof(struct abi_calls_batch_header) == 36, "layout both sides agree on");

#define ABI_BATCH_LAST 1u    /* the thread or program ends */
#define ABI_BATCH_PROFILE 2u /* records are nodes of a profile, not calls */

struct abi_calls_batch {
	uint64_t base_ticks;
	/* (quanta to the last exit) << 16 | bytes used after `header`; the quanta begin with any
	 * number, which stands for the base */
	uint64_t word;
	struct abi_calls_batch_header header;
	uint8_t bytes[ABI_CALLS_BATCH_BYTES - 16 - sizeof(struct abi_calls_batch_header)];
};
_Static_assert(sizeof(struct abi_calls_batch) == ABI_CALLS_BATCH_BYTES, "the header included");

/* A node of a thread's profile: a function under a path of callers. */
struct abi_calls_path {
	uint32_t parent; /* index; 0 is the root, which has no function */
	uint32_t function;
	uint64_t calls;
	uint64_t sampled; /* calls with a time */
	uint64_t quanta;  /* their durations */
	uint32_t next;	  /* in its bucket; the program's own */
	uint32_t pad;
};

struct abi_calls_thread {
	uint32_t tid; /* 0: free */
	uint32_t state;
	uint32_t depth;
	uint32_t current;  /* the batch in use: 0 or 1 */
	uint32_t sequence; /* of the batch in use */
	uint32_t n_paths;
	uint64_t lost;
	uint64_t limit; /* bytes after which a batch is full; the collector writes 0 to ask for it
			   now */
	uint8_t pad[4096 - 48];
	struct abi_calls_batch batches[2];
	struct abi_calls_frame frames[ABI_CALLS_FRAMES];
	struct abi_calls_path paths[ABI_CALLS_PATHS];
};
_Static_assert(sizeof(struct abi_calls_thread) <= ABI_CALLS_THREAD_BYTES, "an area has room");

#define ABI_CALLS_OBJECTS_AT 4096u
#define ABI_CALLS_FUNCTIONS_AT                                                                     \
	(ABI_CALLS_OBJECTS_AT + ABI_CALLS_OBJECTS * (uint32_t)sizeof(struct abi_calls_object))
#define ABI_CALLS_THREADS_AT                                                                       \
	(ABI_CALLS_FUNCTIONS_AT + ABI_CALLS_FUNCTIONS * (uint32_t)sizeof(struct abi_calls_function))
_Static_assert(sizeof(struct abi_calls) <= 4096 && sizeof(struct abi_calls_function) == 16 &&
		       ABI_CALLS_THREADS_AT % 4096 == 0,
	       "layout both sides agree on");

/* Records of a batch: three or four LEB128 numbers: quanta from the exit before (the base for the
 * first) to this exit; duration in quanta; function << 2 | how; for ABI_CALL_DEPTH the depth. */
enum abi_call_how {
	ABI_CALL_SAME = 0,   /* the depth of the call before */
	ABI_CALL_PARENT = 1, /* one less */
	ABI_CALL_CHILD = 2,  /* one more */
	ABI_CALL_DEPTH = 3,  /* stated; always so in the first record */
};

/*
 * Records with function 0: delta and duration are 0, `how` names the kind.  A kind of 0 is a torn
 * record: nothing behind it is valid.
 */
enum abi_calls_note {
	ABI_NOTE_OPEN = 1,  /* function, depth, zigzag(quanta from its entry to the last exit): a
			       call that had not returned when the batch ended */
	ABI_NOTE_OTHER = 2, /* a number of enum abi_calls_other, and its value */
};

enum abi_calls_other {
	ABI_OTHER_LOST = 1,    /* calls lost here */
	ABI_OTHER_UNWOUND = 2, /* 0: the next record's call did not return; its end is the time at
				  which that was noticed */
	ABI_OTHER_STACK = 3,   /* records from here on are calls on this stack of the thread; 0: its
				  own; each batch begins with 0 */
};

#endif
