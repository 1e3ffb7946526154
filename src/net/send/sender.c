/* SPDX-License-Identifier: MIT */
/* net/send/sender.c - the sending processes: connect, send, connect again, until the end or the
 * time limit. */
#include "net/send/sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "net/send/connection.h"

enum {
	CONNECT_MS = 5000,
	FIRST_PAUSE_MS = 100, /* between attempts; doubled each time */
	LONGEST_PAUSE_MS = 5000,
	CHECK_MS = 250, /* how often to check that the supervisor is alive */
};
/* the only descriptors beside a recorder, and the first unused one */
enum { CONTROL = 3, DIRECTORY, FIRST_UNUSED };

/* One recording, sent over as many connections as necessary. */
struct delivery {
	const struct sender_options *o;
	struct sender_status *status;
	struct tls_context *keys; /* lent */
	struct spool spool;
	struct message hello;
	int lock; /* on .duet/stream: only one process sends a recording */
	/* from the recorder: a byte when its status has changed; -1: the recording is complete */
	int control;
	bool is_ending;
	bool renews_deadline; /* each progress moves the deadline */
	uint64_t progress;    /* the most so far: spool_progress() */
	uint64_t deadline_ns; /* monotonic; UINT64_MAX: none yet */
};

/* The deadline is in shared memory, so that a replacement of this process keeps it. */
static void note_end(struct delivery *j)
{
	struct sender_status *s = j->status;

	if (!load(&s->is_ending)) {
		store(&s->deadline_ns, monotonic_ns() + j->o->timeout_ns);
		store_release(&s->is_ending, 1);
	}
	j->is_ending = true;
	j->deadline_ns = load(&s->deadline_ns);
}

/* The recorder reports its end, or has died: the recording is complete as it is. */
static void read_control(struct delivery *j, short events)
{
	char c;

	if (events && j->control >= 0 && read(j->control, &c, 1) <= 0) {
		close(j->control);
		j->control = -1;
		note_end(j);
	}
	if (load_acquire(&j->status->is_ending))
		note_end(j);
}

/* Then this process becomes the supervisor, and the process that it forks connects. */
static bool supervisor_is_gone(const struct delivery *j)
{
	return supervise_supervisor_is_gone(&j->status->supervision);
}

static bool is_too_late(const struct delivery *j)
{
	return monotonic_ns() > j->deadline_ns;
}

/* Progress is what no connection had before: a relay that repeats itself makes none, so that the time
 * limit comes, and pauses between attempts grow. */
static void note_progress(struct delivery *j, struct connection *c)
{
	uint64_t now = c->has_progressed ? spool_progress(&j->spool) : 0;

	c->has_progressed = false;
	if (now <= j->progress)
		return;
	j->progress = now;
	if (j->renews_deadline)
		j->deadline_ns = monotonic_ns() + j->o->timeout_ns;
}

/* 1: the relay has everything; 0: the time limit passed; or -errno: another connection may
 * succeed. */
static int serve_connection(struct delivery *j, int fd, struct diag *d)
{
	struct connection *c = malloc(sizeof *c);
	struct tls tls;
	int err = tls_open(&tls, j->keys, fd, j->o->to.host, d);

	if (!err && !c)
		err = -ENOMEM;
	if (!err)
		connection_begin(c, &tls, &j->spool, j->status, &j->hello);
	if (!err)
		c->compression_level = j->o->compression_level;
	while (!err) {
		struct pollfd p[2] = { { .fd = fd }, { .fd = j->control, .events = POLLIN } };
		int timeout_ms;

		c->is_asked_to_end = j->is_ending;
		err = connection_work(c, d);
		note_progress(j, c);
		if (err || is_too_late(j) || supervisor_is_gone(j))
			break;
		p[0].events = connection_waits_for(c, &timeout_ms);
		poll(p, 2, timeout_ms);
		read_control(j, p[1].revents);
	}
	store(&j->status->is_connected, 0);
	store(&j->status->relay_waits, 0);
	tls_close(&tls);
	free(c);
	return err;
}

static void pause_for(struct delivery *j, int ms)
{
	uint64_t until_ns = monotonic_ns() + (uint64_t)ms * 1000000;

	while (monotonic_ns() < until_ns && !supervisor_is_gone(j)) {
		struct pollfd p = { .fd = j->control, .events = POLLIN };

		poll(&p, 1, ms < CHECK_MS ? ms : CHECK_MS);
		read_control(j, p.revents);
		if (p.revents)
			return;
	}
}

/* Notes the error, with the address of the relay. */
static void note_error(struct delivery *j, const struct diag *d)
{
	char text[sizeof j->status->text];

	snprintf(text, sizeof text, "%.400s", d->text);
	if (strstr(text, j->o->to.host) == text)
		snprintf(j->status->text, sizeof j->status->text, "%s", text);
	else
		snprintf(j->status->text, sizeof j->status->text, "%.60s:%s: %.380s", j->o->to.host,
			 j->o->to.port, text);
}

