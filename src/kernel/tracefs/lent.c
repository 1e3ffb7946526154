/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/lent.c - see lent.h. */
#include "kernel/tracefs/lent.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel gives a new directory 0700 or 0750. Root can use all of these without a capability. A
 * lender that is killed in between leaves MODE_OVER: the next one goes on there. */
enum { MODE_LENT = 0700, MODE_OVER = 0710, MODE_SPOILED = 0500 };

static mode_t mode_of(int at, const char *name)
{
	struct stat s;
	mode_t mode = fstatat(at, name, &s, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ? MODE_LENT
										 : s.st_mode & 0777;

	return mode == MODE_OVER || mode == MODE_SPOILED ? mode : MODE_LENT;
}

bool kernel_lent_parse(const char *name, uid_t *uid)
{
	int pid, n, end = 0;
	unsigned long long start;
	unsigned number;
	char kind;

	if (sscanf(name, "duet-%d-%llu-%d-%c%u%n", &pid, &start, &n, &kind, &number, &end) != 5 ||
	    name[end] || (kind != 'u' && kind != 'o'))
		return false;
	if (uid)
		*uid = number;
	return true;
}

static DIR *list_instances(int root)
{
	int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

int kernel_lent_count(int root, uid_t uid, struct kernel_lent_counts *c)
{
	DIR *dir = list_instances(root);
	struct dirent *e;
	uid_t of;

	*c = (struct kernel_lent_counts){ 0 };
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		if (!kernel_lent_parse(e->d_name, &of))
			continue;
		c->lent += of == uid;
		if (mode_of(dirfd(dir), e->d_name) == MODE_LENT)
			continue;
		c->kept += of == uid;
		c->kept_of_all++;
		c->kept_by = of;
	}
	closedir(dir);
	return 0;
}

static int refuse(uid_t uid, const struct kernel_lent_counts *c, struct diag *d)
{
	char kept[160] = "";

	if (c->kept)
		snprintf(kept, sizeof kept,
			 "; %d of them were returned, but a process keeps their files open: end it",
			 c->kept);
	return diag_fail(d, -EDQUOT,
			 "user %u has %d loans of kernel tracing, and no user may have more than "
			 "%d%s\n  end another recording of the kernel (duet status)",
			 (unsigned)uid, c->lent, BROKER_LOANS_OF_ONE, kept);
}

/* Lenders may run at the same time: (5) holds because they count and make under one lock. */
int kernel_lent_make(struct kernel_instance *in, int root, uid_t uid, bool own_only, int others,
		     struct diag *d)
{
	int guard = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct kernel_lent_counts c;
	char suffix[24];

	*in = KERNEL_NO_INSTANCE;
	if (guard < 0 || flock(guard, LOCK_EX)) {
		err = diag_errno(d, "cannot lock tracefs/instances");
		if (guard >= 0)
			close(guard);
		return err;
	}
	snprintf(suffix, sizeof suffix, "-%c%u", own_only ? 'o' : 'u', (unsigned)uid);
	err = kernel_lent_count(root, uid, &c);
	if (err)
		diag_fail(d, err, "cannot list tracefs/instances: %s", strerror(-err));
	else if (c.lent + others >= BROKER_LOANS_OF_ONE)
		err = refuse(uid, &c, d);
	else
		err = kernel_instance_make(in, root, suffix, d);
	close(guard);
	return err;
}

#define SMALLEST "1"

/* Makes (3) true; then what a borrower still holds is of no use. Errors are those of files that this
 * kernel does not have, and of buffers that are mapped. */
static void spoil(int dir)
{
	kernel_tracefs_write(dir, "current_tracer", "nop");
	kernel_tracefs_write(dir, "trace_options", "noevent-fork");
	kernel_tracefs_write(dir, "trace_options", "nofunction-fork");
	kernel_tracefs_empty(dir, "set_event_pid");
	kernel_tracefs_empty(dir, "set_ftrace_pid");
	kernel_tracefs_write(dir, "buffer_subbuf_size_kb", "4");
	kernel_tracefs_write(dir, "buffer_size_kb", SMALLEST);
}

int kernel_lent_remove(int at, const char *path, int dir)
{
	bool is_spoiled = mode_of(dir, "") == MODE_SPOILED, is_off = is_spoiled;

	kernel_tracefs_write(dir, "tracing_on", "0");
	if (!is_spoiled) {
		is_off = !kernel_tracefs_write(dir, "events/enable", "0");
		fchmod(dir, MODE_OVER);
	}
	/* Once, without a wait: a lender has others to serve. */
	if (!unlinkat(at, path, AT_REMOVEDIR))
		return 0;
	if (is_spoiled) /* perhaps the buffer is no longer mapped */
		kernel_tracefs_write(dir, "buffer_size_kb", SMALLEST);
	else
		spoil(dir);
	if (is_off) /* else the lender has no descriptor left: the next look goes on here */
		fchmod(dir, MODE_SPOILED);
	return -EBUSY;
}

int kernel_lent_return(struct kernel_instance *in)
{
	int err;

	assert(in->root >= 0 && in->dir >= 0);
	err = kernel_lent_remove(in->root, in->path, in->dir);
	close(in->dir);
	*in = KERNEL_NO_INSTANCE;
	return err;
}

/*
 * A lock of one open file, which is never passed on, so only the lender's end releases it.  It is on a
 * directory that a borrower cannot open.  A borrower could lock the instance's own directory, too.
 */
#define LOCKED "options"

int kernel_lent_mark_alive(const struct kernel_instance *in)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = openat(in->dir, LOCKED, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0 || !fcntl(fd, F_OFD_SETLK, &whole))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

/* If that cannot be found out, as without descriptors, it is taken to live. */
static bool has_lender(int dir)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(dir, LOCKED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool has;

	if (fd < 0)
		return errno != ENOENT;
	has = fcntl(fd, F_OFD_GETLK, &whole) || whole.l_type != F_UNLCK;
	close(fd);
	return has;
}

/* Whether the lender that made an instance of this name is gone from this pid namespace, or never was
 * in it. A lender without /proc has the start 0. */
static bool is_not_here(const char *name)
{
	unsigned long long start;
	int pid;

	return sscanf(name, "duet-%d-%llu-", &pid, &start) == 2 &&
	       (!start || kernel_process_start(pid) != start);
}

bool kernel_lent_is_over(const char *name, int dir)
{
	return mode_of(dir, "") != MODE_LENT || (is_not_here(name) && !has_lender(dir));
}

void kernel_lent_end_loans_of(int root, pid_t lender, unsigned long long start)
{
	DIR *dir = list_instances(root);
	char prefix[64];
	struct dirent *e;
	int fd;

	snprintf(prefix, sizeof prefix, "duet-%d-%llu-", (int)lender, start);
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 ||
		    !kernel_lent_parse(e->d_name, NULL))
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		/* Without /proc all starts are 0: another pid namespace has such a lender, too. */
		if (start || !has_lender(fd))
			kernel_lent_remove(dirfd(dir), e->d_name, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
}
