/* SPDX-License-Identifier: MIT */
/*
 * collect/session/selectors.c - turn the user's lists of programs, users, containers and levels
 * into the conditions of rules, and read these properties of running programs.
 */
#include "collect/session/selectors.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"
#include "collect/session/container.h"

enum { ITEM_BYTES = 256, CONTAINERS_MAX = 16 };

const char *const selector_keys[N_SELECTOR_KINDS] = { "program", "uid", "container", "cgroup",
						      "level" };
static const char letters[N_SELECTOR_KINDS] = { 'n', 'u', 'c', 'g', 'l' };

static void add_condition(struct text *selector, char letter, bool excludes, const char *value)
{
	text_addf(selector, "%c%s\t", excludes ? toupper(letter) : letter, value);
}

/* ---------------------------------------------------------------- levels, users */

/* By number: duet/duet.h. */
static const char *const levels[] = {
	"emerg",	"alert",      "crit",		"err",		 "warning",
	"notice",	"info",	      "debug_system",	"debug_program", "debug_process",
	"debug_module", "debug_unit", "debug_function", "debug_line",	 "debug"
};
enum { N_LEVELS = sizeof levels / sizeof *levels };

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && strlen(text) < 10;
}

static int find_level(const char *item, struct diag *d)
{
	if (is_number(item) && atoi(item) < N_LEVELS)
		return atoi(item);
	for (int i = 0; i < N_LEVELS; i++)
		if (!strcasecmp(item, levels[i]))
			return i;
	return diag_fail(d, -EINVAL,
			 "level %s: levels are emerg, alert, crit, err, warning, notice, info, "
			 "debug_system .. debug_line, debug; or 0 to %d",
			 item, N_LEVELS - 1);
}

static int add_level(struct text *selector, bool excludes, const char *item, struct diag *d)
{
	int level = find_level(item, d);
	char number[16];

	if (level < 0)
		return level;
	snprintf(number, sizeof number, "%d", level);
	add_condition(selector, 'l', excludes, number);
	return 0;
}

static int add_user(struct text *selector, bool excludes, const char *item, struct diag *d)
{
	struct passwd *p = is_number(item) ? NULL : getpwnam(item);
	char number[16];

	if (!p && !is_number(item))
		return diag_fail(d, -ENOENT, "uid %s: no such user", item);
	if (p)
		snprintf(number, sizeof number, "%u", (unsigned)p->pw_uid);
	add_condition(selector, 'u', excludes, p ? number : item);
	return 0;
}

/* ---------------------------------------------------------------- containers */

/* The number of a process's namespace; 0 if it cannot be read. */
static uint32_t namespace_of(const char *pid, const char *kind)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%.20s/ns/%s", pid, kind);
	return stat(path, &st) ? 0 : (uint32_t)st.st_ino;
}

/*
 * Adds the mount namespaces of the container's running programs; names inside the container do not
 * matter.
 */
static void add_running(struct text *selector, bool excludes, const char *id)
{
	uint32_t found[CONTAINERS_MAX], ours = namespace_of("self", "mnt"), one;
	char number[16];
	int n = 0, known;
	struct dirent *e;
	DIR *proc = opendir("/proc");

	while (proc && n < CONTAINERS_MAX && (e = readdir(proc))) {
		if (!isdigit((unsigned char)*e->d_name) ||
		    !container_is_called((pid_t)atoi(e->d_name), id))
			continue;
		one = namespace_of(e->d_name, "mnt");
		for (known = 0; known < n && found[known] != one; known++)
			;
		if (!one || one == ours || known < n)
			continue;
		found[n++] = one;
		snprintf(number, sizeof number, "%u", one);
		add_condition(selector, 'c', excludes, number);
	}
	if (proc)
		closedir(proc);
}

static int add_cgroup(struct text *selector, bool excludes, const char *item, struct diag *d)
{
	struct cgroup *c = malloc(sizeof *c);
	int err = c ? cgroup_find(c, item, d) : diag_fail(d, -ENOMEM, "no memory");

	if (!err)
		add_condition(selector, 'g', excludes, c->path);
	free(c);
	return err;
}

/* ---------------------------------------------------------------- lists */

