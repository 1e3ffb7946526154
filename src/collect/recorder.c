/* SPDX-License-Identifier: MIT */
/*
 * collect/recorder.c - one recording in its process: signals and limits, the directory, the
 * command, the supervisor, and the collector with its loop.
 *
 * The order: recorder_open creates everything; recorder_run starts, then forks the worker, then
 * loops; recorder_finish writes the rest and restores the process.
 */
#include "collect/recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/child/child.h"
#include "collect/collector.h"
#include "collect/command.h"
#include "collect/drain/files.h"
#include "collect/handover/handover.h"
#include "collect/loop.h"
#include "collect/tenant/supervisor.h"
#include "net/send/public.h"

struct recorder {
	struct recorder_options o;
	struct collector collector;
	struct command command;
	struct tenant_supervisor *tenant_supervisor; /* NULL: only this user's programs */
	struct handover *handover;		     /* outlives this process */
	struct archiver archiver;
	sigset_t old_mask;
	bool mask_changed;
	struct sigaction old_file_size, old_pipe, old_bus;
	struct rlimit old_files;
	bool owns_directory; /* it was empty */
	bool made_directory; /* it did not exist */
};

/* ---------------------------------------------------------------- the process */

/*
 * Each stream has a file and an index: large machines need more than the default 1024 descriptors.
 * A file beyond `ulimit -f` must act like a full disk and not kill us, and neither must a message
 * without a reader (`duet collect 2>&1 | head -1`): the next worker would write it again.
 * The command gets our old limits back.
 */
static void raise_limits(struct recorder *r)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit most;

	sigaction(SIGXFSZ, &ignore, &r->old_file_size);
	sigaction(SIGPIPE, &ignore, &r->old_pipe);
	/* A page of session memory that is lacking must not be replaced by another: this process ends,
	 * and its supervisor begins the next. */
	sigaction(SIGBUS, &(struct sigaction){ .sa_handler = SIG_DFL }, &r->old_bus);
	getrlimit(RLIMIT_NOFILE, &r->old_files);
	most = (struct rlimit){ r->old_files.rlim_max, r->old_files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &most);
}

static void block_signals(struct recorder *r)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP); /* the terminal is gone */
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGUSR1); /* for triggers */
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->mask_changed = true;
}

static void put_process_back(struct recorder *r)
{
	if (r->mask_changed)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &r->old_files);
	sigaction(SIGXFSZ, &r->old_file_size, NULL);
	sigaction(SIGPIPE, &r->old_pipe, NULL);
	sigaction(SIGBUS, &r->old_bus, NULL);
}

/* ---------------------------------------------------------------- the directory */

/* A recording needs a new or an empty directory, so that two are never mixed. */
static int make_directory(const char *path, struct diag *d)
{
	int err = io_make_dirs(path);
	struct stat st;

	if (err == -EACCES || err == -EROFS)
		return diag_fail(d, err, "cannot make %s: %s: give a directory of yours with -o",
				 path, strerror(-err));
	if (err)
		return diag_fail(d, err, "cannot make %s: %s", path, strerror(-err));
	if (!stat(path, &st) && !S_ISDIR(st.st_mode))
		return diag_fail(d, -ENOTDIR,
				 "%s is not a directory: give a new or an empty one with -o", path);
	return files_are_none(path)
		       ? 0
		       : diag_fail(d, -ENOTEMPTY,
				   "%s is not empty: give another directory with -o, or remove it",
				   path);
}

/* Nothing was recorded: the same command, corrected, finds the directory as it was. */
static void remove_files(const struct recorder *r)
{
	files_remove(r->o.path);
	if (r->made_directory)
		rmdir(r->o.path);
}

/*
 * Recordings hold arguments of system calls, file names and samples of all users.  So the directory
 * is its owner's, or also one group's: what is made in it gets that group.  A directory that was
 * there keeps its mode, as the files in it are closed by the umask; but some of those of a recording
 * of all users belong to other users.
 */
