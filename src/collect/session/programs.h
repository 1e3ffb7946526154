/* SPDX-License-Identifier: MIT */
/*
 * collect/session/programs.h - the traced programs of this user, through their control pages.
 *
 * Pages belong to the programs: they are accessed with pread and pwrite, and their contents are
 * never trusted.  A page is in use while a process maps it: the one it is named after, or a child
 * forked from it that has not recorded anything yet and shares it.  Other pages are removed.
 *
 * Any number of duet commands may do this concurrently.
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
	int dir;	  /* directory of the page */
	int fd;		  /* its control page, for reading and writing */
	const char *name; /* of the page's file */
	struct liveness *liveness;
	struct abi_control page; /* a copy; strings are terminated */
};

struct program_event {
	uint32_t index;
	uint64_t enabled;		     /* a byte for each session slot: abi/control.h */
	uint16_t routing[ABI_SESSION_SLOTS]; /* ABI_ROUTING */
	char schema[ABI_NAME_BYTES * 16];    /* cut if longer; see ctf/write/schema.h */
};

/*
 * The names of a runtime directory that one walk reads.  A program can make any number of names in its
 * user's directory; without a limit each request to the user's collector would take as long as the
 * walk over them.  Programs beyond are not found.
 */
enum { PROGRAMS_NAMES = 65536 };

/*
 * programs_each - visit the live programs of runtime directory @dir; with a @pid that is not 0,
 * only the one that uses that process's page.
 *
 * @visit returns 0 to continue; any other result ends the walk and is returned.  The program is
 *   valid during the visit.  Pages of dead programs are removed, unless a live session must still
 *   count their losses.
 */
int programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg);

/*
 * program_pid - in our pid namespace, the process that made the page; if it has ended, a child that
 * uses the page; -1 if none can be seen.
 */
pid_t program_pid(const struct program *a);

/* program_event - read event @index of the program.  False if it does not exist or is damaged. */
bool program_event(const struct program *a, uint32_t index, struct program_event *e);

/*
 * program_is_of - whether session @f has recorded the program in its slot.
 *
 * program_event_is_of - whether session @f records the event.
 */
bool program_is_of(const struct program *a, const struct abi_session *f);
bool program_event_is_of(const struct program *a, const struct program_event *e,
			 const struct abi_session *f);

/* program_set_enabled - write the slot's byte in an event's enable word. */
void program_set_enabled(const struct program *a, uint32_t index, uint32_t session_slot,
			 uint8_t byte);

/* The result of programs_switch. */
struct enable_result {
	uint32_t programs;
	uint32_t events;	/* matching events, including those that already had the state */
	uint32_t other_session; /* programs skipped because they belong to other sessions only
				 * (rules/membership.h) */
	uint32_t strict; /* programs skipped because an event would kill them: they are in strict
			  * seccomp mode */
};

/*
 * programs_switch - enable or disable events in running programs.
 *
 * @pid: only that program; 0: all that belong to the session.
 * @selector: conditions, rules/selector.h: only programs and events that meet them; "": all.
 * @pattern: see rules/pattern.h.
 * @session: the session of the enabled events; its rules choose the channel.  Disabling with an
 *   epoch of 0 applies to all sessions.
 * @filter: a number of session_add_filter, or 0.
 */
struct enable_result programs_switch(int dir, pid_t pid, const char *selector, const char *pattern,
				     bool enable, const struct abi_session *session,
				     uint32_t filter);

/* One request, as for programs_switch. */
struct enable_request {
	const char *selector, *pattern;
	uint32_t filter;
	bool enable;
	struct enable_result done; /* incremented */
};
enum { PROGRAMS_REQUESTS = 16 };

/*
 * programs_switch_all - programs_switch for each of at most PROGRAMS_REQUESTS requests in order, in
 * one walk.
 */
void programs_switch_all(int dir, pid_t pid, struct enable_request *requests, uint32_t n,
			 const struct abi_session *session);

/*
 * programs_follow - apply changed rules of @session to running programs (@pid, or 0 for all).
 *
 * Without @all only what triggers need is changed.
 */
void programs_follow(int dir, pid_t pid, const struct abi_session *session, bool all);

/*
 * programs_lost - events that live programs of the session could not deliver so far.
 *
 * @count: returns the part that counts of the @n events that program @a says it lost.
 */
typedef uint64_t programs_count(void *arg, const struct program *a, uint64_t n);
uint64_t programs_lost(int dir, const struct abi_session *session, programs_count *count,
		       void *arg);

/* A caller that reads a page for the last time: collect/findings/seen.h.  NULL: none does. */
struct program_reader {
	void (*read)(void *arg, const struct program *a);
	/* It says that it could not deliver @n events; the result is the part that counts. */
	programs_count *lost;
	void *arg;
};

/*
 * programs_release - disable all events in the session's slot, at its end.  Returns the events that
 * those programs could not deliver.
 *
 * @last: reads each page before its events are disabled.
 */
uint64_t programs_release(int dir, const struct abi_session *session,
			  const struct program_reader *last);

/* A walk over all pages, some in each call, repeated forever.  Initially zero. */
struct reaping {
	long at;	       /* position in the directory; 0: its beginning */
	uint32_t n_names;      /* read since then */
	bool is_crowded;       /* the last complete walk read more than PROGRAMS_NAMES */
	uint32_t n_in_use;     /* pages in use seen since then */
	bool no_program_lives; /* the last complete walk found none in use, and no program joined
				* since */
};

/*
 * programs_reap - remove pages that are no longer in use; continue after @most used ones with the
 * next call.
 *
 * @last: reads each page of a dead program before it is removed.  Cheap enough for once a second: a
 * used page costs one system call, and of other names it reads a limited number.  Returns the events that dead programs could not deliver to
 * @session.
 */
uint64_t programs_reap(int dir, const struct abi_session *session, struct reaping *b, uint32_t most,
		       const struct program_reader *last);
/* programs_joined - a program has joined. */
void programs_joined(struct reaping *b);

/*
 * programs_sweep - remove what killed programs and collectors left behind.
 *
 * programs_sweep_sessions - only what collectors left; the directory is locked (flock).
 */
void programs_sweep(int dir);
void programs_sweep_sessions(int dir);
/* programs_remove_plans - remove the directory calls-<@session>, if there is one. */
void programs_remove_plans(int dir, const char *session);

#endif
