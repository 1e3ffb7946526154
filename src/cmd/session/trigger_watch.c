/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/trigger_watch.c - one connection to each collector of a session.
 *
 * Each tenant collector has its own triggers.  Tenants come and go, and a killed collector is
 * replaced: both change the runtime directory.  So the sockets there are compared with the
 * connections whenever the directory changes or a connection is closed.
 */
#include "cmd/session/trigger.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/session/tenant_sessions.h"
#include "collect/session/public.h"
#include "control/exchange.h"

enum { LOOK_MS = 1000 }; /* if inotify is not available */

struct source {
	char *name; /* of the main session or of a tenant's part */
	int fd;	    /* -1: it did not answer; that was printed, and it is not asked again */
};

struct listening {
	int dir, inotify;
	const char *session;
	uint64_t n, count;	/* lines printed; their limit, 0: none */
	struct source *sources; /* the main collector's is the first, if it runs */
	int n_sources;
	struct pollfd *polled; /* of the sources, and of inotify */
};

/* Returns 0; 1 if the session ended; CMD_FAILED after a message. */
static int ask(const struct listening *l, const char *session, int *fd)
{
	char directory[32], request[64], line[SESSION_REQUEST_BYTES];
	const struct exchange e = { .directory = directory,
				    .session = session,
				    .until_ns = cmd_until_ns(CMD_TIMEOUT_S),
				    .passed = -1 };
	struct text t = text_fixed(request, sizeof request);
	struct json_line answer;
	int size;

	snprintf(directory, sizeof directory, "/proc/self/fd/%d", l->dir);
	json_line_add_text(&t, "verb", "watch");
	json_line_end(&t);
	cmd_wait_begin();
	*fd = exchange_connect(&e);
	size = *fd < 0 ? *fd : exchange_on(&e, *fd, t.bytes, t.size, line, sizeof line);
	cmd_wait_end();
	if (*fd < 0 && size != -EAGAIN)
		return 1;
	if (size > 0 && !json_line_parse(&answer, line, (size_t)size) &&
	    json_line_is_true(&answer, "ok"))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (size == -EAGAIN)
		return cmd_error("trigger",
				 "session %s: its collector does not answer (is it stopped?)",
				 session);
	return size > 0 ? cmd_error("trigger", "session %s: many watch already", session) : 1;
}

static bool is_watched(const struct listening *l, const char *name)
{
	for (int i = 0; i < l->n_sources; i++)
		if (!strcmp(l->sources[i].name, name))
			return true;
	return false;
}

/* Returns as ask does. */
static int listen_to(void *arg, const char *session)
{
	struct listening *l = arg;
	int fd, status;

	if (is_watched(l, session))
		return 0;
	status = ask(l, session, &fd);
	if (status == 1 || (status && !tenant_session_label(session)))
		return status;
	l->sources = cmd_grow(l->sources, l->n_sources, sizeof *l->sources);
	l->sources[l->n_sources++] = (struct source){ strdup(session), fd };
	return 0;
}

static void forget(struct listening *l, int i)
{
	if (l->sources[i].fd >= 0)
		close(l->sources[i].fd);
	free(l->sources[i].name);
	l->sources[i] = l->sources[--l->n_sources];
}

/* Returns false if the connection is closed. */
static bool print_notification(struct listening *l, const struct source *s)
{
	char line[SESSION_REQUEST_BYTES];
	ssize_t size = recv(s->fd, line, sizeof line, MSG_DONTWAIT);

	if (size <= 0)
		return size < 0 && (errno == EAGAIN || errno == EINTR);
	print_lines(line, (size_t)size);
	print_flush();
	l->n++;
	return true;
}

static bool is_full(const struct listening *l)
{
	return l->count && l->n >= l->count;
}

/*
 * Wait, and print the notifications that arrived.  Returns whether the sessions may have changed.
 */
static bool wait_and_print(struct listening *l)
{
	char changes[4096];
	bool has_changed;
	int n = l->n_sources;

	l->polled = realloc(l->polled, ((size_t)n + 1) * sizeof *l->polled);
	if (!l->polled)
		abort();
	for (int i = 0; i < n; i++)
		l->polled[i] = (struct pollfd){ .fd = l->sources[i].fd, .events = POLLIN };
	l->polled[n] = (struct pollfd){ .fd = l->inotify, .events = POLLIN };
	has_changed = poll(l->polled, (nfds_t)n + 1, LOOK_MS) == 0;
	while (l->polled[n].revents && read(l->inotify, changes, sizeof changes) > 0)
		has_changed = true;
	for (int i = n - 1; i >= 0 && !is_full(l); i--)
		if (l->polled[i].revents && !print_notification(l, &l->sources[i])) {
			forget(l, i);
			has_changed = true;
		}
	return has_changed;
}

/* Returns 1 if the session has ended. */
static int look(struct listening *l)
{
	int status = listen_to(l, l->session);

	if (!status)
		tenant_sessions_each_other(l->dir, l->session, listen_to, l);
	return status;
}

static int open_inotify(int dir)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	if (fd >= 0)
		inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	return fd;
}

int trigger_listen(int dir, const char *session, uint64_t count)
{
	struct listening l = {
		.dir = dir, .inotify = open_inotify(dir), .session = session, .count = count
	};
	int status = look(&l);

	while (!status && !is_full(&l))
		if (wait_and_print(&l) && !is_full(&l))
			status = look(&l);
	while (l.n_sources)
		forget(&l, 0);
	free(l.sources);
	free(l.polled);
	if (l.inotify >= 0)
		close(l.inotify);
	if (status == CMD_FAILED)
		return status;
	return count && l.n < count ? cmd_error("trigger", "session %s has ended", session) : 0;
}
