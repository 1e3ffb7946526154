/* SPDX-License-Identifier: MIT */
/* inproc/runtime.c - which session this program belongs to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/runtime.h"
#include "inproc/process.h"

const char *session_name(void)
{
	const char *name = secure_getenv("DUET_SESSION");

	return name && *name && strlen(name) < ABI_NAME_BYTES && !strchr(name, '/') ? name
										    : "default";
}

int session_read(const char *name, struct abi_session *s)
{
	char file[ABI_NAME_BYTES + 16];
	int dir = runtime_dir_open(false), fd;
	ssize_t n;

	if (dir < 0)
		return dir;
	snprintf(file, sizeof file, "session-%s", name);
	/* Not to wait at a FIFO of that name. */
	fd = (int)syscall(SYS_openat, dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	syscall(SYS_close, dir);
	if (fd < 0)
		return -errno;
	n = syscall(SYS_read, fd, s, sizeof *s);
	syscall(SYS_close, fd);
	if (n != (ssize_t)sizeof *s || s->magic != ABI_SESSION_MAGIC ||
	    s->version != ABI_SESSION_VERSION || s->rules_size > ABI_RULES_BYTES)
		return -EPROTO;
	return 0;
}
