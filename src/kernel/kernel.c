/* SPDX-License-Identifier: MIT */
/*
 * kernel/kernel.c - starts recording, drains its CPUs, and restores everything at the end.
 *
 * buffer_percent is never 0, because then every event would wake a reader. See kernel.h.
 */
#include "kernel/kernel.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "kernel/internal.h"
#include "kernel/probe/kprobe.h"
#include "kernel/statedump/statedump.h"
#include "kernel/probe/uprobe.h"
#include "kernel/watch/selected.h"

#define WAKE_PERCENT                                                                               \
	"25" /* wake the reader when this part of a buffer is used; the rest is for events until
	      * it reads */

#define ASK_MISSED_NS 1000000000ull

static void restart_streams(struct kernel *k)
{
	for (int i = 0; i < k->n_cpus; i++)
		kernel_cpu_restart(&k->cpus[i]);
	kernel_profile_restart(k->profile);
	kernel_bpf_restart(k->bpf);
	kernel_classes_restart(&k->drain.classes, 0);
}

/* A disk without room for it is no loss: readers see all events. */
static void end_trace(const struct kernel *k, struct ctf_writer *sink)
{
	(void)!ctf_writer_end(sink, clock_now_ns(&k->drain.clock), NULL);
}

void kernel_end_trace(struct kernel *k)
{
	end_trace(k, &k->drain.sink);
}

int kernel_resume(struct kernel *k, const char *path, struct diag *d)
{
	struct ctf_writer old;
	int err;

	restart_streams(k);
	kernel_follow_again(k);
	err = k->is_started ? kernel_contexts_begin(k->drain.contexts, d) : 0;
	if (err)
		return err;
	old = k->drain.sink;
	ctf_writer_close(&k->drain.sink);
	err = kernel_open_trace(k, path, 0, d);
	k->drain.sink.quota = old.quota;
	k->drain.sink.disk = old.disk;
	k->drain.sink.ledger = old.ledger;
	return err;
}

int kernel_rotate(struct kernel *k, const char *path, struct diag *d)
{
	struct ctf_writer old = k->drain.sink;
	int err;

	assert(!k->snapshot.is_open);
	k->drain.sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	err = kernel_open_trace(k, path, k->drain.until_ns, d);
	if (err) {
		ctf_writer_close(&k->drain.sink);
		k->drain.sink = old;
		return err;
	}
	k->drain.sink.quota = old.quota;
	k->drain.sink.disk = old.disk;
	k->drain.sink.ledger = old.ledger;
	restart_streams(k);
	end_trace(k, &old);
	k->bytes_before += old.bytes;
	ctf_writer_close(&old);
	return 0;
}

void kernel_refuse(struct kernel *k, const char *why)
{
	k->drain.sink.refuses = why;
}

int kernel_state(struct kernel *k, struct diag *d)
{
	return kernel_statedump(&k->drain, k->pids, k->whole_machine ? -1 : k->n_pids,
				k->dumps_followed, k->captures & CAPTURE_FILES, d);
}

int kernel_hide_memory(struct kernel *k, bool hides, struct diag *d)
{
	return k ? kernel_bpf_hide(k->bpf, hides, d) : 0;
}

const char *kernel_recorder(const struct kernel *k, const char **why)
{
	*why = k->bpf ? "" : k->bpf_refused.text;
	return k->bpf ? "bpf" : "ftrace";
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
	int err;

	if (k->instance.dir < 0)
		return 0;
	err = on && k->functions.is_on && is_tracing(k) ? 0
							: kernel_instance_switch(&k->instance, on);
	return err ? diag_fail(d, err, "cannot write tracing_on of the tracefs instance: %s",
			       strerror(-err))
		   : 0;
}

/* Everything but samples and counters. */
static int switch_events(struct kernel *k, bool pause, struct diag *d)
{
	/* The function tracer empties the buffers when tracing is switched on. */
	bool triggers_only = pause && (k->drain.watch || k->functions.is_on),
	     on = !pause || triggers_only;
	int err;

	k->is_paused = pause;
	k->drain.misses_births |= pause;
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
	kernel_bpf_switch(k->bpf, !on ? 0
				      : kernel_wait_bpf(&k->selection, triggers_only) |
						  (triggers_only ? 0 : k->idle_bpf));
	return err;
}

int kernel_pause(struct kernel *k, bool pause, struct diag *d)
{
	int err = switch_events(k, pause, d);

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
		    kernel_event_callback *on_match, void *arg, struct diag *d)
{
	if (!k->drain.watch)
		k->drain.watch = kernel_watch_make(&k->drain.clock, on_match, arg);
	k->drain.watch_page = kernel_watch_page;
	if (!k->drain.watch)
		return diag_fail(d, -ENOMEM, "no memory for a trigger");
	return kernel_wait(k->drain.watch, &k->selection,
			   k->instance.dir < 0 ? k->root : k->instance.dir, request, d);
}

/* Samples begin behind the state dump: it names their threads, and births are recorded as events
 * meanwhile. In a recording of own processes the samples report births, so they begin first. */
