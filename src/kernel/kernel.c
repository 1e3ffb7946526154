/* SPDX-License-Identifier: MIT */
/*
 * kernel/kernel.c - starts recording, drains its CPUs, and restores everything at the end.
 *
 * buffer_percent is never 0, because then every event would wake a reader. See kernel.h.
 */
#include "kernel/kernel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "kernel/internal.h"
#include "kernel/probe/kprobe.h"
#include "kernel/tracefs/broker.h"
#include "kernel/statedump/statedump.h"
#include "kernel/probe/uprobe.h"
#include "kernel/watch/selected.h"

#define WAKE_PERCENT                                                                               \
	"25" /* wake the reader when this part of a buffer is used; the rest is for events until
	      * it reads */

#define ASK_MISSED_NS 1000000000ull

enum { THREAD_ROUNDS_MAX = 10 };

int kernel_open(struct kernel **out, const struct kernel_options *o, struct diag *d)
{
	struct kernel *k = calloc(1, sizeof *k);
	int err;

	*out = NULL;
	if (!k)
		return diag_fail(d, -ENOMEM, "no memory to record the kernel");
	k->root = -1;
	k->instance = KERNEL_NO_INSTANCE;
	k->available = -1;
	k->functions = KERNEL_NO_FUNCTIONS;
	k->drain.sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	k->drain.clock = *o->clock;
	k->whole_machine = o->whole_machine;
	k->capture_bytes = o->capture_bytes;
	k->is_overwrite = o->overwrite;
	k->clock_offset_ns = o->clock_offset_ns;
	err = kernel_setup(k, o, d);
	if (err) {
		kernel_close(k);
		return err;
	}
	k->drain.sink.quota = o->quota;
	*out = k;
	return 0;
}

