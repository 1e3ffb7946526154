/* SPDX-License-Identifier: MIT */
/*
 * kernel/follow.c - the processes that are recorded: added by number, or as members of cgroups.
 *
 * Each recorder has its own list: the instance (set_event_pid, set_ftrace_pid), the BPF programs and
 * perf. A process is added thread by thread to all of them; from then on the kernel, the programs
 * and perf follow its children by themselves.
 */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/threads/host_pids.h"
#include "kernel/internal.h"
#include "kernel/kernel.h"

enum { THREAD_ROUNDS_MAX = 10 };

int kernel_check_pids(const struct kernel_options *o, struct diag *d)
{
	if (o->whole_machine || host_pids_are_ours())
		return 0;
	return diag_fail(d, -EOPNOTSUPP,
			 "kernel events cannot be recorded by process in a pid namespace: the "
			 "kernel follows pids of the host\n  record the whole machine "
			 "(--all-kernel), or run duet on the host, with -p PID");
}

void kernel_note_pids(const struct kernel_options *o, struct diag *d)
{
	if (o->whole_machine && !host_pids_are_ours() && d && !*d->text)
		diag_fail(d, 0,
			  "in a pid namespace: kernel events have the pids of the host, and no "
			  "process is followed");
}

/* The threads that the kernel follows for the instance, including children made since. 0 or
 * -errno. */
static int read_followed(const struct kernel *k, struct pids *followed)
{
	char *text, *end;
	ssize_t n = kernel_tracefs_read(k->instance.dir, "set_event_pid", &text);
	int err = 0;
	long pid;

	if (n < 0)
		return (int)n;
	for (char *at = text; !err && (pid = strtol(at, &end, 10)) > 0 && end > at; at = end)
		err = pids_put(followed, (pid_t)pid);
	free(text);
	return err;
}

void kernel_follow_again(struct kernel *k)
{
	struct pids followed = { 0 };

	if (k->profile && !k->whole_machine && !k->is_own && !k->attaches)
		read_followed(k, &followed);
	for (size_t i = 0; i < followed.n; i++)
		if (!kernel_profile_add(k->profile, followed.sorted[i]))
			kernel_profile_add_thread(k->profile, followed.sorted[i]);
	pids_fini(&followed);
}

static int attach_thread(const struct kernel *k, pid_t tid)
{
	int err = kernel_profile_attach(k->profile, tid, NULL);

	return err == -ESRCH ? 0 : err;
}

/* Adds all threads of one round with one write: it costs the kernel some 10 ms, however many it
 * names. */
static int add_list(const struct kernel *k, const struct text *tids)
{
	int err = tids->failed ? -ENOMEM : 0;

	/* The kernel would compare each switch for nothing. */
	if (!err && tids->size && (k->n_events || k->profile))
		err = kernel_tracefs_write(k->instance.dir, "set_event_pid", tids->bytes);
	return !err && tids->size && k->functions.is_on
		       ? kernel_tracefs_write(k->instance.dir, "set_ftrace_pid", tids->bytes)
		       : err;
}

/* Adds the threads of @pid that are not in @added. Returns their number, or -errno. */
static int add_threads(const struct kernel *k, pid_t pid, struct pids *added)
{
	struct text tids = { 0 };
	int n = 0, err = 0;
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (e = readdir(dir))) {
		pid_t tid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;

		if (!tid || pids_has(added, tid))
			continue;
		n++;
		err = pids_put(added, tid);
		if (!err)
			err = k->is_own || k->attaches ? attach_thread(k, tid)
						       : kernel_profile_add_thread(k->profile, tid);
		kernel_bpf_add_thread(k->bpf, tid);
		if (!k->is_own && !pids_has(&k->followed, tid))
			text_addf(&tids, "%d ", (int)tid);
	}
	closedir(dir);
	if (!err)
		err = add_list(k, &tids);
	text_fini(&tids);
	return err ? err : n;
}

