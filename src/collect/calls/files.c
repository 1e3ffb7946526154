/* SPDX-License-Identifier: MIT */
/* collect/calls/files.c - find the calls files of programs and check their heads. */
#include "collect/calls/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/session/liveness.h"
#include "collect/session/programs.h"
#include "collect/session/tenant.h"

#define MOST_BYTES (ABI_CALLS_THREADS_AT + (uint64_t)ABI_CALLS_THREADS * ABI_CALLS_THREAD_BYTES)

/* "calls-<pid>-<proc>", perhaps with ".<number>". */
static bool is_calls_name(const char *name)
{
	char page[CALLS_FILE_NAME_BYTES];
	struct page_name n;
	size_t digits;

	if (strncmp(name, "calls-", 6) || strlen(name) >= sizeof page - 4)
		return false;
	snprintf(page, sizeof page, "app-%s", name + 6);
	digits = strcspn(page, ".");
	if (page[digits] && (!page[digits + 1] ||
			     strspn(page + digits + 1, "0123456789") != strlen(page + digits + 1)))
		return false;
	page[digits] = 0;
	return page_name_parse(page, &n);
}

bool calls_file_open(int dir, const char *name, struct calls_file *f)
{
	struct stat st;

	f->name = name;
	f->fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (f->fd < 0)
		return false;
	if (!fstat(f->fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    st.st_uid == owner_of(dir) &&
	    pread(f->fd, &f->head, sizeof f->head, 0) == (ssize_t)sizeof f->head &&
	    f->head.magic == ABI_CALLS_MAGIC && f->head.version == ABI_CALLS_VERSION &&
	    f->head.epoch) {
		f->head.session[sizeof f->head.session - 1] = 0;
		f->head.program[sizeof f->head.program - 1] = 0;
		f->size = (uint64_t)st.st_size < MOST_BYTES ? (uint64_t)st.st_size : MOST_BYTES;
		f->is_used = liveness_is_used(f->fd);
		return true;
	}
	close(f->fd);
	return false;
}

DIR *calls_list_directory(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

int calls_files_each(int dir, uint64_t epoch, void (*visit)(void *arg, const struct calls_file *f),
		     void *arg)
{
	DIR *list = epoch == UINT64_MAX ? NULL : calls_list_directory(dir);
	uint32_t n_names = 0;
	struct calls_file f;
	struct dirent *e;
	int n = 0;

	while (list && n_names++ < PROGRAMS_NAMES && (e = readdir(list))) {
		if (!is_calls_name(e->d_name) || !calls_file_open(dir, e->d_name, &f))
			continue;
		if (!epoch || f.head.epoch == epoch) {
			visit(arg, &f);
			n++;
		}
		close(f.fd);
	}
	if (list)
		closedir(list);
	return n;
}
