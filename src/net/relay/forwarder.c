/* SPDX-License-Identifier: MIT */
/* net/relay/forwarder.c - finds the recording that a follower wants, and sends it from the disk. */
#include "net/relay/forwarder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/progress.h"
#include "base/text.h"
#include "net/send/connection.h"

enum { LISTED_MAX = 64 };
#define CHECK_NS 200000000ull /* how often the end of the recording is checked */

struct forwarder {
	struct tls *tls;
	char path[MESSAGE_NAME + 1]; /* below the output */
	char full_path[PATH_MAX];
	struct text first_messages; /* the messages before the connection starts */
	size_t n_sent_bytes;
	bool has_begun; /* the connection */
	struct message hello;
	struct spool spool;
	struct sender_status status;
	struct connection connection;
	uint64_t check_due_ns;
};

/* ---------------------------------------------------------------- recordings of the relay */

struct found {
	char path[MESSAGE_NAME + 1];
	bool grows;
	uint64_t known_ns;
};

struct search {
	const char *output, *wanted;
	struct found matches[LISTED_MAX],
		growing_others[LISTED_MAX]; /* other recordings, that grow */
	uint32_t n_matches, n_growing, n_growing_others;
	struct found growing; /* the last match that grows */
};

/* Whether @wanted is HOST/NAME, HOST, NAME, NAME without its date, or a pattern of one of the
 * first three. */
static bool is_match(const char *wanted, const char *host, const char *name, const char *path)
{
	size_t n = strlen(wanted);

	if (!fnmatch(wanted, path, 0) || !fnmatch(wanted, host, 0) || !fnmatch(wanted, name, 0))
		return true;
	return n && !strncmp(name, wanted, n) && name[n] == '-' && name[n + 1] >= '0' &&
	       name[n + 1] <= '9';
}

static void consider_recording(struct search *s, const char *host, const char *name)
{
	struct found f = { .grows = false };
	char full_path[PATH_MAX];
	struct progress p;
	bool matches;

	if (!message_is_name(host, strlen(host)) || !message_is_name(name, strlen(name)) ||
	    snprintf(f.path, sizeof f.path, "%s/%s", host, name) >= (int)sizeof f.path ||
	    snprintf(full_path, sizeof full_path, "%s/%s", s->output, f.path) >=
		    (int)sizeof full_path)
		return;
	progress_read(full_path, &p);
	if (p.state == PROGRESS_UNKNOWN)
		return;
	f.grows = p.state == PROGRESS_GROWS;
	f.known_ns = p.written_ns;
	matches = *s->wanted ? is_match(s->wanted, host, name, f.path) : f.grows;
	if (matches && f.grows) {
		s->growing = f;
		s->n_growing++;
	}
	if (matches && s->n_matches < LISTED_MAX)
		s->matches[s->n_matches++] = f;
	else if (!matches && f.grows && s->n_growing_others < LISTED_MAX)
		s->growing_others[s->n_growing_others++] = f;
}

static void search_directory(struct search *s, const char *host)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir = snprintf(path, sizeof path, "%s%s%s", s->output, host ? "/" : "",
			    host ? host : "") < (int)sizeof path
			   ? opendir(path)
			   : NULL;

	while (dir && (e = readdir(dir)))
		if (*e->d_name != '.' && host)
			consider_recording(s, host, e->d_name);
		else if (*e->d_name != '.')
			search_directory(s, e->d_name);
	if (dir)
		closedir(dir);
}

static const struct found *single_match(const struct search *s)
{
	if (s->n_growing == 1)
		return &s->growing;
	return s->n_matches == 1 ? &s->matches[0] : NULL;
}

/* ---------------------------------------------------------------- opening */

static int queue_first(struct forwarder *s, const struct message *m)
{
	uint8_t bytes[MESSAGE_FIRST_MAX];

	text_add(&s->first_messages, (const char *)bytes, message_write(m, bytes));
	return s->first_messages.failed ? -ENOMEM : 0;
}

static int queue_listed(struct forwarder *s, const struct found *f)
{
	struct message m = { .type = MESSAGE_LISTED,
			     .listed = { .grows = f->grows, .known_ns = f->known_ns } };

	strcpy(m.listed.path, f->path);
	return queue_first(s, &m);
}

static int queue_list(struct forwarder *s, const struct found *f, uint32_t n)
{
	const struct message end = { .type = MESSAGE_END };
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = queue_listed(s, &f[i]);
	return err ? err : queue_first(s, &end);
}

/* The copy gets the name of the recording.  Its id is made of device and inode number, so that it
 * is the same after a reconnect. */