static bool is_permanent(int err)
{
	return err == -EKEYREJECTED || err == -EACCES;
}

/* Sends until the relay has everything or the time limit has passed, or returns -EINTR if the
 * supervisor died.  If the first attempt is refused, it gives up. */
static int deliver(struct delivery *j, struct diag *d)
{
	int pause_ms = FIRST_PAUSE_MS, err;

	for (;;) {
		uint64_t before = j->progress;
		int fd = endpoint_connect(&j->o->to, tls_is_plain(j->keys), CONNECT_MS, -1, d);

		err = fd < 0 ? fd : serve_connection(j, fd, d);
		if (err == 1)
			return 0;
		if (supervisor_is_gone(j))
			return -EINTR;
		if (err)
			note_error(j, d);
		if (is_permanent(err) && !j->status->n_connections) {
			store_release(&j->status->state, SENDER_REFUSED);
			return err;
		}
		store_release(&j->status->n_failures, j->status->n_failures + 1);
		if (is_too_late(j)) {
			store_release(&j->status->state, SENDER_GAVE_UP);
			return -ETIMEDOUT;
		}
		pause_ms = j->progress > before ? FIRST_PAUSE_MS : pause_ms * 2;
		pause_for(j,
			  pause_ms < LONGEST_PAUSE_MS ? pause_ms : (pause_ms = LONGEST_PAUSE_MS));
	}
}

static void fill_hello(struct message *hello, const char *session)
{
	time_t now = time(NULL);
	char host[256] = "";
	struct tm tm;

	*hello = (struct message){ .type = MESSAGE_HELLO, .hello.version = MESSAGE_VERSION };
	gethostname(host, sizeof host - 1);
	message_name(hello->hello.host, host);
	message_name(hello->hello.session, session);
	localtime_r(&now, &tm);
	strftime(hello->hello.date, sizeof hello->hello.date, "%Y%m%d-%H%M%S", &tm);
}

static void ignore_broken_pipes(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
}

static int send_recording(struct delivery *j, struct diag *d)
{
	int err;

	ignore_broken_pipes();
	j->lock = -1;
	fill_hello(&j->hello, j->o->session);
	err = spool_open(&j->spool, j->o->path, j->o->dir, j->o->frees, &j->status->quota, d);
	store(&j->status->relay_waits, 0);
	store(&j->status->is_connected, 0); /* left so by a process that was killed */
	j->spool.n_arrived = j->status->n_trace_chunks;
	j->spool.forgotten_bytes = j->status->forgotten_bytes;
	if (!err)
		err = spool_identity(&j->spool, &j->hello, &j->lock, d);
	if (err) {
		snprintf(j->status->text, sizeof j->status->text, "%.500s", d->text);
		store_release(&j->status->state, SENDER_REFUSED);
	} else {
		err = deliver(j, d);
	}
	if (!err)
		store_release(&j->status->state, SENDER_DONE);
	spool_close(&j->spool);
	if (j->lock >= 0)
		close(j->lock);
	return err;
}

int sender_run(const struct sender_options *o, struct sender_status *status, struct diag *d)
{
	struct delivery j = { .o = o, .status = status, .control = -1, .deadline_ns = UINT64_MAX };
	int err = tls_context_open(&j.keys, &o->keys, false, d);

	status->quota.limit = UINT64_MAX;
	j.renews_deadline = true;
	note_end(&j); /* the recording is complete */
	if (!err && o->confine)
		err = o->confine(o->confine_arg, d);
	if (!err)
		err = send_recording(&j, d);
	tls_context_close(j.keys);
	return err;
}

/* ---------------------------------------------------------------- beside a recorder */

/* Closes all other descriptors, so that a process that waits for the end of the recorder's
 * output, or of another pipe of the caller, does not wait for the sender. */
static void release_descriptors(int control, int dir)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Above the numbers that are overwritten. */
	control = fcntl(control, F_DUPFD_CLOEXEC, FIRST_UNUSED);
	dir = dir ? fcntl(dir, F_DUPFD_CLOEXEC, FIRST_UNUSED) : nothing;
	for (int fd = 0; fd < CONTROL && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (dup2(control, CONTROL) < 0 || dup2(dir, DIRECTORY) < 0)
		_exit(1);
	syscall(SYS_close_range, (unsigned)FIRST_UNUSED, ~0u, 0u);
}

/* A signal that ends the recorder does not end the sender: the recorder reports its end through
 * `control`. */
