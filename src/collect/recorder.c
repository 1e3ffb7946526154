/* SPDX-License-Identifier: MIT */
/* collect/recorder.c - see recorder.h. */
#include "collect/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "collect/apps.h"
#include "collect/command.h"
#include "collect/drain.h"
#include "collect/files.h"
#include "collect/session.h"
#include "collect/snapshot.h"
#include "kernel/kernel.h"

enum {
	PERIOD_MS = 20,
	BUSY_PERIOD_MS = 2,
	BUSY_PERCENT = 10, /* of the pool in use: look more often */
	PARTIAL_NS = 1000000000, /* how long an open chunk may stay unread */
	LOST_WAKEUP_MS = 1000, /* should the timer, or a signal, fail us */
};
enum { ON_TIMER = SESSION_DOORS, ON_SIGNAL, ON_LISTEN };

struct recorder {
	struct recorder_options o;
	bool all_events; /* by default, not by name */
	struct session session;
	struct drain *drain;
	struct kernel *kernel;
	struct command command;
	struct snapshot_maker snapshot;
	int epoll, timer, signals;
	FILE *clock_file;
	uint64_t begin_ns;
	uint64_t partial_ns; /* when open chunks were last read */
	uint64_t lost_outside; /* by programs that could not join, and are gone */
	uint32_t period_ms;
	bool stop;
	uint32_t interrupts;
	sigset_t old_mask;
	bool mask_changed;
	struct sigaction old_file_size;
	struct rlimit old_files;
	bool owns_directory; /* it was empty, */
	bool made_directory; /* or not there */
	struct recorder_result result;
};

static void note_trouble(struct recorder *r, const struct diag *d)
{
	if (!r->result.trouble.text[0])
		r->result.trouble = *d;
}

static uint64_t now_ns(const struct recorder *r)
{
	return clock_now_ns(&r->session.pool.clock);
}

/* ---------------------------------------------------------------- opening */

/* A recording is never mixed with another: the directory is new, or empty. */
static int make_directory(const char *path, struct diag *d)
{
	int err = io_make_dirs(path);

	if (err)
		return diag_fail(d, err, "cannot make %s: %s", path, strerror(-err));
	return files_are_none(path) ? 0
				    : diag_fail(d, -ENOTEMPTY,
						"%s is not empty: give another directory with -o, or remove it",
						path);
}

static void record_clocks(struct recorder *r)
{
	if (r->clock_file)
		files_add_clock(r->clock_file, &r->session.pool.clock);
}

static int open_kernel(struct recorder *r, uint64_t offset_ns)
{
	char path[512];
	struct kernel_options k = { .path = path,
				    .clock = &r->session.pool.clock,
				    .clock_offset_ns = offset_ns,
				    .patterns = r->o.kernel_events,
				    .n_patterns = r->o.n_kernel_events,
				    .whole_machine = r->o.kernel_whole_machine,
				    .overwrite = r->o.flight_recorder };

	if (snprintf(path, sizeof path, "%s/kernel", r->o.path) >= (int)sizeof path)
		return diag_fail(&r->result.kernel_reason, -ENAMETOOLONG, "the path is too long");
	return kernel_open(&r->kernel, &k, &r->result.kernel_reason);
}

/* What was asked for by name is missed with an error, the default with a note. */
static int want_kernel(struct recorder *r, uint64_t offset_ns, struct diag *d)
{
	int err = open_kernel(r, offset_ns);

	if (err && (r->o.n_kernel_events || r->o.kernel_whole_machine))
		return diag_fail(d, err, "%s", r->result.kernel_reason.text);
	return 0;
}

static int open_parts(struct recorder *r, struct diag *d)
{
	struct session_options so = { .name = r->o.session,
				      .pool_bytes = r->o.buffer_bytes,
				      .flight_recorder = r->o.flight_recorder,
				      .clock_kind = r->o.clock_kind,
				      .rules = r->o.events,
				      .n_rules = r->o.n_events };
	struct clock_reading c;
	uint64_t offset_ns;
	int err;

	if (r->o.n_pids)
		so.n_rules = 0; /* only these programs, and they are running */
	err = session_open(&r->session, &so, d);
	if (err)
		return err;
	apps_sweep(r->session.dir);
	clock_read(&r->session.pool.clock, &c);
	offset_ns = c.realtime_ns - clock_ns(&r->session.pool.clock, c.ticks);
	r->clock_file = files_open_clock(r->o.path, &r->session.pool.clock);
	err = files_open_application(&r->drain, &r->session.pool, r->o.path, offset_ns, d);
	if (!err && r->o.kernel)
		err = want_kernel(r, offset_ns, d);
	r->snapshot = (struct snapshot_maker){ .pool = &r->session.pool,
					       .names = r->drain,
					       .kernel = r->kernel,
					       .lost_outside = &r->lost_outside,
					       .clock_offset_ns = offset_ns,
					       .output = r->o.path };
	return err;
}

