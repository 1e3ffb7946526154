/* SPDX-License-Identifier: MIT */
/* collect/living.c - see living.h. */
#include "collect/living.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"

#define FIRST_NAMESPACE 0xeffffffcu /* the one that contains all: PROC_PID_INIT_INO of Linux */

/* A number as libduet writes it: digits alone, no zero before others.  Where it ends; NULL if it is none. */
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

bool living_open(struct living *l, int dir)
{
	char link[64];
	ssize_t n;

	*l = (struct living){ .proc = runtime_self().proc,
			      .sees_all = runtime_pid_namespace() == FIRST_NAMESPACE };
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, l->directory, sizeof l->directory - 1);
	return n > 0;
}

void living_close(struct living *l)
{
	free(l->users);
	*l = (struct living){ 0 };
}

/* The page that process @pid maps; *unknown is set if the process does not let us look. */
static bool page_of(const struct living *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES], bool *unknown)
{
	char path[64], line[8192];
	size_t n = strlen(l->directory);
	struct page_name parsed;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f) {
		*unknown = errno == EACCES || errno == EPERM;
		return false;
	}
	while (!found && fgets(line, sizeof line, f)) {
		char *name = strchr(line, '/');

		/* A page whose file is gone ends with " (deleted)", which is no page's name. */
		line[strcspn(line, "\n")] = 0;
		if (!name || strncmp(name, l->directory, n) || name[n] != '/' ||
		    !page_name_parse(name + n + 1, &parsed))
			continue;
		snprintf(page, ABI_PAGE_NAME_BYTES, "%s", name + n + 1);
		found = true;
	}
	fclose(f);
	return found;
}

bool living_page_of(const struct living *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES])
{
	bool unknown = false;

	return page_of(l, pid, page, &unknown);
}

static int by_page(const void *a, const void *b)
{
	const struct living_user *x = a, *y = b;

	return strcmp(x->page, y->page);
}

static bool add_user(struct living *l, const char *page, pid_t pid)
{
	struct living_user *more;

	if (l->n_users == l->room) {
		more = realloc(l->users, (l->room * 2 + 64) * sizeof *more);
		if (!more)
			return false;
		l->users = more;
		l->room = l->room * 2 + 64;
	}
	l->users[l->n_users].pid = pid;
	snprintf(l->users[l->n_users++].page, ABI_PAGE_NAME_BYTES, "%s", page);
	return true;
}

/* What every process maps, once. */
static void look_at_all(struct living *l)
{
	DIR *proc = opendir("/proc");
	char page[ABI_PAGE_NAME_BYTES];
	struct dirent *e;

	l->looked = true;
	l->failed = !proc;
	while (proc && (e = readdir(proc))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && living_page_of(l, pid, page) && !add_user(l, page, pid))
			l->failed = true;
	}
	if (proc)
		closedir(proc);
	if (l->n_users)
		qsort(l->users, l->n_users, sizeof *l->users, by_page);
}

static pid_t find_user(struct living *l, const char *name)
{
	struct living_user wanted = { .pid = 0 }, *found = NULL;

	if (!l->looked)
		look_at_all(l);
	snprintf(wanted.page, sizeof wanted.page, "%s", name);
	if (l->n_users)
		found = bsearch(&wanted, l->users, l->n_users, sizeof *l->users, by_page);
	return found ? found->pid : 0;
}

pid_t living_user_of(struct living *l, const char *name)
{
	char page[ABI_PAGE_NAME_BYTES];
	struct page_name n = { 0, 0 };
	bool unknown = false;
	pid_t pid;

	if (!page_name_parse(name, &n))
		return 0;
	if (n.proc == l->proc && page_of(l, n.pid, page, &unknown) && !strcmp(page, name))
		return n.pid;
	if (unknown)
		return n.pid;
	pid = find_user(l, name);
	/* From within a namespace the processes of others around it are not seen. */
	if (!pid && (l->failed || (n.proc != l->proc && !l->sees_all)))
		return -1;
	return pid;
}

bool living_may_be_dead(const struct living *l, const char *name)
{
	struct page_name n;
	char path[64];

	if (!page_name_parse(name, &n))
		return false;
	snprintf(path, sizeof path, "/proc/%d", (int)n.pid);
	return n.proc != l->proc || (access(path, F_OK) && errno == ENOENT);
}
