/* SPDX-License-Identifier: MIT */
/*
 * inproc/runtime_dir.c - read the files of the runtime directory: seats and session files.
 *
 * Collectors may replace or remove them at any time, and other users' files are not trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/runtime.h"
#include "inproc/process.h"

bool runtime_read_environment(void)
{
	const char *names = secure_getenv("DUET_SESSION");
	bool usable = names && strlen(names) < ABI_NAME_BYTES;

	compose(process.sessions_named, sizeof process.sessions_named, usable ? names : "", NULL);
	return *process.directory ||
	       runtime_path(process.directory, sizeof process.directory, NULL);
}

bool runtime_file(char *path, size_t size, const char *name)
{
	return compose(path, size, process.directory, "/", name, NULL);
}

/* Bytes of a session's file before its rules. */
#define HEAD_BYTES offsetof(struct abi_session, rules)

static bool is_complete(const struct abi_session *s, ssize_t n)
{
	return n >= (ssize_t)HEAD_BYTES && s->magic == ABI_SESSION_MAGIC &&
	       s->version == ABI_SESSION_VERSION && s->rules_size <= ABI_RULES_BYTES &&
	       s->session_slot < ABI_SESSIONS && !ABI_EPOCH_IS_NONE(s->epoch) &&
	       memchr(s->name, 0, sizeof s->name) && n == (ssize_t)(HEAD_BYTES + s->rules_size);
}

/* Most sessions have few rules, which fit on most stacks. */
static ssize_t read_all(struct session_file *f)
{
	ssize_t n = syscall(SYS_pread64, f->fd, f->small, sizeof f->small, (off_t)0);

	f->session = (const struct abi_session *)f->small;
	if (n < (ssize_t)sizeof f->small)
		return n;
	f->memory = mmap(NULL, sizeof *f->session, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->memory == MAP_FAILED)
		return -1;
	f->session = f->memory;
	return syscall(SYS_pread64, f->fd, f->memory, sizeof *f->session, (off_t)0);
}

/* In directory @dir, or in the stored one if that is -1.  Does not block on a FIFO of that name. */
static int open_file(int dir, const char *name)
{
	char path[512];

	if (dir < 0 && !runtime_file(path, sizeof path, name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return (int)syscall(SYS_openat, dir < 0 ? AT_FDCWD : dir, dir < 0 ? path : name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
}

bool runtime_session_slots(struct abi_session_slots *s, int dir)
{
	ssize_t n;
	int fd = open_file(dir, "seats");

	if (fd < 0)
		return false;
	n = syscall(SYS_pread64, fd, s, sizeof *s, (off_t)0);
	syscall(SYS_close, fd);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		s->at[i].session[ABI_NAME_BYTES - 1] = 0;
	return n == (ssize_t)sizeof *s && s->magic == ABI_SESSION_SLOTS_MAGIC &&
	       s->version == ABI_SESSION_SLOTS_VERSION;
}

int session_read(struct session_file *f, int dir, const char *name)
{
	char file[ABI_NAME_BYTES + 16];
	ssize_t n;

	if (strchr(name, '/'))
		return -EPROTO;
	compose(file, sizeof file, "session-", name, NULL);
	f->fd = open_file(dir, file);
	if (f->fd < 0)
		return -errno;
	f->memory = MAP_FAILED;
	n = read_all(f);
	if (is_complete(f->session, n))
		return 0;
	session_release(f);
	return -EPROTO;
}

void session_release(struct session_file *f)
{
	if (f->memory != MAP_FAILED)
		munmap(f->memory, sizeof *f->session);
	syscall(SYS_close, f->fd);
}

bool session_is_current(const struct session_file *f, int dir)
{
	struct session_file now;
	struct stat st;
	bool same;

	if (!syscall(SYS_fstat, f->fd, &st) && st.st_nlink)
		return true;
	/* Removed, or replaced by another one. */
	if (session_read(&now, dir, f->session->name))
		return false;
	same = now.session->epoch == f->session->epoch;
	session_release(&now);
	return same;
}
