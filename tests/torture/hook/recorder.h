/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/hook/recorder.h - hooks and batches as libduet has them, in this program: its
 * functions marked CALLED are patched, its batches kept, and decoded by a decoder of our own.
 */
#ifndef TESTS_CALLS_RECORDER_H
#define TESTS_CALLS_RECORDER_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/calls/hook/hook.h"
#include "test.h"

/* Calls of such a function are recorded. */
#define CALLED __attribute__((noinline, patchable_function_entry(5)))

enum { MOST_BATCHES = 1 << 16, MOST_BATCH_BYTES = 8192 };

/* A batch that was sent, unchanged. */
struct sent {
	uint32_t tid;
	uint32_t n_bytes; /* header included */
	uint8_t *bytes;
};

extern struct sent *recorder_sent;
extern uint32_t *recorder_sent_number;
/* Events duet_calls:slow. */
extern uint32_t recorder_n_slow;

/* recorder_share - make the memory of the recorder, so that children of fork may open it. */
void recorder_share(void);

/* recorder_open - patch all functions marked CALLED, and record them.  Ends the program if it
 * cannot. */
void recorder_open(uint32_t mode);
/* recorder_configure - for a plan with other settings than the mode. */
void recorder_configure(const struct abi_plan *plan);
/* recorder_number - the number of the function at @function. */
uint32_t recorder_number(const void *function);
/* recorder_flags - flags of its site, before recorder_open. */
void recorder_flags(const void *function, uint32_t flags);
/* recorder_clear - forget all batches that were sent. */
void recorder_clear(void);
/* recorder_flush - send this thread's batch. */
void recorder_flush(void);
/* recorder_flush_number - the number of a function that recorder_flush calls. */
uint32_t recorder_flush_number(void);
/* recorder_unpatched - how often the governor asked, of the function. */
uint32_t recorder_unpatched(uint32_t function);
/* recorder_area - this thread's. */
struct abi_calls_thread *recorder_area(void);

/* A decoded record. */
struct call {
	uint64_t entry, exit; /* quanta */
	uint32_t function, depth, stack;
	bool is_unwound;
	bool is_open;
	bool is_announced; /* open at the end of a batch */
};

struct decoded {
	struct call *calls;
	uint64_t n, room;
	uint64_t lost;
	uint32_t stack;
	uint32_t next_sequence;
	bool has_sequence;
	bool is_torn;
	bool is_wrong; /* not as docs/formats/calls.md says */
};

/* decode_batch - append the calls of a batch: @n bytes of records. */
void decode_batch(struct decoded *d, const struct abi_calls_batch_header *h, const uint8_t *bytes,
		  uint32_t n);
/* decode_sent - append the calls of all batches of the thread. */
void decode_sent(struct decoded *d, uint32_t tid);
/* decode_file - sent batches, then the unfinished batch and the open calls of the area. */
void decode_file(struct decoded *d, const struct abi_calls_thread *area);
void decoded_free(struct decoded *d);
/* decoded_number - how many calls of @function: open, unwound or neither. */
uint64_t decoded_number(const struct decoded *d, uint32_t function, bool is_open, bool is_unwound);
/* decoded_is_nested - whether calls on each stack lie within their callers, and end in order. */
bool decoded_is_nested(const struct decoded *d);

#endif
