/* SPDX-License-Identifier: MIT */
/*
 * abi/control.h - what programs and duet tell each other, in files of the runtime directory.
 *
 *   $DUET_RUNTIME_DIR, else /dev/shm/duet-<uid>     0700, the user's own
 *     app-<pid>          control page: one per traced program, made and mapped by it
 *     session-<name>     who records, and what; made by a collector, replaced as a whole
 *     sock-<name>        the collector's socket: gives out the session's pool
 *
 * A program maps its control page shared; everybody else uses pread and pwrite, which a page cut short
 * by a hostile program cannot turn into a signal.  All words are written whole and independently:
 *
 *   (1) the texts of an event are complete before n_events counts it; both only grow
 *   (2) `enabled` is 0 or the epoch of the session that wants the event
 *   (3) `session` names that session and is written before the first such word
 */
#ifndef ABI_CONTROL_H
#define ABI_CONTROL_H

#include <stdint.h>

#define ABI_CONTROL_MAGIC   0x6c72746374657564ull /* "duetctrl" */
#define ABI_CONTROL_VERSION 1u
#define ABI_SESSION_MAGIC   0x6e73657374657564ull /* "duetsesn" */
#define ABI_SESSION_VERSION 1u
#define ABI_JOIN_MAGIC      0x6e696f6a74657564ull /* "duetjoin" */

enum {
	ABI_NAME_BYTES = 64,
	ABI_EVENTS = 4096,
	ABI_CONTROL_TEXT_BYTES = 956 << 10,
	ABI_RULES_BYTES = 3072,
};

enum { ABI_DORMANT_NOT = 0, ABI_DORMANT_SECCOMP = 1 };

struct abi_control {
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* as the program sees itself */
	uint64_t registered_ns; /* CLOCK_BOOTTIME: tells a reused pid */
	uint32_t n_events;
	uint32_t text_used;
	uint64_t lost; /* events that found no pool to go to */
	char program[ABI_NAME_BYTES];
	char session[ABI_NAME_BYTES]; /* written from outside */
	uint32_t n_refused; /* sites that stay dormant, because nothing more fits */
	uint32_t dormant; /* ABI_DORMANT_...: why it records nothing though asked to */
	uint8_t pad[4096 - 176];
};
_Static_assert(sizeof(struct abi_control) == 4096, "the events begin on the second page");

struct abi_control_event {
	uint32_t enabled; /* written from outside */
	uint32_t schema; /* offset in the text area: abi_schema's text */
	uint32_t schema_size;
	uint32_t reserved;
};

#define ABI_CONTROL_EVENTS_OFFSET ((uint64_t)sizeof(struct abi_control))
#define ABI_CONTROL_TEXT_OFFSET \
	(ABI_CONTROL_EVENTS_OFFSET + ABI_EVENTS * (uint64_t)sizeof(struct abi_control_event))
#define ABI_CONTROL_BYTES (ABI_CONTROL_TEXT_OFFSET + ABI_CONTROL_TEXT_BYTES)

/* session-<name>.  Rules are patterns (base/pattern.h), each ended by a NUL; one that begins with '!'
 * excludes; the last that matches an event decides. */
struct abi_session {
	uint64_t magic;
	uint32_t version;
	uint32_t epoch; /* not 0; new for each collector */
	uint32_t collector_pid;
	uint32_t rules_size;
	char name[ABI_NAME_BYTES];
	char rules[ABI_RULES_BYTES];
};

/* On the socket: the program asks, the collector answers with the pool's descriptor. */
struct abi_join {
	uint64_t magic;
	uint32_t version; /* ABI_POOL_VERSION */
	uint32_t pid; /* as the program sees itself */
	char program[ABI_NAME_BYTES];
};

struct abi_join_answer {
	uint64_t magic;
	int32_t error; /* 0, or a negative errno: no descriptor comes with it */
	uint32_t epoch;
	uint32_t host_pid; /* of the asker: goes into state words */
	uint32_t reserved;
	uint64_t pool_size;
};

#endif