int kernel_add_pid(struct kernel *k, pid_t pid, struct diag *d)
{
	pid_t *pids =
		k->whole_machine ? NULL : realloc(k->pids, (size_t)(k->n_pids + 1) * sizeof *pids);
	struct pids added = { 0 };
	int n = 1;

	assert(pid > 0);
	if (k->whole_machine)
		return 0; /* with a single one in the list, all others would be left out */
	if (!pids)
		return diag_fail(d, -ENOMEM, "no memory for pid %d", (int)pid);
	k->pids = pids;
	/* A thread made by one that is not yet added is not followed: repeat until a round finds
	 * none. */
	for (int i = 0; n > 0 && i < THREAD_ROUNDS_MAX; i++)
		n = add_threads(k, pid, &added);
	pids_fini(&added);
	if (n == -EPERM && k->instance.is_own_only)
		return diag_fail(d, n,
				 "pid %d is not lent: the lender of kernel tracing lends own "
				 "processes that cannot become another user's\n  start it, or this "
				 "recorder, by: setpriv --no-new-privs COMMAND",
				 (int)pid);
	if (n < 0)
		return diag_fail(d, n, "cannot record the kernel side of pid %d: %s", (int)pid,
				 strerror(-n));
	k->pids[k->n_pids++] = pid;
	return kernel_profile_add(k->profile, pid)
		       ? diag_fail(d, -ENOMEM, "no memory for pid %d", (int)pid)
		       : 0;
}

/* ---------------------------------------------------------------- cgroups */

static int add_member(void *arg, pid_t pid)
{
	struct kernel *k = arg;
	int err;

	/* The kernel follows children of followed processes by itself, so they need not be
	 * added. */
	if (!k->followed.n && (k->n_events || k->profile))
		read_followed(k, &k->followed);
	err = kernel_add_pid(k, pid, NULL);
	if (!err && k->is_started && k->entered)
		k->entered(k->entered_arg, pid);
	return err;
}

/* State dumps describe the present members. */
int kernel_scan_cgroups(struct kernel *k, struct diag *d)
{
	int err = kernel_cgroups_scan(k->cgroups, add_member, k);
	size_t n;
	const pid_t *pids = kernel_cgroups_pids(k->cgroups, &n);
	pid_t *members = realloc(k->pids, (n + 1) * sizeof *members);

	pids_fini(&k->followed); /* the next scan may find others */
	if (members)
		k->pids = members;
	if (err || !members)
		return diag_fail(d, err ? err : -ENOMEM,
				 "cannot follow all processes of the cgroup: %s",
				 strerror(err ? -err : ENOMEM));
	if (n)
		memcpy(members, pids, n * sizeof *members);
	k->n_pids = (int)n;
	return 0;
}

/* An empty list means all threads. */
static int follow_no_thread(struct kernel *k, struct diag *d)
{
	int err = kernel_instance_follow_none(k->instance.dir);

	if (!err && k->functions.is_on)
		kernel_tracefs_write(k->instance.dir, "set_ftrace_pid", "500000000");
	return err ? diag_fail(d, err, "cannot follow a cgroup: %s", strerror(-err)) : 0;
}

int kernel_begin_cgroups(struct kernel *k, struct diag *d)
{
	int err = kernel_cgroups_begin(k->cgroups, d);

	if (!err && (k->n_events || k->functions.is_on))
		err = follow_no_thread(k, d);
	return err ? err : kernel_scan_cgroups(k, d);
}

/* ---------------------------------------------------------------- listing */

bool kernel_records_calls(const struct kernel *k)
{
	return k->records_calls;
}

static void each_of_machine(void (*each)(void *arg, pid_t tid), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			each(arg, atoi(e->d_name));
	if (dir)
		closedir(dir);
}

void kernel_each_recorded(const struct kernel *k, void (*each)(void *arg, pid_t tid), void *arg)
{
	struct pids followed = { 0 };

	if (k->whole_machine) {
		each_of_machine(each, arg);
		return;
	}
	for (int i = 0; i < k->n_pids; i++)
		each(arg, k->pids[i]);
	if (!k->is_own && (k->n_events || k->profile))
		read_followed(k, &followed);
	else if (k->bpf)
		kernel_bpf_each_thread(k->bpf, each, arg);
	for (size_t i = 0; i < followed.n; i++)
		each(arg, followed.sorted[i]);
	pids_fini(&followed);
}
