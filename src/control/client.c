/* SPDX-License-Identifier: MIT */
/* control/client.c - see client.h. */
#include "control/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/compose.h"
#include "base/runtime.h"

/* What the environment said at the start: asking it later is safe neither in threads nor in
 * handlers. */
static char start_directory[512], start_session[DUET_SESSION_BYTES];

/* Of the sessions that DUET_SESSION names the last, the innermost recording: rules/membership.h. */
static __attribute__((constructor)) void read_environment(void)
{
	const char *sessions = secure_getenv("DUET_SESSION"),
		   *last = sessions ? strrchr(sessions, '+') : NULL;

	if (!runtime_path(start_directory, sizeof start_directory, NULL))
		start_directory[0] = 0;
	if (sessions)
		compose(start_session, sizeof start_session, last ? last + 1 : sessions, NULL);
}

/* ---------------------------------------------------------------- whom */

/* All of @bytes from the file's beginning on. */
static bool read_file(const char *path, void *bytes, size_t n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool whole = fd >= 0 && pread(fd, bytes, n, 0) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return whole;
}

static bool read_own_page(const char *directory, struct abi_control *page)
{
	struct runtime_self self = runtime_self();
	char path[512 + ABI_PAGE_NAME_BYTES], pid[DECIMAL_BYTES], proc[DECIMAL_BYTES];

	return self.pid &&
	       compose(path, sizeof path, directory, "/app-", decimal(pid, self.pid), "-",
		       decimal(proc, self.proc), NULL) &&
	       read_file(path, page, sizeof *page) && page->magic == ABI_CONTROL_MAGIC &&
	       page->version == ABI_CONTROL_VERSION;
}

static bool read_session_slots(const char *directory, struct abi_session_slots *session_slots)
{
	char path[512 + ABI_PAGE_NAME_BYTES];

	return compose(path, sizeof path, directory, "/seats", NULL) &&
	       read_file(path, session_slots, sizeof *session_slots) &&
	       session_slots->magic == ABI_SESSION_SLOTS_MAGIC &&
	       session_slots->version == ABI_SESSION_SLOTS_VERSION;
}

/* The first session that records this process, as our control page says.  False if there is none.
 */
static bool find_own_session(struct ask *a)
{
	struct abi_control page;
	struct abi_session_slots session_slots;

	if (!read_own_page(a->directory, &page) ||
	    !read_session_slots(a->directory, &session_slots))
		return false;
	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		struct abi_session_slot *s = &session_slots.at[i];

		s->session[ABI_NAME_BYTES - 1] = 0;
		if (ABI_EPOCH_IS_NONE(s->epoch) || page.session_slots[i].epoch != s->epoch ||
		    !s->session[0] || strchr(s->session, '/') || !client_is_live(a, s->session))
			continue;
		return compose(a->session, sizeof a->session, s->session, NULL);
	}
	return false;
}

_Static_assert((int)DUET_SESSION_BYTES == (int)ABI_NAME_BYTES, "a session's name");

static bool name_session(struct ask *a)
{
	if (a->c && a->c->session)
		return compose(a->session, sizeof a->session, a->c->session, NULL);
	if (start_session[0])
		return compose(a->session, sizeof a->session, start_session, NULL);
	if (!find_own_session(a))
		compose(a->session, sizeof a->session, "default", NULL);
	return true;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t client_left_ns(const struct ask *a)
{
	int64_t left_ns = a->until_ns - now_ns();

	return left_ns > 0 ? left_ns : 0;
}

/* One of ours, or root's, in which nobody else may put anything. */
static int check_directory(struct ask *a)
{
	struct stat st;

	if (stat(a->directory, &st))
		return client_reason(a, -ENOENT, "nothing records: there is no ", a->directory,
				     NULL);
	if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid) || (st.st_mode & 022))
		return client_reason(a, -EPERM, a->directory, " is not ours alone", NULL);
	return 0;
}

int client_begin(struct ask *a, struct duet_control *c, uint64_t default_limit_ns)
{
	uint64_t limit_ns;
	int err;

	a->saved_errno = errno;
	a->c = c && c->size >= sizeof *c ? c : NULL;
	if (a->c)
		a->c->why[0] = 0;
	if (c && !a->c)
		return -EINVAL; /* no `size`, or of a version older than the first */
	limit_ns = c && c->limit_ns ? c->limit_ns : default_limit_ns;
	if (limit_ns > INT64_MAX / 2)
		limit_ns = INT64_MAX / 2;
	a->until_ns = now_ns() + (int64_t)limit_ns;
	if (!compose(a->directory, sizeof a->directory,
		     c && c->directory ? c->directory : start_directory, NULL))
		return client_reason(a, -EINVAL, "the runtime directory's path is too long", NULL,
				     NULL);
	err = check_directory(a);
	if (err)
		return err;
	if (!name_session(a) || !a->session[0] || strchr(a->session, '/'))
		return client_reason(a, -EINVAL,
				     "a session's name has 1 to 63 characters, and no slash", NULL,
				     NULL);
	return 0;
}

int client_end(struct ask *a, int result)
{
	errno = a->saved_errno;
	return result;
}

