/* SPDX-License-Identifier: MIT */
/* collect/recorder.c - see recorder.h. */
#include "collect/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "collect/files.h"
#include "collect/filters.h"
#include "collect/keeper.h"
#include "collect/maps.h"
#include "collect/requests.h"
#include "collect/resume.h"
#include "collect/session.h"
#include "collect/snapshot.h"
#include "collect/streams.h"
#include "collect/wanted.h"
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
	struct filters filters;
	struct wanted wanted;
	struct session session;
	struct streams *streams;
	struct kernel *kernel;
	struct command command;
	struct snapshot_maker snapshot;
	int epoll, timer, signals;
	FILE *clock_file;
	struct maps *maps; /* NULL: none */
	uint64_t begin_ns;
	uint64_t partial_ns; /* when open chunks were last read */
	struct kept *kept; /* what must outlive us */
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
	return clock_now_ns(&r->session.clock);
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
		files_add_clock(r->clock_file, &r->session.clock);
}

static int open_kernel(struct recorder *r, uint64_t offset_ns)
{
	char path[512];
	struct kernel_options k = { .path = path,
				    .clock = &r->session.clock,
				    .clock_offset_ns = offset_ns,
				    .patterns = r->o.kernel_events,
				    .n_patterns = r->o.n_kernel_events,
				    .whole_machine = r->o.kernel_whole_machine,
				    .overwrite = r->o.flight_recorder,
				    .quota = r->o.quota };

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

/* An event that no filter lets pass is not lost, but somebody waits for it in vain.  Who joins is looked
 * at before it goes on: it may be gone in a millisecond, and its page with it. */
static void check_filters(void *arg, pid_t pid)
{
	struct recorder *r = arg;
	struct diag d = { "" };

	if (filters_check(&r->filters, &r->session, pid, 0, &d))
		note_trouble(r, &d);
}

static int open_parts(struct recorder *r, struct diag *d)
{
	struct session_channel channels[ABI_CHANNELS];
	struct session_options so = { .name = r->o.session,
				      .channels = channels,
				      .n_channels = (uint32_t)r->o.n_channels,
				      .clock_kind = r->o.clock_kind };
	struct clock_reading c;
	uint64_t offset_ns;
	int err;

	for (int i = 0; i < r->o.n_channels; i++)
		channels[i] = r->o.channels[i].channel;
	err = session_open(&r->session, &so, d);
	if (!err)
		err = wanted_rules(&r->wanted, d);
	if (err)
		return err;
	apps_sweep(r->session.dir);
	clock_read(&r->session.clock, &c);
	offset_ns = c.realtime_ns - clock_ns(&r->session.clock, c.ticks);
	r->clock_file = files_open_clock(r->o.path, &r->session.clock);
	r->maps = maps_open(r->o.path);
	err = files_open_application(&r->streams, &r->session, r->o.path, 1, offset_ns, d);
	if (!err)
		streams_limit(r->streams, r->o.quota);
	if (!err && r->o.kernel)
		err = want_kernel(r, offset_ns, d);
	r->snapshot = (struct snapshot_maker){ .session = &r->session,
					       .names = r->streams,
					       .maps = r->maps,
					       .kernel = r->o.flight_recorder ? r->kernel : NULL,
					       .lost_outside = &r->kept->lost_outside,
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

	*out = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory");
	r->o = *o;
	r->kept = keeper_memory();
	if (!r->kept) {
		free(r);
		return diag_fail(d, -ENOMEM, "no memory");
	}
	r->session.dir = r->session.memory_fd = r->session.listen_fd = -1;
	r->epoll = r->timer = r->signals = -1;
	r->command.pid = -1;
	raise_limits(r);
	r->made_directory = access(o->path, F_OK);
	err = make_directory(o->path, d);
	r->owns_directory = !err;
	if (!err)
		err = wanted_open(&r->wanted, &r->o, &r->session, &r->filters, d);
	if (!err)
		err = open_parts(r, d);
	r->session.on_join = check_filters;
	r->session.on_join_arg = r;
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

static void block_signals(struct recorder *r)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP); /* the terminal is gone: nobody can say Ctrl-C any more */
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->mask_changed = true;
}

static int open_loop(struct recorder *r, struct diag *d)
{
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	if (!r->o.keep) { /* else the keeper's */
		sigaddset(&mask, SIGINT);
		sigaddset(&mask, SIGHUP);
		sigaddset(&mask, SIGCHLD);
	}
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
		err = wanted_enable(&r->wanted, r->o.pids[i], r->kernel, d);
	if (!err && !r->o.command && !r->o.n_pids)
		err = wanted_enable(&r->wanted, 0, r->kernel, d);
	if (err)
		return err;
	check_filters(r, 0);
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
	int used;

	session_supply(&r->session, partial); /* first: what writers fill between two passes counts */
	used = streams_pass(r->streams, partial, &d);
	if (used < 0)
		note_trouble(r, &d);
	if (partial) {
		streams_reclaim(r->streams);
		record_clocks(r);
		maps_again(r->maps, now);
		r->kept->lost_outside += apps_bury(r->session.dir, r->session.file.name);
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
	const struct requests all = { .session = &r->session,
				      .filters = &r->filters,
				      .snapshot = &r->snapshot,
				      .streams = r->streams,
				      .kernel = r->kernel,
				      .path = r->o.path,
				      .begin_ns = r->begin_ns,
				      .lost_outside = r->kept->lost_outside };

	requests_answer(&all, m);
}

static void on_door(struct recorder *r, int i)
{
	uint64_t at_ns = now_ns(r); /* before the program can record anything */
	struct session_message m;
	enum session_event e;

	if (r->session.doors[i].fd < 0)
		return;
	e = session_hear(&r->session, i, &m);
	r->kept->n_joined = r->session.n_joined;
	if (e == SESSION_JOINED)
		maps_join(r->maps, m.pid, m.join.pid, at_ns);
	if (e == SESSION_JOINED)
		streams_process(r->streams, at_ns, m.join.pid, m.join.program);
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

/* The programs that live, for the new trace: who joined and was not written down is among them. */
static int note_program(void *arg, struct app *a)
{
	struct recorder *r = arg;

	if (!strcmp(a->page.session, r->session.file.name))
		streams_process(r->streams, now_ns(r), a->page.pid, a->page.program);
	return 0;
}

static int resume_kernel(struct recorder *r, struct diag *d)
{
	char path[PATH_MAX];
	int err;

	if (!r->kernel)
		return 0;
	err = files_kernel_path(path, sizeof path, r->o.path, r->kept->n_lives, d);
	return err ? err : kernel_resume(r->kernel, path, d);
}

/* The worker before us was killed: what it held is as the keeper had it at the start, what it wrote lies
 * there, and what it knew is in shared memory. */
static int resume(struct recorder *r, struct diag *d)
{
	uint32_t life = r->kept->n_lives;
	int err;

	streams_close(r->streams);
	r->streams = NULL;
	r->session.n_joined = r->kept->n_joined;
	err = resume_session(&r->session, d);
	if (!err)
		err = filters_resume(&r->filters, r->session.n_filters, d);
	if (!err)
		err = resume_files(&r->session, r->o.path, life, d);
	if (!err)
		err = files_open_application(&r->streams, &r->session, r->o.path, life,
					     r->snapshot.clock_offset_ns, d);
	r->snapshot.names = r->streams;
	if (!err)
		streams_limit(r->streams, r->o.quota);
	if (!err)
		apps_each(r->session.dir, 0, note_program, r);
	return err ? err : resume_kernel(r, d);
}

/* From here on, with the option, in a process of its own. */
static int become_worker(struct recorder *r, struct diag *d)
{
	int life = r->o.keep ? keeper_start(r->kept, d) : 1;

	if (life < 0)
		return life;
	return life > 1 ? resume(r, d) : 0;
}

int recorder_run(struct recorder *r, struct diag *d)
{
	struct epoll_event e[16];
	int err;

	block_signals(r);
	err = start(r, d);
	if (!err)
		err = become_worker(r, d);
	if (!err)
		err = open_loop(r, d);
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
	int err = 0, flight_err, finish_err;

	session_withdraw(&r->session);
	r->kept->lost_outside += apps_release(r->session.dir, r->session.file.name, r->session.file.epoch);
	if (!r->streams)
		return 0; /* it could not be resumed: that is told already */
	/* Each pass frees chunks that let the next one go on in order; a few see the end. */
	for (int i = 0; i < 8 && err >= 0; i++)
		err = streams_pass(r->streams, true, d);
	err = err < 0 ? err : 0;
	flight_err = streams_flight(r->streams, err ? NULL : d);
	err = err ? err : flight_err;
	finish_err = streams_finish(r->streams, r->kept->lost_outside, err ? NULL : d);
	r->result.app_unwritten = streams_unwritten(r->streams);
	r->result.app_bytes = streams_bytes(r->streams);
	r->result.app_lost = r->kept->lost_outside;
	for (uint32_t i = 0; i < r->session.n_channels; i++) {
		r->result.channel_lost[i] = streams_lost(r->streams, i);
		r->result.app_lost += r->result.channel_lost[i];
	}
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
	streams_close(r->streams);
	session_close(&r->session);
	if (r->clock_file)
		fclose(r->clock_file);
	maps_close(r->maps);
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
		maps_again(r->maps, now_ns(r));
		if (r->kernel)
			kernel_err = finish_kernel(r, d);
		err = finish_apps(r, d);
		record_clocks(r);
	} else if (r->session.dir >= 0) {
		session_withdraw(&r->session);
		apps_release(r->session.dir, r->session.file.name, r->session.file.epoch);
	}
	r->result.programs = r->kept->n_joined;
	r->result.lives = r->kept->n_lives;
	r->result.status = r->command.status;
	close_all(r);
	if (r->owns_directory && !r->begin_ns)
		remove_files(r);
	if (result)
		*result = r->result;
	keeper_forget(r->kept);
	filters_fini(&r->filters);
	wanted_close(&r->wanted);
	free(r);
	return err ? err : kernel_err;
}
