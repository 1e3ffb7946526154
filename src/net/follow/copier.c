/* SPDX-License-Identifier: MIT */
/*
 * net/follow/copier.c - the process that receives the copy: connects to the relay, writes the
 * files, and connects again after a cut link.
 *
 * While the copy is full nothing is read, and the relay gets a message about that, so that it does
 * not take the link for cut.  The reader may let in one more allowance: see replica_starve().
 */
#include "net/follow/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/io.h"
#include "base/monotonic.h"
#include "base/progress.h"
#include "net/relay/receiver.h"
#include "sandbox/sandbox.h"

enum {
	CONNECT_MS = 5000,
	POLL_MS = 50,
	FIRST_PAUSE_MS = 100, /* between attempts; doubled each time */
	LONGEST_PAUSE_MS = 5000,
	ALLOWANCE_BYTES = 4 << 20,
	FLOODED_SPOOLS = 64, /* sizes of the copy, before it is ready */
};
#define SILENCE_NS 30000000000ull /* a relay sends something every few seconds */
#define TRIM_NS 250000000ull
#define PAUSE_NS 5000000000ull

/* ---------------------------------------------------------------- one connection */

static void report(struct copier *c, enum replica_state state, const char *why)
{
	snprintf(c->shared->why.text, sizeof c->shared->why.text, "%.*s",
		 (int)sizeof c->shared->why.text - 1, why);
	store_release(&c->shared->state, state); /* pairs with the load in replica_state() */
}

static void note_listed(struct copier *c, const struct message *r)
{
	size_t n = strlen(c->list);

	c->n_listed++;
	c->known_ns = r->listed.known_ns;
	c->shared->grew |= r->listed.grows;
	snprintf(c->shared->name, sizeof c->shared->name, "%s", r->listed.path);
	snprintf(c->list + n, sizeof c->list - n, "\n  %s%s", r->listed.path,
		 r->listed.grows ? "" : " (has ended)");
}

static void note_welcome(struct copier *c, const struct receiver *receiver)
{
	snprintf(c->shared->path, sizeof c->shared->path, "%s/%s", c->dir_path,
		 receiver->store.path);
	if (!c->was_welcome && c->from_ns == MESSAGE_FROM_NOW)
		c->from_ns = c->known_ns; /* the same after a reconnect */
	c->was_welcome = true;
	report(c, REPLICA_RECEIVES, "");
}

static int report_no_match(struct copier *c, struct diag *d)
{
	const char *wanted = c->o->wanted;

	if (!c->n_listed)
		return diag_fail(d, -ENOENT, "%.200s%s",
				 *wanted ? wanted : "nothing is being recorded there",
				 *wanted ? ": no such recording, and none that grows" : "");
	return diag_fail(d, -ENOENT,
			 *wanted ? "none, or several, are called %.200s; there are:%.*s"
				 : "several are being recorded%.0s; name one:%.*s",
			 wanted, (int)sizeof d->text - 600, c->list);
}

/* 0; 1: everything has arrived; or -errno. */
static int process(struct copier *c, struct receiver *receiver, size_t n, struct diag *d)
{
	enum receiver_event e;

	while ((e = receiver_process(receiver, n)) != RECEIVER_NOTHING) {
		n = 0;
		if (e == RECEIVER_LISTED)
			note_listed(c, &receiver->message);
		else if (e == RECEIVER_NO_MORE)
			return report_no_match(c, d);
		else if (e == RECEIVER_REFUSED)
			return diag_fail(d, -EACCES, "the relay refuses: %s",
					 receiver->message.text);
		else if (e == RECEIVER_WELCOME)
			note_welcome(c, receiver);
	}
	if (receiver->is_over && !receiver->store.has_ended)
		return diag_fail(d, -EPROTO,
				 "the peer is not a duet relay, or the copy cannot be written");
	return receiver->store.has_ended;
}

static int read_some(struct copier *c, struct tls *tls, struct receiver *receiver, struct diag *d)
{
	size_t room;
	uint8_t *to = receiver_room(receiver, &room);
	long n = room ? tls_read(tls, to, room, d) : -EAGAIN;

	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	c->last_read_ns = monotonic_ns();
	c->unmeasured_bytes += (uint64_t)n;
	c->allowance_bytes -= (uint64_t)n < c->allowance_bytes ? (uint64_t)n : c->allowance_bytes;
	return process(c, receiver, (size_t)n, d);
}