int client_reason(struct ask *a, int err, const char *first, const char *second, const char *third)
{
	if (a->c)
		compose(a->c->why, sizeof a->c->why, first, second ? second : "",
			third ? third : "", NULL);
	return err;
}

/* ---------------------------------------------------------------- what */

static void add(struct client_line *l, const char *text, size_t size)
{
	if (l->failed || size > sizeof l->text - 1 - l->size) {
		l->failed = true;
		return;
	}
	memcpy(l->text + l->size, text, size);
	l->size += size;
	l->text[l->size] = 0;
}

static void add_key(struct client_line *l, const char *key)
{
	add(l, l->size ? ",\"" : "{\"", 2);
	add(l, key, strlen(key));
	add(l, "\":", 2);
}

void client_line_text(struct client_line *l, const char *key, const char *value)
{
	if (!value)
		return;
	add_key(l, key);
	add(l, "\"", 1);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			add(l, "\\", 1);
		l->failed |= (unsigned char)*value < ' '; /* none of our texts has one */
		add(l, value, 1);
	}
	add(l, "\"", 1);
}

void client_line_number(struct client_line *l, const char *key, uint64_t value)
{
	char digits[DECIMAL_BYTES], *p = decimal(digits, value);

	add_key(l, key);
	add(l, p, strlen(p));
}

void client_line_begin(struct client_line *l, const char *verb)
{
	l->size = 0;
	l->failed = false;
	client_line_text(l, "verb", verb);
}

/* ---------------------------------------------------------------- the exchange */

static struct timeval left(const struct ask *a)
{
	int64_t us = client_left_ns(a) / 1000;

	if (us < 1)
		us = 1; /* 0 would be for ever */
	return (struct timeval){ us / 1000000, us % 1000000 };
}

/* Whether it was a signal, and there is still time. */
static bool shall_go_on(const struct ask *a, int fd, int option)
{
	struct timeval t = left(a);

	return errno == EINTR && client_left_ns(a) &&
	       !setsockopt(fd, SOL_SOCKET, option, &t, sizeof t);
}

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (peer.uid == geteuid() || !peer.uid);
}

/* The socket of @session, or -errno. */
static int connect_to(const struct ask *a, const char *session)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval t = left(a);
	int fd, err;

	if (!compose(to.sun_path, sizeof to.sun_path, a->directory, "/sock-", session, NULL))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	do
		err = connect(fd, (struct sockaddr *)&to, sizeof to);
	while (err && shall_go_on(a, fd, SO_SNDTIMEO));
	err = err ? -errno : is_trusted(fd) ? 0 : -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

bool client_is_live(const struct ask *a, const char *session)
{
	int fd = connect_to(a, session);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EAGAIN;
}

static int transfer(const struct ask *a, int fd, const char *line, size_t bytes, char *answer,
		    size_t size)
{
	ssize_t n;

	do
		n = send(fd, line, bytes, MSG_NOSIGNAL);
	while (n < 0 && shall_go_on(a, fd, SO_SNDTIMEO));
	if (n < 0)
		return -errno;
	do
		n = recv(fd, answer, size - 1, 0);
	while (n < 0 && shall_go_on(a, fd, SO_RCVTIMEO));
	if (n <= 0)
		return n ? -errno : -EPIPE; /* it died, or is of a version that does not know us */
	answer[n] = 0;
	return (int)n;
}

static int report_failure(struct ask *a, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		return client_reason(a, -ENOENT, "no session ", a->session, " records");
	case -EAGAIN:
	case -EINTR:
		return client_reason(a, -ETIMEDOUT, "the collector of session ", a->session,
				     " did not answer in time");
	case -EPIPE:
	case -ECONNRESET:
		return client_reason(a, -EPIPE, "session ", a->session,
				     " ended before it answered");
	case -EPERM:
		return client_reason(a, -EPERM, "the socket of session ", a->session,
				     " is another user's");
	}
	return client_reason(a, err, "cannot ask session ", a->session, NULL);
}

int client_exchange(struct ask *a, const char *line, size_t line_bytes, char *answer, size_t size)
{
	int fd = connect_to(a, a->session), n = fd;

	if (fd >= 0) {
		n = transfer(a, fd, line, line_bytes, answer, size);
		close(fd);
	}
	return n < 0 ? report_failure(a, n) : n;
}

int ask(struct ask *a, struct client_line *l, struct client_answer *answer)
{
	char why[DUET_WHY_BYTES];
	int n;

	add(l, "}\n", 2);
	if (l->failed)
		return client_reason(a, -EINVAL,
				     "the request is too long, or has control characters", NULL,
				     NULL);
	n = client_exchange(a, l->text, l->size, answer->text, sizeof answer->text);
	if (n < 0)
		return n;
	if (json_line_parse(&answer->line, answer->text, (size_t)n))
		return client_reason(a, -EPROTO, "session ", a->session, ": not an answer");
	if (json_line_is_true(&answer->line, "ok"))
		return 0;
	if (!json_line_text(&answer->line, "error", why, sizeof why))
		compose(why, sizeof why, "it gave no reason", NULL);
	return client_reason(a, json_line_is_true(&answer->line, "busy") ? -EBUSY : -EREMOTEIO, why,
			     NULL, NULL);
}
