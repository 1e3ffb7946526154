/* SPDX-License-Identifier: MIT */
/* find/page.c - the control page of a process that has libduet: where it is, or why there is none. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/io.h"
#include "find/internal.h"

/* The directory of a path; the path as it is without a slash. */
static void directory_of(char *to, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(to, size, "%.*s", (int)(slash ? slash - path : 0), path);
}

static bool is_in_directory(const struct find_process *p, const char *root,
			    const struct find_by *by)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof path, "%s%s", root, p->directory);
	return by->ino && !stat(path, &st) && st.st_dev == by->dev && st.st_ino == by->ino;
}

/* Whether its path leads us to the directory that it leads the process to. */
static bool is_shared(const struct find_process *p, const char *root)
{
	char path[PATH_MAX];
	struct stat ours, its;

	snprintf(path, sizeof path, "%s%s", root, p->directory);
	return !stat(path, &its) && !stat(p->directory, &ours) && its.st_dev == ours.st_dev &&
	       its.st_ino == ours.st_ino;
}

static enum find_state judge_page(const struct find_process *p, const struct abi_control *c,
				  const char *root, const struct find_by *by)
{
	if (c->magic != ABI_CONTROL_MAGIC)
		return FIND_NO_PAGE;
	if (c->version != ABI_CONTROL_VERSION)
		return FIND_OTHER_LAYOUT;
	if (!is_in_directory(p, root, by))
		return !is_shared(p, root) ? FIND_CONTAINER
		       : p->uid != by->uid ? FIND_OTHER_USER
					   : FIND_OTHER_DIRECTORY;
	return c->dormant == ABI_DORMANT_SECCOMP ? FIND_SANDBOXED
	       : c->dormant == ABI_DORMANT_CLOCK ? FIND_NO_CLOCK
						 : FIND_RECORDABLE;
}

void find_page_read(struct find_process *p, const struct find_mapped *f, const char *root,
		    const struct find_by *by)
{
	struct abi_control c = { .magic = 0 };
	int fd;

	directory_of(p->directory, sizeof p->directory, f->path);
	p->state = FIND_PAGE_REMOVED;
	if (f->is_removed)
		return;
	fd = find_open(f, p->pid, root);
	if (fd >= 0 && pread(fd, &c, sizeof c, 0) == (ssize_t)sizeof c) {
		p->layout = c.version;
		p->n_events = c.n_events < ABI_EVENTS ? c.n_events : ABI_EVENTS;
		p->n_refused = c.n_refused;
		p->state = judge_page(p, &c, root, by);
	} else {
		p->state = p->uid != by->uid ? FIND_OTHER_USER : FIND_NO_PAGE;
	}
	if (fd >= 0)
		close(fd);
}

/* ---------------------------------------------------------------- none */

bool find_is_secure(pid_t pid)
{
	Elf64_auxv_t vector[64];
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = io_read(fd, vector, sizeof vector);
	close(fd);
	for (ssize_t i = 0; n > 0 && i < n / (ssize_t)sizeof *vector; i++)
		if (vector[i].a_type == AT_SECURE)
			return vector[i].a_un.a_val;
	return false;
}

/* `ulimit -f` in bytes; UINT64_MAX: none. */
static uint64_t file_limit(pid_t pid)
{
	static const char name[] = "Max file size";
	char path[64], text[4096];
	const char *line;

	snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
	line = io_read_file(path, text, sizeof text) > 0 ? strstr(text, name) : NULL;
	if (!line)
		return UINT64_MAX;
	line += sizeof name - 1;
	line += strspn(line, " ");
	return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
}

/* Why the directory cannot be used; false: it can. */
static bool is_bad(struct find_process *p, const char *root, const char *directory)
{
	char path[PATH_MAX];
	struct statvfs fs;
	struct stat st;

	snprintf(path, sizeof path, "%s%s", root, directory);
	if (lstat(path, &st))
		snprintf(p->why, sizeof p->why, "%s", strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(p->why, sizeof p->why, "it is no directory");
	else if (st.st_uid != p->uid)
		snprintf(p->why, sizeof p->why, "it belongs to uid %u, not to uid %u",
			 (unsigned)st.st_uid, (unsigned)p->uid);
	else if (st.st_mode & 022)
		snprintf(p->why, sizeof p->why, "others may write to it (mode %04o)",
			 (unsigned)st.st_mode & 07777);
	else if (!statvfs(path, &fs) && fs.f_flag & ST_RDONLY)
		snprintf(p->why, sizeof p->why, "its file system is read-only");
	else if (!statvfs(path, &fs) && fs.f_bavail * fs.f_frsize < ABI_CONTROL_BYTES)
		snprintf(p->why, sizeof p->why, "its file system is full");
	return *p->why;
}

void find_no_page(struct find_process *p, const char *root, const char *directory)
{
	p->limit = file_limit(p->pid);
	if (p->limit < ABI_CONTROL_BYTES)
		p->state = FIND_FILE_LIMIT;
	else
		p->state = is_bad(p, root, directory) ? FIND_BAD_DIRECTORY : FIND_NO_PAGE;
}
