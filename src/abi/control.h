/* SPDX-License-Identifier: MIT */
/*
 * abi/control.h - the files of the runtime directory, through which programs and duet communicate.
 *
 *   $DUET_RUNTIME_DIR, else /dev/shm/duet-<uid>     0700, the user's own
 *     app-<pid>-<proc>   control page, one per traced program, which creates and maps it.  <pid> is
 *                        its pid in the /proc that it sees, <proc> the number of that /proc
 *     seats              the session that has each session slot: struct abi_session_slots
 *     session-<name>     the programs and events to record; a collector creates it and replaces it
 *                        as a whole
 *     sock-<name>        the collector's socket, which passes the session's memory
 *     calls-<name>/      plans of a session that records calls: abi/plan.h
 *     calls-<pid>-<proc> a program's calls: abi/calls.h
 *
 * Up to ABI_SESSIONS sessions record at once.  Each has a session slot.  In each control page the
 * part of that slot is its alone: no two collectors write to the same byte.  The last slot is for
 * the process's own probes (duet/probe.h).
 *
 * A program maps its control page shared.  All other processes use pread and pwrite: if a hostile
 * program truncates the page, these fail without a signal.  All words are written whole and
 * independently:
 *
 *   (1) the texts of an event are complete before n_events counts it; both only grow
 *   (2) byte k of `enabled` is 0, or the generation of the session in slot k that wants the event
 *   (3) `epoch` of a slot names that session and is written before the first such byte; a byte of
 *       another generation is left over and has no meaning
 */
#ifndef ABI_CONTROL_H
#define ABI_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#define ABI_CONTROL_MAGIC 0x6c72746374657564ull /* "duetctrl" */
#define ABI_CONTROL_VERSION 5u
#define ABI_SESSION_SLOTS_MAGIC 0x7461657374657564ull /* "duetseat" */
#define ABI_SESSION_SLOTS_VERSION 1u
#define ABI_SESSION_MAGIC 0x6e73657374657564ull /* "duetsesn" */
#define ABI_SESSION_VERSION 4u
#define ABI_ATTACH_MAGIC 0x6e696f6a74657564ull	     /* "duetjoin" */
#define ABI_PLAN_REQUEST_MAGIC 0x746e617774657564ull /* "duetwant" */
#define ABI_PLANS_MAGIC 0x736e656774657564ull	     /* "duetgens" */

enum {
	ABI_NAME_BYTES = 64,
	ABI_PAGE_NAME_BYTES = 32,
	ABI_EVENTS = 4096,
	ABI_FIRST_EVENTS = 48,
	ABI_CONTROL_BYTES = 1 << 20,
	ABI_RULES_BYTES = 16 << 10,
	ABI_PLAN_PATH_BYTES = 4096,
	ABI_SESSIONS = 7,      /* at once */
	ABI_SESSION_SLOTS = 8, /* theirs, and one more: */
	ABI_OWN_SESSION_SLOT = 7,
};

/* Why a program of a session that records calls does not record its own. */
enum abi_calls_refusal {
	ABI_CALLS_NOT = 0, /* no session wants them */
	ABI_CALLS_RECORDED = 1,
	ABI_CALLS_SANDBOX = 2, /* seccomp may forbid system calls that this takes */
	ABI_CALLS_CLOCK = 3,   /* it or the session cannot use the time stamp counter */
	ABI_CALLS_LIBC = 4,    /* its libc is not glibc */
	ABI_CALLS_MEMORY = 5,  /* no room for the calls file: addresses, ulimit -f, a full disk */
	ABI_CALLS_SESSION = 6, /* the session's memory could not be mapped */
};

/* Why a program could not deliver events: the last reason. */
enum abi_loss {
	ABI_LOSS_UNKNOWN = 0,
	ABI_LOSS_ADDRESSES = 1, /* the session's memory does not fit its address space */
	ABI_LOSS_LOCKED = 2,	/* likewise the memory that it may lock (mlockall) */
	ABI_LOSS_ANSWER =
		3, /* the collector did not answer in time, or its socket is not reached */
	ABI_LOSS_CLASSES = 4, /* the channel has 4096 classes already */
	ABI_LOSS_CLOCK = 5,   /* the program cannot read the session's clock */
	ABI_LOSS_SECCOMP = 6, /* it came under a seccomp filter before it could attach */
	ABI_LOSSES
};

