/* SPDX-License-Identifier: MIT */
/*
 * inproc/process.h - libduet's state in one program.
 *
 * We are guests: no thread, no signal, no descriptor kept open, no name but duet_*.  Who may touch
 * what, and when:
 *
 *   objects, control page layout   registration (constructors, dlopen, fork), under process_lock
 *   enable words                   anybody outside, at any time; sites read them
 *   sessions                       any thread's first event of a session installs one in its seat,
 * by compare-and-swap; never freed, as threads may be in it a site's session               any
 * thread that has found where its events go; only a hint guard                          a page that
 * the kernel zeroes in a forked child: whoever sees it zero makes the process itself again before
 * it records
 */
#ifndef INPROC_PROCESS_H
#define INPROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "abi/session.h"
#include "abi/control.h"
#include "rules/selector.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"
#include "ring/pool.h"

#define HIDDEN __attribute__((visibility("hidden")))

struct channel {
	struct pool pool;
	uint64_t contexts; /* what its events carry besides vpid and vtid */
	/* Event index -> class id in the pool's registry; 0: not yet.  With contexts it stays 0 in
	 * `plain`. */
	uint16_t plain[ABI_EVENTS];
	uint16_t ids[ABI_EVENTS];
};

/*
 * A session that this process has joined: its channels, abi/session.h.
 *
 * An event goes to it, and to no other, if its enable word is `word`, and *current is `epoch`.
 */
struct session {
	uint64_t word; /* SESSION_OVER: of no event any more */
	uint64_t epoch;
	const uint64_t *current; /* the epoch of its seat, in the control page it was joined for */
	uint32_t session_slot;
	uint32_t pid_namespace; /* of the collector: the one that owners' pids are of; 0: not known
				 */
	void *memory;
	uint64_t memory_size;
	struct session *before; /* the one it replaced; it stays mapped */
	uint32_t n_channels;
	uint32_t trigger_channel; /* where events of triggers go once more; 0: none */
	struct channel channels[ABI_CHANNELS];
	struct linked_filter
		*filters[ABI_EVENTS]; /* event index -> those linked to it: filters.c */
};

/*
 * filters_pass - whether the event of @site passes filter @number of the session.
 *
 * @payload: @size bytes, packed.  @ip: where the site's event returns to.
 *
 * The filter is linked to the event's class at the first time, which maps memory.  One that is
 * broken or does not fit the class lets nothing pass.  Without memory for it, or when a later
 * seccomp filter may forbid asking for some, nothing passes, and is counted as lost.  Any thread,
 * any signal handler.
 */
bool filters_pass(struct session *s, const struct duet_i_site *site, uint32_t number,
		  const void *payload, size_t size, const void *ip) HIDDEN;
/* filters_prepare - link it now.  False if nothing will pass. */
bool filters_prepare(struct session *s, const struct duet_i_site *site, uint32_t number) HIDDEN;

#define SESSION_OVER UINT64_MAX

/* What libduet keeps in a site's `data`. */
enum {
	SITE_KNOWN,   /* itself, if it has a line in the control page */
	SITE_CODES,   /* of a mark */
	SITE_SESSION, /* the session that its events went to last, if that was the only one */
};

struct object {
	struct duet_i_site *begin, *end;
};

enum { OBJECTS = 16384 };

struct process {
	struct abi_control *control;		/* NULL: inert */
	struct session *sessions[ABI_SESSIONS]; /* by seat */
	/* The parent's pools, for a child that cannot join; nobody is in them. */
	struct session *inherited[ABI_SESSIONS];
	bool has_left;	      /* `sessions` are the parent's, and their memory no pool any more:
				 sessions_leave */
	uint32_t *guard;      /* [GUARD_...] */
	uint32_t incarnation; /* counts forks */
	uint32_t pid;
	uint32_t seccomp_at_start;	     /* mode of the thread that opened us */
	bool owns_page;			     /* control is our own, not the parent's */
	char page_name[ABI_PAGE_NAME_BYTES]; /* of the page we made */
	/* What the environment said at the start: it is not read again, programs change it. */
	char directory[256];
	char sessions_named[ABI_NAME_BYTES]; /* DUET_SESSION: rules/membership.h */
	uint32_t n_objects, room;	     /* how many `objects` has room for */
	struct object *objects;
	struct object few[8]; /* the first of them: few programs have more */
};
/* In the page that a child finds zeroed.  GUARD_PID: of a forked child, as fork(3) has left it. */
enum { GUARD_STATE, GUARD_LIFE, GUARD_PID };
enum { GUARD_FORKED = 0, GUARD_BUSY = 1, GUARD_OK = 2 };

