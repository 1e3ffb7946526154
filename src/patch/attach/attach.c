/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/attach.c - the steps of attaching to a process.
 *
 *   1. a thread that may make calls is found and stopped      safe.c
 *   2. it loads libduet, unless that is there; others run     guest.c
 *   3. all others are stopped, outside of the windows         world.c
 *   4. the thread calls libduet, which applies the plans
 *   5. all continue
 *
 * A child of ours does it.  When that ends, for whatever reason, the kernel lets every thread go,
 * also one in uninterruptible sleep that we could not detach from.  It blocks signals, so that
 * Ctrl-C at the terminal does not end it halfway.
 */
#include "patch/attach/internal.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WAIT_MS = 2000,
	THREAD_MS = 20, /* for one thread to stop */
	CALL_MS = 5000, /* for libduet to be loaded */
	PREPARE_MS = 10000,
	APPLY_MS = 2000, /* for plans to be applied, all threads stopped */
	STOPS = 5,	 /* attempts to stop all threads in a row */
	TRIED = 32,	 /* threads in one round */
};

/* What libduet needs to know of us: the argument of duet_i_calls_apply. */
#define APPLY_ALL_STOPPED 1u

struct session {
	struct target t;
	struct safe *safe;
	struct windows windows;
	struct world world;
	struct guest *guest;
	struct thread thread; /* the guest's */
};

static int not_now(struct session *s)
{
	return diag_fail(
		s->t.d, -ETIMEDOUT,
		"no moment came at which process %d could be attached to safely\n"
		"  its threads were in malloc, in the dynamic linker, or could not be stopped; "
		"try again",
		(int)s->t.pid);
}

/* ---------------------------------------------------------------- a thread */

static size_t list_threads(pid_t pid, pid_t *tids, size_t most)
{
	struct dirent *e;
	char path[64];
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && n < most && (e = readdir(d))) {
		tids[n] = (pid_t)strtol(e->d_name, NULL, 10);
		n += tids[n] > 0;
	}
	if (d)
		closedir(d);
	return n;
}

static bool try_thread(struct session *s, pid_t tid)
{
	struct thread *h = &s->thread;

	if (thread_seize(h, tid))
		return false;
	if (thread_wait(h, monotonic_ns() + THREAD_MS * 1000000ull) &&
	    safe_thread(s->safe, &s->t, h))
		return true;
	if (h->state == THREAD_ASKED) /* in uninterruptible sleep */
		world_keep(&s->world, h);
	thread_leave(h);
	return false;
}

/* 0: s->guest is ready.  -EAGAIN: no thread now. */
static int find_guest(struct session *s)
{
	pid_t tids[4096];
	size_t n = list_threads(s->t.pid, tids, sizeof tids / sizeof *tids);

	if (!n)
		return diag_fail(s->t.d, -ECHILD, "process %d has ended meanwhile", (int)s->t.pid);
	safe_order(s->t.pid, tids, n);
	for (size_t i = 0; i < n && i < TRIED; i++) {
		if (!try_thread(s, tids[i]))
			continue;
		s->guest = guest_begin(&s->t, &s->thread);
		if (s->guest)
			return 0;
		thread_leave(&s->thread);
	}
	return -EAGAIN;
}

/* ---------------------------------------------------------------- libduet */

static uint64_t ms_from_now(uint32_t ms)
{
	return monotonic_ns() + ms * 1000000ull;
}

static void explain_load(struct session *s)
{
	uint64_t none[3] = { 0 }, at = 0;
	char text[300] = "";

	if (s->t.at.dlerror &&
	    !guest_call(s->guest, s->t.at.dlerror, none, &at, ms_from_now(CALL_MS)) && at)
		for (size_t i = 0; i + 1 < sizeof text; i++)
			if (!memory_read(s->t.mem, at + i, text + i, 1) || !text[i])
				break;
	text[sizeof text - 1] = 0;
	for (char *p = text; *p; p++)
		*p = *p >= ' ' && *p < 127 ? *p : '?';
	diag_fail(s->t.d, -ELIBACC, "process %d cannot load libduet%s%s", (int)s->t.pid,
		  *text ? ": " : "", text);
}

