/* SPDX-License-Identifier: MIT */
/*
 * net/follow/replica.c - the reader's side of a copy: starts the receiving process, waits until the
 * copy can be read, gives back the parts that were read.
 */
#include "net/follow/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/io.h"

enum { HOLE_STEP = 1 << 18 }; /* bytes; holes are multiples of it */

struct replica {
	struct replica_shared *shared;
	pid_t pid;
	int control; /* the other process ends when it is closed */
	char dir[PATH_MAX];
	uint64_t *freed; /* by stream */
	uint32_t n_freed;
};

static int make_dir(struct replica *r, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(r->dir, sizeof r->dir, "%s/duet-live-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	    (int)sizeof r->dir)
		return diag_fail(d, -ENAMETOOLONG, "$TMPDIR is too long");
	if (mkdtemp(r->dir))
		return 0;
	diag_errno(d, "cannot make a directory for the copy: %s", r->dir);
	r->dir[0] = 0;
	return -EIO;
}

static int start(struct replica *r, const struct replica_options *o, struct diag *d)
{
	struct copier c = { .o = o,
			    .shared = r->shared,
			    .dir_path = r->dir,
			    .from_ns = o->from_begin ? 0 : MESSAGE_FROM_NOW };
	int pipe[2], err = tls_context_open(&c.keys, &o->keys, false, d);

	if (err)
		return err;
	c.dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c.dir < 0 || pipe2(pipe, O_CLOEXEC)) {
		err = diag_errno(d, "cannot start receiving");
	} else {
		c.control = pipe[0];
		r->pid = fork();
		if (!r->pid) {
			close(pipe[1]);
			copier_run(&c);
		}
		close(pipe[0]);
		r->control = pipe[1];
		if (r->pid < 0)
			err = diag_errno(d, "cannot start receiving");
	}
	if (c.dir >= 0)
		close(c.dir);
	tls_context_close(c.keys);
	return err;
}

static bool is_gone(const struct replica *r)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static int wait_ready(struct replica *r, struct diag *d)
{
	while (!load_acquire(&r->shared->is_ready)) {
		if (replica_state(r, d) == REPLICA_FAILED)
			return -ENOENT;
		poll(NULL, 0, 10);
	}
	return 0;
}

int replica_open(struct replica **out, const struct replica_options *o, struct diag *d)
{
	struct replica *r = calloc(1, sizeof *r);
	int err;

	*out = NULL;
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory");
	r->control = -1;
	r->shared = mmap(NULL, sizeof *r->shared, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->shared == MAP_FAILED) {
		r->shared = NULL;
		err = diag_errno(d, "cannot share memory");
	} else {
		err = make_dir(r, d);
	}
	if (!err)
		err = start(r, o, d);
	if (!err)
		err = wait_ready(r, d);
	if (err)
		replica_close(r);
	else
		*out = r;
	return err;
}

void replica_close(struct replica *r)
{
	if (!r)
		return;
	if (r->control >= 0)
		close(r->control);
	while (r->pid > 0 && waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (*r->dir)
		io_remove_tree(r->dir); /* if the receiving process was killed */
	if (r->shared)
		munmap(r->shared, sizeof *r->shared);
	free(r->freed);
	free(r);
}

const char *replica_path(const struct replica *r)
{
	return r->shared->path;
}

const char *replica_directory(const struct replica *r)
{
	return r->dir;
}

bool replica_grew(const struct replica *r)
{
	return r->shared->grew;
}

const char *replica_name(const struct replica *r)
{
	return r->shared->name;
}

static bool grow(struct replica *r, uint32_t n)
{
	uint64_t *bigger =
		n < r->n_freed ? r->freed : reallocarray(r->freed, n + (size_t)1, sizeof *bigger);

	if (!bigger)
		return false;
	for (uint32_t i = r->n_freed; i <= n; i++)
		bigger[i] = 0;
	r->freed = bigger;
	r->n_freed = n < r->n_freed ? r->n_freed : n + 1;
	return true;
}

void replica_read(struct replica *r, uint32_t stream, const char *path, uint64_t bytes)
{
	int fd;

	bytes &= ~(uint64_t)(HOLE_STEP - 1);
	if (!grow(r, stream) || bytes <= r->freed[stream])
		return;
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	assert(bytes > r->freed[stream] && bytes % HOLE_STEP == 0);
	if (fd >= 0 && !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)r->freed[stream], (off_t)(bytes - r->freed[stream])))
		r->freed[stream] = bytes;
	if (fd >= 0)
		close(fd);
}

void replica_starve(struct replica *r)
{
	store(&r->shared->starves, 1);
}

enum replica_state replica_state(const struct replica *r, struct diag *d)
{
	enum replica_state s = load_acquire(&r->shared->state);

	if (s != REPLICA_ENDED && s != REPLICA_FAILED && is_gone(r)) {
		diag_fail(d, -ECHILD, "the process that receives was killed");
		return REPLICA_FAILED;
	}
	if (d && (s == REPLICA_CUT || s == REPLICA_FAILED))
		*d = r->shared->why;
	return s;
}
