/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_state.c - reads a thread's contexts from /proc.
 *
 * Costs about 10 us for `status` and 2 us for each namespace. */
#include "kernel/threads/thread_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"

void kernel_thread_unknown(struct kernel_thread_state *s, int32_t tid)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < KERNEL_CONTEXT_CGROUP_NS; i++)
		s->number[i] = tid ? -1 : 0; /* 0: an idle CPU, whose state is completely known */
	if (!tid)
		memcpy(s->name, "swapper", 7);
}

void kernel_thread_forget(struct kernel_thread_state *s, uint32_t mask)
{
	for (int i = 0; i < KERNEL_CONTEXT_NUMBERS; i++)
		if (mask & KERNEL_CONTEXT_BIT(i))
			s->number[i] = KERNEL_CONTEXT_BIT(i) & KERNEL_CONTEXT_NAMESPACES ? 0 : -1;
}

/* The number after @key in /proc/TID/status, the @nth of its line; the last if there are fewer. */
static int32_t number_of(const char *text, const char *key, int nth)
{
	const char *p = strstr(text, key);
	long value = -1;
	char *end;

	if (!p)
		return -1;
	for (p += strlen(key); nth-- >= 0; p = end) {
		while (*p == '\t' || *p == ' ')
			p++;
		if (*p < '0' || *p > '9')
			break;
		value = strtol(p, &end, 10);
	}
	return (int32_t)value;
}

static bool read_status(struct kernel_thread_state *s, int32_t tid)
{
	enum { LAST = 64 };
	char path[64], text[32768]; /* `status` may list some thousand groups before the
				     * namespace ids */

	snprintf(path, sizeof path, "/proc/%d/status", tid);
	if (io_read_file(path, text, sizeof text) <= 0)
		return false;
	s->number[KERNEL_CONTEXT_PID] = number_of(text, "\nTgid:", 0);
	s->number[KERNEL_CONTEXT_PPID] = number_of(text, "\nPPid:", 0);
	s->number[KERNEL_CONTEXT_VPID] = number_of(text, "\nNStgid:", LAST);
	s->number[KERNEL_CONTEXT_VTID] = number_of(text, "\nNSpid:", LAST);
	s->number[KERNEL_CONTEXT_UID] = number_of(text, "\nUid:", 0);
	s->number[KERNEL_CONTEXT_EUID] = number_of(text, "\nUid:", 1);
	s->number[KERNEL_CONTEXT_GID] = number_of(text, "\nGid:", 0);
	s->number[KERNEL_CONTEXT_EGID] = number_of(text, "\nGid:", 1);
	return true;
}

static bool read_name(struct kernel_thread_state *s, int32_t tid)
{
	char path[64], text[128];

	snprintf(path, sizeof path, "/proc/%d/comm", tid);
	if (io_read_file(path, text, sizeof text) <= 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	memset(s->name, 0, sizeof s->name);
	memccpy(s->name, text, 0, KERNEL_PROCNAME_BYTES - 1);
	return true;
}

/* /proc/TID/stat: "tid (name) state ppid ... priority(18) nice(19)" */
static bool read_stat(struct kernel_thread_state *s, int32_t tid)
{
	char path[64], text[1024];
	const char *p;
	int prio, nice;

	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	if (io_read_file(path, text, sizeof text) <= 0)
		return false;
	p = strrchr(text, ')'); /* the name before it may contain anything */
	if (!p ||
	    sscanf(p + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %d",
		   &prio, &nice) != 2)
		return false;
	s->number[KERNEL_CONTEXT_PRIO] = prio;
	s->number[KERNEL_CONTEXT_NICE] = nice;
	return true;
}

/* False: the thread has ended, though /proc may still show its number. */
static bool read_namespace(int32_t tid, const char *what, int32_t *number)
{
	char path[64], own[64], link[64], *at;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/ns/%s", tid, what);
	n = readlink(path, link, sizeof link - 1);
	if (n < 0 && (errno == ENOENT || errno == ESRCH)) {
		snprintf(own, sizeof own, "/proc/self/ns/%s", what);
		return access(own, F_OK); /* or the kernel has no such namespaces */
	}
	link[n > 0 ? n : 0] = 0;
	at = strchr(link, '[');
	if (at)
		*number = (int32_t)(uint32_t)strtoul(at + 1, NULL, 10);
	return true;
}

static bool read_namespaces(struct kernel_thread_state *s, int32_t tid, uint32_t mask)
{
	static const char *const names[] = { "cgroup", "ipc",  "mnt",  "net",
					     "pid",    "time", "user", "uts" };

	for (int i = KERNEL_CONTEXT_CGROUP_NS; i <= KERNEL_CONTEXT_UTS_NS; i++)
		if (mask & KERNEL_CONTEXT_BIT(i) &&
		    !read_namespace(tid, names[i - KERNEL_CONTEXT_CGROUP_NS], &s->number[i]))
			return false;
	return true;
}

bool kernel_thread_read(struct kernel_thread_state *s, int32_t tid, uint32_t mask)
{
	enum {
		STAT = KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PRIO) |
		       KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_NICE),
		WITHOUT_STATUS =
			STAT |
			KERNEL_CONTEXT_BIT(
				KERNEL_CONTEXT_PROCNAME), /* these reads fail on their own if the
							   * thread has ended */
	};

	if ((mask & ~(uint32_t)WITHOUT_STATUS && !read_status(s, tid)) ||
	    (mask & STAT && !read_stat(s, tid)))
		return false;
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) && !read_name(s, tid))
		return false;
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))
		cgroup_of(tid, s->cgroup, sizeof s->cgroup);
	return read_namespaces(s, tid, mask);
}

bool kernel_thread_is_set_id(int32_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/exe", tid);
	return !stat(path, &st) && st.st_mode & (S_ISUID | S_ISGID);
}
