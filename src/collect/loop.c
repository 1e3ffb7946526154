/* SPDX-License-Identifier: MIT */
/*
 * collect/loop.c - epoll, a signalfd and three timers that drive a collector.
 *
 * Timers are checked in every turn, so that a flood of events cannot delay them.  A turn reads a
 * bounded number of messages.
 */
#include "collect/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock/clock.h"
#include "collect/rotate.h"

enum { MOST_MS = 1000, SECOND_MS = 1000, MS = 1000000 };
enum {
	READ_MOST = 64,
	READ_NS = 10 * MS
}; /* limits of one turn, so that timers, signals and new connections are served too */
enum { ON_SIGNAL = SESSION_CONNECTIONS, ON_KERNEL, ON_LISTEN, ON_PID, N_WATCHED };

/* A periodic timer, checked in each turn. */
struct timer {
	uint32_t period_ms; /* 0: off */
	uint64_t due_ns;    /* of monotonic_ns */
};

struct loop {
	struct collector *collector;
	struct command *command;
	bool keep;
	int epoll, signals;
	int *pids; /* descriptors of the processes that it ends with */
	int n_pids, n_alive;
	struct timer pass, watch, second;
};

static int watch(struct loop *l, int fd, uint32_t what, uint32_t events, struct diag *d)
{
	struct epoll_event e = { .events = events, .data.u32 = what };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) ? diag_errno(d, "epoll") : 0;
}

static void set_period(struct timer *t, uint32_t ms, uint64_t now_ns)
{
	if (t->period_ms != ms)
		t->due_ns = now_ns + (uint64_t)ms * MS;
	t->period_ms = ms;
}

static bool is_due(struct timer *t, uint64_t now_ns)
{
	if (!t->period_ms || now_ns < t->due_ns)
		return false;
	t->due_ns = now_ns + (uint64_t)t->period_ms * MS;
	return true;
}

/* For epoll_wait: ms until the timer is due, at most @ms. */
static int left_ms(const struct timer *t, uint64_t now_ns, int ms)
{
	uint64_t left_ns = t->due_ns > now_ns ? t->due_ns - now_ns : 0;

	return t->period_ms && left_ns < (uint64_t)ms * MS ? (int)((left_ns + MS - 1) / MS) : ms;
}

/*
 * With a size limit for trace chunks the kernel's buffers are polled, because waiting until they
 * are full would exceed it.
 */
static void watch_kernel(struct loop *l)
{
	struct collector *c = l->collector;

	c->kernel_wakes_driver = c->kernel && !c->o->flight_recorder && !rotate_has_size(c) &&
				 !kernel_wake(c->kernel, l->epoll, ON_KERNEL);
}

/* A process that cannot be watched is one that has ended; a thread, before Linux 6.9, is one that
 * never does. */
static int watch_pids(struct loop *l, struct diag *d)
{
	const struct recorder_options *o = l->collector->o;
	int err = 0;

	if (!o->ends_with_pids || !o->n_pids)
		return 0;
	l->pids = calloc((size_t)o->n_pids, sizeof *l->pids);
	if (!l->pids)
		return diag_fail(d, -ENOMEM, "no memory for the collector's loop");
	for (int i = 0; i < o->n_pids && !err; i++) {
		int fd = (int)syscall(SYS_pidfd_open, o->pids[i], 0);

		if (fd >= 0)
			l->pids[l->n_pids++] = fd;
		l->n_alive += fd >= 0 || errno != ESRCH;
		err = fd < 0 ? 0 : watch(l, fd, ON_PID, EPOLLIN | EPOLLONESHOT, d);
	}
	l->collector->stop |= !err && !l->n_alive;
	return err;
}

static int open_loop(struct loop *l, bool keep, struct diag *d)
{
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	if (!keep) { /* otherwise the supervisor receives them */
		sigaddset(&mask, SIGINT);
		sigaddset(&mask, SIGHUP);
	}
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->epoll < 0 || l->signals < 0)
		return diag_errno(d, "cannot set up the collector's loop");
	err = watch(l, l->signals, ON_SIGNAL, EPOLLIN, d);
	if (!err)
		err = watch(l, l->collector->session.listen_fd, ON_LISTEN, EPOLLIN, d);
	if (!err && l->collector->session.client_fd >= 0)
		err = watch(l, l->collector->session.client_fd, ON_LISTEN, EPOLLIN, d);
	if (!err)
		err = watch_pids(l, d);
	if (!err)
		watch_kernel(l);
	return err;
}

static void close_loop(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->signals >= 0)
		close(l->signals);
	for (int i = 0; i < l->n_pids; i++)
		close(l->pids[i]);
	free(l->pids);
}

