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
#include "kernel/tracefs/graph_limits.h"
#include "kernel/tracefs/rights.h"

enum { TRACEFS_MAGIC_NUMBER = 0x74726163, NAMES_MAX = 16 };

static int open_mounted(void)
{
	int fd = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs s;

	if (fd < 0)
		return -errno;
	if (!fstatfs(fd, &s) && s.f_type == TRACEFS_MAGIC_NUMBER)
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

int kernel_tracefs_write(int dir, const char *path, const char *text)
{
	/* Without O_TRUNC, which would clear set_event_pid. */
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = io_write(fd, text, strlen(text));
	close(fd);
	return err;
}

ssize_t kernel_tracefs_read(int dir, const char *path, char **text)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

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

/* Field 22 of /proc/<pid>/stat: clock ticks after boot, so (pid, start) names one process.
 * Returns 0 if there is no such process. */
static unsigned long long start_time(pid_t pid)
{
	unsigned long long start;
	char path[64], text[1024];
	const char *p;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
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

static int make_directory(struct kernel_instance *in, struct diag *d)
{
	unsigned long long start = start_time(getpid());

	for (int i = 0; i < NAMES_MAX; i++) {
		snprintf(in->path, sizeof in->path, "instances/duet-%d-%llu-%d", (int)getpid(),
			 start, i);
		if (!mkdirat(in->root, in->path, 0700))
			return 0;
		if (errno != EEXIST)
			break;
	}
	return diag_errno(d, "cannot make tracefs/%s", in->path);
}

int kernel_instance_make(struct kernel_instance *in, int root, struct diag *d)
{
	int err;

	assert(root >= 0);
	*in = KERNEL_NO_INSTANCE;
	in->root = root;
	err = make_directory(in, d);
	if (err) {
		in->root = -1;
		return err;
	}
	in->dir = openat(root, in->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->dir < 0 || flock(in->dir, LOCK_EX | LOCK_NB)) {
		err = diag_errno(d, "cannot open tracefs/%s", in->path);
		kernel_instance_remove(in);
		return err;
	}
	return 0;
}

static int make_quiet(struct kernel_instance *in, struct diag *d)
{
	int err = kernel_tracefs_write(in->dir, "tracing_on", "0");

	if (err) {
		diag_fail(d, err, "cannot write tracefs/%s/tracing_on: %s", in->path,
			  strerror(-err));
		kernel_instance_remove(in);
		return err;
	}
	kernel_tracefs_write(in->dir, "options/disable_on_free", "1");
	in->free_buffer = openat(in->dir, "free_buffer", O_RDONLY | O_CLOEXEC);
	return 0;
}

int kernel_instance_create(struct kernel_instance *in, int root, struct diag *d)
{
	int err = kernel_instance_make(in, root, d);

	return err ? err : make_quiet(in, d);
}

int kernel_instance_borrow(struct kernel_instance *in, int dir, int lease, struct diag *d)
{
	struct statfs s;

	*in = (struct kernel_instance){ .root = -1, .lease = lease, .dir = dir, .free_buffer = -1 };
	snprintf(in->path, sizeof in->path, "a borrowed instance");
	if (!fstatfs(dir, &s) && s.f_type == TRACEFS_MAGIC_NUMBER)
		return make_quiet(in, d);
	kernel_instance_remove(in);
	return diag_fail(d, -EPROTO, "the lender sent a directory that is not a tracefs instance");
}

bool kernel_instance_is_stale(const char *name)
{
	unsigned long long start;
	int pid, n, end = 0;

	if (sscanf(name, "duet-%d-%llu-%d%n", &pid, &start, &n, &end) != 3 || name[end] || pid <= 0)
		return false;
	return start_time(pid) != start;
}

/* Returns whether the lock is free. If so, the owner is dead, and its kprobes and function filters
 * are removed too. */
static bool is_unlocked(int root, int instances, const char *name)
{
	int fd = openat(instances, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool unlocked;

	if (fd < 0)
		return false;
	unlocked = !flock(fd, LOCK_EX | LOCK_NB);
	if (unlocked)
		kernel_graph_limits_reap(root, fd);
	close(fd);
	return unlocked;
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
		if (kernel_instance_is_stale(e->d_name) && is_unlocked(root, fd, e->d_name))
			n += !kernel_instance_rmdir(fd, e->d_name);
	closedir(dir);
	return n;
}
