/* SPDX-License-Identifier: MIT */
/* kernel/threads/cgroup.c - reads the process lists of some cgroups and their descendants.
 *
 * A second tracefs instance reports processes that move into a cgroup. Its events only wake the
 * reader; the lists decide. */
#include "kernel/threads/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "kernel/threads/pids.h"

enum { DEPTH_MAX = 32, ROUNDS_MAX = 10 };
#define EVERY_NS                                                                                   \
	1000000000ull /* no event reports a process that is created in another cgroup than its
		       * parent's (CLONE_INTO_CGROUP) */

struct kernel_cgroups {
	struct kernel_thread_events *thread_events;
	struct pids there;
	uint64_t scanned_ns;
	int n;
	int dirs[];
};

int kernel_cgroups_open(struct kernel_cgroups **out, const char *const *dirs, int n, int root,
			const struct abi_clock *clock, struct diag *d)
{
	const struct kernel_thread_events_options uo = { .root = root,
							 .clock = clock,
							 .cgroups_alone = true };
	struct kernel_cgroups *c = calloc(1, sizeof *c + (size_t)n * sizeof c->dirs[0]);
	int err = 0;

	*out = NULL;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for cgroups");
	for (; !err && c->n < n; c->n += !err) {
		c->dirs[c->n] = open(dirs[c->n], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (c->dirs[c->n] < 0)
			err = diag_errno(d, "cannot open the cgroup %s", dirs[c->n]);
	}
	if (!err)
		err = kernel_thread_events_open(&c->thread_events, &uo, d);
	if (err)
		kernel_cgroups_close(c);
	else
		*out = c;
	return err;
}

void kernel_cgroups_close(struct kernel_cgroups *c)
{
	if (!c)
		return;
	kernel_thread_events_close(c->thread_events);
	for (int i = 0; i < c->n; i++)
		close(c->dirs[i]);
	pids_fini(&c->there);
	free(c);
}

int kernel_cgroups_begin(struct kernel_cgroups *c, struct diag *d)
{
	int err = kernel_thread_events_run(c->thread_events, true);

	return err ? diag_fail(d, err, "cannot follow cgroups: %s", strerror(-err)) : 0;
}

static void notice(void *arg, const struct kernel_change *change)
{
	(void)change;
	*(bool *)arg = true;
}

bool kernel_cgroups_have_changed(struct kernel_cgroups *c)
{
	bool changed = false;

	if (!kernel_thread_events_read(c->thread_events, notice, &changed))
		changed = true;
	return changed || monotonic_ns() - c->scanned_ns > EVERY_NS;
}

static int read_procs(int dir, struct pids *found)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid, err = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f)
		close(fd);
	while (f && !err && fscanf(f, "%d", &pid) == 1)
		err = pid > 0 ? pids_put(found, pid) : 0; /* 0: a process of another pid
							   * namespace */
	if (f)
		fclose(f);
	return err;
}

/* Takes @dir. */
static int walk(int dir, int depth, struct pids *found)
{
	int err = read_procs(dir, found), below;
	DIR *d = fdopendir(dir);
	struct dirent *e;

	if (!d) {
		close(dir);
		return err;
	}
	while (!err && depth < DEPTH_MAX && (e = readdir(d))) {
		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = below < 0 ? 0 : walk(below, depth + 1, found);
	}
	closedir(d);
	return err;
}

/* A cgroup that is missing was removed and has no processes. */
static int gather(const struct kernel_cgroups *c, struct pids *found)
{
	int err = 0;

	for (int i = 0; i < c->n && !err; i++) {
		int dir = openat(c->dirs[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		err = dir < 0 ? 0 : walk(dir, 0, found);
	}
	return err;
}

int kernel_cgroups_scan(struct kernel_cgroups *c, int (*add)(void *arg, pid_t pid), void *arg)
{
	bool any = true;
	int err = 0;

	c->scanned_ns = monotonic_ns();
	for (int round = 0; any && !err && round < ROUNDS_MAX; round++) {
		struct pids now = { 0 };

		any = false;
		err = gather(c, &now);
		for (size_t i = 0; i < now.n && !err; i++) {
			if (pids_has(&c->there, now.sorted[i]))
				continue;
			any = true;
			err = add(arg, now.sorted[i]);
			err = err == -ESRCH ? 0 : err;
		}
		if (err) {
			pids_fini(&now);
		} else {
			pids_fini(&c->there);
			c->there = now;
		}
	}
	return err;
}

const pid_t *kernel_cgroups_pids(const struct kernel_cgroups *c, size_t *n)
{
	*n = c->there.n;
	return c->there.sorted;
}

int kernel_cgroups_fd(const struct kernel_cgroups *c, int i)
{
	return kernel_thread_events_fd(c->thread_events, i);
}