static int write_some(struct tls *tls, struct receiver *receiver, struct diag *d)
{
	while (receiver->n_out) {
		long n = tls_write(tls, receiver->out, receiver->n_out, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		receiver_sent(receiver, (size_t)n);
	}
	return 0;
}

/* Notes whether everything has arrived that the follower needs first. */
static void note_ready(struct copier *c)
{
	struct progress p;

	if (!c->was_welcome || c->shared->is_ready)
		return;
	progress_read(c->shared->path, &p);
	if (p.state != PROGRESS_UNKNOWN &&
	    (c->o->from_begin || !c->shared->grew || p.state != PROGRESS_GROWS ||
	     p.written_ns >= c->known_ns))
		store_release(&c->shared->is_ready, 1); /* pairs with the load in wait_ready() */
}

static bool is_full(struct copier *c, struct receiver *receiver)
{
	uint64_t now_ns = monotonic_ns();

	if (now_ns >= c->trim_due_ns || c->unmeasured_bytes > ALLOWANCE_BYTES) {
		c->disk_bytes = store_trim(&receiver->store);
		c->trim_due_ns = now_ns + TRIM_NS;
		c->unmeasured_bytes = 0;
		note_ready(c);
	}
	if (c->disk_bytes <= c->o->most_bytes || !c->shared->is_ready)
		return false;
	if (!c->allowance_bytes && exchange(&c->shared->starves, 0))
		c->allowance_bytes = ALLOWANCE_BYTES;
	return !c->allowance_bytes;
}

/* Before the first event can be shown the copy is not limited to its size, because long streams may
 * have to arrive first.  A relay that sends other bytes would fill the disk. */
static bool is_flooded(const struct copier *c)
{
	return !c->shared->is_ready && c->disk_bytes / FLOODED_SPOOLS > c->o->most_bytes;
}

/* Nothing is read here: reports that to the relay from time to time, so that it does not take the
 * link for cut. */
static void report_pause(struct copier *c, struct receiver *receiver)
{
	uint64_t now_ns = monotonic_ns();

	c->last_read_ns = now_ns;
	receiver_retry(receiver);
	if (now_ns < c->pause_due_ns)
		return;
	c->pause_due_ns = now_ns + PAUSE_NS;
	receiver_trouble(receiver, receiver->is_stalled ? "the follower's disk is full"
							: "the follower is slow");
}

/* 0; 1: everything has arrived; or -errno. */
static int do_turn(struct copier *c, struct tls *tls, struct receiver *receiver, bool *is_paused,
		   struct diag *d)
{
	enum { READS_AT_ONCE = 16 };
	int err = tls->is_ready ? 0 : tls_handshake(tls, d), written;

	*is_paused = false;
	for (int k = 0; k < READS_AT_ONCE && !err; k++) {
		*is_paused = c->was_welcome && (is_full(c, receiver) || receiver->is_stalled);
		if (!*is_paused)
			err = read_some(c, tls, receiver, d);
		written = err < 0 ? 0 : write_some(tls, receiver, d);
		err = written ? written : err;
	}
	if (err == -EAGAIN)
		err = 0;
	if (!err && is_flooded(c))
		err = diag_fail(d, -EFBIG,
				"the relay sent %llu MB, and nothing of it can be shown yet: more "
				"with a larger --spool",
				(unsigned long long)(c->disk_bytes >> 20));
	if (*is_paused)
		report_pause(c, receiver);
	if (!err && monotonic_ns() - c->last_read_ns > SILENCE_NS)
		err = diag_fail(d, -ETIMEDOUT, "nothing was received from it for %d s",
				(int)(SILENCE_NS / 1000000000));
	return err;
}

static void read_control(struct copier *c, short events)
{
	c->is_over |= events != 0;
}

static void queue_request(const struct copier *c, struct receiver *receiver)
{
	struct message r = { .type = MESSAGE_WATCH,
			     .watch = { .version = MESSAGE_VERSION, .from_ns = c->from_ns } };

	snprintf(r.watch.wanted, sizeof r.watch.wanted, "%s",
		 c->was_welcome ? c->shared->name : c->o->wanted);
	receiver->is_follower = true;
	receiver->n_out = (uint32_t)message_write(&r, receiver->out);
}

/* 0; 1: everything has arrived; or -errno. */
static int serve_connection(struct copier *c, int fd, struct diag *d)
{
	struct receiver receiver;
	struct tls tls;
	bool is_paused;
	int err = tls_open(&tls, c->keys, fd, c->o->from.host, d);

	if (err)
		return err;
	err = receiver_init(&receiver, c->dir, 0);
	if (!err)
		queue_request(c, &receiver);
	c->last_read_ns = monotonic_ns();
	while (!err && !c->is_over) {
		struct pollfd p[2] = { { .fd = fd }, { .fd = c->control, .events = POLLIN } };

		err = do_turn(c, &tls, &receiver, &is_paused, d);
		if (err)
			break;
		p[0].events = (short)((is_paused ? 0 : POLLIN) |
				      (tls.wants_write || (tls.is_ready && receiver.n_out) ? POLLOUT
											   : 0));
		poll(p, 2, tls_has_more(&tls) && !is_paused ? 0 : POLL_MS);
		read_control(c, p[1].revents);
	}
	if (err == 1) /* the last message, MESSAGE_ENDED, is sent */
		tls_finish(&tls);
	receiver_fini(&receiver);
	tls_close(&tls);
	return err;
}

/* ---------------------------------------------------------------- the receiving process */

static void pause_for(struct copier *c, int ms)
{
	struct pollfd p = { .fd = c->control, .events = POLLIN };

	poll(&p, 1, ms);
	read_control(c, p.revents);
}

static bool is_permanent(const struct copier *c, int err)
{
	return !c->was_welcome || err == -EKEYREJECTED || err == -EACCES || err == -ENOENT ||
	       err == -EFBIG;
}

/* Reports the error, with the address of the relay. */
static void report_error(struct copier *c, enum replica_state state, const struct diag *d)
{
	const struct endpoint *p = &c->o->from;
	char text[sizeof d->text];
	bool has_host = !strncmp(d->text, p->host, strlen(p->host));

	snprintf(text, sizeof text, "%.200s%s%.31s%s%.750s", has_host ? "" : p->host,
		 has_host ? "" : ":", has_host ? "" : p->port, has_host ? "" : ": ", d->text);
	report(c, state, text);
}

static void receive(struct copier *c)
{
	int pause_ms = FIRST_PAUSE_MS;

	while (!c->is_over) {
		struct diag d = { "" };
		int fd = endpoint_connect(&c->o->from, tls_is_plain(c->keys), CONNECT_MS,
					  c->control, &d),
		    err;

		c->n_listed = 0;
		c->list[0] = 0;
		err = fd < 0 ? fd : serve_connection(c, fd, &d);
		if (c->is_over || err == -ECANCELED)
			return;
		if (err == 1) {
			report(c, REPLICA_ENDED, "");
			store_release(&c->shared->is_ready, 1);
			return;
		}
		if (is_permanent(c, err))
			return report_error(c, REPLICA_FAILED, &d);
		pause_ms = c->shared->state == REPLICA_RECEIVES ? FIRST_PAUSE_MS : 2 * pause_ms;
		report_error(c, REPLICA_CUT, &d);
		pause_for(c,
			  pause_ms < LONGEST_PAUSE_MS ? pause_ms : (pause_ms = LONGEST_PAUSE_MS));
	}
}

/* Closes all other descriptors.  Among them are the pipes of other copies, which would not end
 * while this process has them. */
static void close_others(const struct copier *c)
{
	unsigned low = (unsigned)(c->control < c->dir ? c->control : c->dir),
		 high = (unsigned)(c->control < c->dir ? c->dir : c->control);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

/* The relay is another user's, and messages of it are parsed.  Its refused calls leave no line: this
 * process has no standard error. */
static int confine(const struct copier *c, struct diag *d)
{
	char parent[PATH_MAX];
	const char *const writes[] = { c->dir_path, NULL }, *const directories[] = { parent, NULL };
	const struct sandbox s = { .name = "duet live",
				   .rights = SANDBOX_CONNECTS | SANDBOX_MAKES_CODE,
				   .writes = writes,
				   .directories = directories };

	snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(c->dir_path, '/') - c->dir_path),
		 c->dir_path);
	return sandbox_restrict(&s, d);
}

_Noreturn void copier_run(struct copier *c)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct pollfd p = { .fd = c->control, .events = POLLIN };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct diag d = { "" };

	assert(c->control >= 0 && c->dir >= 0);
	/* If a signal ends the reader, the pipe closes: the copy is removed then, and not before.
	 */
	for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
		sigaction(ignored[i], &ignore, NULL);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	close_others(c);
	if (confine(c, &d))
		report(c, REPLICA_FAILED, d.text);
	else
		receive(c);
	if (!c->is_over)
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
	io_remove_tree(c->dir_path);
	_exit(0);
}
