/* SPDX-License-Identifier: MIT */
/* collect/session.c - see session.h. */
#include "collect/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/runtime.h"
#include "clock/clock.h"

#define POOL_BYTES (64ull << 20)
#define DOOR_PATIENCE_NS 1000000000u

static int create_pool(struct session *s, const struct session_options *o, struct diag *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct abi_pool shape = pool_shape(o->pool_bytes ? o->pool_bytes : POOL_BYTES,
					   cpus < 1 ? 1 : (uint32_t)cpus, o->flight_recorder);
	int err = clock_init_kind(&shape.clock, o->clock_kind, d);

	if (err)
		return err;
	s->memory_size = shape.size;
	s->pool_fd = memfd_create("duet-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->pool_fd < 0)
		return diag_errno(d, "cannot create the buffers");
	err = posix_fallocate(s->pool_fd, 0, (off_t)shape.size);
	if (err)
		return diag_fail(d, -err, "cannot allocate %llu MiB of buffers: %s (--buffer asks for less)",
				 (unsigned long long)shape.size >> 20, strerror(err));
	s->memory = mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED, s->pool_fd, 0);
	if (s->memory == MAP_FAILED) {
		s->memory = NULL;
		return diag_errno(d, "cannot map the buffers");
	}
	if (fcntl(s->pool_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return diag_errno(d, "cannot seal the buffers");
	pool_format(s->memory, &shape);
	err = pool_attach(&s->pool, s->memory, s->memory_size, (uint32_t)getpid());
	return err ? diag_fail(d, err, "the buffers just made are not sound") : 0;
}

static bool socket_address(struct sockaddr_un *a, const char *name)
{
	char file[ABI_NAME_BYTES + 8];

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(file, sizeof file, "sock-%s", name);
	return runtime_path(a->sun_path, sizeof a->sun_path, file);
}

int session_connect(const char *name)
{
	struct sockaddr_un a;
	int fd, err;

	if (!socket_address(&a, name))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&a, sizeof a))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

bool session_is_live(const char *name)
{
	struct sockaddr_un a;
	bool live;
	int fd;

	if (!socket_address(&a, name))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true; /* cannot tell: do not take it away */
	live = !connect(fd, (struct sockaddr *)&a, sizeof a) || errno == EAGAIN;
	close(fd);
	return live;
}

/* With the directory locked: of two that begin at once one is told so, and nobody sweeps up a socket
 * between bind and listen. */
static int open_socket(struct session *s, struct diag *d)
{
	struct sockaddr_un a;

	if (!socket_address(&a, s->file.name))
		return diag_fail(d, -ENAMETOOLONG,
				 "the runtime directory's path is too long for a socket: set a shorter DUET_RUNTIME_DIR");
	if (session_is_live(s->file.name))
		return diag_fail(d, -EEXIST, "session %s is already being recorded by another duet",
				 s->file.name);
	unlink(a.sun_path);
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0 || bind(s->listen_fd, (struct sockaddr *)&a, sizeof a) ||
	    listen(s->listen_fd, 512))
		return diag_errno(d, "cannot listen on %s", a.sun_path);
	return 0;
}

int session_add_rule(struct abi_session *f, const char *rule, struct diag *d)
{
	size_t n = strlen(rule) + 1;

	if (n > sizeof f->rules - f->rules_size)
		return diag_fail(d, -E2BIG, "%s: the session has no room for more patterns", rule);
	memcpy(f->rules + f->rules_size, rule, n);
	f->rules_size += (uint32_t)n;
	return 0;
}

static void session_file_name(char *file, size_t size, const char *name)
{
	snprintf(file, size, "session-%s", name);
}

