/* SPDX-License-Identifier: MIT */
/*
 * abi/pool.h - a channel's part of the memory that traced programs and their collector share.
 *
 *   page 0          struct abi_pool
 *   4096            struct abi_slot[n_slots]      one per CPU, then some for writers without one
 *   ..              uint64_t state[n_chunks]
 *   ..              struct abi_schema[ABI_SCHEMAS], then their text
 *   chunk-aligned   chunk[n_chunks], each a struct abi_chunk and events
 *
 * The collector creates it together with the other channels of its session (abi/session.h).  All
 * programs of one user write; none is trusted.  Each party copies the constants of page 0 once,
 * checks them, and bounds every value that it reads later by these copies.
 *
 * The states of a chunk, and the party that changes them:
 *
 *   FREE  -> BUSY   a writer, by compare-and-swap; the state word names it as owner
 *   FULL  -> BUSY   the same, flight recorder only, oldest first
 *   BUSY  -> OWNED  its owner, when the chunk's header is valid
 *   OWNED -> FULL   the writer that replaced it in its slot; on the exclusive path its holder; the
 *                   collector for either, if that one died first
 *   OWNED -> FREE   the collector: read to the end and replaced; or never used, its owner dead
 *   FULL  -> FREE   the collector: read to the end
 *   BUSY  -> FREE   its owner, unused; the collector if the owner is dead
 *
 * A chunk without memory is BUSY with the collector as its owner (collect/memory/memory.h).
 *
 * Below the published position of an OWNED or FULL chunk all bytes are whole events.
 */
#ifndef ABI_POOL_H
#define ABI_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/clock.h"

#define ABI_POOL_MAGIC 0x6c6f6f7074657564ull /* "duetpool" */
#define ABI_POOL_VERSION 3u
/* flags: overwrite the oldest chunk instead of losing events; events have no vpid and vtid; events may
 * have the time of the one before (ring/write_coarse.h) */
#define ABI_POOL_FLIGHT_RECORDER 1u
#define ABI_POOL_WITHOUT_IDS 2u
#define ABI_POOL_COARSE 4u

enum {
	ABI_SCHEMAS = 4096,
	ABI_SCHEMA_TEXT_BYTES = 512 << 10,
	ABI_SCHEMA_MAX_BYTES = 8192,
	ABI_EXCLUSIVE_PLACES = 4,
	ABI_UNKNOWN_CPU_SLOTS = 16,
	ABI_CHUNK_SHIFT_MIN = 12,
	ABI_CHUNK_SHIFT_MAX = 20,
	ABI_CHUNKS_MAX = 1 << 20,
	ABI_CPUS_MAX = 1 << 13,
	ABI_BLOCK_TIMEOUT_MAX_US = 60000000,
};
#define ABI_CPU_UNKNOWN UINT32_MAX

/*
 * How a session's clock drifts from CLOCK_MONOTONIC, for programs that may not read its counter.  Knot
 * @n - 1 is the newest; knot i lies at i % ABI_DRIFT_KNOTS.  From knot i on the clock less CLOCK_MONOTONIC
 * goes from the offset of the knot before to its own, in ABI_DRIFT_RAMP_NS, and stays there.  Two knots are
 * at least that far apart.
 */
enum { ABI_DRIFT_KNOTS = 8, ABI_DRIFT_RAMP_NS = 200000000 };

struct abi_drift_knot {
	uint64_t from_ns; /* CLOCK_MONOTONIC */
	uint64_t offset_ns;
};

struct abi_drift {
	uint64_t n;
	struct abi_drift_knot knots[ABI_DRIFT_KNOTS];
};

/* A hint for writers: no chunk was free; and a writer has waited for one until its timeout. */
enum { ABI_POOL_EXHAUSTED = 1, ABI_POOL_GIVEN_UP = 2 };

