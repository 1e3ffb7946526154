/* SPDX-License-Identifier: MIT */
/* net/relay/relay.c - see relay.h. */
#include "net/relay/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

enum {
	PLACES = 1024, /* senders at once */
	ACCEPT_AT_ONCE = 64,
	TICK_MS = 500,
	SPARE_FILES = 64,
};
#define SHY_LIMIT_NS 10000000000ull    /* to be welcome */
#define SILENT_LIMIT_NS 60000000000ull /* a sender says something every few seconds */
#define LEAVING_LIMIT_NS 2000000000ull
/* What epoll says it is about: a place, or one of these. */
enum { ON_SIGNAL = PLACES, ON_LISTEN };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void relay_report(const struct relay *r, enum relay_news what, const char *who, const char *text)
{
	if (r->o.news)
		r->o.news(r->o.context, what, who, text);
}

/* ---------------------------------------------------------------- senders come and go */

void relay_drop(struct relay *r, struct sender *s, const char *why)
{
	bool is_complete = s->receiver.store.has_ended;

	if (s->tls.fd < 0)
		return;
	if (s->source)
		relay_report(r, RELAY_LEFT, s->from, why);
	else if (!s->is_welcome)
		relay_report(r, RELAY_REFUSED, s->from, why);
	else
		relay_report(r, is_complete ? RELAY_COMPLETE : RELAY_LEFT, s->receiver.store.path,
			     is_complete ? "" : why);
	relay_end_watcher(r, s);
	tls_close(&s->tls);
	receiver_fini(&s->receiver);
	s->is_welcome = s->is_leaving = s->has_more = false;
}

/* A free place; else that of the one who has waited longest without becoming welcome. */
static struct sender *find_slot(struct relay *r)
{
	struct sender *oldest = NULL;

	for (uint32_t i = 0; i < r->n_places; i++) {
		struct sender *s = &r->senders[i];

		if (s->tls.fd < 0)
			return s;
		if (!s->is_welcome && (!oldest || s->since_ns < oldest->since_ns))
			oldest = s;
	}
	if (oldest)
		relay_drop(r, oldest, "others came, and it had said nothing");
	return oldest;
}

