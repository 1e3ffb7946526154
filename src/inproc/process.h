/* SPDX-License-Identifier: MIT */
/*
 * inproc/process.h - libduet's state in one program.
 *
 * libduet is a guest: it has no thread, no signal, no descriptor kept open and no name but duet_*.
 * The parties and their data:
 *
 *   objects, control page layout   registration (constructors, dlopen, fork), under process_lock
 *   enable words                   any process outside, at any time; sites read them
 *   sessions                       the first event of a session, in any thread, installs it in its
 *                                  slot by compare-and-swap; never freed, as threads may be in it
 *   a site's session               any thread that found the destination of its events; a hint
 *   guard                          a page that the kernel zeroes in a forked child: a thread that
 *                                  finds it zero renews the process before it records
 */
#ifndef INPROC_PROCESS_H
#define INPROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "abi/session.h"
#include "abi/control.h"
#include "base/atomic.h"
#include "filter/direct.h"
#include "inproc/mark.h"
#include "rules/selector.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"
#include "ring/pool.h"

#define HIDDEN __attribute__((visibility("hidden")))

struct channel {
	struct pool pool;
	uint64_t contexts; /* recorded with its events besides vpid and vtid */
	/* Event index -> class id in the pool's registry; 0: not yet.  On a channel with contexts
	 * it stays 0 in `plain`. */
	uint16_t plain[ABI_EVENTS];
	uint16_t ids[ABI_EVENTS];
};

/*
 * A session that this process has attached, with its channels: abi/session.h.
 *
 * An event goes to this session only if its enable word is `word`, and *current is `epoch`.
 */
struct session {
	uint64_t word; /* SESSION_OVER: of no event any more */
	uint64_t epoch;
	const uint64_t *current; /* the epoch of its slot, in the control page at the time of
				    attaching */
	uint32_t session_slot;
	uint32_t pid_namespace; /* of the collector; owners' pids are valid there; 0: unknown */
	void *memory;
	uint64_t memory_size;
	struct session *before; /* the one it replaced, which stays mapped */
	uint32_t n_channels;
	uint32_t trigger_channel; /* receives a copy of the events of triggers; 0: none */
	struct channel channels[ABI_CHANNELS];
	struct linked_filter
		*filters[ABI_EVENTS]; /* event index -> the filters linked to it: filters.c */
};

/* A filter, linked to one event: linked_filters.c.  Private memory. */
struct linked_filter {
	uint32_t number;	/* of the session */
	uint32_t direct_number; /* the same if `direct` is the filter, else 0 */
	bool fits;
	bool reads_words; /* nothing but integers of the payload's fixed beginning */
	const struct linked_filter *before; /* another one, for the same event */
	struct filter_direct direct;
	struct filter filter; /* the last member: its steps follow */
};

/*
 * filters_pass - whether the event of @site passes filter @number of the session.
 *
 * @payload: @size bytes, packed.
 * @ip: the return address of the site's event.
 *
 * The first call links the filter to the event's class, which maps memory.  A filter that is broken
 * or does not fit the class lets nothing pass.  Without memory for it, or if a later seccomp filter
 * may forbid mapping some, nothing passes and the event is counted as lost.  Any thread or signal
 * handler.
 */
bool filters_pass(struct session *s, const struct duet_i_site *site, uint32_t number,
		  const void *payload, size_t size, const void *ip) HIDDEN;
/*
 * filters_pass_words - the same for an event of site->fixed_size bytes, at most 32, in @words[4],
 * and @text after them, if it is not NULL.
 *
 * FILTERS_ASK: filters_pass() has the answer, because the event's newest filter is another one or is
 * not linked yet, or needs the string.
 */
enum filters_answer { FILTERS_REFUSE, FILTERS_PASS, FILTERS_ASK };
enum filters_answer filters_pass_words(struct session *s, const struct duet_i_site *site,
				       uint32_t number, const uint64_t *words, const char *text,
				       const void *ip) HIDDEN;
/*
 * filters_pass_directly - the same for an event with @routing, without a call if comparisons of
 * integers decide; else FILTERS_ASK.
 *
 * @payload: @size bytes; FILTERS_WORDS: those of registers, to which a string may belong.
 */
#define FILTERS_WORDS SIZE_MAX
static inline __attribute__((always_inline)) enum filters_answer
filters_pass_directly(const struct session *s, const struct duet_i_site *site, uint32_t routing,
		      const void *payload, size_t size)
{
	/* pairs with find() in linked_filters.c */
	const struct linked_filter *l = load_acquire(&s->filters[site->index]);
	const struct filter_direct *d = &l->direct;
	bool passes;

	/* Higher bits of the routing are triggers. */
	if (unlikely(!l || l->direct_number != routing >> 4 || size < d->size))
		return FILTERS_ASK;
	passes = !d->decisive;
	if (likely(d->n))
		passes = filter_compares_integers(d, payload);
	if (unlikely(d->has_text) && passes != d->decisive) {
		if (size == FILTERS_WORDS)
			return FILTERS_ASK;
		passes = filter_compares_text(d, &l->filter, payload, size);
	}
	return passes ? FILTERS_PASS : FILTERS_REFUSE;
}

