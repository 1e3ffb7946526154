/* SPDX-License-Identifier: MIT */
/* inproc/selector.c - the properties of this program that rules may test: rules/selector.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/process.h"

static uint32_t namespace_number(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint32_t)st.st_ino;
}

/* The last line of /proc/self/cgroup: "0::/path". */
static const char *read_cgroup(struct self *s)
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, all = 0;
	char *at, *end;

	while (fd >= 0 && (n = read(fd, s->cgroup + all, sizeof s->cgroup - 1 - (size_t)all)) > 0)
		all += n;
	if (fd >= 0)
		close(fd);
	s->cgroup[all] = 0;
	at = !strncmp(s->cgroup, "0::", 3) ? s->cgroup : strstr(s->cgroup, "\n0::");
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end)
		return "";
	*end = 0;
	return strstr(at, "::") + 2;
}

void selector_of_self(struct self *s, uint32_t letters)
{
	s->selector = (struct selector){
		.name = process.control->program, .host = "", .cgroup = "", .pid = process.pid
	};
	if (letters & SELECTOR_LETTER('g'))
		s->selector.cgroup = read_cgroup(s);
	if (letters & SELECTOR_LETTER('u'))
		s->selector.uid = (uint32_t)syscall(SYS_getuid);
	if (letters & (SELECTOR_LETTER('p') | SELECTOR_LETTER('c')))
		s->selector.pid_namespace = namespace_number("/proc/self/ns/pid");
	if (!(letters & SELECTOR_LETTER('c')))
		return;
	s->selector.mount_namespace = namespace_number("/proc/self/ns/mnt");
	if (!syscall(SYS_uname, &s->names))
		s->selector.host = s->names.nodename;
}
