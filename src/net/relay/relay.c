/* SPDX-License-Identifier: MIT */
/* net/relay/relay.c - the relay's event loop: accepts clients, gives each its turn, closes silent
 * ones. */
#include "net/relay/internal.h"

#include <assert.h>
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
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"

enum {
	CLIENTS_MAX = 1024, /* clients at once */
	ACCEPT_AT_ONCE = 64,
	TICK_MS = 500,
	SPARE_FILES = 64,
	OWN_FILES = 12, /* standard ones, listeners, loop, output: where there are few */
};
#define HELLO_LIMIT_NS 10000000000ull	/* from connecting to MESSAGE_HELLO */
#define SILENCE_LIMIT_NS 60000000000ull /* a sender sends its time every few seconds */
#define LEAVING_LIMIT_NS 2000000000ull
/* The user data of an epoll event: the number of a slot, or one of these. */
enum { ON_SIGNAL = CLIENTS_MAX, ON_LISTEN };

void relay_report(const struct relay *r, enum relay_event what, const char *name, const char *text)
{
	if (r->o.on_event)
		r->o.on_event(r->o.context, what, name, text);
}

/* ---------------------------------------------------------------- clients come and go */

void relay_drop(struct relay *r, struct relay_client *c, const char *why)
{
	bool is_complete = c->receiver.store.has_ended;

	if (c->tls.fd < 0)
		return;
	if (c->forwarder)
		relay_report(r, RELAY_LEFT, c->from, why);
	else if (!c->is_welcome)
		relay_report(r, RELAY_REFUSED, c->from, why);
	else
		relay_report(r, is_complete ? RELAY_COMPLETE : RELAY_LEFT, c->receiver.store.path,
			     is_complete ? "" : why);
	relay_end_follower(r, c);
	tls_close(&c->tls);
	receiver_fini(&c->receiver);
	c->is_welcome = c->is_leaving = c->is_buffered = c->is_reported = false;
}

/* A free slot; else that of the client that has waited longest without MESSAGE_HELLO. */
static struct relay_client *find_slot(struct relay *r)
{
	struct relay_client *oldest = NULL;

	for (uint32_t i = 0; i < r->n_slots; i++) {
		struct relay_client *c = &r->clients[i];

		if (c->tls.fd < 0)
			return c;
		if (!c->is_welcome && (!oldest || c->active_ns < oldest->active_ns))
			oldest = c;
	}
	assert(!oldest || oldest->tls.fd >= 0);
	if (oldest)
		relay_drop(r, oldest, "closed for a new connection: it had sent no hello");
	return oldest;
}

