/* SPDX-License-Identifier: MIT */
/* net/sender.c - see sender.h. */
#include "net/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/link.h"

enum {
	CONNECT_MS = 5000,
	FIRST_PAUSE_MS = 100, /* between attempts; doubled each time */
	LONGEST_PAUSE_MS = 5000,
	BEGIN = 'b',
	END = 'e',
};

/* One recording on its way, over as many connections as it takes. */
struct journey {
	const struct sender_options *o;
	struct sender_status *status;
	struct wire_context *keys;
	struct spool spool;
	struct message hello;
	int lock; /* on the identity: one process sends a recording */
	int control; /* from the recorder; -1: there is none, everything is there */
	bool is_ending;
	bool renews_patience; /* with each progress */
	uint64_t deadline_ns; /* UINT64_MAX: none yet */
};

static void note_end(struct journey *j)
{
	if (j->is_ending)
		return;
	j->is_ending = true;
	j->deadline_ns = link_now_ns() + j->o->patience_ns;
}

/* The recorder says that it has ended, or has ended without a word: what is there is all. */
static void hear_control(struct journey *j, short events)
{
	char c;

	if (!events || j->control < 0)
		return;
	if (read(j->control, &c, 1) != 1 || c == END)
		note_end(j);
	if (j->is_ending) {
		close(j->control);
		j->control = -1;
	}
}

static bool is_too_late(const struct journey *j)
{
	return link_now_ns() > j->deadline_ns;
}

static void note_progress(struct journey *j, struct link *l)
{
	if (l->has_progressed && j->renews_patience)
		j->deadline_ns = link_now_ns() + j->o->patience_ns;
	l->has_progressed = false;
}

/* 1: all is there; 0: time ran out; or -errno: another connection may do better. */
static int converse(struct journey *j, int fd, struct diag *d)
{
	struct link *l = malloc(sizeof *l);
	struct wire w;
	int err = wire_open(&w, j->keys, fd, j->o->to.host, d);

	if (!err && !l)
		err = -ENOMEM;
	if (!err)
		link_begin(l, &w, &j->spool, j->status, &j->hello);
	while (!err) {
		struct pollfd p[2] = { { .fd = fd }, { .fd = j->control, .events = POLLIN } };
		int timeout_ms;

		l->is_asked_to_end = j->is_ending;
		err = link_work(l, d);
		note_progress(j, l);
		if (err || is_too_late(j))
			break;
		p[0].events = link_waits_for(l, &timeout_ms);
		poll(p, 2, timeout_ms);
		hear_control(j, p[1].revents);
	}
	wire_close(&w);
	free(l);
	return err;
}

static void pause_for(struct journey *j, int ms)
{
	struct pollfd p = { .fd = j->control, .events = POLLIN };

	poll(&p, 1, ms);
	hear_control(j, p.revents);
}

/* What was wrong is told with who it was wrong with. */
static void note_trouble(struct journey *j, const struct diag *d)
{
	char text[sizeof j->status->text];

	snprintf(text, sizeof text, "%.400s", d->text);
	if (strstr(text, j->o->to.host) == text)
		snprintf(j->status->text, sizeof j->status->text, "%s", text);
	else
		snprintf(j->status->text, sizeof j->status->text, "%.60s:%s: %.380s", j->o->to.host,
			 j->o->to.port, text);
}

static bool is_for_good(int err)
{
	return err == -EKEYREJECTED || err == -EACCES;
}

/* Until everything is there or time has run out.  Who is refused at his first attempt gives up. */
static int travel(struct journey *j, struct diag *d)
{
	int pause_ms = FIRST_PAUSE_MS, err;

	for (;;) {
		uint32_t before = j->status->n_connections;
		int fd = place_connect(&j->o->to, wire_is_plain(j->keys), CONNECT_MS, -1, d);

		err = fd < 0 ? fd : converse(j, fd, d);
		if (err == 1)
			return 0;
		if (err)
			note_trouble(j, d);
		if (is_for_good(err) && !j->status->n_connections) {
			store_release(&j->status->state, SENDER_REFUSED);
			return err;
		}
		store_release(&j->status->n_failures, j->status->n_failures + 1);
		if (is_too_late(j)) {
			store_release(&j->status->state, SENDER_GAVE_UP);
			return -ETIMEDOUT;
		}
		pause_ms = j->status->n_connections > before ? FIRST_PAUSE_MS : pause_ms * 2;
		pause_for(j, pause_ms < LONGEST_PAUSE_MS ? pause_ms : (pause_ms = LONGEST_PAUSE_MS));
	}
}

