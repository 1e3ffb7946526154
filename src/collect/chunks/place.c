/* SPDX-License-Identifier: MIT */
/* collect/chunks/place.c - see place.h. */
#include "collect/chunks/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

void place_open(struct place *p, const char *path)
{
	struct stat st;

	*p = (struct place)PLACE_NONE;
	p->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->dir >= 0 && fstat(p->dir, &st)) {
		close(p->dir);
		p->dir = -1;
	}
	if (p->dir < 0)
		return;
	p->device = st.st_dev;
	p->inode = st.st_ino;
}

void place_close(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	*p = (struct place)PLACE_NONE;
}

/* The number in the first line of @path that begins with @key, or -1. */
static long read_number(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(key);
	char line[256];
	long found = -1;

	while (f && found < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, n))
			sscanf(line + n, "%ld", &found);
	if (f)
		fclose(f);
	return found;
}

/* Whether the mount that the directory was opened on is in no path any more. */
static bool is_unmounted(const struct place *p)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = !f, is_line_begin = true;
	char path[64], line[512];
	long mount, one;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", p->dir);
	mount = read_number(path, "mnt_id:");
	while (f && !found && fgets(line, sizeof line, f)) {
		found = is_line_begin && sscanf(line, "%ld", &one) == 1 && one == mount;
		is_line_begin = strchr(line, '\n') != NULL; /* longer lines come in parts */
	}
	if (f)
		fclose(f);
	return mount >= 0 && !found;
}

enum place_state place_look(const struct place *p, const char *path, struct diag *d)
{
	struct stat here, there;
	struct statvfs v;
	bool is_there;

	if (p->dir < 0 || fstat(p->dir, &here))
		return PLACE_FINE;
	if (!here.st_nlink) {
		diag_fail(d, 0,
			  "%s was removed while it was written: what it held is gone, and nothing "
			  "more is written; stop, and record into a new directory",
			  path);
		return PLACE_REMOVED;
	}
	is_there = !stat(path, &there) && there.st_dev == p->device && there.st_ino == p->inode;
	if (!is_there && is_unmounted(p)) {
		diag_fail(
			d, 0,
			"%s was unmounted while it was written: the recording goes on in the file "
			"system that was there; mount it again to read it",
			path);
		return PLACE_UNMOUNTED;
	}
	if (!fstatvfs(p->dir, &v) && v.f_flag & ST_RDONLY) {
		diag_fail(
			d, 0,
			"%s is read-only now: events stay in the buffers, and are lost once these "
			"are full; remount it for writing",
			path);
		return PLACE_READ_ONLY;
	}
	return PLACE_FINE;
}