static int add_item(struct text *selector, enum selector_kind what, bool excludes, const char *item,
		    struct diag *d)
{
	if (!*item || strchr(item, '\t'))
		return diag_fail(d, -EINVAL, "%s: an item is empty, or has a tab in it",
				 selector_keys[what]);
	if (what == SELECTOR_LEVEL)
		return add_level(selector, excludes, item, d);
	if (what == SELECTOR_UID)
		return add_user(selector, excludes, item, d);
	if (what == SELECTOR_CGROUP)
		return add_cgroup(selector, excludes, item, d);
	add_condition(selector, letters[what], excludes, item);
	if (what == SELECTOR_CONTAINER && !strpbrk(item, "*?") && !is_number(item))
		add_running(selector, excludes, item);
	return 0;
}

int selector_add(struct text *selector, enum selector_kind what, const char *list, struct diag *d)
{
	char item[ITEM_BYTES];
	int err = 0;

	assert(what < N_SELECTOR_KINDS);
	do {
		const char *end = strchrnul(list, ',');
		bool excludes = *list == '!';

		list += excludes;
		if (end - list >= ITEM_BYTES)
			return diag_fail(d, -ENAMETOOLONG,
					 "%s: an item is longer than %d characters",
					 selector_keys[what], ITEM_BYTES - 1);
		snprintf(item, sizeof item, "%.*s", (int)(end - list), list);
		err = add_item(selector, what, excludes, item, d);
		list = *end ? end + 1 : NULL;
	} while (!err && list);
	return err;
}

/* The process's pid in its own pid namespace: the last one of "NSpid:". */
static unsigned pid_inside(pid_t pid)
{
	char path[64], status[4096];
	const char *p, *end;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (io_read_file(path, status, sizeof status) <= 0 || !(p = strstr(status, "\nNSpid:")))
		return (unsigned)pid;
	end = strchrnul(p + 1, '\n');
	while (end > p && !isspace((unsigned char)end[-1]))
		end--;
	return (unsigned)strtoul(end, NULL, 10);
}

void selector_add_pid(struct text *selector, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof number, "%d", (int)pid);
	text_addf(selector, "p%u:%u\t", pid_inside(pid), namespace_of(number, "pid"));
}

/* ---------------------------------------------------------------- running programs */

/*
 * Sets the host name that the program sees.  In another UTS namespace only /etc/hostname is
 * readable.
 */
static void read_host_name(struct selector_program *c, const char *pid)
{
	char path[64];
	struct utsname u;
	struct stat st;
	ssize_t n;
	int fd;

	if (namespace_of(pid, "uts") == namespace_of("self", "uts") && !uname(&u)) {
		memcpy(c->host, u.nodename, sizeof c->host);
		return;
	}
	snprintf(path, sizeof path, "/proc/%.20s/root/etc/hostname", pid);
	/* The container controls it: it may be anything, including a FIFO without a writer. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (n = io_read(fd, c->host, sizeof c->host - 1)) > 0)
		c->host[n] = 0;
	c->host[strcspn(c->host, "\n")] = 0;
	close(fd);
}

void selector_program_read(struct selector_program *c, const struct program *a, uint32_t asked)
{
	const uint32_t of_process = SELECTOR_LETTER('u') | SELECTOR_LETTER('p') |
				    SELECTOR_LETTER('c') | SELECTOR_LETTER('g');
	char pid[16], path[64];
	struct stat st;

	*c = (struct selector_program){ .selector = { .name = a->page.program,
						      .host = c->host,
						      .cgroup = c->cgroup,
						      .pid = a->page.pid,
						      .uid = UINT32_MAX } };
	if (!(asked & of_process))
		return;
	snprintf(pid, sizeof pid, "%d", (int)program_pid(a));
	snprintf(path, sizeof path, "/proc/%s", pid);
	if (!stat(path, &st))
		c->selector.uid = st.st_uid;
	if (asked & SELECTOR_LETTER('g'))
		cgroup_of(program_pid(a), c->cgroup, sizeof c->cgroup);
	c->selector.pid_namespace = namespace_of(pid, "pid");
	if (!(asked & SELECTOR_LETTER('c')))
		return;
	c->selector.mount_namespace = namespace_of(pid, "mnt");
	read_host_name(c, pid);
}