static void name_address(struct sender *s, const struct sockaddr_storage *a, socklen_t size)
{
	char host[50], port[10];

	if (getnameinfo((const struct sockaddr *)a, size, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(s->from, sizeof s->from, "somebody");
	else
		snprintf(s->from, sizeof s->from, "%s:%s", host, port);
}

static void welcome_socket(struct relay *r, int fd, const struct sockaddr_storage *a,
			   socklen_t size)
{
	struct sender *s = find_slot(r);
	struct epoll_event e = { .events = EPOLLIN };

	if (!s || receiver_init(&s->receiver, r->output, r->o.most_bytes)) {
		close(fd);
		return;
	}
	name_address(s, a, size);
	s->since_ns = now_ns();
	s->events = EPOLLIN;
	e.data.u32 = (uint32_t)(s - r->senders);
	if (tls_open(&s->tls, r->keys, fd, "", NULL) ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e)) {
		tls_close(&s->tls);
		receiver_fini(&s->receiver);
	}
}

/* So many at a time: a crowd at the door keeps nobody inside from its turn. */
static void on_listen(struct relay *r, int listener)
{
	for (int n = 0; n < ACCEPT_AT_ONCE; n++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof a;
		int fd = accept4(listener, (struct sockaddr *)&a, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		welcome_socket(r, fd, &a, size);
	}
}

/* One recording has one writer: whoever came last.  The one before has lost its link and not
 * noticed. */
static void take_over(struct relay *r, struct sender *s)
{
	bool resumes = false;

	for (uint32_t i = 0; i < r->n_places; i++) {
		struct sender *o = &r->senders[i];

		if (o != s && o->tls.fd >= 0 && o->is_welcome &&
		    !strcmp(o->receiver.store.path, s->receiver.store.path)) {
			resumes = true;
			relay_drop(r, o, "it came again");
		}
	}
	s->is_welcome = true;
	relay_report(r, resumes || s->receiver.store.was_there ? RELAY_RESUMES : RELAY_BEGINS,
		     s->receiver.store.path, s->from);
}

/* ---------------------------------------------------------------- one turn */

static void process(struct relay *r, struct sender *s, size_t n)
{
	enum receiver_event e;

	while ((e = receiver_took(&s->receiver, n)) != RECEIVER_NOTHING) {
		if (e == RECEIVER_WATCHER)
			return relay_begin_watcher(r, s);
		take_over(r, s);
		n = 0;
	}
}

/* Returns 0, or -errno: it is gone. */
static int read_some(struct relay *r, struct sender *s, struct diag *d)
{
	size_t room;
	uint8_t *to = receiver_room(&s->receiver, &room);
	long n;

	s->has_more = false;
	if (!room)
		return 0;
	n = tls_read(&s->tls, to, room, d);
	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	if (s->is_welcome)
		s->since_ns = now_ns();
	process(r, s, (size_t)n);
	s->has_more = tls_has_more(&s->tls);
	return 0;
}

static int write_some(struct relay *r, struct sender *s, struct diag *d)
{
	while (s->receiver.n_out) {
		long n = tls_write(&s->tls, s->receiver.out, s->receiver.n_out, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		receiver_sent(&s->receiver, (size_t)n);
	}
	process(r, s, 0); /* what waited for room to be answered in */
	return 0;
}

void relay_watch_events(struct relay *r, struct sender *s, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u32 = (uint32_t)(s - r->senders) };

	if (events != s->events)
		epoll_ctl(r->epoll, EPOLL_CTL_MOD, s->tls.fd, &e);
	s->events = events;
}

/* What to wait for.  A full disk, or answers nobody reads: not for more to come. */
static void watch(struct relay *r, struct sender *s)
{
	uint32_t events = 0;
	size_t room;

	receiver_room(&s->receiver, &room);
	if (room || !s->tls.is_ready || s->receiver.is_over)
		events |= EPOLLIN;
	if (s->tls.wants_write || (s->tls.is_ready && s->receiver.n_out))
		events |= EPOLLOUT;
	relay_watch_events(r, s, events);
}

/* To close while it still sends would take our last word from it: what comes is thrown away first.
 */
void relay_leave(struct relay *r, struct sender *s, const char *why)
{
	char scratch[4096];
	ssize_t n;

	if (!s->is_leaving) {
		relay_watch_events(r, s, EPOLLIN);
		tls_finish(&s->tls);
		s->since_ns = now_ns();
	}
	s->is_leaving = true;
	n = recv(s->tls.fd, scratch, sizeof scratch, MSG_DONTWAIT);
	if (!n || (n < 0 && errno != EAGAIN))
		relay_drop(r, s, why);
}

static void serve(struct relay *r, struct sender *s)
{
	const char *end = s->receiver.store.has_ended || s->source ? "" : "it was refused";
	struct diag d = { "" };
	int err = 0;

	if (s->tls.fd < 0)
		return;
	if (s->is_leaving)
		return relay_leave(r, s, end);
	if (s->source)
		return relay_serve_watcher(r, s);
	if (!s->tls.is_ready) {
		err = tls_handshake(&s->tls, &d);
		err = err == -EAGAIN ? 0 : err;
	}
	if (!err && s->tls.is_ready)
		err = read_some(r, s, &d);
	if (!err && s->tls.is_ready && s->receiver.n_out)
		err = write_some(r, s, &d);
	if (err)
		relay_drop(r, s, d.text);
	else
		watch(r, s);
	if (!err && s->receiver.is_over && !s->receiver.n_out)
		relay_leave(r, s, end);
}

static void on_tick(struct relay *r)
{
	uint64_t now = now_ns();

	if (r->o.tick)
		r->o.tick(r->o.context);
	for (uint32_t i = 0; i < r->n_places; i++) {
		struct sender *s = &r->senders[i];

		if (s->tls.fd < 0)
			continue;
		if (s->is_leaving && now - s->since_ns > LEAVING_LIMIT_NS) {
			relay_drop(r, s, "it does not leave");
		} else if (s->receiver.is_stalled) {
			receiver_retry(&s->receiver);
			s->since_ns = now; /* the silence is ours */
			serve(r, s);
		} else if (s->source && *forwarder_path(s->source)) {
			continue; /* its link looks at the time itself */
		} else if (now - s->since_ns > (s->is_welcome ? SILENT_LIMIT_NS : SHY_LIMIT_NS)) {
			relay_drop(r, s, "it said nothing");
		}
	}
}

/* ---------------------------------------------------------------- the loop */

static bool any_has_more(struct relay *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->n_places; i++)
		any |= r->senders[i].tls.fd >= 0 && r->senders[i].has_more;
	return any;
}

static void serve_more(struct relay *r)
{
	for (uint32_t i = 0; i < r->n_places; i++)
		if (r->senders[i].tls.fd >= 0 && r->senders[i].has_more)
			serve(r, &r->senders[i]);
}

static int open_loop(struct relay *r, struct diag *d)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = ON_SIGNAL };
	sigset_t mask;
	int err = 0;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->mask_changed = true;
	r->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0 || r->signals < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->signals, &e))
		err = diag_errno(d, "cannot set up the relay's loop");
	for (int i = 0; i < r->n_listeners && !err; i++) {
		e.data.u32 = (uint32_t)(ON_LISTEN + i);
		if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->listeners[i], &e))
			err = diag_errno(d, "cannot set up the relay's loop");
	}
	return err;
}