/* filters_prepare - link the filter now.  False if nothing will pass. */
bool filters_prepare(struct session *s, const struct duet_i_site *site, uint32_t number) HIDDEN;

#define SESSION_OVER UINT64_MAX

/* The use of a site's `data`. */
enum {
	SITE_KNOWN,   /* the site itself, if it has a line in the control page */
	SITE_CODES,   /* of a mark: its plan (mark.h), then its codes */
	SITE_SESSION, /* the last session of its events, if there was only one */
};

struct object {
	struct duet_i_site *begin, *end;
};

_Static_assert(ABI_EVENTS <= UINT16_MAX && ABI_SCHEMAS <= UINT16_MAX, "ids are 16 bits");

enum { OBJECTS = 16384 };

struct process {
	struct abi_control *control;		/* NULL: libduet is dormant */
	struct session *sessions[ABI_SESSIONS]; /* by session slot */
	/* The parent's pools, for a child that cannot attach; no thread is in them. */
	struct session *inherited[ABI_SESSIONS];
	bool has_detached;    /* `sessions` are the parent's, and their memory is no pool any
				 more: sessions_detach */
	uint32_t *guard;      /* [GUARD_...] */
	uint32_t incarnation; /* counts forks */
	uint32_t pid;
	uint32_t seccomp_at_start;	     /* seccomp mode of the thread that loaded us */
	bool is_prepared;		     /* no system call any more: sessions_prepare */
	bool is_without_clock;		     /* nor the time stamp counter */
	bool has_patterns;		     /* a session asks for some events only */
	bool owns_page;			     /* control is our own, not the parent's */
	char page_name[ABI_PAGE_NAME_BYTES]; /* of the page that we made */
	/* The environment at the start: programs change it, so it is not read again. */
	char directory[256];
	char sessions_named[ABI_NAME_BYTES]; /* DUET_SESSION: rules/membership.h */
	uint32_t n_objects, room;	     /* capacity of `objects` */
	struct object *objects;
	struct object few[8]; /* the first objects: few programs have more */
};
/* In the page that a child finds zeroed.  GUARD_PID: the pid of a forked child, stored by
 * fork(3). */
enum { GUARD_STATE, GUARD_LIFE, GUARD_PID };
enum { GUARD_FORKED = 0, GUARD_BUSY = 1, GUARD_OK = 2 };

extern struct process process HIDDEN;
/* vpid and vtid of this thread, as events carry them; 0 until its first event. */
extern __thread uint64_t thread_context HIDDEN __attribute__((tls_model("initial-exec")));

/*
 * process_open - make the control page, once; under process_lock.  False: stay dormant.
 *
 * @dir: receives the runtime directory, open, or -1; the caller closes it in any case.
 * @o: the sites that will be registered, or NULL.  Then session_expect_none() follows.
 */
bool process_open(int *dir, const struct object *o) HIDDEN;
/*
 * duet_i_attached - called by src/patch/attach when libduet is in a running process: make the
 * control page.
 *
 * @runtime: the runtime directory, instead of what the environment names; NULL: what it names.
 *
 * 0; -EEXIST: this process uses another one already; -ENOTSUP: it cannot be used.  Takes
 * process_lock.
 */
__attribute__((visibility("default"))) int duet_i_attached(const char *runtime);
/* process_renew - give a child of fork its own identity and page.  Async-signal-safe. */
void process_renew(void) HIDDEN;
/*
 * process_may_call - whether libduet may still make system calls that the program itself may never
 * make.
 *
 * A filter that was there at the start let us register, so it is assumed to let us attach:
 * containers have one.  A later one may kill for a socket(2).  It may also kill for this prctl(2),
 * but there is no other way to know, and programs that sandbox themselves allow it.
 */
bool process_may_call(void) HIDDEN;
/* process_is_sandboxed - the same question, for callers that can do without the calls: the page is
 * not marked. */
bool process_is_sandboxed(void) HIDDEN;
/* process_has_clock - whether this thread may read the time stamp counter.  PR_SET_TSC may forbid
 * it, and a read then kills. */
bool process_has_clock(void) HIDDEN;
/* thread_context_make - the value for thread_context, without a system call if possible. */
uint64_t thread_context_make(void) HIDDEN;
/* For registration and fork: inproc/guest_lock.h. */
void process_lock(void) HIDDEN;
void process_unlock(void) HIDDEN;

