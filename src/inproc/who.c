/* SPDX-License-Identifier: MIT */
/* inproc/who.c - what this program is to rules that are not for all: base/who.h. */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/process.h"

static uint32_t namespace_number(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint32_t)st.st_ino;
}

void who_we_are(struct self *s, uint32_t letters)
{
	s->who = (struct who){ .name = process.control->program, .host = "", .pid = process.pid };
	if (letters & WHO_LETTER('u'))
		s->who.uid = (uint32_t)syscall(SYS_getuid);
	if (letters & (WHO_LETTER('p') | WHO_LETTER('c')))
		s->who.pid_namespace = namespace_number("/proc/self/ns/pid");
	if (!(letters & WHO_LETTER('c')))
		return;
	s->who.mount_namespace = namespace_number("/proc/self/ns/mnt");
	if (!syscall(SYS_uname, &s->names))
		s->who.host = s->names.nodename;
}