static void introduce(struct message *hello, const char *session)
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

static int send_it(struct journey *j, struct diag *d)
{
	int err = wire_context_open(&j->keys, &j->o->keys, false, d);

	ignore_broken_pipes();
	j->lock = -1;
	j->spool = (struct spool){ .dir = -1, .fd = -1 };
	introduce(&j->hello, j->o->session);
	if (!err)
		err = spool_open(&j->spool, j->o->path, j->o->frees, &j->status->quota, d);
	if (!err)
		err = spool_identity(&j->spool, &j->hello, &j->lock, d);
	if (err) {
		snprintf(j->status->text, sizeof j->status->text, "%.500s", d->text);
		store_release(&j->status->state, SENDER_REFUSED);
	} else {
		err = travel(j, d);
	}
	if (!err)
		store_release(&j->status->state, SENDER_DONE);
	spool_close(&j->spool);
	if (j->lock >= 0)
		close(j->lock);
	wire_context_close(j->keys);
	return err;
}

int sender_run(const struct sender_options *o, struct sender_status *status, struct diag *d)
{
	struct journey j = { .o = o, .status = status, .control = -1, .deadline_ns = UINT64_MAX };

	status->quota.limit = UINT64_MAX;
	j.renews_patience = true;
	note_end(&j);
	return send_it(&j, d);
}

/* ---------------------------------------------------------------- beside a recorder */

/* Who waits for the recorder's output to end does not wait for us, should we outlive it. */
static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3 && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (nothing > 2)
		close(nothing);
}

static void become_sender(struct sender *s, const struct sender_options *o, int control)
{
	static const int others[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct journey j = { .o = o, .status = s->status, .control = control, .deadline_ns = UINT64_MAX };
	struct diag d = { "" };
	char c;

	/* What ends the recorder is no reason to stop here: it says when it has ended. */
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		sigaction(others[i], &ignore, NULL);
	leave_terminal();
	if (read(control, &c, 1) == 1 && c == BEGIN)
		send_it(&j, &d);
	_exit(0);
}

int sender_fork(struct sender *s, const struct sender_options *o, uint64_t spool_bytes, struct diag *d)
{
	struct wire_context *keys;
	int pipe[2], err;

	*s = (struct sender){ .control = -1 };
	err = wire_context_open(&keys, &o->keys, false, d); /* what is wrong with them is told now */
	if (err)
		return err;
	wire_context_close(keys);
	s->status = mmap(NULL, sizeof *s->status, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->status == MAP_FAILED) {
		s->status = NULL;
		return diag_errno(d, "cannot share memory with the sender");
	}
	s->status->quota.limit = spool_bytes;
	if (pipe2(pipe, O_CLOEXEC)) {
		sender_fini(s);
		return diag_errno(d, "cannot start the sender");
	}
	s->pid = fork();
	if (!s->pid) {
		close(pipe[1]);
		become_sender(s, o, pipe[0]);
	}
	close(pipe[0]);
	s->control = pipe[1];
	if (s->pid > 0)
		return 0;
	s->pid = 0;
	sender_fini(s);
	return diag_errno(d, "cannot start the sender");
}

static bool has_ended(struct sender *s)
{
	if (s->pid && waitpid(s->pid, NULL, WNOHANG) == s->pid)
		s->pid = 0;
	return !s->pid;
}

static void say(struct sender *s, char what)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction old;

	sigaction(SIGPIPE, &ignore, &old);
	(void)!write(s->control, &what, 1);
	sigaction(SIGPIPE, &old, NULL);
}

int sender_begin(struct sender *s, int timeout_ms, struct diag *d)
{
	say(s, BEGIN);
	for (int ms = 0; ms < timeout_ms; ms += 5) {
		uint32_t state = load_acquire(&s->status->state); /* pairs with on_welcome, net/link.c */

		if (state == SENDER_REFUSED)
			return diag_fail(d, -EACCES, "%s", s->status->text);
		if (state != SENDER_WAITS || load_acquire(&s->status->n_failures) || has_ended(s))
			return 0;
		poll(NULL, 0, 5);
	}
	return 0;
}

void sender_lift(struct sender *s)
{
	store(&s->status->quota.limit, UINT64_MAX);
}

enum sender_state sender_end(struct sender *s)
{
	say(s, END);
	close(s->control);
	s->control = -1;
	while (s->pid && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	return load_acquire(&s->status->state);
}

void sender_fini(struct sender *s)
{
	if (s->control >= 0)
		close(s->control);
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	if (s->status)
		munmap(s->status, sizeof *s->status);
	*s = (struct sender){ .control = -1 };
}
