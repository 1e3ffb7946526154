/* SPDX-License-Identifier: MIT */
/*
 * control/client.c - the session that a call is for, its request and its answer.
 *
 * A call without a session's name means the last one of DUET_SESSION, else the first one that
 * records this process, else "default".
 */
#include "control/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/compose.h"
#include "base/monotonic.h"
#include "base/runtime.h"
#include "control/exchange.h"

/* The environment when the library was loaded: reading it later is not safe in threads and in signal
 * handlers. */
static char start_directory[512], start_session[DUET_SESSION_BYTES];

/* DUET_SESSION may name several sessions; the last is the innermost recording:
 * rules/membership.h. */
static __attribute__((constructor)) void read_environment(void)
{
	const char *sessions = secure_getenv("DUET_SESSION"),
		   *last = sessions ? strrchr(sessions, '+') : NULL;

	if (!runtime_path(start_directory, sizeof start_directory, NULL))
		start_directory[0] = 0;
	if (sessions)
		compose(start_session, sizeof start_session, last ? last + 1 : sessions, NULL);
}

/* ---------------------------------------------------------------- the session */

/* Read the first @n bytes of a file; false if it has fewer. */
static bool read_file(const char *path, void *bytes, size_t n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_complete = fd >= 0 && pread(fd, bytes, n, 0) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return is_complete;
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

/* Find the first session that records this process, by its control page.  False if there is none. */
static bool find_own_session(struct client_call *a)
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

static bool name_session(struct client_call *a)
{
	if (a->c && a->c->session)
		return compose(a->session, sizeof a->session, a->c->session, NULL);
	if (start_session[0])
		return compose(a->session, sizeof a->session, start_session, NULL);
	if (!find_own_session(a))
		compose(a->session, sizeof a->session, "default", NULL);
	return true;
}

uint64_t client_left_ns(const struct client_call *a)
{
	return exchange_left_ns(a->until_ns);
}

/* The directory must be this user's or root's, and writable by no other. */
static int check_directory(struct client_call *a)
{
	struct stat st;

	if (stat(a->directory, &st))
		return client_fail(a, -ENOENT, "nothing records: there is no ", a->directory, NULL);
	if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid) || (st.st_mode & 022))
		return client_fail(a, -EPERM, a->directory, " is not ours alone", NULL);
	return 0;
}

int client_begin(struct client_call *a, struct duet_control *c, uint64_t default_limit_ns)
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
	a->until_ns = monotonic_ns() + limit_ns;
	if (!compose(a->directory, sizeof a->directory,
		     c && c->directory ? c->directory : start_directory, NULL))
		return client_fail(a, -EINVAL, "the runtime directory's path is too long", NULL,
				   NULL);
	err = check_directory(a);
	if (err)
		return err;
	if (!name_session(a) || !a->session[0] || strchr(a->session, '/'))
		return client_fail(a, -EINVAL,
				   "a session's name has 1 to 63 characters, and no slash", NULL,
				   NULL);
	return 0;
}

int client_end(struct client_call *a, int result)
{
	errno = a->saved_errno;
	return result;
}

int client_fail(struct client_call *a, int err, const char *first, const char *second,
		const char *third)
{
	if (a->c)
		compose(a->c->why, sizeof a->c->why, first, second ? second : "",
			third ? third : "", NULL);
	return err;
}

/* ---------------------------------------------------------------- the request */

void client_request_begin(struct client_request *r, const char *verb)
{
	r->line = text_fixed(r->bytes, sizeof r->bytes);
	json_line_add_text(&r->line, "verb", verb);
}

void client_request_text(struct client_request *r, const char *key, const char *value)
{
	if (!value)
		return;
	for (const char *p = value; *p; p++)
		r->line.failed |= (unsigned char)*p < ' '; /* no name, pattern or filter has one */
	json_line_add_text(&r->line, key, value);
}

void client_request_number(struct client_request *r, const char *key, uint64_t value)
{
	json_line_add_number(&r->line, key, value);
}

/* ---------------------------------------------------------------- the exchange */

static struct exchange exchange_with(const struct client_call *a, const char *session)
{
	return (struct exchange){ .directory = a->directory,
				  .session = session,
				  .until_ns = a->until_ns,
				  .passed = -1,
				  .requires_own_user = true };
}

bool client_is_live(const struct client_call *a, const char *session)
{
	const struct exchange e = exchange_with(a, session);
	int fd = exchange_connect(&e);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EAGAIN;
}

static int report_failure(struct client_call *a, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		return client_fail(a, -ENOENT, "no session ", a->session, " records");
	case -EAGAIN:
	case -EINTR:
		return client_fail(a, -ETIMEDOUT, "the collector of session ", a->session,
				   " did not answer in time");
	case -EPIPE:
	case -ECONNRESET:
		return client_fail(a, -EPIPE, "session ", a->session, " ended before it answered");
	case -EPERM:
		return client_fail(a, -EPERM, "the socket of session ", a->session,
				   " is another user's");
	}
	return client_fail(a, err, "cannot ask session ", a->session, NULL);
}

int client_exchange(struct client_call *a, const char *line, size_t line_bytes, char *answer,
		    size_t size)
{
	const struct exchange e = exchange_with(a, a->session);
	int n = exchange_run(&e, line, line_bytes, answer, size);

	return n < 0 ? report_failure(a, n) : n;
}

int client_ask(struct client_call *a, struct client_request *r, struct client_answer *answer)
{
	char why[DUET_WHY_BYTES];
	int n;

	if (json_line_end(&r->line))
		return client_fail(a, -EINVAL, "the request is too long, or has control characters",
				   NULL, NULL);
	n = client_exchange(a, r->line.bytes, r->line.size, answer->text, sizeof answer->text);
	if (n < 0)
		return n;
	if (json_line_parse(&answer->line, answer->text, (size_t)n))
		return client_fail(a, -EPROTO, "session ", a->session, ": not an answer");
	if (json_line_is_true(&answer->line, "ok"))
		return 0;
	if (!json_line_text(&answer->line, "error", why, sizeof why))
		compose(why, sizeof why, "it gave no reason", NULL);
	return client_fail(a, json_line_is_true(&answer->line, "busy") ? -EBUSY : -EREMOTEIO, why,
			   NULL, NULL);
}
