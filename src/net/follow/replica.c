/* SPDX-License-Identifier: MIT */
/* net/follow/replica.c - see replica.h. */
#include "net/follow/replica.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/io.h"
#include "base/progress.h"
#include "net/relay/receiver.h"
#include "net/send/connection.h"

enum {
	CONNECT_MS = 5000,
	TURN_MS = 50,
	FIRST_PAUSE_MS = 100, /* between attempts; doubled each time */
	LONGEST_PAUSE_MS = 5000,
	HOLE_STEP = 1 << 18,
	GULP = 4 << 20,
};
#define SILENCE_NS 30000000000ull /* a relay says something every few seconds */
#define TRIM_NS 250000000ull
#define PAUSE_NS 5000000000ull

/* Shared by both processes. */
struct shared {
	uint32_t state;	   /* enum replica_state */
	uint32_t is_ready; /* what is here may be read */
	uint32_t grew;	   /* when we came */
	uint32_t starves;  /* said by the reader; taken back with each gulp it lets in */
	char name[MESSAGE_NAME + 1], path[PATH_MAX]; /* before is_ready */
	struct diag why;			     /* before the state that it explains */
};

struct replica {
	struct shared *shared;
	pid_t pid;
	int control; /* closed: the other one ends */
	char dir[PATH_MAX];
	uint64_t *freed; /* by stream */
	uint32_t n_freed;
};

/* The receiving process. */
struct replica_receiver {
	const struct replica_options *o;
	struct shared *shared;
	struct tls_context *keys;
	int control, dir;
	const char *dir_path;
	bool is_over, was_welcome;
	uint64_t from_ns, last_read_ns, trim_due_ns, pause_due_ns;
	uint64_t known_ns;   /* what the relay had when we came */
	uint64_t held;	     /* bytes of the disk, as last measured */
	uint64_t unmeasured; /* received since then */
	uint64_t gulp;	     /* so much may come although the copy is full */
	char list[sizeof((struct diag *)0)->text];
	uint32_t n_listed;
};

/* ---------------------------------------------------------------- one connection */

static void report(struct replica_receiver *v, enum replica_state state, const char *why)
{
	snprintf(v->shared->why.text, sizeof v->shared->why.text, "%.*s",
		 (int)sizeof v->shared->why.text - 1, why);
	store_release(&v->shared->state, state); /* pairs with replica_state() */
}

static void note_listed(struct replica_receiver *v, const struct message *m)
{
	size_t n = strlen(v->list);

	v->n_listed++;
	v->known_ns = m->listed.known_ns;
	v->shared->grew |= m->listed.grows;
	snprintf(v->shared->name, sizeof v->shared->name, "%s", m->listed.path);
	snprintf(v->list + n, sizeof v->list - n, "\n  %s%s", m->listed.path,
		 m->listed.grows ? "" : " (has ended)");
}

static void note_welcome(struct replica_receiver *v, const struct receiver *i)
{
	snprintf(v->shared->path, sizeof v->shared->path, "%s/%s", v->dir_path, i->store.path);
	if (!v->was_welcome && v->from_ns == MESSAGE_FROM_NOW)
		v->from_ns = v->known_ns; /* also when we come again */
	v->was_welcome = true;
	report(v, REPLICA_RECEIVES, "");
}

static int say_none(struct replica_receiver *v, struct diag *d)
{
	const char *wanted = v->o->wanted;

	if (!v->n_listed)
		return diag_fail(d, -ENOENT, "%.200s%s",
				 *wanted ? wanted : "nothing is being recorded there",
				 *wanted ? ": no such recording, and none that grows" : "");
	return diag_fail(d, -ENOENT,
			 *wanted ? "none, or several, are called %.200s; there are:%.*s"
				 : "several are being recorded%.0s; name one:%.*s",
			 wanted, (int)sizeof d->text - 600, v->list);
}

/* 0; 1: all is here; or -errno. */
static int take(struct replica_receiver *v, struct receiver *i, size_t n, struct diag *d)
{
	enum receiver_event e;

	while ((e = receiver_took(i, n)) != RECEIVER_NOTHING) {
		n = 0;
		if (e == RECEIVER_LISTED)
			note_listed(v, &i->said);
		else if (e == RECEIVER_NO_MORE)
			return say_none(v, d);
		else if (e == RECEIVER_REFUSED)
			return diag_fail(d, -EACCES, "it refuses: %s", i->said.text);
		else if (e == RECEIVER_WELCOME)
			note_welcome(v, i);
	}
	if (i->is_over && !i->store.has_ended)
		return diag_fail(d, -EPROTO,
				 "no relay answers there, or the copy cannot be written");
	return i->store.has_ended;
}

