/* SPDX-License-Identifier: MIT */
/* kernel/probe/patched.c - the code of running processes beside their file. */
#include "kernel/probe/patched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"

enum { CODE_BYTES = 5 /* of the jump that patching puts there */, BREAKPOINT = 0xcc, CALL = 0xe8 };

struct checking {
	const char *path;
	int file;
	struct stat st;
	const uint64_t *offsets; /* ascending */
	size_t n;
	int mem; /* of the process that is looked at; -1: not opened yet */
	pid_t pid;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A breakpoint is another probe's or a debugger's; the kernel itself turns one on a nop of five bytes into a call. */
static bool is_own_or_probed(const uint8_t *now, const uint8_t *own)
{
	static const uint8_t nop[CODE_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	if (now[0] == CALL && !memcmp(own, nop, sizeof nop))
		return true;
	for (int i = 0; i < CODE_BYTES; i++)
		if (now[i] != own[i] && now[i] != BREAKPOINT)
			return false;
	return true;
}

/* Whether the process's code at @address is that of the file at @offset.  Code that cannot be read cannot be
 * executed either. */
static bool is_own(const struct checking *c, uint64_t address, uint64_t offset)
{
	uint8_t now[CODE_BYTES], own[CODE_BYTES];
	ssize_t n = pread(c->file, own, sizeof own, (off_t)offset);

	if (n != (ssize_t)sizeof own ||
	    pread(c->mem, now, sizeof now, (off_t)address) != (ssize_t)sizeof now)
		return true;
	return is_own_or_probed(now, own);
}

/* Device numbers of some file systems (btrfs, overlayfs) differ between maps and stat: there the name counts. */
static bool is_of_file(const struct checking *c, unsigned long inode, dev_t device,
		       const char *path)
{
	const char *ours = strrchr(c->path, '/'), *its = strrchr(path, '/');
	size_t n = ours ? strlen(ours) : 0;

	return inode == c->st.st_ino &&
	       (device == c->st.st_dev ||
		(n && its && !strncmp(its, ours, n) && (!its[n] || its[n] == '\n')));
}

static bool open_memory(struct checking *c)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)c->pid);
	if (c->mem < 0)
		c->mem = open(path, O_RDONLY | O_CLOEXEC);
	return c->mem >= 0;
}

/* A line of /proc/PID/maps: the offset of a probe in that mapping where the code differs, or UINT64_MAX. */
static uint64_t look_at(struct checking *c, const char *line)
{
	unsigned long begin, end, offset, inode;
	unsigned major_number, minor_number;
	char rights[8];
	int path = 0;

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &begin, &end, rights, &offset,
		   &major_number, &minor_number, &inode, &path) != 7 ||
	    rights[2] != 'x' || !path ||
	    !is_of_file(c, inode, makedev(major_number, minor_number), line + path) ||
	    !open_memory(c))
		return UINT64_MAX;
	for (size_t i = 0; i < c->n; i++)
		if (c->offsets[i] >= offset && c->offsets[i] - offset < end - begin &&
		    !is_own(c, begin + (c->offsets[i] - offset), c->offsets[i]))
			return c->offsets[i];
	return UINT64_MAX;
}

/* The offset where the code of process @pid differs, or UINT64_MAX. */
static uint64_t look_into(struct checking *c, pid_t pid)
{
	uint64_t found = UINT64_MAX;
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	c->pid = pid;
	c->mem = -1;
	while (maps && found == UINT64_MAX && getline(&line, &size, maps) > 0)
		found = look_at(c, line);
	free(line);
	if (maps)
		fclose(maps);
	if (c->mem >= 0)
		close(c->mem);
	return found;
}

static uint64_t look_into_all(struct checking *c)
{
	uint64_t found = UINT64_MAX;
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && found == UINT64_MAX && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			found = look_into(c, (pid_t)strtol(e->d_name, NULL, 10));
	if (proc)
		closedir(proc);
	return found;
}

static void read_name(pid_t pid, char name[32])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	n = io_read_file(path, name, 32);
	name[n > 0 ? n - 1 : 0] = 0; /* its newline */
	for (char *p = name; *p; p++)
		*p = *p >= ' ' && *p < 127 ? *p : '?';
}

static int refuse(const struct checking *c, const char *probe, uint64_t offset, struct diag *d)
{
	char name[32];

	read_name(c->pid, name);
	return diag_fail(
		d, -EBUSY,
		"%s: process %d (%s) would not survive a breakpoint there: its code at 0x%llx of "
		"%s "
		"is not that of the file\n"
		"  a tracer inside it has patched it, such as duet record --graph: record the "
		"function with that one, or when the process has ended",
		probe, (int)c->pid, name, (unsigned long long)offset, c->path);
}

int patched_check(const char *path, uint64_t *offsets, size_t n, pid_t pid, const char *probe,
		  struct diag *d)
{
	struct checking c = { .path = path, .offsets = offsets, .n = n };
	uint64_t found;
	int err = 0;

	c.file = open(path, O_RDONLY | O_CLOEXEC);
	if (c.file < 0)
		return diag_errno(d, "%s: cannot read %s", probe, path);
	if (fstat(c.file, &c.st)) {
		err = diag_errno(d, "%s: cannot read %s", probe, path);
	} else {
		qsort(offsets, n, sizeof *offsets, compare);
		found = pid ? look_into(&c, pid) : look_into_all(&c);
		err = found == UINT64_MAX ? 0 : refuse(&c, probe, found, d);
	}
	close(c.file);
	return err;
}
