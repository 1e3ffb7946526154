/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/session.c - which session has this program's calls; when plans are applied.
 *
 *   at the start   a constructor, if libduet is preloaded; else the registration of events, which
 *                  reads the sessions' files anyway.  A program that no session wants calls of pays
 *                  for nothing
 *   by ptrace      duet_i_calls_prepare while threads run, duet_i_calls_apply while they are stopped
 *   dlopen         its hook: calls_objects_changed
 *   a change       the slow path of any hook: calls_poll
 *
 * The lock of calls is taken before process_lock, and never waited for by a hook that a signal may
 * have started.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compose.h"
#include "base/runtime.h"
#include "inproc/calls/apply.h"
#include "inproc/calls/file.h"
#include "inproc/calls/hook/thread.h"
#include "inproc/guest_lock.h"
#include "rules/membership.h"

#define EXPORT __attribute__((visibility("default")))

struct calls calls;

static struct signal_lock lock = SIGNAL_LOCK_FREE;
static void *owner;	/* of the lock: its thread's `calls_here` */
static bool is_stopped; /* the session has ended, and all that was patched is switched off */

static void look_if_free(bool is_late);
static uint32_t look_again; /* a thread found the lock taken: the one that has it looks */

void calls_lock(void)
{
	calls_inside();
	signal_lock_take(&lock);
	store(&owner, &calls_here);
}

void calls_unlock(void)
{
	store(&owner, NULL);
	signal_lock_release(&lock);
	if (load(&look_again))
		look_if_free(true);
	calls_outside();
}

/* In a hook, where signals are blocked already. */
static bool try_lock(void)
{
	return calls.shared && !pthread_mutex_trylock(&lock.mutex);
}

static void leave_try(void)
{
	pthread_mutex_unlock(&lock.mutex);
}

/* ---------------------------------------------------------------- the session */

static bool wants_calls(struct session_file *f, int dir, const struct abi_session_slot *slot)
{
	if (ABI_EPOCH_IS_NONE(slot->epoch) || session_read(f, dir, slot->session))
		return false;
	if (f->session->has_calls &&
	    member_of(process.sessions_named, f->session->name, f->session->is_private))
		return true;
	session_release(f);
	return false;
}

/* The first session in directory @dir that records this program's calls; *@f is released by the
 * caller. */
static bool find_session_in(struct session_file *f, int dir)
{
	struct abi_session_slots slots;
	bool found = false;

	if (runtime_session_slots(&slots, dir))
		for (uint32_t i = 0; i < ABI_SESSIONS && !found; i++)
			found = wants_calls(f, dir, &slots.at[i]);
	return found;
}

/* The same in the stored directory, which is checked first. */
static bool find_session(struct session_file *f)
{
	bool found;
	int dir;

	if (!process.directory[0] && !runtime_read_environment())
		return false;
	dir = runtime_dir_open_at(process.directory, false);
	if (dir < 0)
		return false;
	found = find_session_in(f, dir);
	syscall(SYS_close, dir);
	return found;
}

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static uint32_t refusal(const struct session *s)
{
	if (!gnu_get_libc_version)
		return ABI_CALLS_LIBC;
	if (process_is_sandboxed())
		return ABI_CALLS_SANDBOX;
	if (!process_has_clock())
		return ABI_CALLS_CLOCK;
	if (!s)
		return ABI_CALLS_SESSION;
	return s->channels[0].pool.clock.kind == ABI_CLOCK_TSC ? ABI_CALLS_RECORDED
							       : ABI_CALLS_CLOCK;
}