static void name_address(struct relay_client *c, const struct sockaddr_storage *a, socklen_t size)
{
	char host[50], port[10];

	if (getnameinfo((const struct sockaddr *)a, size, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(c->from, sizeof c->from, "an unknown address");
	else
		snprintf(c->from, sizeof c->from, "%s:%s", host, port);
}

/*
 * Without descriptors: the client that has waited longest without a hello goes, else the connections
 * that wait to be accepted.
 */
static void make_room(struct relay *r, int listener)
{
	struct relay_client *oldest = NULL;

	for (uint32_t i = 0; i < r->n_slots; i++) {
		struct relay_client *c = &r->clients[i];

		if (c->tls.fd >= 0 && !c->is_welcome && !c->forwarder &&
		    (!oldest || c->active_ns < oldest->active_ns))
			oldest = c;
	}
	if (oldest)
		relay_drop(r, oldest, "closed for lack of descriptors: it had sent no hello");
	else
		io_turn_away(&r->spare, listener);
}

static void accept_client(struct relay *r, int fd, const struct sockaddr_storage *a, socklen_t size)
{
	struct relay_client *c = find_slot(r);
	struct epoll_event e = { .events = EPOLLIN };

	if (!c || receiver_init(&c->receiver, r->output, r->o.most_bytes)) {
		close(fd);
		return;
	}
	name_address(c, a, size);
	c->active_ns = monotonic_ns();
	c->events = EPOLLIN;
	e.data.u32 = (uint32_t)(c - r->clients);
	if (tls_open(&c->tls, r->keys, fd, "", NULL) ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e)) {
		tls_close(&c->tls);
		receiver_fini(&c->receiver);
	}
}

/* Accepts a limited number in each turn, so that many new connections do not delay the clients. */
static void on_listen(struct relay *r, int listener)
{
	for (int n = 0; n < ACCEPT_AT_ONCE; n++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof a;
		int fd = accept4(listener, (struct sockaddr *)&a, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && io_lacks_descriptors(errno))
			make_room(r, listener);
		else if (fd < 0)
			return;
		else
			accept_client(r, fd, &a, size);
	}
}

/* @path: HOST/RECORDING. */
static struct share *find_share(struct relay *r, const char *path)
{
	char host[PATH_MAX];

	if (snprintf(host, sizeof host, "%s/%.*s", r->o.output, (int)strcspn(path, "/"), path) >=
	    (int)sizeof host)
		return NULL;
	return shares_of(&r->shares, host);
}

/* One recording has one writer: the latest.  The earlier one has lost its link and not noticed. */
static void take_over(struct relay *r, struct relay_client *c)
{
	bool resumes = false;

	for (uint32_t i = 0; i < r->n_slots; i++) {
		struct relay_client *o = &r->clients[i];

		if (o != c && o->tls.fd >= 0 && o->is_welcome &&
		    !strcmp(o->receiver.store.path, c->receiver.store.path)) {
			resumes = true;
			relay_drop(r, o, "the sender connected again");
		}
	}
	c->is_welcome = true;
	c->receiver.store.share = find_share(r, c->receiver.store.path);
	relay_report(r, resumes || c->receiver.store.existed ? RELAY_RESUMES : RELAY_BEGINS,
		     c->receiver.store.path, c->from);
}

/* ---------------------------------------------------------------- one turn */

static void process(struct relay *r, struct relay_client *c, size_t n)
{
	enum receiver_event e;

	while ((e = receiver_process(&c->receiver, n)) != RECEIVER_NOTHING) {
		if (e == RECEIVER_FOLLOWER)
			return relay_begin_follower(r, c);
		take_over(r, c);
		n = 0;
	}
}

/* 0; or -errno: the client is gone. */
static int read_some(struct relay *r, struct relay_client *c, struct diag *d)
{
	size_t room;
	uint8_t *to = receiver_room(&c->receiver, &room);
	long n;

	c->is_buffered = false;
	if (!room)
		return 0;
	n = tls_read(&c->tls, to, room, d);
	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	if (c->is_welcome)
		c->active_ns = monotonic_ns();
	process(r, c, (size_t)n);
	c->is_buffered = tls_has_more(&c->tls);
	return 0;
}

static int write_some(struct relay *r, struct relay_client *c, struct diag *d)
{
	while (c->receiver.n_out) {
		long n = tls_write(&c->tls, c->receiver.out, c->receiver.n_out, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		receiver_sent(&c->receiver, (size_t)n);
	}
	process(r, c, 0); /* messages that waited for room for an answer */
	return 0;
}

void relay_watch_events(struct relay *r, struct relay_client *c, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u32 = (uint32_t)(c - r->clients) };

	assert(c >= r->clients && c < r->clients + r->n_slots);
	if (events != c->events)
		epoll_ctl(r->epoll, EPOLL_CTL_MOD, c->tls.fd, &e);
	c->events = events;
}

/* Chooses the events to wait for.  If the disk is full, or the client does not read its answers,
 * the relay does not read from it. */
static void update_events(struct relay *r, struct relay_client *c)
{
	uint32_t events = 0;
	size_t room;

	receiver_room(&c->receiver, &room);
	if (room || !c->tls.is_ready || c->receiver.is_over)
		events |= EPOLLIN;
	if (c->tls.wants_write || (c->tls.is_ready && c->receiver.n_out))
		events |= EPOLLOUT;
	relay_watch_events(r, c, events);
}

/* Closing while the peer still sends would destroy the last message to it, so received bytes are
 * discarded first. */
void relay_leave(struct relay *r, struct relay_client *c, const char *why)
{
	char scratch[4096];
	ssize_t n;

	if (!c->is_leaving) {
		relay_watch_events(r, c, EPOLLIN);
		tls_finish(&c->tls);
		c->active_ns = monotonic_ns();
	}
	c->is_leaving = true;
	n = recv(c->tls.fd, scratch, sizeof scratch, MSG_DONTWAIT);
	if (!n || (n < 0 && errno != EAGAIN))
		relay_drop(r, c, why);
}

/* Reports each change once: a full disk of ours is seen here, too, not only at the senders. */
static void report_waiting(struct relay *r, struct relay_client *c)
{
	bool waits = c->receiver.is_stalled;

	if (c->tls.fd < 0 || waits == c->is_reported)
		return;
	c->is_reported = waits;
	relay_report(r, waits ? RELAY_WAITS : RELAY_WRITES,
		     c->is_welcome ? c->receiver.store.path : c->from,
		     waits ? c->receiver.why : "");
}

static void retry(struct relay *r, struct relay_client *c)
{
	if (receiver_retry(&c->receiver) != RECEIVER_WELCOME)
		return;
	take_over(r, c);
	process(r, c, 0);
}

static void serve(struct relay *r, struct relay_client *c)
{
	const char *end = c->receiver.store.has_ended || c->forwarder ? ""
			  : *c->receiver.why			      ? c->receiver.why
								      : "it was refused";
	struct diag d = { "" };
	int err = 0;

	if (c->tls.fd < 0)
		return;
	if (c->is_leaving)
		return relay_leave(r, c, end);
	if (c->forwarder)
		return relay_serve_follower(r, c);
	if (!c->tls.is_ready) {
		err = tls_handshake(&c->tls, &d);
		err = err == -EAGAIN ? 0 : err;
	}
	if (!err && c->tls.is_ready)
		err = read_some(r, c, &d);
	if (!err && c->tls.is_ready && c->receiver.n_out)
		err = write_some(r, c, &d);
	report_waiting(r, c);
	if (err)
		relay_drop(r, c, d.text);
	else
		update_events(r, c);
	if (!err && c->receiver.is_over && !c->receiver.n_out)
		relay_leave(r, c, end);
}

static void on_tick(struct relay *r)
{
	uint64_t now = monotonic_ns();

	if (r->o.tick)
		r->o.tick(r->o.context);
	for (uint32_t i = 0; i < r->n_slots; i++) {
		struct relay_client *c = &r->clients[i];

		if (c->tls.fd < 0)
			continue;
		if (c->is_leaving && now - c->active_ns > LEAVING_LIMIT_NS) {
			relay_drop(r, c, "it does not close the connection");
		} else if (c->receiver.is_stalled) {
			retry(r, c);
			c->active_ns = now; /* the relay did not read */
			serve(r, c);
		} else if (c->forwarder && *forwarder_path(c->forwarder)) {
			continue; /* its connection checks the silence itself */
		} else if (now - c->active_ns >
			   (c->is_welcome ? SILENCE_LIMIT_NS : HELLO_LIMIT_NS)) {
			relay_drop(r, c, "it sent nothing");
		}
	}
}

/* ---------------------------------------------------------------- the loop */

static bool any_is_buffered(struct relay *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->n_slots; i++)
		any |= r->clients[i].tls.fd >= 0 && r->clients[i].is_buffered;
	return any;
}