static int read_some(struct replica_receiver *v, struct tls *w, struct receiver *i, struct diag *d)
{
	size_t room;
	uint8_t *to = receiver_room(i, &room);
	long n = room ? tls_read(w, to, room, d) : -EAGAIN;

	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	v->last_read_ns = connection_now_ns();
	v->unmeasured += (uint64_t)n;
	v->gulp -= (uint64_t)n < v->gulp ? (uint64_t)n : v->gulp;
	return take(v, i, (size_t)n, d);
}

static int write_some(struct tls *w, struct receiver *i, struct diag *d)
{
	while (i->n_out) {
		long n = tls_write(w, i->out, i->n_out, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		receiver_sent(i, (size_t)n);
	}
	return 0;
}

/* What was wanted from the beginning of following on is here. */
static void note_ready(struct replica_receiver *v)
{
	struct progress p;

	if (!v->was_welcome || v->shared->is_ready)
		return;
	progress_read(v->shared->path, &p);
	if (p.state != PROGRESS_UNKNOWN &&
	    (v->o->from_begin || !v->shared->grew || p.state != PROGRESS_GROWS ||
	     p.written_ns >= v->known_ns))
		store_release(&v->shared->is_ready, 1); /* pairs with wait_ready() */
}

static bool is_full(struct replica_receiver *v, struct receiver *i)
{
	uint64_t now_ns = connection_now_ns();

	if (now_ns >= v->trim_due_ns || v->unmeasured > GULP) {
		v->held = store_trim(&i->store);
		v->trim_due_ns = now_ns + TRIM_NS;
		v->unmeasured = 0;
		note_ready(v);
	}
	if (v->held <= v->o->most_bytes || !v->shared->is_ready)
		return false;
	if (!v->gulp && exchange(&v->shared->starves, 0))
		v->gulp = GULP;
	return !v->gulp;
}

/* The silence is ours: it is told now and then, so that it is not taken for a cut link. */
static void say_paused(struct replica_receiver *v, struct receiver *i)
{
	uint64_t now_ns = connection_now_ns();

	v->last_read_ns = now_ns;
	receiver_retry(i);
	if (now_ns < v->pause_due_ns)
		return;
	v->pause_due_ns = now_ns + PAUSE_NS;
	receiver_trouble(i,
			 i->is_stalled ? "the disk of who follows is full" : "who follows is slow");
}

/* 0; 1: all is here; or -errno. */
static int work(struct replica_receiver *v, struct tls *w, struct receiver *i, bool *is_paused,
		struct diag *d)
{
	enum { READS_AT_ONCE = 16 };
	int err = w->is_ready ? 0 : tls_handshake(w, d), written;

	*is_paused = false;
	for (int k = 0; k < READS_AT_ONCE && !err; k++) {
		*is_paused = v->was_welcome && (is_full(v, i) || i->is_stalled);
		if (!*is_paused)
			err = read_some(v, w, i, d);
		written = err < 0 ? 0 : write_some(w, i, d);
		err = written ? written : err;
	}
	if (err == -EAGAIN)
		err = 0;
	if (*is_paused)
		say_paused(v, i);
	if (!err && connection_now_ns() - v->last_read_ns > SILENCE_NS)
		err = diag_fail(d, -ETIMEDOUT, "nothing was heard from it for %d s",
				(int)(SILENCE_NS / 1000000000));
	return err;
}

static void read_control(struct replica_receiver *v, short events)
{
	v->is_over |= events != 0;
}

static void ask(const struct replica_receiver *v, struct receiver *i)
{
	struct message m = { .type = MESSAGE_WATCH,
			     .watch = { .version = MESSAGE_VERSION, .from_ns = v->from_ns } };

	snprintf(m.watch.wanted, sizeof m.watch.wanted, "%s",
		 v->was_welcome ? v->shared->name : v->o->wanted);
	i->is_watching = true;
	i->n_out = (uint32_t)message_write(&m, i->out);
}

/* 0; 1: all is here; or -errno. */
static int converse(struct replica_receiver *v, int fd, struct diag *d)
{
	struct receiver i;
	struct tls w;
	bool is_paused;
	int err = tls_open(&w, v->keys, fd, v->o->from.host, d);

	if (err)
		return err;
	err = receiver_init(&i, v->dir, 0);
	if (!err)
		ask(v, &i);
	v->last_read_ns = connection_now_ns();
	while (!err && !v->is_over) {
		struct pollfd p[2] = { { .fd = fd }, { .fd = v->control, .events = POLLIN } };

		err = work(v, &w, &i, &is_paused, d);
		if (err)
			break;
		p[0].events = (short)((is_paused ? 0 : POLLIN) |
				      (w.wants_write || (w.is_ready && i.n_out) ? POLLOUT : 0));
		poll(p, 2, tls_has_more(&w) && !is_paused ? 0 : TURN_MS);
		read_control(v, p[1].revents);
	}
	if (err == 1) /* our ENDED is on its way */
		tls_finish(&w);
	receiver_fini(&i);
	tls_close(&w);
	return err;
}

/* ---------------------------------------------------------------- the receiving process */

static void pause_for(struct replica_receiver *v, int ms)
{
	struct pollfd p = { .fd = v->control, .events = POLLIN };

	poll(&p, 1, ms);
	read_control(v, p.revents);
}

static bool is_for_good(const struct replica_receiver *v, int err)
{
	return !v->was_welcome || err == -EKEYREJECTED || err == -EACCES || err == -ENOENT;
}

/* What is wrong, with whom. */
static void report_trouble(struct replica_receiver *v, enum replica_state state,
			   const struct diag *d)
{
	const struct endpoint *p = &v->o->from;
	char text[sizeof d->text];
	bool names_it = !strncmp(d->text, p->host, strlen(p->host));

	snprintf(text, sizeof text, "%.200s%s%.31s%s%.750s", names_it ? "" : p->host,
		 names_it ? "" : ":", names_it ? "" : p->port, names_it ? "" : ": ", d->text);
	report(v, state, text);
}

static void receive(struct replica_receiver *v)
{
	int pause_ms = FIRST_PAUSE_MS;

	while (!v->is_over) {
		struct diag d = { "" };
		int fd = endpoint_connect(&v->o->from, tls_is_plain(v->keys), CONNECT_MS,
					  v->control, &d),
		    err;

		v->n_listed = 0;
		v->list[0] = 0;
		err = fd < 0 ? fd : converse(v, fd, &d);
		if (v->is_over || err == -ECANCELED)
			return;
		if (err == 1) {
			report(v, REPLICA_ENDED, "");
			store_release(&v->shared->is_ready, 1);
			return;
		}
		if (is_for_good(v, err))
			return report_trouble(v, REPLICA_FAILED, &d);
		pause_ms = v->shared->state == REPLICA_RECEIVES ? FIRST_PAUSE_MS : 2 * pause_ms;
		report_trouble(v, REPLICA_CUT, &d);
		pause_for(v,
			  pause_ms < LONGEST_PAUSE_MS ? pause_ms : (pause_ms = LONGEST_PAUSE_MS));
	}
}

static void remove_copy(const char *dir)
{
	io_remove_tree(dir);
}

/* Among them other copies' pipes, which would not end while we have them. */
static void close_others(const struct replica_receiver *v)
{
	unsigned low = (unsigned)(v->control < v->dir ? v->control : v->dir),
		 high = (unsigned)(v->control < v->dir ? v->dir : v->control);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

static void run(struct replica_receiver *v)
{
	static const int others[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct pollfd p = { .fd = v->control, .events = POLLIN };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* What ends the reader closes the pipe: the copy is removed then, and not before. */
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		sigaction(others[i], &ignore, NULL);
	for (int fd = 0; fd < 3 && nothing >= 0; fd++)
		dup2(nothing, fd);
	close_others(v);
	receive(v);
	if (!v->is_over)
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
	remove_copy(v->dir_path);
	_exit(0);
}

/* ---------------------------------------------------------------- who reads */

static int make_dir(struct replica *m, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(m->dir, sizeof m->dir, "%s/duet-live-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	    (int)sizeof m->dir)
		return diag_fail(d, -ENAMETOOLONG, "$TMPDIR is too long");
	if (mkdtemp(m->dir))
		return 0;
	diag_errno(d, "cannot make a directory for the copy: %s", m->dir);
	m->dir[0] = 0;
	return -EIO;
}

static int start(struct replica *m, const struct replica_options *o, struct diag *d)
{
	struct replica_receiver v = { .o = o,
				      .shared = m->shared,
				      .dir_path = m->dir,
				      .from_ns = o->from_begin ? 0 : MESSAGE_FROM_NOW };
	int pipe[2], err = tls_context_open(&v.keys, &o->keys, false, d);

	if (err)
		return err;
	v.dir = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v.dir < 0 || pipe2(pipe, O_CLOEXEC)) {
		err = diag_errno(d, "cannot start receiving");
	} else {
		v.control = pipe[0];
		m->pid = fork();
		if (!m->pid) {
			close(pipe[1]);
			run(&v);
		}
		close(pipe[0]);
		m->control = pipe[1];
		if (m->pid < 0)
			err = diag_errno(d, "cannot start receiving");
	}
	if (v.dir >= 0)
		close(v.dir);
	tls_context_close(v.keys);
	return err;
}

static bool is_gone(const struct replica *m)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)m->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static int wait_ready(struct replica *m, struct diag *d)
{
	while (!load_acquire(&m->shared->is_ready)) {
		if (replica_state(m, d) == REPLICA_FAILED)
			return -ENOENT;
		poll(NULL, 0, 10);
	}
	return 0;
}

int replica_open(struct replica **out, const struct replica_options *o, struct diag *d)
{
	struct replica *m = calloc(1, sizeof *m);
	int err;

	*out = NULL;
	if (!m)
		return diag_fail(d, -ENOMEM, "no memory");
	m->control = -1;
	m->shared = mmap(NULL, sizeof *m->shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (m->shared == MAP_FAILED) {
		m->shared = NULL;
		err = diag_errno(d, "cannot share memory");
	} else {
		err = make_dir(m, d);
	}
	if (!err)
		err = start(m, o, d);
	if (!err)
		err = wait_ready(m, d);
	if (err)
		replica_close(m);
	else
		*out = m;
	return err;
}

void replica_close(struct replica *m)
{
	if (!m)
		return;
	if (m->control >= 0)
		close(m->control);
	while (m->pid > 0 && waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (*m->dir)
		remove_copy(m->dir); /* if that one was killed */
	if (m->shared)
		munmap(m->shared, sizeof *m->shared);
	free(m->freed);
	free(m);
}

const char *replica_path(const struct replica *m)
{
	return m->shared->path;
}

bool replica_grew(const struct replica *m)
{
	return m->shared->grew;
}

const char *replica_name(const struct replica *m)
{
	return m->shared->name;
}

static bool grow(struct replica *m, uint32_t n)
{
	uint64_t *bigger =
		n < m->n_freed ? m->freed : reallocarray(m->freed, n + (size_t)1, sizeof *bigger);

	if (!bigger)
		return false;
	for (uint32_t i = m->n_freed; i <= n; i++)
		bigger[i] = 0;
	m->freed = bigger;
	m->n_freed = n < m->n_freed ? m->n_freed : n + 1;
	return true;
}

void replica_read(struct replica *m, uint32_t stream, const char *path, uint64_t bytes)
{
	int fd;

	bytes &= ~(uint64_t)(HOLE_STEP - 1);
	if (!grow(m, stream) || bytes <= m->freed[stream])
		return;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)m->freed[stream], (off_t)(bytes - m->freed[stream])))
		m->freed[stream] = bytes;
	if (fd >= 0)
		close(fd);
}

void replica_starve(struct replica *m)
{
	store(&m->shared->starves, 1);
}

enum replica_state replica_state(const struct replica *m, struct diag *d)
{
	enum replica_state s = load_acquire(&m->shared->state);

	if (s != REPLICA_ENDED && s != REPLICA_FAILED && is_gone(m)) {
		diag_fail(d, -ECHILD, "the process that receives was killed");
		return REPLICA_FAILED;
	}
	if (d && (s == REPLICA_CUT || s == REPLICA_FAILED))
		*d = m->shared->why;
	return s;
}
