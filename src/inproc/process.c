/* SPDX-License-Identifier: MIT */
/*
 * inproc/process.c - start and end of libduet in a program, and fork.
 *
 * A page that the kernel zeroes in children (MADV_WIPEONFORK) detects each fork, also one past
 * libc.  pthread_atfork alone would miss clone(2).
 */
#include "inproc/process.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/atomic.h"
#include "base/runtime.h"
#include "inproc/context.h"
#include "inproc/thread_counters.h"
#include "inproc/guest_lock.h"
#include "inproc/page.h"
#include "inproc/own_probes.h"
#include "ring/rseq.h"

struct process process;
__thread uint64_t thread_context;
static struct signal_lock lock = SIGNAL_LOCK_FREE;

void process_lock(void)
{
	signal_lock_take(&lock);
}

void process_unlock(void)
{
	signal_lock_release(&lock);
}

static uint32_t seccomp_mode(void)
{
	long mode = syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);

	return mode < 0 ? 0 : (uint32_t)mode;
}

bool process_is_sandboxed(void)
{
	return process.is_prepared || (!process.seccomp_at_start && seccomp_mode());
}

bool process_may_call(void)
{
	if (!process_is_sandboxed())
		return true;
	store(&process.control->dormant, ABI_DORMANT_SECCOMP);
	return false;
}

bool process_has_clock(void)
{
#if defined __x86_64__
	int mode = PR_TSC_ENABLE;

	return syscall(SYS_prctl, PR_GET_TSC, &mode, 0, 0, 0) || mode == PR_TSC_ENABLE;
#else
	return true;
#endif
}

/*
 * A forked child shares its parent's page until it records an event or registers an object.  Most
 * children exec or end before that, and a page of their own would double the cost of fork.
 */
static void before_fork(void)
{
	process_lock();
	probes_lock();
	counters_before_fork();
}

static void after_fork(void)
{
	probes_unlock();
	process_unlock();
}

/*
 * A handler that forks returns into the event that it interrupted, also in the child.  The child's
 * thread has another id than the cached one.  Its pid is stored while the call is still allowed:
 * the child may sandbox itself before its first event.
 */
static void after_fork_in_child(void)
{
	thread_context = 0;
	if (!process_is_sandboxed()) {
		store(&process.guard[GUARD_PID], (uint32_t)syscall(SYS_getpid));
		counters_forked();
		sessions_detach();
	}
	probes_unlock();
	process_unlock();
}

static bool make_guard(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	if (madvise(page, 4096, MADV_WIPEONFORK)) {
		munmap(page, 4096);
		return false;
	}
	process.guard = page;
	process.guard[GUARD_LIFE] = process.incarnation = 1;
	store(process.guard, GUARD_OK);
	return true;
}

/* The request leaves when the page exists: a program without one must not count as recorded.  The collector
 * answers while the rest is made. */
static bool open_first(int dir, const struct object *first)
{
	struct abi_control *c = dir < 0 ? NULL : page_create(dir, process.page_name);

	if (!c)
		return false;
	process.pid = (uint32_t)syscall(SYS_getpid);
	process.seccomp_at_start = seccomp_mode();
	if (first)
		session_expect(dir, first);
	if (!make_guard()) {
		page_drop(c, process.page_name);
		return false;
	}
	rseq_init();
	page_publish(c);
	process.owns_page = true;
	process.control = c;
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
	return true;
}

static bool was_tried; /* to make the control page */

bool process_open(int *dir, const struct object *o)
{
	static bool known;
	bool first = !was_tried;

	*dir = -1;
	was_tried = true;
	if (first)
		known = !getauxval(AT_SECURE) && runtime_read_environment();
	if (!known || (!first && !process.control))
		return false;
	*dir = runtime_dir_open_at(process.directory, first);
	return first ? open_first(*dir, o) : true;
}

int duet_i_attached(const char *runtime)
{
	int err = 0, dir;

	process_lock();
	if (!was_tried && runtime)
		compose(process.directory, sizeof process.directory, runtime, NULL);
	if (!process_open(&dir, NULL))
		err = -ENOTSUP;
	else if (runtime && strcmp(process.directory, runtime))
		err = -EEXIST;
	if (dir >= 0)
		syscall(SYS_close, dir);
	process_unlock();
	return err;
}