static void serve_buffered(struct relay *r)
{
	for (uint32_t i = 0; i < r->n_slots; i++)
		if (r->clients[i].tls.fd >= 0 && r->clients[i].is_buffered)
			serve(r, &r->clients[i]);
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

static void on_client(struct relay *r, struct relay_client *c, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		relay_drop(r, c, c->forwarder ? "" : "the link was cut");
	else
		serve(r, c);
}

/* Reads the signals, so that they are not delivered again once they are unblocked. */
static void on_signal(struct relay *r)
{
	struct signalfd_siginfo c;

	while (read(r->signals, &c, sizeof c) == (ssize_t)sizeof c)
		r->stop = true;
}

int relay_run(struct relay *r, struct diag *d)
{
	uint64_t ticked = monotonic_ns();
	bool more = false;

	while (!r->stop) {
		struct epoll_event e[64];
		int n = epoll_wait(r->epoll, e, 64,
				   more		    ? 0
				   : r->n_followers ? FORWARDER_MS
						    : TICK_MS);

		if (n < 0 && errno != EINTR)
			return diag_errno(d, "epoll_wait");
		for (int i = 0; i < n; i++) {
			if (e[i].data.u32 == ON_SIGNAL)
				on_signal(r);
			else if (e[i].data.u32 >= ON_LISTEN)
				on_listen(r, r->listeners[e[i].data.u32 - ON_LISTEN]);
			else
				on_client(r, &r->clients[e[i].data.u32], e[i].events);
		}
		serve_buffered(r);
		relay_serve_followers(r);
		if (monotonic_ns() - ticked > TICK_MS * 1000000ull) {
			on_tick(r);
			ticked = monotonic_ns();
		}
		more = any_is_buffered(r);
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
	r->shares.rule.shares = !r->o.disk.is_given;
	return disk_rule_begin(&r->shares.rule, r->o.output, &r->o.disk, &r->o.disk_free, d);
}

/* Each client needs three descriptors: its socket, its recording, the file that is written. */
static int make_slots(struct relay *r, struct diag *d)
{
	struct rlimit most;

	getrlimit(RLIMIT_NOFILE, &r->old_files);
	most = (struct rlimit){ r->old_files.rlim_max, r->old_files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &most);
	r->n_slots = CLIENTS_MAX;
	if (most.rlim_cur < 2 * SPARE_FILES)
		r->n_slots = most.rlim_cur < OWN_FILES + 3
				     ? 1
				     : (uint32_t)(most.rlim_cur - OWN_FILES) / 3;
	else if (most.rlim_cur < 3 * CLIENTS_MAX + SPARE_FILES)
		r->n_slots = (uint32_t)(most.rlim_cur - SPARE_FILES) / 3;
	r->clients = calloc(r->n_slots, sizeof *r->clients);
	if (!r->clients)
		return diag_fail(d, -ENOMEM, "no memory for %u senders", r->n_slots);
	for (uint32_t i = 0; i < r->n_slots; i++)
		r->clients[i].tls.fd = -1;
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
	r->spare = io_spare();
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
	for (uint32_t i = 0; r->clients && i < r->n_slots; i++)
		relay_drop(r, &r->clients[i], "the relay ends");
	assert(!r->n_followers);
	for (int i = 0; i < r->n_listeners; i++)
		close(r->listeners[i]);
	if (r->output >= 0)
		close(r->output);
	if (r->epoll >= 0)
		close(r->epoll);
	if (r->spare >= 0)
		close(r->spare);
	if (r->signals >= 0)
		close(r->signals);
	tls_context_close(r->keys);
	if (r->mask_changed)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &r->old_files);
	sigaction(SIGPIPE, &r->old_pipe, NULL);
	sigaction(SIGXFSZ, &r->old_file_size, NULL);
	shares_fini(&r->shares);
	free(r->clients);
	free(r);
}