static void restart_streams(struct kernel *k)
{
	for (int i = 0; i < k->n_cpus; i++)
		kernel_cpu_restart(&k->cpus[i]);
	kernel_profile_restart(k->profile);
	kernel_bpf_restart(k->bpf);
	kernel_classes_restart(&k->drain.classes, 0);
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

static void follow_again(struct kernel *k)
{
	struct pids followed = { 0 };

	if (k->profile && !k->whole_machine && !k->is_own)
		read_followed(k, &followed);
	for (size_t i = 0; i < followed.n; i++)
		if (!kernel_profile_add(k->profile, followed.sorted[i]))
			kernel_profile_add_thread(k->profile, followed.sorted[i]);
	pids_fini(&followed);
}

int kernel_resume(struct kernel *k, const char *path, struct diag *d)
{
	int err;

	restart_streams(k);
	follow_again(k);
	err = k->is_started ? kernel_contexts_begin(k->drain.contexts, d) : 0;
	if (err)
		return err;
	ctf_writer_close(&k->drain.sink);
	return kernel_open_trace(k, path, d);
}

int kernel_rotate(struct kernel *k, const char *path, struct diag *d)
{
	struct ctf_writer old = k->drain.sink;
	int err;

	k->drain.sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	err = kernel_open_trace(k, path, d);
	if (err) {
		ctf_writer_close(&k->drain.sink);
		k->drain.sink = old;
		return err;
	}
	k->drain.sink.quota = old.quota;
	restart_streams(k);
	k->bytes_before += old.bytes;
	ctf_writer_close(&old);
	return 0;
}

int kernel_state(struct kernel *k, struct diag *d)
{
	return kernel_statedump(&k->drain, k->pids, k->whole_machine ? -1 : k->n_pids, d);
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
			err = k->is_own ? attach_thread(k, tid)
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
	if (n < 0)
		return diag_fail(d, n, "cannot record the kernel side of pid %d: %s", (int)pid,
				 strerror(-n));
	k->pids[k->n_pids++] = pid;
	return kernel_profile_add(k->profile, pid)
		       ? diag_fail(d, -ENOMEM, "no memory for pid %d", (int)pid)
		       : 0;
}

const char *kernel_recorder(const struct kernel *k, const char **why)
{
	*why = k->bpf ? "" : k->bpf_refused.text;
	return k->bpf ? "bpf" : "ftrace";
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
static int inspect_cgroups(struct kernel *k, struct diag *d)
{
	int err = kernel_cgroups_scan(k->cgroups, add_member, k);
	size_t n;
	const pid_t *pids = kernel_cgroups_pids(k->cgroups, &n);
	pid_t *kept = realloc(k->pids, (n + 1) * sizeof *kept);

	pids_fini(&k->followed); /* the next scan may find others */
	if (kept)
		k->pids = kept;
	if (err || !kept)
		return diag_fail(d, err ? err : -ENOMEM,
				 "cannot follow all processes of the cgroup: %s",
				 strerror(err ? -err : ENOMEM));
	if (n)
		memcpy(kept, pids, n * sizeof *kept);
	k->n_pids = (int)n;
	return 0;
}

/* An empty list means all threads. So the list gets a number that no thread has: thread numbers are
 * below 4 194 304, or below the limit of an older kernel. */
static int follow_nobody(struct kernel *k, struct diag *d)
{
	static const char *const numbers[] = { "500000000", "4194303", "32767" };
	int err = -EINVAL;

	for (size_t i = 0; err && i < sizeof numbers / sizeof *numbers; i++)
		err = kernel_tracefs_write(k->instance.dir, "set_event_pid", numbers[i]);
	for (size_t i = 0; !err && k->functions.is_on && i < sizeof numbers / sizeof *numbers; i++)
		if (!kernel_tracefs_write(k->instance.dir, "set_ftrace_pid", numbers[i]))
			break;
	return err ? diag_fail(d, err, "cannot follow a cgroup: %s", strerror(-err)) : 0;
}

static int begin_cgroups(struct kernel *k, struct diag *d)
{
	int err = kernel_cgroups_begin(k->cgroups, d);

	if (!err && (k->n_events || k->functions.is_on))
		err = follow_nobody(k, d);
	return err ? err : inspect_cgroups(k, d);
}

bool kernel_has_addresses(const struct kernel *k)
{
	return k->profile || k->functions.is_on || k->has_kprobes;
}

static bool is_tracing(const struct kernel *k)
{
	char *text;
	bool is_on;

	if (kernel_tracefs_read(k->instance.dir, "tracing_on", &text) < 0)
		return false;
	is_on = *text == '1';
	free(text);
	return is_on;
}

/* A second "1" would empty the function tracer's buffers. The state is read, not remembered: a
 * predecessor may have changed it. */
static int switch_tracing(struct kernel *k, bool on, struct diag *d)
{
	if (k->is_own)
		return 0;
	return on && k->functions.is_on && is_tracing(k)
		       ? 0
		       : kernel_set(k, "tracing_on", on ? "1" : "0", d);
}

int kernel_pause(struct kernel *k, bool pause, struct diag *d)
{
	/* The function tracer empties the buffers when tracing is switched on. */
	bool triggers_only = pause && (k->drain.watch || k->functions.is_on),
	     on = !pause || triggers_only;
	int err;

	k->is_paused = pause;
	if (!k->is_started)
		return 0;
	err = triggers_only || k->is_triggers_only || k->functions.is_on
		      ? kernel_wait_only(&k->selection, k->instance.dir, triggers_only, d)
		      : 0;
	if (!err && kernel_functions_pause(&k->functions, k->instance.dir, triggers_only))
		err = diag_fail(d, -EIO, "cannot %s the tracer of functions",
				triggers_only ? "pause" : "resume");
	k->is_triggers_only = triggers_only;
	if (!err)
		err = switch_tracing(k, on, d);
	kernel_bpf_switch(k->bpf, !on ? 0 : kernel_wait_bpf(&k->selection, triggers_only));
	return err ? err : kernel_profile_run(k->profile, !pause, d);
}

void kernel_wait_for_none(struct kernel *k)
{
	kernel_watch_free(k->drain.watch);
	k->drain.watch = NULL;
	for (int i = 0; i < k->selection.n_events; i++)
		k->selection.events[i].is_waited_for = false;
	k->selection.waits_for_entry = k->selection.waits_for_exit = false;
}

int kernel_wait_for(struct kernel *k, const struct kernel_watch_request *request,
		    kernel_event_callback *reported, void *arg, struct diag *d)
{
	if (!k->drain.watch)
		k->drain.watch = kernel_watch_make(&k->drain.clock, reported, arg);
	if (!k->drain.watch)
		return diag_fail(d, -ENOMEM, "no memory for a trigger");
	return kernel_wait(k->drain.watch, &k->selection, k->instance.dir, request, d);
}

int kernel_start(struct kernel *k, struct diag *d)
{
	int err;

	if (k->cgroups) {
		err = begin_cgroups(k, d);
		if (err)
			return err;
	}
	if (!k->whole_machine && !k->n_pids && !k->cgroups)
		return diag_fail(d, -EINVAL, "no process to record the kernel side of");
	err = kernel_contexts_begin(k->drain.contexts, d);
	if (err)
		return err;
	k->is_started = true;
	err = kernel_pause(k, k->is_paused, d);
	k->is_started = !err;
	if (err)
		return err;
	return kernel_state(k, d);
}

/* A missed call of a probe always counts as a loss, because its process is unknown. */
static void client_missed(struct kernel *k, struct diag *d)
{
	uint64_t missed = k->has_kprobes ? kernel_probes_missed(k->root, k->instance.path) : 0,
		 *known;

	k->missed_ns = clock_now_ns(&k->drain.clock);
	if (k->is_own) /* there is no instance and no CPU of it */
		return;
	known = &k->losses[k->n_cpus].here;
	if (missed <= *known)
		return;
	if (!*known && d && !d->text[0])
		diag_fail(d, 0,
			  "--kprobe: the kernel missed calls or returns of these functions, of "
			  "whatever process: they are counted as "
			  "lost\n  (of more than %d calls under way at once it sees no return; "
			  "name fewer functions)",
			  KERNEL_RETURNS_MAX);
	k->losses[0].here += missed - *known; /* no CPU is to blame, so CPU 0 counts it */
	*known = missed;
}

/* No event is missing, but contexts may be outdated. */
static void report_lost_changes(struct kernel *k, struct diag *d)
{
	if (kernel_contexts_have_lost(k->drain.contexts) && d && !d->text[0])
		diag_fail(d, 0,
			  "--kernel-context: threads were born or changed faster than it could be "
			  "read: some contexts are as they were "
			  "up to a second before");
}

/* If a thread is preempted inside a BPF program, the kernel skips that program for other threads on
 * that CPU. */
static void report_missed_runs(struct kernel *k, struct diag *d)
{
	uint64_t missed = kernel_bpf_missed(k->bpf);

	if (missed && d && !d->text[0])
		diag_fail(d, 0,
			  "the kernel left out %" PRIu64 " runs of our BPF programs, for whatever "
			  "process: they are counted as lost\n"
			  "  (--kernel-backend=ftrace misses none)",
			  missed);
}

static int drain_all(struct kernel *k, enum kernel_drain_mode mode, struct diag *d)
{
	int first = 0, err;

	for (int i = 0; i < k->n_cpus; i++) {
		err = kernel_cpu_drain(&k->cpus[i], &k->drain, mode, d);
		first = first ? first : err;
	}
	err = kernel_bpf_drain(k->bpf, &k->drain, mode, d);
	first = first ? first : err;
	err = kernel_profile_drain(k->profile, &k->drain, mode == KERNEL_DRAIN_LAST, d);
	return first ? first : err;
}

int kernel_poll(struct kernel *k, uint64_t until_ns, struct diag *d)
{
	int err;

	if (!k->is_started)
		return 0;
	if (k->cgroups && kernel_cgroups_have_changed(k->cgroups))
		inspect_cgroups(k, d);
	if (k->is_overwrite && k->drain.watch)
		return kernel_take(k, until_ns, d);
	if (k->is_overwrite) {
		kernel_contexts_learn(k->drain.contexts);
		report_lost_changes(k, d);
		kernel_bpf_keep(k->bpf, &k->drain);
		return kernel_profile_keep(k->profile, &k->drain, 0, d);
	}
	k->drain.until_ns = until_ns;
	k->drain.is_behind = false;
	if (k->has_kprobes && clock_now_ns(&k->drain.clock) - k->missed_ns > ASK_MISSED_NS)
		client_missed(k, d);
	err = drain_all(k, KERNEL_DRAIN_LIVE, d);
	if (!err)
		report_lost_changes(k, d);
	return err ? err : k->drain.is_behind;
}

bool kernel_is_polled(const struct kernel *k)
{
	return !k->is_overwrite || k->bpf || k->profile || k->drain.contexts || k->cgroups;
}

/* Needed even where buffers cannot wake a reader: a process that enters a cgroup must be followed
 * at once. */
static int wake_for_cgroups(const struct kernel *k, int epoll, uint32_t data)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = data };

	for (int i = 0, fd; k->cgroups && (fd = kernel_cgroups_fd(k->cgroups, i)) >= 0; i++)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
			return -errno;
	return 0;
}