static uint64_t boottime_ns(void)
{
	struct timespec t = { 0 };

	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fill_head(struct abi_calls *c, const struct session *s)
{
	c->version = ABI_CALLS_VERSION;
	c->pid = process.pid;
	c->epoch = calls_session.epoch;
	c->clock = s->channels[0].pool.clock;
	c->n_functions = 1;
	c->registered_ns = boottime_ns();
	memcpy(c->session, calls_session.name, sizeof c->session);
	memcpy(c->program, process.control->program, sizeof c->program);
	store_release(&c->magic, ABI_CALLS_MAGIC);
}

/* A file for the session; it takes the place of one for an earlier session. */
static bool make_file(int dir, const struct session *s)
{
	char name[CALLS_FILE_NAME_BYTES];
	struct abi_calls *c = calls_file_make(dir, name);

	if (!c)
		return false;
	fill_head(c, s);
	if (calls.shared && mremap(c, CALLS_FILE_BYTES, CALLS_FILE_BYTES,
				   MREMAP_MAYMOVE | MREMAP_FIXED, calls.shared) != calls.shared) {
		munmap(c, CALLS_FILE_BYTES);
		return false;
	}
	if (!calls.shared)
		store_release(&calls.shared, c);
	return true;
}

/* ---------------------------------------------------------------- fork */

static void after_fork(void)
{
	calls_unlock();
}

bool calls_renew(void)
{
	char name[CALLS_FILE_NAME_BYTES];
	struct abi_calls head = *calls.shared;
	int dir = process_is_sandboxed() ? -1 : runtime_dir_open_at(process.directory, false);
	bool done = dir >= 0 && calls_file_inherit(calls.shared, dir, name);

	if (dir >= 0)
		syscall(SYS_close, dir);
	if (done)
		return true;
	/* Stores must not reach the parent's file. */
	if (mmap(calls.shared, CALLS_FILE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	*calls.shared = head;
	calls.shared->pid = process.pid;
	calls.shared->n_threads = 0;
	return false;
}

/* ---------------------------------------------------------------- the beginning */

/*
 * Attaches the session as the first event of a program would: nothing tries again, so the calls of a
 * program are lost if its collector does not answer now.  Under process_lock.
 */
static struct session *attach_session(const struct abi_session *f)
{
	struct session *s = process_is_sandboxed() ? NULL : session_attach_early(f);

	return s || process_is_sandboxed() ? s : session_current(f->session_slot, f->epoch);
}

/* Opens the control page and maps the session.  Returns the session if its calls can be recorded;
 * the page says why not. */
static struct session *open_session(struct session_file *f, int *dir)
{
	struct session *s;
	uint32_t why;

	process_lock();
	if (!process_open(dir, NULL)) {
		process_unlock();
		return NULL;
	}
	process_renew();
	s = attach_session(f->session);
	why = refusal(s);
	store(&process.control->calls, why);
	process_unlock();
	return why == ABI_CALLS_RECORDED ? s : NULL;
}

static int begin_in(struct session_file *f)
{
	static bool has_handlers;
	bool is_first = !calls.shared;
	int dir = -1, err = -ENOTSUP;
	struct session *s = open_session(f, &dir);

	if (s) {
		calls_session.epoch = f->session->epoch;
		memcpy(calls_session.name, f->session->name, sizeof calls_session.name);
		err = make_file(dir, s) ? 0 : -ENOMEM;
	}
	if (dir >= 0)
		syscall(SYS_close, dir);
	if (!err && is_first && !calls_start())
		err = -ENOMEM;
	else if (!err && !is_first)
		calls_restart();
	if (err == -ENOMEM)
		store(&process.control->calls, ABI_CALLS_MEMORY);
	if (!err && !has_handlers)
		has_handlers = !pthread_atfork(calls_lock, after_fork, after_fork);
	is_stopped = false;
	return err;
}

/*
 * Takes part in the session that wants calls, if there is one, and makes stubs.  -ENOENT: there is
 * none.  Under the lock.
 *
 * @may_restore: all other threads are stopped.  Then nothing is asked of the collector for what was prepared
 * before; -EAGAIN: a library was opened since, and its windows are unknown.
 */
static int prepare(bool may_restore)
{
	struct session_file f;
	bool is_new = false;
	int err = 0;

	if (!find_session(&f))
		return -ENOENT;
	if (!calls.shared || calls.shared->epoch != f.session->epoch) {
		if (calls.shared && !(may_restore && apply_restore()))
			err = -EBUSY; /* stubs have the numbers of another session */
		else
			err = begin_in(&f);
		is_new = true;
	}
	session_release(&f);
	if (!err && may_restore && !is_new)
		return apply_changed() ? -EAGAIN : 0;
	if (!err)
		apply_objects();
	return err;
}

static bool has_one_thread(void)
{
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 3;
}

static bool tried; /* to begin: the registration of our own event comes to calls_wanted too */

void calls_wanted(void)
{
	if (exchange(&tried, true) || getauxval(AT_SECURE))
		return;
	calls_lock();
	if (!prepare(false))
		apply_patch(has_one_thread() ? PATCH_QUIET : PATCH_LIVE);
	calls_unlock();
}

/* Linked programs come here by the registration of their events.  Each preloaded program pays for this,
 * and most have no session that wants calls: the directory is checked later, by those that have one. */
static __attribute__((constructor)) void begin_preloaded(void)
{
	const char *preload = secure_getenv("LD_PRELOAD");
	struct session_file f;

	if (!preload || !strstr(preload, "libduet.so") || !runtime_read_environment() ||
	    !find_session_in(&f, -1))
		return;
	session_release(&f);
	calls_wanted();
}

/* ---------------------------------------------------------------- by ptrace */

enum { APPLY_STOPPED = 1, APPLY_REMOVE = 2 };

/*
 * duet_i_calls_prepare - do all that takes long or needs other threads: attach the session, ask for
 * plans, write stubs.
 *
 * 0, -ENOENT: no session wants this program's calls; another negative errno: the control page's
 * `calls` says why.  In a process with one session before, nothing is done: -EBUSY.
 */
EXPORT int duet_i_calls_prepare(void)
{
	int err;

	store(&tried, true);
	calls_lock();
	err = prepare(false);
	calls_unlock();
	return err;
}

/*
 * duet_i_calls_apply - patch all functions that are wanted and not patched yet.
 *
 * @flags: 1: all other threads are stopped, none of them inside bytes that the plans replace nor in
 * libduet; 2: put all bytes back instead, which needs 1.
 *
 * Returns the number of objects with patched functions, or a negative errno: -EAGAIN: a stopped
 * thread is patching; those of duet_i_calls_prepare.
 */
EXPORT int duet_i_calls_apply(uint32_t flags)
{
	bool stopped = flags & APPLY_STOPPED, remove = flags & APPLY_REMOVE;
	int result;

	if (remove && !stopped)
		return -EINVAL;
	/* A stopped thread never gives the lock back. */
	if (stopped && pthread_mutex_trylock(&lock.mutex))
		return -EAGAIN;
	if (stopped)
		pthread_mutex_unlock(&lock.mutex);
	store(&tried, true);
	calls_lock();
	if (remove)
		result = apply_restore() ? 0 : -EACCES;
	else
		result = prepare(stopped);
	if (!result && !remove)
		result = (int)apply_patch(stopped ? PATCH_QUIET : PATCH_LIVE);
	calls_unlock();
	return result;
}

/* ---------------------------------------------------------------- in hooks */

/* Whether the governor may give the function up: not one that switches recording, or that must be
 * seen for another reason. */
static bool may_elide(const struct target *t, uint32_t site)
{
	return calls_kind_of(t->plan.sites[site].flags) == CALLS_CALL && !process_is_sandboxed();
}

bool calls_unpatch(uint32_t function)
{
	struct target *t;
	uint32_t site;
	bool done;

	if (!try_lock())
		return false;
	t = apply_find(function, &site);
	/* Two threads may have decided. */
	done = t && (load(target_function_state(t, site)) == ABI_FUNCTION_ELIDED ||
		     (may_elide(t, site) && target_give_back(t, site)));
	/* What is forbidden now is so the next time. */
	if (t)
		store(target_function_state(t, site),
		      done ? ABI_FUNCTION_ELIDED : ABI_FUNCTION_KEPT);
	leave_try();
	return done;
}

size_t calls_name(uint32_t function, char *name, size_t size)
{
	struct target *t;
	uint32_t site;

	*name = 0;
	if (!try_lock())
		return 0;
	t = apply_find(function, &site);
	if (t && t->plan.head)
		compose(name, size, t->plan.text + t->plan.sites[site].name, NULL);
	leave_try();
	return strlen(name);
}

void calls_poll(void)
{
	bool over = load(&calls.shared->collect) == 1;

	if (load(&calls.shared->wanted) <= load(&calls.shared->generation) && over == is_stopped)
		return;
	if (process_is_sandboxed() || !try_lock())
		return;
	if (over && !is_stopped) {
		apply_stop();
		is_stopped = true;
	} else if (!over) {
		apply_generation();
		is_stopped = false;
	}
	leave_try();
}

/*
 * The hook runs where the loader's lock may be held, and the thread that has ours may wait for the
 * loader: so it never waits.  The one that has the lock looks again, when libraries that were opened
 * meanwhile may run already: then only what can be patched under threads is.
 */
static void look(bool is_late)
{
	if (is_stopped || !apply_changed())
		return;
	apply_objects();
	if (is_late)
		apply_patch(PATCH_LIVE);
	else
		apply_patch_new();
}

/* Hooks hold the lock for moments only; the few tries are for them. */
static bool take_soon(void)
{
	enum { TRIES = 64 };

	for (int i = 0; i < TRIES; i++) {
		if (!pthread_mutex_trylock(&lock.mutex))
			return true;
		syscall(SYS_sched_yield);
	}
	return false;
}

static void look_if_free(bool is_late)
{
	sigset_t block, before;

	sigfillset(&block);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	store(&look_again, 1);
	while (load(&look_again) && take_soon()) {
		store(&owner, &calls_here);
		store(&look_again, 0);
		look(is_late);
		store(&owner, NULL);
		pthread_mutex_unlock(&lock.mutex);
		is_late = true;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void calls_objects_changed(void)
{
	/* dlopen of our own, to find the unwinder */
	if (!calls.shared || load(&owner) == &calls_here || process_is_sandboxed())
		return;
	calls_inside();
	look_if_free(false);
	calls_outside();
}