static int close_to_others(const struct recorder *r, struct diag *d)
{
	const struct recorder_options *o = &r->o;

	if (o->tenant)
		return 0; /* its directory was made for it: tenant/watch.c */
	if (o->has_group) {
		if (chown(o->path, (uid_t)-1, o->group) || chmod(o->path, 02750))
			return diag_errno(d, "cannot give %s to group %u", o->path,
					  (unsigned)o->group);
		return 0;
	}
	if ((r->made_directory || o->all_users || o->containers) && chmod(o->path, 0700))
		return diag_errno(d, "cannot close %s to other users", o->path);
	return 0;
}

/* ---------------------------------------------------------------- phases of a recording */

/* A tenant's collector has the rule of the whole recording, each for its own part. */
static int limit_disk(struct recorder *r, struct diag *d)
{
	struct recorder_options *o = &r->o;
	int err = 0;

	if (!o->tenant && o->limits_disk)
		err = disk_rule_begin(&o->disk, o->path, &o->trace_chunks.disk,
				      &o->trace_chunks.disk_free, d);
	o->disk.shares = o->limits_disk && (o->tenant || o->all_users || o->containers);
	r->handover->disk.rule = o->disk;
	return err;
}

static int own_directory(struct recorder *r, struct diag *d)
{
	int err;

	r->made_directory = access(r->o.path, F_OK);
	err = make_directory(r->o.path, d);
	r->owns_directory = !err;
	if (!err)
		err = close_to_others(r, d);
	return err ? err : limit_disk(r, d);
}

/* Records one tenant, in that tenant's collector. */
static int record_tenant(const struct recorder_options *o, struct sender *s,
			 struct recorder_result *result, struct diag *d)
{
	struct diag end = { "" };
	struct recorder *r;
	int err = recorder_open(&r, o, d), end_err;

	if (err)
		return err;
	if (s)
		sender_begin(s, 0, NULL);
	err = recorder_run(r, d);
	if (s)
		sender_lift(s, recorder_may_write_anew(o));
	end_err = recorder_finish(r, result, err ? &end : d);
	return err ? err : end_err;
}

static int open_tenant_supervisor(struct recorder *r, struct diag *d)
{
	int err =
		tenant_supervisor_open(&r->tenant_supervisor, &r->o, r->handover, record_tenant, d);

	if (err)
		return err;
	r->o.clock = tenant_supervisor_clock(r->tenant_supervisor);
	r->collector.refused = tenant_supervisor_refused(r->tenant_supervisor);
	return 0;
}

bool recorder_may_write_anew(const struct recorder_options *o)
{
	for (int i = 0; i < o->n_channels && o->keep; i++)
		if (o->channels[i].channel.flight_recorder)
			return true;
	return false;
}

int recorder_open(struct recorder **out, const struct recorder_options *o, struct diag *d)
{
	struct recorder *r = calloc(1, sizeof *r);
	int err;

	*out = NULL;
	if (r)
		r->handover = handover_memory();
	if (!r || !r->handover) {
		free(r);
		return diag_fail(d, -ENOMEM, "no memory");
	}
	r->o = *o;
	r->command.pid = -1;
	r->collector = COLLECTOR_NONE(&r->o, r->handover);
	r->archiver = (struct archiver){ .path = r->collector.output.recording,
					 .o = &r->o.trace_chunks,
					 .directory = o->directory,
					 .status = &r->handover->archiver,
					 .disk = &r->handover->disk,
					 .wake = -1 };
	r->collector.rotation.archiver = &r->archiver;
	raise_limits(r);
	err = own_directory(r, d);
	if (!err && (o->all_users || o->containers))
		err = open_tenant_supervisor(r, d);
	if (!err)
		err = collector_open(&r->collector, d);
	if (err)
		recorder_finish(r, NULL, NULL);
	else
		*out = r;
	return err;
}

/* The command gets none of the kernel's rings, which it would copy and unmap. */
static int prepare_command(struct recorder *r, const struct command_options *o, struct diag *d)
{
	struct kernel *k = r->collector.kernel;
	int err = kernel_hide_memory(k, true, d), undone;

	if (!err)
		err = command_prepare(&r->command, o, d);
	undone = kernel_hide_memory(k, false, err ? NULL : d);
	return err ? err : undone;
}

