/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/tracefs.c - mounts tracefs if needed; makes, borrows and reaps instances.
 *
 * An instance's directory is locked from its creation on (see tracefs.h). Removal: remove.c. */
#include "kernel/tracefs/tracefs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/tracefs/broker.h"
#include "kernel/tracefs/graph_limits.h"
#include "kernel/tracefs/lent.h"
#include "kernel/tracefs/rights.h"

/* NAMES_MAX: more than one process ever has, lenders included (lent.h). */
enum { TRACEFS_MAGIC_NUMBER = 0x74726163, NAMES_MAX = 4096 };

bool kernel_is_tracefs(int fd)
{
	struct statfs s;

	return fd >= 0 && !fstatfs(fd, &s) && s.f_type == TRACEFS_MAGIC_NUMBER;
}

static int open_mounted(void)
{
	int fd = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (kernel_is_tracefs(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

/* The kernel has one tracefs; every mount of it shows the same tree. */
static int open_detached(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC), fd, err;

	if (context < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		err = -errno;
		close(context);
		return err;
	}
	fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(context);
	return fd < 0 ? err : fd;
}

static int explain(int err, struct diag *d)
{
	if (kernel_is_locked_down() || err == -EPERM || err == -EACCES)
		return kernel_rights_tracefs(d);
	if (err == -ENODEV || err == -ENOENT || err == -ENOSYS)
		return diag_fail(d, -ENOENT,
				 "kernel events cannot be recorded: no tracefs\n"
				 "  the kernel needs CONFIG_FTRACE; before Linux 5.2 also:"
				 " mount -t tracefs tracefs /sys/kernel/tracing");
	return diag_fail(d, err, "cannot open tracefs: %s", strerror(-err));
}

int kernel_tracefs_open(struct diag *d)
{
	int fd = open_mounted();

	if (fd < 0 && fd != -EACCES)
		fd = open_detached();
	if (fd < 0)
		return explain(fd, d);
	if (faccessat(fd, "instances", W_OK, AT_EACCESS)) {
		int err = -errno;

		close(fd);
		return explain(err, d);
	}
	return fd;
}

/* A path below a socket: ENOTDIR. */
static bool is_lent(int fd)
{
	return fd < 0 && errno == ENOTDIR;
}

int kernel_tracefs_write(int dir, const char *path, const char *text)
{
	/* Without O_TRUNC, which would clear set_event_pid. */
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return is_lent(fd) ? broker_write(dir, path, text) : -errno;
	err = io_write(fd, text, strlen(text));
	close(fd);
	return err;
}

int kernel_tracefs_empty(int dir, const char *path)
{
	int fd = openat(dir, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return is_lent(fd) ? broker_empty(dir, path) : -errno;
	close(fd); /* the close applies it */
	return 0;
}

int kernel_tracefs_open_file(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return is_lent(fd) ? broker_open_file(dir, path) : fd;
}

ssize_t kernel_tracefs_read(int dir, const char *path, char **text)
{
	int fd = kernel_tracefs_open_file(dir, path);

	return fd < 0 ? -errno : kernel_tracefs_read_all(fd, text);
}

ssize_t kernel_tracefs_read_all(int fd, char **text)
{
	size_t capacity = 4096, size = 0;
	ssize_t n = -ENOMEM;
	char *bytes = NULL, *more;

	for (;;) {
		more = realloc(bytes, capacity + 1);
		if (!more)
			break;
		bytes = more;
		n = io_read(fd, bytes + size, capacity - size);
		if (n < 0)
			break;
		size += (size_t)n;
		if (size < capacity) {
			close(fd);
			bytes[size] = 0;
			*text = bytes;
			return (ssize_t)size;
		}
		capacity *= 2;
	}
	close(fd);
	free(bytes);
	return n < 0 ? n : -ENOMEM;
}

/* Field 22. */
static unsigned long long read_start(const char *path)
{
	unsigned long long start;
	char text[1024];
	const char *p;

	if (io_read_file(path, text, sizeof text) <= 0)
		return 0;
	p = strrchr(text, ')'); /* the name before it may contain anything */
	if (!p || sscanf(p + 1,
			 " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			 " %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			 &start) != 1)
		return 0;
	return start;
}

unsigned long long kernel_process_start(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return read_start(path);
}

unsigned long long kernel_own_start(void)
{
	return read_start("/proc/self/stat");
}

/* Makes the first free directory from number *@n on; *@n is the number after it. */
static int make_directory(struct kernel_instance *in, const char *suffix, int *n)
{
	while (*n < NAMES_MAX) {
		snprintf(in->path, sizeof in->path, "instances/duet-%d-%llu-%d%s", (int)getpid(),
			 kernel_own_start(), (*n)++, suffix);
		if (!mkdirat(in->root, in->path, 0700))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Whether @path still is the directory @dir. */
static bool is_at(int root, const char *path, int dir)
{
	struct stat there, here;

	return !fstatat(root, path, &there, AT_SYMLINK_NOFOLLOW) && !fstat(dir, &here) &&
	       there.st_ino == here.st_ino && there.st_dev == here.st_dev;
}

/* Opens and locks the new directory. -EAGAIN: another process removes it, as it was without a lock. */
static int lock_directory(struct kernel_instance *in)
{
	int err;

	in->dir = openat(in->root, in->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->dir < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(in->dir, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	else
		err = is_at(in->root, in->path, in->dir) ? 0 : -EAGAIN;
	if (err) {
		close(in->dir);
		in->dir = -1;
	}
	return err;
}

int kernel_instance_make(struct kernel_instance *in, int root, const char *suffix, struct diag *d)
{
	int n = 0, err;

	assert(root >= 0);
	*in = KERNEL_NO_INSTANCE;
	in->root = root;
	do {
		err = make_directory(in, suffix, &n);
		if (!err)
			err = lock_directory(in);
	} while (err == -EAGAIN);
	if (!err)
		return 0;
	in->root = -1; /* a directory that has no lock is removed by the next recorder */
	return diag_fail(d, err, "cannot make tracefs/%s: %s", in->path, strerror(-err));
}

int kernel_instance_quiet(struct kernel_instance *in, struct diag *d)
{
	int err = kernel_instance_switch(in, false);

	if (err) {
		diag_fail(d, err, "cannot write tracefs/%s/tracing_on: %s", in->path,
			  strerror(-err));
		kernel_instance_remove(in);
		return err;
	}
	kernel_tracefs_write(in->dir, "options/disable_on_free", "1");
	in->free_buffer = kernel_tracefs_open_file(in->dir, "free_buffer");
	return 0;
}

int kernel_instance_create(struct kernel_instance *in, int root, struct diag *d)
{
	int err = kernel_instance_make(in, root, "", d);

	return err ? err : kernel_instance_quiet(in, d);
}

int kernel_instance_switch(const struct kernel_instance *in, bool on)
{
	if (in->tracing_on < 0)
		return kernel_tracefs_write(in->dir, "tracing_on", on ? "1" : "0");
	return io_write(in->tracing_on, on ? "1" : "0", 1);
}

/* Numbers of threads are below 4 194 304, or below the limit of an older kernel. */
int kernel_instance_follow_none(int dir)
{
	static const char *const numbers[] = { "500000000", "4194303", "32767" };
	int err = -EINVAL;

	for (size_t i = 0; err && i < sizeof numbers / sizeof *numbers; i++)
		err = kernel_tracefs_write(dir, "set_event_pid", numbers[i]);
	return err;
}

bool kernel_instance_parse(const char *name)
{
	unsigned long long start;
	int pid, n, end = 0;

	return sscanf(name, "duet-%d-%llu-%d%n", &pid, &start, &n, &end) == 3 && pid > 0 &&
	       !name[end];
}

/* Takes the lock of the instance @name, which is open as @dir. Returns whether it has no owner; then
 * no other recorder removes it, and the owner's kprobes and function filters are removed too. */
static bool take_over(int root, int instances, const char *name, int dir)
{
	if (flock(dir, LOCK_EX | LOCK_NB) || !is_at(instances, name, dir))
		return false;
	kernel_graph_limits_reap(root, dir);
	return true;
}

/* Returns whether it was removed. */
static bool reap_one(int root, int instances, const char *name)
{
	int dir = openat(instances, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_gone = false;

	if (dir < 0)
		return false;
	if (kernel_lent_parse(name, NULL))
		is_gone =
			kernel_lent_is_over(name, dir) && !kernel_lent_remove(instances, name, dir);
	else if (kernel_instance_parse(name) && take_over(root, instances, name, dir))
		is_gone = !kernel_instance_rmdir(instances, name);
	close(dir);
	return is_gone;
}

int kernel_instance_reap(int root, struct diag *d)
{
	int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return diag_errno(d, "cannot list tracefs/instances");
	}
	while ((e = readdir(dir)))
		n += !strncmp(e->d_name, "duet-", 5) && reap_one(root, fd, e->d_name);
	closedir(dir);
	return n;
}