static void check_command(struct loop *l)
{
	if (command_has_ended(l->command))
		collector_ended(l->collector);
}

static void on_time(struct loop *l)
{
	uint64_t now_ns = monotonic_ns();

	if (is_due(&l->watch, now_ns))
		collector_watch(l->collector);
	if (is_due(&l->second, now_ns))
		collector_report(l->collector);
	if (!is_due(&l->pass, now_ns))
		return;
	collector_pass(l->collector);
	check_command(l); /* in case its signal was lost */
}

static void on_signal(struct loop *l)
{
	struct signalfd_siginfo s;

	while (read(l->signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD)
			check_command(l);
		else
			collector_signal(l->collector, (int)s.ssi_signo, l->command->pid > 0);
	}
}

/*
 * A connection that waits for an answer is handed over; its hang-up no longer concerns us.
 *
 * Most connections have one message, which is there when they are accepted.  So epoll has only
 * those that had none: 4 us less for the program that waits, and 4 for us.  Edge-triggered: each is
 * reported once, and the session remembers a readable connection until its turn.
 */
static void read_connection(struct loop *l, int i)
{
	struct session *s = &l->collector->session;
	struct connection *connection = &s->connections[i];
	bool was_watched = connection->is_watched;
	int fd = connection->fd;

	collector_read(l->collector, i);
	if (fd >= 0 && connection->fd != fd && was_watched)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd,
			  NULL); /* if it was closed instead, epoll has dropped it already */
	if (fd < 0 || connection->fd != fd || was_watched)
		return;
	connection->is_watched = !watch(l, fd, (uint32_t)i, EPOLLIN | EPOLLET, NULL);
	if (!connection->is_watched)
		session_close_connection(s, i); /* later messages would never be read */
}

static void on_listen(struct loop *l)
{
	for (int n = 0; n < SESSION_CONNECTIONS && collector_accept(l->collector) >= 0; n++)
		;
}

/* Bounded, so that many messages do not delay the timers. */
static void read_some(struct loop *l)
{
	uint64_t end_ns = monotonic_ns() + READ_NS;

	for (int n = 0, i;
	     n < READ_MOST && !l->collector->stop && (i = collector_next(l->collector)) >= 0; n++) {
		read_connection(l, i);
		if (monotonic_ns() >= end_ns)
			break;
	}
	collector_end_turn(l->collector);
}

static void dispatch(struct loop *l, uint32_t what)
{
	if (what == ON_SIGNAL)
		on_signal(l);
	else if (what == ON_KERNEL)
		collector_pass(l->collector);
	else if (what == ON_LISTEN)
		on_listen(l);
	else if (what == ON_PID && !--l->n_alive)
		collector_ended(l->collector);
	else if (what == ON_PID)
		return;
	else
		collector_readable(l->collector, (int)what);
}

static void set_timers(struct loop *l)
{
	uint64_t now_ns = monotonic_ns();

	set_period(&l->pass, l->collector->schedule.pass_ms, now_ns);
	set_period(&l->watch, l->collector->triggers.period_ms, now_ns);
	set_period(&l->second, l->collector->o->on_second ? SECOND_MS : 0, now_ns);
}

static int timeout_ms(const struct loop *l)
{
	uint64_t now_ns = monotonic_ns();

	if (collector_has_work(l->collector) || collector_next(l->collector) >= 0)
		return 0;
	return left_ms(&l->second, now_ns,
		       left_ms(&l->watch, now_ns, left_ms(&l->pass, now_ns, MOST_MS)));
}

static int run(struct loop *l, struct diag *d)
{
	struct collector *c = l->collector;
	struct epoll_event e[N_WATCHED]; /* large enough for all: otherwise a new connection
					  * would wait behind many old ones, some in each turn */

	set_timers(l);
	while (!c->stop && !(l->keep && supervise_supervisor_is_gone(&c->handover->supervision))) {
		int n = epoll_wait(l->epoll, e, N_WATCHED, timeout_ms(l));

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "epoll_wait");
		if (collector_has_work(c))
			collector_work(c);
		for (int i = 0; i < n; i++)
			dispatch(l, e[i].data.u32);
		read_some(l);
		on_time(l);
		set_timers(l);
	}
	return 0;
}

int loop_run(struct collector *c, struct command *command, bool keep, struct diag *d)
{
	struct loop l = {
		.collector = c, .command = command, .keep = keep, .epoll = -1, .signals = -1
	};
	int err = open_loop(&l, keep, d);

	assert(c->session.listen_fd >= 0);
	if (!err)
		err = run(&l, d);
	close_loop(&l);
	return err;
}