static int start(struct recorder *r, struct diag *d)
{
	bool joins = !r->o.leaves_environment;
	struct command_options c = { .argv = r->o.command,
				     .session = joins ? r->o.session : NULL,
				     .library = joins ? r->o.library : NULL,
				     .preload = joins ? r->o.preload : NULL,
				     .mask = &r->old_mask,
				     .files = &r->old_files,
				     .file_size = &r->old_file_size,
				     .pipe = &r->old_pipe,
				     .umask = r->o.command_umask };
	int err = r->o.command ? prepare_command(r, &c, d) : 0;

	if (!err && r->o.command_pid)
		*r->o.command_pid = r->command.pid;
	if (!err)
		err = collector_start(&r->collector, r->command.pid, d);
	if (!err && r->o.command)
		err = command_release(&r->command, d);
	return err;
}

/*
 * A successor needs disk space for a new trace.  Without it, it dies so that the next one tries
 * again, which is as safe as any death: after half a second, or at once for the last time if the
 * recording is to end.
 */
static void retry_without_space(const struct handover *handover, int err)
{
	struct timespec pause = { .tv_nsec = 500000000 };
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	if ((err != -ENOSPC && err != -EDQUOT) || handover->supervision.is_stopping)
		return;
	sigtimedwait(&stops, NULL, &pause); /* the supervisor receives it too */
	raise(SIGKILL);
}

/* With the option `keep`, the code after this runs in a child process. */
static int become_worker(struct recorder *r, struct diag *d)
{
	int incarnation = r->o.keep ? supervise_start(&r->handover->supervision, d) : 1;
	int err = incarnation < 0   ? incarnation
		  : incarnation > 1 ? collector_resume(&r->collector, d)
				    : 0;

	if (incarnation > 1)
		retry_without_space(r->handover, err);
	return err || !archiver_is_needed(&r->o.trace_chunks) ? err
							      : archiver_start(&r->archiver, d);
}

/*
 * The supervisor was killed: this process becomes the supervisor, and its child continues as after
 * any death.  Work in progress is finished first, because the child could not.
 */
static int become_supervisor(struct recorder *r, struct diag *d)
{
	while (collector_has_work(&r->collector))
		collector_work(&r->collector);
	session_close_connections(&r->collector.session);
	archiver_leave(&r->archiver);
	streams_close(r->collector.streams); /* the supervisor must not hold files of a trace chunk
					      * that may be removed */
	r->collector.streams = NULL;
	fflush(NULL);
	return become_worker(r, d);
}

int recorder_run(struct recorder *r, struct diag *d)
{
	int err;

	block_signals(r); /* from here on a signal waits for the loop */
	err = recorder_ends_early()
		      ? diag_fail(d, -EINTR, "a signal ended it before it recorded anything")
		      : start(r, d);
	if (!err && r->tenant_supervisor)
		tenant_supervisor_start(r->tenant_supervisor);
	if (!err && r->o.kernel_records)
		*r->o.kernel_records = r->collector.kernel != NULL;
	if (!err && r->o.on_ready)
		err = r->o.on_ready(r->o.on_ready_arg, d);
	if (!err)
		err = become_worker(r, d);
	if (!err)
		err = loop_run(&r->collector, &r->command, r->o.keep, d);
	while (!err && !r->collector.stop) {
		err = become_supervisor(r, d);
		if (!err)
			err = loop_run(&r->collector, &r->command, r->o.keep, d);
	}
	return err;
}

int recorder_finish(struct recorder *r, struct recorder_result *result, struct diag *d)
{
	bool begun;
	int err;

	if (!r)
		return 0;
	command_abandon(&r->command);
	begun = r->collector.begin_ns;
	err = collector_finish(&r->collector, d);
	archiver_end(&r->archiver);
	r->collector.result.archiver = r->handover->archiver;
	disk_losses_of(&r->collector.result.disk, &r->handover->disk); /* the archiver has ended */
	if (r->collector.result.trace_chunks)
		trace_chunks_kept(r->collector.output.recording, &r->collector.result.kept);
	tenant_supervisor_end(r->tenant_supervisor, &r->collector.result);
	r->collector.result.status = r->command.status;
	put_process_back(r);
	if (r->owns_directory && !begun)
		remove_files(r);
	if (result)
		*result = r->collector.result;
	handover_forget(r->handover);
	free(r);
	return err;
}
