/* SPDX-License-Identifier: MIT */
/* net/follow/forwarder.c - see forwarder.h. */
#include "net/follow/forwarder.h"

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

#include "base/progress.h"
#include "base/text.h"
#include "net/send/connection.h"

enum { LISTED_MAX = 64 };
#define ASK_NS 200000000ull /* how often it is looked whether the recording has ended */

struct source {
	struct tls *tls;
	char path[MESSAGE_NAME + 1]; /* below the output */
	char whole[PATH_MAX];
	struct text first; /* what is said before the link begins */
	size_t n_sent_bytes;
	bool has_begun; /* the link */
	struct message hello;
	struct spool spool;
	struct sender_status status;
	struct connection link;
	uint64_t client_due_ns;
};

/* ---------------------------------------------------------------- what is there */

struct found {
	char path[MESSAGE_NAME + 1];
	bool grows;
	uint64_t known_ns;
};

struct search {
	const char *output, *wanted;
	struct found fits[LISTED_MAX], others[LISTED_MAX]; /* others: that grow */
	uint32_t n_fits, n_growing, n_others;
	struct found growing; /* the last that fits and grows */
};

/* HOST/NAME, HOST, NAME, or NAME without its date; or a pattern of one of the first three. */
static bool is_wanted(const char *wanted, const char *host, const char *name, const char *path)
{
	size_t n = strlen(wanted);

	if (!fnmatch(wanted, path, 0) || !fnmatch(wanted, host, 0) || !fnmatch(wanted, name, 0))
		return true;
	return n && !strncmp(name, wanted, n) && name[n] == '-' && name[n + 1] >= '0' &&
	       name[n + 1] <= '9';
}

static void session_info_read(struct search *s, const char *host, const char *name)
{
	struct found f = { .grows = false };
	char whole[PATH_MAX];
	struct progress p;
	bool fits;

	if (!message_is_name(host, strlen(host)) || !message_is_name(name, strlen(name)) ||
	    snprintf(f.path, sizeof f.path, "%s/%s", host, name) >= (int)sizeof f.path ||
	    snprintf(whole, sizeof whole, "%s/%s", s->output, f.path) >= (int)sizeof whole)
		return;
	progress_read(whole, &p);
	if (p.state == PROGRESS_UNKNOWN)
		return;
	f.grows = p.state == PROGRESS_GROWS;
	f.known_ns = p.written_ns;
	fits = *s->wanted ? is_wanted(s->wanted, host, name, f.path) : f.grows;
	if (fits && f.grows) {
		s->growing = f;
		s->n_growing++;
	}
	if (fits && s->n_fits < LISTED_MAX)
		s->fits[s->n_fits++] = f;
	else if (!fits && f.grows && s->n_others < LISTED_MAX)
		s->others[s->n_others++] = f;
}

static void look_below(struct search *s, const char *host)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir = snprintf(path, sizeof path, "%s%s%s", s->output, host ? "/" : "",
			    host ? host : "") < (int)sizeof path
			   ? opendir(path)
			   : NULL;

	while (dir && (e = readdir(dir)))
		if (*e->d_name != '.' && host)
			session_info_read(s, host, e->d_name);
		else if (*e->d_name != '.')
			look_below(s, e->d_name);
	if (dir)
		closedir(dir);
}

static const struct found *only(const struct search *s)
{
	if (s->n_growing == 1)
		return &s->growing;
	return s->n_fits == 1 ? &s->fits[0] : NULL;
}

/* ---------------------------------------------------------------- opening */

static int say_first(struct source *s, const struct message *m)
{
	uint8_t bytes[MESSAGE_FIRST_MAX];

	text_add(&s->first, (const char *)bytes, message_write(m, bytes));
	return s->first.failed ? -ENOMEM : 0;
}

static int say_listed(struct source *s, const struct found *f)
{
	struct message m = { .type = MESSAGE_LISTED,
			     .listed = { .grows = f->grows, .known_ns = f->known_ns } };

	strcpy(m.listed.path, f->path);
	return say_first(s, &m);
}