/* Puts a page of the child's own at the address of its parent's, where sites point already.  If
 * that fails the child continues with its parent's page. */
static void renew_page(void)
{
	int dir = runtime_dir_open_at(process.directory, true);
	struct abi_control *c = dir < 0 ? NULL : page_create(dir, process.page_name);

	if (dir >= 0)
		syscall(SYS_close, dir);
	if (!c)
		return;
	if (!page_copy(c, process.control))
		return page_drop(c, process.page_name);
	page_publish(c);
	if (page_replace(process.control, c))
		process.owns_page = true;
	else
		page_drop(c, process.page_name);
}

void process_renew(void)
{
	uint32_t forked = GUARD_FORKED;
	bool sandboxed;

	if (!process.control || load(process.guard) != GUARD_FORKED)
		return;
	sandboxed = process_is_sandboxed();
	if (sandboxed && !load(&process.guard[GUARD_PID])) {
		store(&process.control->dormant, ABI_DORMANT_SECCOMP);
		return; /* cloned past libc, or from a sandbox: our pid cannot be known */
	}
	if (!compare_exchange(process.guard, &forked, GUARD_BUSY))
		return;
	/* The child should attach anew, since state words carry the parent's pid.  The old mapping
	 * stays: a signal may have interrupted a writer in it. */
	if (!process.has_detached && !sandboxed)
		sessions_inherit();
	sessions_forget();
	process.has_detached = false;
	store(&process.guard[GUARD_LIFE], ++process.incarnation);
	context_forget();
	process.pid = sandboxed ? load(&process.guard[GUARD_PID]) : (uint32_t)syscall(SYS_getpid);
	thread_context = sandboxed ? thread_context_make()
				   : ABI_CTF_IDS(process.pid, (uint32_t)syscall(SYS_gettid));
	if (!sandboxed)
		renew_page();
	probes_forked();
	store_release(process.guard, GUARD_OK);
}

static bool has_losses(void)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (load(&process.control->session_slots[i].lost))
			return true;
	return false;
}

/* Whether a session records an event of the first page.  It keeps its slot until it has disabled all. */
static bool is_recorded(void)
{
	struct abi_control *c = process.control;
	uint32_t n = load_acquire(&c->n_events);

	for (uint32_t i = 0; i < n && i < ABI_FIRST_EVENTS; i++) {
		uint64_t enabled = load(&c->events[i].enabled);

		for (uint32_t k = 0; k < ABI_SESSIONS; k++)
			if (ABI_ENABLED(enabled, k) &&
			    ABI_ENABLED(enabled, k) ==
				    ABI_GENERATION(load(&c->session_slots[k].epoch)))
				return true;
	}
	return false;
}

/* Whether a collector compares the page with what its session asks for (collect/findings/seen.h).
 * A session that records everything asks only whether all events had room. */
static bool is_awaited(void)
{
	struct abi_session_slots s;
	bool found = false;
	int dir;

	if ((!process.has_patterns && !process.control->n_refused) || process_is_sandboxed())
		return false;
	if (is_recorded())
		return true;
	dir = runtime_dir_open(false);
	if (dir < 0)
		return false;
	if (runtime_session_slots(&s, dir))
		for (uint32_t i = 0; i < ABI_SESSIONS; i++)
			found |= !ABI_EPOCH_IS_NONE(s.at[i].epoch);
	syscall(SYS_close, dir);
	return found;
}

/* The program removes its page at its end, unless a collector reads it first: for the losses that it
 * counts, or for its events.  The next duet command removes the page of a killed program. */
static __attribute__((destructor)) void process_close(void)
{
	if (process.is_prepared)
		return; /* this exit may be allowed one system call only */
	if (process.owns_page && load(process.guard) == GUARD_OK &&
	    process.control->pid == (uint32_t)syscall(SYS_getpid) && !has_losses() && !is_awaited())
		page_remove(process.page_name);
}