static void reset_signals(void)
{
	static const int others[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t mask;

	signal(SIGCHLD, SIG_DFL); /* the caller may have ignored it */
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		sigaction(others[i], &ignore, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD); /* for base/supervise.h */
	sigprocmask(SIG_BLOCK, &mask, NULL);
}

/* Returns whether there is a recording to send. */
static bool wait_for_begin(struct delivery *j)
{
	while (!load_acquire(&j->status->has_begun) && !j->is_ending && !supervisor_is_gone(j))
		pause_for(j, CHECK_MS);
	return load_acquire(&j->status->has_begun);
}

/* Calls confine() once: a process, and all that it forks later, stay confined. */
static int confine_once(struct delivery *j, bool *is_confined, struct diag *d)
{
	int err = j->o->confine && !*is_confined ? j->o->confine(j->o->confine_arg, d) : 0;

	*is_confined = true;
	if (err) {
		snprintf(j->status->text, sizeof j->status->text, "%.500s", d->text);
		store_release(&j->status->state, SENDER_REFUSED);
	}
	return err;
}

static _Noreturn void become_sender(struct sender *s, const struct sender_options *options,
				    struct tls_context *keys, int control)
{
	struct sender_options o = *options;
	bool is_confined = false;
	int status = 0;

	setpgid(0, 0); /* the parent does the same: whichever runs first */
	release_descriptors(control, o.dir);
	reset_signals();
	prctl(PR_SET_NAME, "duet-sender"); /* for ps(1) */
	control = CONTROL;
	o.dir = o.dir ? DIRECTORY : 0;
	do {
		struct delivery j = { .o = &o,
				      .status = s->status,
				      .keys = keys,
				      .control = control,
				      .deadline_ns = UINT64_MAX };
		struct diag d = { "" };

		if (supervise_start(&s->status->supervision, &d) < 0 ||
		    confine_once(&j, &is_confined, &d))
			_exit(1);
		read_control(&j, 0);
		status = wait_for_begin(&j)	  ? send_recording(&j, &d)
			 : supervisor_is_gone(&j) ? -EINTR
						  : 0;
		control = j.control;
	} while (status == -EINTR);
	_exit(0);
}

int sender_fork(struct sender *s, const struct sender_options *o, uint64_t spool_bytes,
		struct diag *d)
{
	struct tls_context *keys;
	int ends[2], err;

	*s = (struct sender){ .control = -1, .timeout_ns = o->timeout_ns };
	/* so that errors in them are reported now */
	err = tls_context_open(&keys, &o->keys, false, d);
	if (err)
		return err;
	s->status = mmap(NULL, sizeof *s->status, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->status == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		err = diag_errno(d, "cannot start the sender");
		s->status = s->status == MAP_FAILED ? NULL : s->status;
		sender_fini(s);
		tls_context_close(keys);
		return err;
	}
	s->status->quota.limit = spool_bytes;
	s->pid = fork();
	if (!s->pid) {
		close(ends[1]);
		become_sender(s, o, keys, ends[0]);
	}
	tls_context_close(keys);
	close(ends[0]);
	s->control = ends[1];
	if (s->pid > 0) {
		setpgid(s->pid, s->pid);
		return 0;
	}
	s->pid = 0;
	err = diag_errno(d, "cannot start the sender");
	sender_fini(s);
	return err;
}

static bool has_ended(const struct sender *s, int timeout_ms)
{
	struct pollfd p = { .fd = s->control, .events = POLLIN };

	return s->control < 0 || (poll(&p, 1, timeout_ms) > 0 && p.revents);
}

static void wake_sender(struct sender *s)
{
	send(s->control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int sender_begin(struct sender *s, int timeout_ms, struct diag *d)
{
	assert(s->status);
	store_release(&s->status->has_begun, 1);
	wake_sender(s);
	for (int ms = 0; ms < timeout_ms; ms += 5) {
		bool is_over = has_ended(s, 5); /* first, because the last state counts */
		uint32_t state = load_acquire(
			&s->status->state); /* pairs with on_welcome(), net/send/connection.c */

		if (state == SENDER_REFUSED)
			return diag_fail(d, -EACCES, "%s", s->status->text);
		if (state != SENDER_WAITS || load_acquire(&s->status->n_failures) || is_over)
			return 0;
	}
	return 0;
}

void sender_lift(struct sender *s, bool holds)
{
	store(&s->status->is_held, holds);
	store(&s->status->quota.limit, UINT64_MAX);
}

static void forget_processes(struct sender *s)
{
	if (s->pid > 0)
		waitpid(s->pid, NULL, 0); /* if it is a child of this process */
	s->pid = 0;
}

enum sender_state sender_end(struct sender *s)
{
	struct sender_status *status = s->status;

	assert(status);
	if (!load(&status->is_ending)) {
		store(&status->deadline_ns, monotonic_ns() + s->timeout_ns);
		store_release(&status->is_ending, 1);
	}
	wake_sender(s);
	while (!has_ended(s, -1))
		;
	close(s->control);
	s->control = -1;
	forget_processes(s);
	return load_acquire(&s->status->state);
}

void sender_fini(struct sender *s)
{
	if (s->pid > 0 && !has_ended(s, 0))
		kill(-s->pid, SIGKILL); /* the whole group, so that neither replaces the other */
	if (s->control >= 0)
		close(s->control);
	forget_processes(s);
	if (s->status)
		munmap(s->status, sizeof *s->status);
	*s = (struct sender){ .control = -1 };
}