static int say_list(struct source *s, const struct found *f, uint32_t n)
{
	const struct message end = { .type = MESSAGE_END };
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = say_listed(s, &f[i]);
	return err ? err : say_first(s, &end);
}

/* The copy is called like the recording.  It is known again by where it lies. */
static int introduce(struct source *s, struct diag *d)
{
	const char *name = strchr(s->path, '/') + 1, *date = strrchr(name, '-');
	char host[MESSAGE_TEXT + 1], session[MESSAGE_NAME + 1];
	uint64_t id[2];
	struct stat st;

	if (fstatat(s->spool.dir, ".duet/clock", &st, AT_SYMLINK_NOFOLLOW))
		return diag_errno(d, "%s/.duet/clock", s->whole);
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

static int select_events(struct source *s, const struct found *f, uint64_t from_ns, struct diag *d)
{
	int err;

	strcpy(s->path, f->path);
	from_ns = from_ns == MESSAGE_FROM_NOW ? f->known_ns : from_ns;
	err = say_listed(s, f);
	if (!err) /* all of what has ended */
		err = spool_open_for_watcher(&s->spool, s->whole, f->grows ? from_ns : 0, d);
	if (!err && flock(s->spool.dir, LOCK_SH | LOCK_NB) &&
	    errno == EWOULDBLOCK) /* it is being removed */
		err = diag_errno(d, "cannot hold %s", f->path);
	return err ? err : introduce(s, d);
}

int forwarder_open(struct source **out, const char *output, struct tls *w,
		   const struct message *watch, struct diag *d)
{
	struct source *s = calloc(1, sizeof *s);
	struct search *found = calloc(1, sizeof *found);
	const struct found *f;
	int err = s && found ? 0 : diag_fail(d, -ENOMEM, "no memory");

	*out = NULL;
	if (!err) {
		s->tls = w;
		s->spool.dir = s->spool.fd = -1;
		found->output = output;
		found->wanted = watch->watch.wanted;
		look_below(found, NULL);
		f = only(found);
		if (f && snprintf(s->whole, sizeof s->whole, "%s/%s", output, f->path) >=
				 (int)sizeof s->whole)
			err = diag_fail(d, -ENAMETOOLONG, "%s is too long", f->path);
		else if (f)
			err = select_events(s, f, watch->watch.from_ns, d);
		else if (found->n_fits)
			err = say_list(s, found->fits, found->n_fits);
		else
			err = say_list(s, found->others, found->n_others);
	}
	free(found);
	if (err)
		forwarder_close(s);
	else
		*out = s;
	return err;
}

void forwarder_close(struct source *s)
{
	if (!s)
		return;
	spool_close(&s->spool);
	text_fini(&s->first);
	free(s);
}

const char *forwarder_path(const struct source *s)
{
	return s->path;
}

/* ---------------------------------------------------------------- work */

/* 1: all of it; 0: not yet; or -errno. */
static int write_first(struct source *s, struct diag *d)
{
	while (s->n_sent_bytes < s->first.size) {
		long n = tls_write(s->tls, s->first.bytes + s->n_sent_bytes,
				   s->first.size - s->n_sent_bytes, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		s->n_sent_bytes += (size_t)n;
	}
	return 1;
}

static void ask(struct source *s)
{
	uint64_t now_ns = connection_now_ns();
	struct progress p;

	if (now_ns < s->client_due_ns)
		return;
	s->client_due_ns = now_ns + ASK_NS;
	progress_read(s->whole, &p);
	s->link.is_asked_to_end |= p.state != PROGRESS_GROWS;
}

int forwarder_work(struct source *s, struct diag *d)
{
	int err = s->has_begun ? 1 : write_first(s, d);

	if (err <= 0 || !*s->path)
		return err;
	if (!s->has_begun)
		connection_begin(&s->link, s->tls, &s->spool, &s->status, &s->hello);
	s->has_begun = true;
	ask(s);
	return connection_work(&s->link, d);
}

short forwarder_waits_for(const struct source *s)
{
	int unused;

	return s->has_begun ? connection_waits_for(&s->link, &unused) : POLLIN | POLLOUT;
}