static int start_samples(struct kernel *k, struct diag *d)
{
	int err = k->is_own ? kernel_profile_run(k->profile, !k->is_paused, d) : 0;

	if (err)
		return err;
	kernel_classes_describe_all(&k->drain.classes);
	err = kernel_state(k, d);
	return err || k->is_own ? err : kernel_profile_run(k->profile, !k->is_paused, d);
}

int kernel_start(struct kernel *k, struct diag *d)
{
	int err;

	assert(!k->is_started);
	if (k->cgroups) {
		err = kernel_begin_cgroups(k, d);
		if (err)
			return err;
	}
	if (!k->whole_machine && !k->n_pids && !k->cgroups)
		return diag_fail(d, -EINVAL, "no process to record the kernel side of");
	err = kernel_contexts_begin(k->drain.contexts, d);
	if (err)
		return err;
	k->is_started = true;
	err = switch_events(k, k->is_paused, d);
	k->is_started = !err;
	return err ? err : start_samples(k, d);
}

/* A missed call of a probe always counts as a loss, because its process is unknown. */
static void count_missed_calls(struct kernel *k, struct diag *d)
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
			  "--kprobe: the kernel missed calls or returns of these functions, "
			  "perhaps in other processes: they are counted as lost\n  (it sees the "
			  "returns of at most %d calls in progress; name fewer functions)",
			  KERNEL_RETURNS_MAX);
	k->losses[0].here += missed - *known; /* no CPU is to blame, so CPU 0 counts it */
	*known = missed;
}

/* No event is missing, but contexts may be outdated. */
static void report_lost_changes(struct kernel *k, struct diag *d)
{
	if (kernel_contexts_have_lost(k->drain.contexts) && d && !d->text[0])
		diag_fail(d, 0,
			  "--kernel-context: threads started or changed faster than duet could "
			  "read: some contexts are up to a second old");
}

/* If a thread is preempted inside a BPF program, the kernel skips that program for other threads on
 * that CPU. */
static void report_missed_runs(struct kernel *k, struct diag *d)
{
	uint64_t missed = kernel_bpf_missed(k->bpf);

	if (missed && d && !d->text[0])
		diag_fail(d, 0,
			  "the kernel skipped %" PRIu64
			  " runs of BPF programs, perhaps for other processes: they are "
			  "counted as lost\n"
			  "  (--kernel-backend=ftrace misses none)",
			  missed);
}

bool kernel_has_lost_its_lender(const struct kernel *k)
{
	struct pollfd connection = { .fd = k->instance.dir, .events = POLLRDHUP };

	return k->instance.lock >= 0 && poll(&connection, 1, 0) > 0 &&
	       connection.revents & (POLLRDHUP | POLLHUP | POLLERR);
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
		kernel_scan_cgroups(k, d);
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
		count_missed_calls(k, d);
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
	/* BPF programs record the switches from idle that perf does not have, so they end last: to
	 * detach them takes milliseconds. */
	if (!err)
		err = kernel_profile_run(k->profile, false, d);
	kernel_bpf_stop(k->bpf);
	count_missed_calls(k, err ? NULL : d);
	/* Data read for snapshots is older and comes first. */
	for (int i = 0; i < k->n_cpus && !err; i++)
		err = kernel_cpu_write_held(&k->cpus[i], &k->cpus[i], &k->drain, d);
	last = drain_all(k, KERNEL_DRAIN_LAST, d);
	kernel_end_trace(k);
	if (!err && !last) {
		report_lost_changes(k, d);
		report_missed_runs(k, d);
	}
	return err ? err : last;
}

void kernel_close(struct kernel *k)
{
	char name[sizeof k->instance.path];
	bool has_functions;

	if (!k)
		return;
	has_functions = k->functions.is_on || k->functions.guard >= 0;
	kernel_snapshot_close(k, NULL);
	kernel_bpf_close(k->bpf);
	/* An instance with an open file cannot be removed. */
	for (int i = 0; i < k->n_cpus; i++)
		kernel_cpu_close(&k->cpus[i]);
	snprintf(name, sizeof name, "%s", k->instance.path);
	kernel_functions_release(&k->functions, k->instance.dir);
	/* Probes are removed behind the instance. */
	if (k->ends_soon && !k->has_uprobes && !has_functions)
		kernel_instance_remove_later(&k->instance);
	else
		kernel_instance_remove(&k->instance);
	if (k->has_uprobes)
		kernel_probes_remove(k->root, name);
	kernel_profile_close(k->profile);
	kernel_watch_free(k->drain.watch);
	kernel_selection_fini(&k->selection);
	free(k->busy_filter);
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
	for (int i = 0; i < k->n_cpus; i++) {
		c->lost += kernel_cpu_lost(&k->cpus[i]);
		c->lost_elsewhere += k->cpus[i].losses->here;
	}
	c->lost += kernel_profile_lost(k->profile);
	c->lost += kernel_bpf_lost(k->bpf);
}