static int load(struct session *s)
{
	uint64_t begin = monotonic_ns(), handle = 0;
	uint64_t a[3] = { guest_text(s->guest, s->t.o->library), RTLD_NOW | RTLD_GLOBAL };
	int err;

	err = guest_call(s->guest, s->t.at.dlopen, a, &handle, ms_from_now(CALL_MS));
	if (err)
		return err;
	if (!handle) {
		explain_load(s);
		return -ELIBACC;
	}
	err = target_look(&s->t);
	if (!err && !s->t.duet)
		err = diag_fail(s->t.d, -ELIBACC, "%s is not called libduet.so.0", s->t.o->library);
	s->t.r->is_loaded = !err;
	s->t.r->load_ns = monotonic_ns() - begin;
	return err;
}

/* All that takes long is done while the other threads run. */
static int prepare(struct session *s)
{
	uint64_t entry = image_symbol(s->t.mem, s->t.duet, "duet_i_calls_prepare", NULL),
		 result = 0;
	const uint64_t a[3] = { 0 };
	int err;

	if (!entry)
		return diag_fail(s->t.d, -ENOTSUP,
				 "libduet in process %d is older than this duet: start the program "
				 "again",
				 (int)s->t.pid);
	err = guest_call(s->guest, entry, a, &result, ms_from_now(PREPARE_MS));
	if (err || !(int)result)
		return err;
	if ((int)result == -ENOENT)
		return diag_fail(s->t.d, -ENODATA, "no session that runs wants calls of process %d",
				 (int)s->t.pid);
	return diag_fail(s->t.d, (int)result == -EAGAIN ? -EBUSY : (int)result,
			 "libduet in process %d cannot record calls: %s", (int)s->t.pid,
			 strerror(-(int)result));
}

/* libduet learns its runtime directory before it looks into its environment. */
static int introduce(struct session *s)
{
	uint64_t entry = image_symbol(s->t.mem, s->t.duet, "duet_i_attached", NULL), result = 0;
	uint64_t a[3] = { 0 };
	int err;

	if (!entry)
		return 0;
	if (s->t.o->runtime && *s->t.o->runtime)
		a[0] = guest_text(s->guest, s->t.o->runtime);
	err = guest_call(s->guest, entry, a, &result, ms_from_now(CALL_MS));
	if (!err && (int)result == -EEXIST)
		return diag_fail(s->t.d, -EEXIST,
				 "libduet in process %d uses another runtime directory than %s\n"
				 "  set DUET_RUNTIME_DIR as it was when the program was started",
				 (int)s->t.pid, s->t.o->runtime);
	if (!err && (int)result)
		return diag_fail(s->t.d, (int)result,
				 "libduet in process %d cannot use its runtime directory%s%s",
				 (int)s->t.pid, s->t.o->runtime ? " " : "",
				 s->t.o->runtime ? s->t.o->runtime : "");
	return err ? err : prepare(s);
}

static int call_apply(struct session *s, uint64_t entry)
{
	uint64_t a[3] = { APPLY_ALL_STOPPED }, result = 0;
	int err = guest_call(s->guest, entry, a, &result, ms_from_now(APPLY_MS));

	s->t.r->applied = (int)result;
	return err;
}

/* All threads stopped, libduet called, all continued.  0, -EAGAIN (not now), or another error. */
static int apply_stopped(struct session *s, uint64_t entry)
{
	uint64_t begin = monotonic_ns();
	int err = world_stop(&s->world, &s->t, &s->windows, &s->thread);

	if (err)
		return err;
	s->t.r->n_threads = 1;
	for (size_t i = 0; i < s->world.n; i++)
		s->t.r->n_threads += s->world.threads[i].state == THREAD_STOPPED;
	err = call_apply(s, entry);
	world_go(&s->world);
	s->t.r->stop_ns = monotonic_ns() - begin;
	return err ? err : s->t.r->applied == -EAGAIN ? -EAGAIN : 0;
}