int session_publish(int dir, const struct abi_session *f, struct diag *d)
{
	char name[ABI_NAME_BYTES + 16], fresh[ABI_NAME_BYTES + 40];
	int fd, err;

	session_file_name(name, sizeof name, f->name);
	snprintf(fresh, sizeof fresh, ".%s.%d", name, (int)getpid());
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return diag_errno(d, "cannot create the session file");
	err = io_write(fd, f, sizeof *f);
	close(fd);
	if (!err && renameat(dir, fresh, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, fresh, 0);
	return err ? diag_fail(d, err, "cannot write the session file: %s", strerror(-err)) : 0;
}

int session_find(int dir, const char *name, struct abi_session *f, struct diag *d)
{
	char file[ABI_NAME_BYTES + 16];
	ssize_t n;
	int fd;

	session_file_name(file, sizeof file, name);
	/* What lies there may be anything, a FIFO that nobody writes to among them. */
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return diag_errno(d, "session %s", name);
	n = io_read(fd, f, sizeof *f);
	close(fd);
	if (n != (ssize_t)sizeof *f || f->magic != ABI_SESSION_MAGIC ||
	    f->version != ABI_SESSION_VERSION || f->rules_size > ABI_RULES_BYTES ||
	    !memchr(f->name, 0, sizeof f->name))
		return diag_fail(d, -EPROTO, "session %s: its file is damaged", name);
	return 0;
}

static int draw_epoch(uint32_t *epoch)
{
	do
		if (getrandom(epoch, sizeof *epoch, 0) != sizeof *epoch)
			return -EIO;
	while (!*epoch);
	return 0;
}

int session_open(struct session *s, const struct session_options *o, struct diag *d)
{
	int err;

	*s = (struct session){ .pool_fd = -1, .listen_fd = -1, .dir = -1 };
	for (int i = 0; i < SESSION_DOORS; i++)
		s->doors[i].fd = -1;
	s->file = (struct abi_session){ .magic = ABI_SESSION_MAGIC,
					.version = ABI_SESSION_VERSION,
					.collector_pid = (uint32_t)getpid() };
	snprintf(s->file.name, sizeof s->file.name, "%s", o->name);
	s->dir = runtime_dir_open(true);
	if (s->dir < 0)
		err = diag_fail(d, s->dir,
				"cannot use the runtime directory (DUET_RUNTIME_DIR, else /dev/shm/duet-%u): %s",
				(unsigned)geteuid(),
				s->dir == -EPERM ? "it must be a directory of yours, closed to others"
						 : strerror(-s->dir));
	else
		err = draw_epoch(&s->file.epoch);
	for (int i = 0; i < o->n_rules && !err; i++)
		err = session_add_rule(&s->file, o->rules[i], d);
	if (!err)
		err = create_pool(s, o, d);
	if (!err) {
		flock(s->dir, LOCK_EX);
		err = open_socket(s, d);
		flock(s->dir, LOCK_UN);
	}
	if (err)
		session_close(s);
	return err;
}

void session_withdraw(struct session *s)
{
	char name[ABI_NAME_BYTES + 16];

	session_file_name(name, sizeof name, s->file.name);
	unlinkat(s->dir, name, 0);
}

static void remove_names(struct session *s)
{
	char name[ABI_NAME_BYTES + 16];

	session_withdraw(s);
	snprintf(name, sizeof name, "sock-%s", s->file.name);
	unlinkat(s->dir, name, 0);
}

void session_close(struct session *s)
{
	if (s->listen_fd >= 0)
		remove_names(s);
	for (int i = 0; i < SESSION_DOORS; i++)
		if (s->doors[i].fd >= 0)
			close(s->doors[i].fd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->memory)
		munmap(s->memory, s->memory_size);
	if (s->pool_fd >= 0) {
		/* Programs keep their mapping; the pages under it need not stay. */
		fallocate(s->pool_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)s->memory_size);
		close(s->pool_fd);
	}
	if (s->dir >= 0)
		close(s->dir);
	s->listen_fd = s->pool_fd = s->dir = -1;
	s->memory = NULL;
}

int session_accept(struct session *s, uint64_t now_ns)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), oldest = 0;

	if (fd < 0)
		return -1;
	for (int i = 0; i < SESSION_DOORS; i++) {
		if (s->doors[i].fd < 0) {
			oldest = i;
			break;
		}
		if (s->doors[i].since_ns < s->doors[oldest].since_ns)
			oldest = i;
	}
	if (s->doors[oldest].fd >= 0)
		close(s->doors[oldest].fd); /* a crowd that says nothing does not keep others out */
	s->doors[oldest] = (struct door){ fd, now_ns };
	return oldest;
}

static void close_door(struct session *s, int i)
{
	close(s->doors[i].fd);
	s->doors[i].fd = -1;
}

static void send_answer(const struct session *s, int fd, const struct ucred *peer, int error)
{
	struct abi_join_answer a = { .magic = ABI_JOIN_MAGIC,
				     .error = error,
				     .epoch = s->file.epoch,
				     .host_pid = (uint32_t)peer->pid,
				     .pool_size = s->memory_size };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { &a, sizeof a };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (!error) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &s->pool_fd, sizeof(int));
	}
	(void)!sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT); /* who does not wait gets nothing */
}

/* Receives a message and at most one descriptor.  Returns its size, 0 if it is too long, or -errno. */
static ssize_t receive(int fd, struct session_message *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { m->text, sizeof m->text - 1 };
	/* CMSG_LEN, not CMSG_SPACE: in the padding there is room for a second one, which nobody would close. */
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&h);

	m->fd = fd;
	m->passed = -1;
	if (n < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&m->passed, CMSG_DATA(c), sizeof(int));
	m->text[n] = 0;
	return h.msg_flags & MSG_TRUNC ? 0 : n;
}

static bool is_ours(const struct ucred *peer)
{
	return peer->uid == geteuid() || !peer->uid;
}

static enum session_event answer_join(struct session *s, int fd, struct abi_join *q,
				      const struct ucred *peer)
{
	bool joined = q->version == ABI_POOL_VERSION && is_ours(peer);

	send_answer(s, fd, peer, joined ? 0 : -EPROTO);
	q->program[sizeof q->program - 1] = 0;
	s->n_joined += joined;
	return joined ? SESSION_JOINED : SESSION_NOTHING;
}

enum session_event session_hear(struct session *s, int i, struct session_message *m)
{
	int fd = s->doors[i].fd;
	struct ucred peer;
	socklen_t size = sizeof peer;
	ssize_t n = receive(fd, m);
	enum session_event e = SESSION_NOTHING;

	if (n == -EAGAIN || n == -EINTR)
		return SESSION_NOTHING;
	if (n > 0 && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		if (n == (ssize_t)sizeof m->join && m->join.magic == ABI_JOIN_MAGIC)
			e = answer_join(s, fd, &m->join, &peer);
		else if (m->text[0] == '{' && is_ours(&peer))
			e = SESSION_ASKED;
	}
	if (e == SESSION_ASKED) {
		s->doors[i].fd = -1; /* the caller's now */
		return e;
	}
	if (m->passed >= 0)
		close(m->passed);
	close_door(s, i);
	return e;
}

void session_expire(struct session *s, uint64_t now_ns)
{
	for (int i = 0; i < SESSION_DOORS; i++)
		if (s->doors[i].fd >= 0 && now_ns - s->doors[i].since_ns > DOOR_PATIENCE_NS)
			close_door(s, i);
}