enum { ABI_DORMANT_NOT = 0, ABI_DORMANT_SECCOMP = 1, ABI_DORMANT_CLOCK = 2 };

/*
 * An epoch identifies one session: 32 random bits, not all 0, then its generation, 1 to 255.  The
 * generation increases with each session that takes the slot.  So a session never takes a byte that
 * the session before it left for its own.
 */
#define ABI_GENERATION(epoch) ((uint8_t)(epoch))
#define ABI_EPOCH_IS_NONE(epoch) ((epoch) >> 8 == 0)

/* The byte of slot @session_slot in an enable word, and a word with only @byte there. */
#define ABI_ENABLED(word, session_slot) ((uint8_t)((word) >> 8 * (session_slot)))
#define ABI_ENABLES(byte, session_slot) ((uint64_t)(uint8_t)(byte) << 8 * (session_slot))

struct abi_control_event {
	uint64_t enabled; /* one byte per session slot, in the order of addresses; each is written
			    alone */
	uint32_t schema;  /* offset in the file of the text of abi_schema */
	uint32_t schema_size;
	uint16_t routing
		[ABI_SESSION_SLOTS]; /* ABI_ROUTING: channel and filter; written before the byte
					of `enabled` */
};

/* The part of a page that belongs to a session slot. */
struct abi_control_slot {
	uint64_t epoch; /* of the session that has it; written by its collector, or by the
			   program itself */
	uint64_t lost;	/* events that did not reach the session because its memory was not
			   mapped */
};

/*
 * The first page of the file.  The events of most programs fit in it: each page of memory costs a
 * starting program some microseconds.  Further events follow on the second page, further texts at
 * ABI_CONTROL_TEXT_OFFSET.
 */
struct abi_control {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;		/* as the program sees itself */
	uint64_t registered_ns; /* CLOCK_BOOTTIME: distinguishes a reused pid */
	uint32_t n_events;
	uint32_t text_end; /* offset in the file of the next text */
	char program[ABI_NAME_BYTES];
	char sessions[ABI_NAME_BYTES]; /* the sessions it belongs to, as in DUET_SESSION:
					  rules/membership.h */
	uint32_t n_refused;	       /* sites that stay dormant because the page is full */
	uint32_t dormant;	       /* ABI_DORMANT_...: why it records nothing although events
					  are enabled */
	struct abi_control_slot session_slots[ABI_SESSION_SLOTS];
	uint32_t calls; /* ABI_CALLS_...: whether its calls are recorded, or why not */
	uint32_t loss;	/* enum abi_loss: of the slots' `lost` */
	uint32_t
		is_prepared; /* it records without the clock and without system calls: duet/sandbox.h */
	uint8_t seen[ABI_SESSION_SLOTS]; /* 1: the slot's collector has read the page of the dead
					    program; each byte is written alone */
	uint8_t pad[320 - 316];
	struct abi_control_event events[ABI_FIRST_EVENTS];
	char text[4096 - 320 - ABI_FIRST_EVENTS * sizeof(struct abi_control_event)];
};
_Static_assert(sizeof(struct abi_control) == 4096, "further events begin on the second page");
_Static_assert(sizeof(struct abi_control_event) == 32 && sizeof(struct abi_control_slot) == 16 &&
		       offsetof(struct abi_control, session_slots) == 168 &&
		       offsetof(struct abi_control, events) == 320,
	       "layout both sides agree on");
_Static_assert(ABI_SESSION_SLOTS == sizeof(uint64_t) && ABI_OWN_SESSION_SLOT == ABI_SESSIONS,
	       "one byte of an enable word for each slot, the last for the process itself");

#define ABI_CONTROL_TEXT_OFFSET                                                                    \
	(sizeof(struct abi_control) + ABI_EVENTS * sizeof(struct abi_control_event))