/* A file for each stream and its index: on large machines more than the usual 1024.  One that grows
 * beyond `ulimit -f` is like a full disk, not deadly.  The command gets what we had. */
static void raise_limits(struct recorder *r)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit most;

	sigaction(SIGXFSZ, &ignore, &r->old_file_size);
	getrlimit(RLIMIT_NOFILE, &r->old_files);
	most = (struct rlimit){ r->old_files.rlim_max, r->old_files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &most);
}

int recorder_open(struct recorder **out, const struct recorder_options *o, struct diag *d)
{
	struct recorder *r = calloc(1, sizeof *r);
	int err;

	static const char *const everything[] = { "*" };

	*out = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory");
	r->o = *o;
	r->all_events = !o->n_events && !o->no_default_events;
	if (r->all_events) {
		r->o.events = everything;
		r->o.n_events = 1;
	}
	r->session.dir = r->session.pool_fd = r->session.listen_fd = -1;
	r->epoll = r->timer = r->signals = -1;
	r->command.pid = -1;
	raise_limits(r);
	r->made_directory = access(o->path, F_OK);
	err = make_directory(o->path, d);
	r->owns_directory = !err;
	if (!err)
		err = open_parts(r, d);
	if (err)
		recorder_finish(r, NULL, NULL);
	else
		*out = r;
	return err;
}

/* ---------------------------------------------------------------- starting */

static int watch(struct recorder *r, int fd, uint32_t what, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) ? diag_errno(d, "epoll") : 0;
}

static void set_period(struct recorder *r, uint32_t ms)
{
	struct itimerspec t = { { 0, (long)ms * 1000000 }, { 0, (long)ms * 1000000 } };

	if (r->period_ms != ms)
		timerfd_settime(r->timer, 0, &t, NULL);
	r->period_ms = ms;
}

static int open_loop(struct recorder *r, struct diag *d)
{
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP); /* the terminal is gone: nobody can say Ctrl-C any more */
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->mask_changed = true;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 || r->signals < 0)
		return diag_errno(d, "cannot set up the collector's loop");
	set_period(r, PERIOD_MS);
	err = watch(r, r->timer, ON_TIMER, d);
	if (!err)
		err = watch(r, r->signals, ON_SIGNAL, d);
	if (!err)
		err = watch(r, r->session.listen_fd, ON_LISTEN, d);
	return err;
}

static int start_kernel(struct recorder *r, struct diag *d)
{
	int err = 0;

	if (!r->kernel)
		return 0;
	if (r->command.pid > 0)
		err = kernel_add_pid(r->kernel, r->command.pid, d);
	for (int i = 0; i < r->o.n_pids && !err; i++)
		err = kernel_add_pid(r->kernel, r->o.pids[i], d);
	if (!err)
		err = kernel_start(r->kernel, d);
	r->result.kernel_recorded = !err;
	return err;
}

/* Applies the patterns, in order, to one running program, or to all. */
static int enable_running(struct recorder *r, pid_t pid, struct diag *d)
{
	struct apps_switched total = { 0 };

	for (int i = 0; i < r->o.n_events; i++) {
		const char *p = r->o.events[i];
		bool excludes = *p == '!';
		struct apps_switched s =
			apps_switch(r->session.dir, pid, p + excludes, !excludes,
				    r->session.file.name, r->session.file.epoch);

		total.events += s.events;
		total.busy += s.busy;
		if (pid && !s.events && !s.busy && !r->all_events)
			return diag_fail(d, -ENOENT,
					 "%s: process %d has no such event (duet list -p %d shows its events)",
					 p, (int)pid, (int)pid);
	}
	if (pid && total.busy)
		return diag_fail(d, -EBUSY, "process %d is being recorded by another session",
				 (int)pid);
	if (pid && !total.events && !r->kernel)
		return diag_fail(d, -ENOENT,
				 "process %d has no duet events, and the kernel is not recorded",
				 (int)pid);
	return 0;
}

