/* SPDX-License-Identifier: MIT */
/*
 * collect/session/programs.h - the traced programs of this user, seen from outside: their control
 * pages.
 *
 * Pages belong to the programs: they are read and written with pread and pwrite, and believed in
 * nothing.  A page lives as long as a process maps it: the one it is named after, or a child forked
 * from that one which has not recorded anything yet, and shares it.  Other pages are swept up.
 *
 * Any number of duet commands may do this at the same time.
 */
#ifndef COLLECT_SESSION_PROGRAMS_H
#define COLLECT_SESSION_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/control.h"
#include "base/diag.h"

struct liveness;

struct program {
	int dir;	  /* it is in */
	int fd;		  /* its control page, read and write */
	const char *name; /* of the page's file */
	struct liveness *liveness;
	struct abi_control page; /* a copy; texts are terminated */
};

struct program_event {
	uint32_t index;
	uint64_t enabled;		     /* a byte for each seat: abi/control.h */
	uint16_t routing[ABI_SESSION_SLOTS]; /* ABI_ROUTING */
	char schema[ABI_NAME_BYTES * 16];    /* cut if longer; see ctf/write/schema.h */
};

/*
 * programs_each - visit the live programs of @dir (runtime directory), or only the one whose page
 * @pid uses, if that is not 0.
 *
 * @visit returns 0 to go on, else programs_each returns its value.  The app is valid during the
 * visit. Pages of dead programs are removed, but for those whose losses a live session has yet to
 * count.
 */
int programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg);

/* program_pid - as we see it, who made the page; if that process is gone, a child that lives on; -1
 * if it cannot be seen. */
pid_t program_pid(const struct program *a);

/* program_event - read event @index of the app.  False if there is none, or it is damaged. */
bool program_event(const struct program *a, uint32_t index, struct program_event *e);

/* program_is_of - whether session @f has the program in its seat.
 * program_event_is_of - whether it records the event. */
bool program_is_of(const struct program *a, const struct abi_session *f);
bool program_event_is_of(const struct program *a, const struct program_event *e,
			 const struct abi_session *f);

/* program_set_enabled - the seat's byte of an event's enable word. */
void program_set_enabled(const struct program *a, uint32_t index, uint32_t session_slot,
			 uint8_t byte);

/* What programs_switch did. */
struct enable_result {
	uint32_t programs;
	uint32_t events;	/* that match, whether or not they were so already */
	uint32_t other_session; /* programs left alone: they belong to other sessions only
				   (rules/membership.h) */
	uint32_t
		strict; /* programs left alone: in seccomp's strict mode an event would kill them */
};

/*
 * programs_switch - enable or disable events in running programs.
 *
 * @pid: only that program; 0: all that belong to the session.
 * @who: conditions, rules/selector.h: only programs and events of which they hold; "": all.
 * @pattern: see rules/pattern.h.
 * @session: whom enabled events belong to; its rules say to which channel.  Disabling with an epoch
 *of 0 takes everybody's.
 * @filter: a number of session_add_filter, or 0.
 */
struct enable_result programs_switch(int dir, pid_t pid, const char *selector, const char *pattern,
				     bool enable, const struct abi_session *session,
				     uint32_t filter);

/* One of several, as for programs_switch. */
struct enable_request {
	const char *selector, *pattern;
	uint32_t filter;
	bool enable;
	struct enable_result done; /* is added to */
};
enum { PROGRAMS_REQUESTS = 16 };

/* programs_switch_all - what programs_switch would do for each of them, at most PROGRAMS_REQUESTS,
 * one after the other, in one walk. */
void programs_switch_all(int dir, pid_t pid, struct enable_request *requests, uint32_t n,
			 const struct abi_session *session);

/* programs_follow - the rules of @session have changed: events of running programs (@pid, or 0 for
 * all) are recorded as these say, or, without @all, only told to triggers as these say. */
void programs_follow(int dir, pid_t pid, const struct abi_session *session, bool all);

/* programs_lost - what living programs of the session could not deliver so far. */
uint64_t programs_lost(int dir, const struct abi_session *session);

/* programs_release - disable whatever is enabled in the session's seat, as it ends.
 * Returns the events those programs could not deliver. */
uint64_t programs_release(int dir, const struct abi_session *session);

/* A walk past all pages, some at a time, again and again.  Begins as zeroes. */
struct reaping {
	long at;	       /* in the directory; 0: from its beginning */
	uint32_t n_liveness;   /* seen since then */
	bool no_program_lives; /* the last whole walk saw nobody, and none has joined since */
};

/*
 * programs_reap - remove the pages that nobody uses any more, and go on behind @most living ones
 * with the next call.
 *
 * Cheap enough for once a second: of the living it is asked one question.  Returns the events that
 * the dead could not deliver to @session.
 */
uint64_t programs_reap(int dir, const struct abi_session *session, struct reaping *b,
		       uint32_t most);
/* programs_joined - somebody has. */
void programs_joined(struct reaping *b);

/* programs_sweep - remove what killed programs and collectors left behind.
 * programs_sweep_sessions - what collectors did, alone; the directory is locked (flock). */
void programs_sweep(int dir);
void programs_sweep_sessions(int dir);

#endif