/* count_lost - count an event that did not reach the session in @session_slot. */
void count_lost(uint32_t session_slot) HIDDEN;
/*
 * sessions_prepare - duet_i_api.prepare: attach all sessions that may record this program, and make
 * no system call from here on.  See duet/sandbox.h for @flags and the result.
 */
int sessions_prepare(unsigned flags) HIDDEN;
/* session_open_channels - open all channels as s->memory describes them; all values there are checked.  @fd: of
 * that memory, or -1.  Async-signal-safe. */
bool session_open_channels(struct session *s, int fd, uint32_t host_pid) HIDDEN;
/* session_stop_clock - the session's events carry coarse times, and are written without the time
 * stamp counter. */
void session_stop_clock(struct session *s) HIDDEN;

/* sessions_forget - in a child of fork: no session is attached, whatever sites remember. */
void sessions_forget(void) HIDDEN;

/* runtime_read_environment - store the runtime directory and the sessions that the environment
 * names.  False if the path does not fit. */
bool runtime_read_environment(void) HIDDEN;
/* runtime_file - the path of @name in the stored directory.  False if it does not fit. */
bool runtime_file(char *path, size_t size, const char *name) HIDDEN;
/* A session's file, as it was read. */
struct session_file {
	const struct abi_session *session; /* its rules end at rules_size */
	int fd;
	void *memory; /* of a file that does not fit in `small` */
	char small[1024] __attribute__((aligned(8)));
};
/* session_read - read session-<name> in the directory @dir (-1: the stored one).  0 or -errno;
 * session_release frees its memory. */
int session_read(struct session_file *f, int dir, const char *name) HIDDEN;
void session_release(struct session_file *f) HIDDEN;
/* runtime_session_slots - the session in each slot, from directory @dir (-1: the stored one).
 * False if the file does not exist. */
bool runtime_session_slots(struct abi_session_slots *s, int dir) HIDDEN;
/* session_is_current - whether the session's file still exists; its content may have changed. */
bool session_is_current(const struct session_file *f, int dir) HIDDEN;

/* This process, as far as rules test it. */
struct self {
	struct selector selector; /* points into names */
	struct utsname names;
	char cgroup[512]; /* "" if the path is longer */
};
/* selector_of_self - read the properties for the letters (selector_letters); some cost system
 * calls. */
void selector_of_self(struct self *s, uint32_t letters) HIDDEN;

/*
 * session_current - the session of @epoch in @session_slot, attached now if need be; NULL if that
 * fails.
 *
 * Async-signal-safe.  It takes at most about a second; after a failure it returns at once for a
 * second, and then waits less.
 */
struct session *session_current(uint32_t session_slot, uint64_t epoch) HIDDEN;
/* session_attach_early - attach before there is an event: with a shorter timeout, and not again
 * after a failure.  The first event tries again. */
struct session *session_attach_early(const struct abi_session *f) HIDDEN;
/* session_attach_now - the same on request: also after a failure. */
struct session *session_attach_now(const struct abi_session *f) HIDDEN;

/*
 * session_expect - request the memory of a session that will certainly record an event of @o, and do not
 * wait for the answer: session_attach_early() does, for that session.
 *
 * @dir: the runtime directory, where the file of the control page exists and is locked.
 *
 * Requests at most one.  Under process_lock, as session_attach_early() and session_expect_none().
 */
void session_expect(int dir, const struct object *o) HIDDEN;
/* session_request_early - the same for session @f. */
void session_request_early(const struct abi_session *f) HIDDEN;
/* session_expect_none - drop a request whose answer was not received, if it is that of session @epoch; 0:
 * of any. */
void session_expect_none(uint64_t epoch) HIDDEN;

/* session_connect - a connection to the collector of session @name, or -1.  Waits until @until_ns
 * (CLOCK_MONOTONIC_COARSE) at most. */
int session_connect(const char *name, int64_t until_ns) HIDDEN;

/*
 * sessions_detach - in a child of fork: the event that this thread may be writing is not the
 * child's.  The mappings become private memory, in which the child may finish it.  A second mapping
 * of each pool, without a writer, is kept for a child that will not be able to attach.
 */
void sessions_detach(void) HIDDEN;
/* sessions_inherit - keep these second mappings; the only thread calls it. */
void sessions_inherit(void) HIDDEN;

/* calls_wanted - a session records calls of functions of this program: inproc/calls.  In a
 * constructor, without process_lock.  NULL where libduet is built without it. */
void calls_wanted(void) HIDDEN __attribute__((weak));

extern const struct duet_i_api duet_api HIDDEN;

#endif