static int fill_hello(struct forwarder *s, struct diag *d)
{
	const char *name = strchr(s->path, '/') + 1, *date = strrchr(name, '-');
	char host[MESSAGE_TEXT + 1], session[MESSAGE_NAME + 1];
	uint64_t id[2];
	struct stat st;

	if (fstatat(s->spool.dir, ".duet/clock", &st, AT_SYMLINK_NOFOLLOW))
		return diag_errno(d, "%s/.duet/clock", s->full_path);
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	snprintf(host, sizeof host, "%.*s", (int)(name - 1 - s->path), s->path);
	snprintf(session, sizeof session, "%.*s", date ? (int)(date - name) : (int)strlen(name),
		 name);
	s->hello = (struct message){ .type = MESSAGE_HELLO, .hello.version = MESSAGE_VERSION };
	memcpy(s->hello.hello.id, id, MESSAGE_ID);
	message_name(s->hello.hello.host, host);
	message_name(s->hello.hello.session, session);
	message_name(s->hello.hello.date, date ? date + 1 : "0");
	return 0;
}

static int open_recording(struct forwarder *s, const struct found *f, uint64_t from_ns,
			  struct diag *d)
{
	int err;

	strcpy(s->path, f->path);
	from_ns = from_ns == MESSAGE_FROM_NOW ? f->known_ns : from_ns;
	err = queue_listed(s, f);
	if (!err) /* a recording that has ended is sent completely */
		err = spool_open_for_follower(&s->spool, s->full_path, f->grows ? from_ns : 0, d);
	if (!err && flock(s->spool.dir, LOCK_SH | LOCK_NB) &&
	    errno == EWOULDBLOCK) /* it is being removed */
		err = diag_errno(d, "cannot hold %s", f->path);
	return err ? err : fill_hello(s, d);
}

int forwarder_open(struct forwarder **out, const char *output, struct tls *t,
		   const struct message *watch, struct diag *d)
{
	struct forwarder *s = calloc(1, sizeof *s);
	struct search *found = calloc(1, sizeof *found);
	const struct found *f;
	int err = s && found ? 0 : diag_fail(d, -ENOMEM, "no memory");

	*out = NULL;
	if (!err) {
		s->tls = t;
		s->spool.dir = s->spool.fd = -1;
		found->output = output;
		found->wanted = watch->watch.wanted;
		search_directory(found, NULL);
		f = single_match(found);
		if (f && snprintf(s->full_path, sizeof s->full_path, "%s/%s", output, f->path) >=
				 (int)sizeof s->full_path)
			err = diag_fail(d, -ENAMETOOLONG, "%s is too long", f->path);
		else if (f)
			err = open_recording(s, f, watch->watch.from_ns, d);
		else if (found->n_matches)
			err = queue_list(s, found->matches, found->n_matches);
		else
			err = queue_list(s, found->growing_others, found->n_growing_others);
	}
	free(found);
	if (err)
		forwarder_close(s);
	else
		*out = s;
	return err;
}

void forwarder_close(struct forwarder *s)
{
	if (!s)
		return;
	spool_close(&s->spool);
	text_fini(&s->first_messages);
	free(s);
}

const char *forwarder_path(const struct forwarder *s)
{
	return s->path;
}

/* ---------------------------------------------------------------- work */

/* 1: all are sent; 0: not yet; or -errno. */
static int write_first(struct forwarder *s, struct diag *d)
{
	while (s->n_sent_bytes < s->first_messages.size) {
		long n = tls_write(s->tls, s->first_messages.bytes + s->n_sent_bytes,
				   s->first_messages.size - s->n_sent_bytes, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		s->n_sent_bytes += (size_t)n;
	}
	return 1;
}

static void check_end(struct forwarder *s)
{
	uint64_t now_ns = monotonic_ns();
	struct progress p;

	if (now_ns < s->check_due_ns)
		return;
	s->check_due_ns = now_ns + CHECK_NS;
	progress_read(s->full_path, &p);
	s->connection.is_asked_to_end |= p.state != PROGRESS_GROWS;
}

int forwarder_work(struct forwarder *s, struct diag *d)
{
	int err = s->has_begun ? 1 : write_first(s, d);

	if (err <= 0 || !*s->path)
		return err;
	if (!s->has_begun)
		connection_begin(&s->connection, s->tls, &s->spool, &s->status, &s->hello);
	s->has_begun = true;
	check_end(s);
	return connection_work(&s->connection, d);
}

short forwarder_waits_for(const struct forwarder *s)
{
	int unused;

	return s->has_begun ? connection_waits_for(&s->connection, &unused) : POLLIN | POLLOUT;
}