static int start(struct recorder *r, struct diag *d)
{
	int err = 0;

	if (r->o.command) {
		struct command_options c = { .argv = r->o.command,
					     .session = r->o.session,
					     .library = r->o.library,
					     .preload = r->o.preload,
					     .mask = &r->old_mask,
					     .files = &r->old_files,
					     .file_size = &r->old_file_size };

		err = command_prepare(&r->command, &c, d);
	}
	if (!err)
		err = start_kernel(r, d);
	/* From here on programs ask for the pool, and do not wait long. */
	if (!err)
		err = session_publish(r->session.dir, &r->session.file, d);
	for (int i = 0; i < r->o.n_pids && !err; i++)
		err = enable_running(r, r->o.pids[i], d);
	if (!err && !r->o.command && !r->o.n_pids)
		err = enable_running(r, 0, d);
	if (err)
		return err;
	record_clocks(r);
	r->begin_ns = r->partial_ns = now_ns(r);
	return r->o.command ? command_release(&r->command, d) : 0;
}

/* ---------------------------------------------------------------- the loop */

static void drain_all(struct recorder *r)
{
	uint64_t now = now_ns(r);
	bool partial = now - r->partial_ns > PARTIAL_NS;
	struct diag d = { "" };
	int used = 0;

	if (!r->o.flight_recorder)
		used = drain_pass(r->drain, partial, &d);
	if (used < 0)
		note_trouble(r, &d);
	if (partial) {
		if (r->o.flight_recorder)
			drain_reclaim(r->drain);
		record_clocks(r);
		r->lost_outside += apps_bury(r->session.dir, r->session.file.name);
		r->partial_ns = now;
	}
	if (r->kernel && !r->o.flight_recorder) {
		d.text[0] = 0;
		if (kernel_poll(r->kernel, &d) || d.text[0])
			note_trouble(r, &d);
	}
	session_expire(&r->session, clock_monotonic_ns());
	set_period(r, used > BUSY_PERCENT ? BUSY_PERIOD_MS : PERIOD_MS);
}

static void on_timer(struct recorder *r)
{
	uint64_t ticks;

	(void)!read(r->timer, &ticks, sizeof ticks);
	drain_all(r);
	r->stop |= command_has_ended(&r->command);
}

static void on_signal(struct recorder *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP)
			r->stop = true;
		else if (s.ssi_signo == SIGINT && (r->command.pid <= 0 || ++r->interrupts > 1))
			r->stop = true;
		else if (s.ssi_signo == SIGCHLD && command_has_ended(&r->command))
			r->stop = true;
	}
}

static void on_request(struct recorder *r, const struct session_message *m)
{
	struct control_line request;
	char verb[32];

	if (control_parse(&request, m->text, strlen(m->text)) ||
	    !control_text(&request, "verb", verb, sizeof verb))
		control_refuse(m->fd, false, "not a request: {\"verb\":...} expected");
	else if (strcmp(verb, "snapshot"))
		control_refuse(m->fd, false, "no such verb");
	else if (!r->o.flight_recorder)
		control_refuse(m->fd, false,
			       "it is not a flight recorder: only one started with --overwrite keeps events "
			       "in memory");
	else if (snapshot_is_open(&r->snapshot))
		control_refuse(m->fd, true, "another snapshot is being written");
	else
		return snapshot_begin(&r->snapshot, &request, m->fd, m->passed);
	close(m->fd);
	if (m->passed >= 0)
		close(m->passed);
}

static void on_door(struct recorder *r, int i)
{
	uint64_t at_ns = now_ns(r); /* before the program can record anything */
	struct session_message m;
	enum session_event e;

	if (r->session.doors[i].fd < 0)
		return;
	e = session_hear(&r->session, i, &m);
	if (e == SESSION_JOINED)
		drain_process(r->drain, at_ns, m.join.pid, m.join.program);
	else if (e == SESSION_ASKED)
		on_request(r, &m);
}