struct abi_pool {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint64_t size;	      /* bytes, whole mapping */
	uint32_t n_chunks;    /* a power of two */
	uint32_t chunk_shift; /* log2 of the bytes of a chunk */
	uint32_t n_cpus;      /* slot i < n_cpus belongs to CPU i */
	uint32_t n_slots;
	struct abi_clock clock;
	uint32_t block_timeout_us; /* the longest wait of a writer for a free chunk; 0: it does
				      not wait */
	/* Coarse pools: when the collector looked last, and the longest time between two looks.  Only
	 * shown: programs can write here. */
	uint64_t coarse_looked_ns, coarse_worst_ns;
	/* Programs write the members from here on. */
	uint64_t order __attribute__((aligned(64))); /* counts closed chunks: the age of each */
	uint32_t exhausted; /* ABI_POOL_EXHAUSTED...; the collector clears it after it freed
			       chunks */
	uint32_t waited;    /* events that had to wait for a chunk */
	uint32_t n_schemas
		__attribute__((aligned(64))); /* given out; each is valid once its size is set */
	uint32_t text_used;
	/* Only the collector has reason to write it; 0 knots in pools of older ones. */
	struct abi_drift drift __attribute__((aligned(64)));
};
_Static_assert(sizeof(struct abi_pool) <= 4096, "page 0");

/* The places of one CPU: two cache lines, so that CPUs do not share a line. */
struct abi_slot {
	uint64_t chunk; /* rseq path: ABI_CHUNK_REF of the open chunk, or 0 */
	uint64_t exclusive[ABI_EXCLUSIVE_PLACES]; /* exclusive path: ABI_PLACE of open chunks, or
						     0 */
	uint64_t lost;				  /* events refused here since the start */
	/* The chunk where a search begins: the first on the CPU's memory node.  The collector sets it before
	 * programs see the pool; a program that changes it costs others locality alone. */
	uint32_t first;
	uint32_t pad0;
	uint64_t too_large; /* part of lost: events larger than a chunk */
	uint64_t pad[8];
};
_Static_assert(sizeof(struct abi_slot) == 128, "the write path scales by it");
_Static_assert(
	offsetof(struct abi_slot, too_large) == 56,
	"`first` took padding, which is 0 in the pools of older collectors: version 3 remains");
_Static_assert(offsetof(struct abi_pool, order) == 128,
	       "a new member took padding: version 3 remains");

_Static_assert(ABI_CHUNKS_MAX <= 1ull << (40 - ABI_CHUNK_SHIFT_MAX), "a reference has 40 bits");

/* A reference to a chunk: its byte offset from the first chunk, bit 0 set. */
#define ABI_CHUNK_REF(offset) ((uint64_t)(offset) | 1)

/*
 * A place of the exclusive path: a reference and, above it, the holder that writes into the chunk
 * now.  The holder is a host pid, ABI_HOLDER_UNKNOWN if the writer has none here, or 0 for none.
 * While a chunk is in a place, the place names its holder; at other times its state word does.
 */
#define ABI_PLACE(ref, holder) ((uint64_t)(holder) << 40 | (ref))
#define ABI_PLACE_REF(place) ((place) & ((1ull << 40) - 1))
#define ABI_HOLDER_OF(place) ((uint32_t)((place) >> 40))
#define ABI_HOLDER_UNKNOWN 0xffffffu /* Linux's pids end at 2^22 */

/* State word: 2 bits state, 32 bits owner (host pid), 30 bits order of closing. */
enum abi_chunk_state { ABI_FREE = 0, ABI_BUSY = 1, ABI_OWNED = 2, ABI_FULL = 3 };
#define ABI_STATE(order, owner, state)                                                             \
	((uint64_t)(order) << 34 | (uint64_t)(uint32_t)(owner) << 2 | (uint64_t)(state))
#define ABI_STATE_OF(word) ((enum abi_chunk_state)((word)&3))
#define ABI_OWNER_OF(word) ((uint32_t)((word) >> 2))
#define ABI_ORDER_OF(word) ((word) >> 34)