int kernel_wake(struct kernel *k, int epoll, uint32_t data)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = data };
	int err = wake_for_cgroups(k, epoll, data);

	if (!err)
		err = k->profile || k->bpf || k->drain.contexts
			      ? -ENOTSUP
			      : kernel_tracefs_write(k->instance.dir, "buffer_percent",
						     WAKE_PERCENT);
	for (int i = 0; i < k->n_cpus && !err; i++)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, k->cpus[i].pipe, &e))
			err = -errno;
	return err;
}

int kernel_stop(struct kernel *k, struct diag *d)
{
	int err, last;

	if (!k->is_started)
		return 0;
	k->is_started = false;
	err = switch_tracing(k, false, d);
	kernel_bpf_stop(k->bpf);
	client_missed(k, err ? NULL : d);
	if (!err)
		err = kernel_profile_run(k->profile, false, d);
	/* Data read for snapshots is older and comes first. */
	for (int i = 0; i < k->n_cpus && !err; i++)
		err = kernel_cpu_write_held(&k->cpus[i], &k->cpus[i], &k->drain, d);
	last = drain_all(k, KERNEL_DRAIN_LAST, d);
	if (!err && !last) {
		report_lost_changes(k, d);
		report_missed_runs(k, d);
	}
	return err ? err : last;
}