static void on_sender(struct relay *r, struct sender *s, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		relay_drop(r, s, s->source ? "" : "the link was cut");
	else
		serve(r, s);
}

/* Taken, so that it does not come a second time when signals are let through again. */
static void on_signal(struct relay *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof s) == (ssize_t)sizeof s)
		r->stop = true;
}

int relay_run(struct relay *r, struct diag *d)
{
	uint64_t ticked = now_ns();
	bool more = false;

	while (!r->stop) {
		struct epoll_event e[64];
		int n = epoll_wait(r->epoll, e, 64, more ? 0 : r->n_watchers ? SOURCE_MS : TICK_MS);

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "epoll_wait");
		for (int i = 0; i < n; i++) {
			if (e[i].data.u32 == ON_SIGNAL)
				on_signal(r);
			else if (e[i].data.u32 >= ON_LISTEN)
				on_listen(r, r->listeners[e[i].data.u32 - ON_LISTEN]);
			else
				on_sender(r, &r->senders[e[i].data.u32], e[i].events);
		}
		serve_more(r);
		relay_serve_watchers(r);
		if (now_ns() - ticked > TICK_MS * 1000000ull) {
			on_tick(r);
			ticked = now_ns();
		}
		more = any_has_more(r);
	}
	return 0;
}

/* ---------------------------------------------------------------- opening */

static int open_output(struct relay *r, struct diag *d)
{
	int err = io_make_dirs(r->o.output);

	if (err)
		return diag_fail(d, err, "cannot make %s: %s", r->o.output, strerror(-err));
	r->output = open(r->o.output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->output < 0 || faccessat(r->output, ".", W_OK, 0))
		return diag_errno(d, "cannot write into %s", r->o.output);
	return 0;
}

/* Three descriptors a sender: its socket, its recording, the file it writes to. */
static int make_slots(struct relay *r, struct diag *d)
{
	struct rlimit most;

	getrlimit(RLIMIT_NOFILE, &r->old_files);
	most = (struct rlimit){ r->old_files.rlim_max, r->old_files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &most);
	r->n_places = PLACES;
	if (most.rlim_cur < 3 * PLACES + SPARE_FILES)
		r->n_places = most.rlim_cur < 2 * SPARE_FILES
				      ? SPARE_FILES / 3
				      : (uint32_t)(most.rlim_cur - SPARE_FILES) / 3;
	r->senders = calloc(r->n_places, sizeof *r->senders);
	if (!r->senders)
		return diag_fail(d, -ENOMEM, "no memory for %u senders", r->n_places);
	for (uint32_t i = 0; i < r->n_places; i++)
		r->senders[i].tls.fd = -1;
	return 0;
}

int relay_open(struct relay **out, const struct relay_options *o, struct diag *d)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct relay *r = calloc(1, sizeof *r);
	int err, n = 0;

	*out = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory");
	r->o = *o;
	r->output = r->epoll = r->signals = -1;
	sigaction(SIGPIPE, &ignore, &r->old_pipe);
	sigaction(SIGXFSZ, &ignore, &r->old_file_size);
	if (o->keys.is_plain && !*o->listen.host)
		strcpy(r->o.listen.host, "127.0.0.1");
	err = make_slots(r, d);
	if (!err)
		err = tls_context_open(&r->keys, &o->keys, true, d);
	if (!err) {
		n = endpoint_listen(&r->o.listen, o->keys.is_plain, r->listeners, RELAY_LISTENERS,
				    d);
		err = n < 0 ? n : 0;
	}
	r->n_listeners = n < 0 ? 0 : n;
	if (!err)
		err = open_output(r, d);
	if (!err)
		err = open_loop(r, d);
	if (err)
		relay_close(r);
	else
		*out = r;
	return err;
}

int relay_port(const struct relay *r)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof a;
	char port[10] = "0";

	if (!getsockname(r->listeners[0], (struct sockaddr *)&a, &size))
		getnameinfo((struct sockaddr *)&a, size, NULL, 0, port, sizeof port,
			    NI_NUMERICSERV);
	return atoi(port);
}

void relay_close(struct relay *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; r->senders && i < r->n_places; i++)
		relay_drop(r, &r->senders[i], "the relay ends");
	for (int i = 0; i < r->n_listeners; i++)
		close(r->listeners[i]);
	if (r->output >= 0)
		close(r->output);
	if (r->epoll >= 0)
		close(r->epoll);
	if (r->signals >= 0)
		close(r->signals);
	tls_context_close(r->keys);
	if (r->mask_changed)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &r->old_files);
	sigaction(SIGPIPE, &r->old_pipe, NULL);
	sigaction(SIGXFSZ, &r->old_file_size, NULL);
	free(r->senders);
	free(r);
}