static int apply(struct session *s)
{
	uint64_t entry = image_symbol(s->t.mem, s->t.duet, "duet_i_calls_apply", NULL);
	int err = windows_read(&s->windows, &s->t);

	if (!err && !world_is_clear(&s->t, &s->windows, guest_registers(s->guest)))
		err = -EAGAIN;
	if (err)
		return err;
	err = -EAGAIN;
	for (unsigned i = 0; i < STOPS && err == -EAGAIN; i++) {
		usleep(i ? 2000 : 0);
		world_release(&s->world);
		err = apply_stopped(s, entry);
	}
	return err;
}

/* ---------------------------------------------------------------- all together */

static int attempt(struct session *s)
{
	int err = target_look(&s->t), end;

	world_release(&s->world);
	if (!err)
		err = find_guest(s);
	if (err)
		return err;
	err = s->t.duet ? 0 : load(s);
	err = err ? err : introduce(s);
	err = err ? err : apply(s);
	end = guest_end(s->guest);
	s->guest = NULL;
	thread_leave(&s->thread);
	return err ? err : end;
}

static int attach(struct session *s)
{
	int err;

	prctl(PR_SET_TIMERSLACK, 1000);
	err = target_look(&s->t);
	if (err)
		return err;
	s->safe = safe_open(&s->t);
	if (!s->safe)
		return diag_fail(s->t.d, -EIO, "cannot read the files of process %d",
				 (int)s->t.pid);
	while ((err = attempt(s)) == -EAGAIN && monotonic_ns() < s->t.deadline_ns)
		usleep(3000);
	return err == -EAGAIN ? not_now(s) : err;
}

/* ---------------------------------------------------------------- the child */

struct answer {
	int err;
	struct attach_result result;
	struct diag reason;
};

/* An exec waits, holding a lock that PTRACE_SEIZE wants too, until all other threads are reaped, by
 * their tracer if they have one.  A timer reaps them while we wait for that lock. */
static void reap_regularly(void)
{
	const struct itimerval every = { { 0, 5000 }, { 0, 5000 } };
	struct sigaction a = { .sa_handler = thread_reap, .sa_flags = SA_RESTART };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &a, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void in_child(pid_t pid, int mem, const struct attach_options *o, struct answer *a)
{
	struct session s = {
		.t = { .pid = pid, .mem = mem, .o = o, .r = &a->result, .d = &a->reason }
	};

	s.t.deadline_ns = ms_from_now(o->wait_ms ? o->wait_ms : WAIT_MS);
	reap_regularly();
	a->err = attach(&s);
	world_fini(&s.world);
	safe_close(s.safe);
	windows_fini(&s.windows);
	maps_fini(&s.t.maps);
}

static int run_child(pid_t pid, int mem, const struct attach_options *o, struct answer *a)
{
	sigset_t all, before;
	int status;
	pid_t child;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	child = fork();
	if (!child) {
		in_child(pid, mem, o, a);
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? 0 : -EIO;
}

int attach_apply(pid_t pid, const struct attach_options *o, struct attach_result *r, struct diag *d)
{
	struct answer *a;
	char path[64];
	int err, mem;

	assert(o);
	err = attach_check(pid, o, d);
	if (err)
		return err;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return diag_errno(d, "cannot open the memory of process %d", (int)pid);
	a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a == MAP_FAILED) {
		close(mem);
		return diag_fail(d, -ENOMEM, "no memory");
	}
	a->err = -EIO;
	err = run_child(pid, mem, o, a);
	if (err)
		err = diag_fail(d, err, "attaching to process %d was ended by a signal", (int)pid);
	else if (a->err)
		err = diag_fail(d, a->err, "%s", a->reason.text);
	if (r)
		*r = a->result;
	munmap(a, sizeof *a);
	close(mem);
	return err;
}