/* So many at a time: a crowd at the door keeps nobody from the timer. */
static void on_listen(struct recorder *r)
{
	for (int n = 0; n < SESSION_DOORS; n++) {
		int i = session_accept(&r->session, clock_monotonic_ns());

		if (i < 0)
			return;
		watch(r, r->session.doors[i].fd, (uint32_t)i, NULL);
		on_door(r, i); /* who connects asks at once */
	}
}

int recorder_run(struct recorder *r, struct diag *d)
{
	struct epoll_event e[16];
	int err = open_loop(r, d);

	if (!err)
		err = start(r, d);
	while (!err && !r->stop) {
		int n = epoll_wait(r->epoll, e, 16, snapshot_is_open(&r->snapshot) ? 0 : LOST_WAKEUP_MS);

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "epoll_wait");
		if (snapshot_is_open(&r->snapshot))
			snapshot_step(&r->snapshot);
		else if (!n)
			on_timer(r);
		for (int i = 0; i < n; i++) {
			if (e[i].data.u32 == ON_TIMER)
				on_timer(r);
			else if (e[i].data.u32 == ON_SIGNAL)
				on_signal(r);
			else if (e[i].data.u32 == ON_LISTEN)
				on_listen(r);
			else
				on_door(r, (int)e[i].data.u32);
		}
	}
	return err;
}

/* ---------------------------------------------------------------- the end */

static int finish_apps(struct recorder *r, struct diag *d)
{
	int err, finish_err;

	session_withdraw(&r->session);
	r->lost_outside += apps_release(r->session.dir, r->session.file.name, r->session.file.epoch);
	if (r->o.flight_recorder)
		err = drain_flight(r->drain, d);
	else
		/* Each pass frees chunks that let the next one go on in order; a few see the end. */
		for (int i = 0, used = 0; i < 8; i++) {
			used = drain_pass(r->drain, true, d);
			err = used < 0 ? used : 0;
			if (err)
				break;
		}
	finish_err = drain_finish(r->drain, r->lost_outside, err ? NULL : d);
	r->result.app_unwritten = drain_unwritten(r->drain);
	r->result.app_bytes = drain_bytes(r->drain);
	r->result.app_lost = drain_lost(r->drain) + r->lost_outside;
	return err ? err : finish_err;
}

static int finish_kernel(struct recorder *r, struct diag *d)
{
	int err = kernel_stop(r->kernel, d);
	struct kernel_counts c;

	kernel_counts(r->kernel, &c);
	r->result.kernel_events = c.events;
	r->result.kernel_bytes = c.bytes;
	r->result.kernel_lost = c.lost;
	return err;
}

/* Nothing began: the same command, put right, finds the directory as it was. */
static void remove_files(const struct recorder *r)
{
	files_remove(r->o.path);
	if (r->made_directory)
		rmdir(r->o.path);
}

static void close_all(struct recorder *r)
{
	kernel_close(r->kernel);
	drain_close(r->drain);
	session_close(&r->session);
	if (r->clock_file)
		fclose(r->clock_file);
	if (r->epoll >= 0)
		close(r->epoll);
	if (r->timer >= 0)
		close(r->timer);
	if (r->signals >= 0)
		close(r->signals);
	if (r->mask_changed)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &r->old_files);
	sigaction(SIGXFSZ, &r->old_file_size, NULL);
}

int recorder_finish(struct recorder *r, struct recorder_result *result, struct diag *d)
{
	int err = 0, kernel_err = 0;

	if (!r)
		return 0;
	command_abandon(&r->command);
	while (snapshot_is_open(&r->snapshot))
		snapshot_step(&r->snapshot);
	if (r->begin_ns) {
		r->result.duration_ns = now_ns(r) - r->begin_ns;
		if (r->kernel)
			kernel_err = finish_kernel(r, d);
		err = finish_apps(r, d);
		record_clocks(r);
	} else if (r->session.dir >= 0) {
		session_withdraw(&r->session);
		apps_release(r->session.dir, r->session.file.name, r->session.file.epoch);
	}
	r->result.programs = r->session.n_joined;
	r->result.status = r->command.status;
	close_all(r);
	if (r->owns_directory && !r->begin_ns)
		remove_files(r);
	if (result)
		*result = r->result;
	free(r);
	return err ? err : kernel_err;
}