void kernel_close(struct kernel *k)
{
	char name[sizeof k->instance.path];

	if (!k)
		return;
	kernel_snapshot_close(k, NULL);
	kernel_bpf_close(k->bpf);
	/* An instance with an open file cannot be removed. */
	for (int i = 0; i < k->n_cpus; i++)
		kernel_cpu_close(&k->cpus[i]);
	snprintf(name, sizeof name, "%s", k->instance.path);
	kernel_functions_release(&k->functions, k->instance.dir);
	kernel_instance_remove(&k->instance);
	if (k->has_uprobes)
		kernel_probes_remove(k->root, name);
	kernel_profile_close(k->profile);
	kernel_watch_free(k->drain.watch);
	kernel_selection_fini(&k->selection);
	ctf_writer_close(&k->drain.sink);
	if (k->drain.classes.by_kernel_id)
		kernel_classes_fini(&k->drain.classes);
	if (k->root >= 0)
		close(k->root);
	if (k->available >= 0)
		close(k->available);
	kernel_cgroups_close(k->cgroups);
	kernel_contexts_close(k->drain.contexts);
	free(k->drain.page);
	free(k->drain.room);
	if (k->losses)
		munmap(k->losses, (size_t)(k->n_cpus + 1) * sizeof *k->losses);
	free(k->cpus);
	free(k->pids);
	free(k);
}

void kernel_counts(const struct kernel *k, struct kernel_counts *c)
{
	*c = (struct kernel_counts){ .events = k->drain.n_events,
				     .bytes = k->bytes_before + k->drain.sink.bytes,
				     .malformed = k->drain.n_malformed };
	for (int i = 0; i < k->n_cpus; i++)
		c->lost += kernel_cpu_lost(&k->cpus[i]);
	c->lost += kernel_profile_lost(k->profile);
	c->lost += kernel_bpf_lost(k->bpf);
}

struct listing {
	void (*each)(void *arg, const char *event, const char *tracefs_name);
	void *arg;
};

static int list_one(void *arg, const struct kernel_candidate *c)
{
	const struct listing *l = arg;
	char name[160];

	snprintf(name, sizeof name, "%s:%s", c->system, c->event);
	l->each(l->arg, c->name, name);
	return 0;
}

int kernel_list(void (*each)(void *arg, const char *event, const char *tracefs_name), void *arg,
		struct diag *d)
{
	struct listing l = { each, arg };
	int root = kernel_tracefs_open(d), fd, err;
	char *available;
	ssize_t n;

	if (root < 0) {
		err = geteuid() ? broker_request(NULL, &fd, d) : -ENOENT;
		if (err)
			return err == -ENOENT ? root : err;
		n = kernel_tracefs_read_all(fd, &available);
	} else {
		n = kernel_tracefs_read(root, "available_events", &available);
		close(root);
	}
	if (n < 0)
		return diag_fail(d, (int)n, "cannot read tracefs available_events: %s",
				 strerror((int)-n));
	kernel_each_candidate(available, list_one, &l);
	free(available);
	return 0;
}

int kernel_reap(struct diag *d)
{
	int root = kernel_tracefs_open(d), n;

	if (root < 0)
		return root;
	n = kernel_instance_reap(root, d);
	kernel_probes_reap(root);
	close(root);
	return n;
}