_Static_assert(ABI_CONTROL_TEXT_OFFSET < ABI_CONTROL_BYTES, "events leave room for their texts");

/* Offset in the file of the line of event @i < ABI_EVENTS. */
static inline uint32_t abi_control_event_offset(uint32_t i)
{
	uint32_t begin = i < ABI_FIRST_EVENTS
				 ? (uint32_t)offsetof(struct abi_control, events)
				 : (uint32_t)(sizeof(struct abi_control) -
					      ABI_FIRST_EVENTS * sizeof(struct abi_control_event));

	return begin + i * (uint32_t)sizeof(struct abi_control_event);
}

/* The file seats.  Only collectors write it, one at a time: they hold the directory's flock. */
struct abi_session_slot {
	uint64_t epoch; /* ABI_EPOCH_IS_NONE: free; then it has the generation of the last one */
	char session[ABI_NAME_BYTES];
};
_Static_assert(sizeof(struct abi_session_slot) == 72, "layout both sides agree on");
struct abi_session_slots {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct abi_session_slot at[ABI_SESSIONS];
};

/* The file session-<name>, up to the end of the rules in use.  Their language: rules/rules.h. */
struct abi_session {
	uint64_t magic;
	uint32_t version;
	uint32_t session_slot; /* below ABI_SESSIONS */
	uint64_t epoch;	       /* new for each collector */
	uint32_t collector_pid;
	uint32_t is_private; /* 1: only for programs that name it */
	uint32_t has_calls;  /* 1: it records calls; its plans are in the directory calls-<name> */
	uint32_t rules_size;
	char name[ABI_NAME_BYTES];
	char rules[ABI_RULES_BYTES];
};
_Static_assert(offsetof(struct abi_session, rules) == 104, "layout both sides agree on");

/* On the socket: the program sends its request, the collector answers with the descriptor of the
 * session's memory. */
struct abi_attach {
	uint64_t magic;
	uint32_t version; /* ABI_SESSION_MEMORY_VERSION */
	uint32_t pid;	  /* as the program sees itself */
	char program[ABI_NAME_BYTES];
};

struct abi_attach_answer {
	uint64_t magic;
	int32_t error;		/* 0, or a negative errno: no descriptor comes with it */
	uint32_t pid_namespace; /* of the collector; host_pid is valid there; 0: unknown */
	uint64_t epoch;
	uint32_t host_pid; /* of the program that asks: stored in state words */
	uint32_t pad;
	uint64_t size; /* of the memory: abi/session.h */
};
_Static_assert(sizeof(struct abi_attach) == 80 && sizeof(struct abi_attach_answer) == 40,
	       "layout both sides agree on");

/*
 * On the same socket: a program that records calls has loaded a file, and calls-<session>/ has no
 * plan of its build ID.  It sends this request, and waits a bounded time for the answer.  Then the
 * plan is there; a plan without sites if nothing of the file is wanted.
 */
struct abi_plan_request {
	uint64_t magic;	  /* ABI_PLAN_REQUEST_MAGIC */
	uint32_t version; /* ABI_PLAN_VERSION, abi/plan.h */
	uint32_t build_id_bytes;
	uint8_t build_id[20]; /* longer ones are cut */
	uint32_t pad;
	char path[ABI_PLAN_PATH_BYTES]; /* of the file, absolute, as the program sees it */
};

struct abi_plan_answer {
	uint64_t magic;
	int32_t error; /* 0, or a negative errno; -EAGAIN: later, as too many ask */
	uint32_t pad;
};
_Static_assert(sizeof(struct abi_plan_request) == 40 + ABI_PLAN_PATH_BYTES &&
		       sizeof(struct abi_plan_answer) == 16,
	       "layout both sides agree on");

/*
 * The file calls-<session>/generation.  It is replaced after all plans of a generation; a program
 * reads it before the plans, and stores it as the generation it has applied.
 */
struct abi_plans {
	uint64_t magic;	     /* ABI_PLANS_MAGIC */
	uint64_t generation; /* from 1 */
	uint64_t epoch;	     /* of the session */
};
_Static_assert(sizeof(struct abi_plans) == 24, "layout both sides agree on");

#endif
