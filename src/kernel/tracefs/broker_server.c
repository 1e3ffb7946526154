/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/broker_server.c - the lender's side: makes instances and removes them.
 *
 * One thread polls the listener and all connections. A connection is a lease: an instance lives
 * exactly as long as its connection. See broker.h. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/tracefs/broker.h"

enum { LEASES_MAX = 32, LOANS_OF_ONE = 4, DEPTH_MAX = 8 };

struct lease {
	int connection; /* -1: free */
	uid_t uid;
	struct kernel_instance instance; /* root is -1 until the client requests an instance */
};

struct broker_server {
	int root; /* of tracefs */
	int listener;
	int spare; /* io_turn_away() */
	struct lease leases[LEASES_MAX];
};

int broker_server_open(struct broker_server **out, int listener, struct diag *d)
{
	struct broker_server *l = calloc(1, sizeof *l);
	int root = l ? kernel_tracefs_open(d) : diag_fail(d, -ENOMEM, "no memory");

	*out = NULL;
	if (root < 0) {
		free(l);
		return root;
	}
	l->root = root;
	l->listener = listener;
	l->spare = io_spare();
	io_refuse_descriptors(listener);
	for (int i = 0; i < LEASES_MAX; i++)
		l->leases[i] = (struct lease){ .connection = -1, .instance = KERNEL_NO_INSTANCE };
	kernel_instance_reap(root, NULL);
	*out = l;
	return 0;
}

static int count_of(const struct broker_server *l, uid_t uid)
{
	int n = 0;

	for (int i = 0; i < LEASES_MAX; i++)
		n += l->leases[i].connection >= 0 && l->leases[i].uid == uid;
	return n;
}

static void take_back(struct lease *l)
{
	kernel_instance_remove(&l->instance);
	close(l->connection);
	*l = (struct lease){ .connection = -1, .instance = KERNEL_NO_INSTANCE };
}

static void accept_client(struct broker_server *l)
{
	int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (fd < 0 && io_lacks_descriptors(errno))
		io_turn_away(&l->spare, l->listener);
	if (fd < 0)
		return;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	    count_of(l, peer.uid) < LOANS_OF_ONE)
		for (int i = 0; i < LEASES_MAX; i++)
			if (l->leases[i].connection < 0) {
				l->leases[i] = (struct lease){ fd, peer.uid, KERNEL_NO_INSTANCE };
				return;
			}
	close(fd);
}

/* Gives away all files below @dir and closes @dir. The kernel made these files: none is a symbolic
 * link. */
static int chown_all(int dir, uid_t uid, int depth)
{
	DIR *list = fdopendir(dir);
	struct dirent *e;
	int err = 0, below;

	if (!list) {
		err = -errno;
		close(dir);
		return err;
	}
	while (!err && (e = readdir(list))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fchownat(dir, e->d_name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW))
			err = -errno;
		if (err || e->d_type != DT_DIR || depth == DEPTH_MAX)
			continue;
		below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = below < 0 ? -errno : chown_all(below, uid, depth + 1);
	}
	closedir(list);
	return err;
}

/* The directory itself comes last: from then on the user can reach the files below it. */
static int chown_instance(const struct kernel_instance *in, uid_t uid)
{
	int dir = openat(in->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : chown_all(dir, uid, 0);

	return !err && fchown(in->dir, uid, (gid_t)-1) ? -errno : err;
}

static int make(struct broker_server *l, struct lease *one, struct diag *d)
{
	int err;

	assert(one->instance.root < 0); /* one instance for each lease */
	kernel_instance_reap(l->root, NULL);
	err = kernel_instance_make(&one->instance, l->root, d);
	if (err)
		return err;
	err = chown_instance(&one->instance, one->uid);
	return err ? diag_fail(d, err, "cannot give tracefs/%s to the user: %s", one->instance.path,
			       strerror(-err))
		   : 0;
}

static void answer(int connection, const struct broker_answer *a, const int *fds, int n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { (void *)a, sizeof *a };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	(void)!sendmsg(connection, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns false if the lease has ended. */
static bool answer_request(struct broker_server *l, struct lease *one)
{
	struct broker_answer a = { 0 };
	struct diag d = { "" };
	int fds[2];
	char request;
	ssize_t n = recv(one->connection, &request, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0 || (request != 'i' && request != 'l') || one->instance.root >= 0)
		return false; /* closed, or not a duet client */
	fds[0] = openat(l->root, "available_events", O_RDONLY | O_CLOEXEC);
	a.error = fds[0] < 0	   ? diag_errno(&d, "cannot open tracefs available_events")
		  : request == 'i' ? make(l, one, &d)
				   : 0;
	fds[1] = one->instance.dir;
	snprintf(a.why, sizeof a.why, "%.250s", d.text);
	answer(one->connection, &a, fds, a.error ? 0 : request == 'i' ? 2 : 1);
	if (fds[0] >= 0)
		close(fds[0]);
	return !a.error && request == 'i';
}

int broker_server_step(struct broker_server *l, int timeout_ms, struct diag *d)
{
	struct pollfd p[LEASES_MAX + 1] = { { .fd = l->listener, .events = POLLIN } };
	int n = 0, n_ready;

	for (int i = 0; i < LEASES_MAX; i++)
		p[i + 1] = (struct pollfd){ .fd = l->leases[i].connection, .events = POLLIN };
	n_ready = poll(p, LEASES_MAX + 1, timeout_ms);
	if (n_ready < 0 && errno != EINTR)
		return diag_errno(d, "poll");
	/* A recorder that outlived the broker before this one may end at any time. */
	if (!n_ready)
		kernel_instance_reap(l->root, NULL);
	for (int i = 0; i < LEASES_MAX; i++) {
		struct lease *one = &l->leases[i];

		if (one->connection >= 0 && p[i + 1].revents && !answer_request(l, one))
			take_back(one);
	}
	if (p[0].revents & POLLIN)
		accept_client(l);
	for (int i = 0; i < LEASES_MAX; i++)
		n += l->leases[i].connection >= 0;
	return n;
}

void broker_server_close(struct broker_server *l)
{
	if (!l)
		return;
	for (int i = 0; i < LEASES_MAX; i++)
		if (l->leases[i].connection >= 0) {
			close(l->leases[i].connection);
			if (l->leases[i].instance.dir >= 0)
				close(l->leases[i].instance.dir);
		}
	close(l->root);
	if (l->spare >= 0)
		close(l->spare);
	free(l);
}