/*
 * The commit word: 24 bits of published bytes, this header included; 40 bits of the timestamp of
 * the last event, in nanoseconds since begin_ns.  One store of it publishes an event.
 */
#define ABI_POS_BITS 24
#define ABI_POS_OF(w) ((uint32_t)((w) & ((1u << ABI_POS_BITS) - 1)))
#define ABI_SINCE_OF(w) ((w) >> ABI_POS_BITS)
#define ABI_WORD(since_ns, pos) ((uint64_t)(since_ns) << ABI_POS_BITS | (pos))
_Static_assert(ABI_CHUNK_SHIFT_MAX < ABI_POS_BITS, "a position reaches a chunk's end");
#define ABI_SINCE_MAX (1ull << (64 - ABI_POS_BITS)) /* 18 minutes: an older chunk is replaced */

struct abi_chunk {
	uint64_t word;
	uint64_t begin_ns;
	uint64_t sequence; /* rseq path: the chunk's number in its CPU's stream */
	uint32_t cpu;	   /* of all its events; or ABI_CPU_UNKNOWN */
	uint32_t path;	   /* ABI_PATH_... */
	/*
	 * Coarse pools: an event that begins below coarse_end may take the time of the one before it.
	 * The last event that read the clock began at coarse_begin.  The collector sets coarse_end to 0
	 * as well.
	 */
	uint32_t coarse_begin, coarse_end;
	uint64_t pad[3];
	/* The collector's members, on a cache line of their own. */
	uint64_t read;	  /* bytes already in the file */
	uint64_t cut_ns;  /* timestamp of the last event in the file */
	uint64_t pending; /* bytes in the file once the current write is done; 0: there is none */
	uint64_t pad2[5];
};
_Static_assert(sizeof(struct abi_chunk) == 128, "layout both sides agree on");
enum { ABI_PATH_RSEQ = 1, ABI_PATH_EXCLUSIVE = 2 };

/* An event class that a program registered: "LEVEL CHANNEL:NAME TYPE FIELD TYPE FIELD ...". */
struct abi_schema {
	uint32_t offset; /* in the text area */
	uint32_t size;	 /* bytes; 0 until the text is complete (store-release) */
};
_Static_assert(sizeof(struct abi_schema) == 8, "layout both sides agree on");
_Static_assert(ABI_SCHEMAS < 65536, "ids fit in the wide event header");
/* Its index + 1 is the event id in the stream.  The collector uses id 0 for its own event. */

static inline uint64_t abi_pool_slots_offset(void)
{
	return 4096;
}
static inline uint64_t abi_pool_states_offset(uint32_t n_slots)
{
	return abi_pool_slots_offset() + (uint64_t)n_slots * sizeof(struct abi_slot);
}
static inline uint64_t abi_pool_schemas_offset(uint32_t n_slots, uint32_t n_chunks)
{
	return abi_pool_states_offset(n_slots) + (uint64_t)n_chunks * sizeof(uint64_t);
}
static inline uint64_t abi_pool_text_offset(uint32_t n_slots, uint32_t n_chunks)
{
	return abi_pool_schemas_offset(n_slots, n_chunks) + ABI_SCHEMAS * sizeof(struct abi_schema);
}
static inline uint64_t abi_pool_chunks_offset(uint32_t n_slots, uint32_t n_chunks, uint32_t shift)
{
	uint64_t end = abi_pool_text_offset(n_slots, n_chunks) + ABI_SCHEMA_TEXT_BYTES;
	uint64_t chunk = 1ull << shift;

	return (end + chunk - 1) & ~(chunk - 1);
}
static inline uint64_t abi_pool_size(uint32_t n_slots, uint32_t n_chunks, uint32_t shift)
{
	return abi_pool_chunks_offset(n_slots, n_chunks, shift) + ((uint64_t)n_chunks << shift);
}

#endif
