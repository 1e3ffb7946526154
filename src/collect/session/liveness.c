/* SPDX-License-Identifier: MIT */
/*
 * collect/session/liveness.c - find the process that maps a control page, by locks, by name and by
 * /proc/PID/maps.
 */
#include "collect/session/liveness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"

#define IMPRECISION_NS 20000000u /* of a process's start time in /proc */

/*
 * Parses a number as libduet writes it: digits only, no leading zero.  Returns its end; NULL if it
 * is malformed.
 */
static const char *take_number(const char *p, uint32_t max, uint32_t *value)
{
	uint64_t v = 0;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return NULL;
	for (; *p >= '0' && *p <= '9' && v <= max; p++)
		v = v * 10 + (unsigned)(*p - '0');
	*value = (uint32_t)v;
	return v <= max ? p : NULL;
}

bool page_name_parse(const char *name, struct page_name *n)
{
	uint32_t pid = 0;
	const char *p = strncmp(name, "app-", 4) ? NULL : take_number(name + 4, INT32_MAX, &pid);

	if (!p || !pid || *p != '-')
		return false;
	n->pid = (pid_t)pid;
	p = take_number(p + 1, UINT32_MAX, &n->proc);
	return p && !*p;
}

bool liveness_open(struct liveness *l, int dir)
{
	char link[64];
	ssize_t n;

	*l = (struct liveness){ .proc = runtime_self().proc };
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, l->directory, sizeof l->directory - 1);
	return n > 0;
}

void liveness_close(struct liveness *l)
{
	free(l->users);
	*l = (struct liveness){ 0 };
}

bool liveness_page_of(const struct liveness *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES])
{
	char path[64], line[8192];
	size_t n = strlen(l->directory);
	struct page_name parsed;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		char *name = strchr(line, '/');

		/* A removed page ends in " (deleted)", which page_name_parse refuses. */
		line[strcspn(line, "\n")] = 0;
		if (!name || strncmp(name, l->directory, n) || name[n] != '/' ||
		    !page_name_parse(name + n + 1, &parsed))
			continue;
		snprintf(page, ABI_PAGE_NAME_BYTES, "%s", name + n + 1);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

static int by_page(const void *a, const void *b)
{
	const struct liveness_user *x = a, *y = b;

	return strcmp(x->page, y->page);
}

static void add_user(struct liveness *l, const char *page, pid_t pid)
{
	struct liveness_user *more;

	if (l->n_users == l->capacity) {
		more = realloc(l->users, (l->capacity * 2 + 64) * sizeof *more);
		if (!more)
			return; /* its user stays unknown */
		l->users = more;
		l->capacity = l->capacity * 2 + 64;
	}
	l->users[l->n_users].pid = pid;
	snprintf(l->users[l->n_users++].page, ABI_PAGE_NAME_BYTES, "%s", page);
}

/* Reads the mappings of all processes, once. */
static void read_all_processes(struct liveness *l)
{
	DIR *proc = opendir("/proc");
	char page[ABI_PAGE_NAME_BYTES];
	struct dirent *e;

	l->has_read_all = true;
	while (proc && (e = readdir(proc))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && liveness_page_of(l, pid, page))
			add_user(l, page, pid);
	}
	if (proc)
		closedir(proc);
	if (l->n_users)
		qsort(l->users, l->n_users, sizeof *l->users, by_page);
}

static pid_t find_user(struct liveness *l, const char *name)
{
	struct liveness_user wanted = { .pid = 0 }, *found = NULL;

	if (!l->has_read_all)
		read_all_processes(l);
	snprintf(wanted.page, sizeof wanted.page, "%s", name);
	if (l->n_users)
		found = bsearch(&wanted, l->users, l->n_users, sizeof *l->users, by_page);
	return found ? found->pid : -1;
}

bool liveness_is_used(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;
}

/* Start time of process @pid, by CLOCK_BOOTTIME; UINT64_MAX if it does not exist. */
static uint64_t start_time_ns(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long ticks = 0;
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	/*
	 * The name in parentheses may contain anything; the start time is the 20th number after it.
	 */
	p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1)
		return UINT64_MAX;
	return ticks * (1000000000u / (unsigned long)sysconf(_SC_CLK_TCK));
}

pid_t liveness_user_of(struct liveness *l, const char *name, uint64_t registered_ns)
{
	struct page_name n = { 0, 0 };
	uint64_t ns;

	if (!page_name_parse(name, &n))
		return -1;
	ns = n.proc == l->proc ? start_time_ns(n.pid) : UINT64_MAX;
	if (ns != UINT64_MAX && ns <= registered_ns + IMPRECISION_NS)
		return n.pid;
	return find_user(l, name);
}
