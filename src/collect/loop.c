/* SPDX-License-Identifier: MIT */
/* collect/loop.c - see loop.h. */
#include "collect/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { LOST_WAKEUP_MS = 1000 }; /* should the timer, or a signal, fail us */
enum { ON_TIMER = SESSION_DOORS, ON_SIGNAL, ON_WATCH, ON_LISTEN };

struct loop {
	struct collector *collector;
	struct command *command;
	bool keep;
	int epoll, timer, watch_timer, signals;
	uint32_t period_ms, watch_ms; /* of the timers */
};

static int watch(struct loop *l, int fd, uint32_t what, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) ? diag_errno(d, "epoll") : 0;
}

/* 0: it rests. */
static void set_period(int timer, uint32_t *now_ms, uint32_t ms)
{
	struct itimerspec t = { { 0, (long)ms * 1000000 }, { 0, (long)ms * 1000000 } };

	if (*now_ms != ms)
		timerfd_settime(timer, 0, &t, NULL);
	*now_ms = ms;
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
	if (!keep) { /* else the keeper's */
		sigaddset(&mask, SIGINT);
		sigaddset(&mask, SIGHUP);
	}
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->watch_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->epoll < 0 || l->timer < 0 || l->watch_timer < 0 || l->signals < 0)
		return diag_errno(d, "cannot set up the collector's loop");
	set_period(l->timer, &l->period_ms, l->collector->period_ms);
	err = watch(l, l->timer, ON_TIMER, d);
	if (!err)
		err = watch(l, l->watch_timer, ON_WATCH, d);
	if (!err)
		err = watch(l, l->signals, ON_SIGNAL, d);
	if (!err)
		err = watch(l, l->collector->session.listen_fd, ON_LISTEN, d);
	if (!err && l->collector->session.ask_fd >= 0)
		err = watch(l, l->collector->session.ask_fd, ON_LISTEN, d);
	return err;
}

static void close_loop(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->timer >= 0)
		close(l->timer);
	if (l->watch_timer >= 0)
		close(l->watch_timer);
	if (l->signals >= 0)
		close(l->signals);
}

static void look_at_command(struct loop *l)
{
	if (command_has_ended(l->command))
		collector_ended(l->collector);
}

static void on_timer(struct loop *l)
{
	uint64_t ticks;

	(void)!read(l->timer, &ticks, sizeof ticks);
	collector_pass(l->collector);
	set_period(l->timer, &l->period_ms, l->collector->period_ms);
	look_at_command(l);
}

static void on_watch(struct loop *l)
{
	uint64_t ticks;

	(void)!read(l->watch_timer, &ticks, sizeof ticks);
	collector_watch(l->collector);
}

static void on_signal(struct loop *l)
{
	struct signalfd_siginfo s;

	while (read(l->signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD)
			look_at_command(l);
		else
			collector_signal(l->collector, (int)s.ssi_signo, l->command->pid > 0);
	}
}

/* Who waits for an answer is handed on: that he hangs up is nothing for us any more. */
static void on_door(struct loop *l, int i)
{
	const struct door *door = &l->collector->session.doors[i];
	int fd = door->fd;

	collector_hear(l->collector, i);
	if (fd >= 0 && door->fd != fd)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL); /* or it was closed, and is gone from there */
}

/* So many at a time: a crowd at the door keeps nobody from the timer. */
static void on_listen(struct loop *l)
{
	for (int n = 0; n < SESSION_DOORS; n++) {
		int i = collector_knock(l->collector);

		if (i < 0)
			return;
		watch(l, l->collector->session.doors[i].fd, (uint32_t)i, NULL);
		on_door(l, i); /* who connects asks at once */
	}
}

static void tell(struct loop *l, uint32_t what)
{
	if (what == ON_TIMER)
		on_timer(l);
	else if (what == ON_SIGNAL)
		on_signal(l);
	else if (what == ON_WATCH)
		on_watch(l);
	else if (what == ON_LISTEN)
		on_listen(l);
	else
		on_door(l, (int)what);
}

static int run(struct loop *l, struct diag *d)
{
	struct collector *c = l->collector;
	struct epoll_event e[16];

	while (!c->stop && !(l->keep && keeper_is_gone(c->kept))) {
		bool has_work = collector_has_work(c);
		int n = epoll_wait(l->epoll, e, 16, has_work ? 0 : LOST_WAKEUP_MS);

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "epoll_wait");
		if (has_work)
			collector_work(c);
		else if (!n)
			on_timer(l);
		for (int i = 0; i < n; i++)
			tell(l, e[i].data.u32);
		set_period(l->timer, &l->period_ms, c->period_ms);
		set_period(l->watch_timer, &l->watch_ms, c->watch_ms);
	}
	return 0;
}

int loop_run(struct collector *c, struct command *command, bool keep, struct diag *d)
{
	struct loop l = { .collector = c, .command = command, .keep = keep, .epoll = -1, .timer = -1,
			  .watch_timer = -1, .signals = -1 };
	int err = open_loop(&l, keep, d);

	if (!err)
		err = run(&l, d);
	close_loop(&l);
	return err;
}