extern struct process process HIDDEN;
/* vpid and vtid of this thread, as events carry them; 0 until its first event. */
extern __thread uint64_t thread_context HIDDEN __attribute__((tls_model("initial-exec")));

/* process_open - make the control page, once; under process_lock.  False: stay inert.
 * @dir: the runtime directory, open, or -1; to be closed by the caller in any case. */
bool process_open(int *dir) HIDDEN;
/* process_renew - a child of fork becomes a process of its own.  Async-signal-safe. */
void process_renew(void) HIDDEN;
/*
 * process_may_call - whether we may still make system calls that the program itself may never make.
 *
 * A filter that was there at the start let us register, and so is taken to let us join: containers
 * have one.  One that came later may kill for a socket(2).  That we ask by prctl(2) may be its
 * reason to kill, too; but nothing else tells, and all who sandbox themselves know this one.
 */
bool process_may_call(void) HIDDEN;
/* process_is_sandboxed - the same question, when all goes on without the calls: nothing is marked.
 */
bool process_is_sandboxed(void) HIDDEN;
/* process_has_clock - whether this thread may read the time stamp counter: PR_SET_TSC may forbid
 * it, and reading it then kills. */
bool process_has_clock(void) HIDDEN;
/* thread_context_make - what thread_context is to be, without a system call where that is possible.
 */
uint64_t thread_context_make(void) HIDDEN;
/* Of registration and fork: inproc/lock.h. */
void process_lock(void) HIDDEN;
void process_unlock(void) HIDDEN;

/* count_lost - an event that did not reach the session of @seat. */
void count_lost(uint32_t session_slot) HIDDEN;
/* sessions_forget - in a child of fork: none is joined, whatever sites remember. */
void sessions_forget(void) HIDDEN;

/* runtime_keep - remember what the environment says: the runtime directory and the sessions that
 * the program belongs to.  False if there is no such path. */
bool runtime_keep(void) HIDDEN;
/* runtime_file - the path of @name in the directory kept.  False if it does not fit. */
bool runtime_file(char *path, size_t size, const char *name) HIDDEN;
/* A session's file, as it was when it was read. */
struct session_file {
	const struct abi_session *session; /* its rules end where rules_size says */
	int fd;
	void *memory; /* of a file that does not fit in: */
	char small[1024] __attribute__((aligned(8)));
};
/* session_read - read session-<name> in the directory @dir.  0 or -errno; session_release frees
 * what it holds. */
int session_read(struct session_file *f, int dir, const char *name) HIDDEN;
void session_release(struct session_file *f) HIDDEN;
/* runtime_session_slots - who has which seat, in the directory @dir (-1: the one kept).  False if
 * nobody ever had one. */
bool runtime_session_slots(struct abi_session_slots *s, int dir) HIDDEN;
/* session_is_current - whether the session's file is still there; it may say something else. */
bool session_is_current(const struct session_file *f, int dir) HIDDEN;

/* Ourselves, as far as rules ask. */
struct self {
	struct selector selector; /* points into names */
	struct utsname names;
	char cgroup[512]; /* of a longer path nothing is known */
};
/* selector_we_are - what the letters (selector_letters) ask for; system calls are made for some
 * alone. */
void selector_we_are(struct self *s, uint32_t letters) HIDDEN;

/* session_current - the session of @epoch in @seat, joined now if need be; NULL if that fails.
 * Async-signal-safe; takes at most about a second, and not again within the next, then less. */
struct session *session_current(uint32_t session_slot, uint64_t epoch) HIDDEN;
/* session_join_early - the same before there is an event: less patient, not again if it was in
 * vain; the first event tries again. */
struct session *session_join_early(const struct abi_session *f) HIDDEN;

/*
 * session_leave - in a child of fork: what this thread was writing, if it was, is not the child's.
 * Its mappings become memory of its own, in which it may end that event.  A second mapping of each
 * pool, in which nobody is, is kept for a child that will not be able to join.
 */
void sessions_leave(void) HIDDEN;
/* sessions_inherit - keep these second mappings, as the only one who runs. */
void sessions_inherit(void) HIDDEN;

/* mark_schema - what a printf format says in schema words, and the codes mark_pack goes by.
 * Returns false if it has a conversion we do not record. */
bool mark_schema(const char *format, char *schema, size_t schema_size, char *codes,
		 size_t codes_size) HIDDEN;

extern const struct duet_i_api duet_api HIDDEN;

#endif
