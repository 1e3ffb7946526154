/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/supervisor.c - the recorder's side of the tenant supervisor: fork it, send it
 * orders through a pipe, and read its results at the end.
 *
 * The recorder does not wait for the supervisor's process but for the end of the pipe `done`, which
 * all collectors hold: another process may have forked the supervisor.
 */
#include "collect/tenant/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/runtime.h"
#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/tenant/watch.h"

static int make_shared(struct tenant_supervisor *w, int orders[2], int done[2], struct diag *d)
{
	struct clock_reading now;
	void *p = mmap(NULL, sizeof *w->results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	int err = clock_init_kind(&w->clock.map, w->o->clock_kind, d);

	if (err)
		return err;
	if (p == MAP_FAILED || pipe2(orders, O_CLOEXEC) || pipe2(done, O_CLOEXEC))
		return diag_errno(
			d, "cannot make shared memory and pipes for the collectors of other users");
	w->results = p;
	clock_read(&w->clock.map, &now);
	w->clock.offset_ns = now.realtime_ns - clock_ns(&w->clock.map, now.ticks);
	return 0;
}

int tenant_supervisor_open(struct tenant_supervisor **out, const struct recorder_options *o,
			   struct handover *handover, tenant_record *record, struct diag *d)
{
	struct tenant_supervisor *w = calloc(1, sizeof *w);
	int orders[2] = { -1, -1 }, done[2] = { -1, -1 }, err;
	pid_t pid;

	*out = NULL;
	if (geteuid()) {
		free(w);
		return diag_fail(d, -EPERM,
				 "other users' programs, and those in containers, are recorded by "
				 "root only");
	}
	if (!w)
		return diag_fail(d, -ENOMEM, "no memory");
	w->o = o;
	w->handover = handover;
	w->record = record;
	err = make_shared(w, orders, done, d);
	if (err) {
		free(w);
		return err;
	}
	fflush(NULL);
	pid = fork();
	w->orders = orders[pid != 0];
	w->done = done[pid == 0];
	close(orders[pid == 0]);
	close(done[pid != 0]);
	if (!pid)
		tenant_watch_run(w);
	w->pid = pid;
	*out = w;
	return pid < 0 ? diag_errno(d, "cannot fork") : 0;
}

const struct recorder_clock *tenant_supervisor_clock(const struct tenant_supervisor *w)
{
	return &w->clock;
}

const struct tenants_refused *tenant_supervisor_refused(const struct tenant_supervisor *w)
{
	return &w->results->refused;
}

static void order(struct tenant_supervisor *w, char what)
{
	/*
	 * If the tenant supervisor was killed, the pipe has no reader.  tenant_supervisor_end
	 * reports it.
	 */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigaction(SIGPIPE, &ignore, &before);
	(void)!write(w->orders, &what, 1);
	sigaction(SIGPIPE, &before, NULL);
}

void tenant_supervisor_start(struct tenant_supervisor *w)
{
	order(w, TENANT_WATCH_GO);
}

/* Behind those of root's own programs, as far as there is room. */
static void add_impossible(struct impossible *to, const struct tenant_supervisor_results *from)
{
	size_t used = strlen(to->text), left = sizeof to->text - used;

	if (from->more_impossible)
		snprintf(to->text + used, left,
			 "%s%u more users or containers: the events duet:impossible in their "
			 "parts name programs\n",
			 from->impossible.text, from->more_impossible);
	else
		snprintf(to->text + used, left, "%s", from->impossible.text);
}

static void add_results(const struct tenant_supervisor *w, struct recorder_result *r)
{
	const struct tenant_supervisor_results *from = w->results;

	r->app_events += load(&from->app_events);
	r->app_bytes += load(&from->app_bytes);
	r->kept.n += load(&from->kept.n);
	r->kept.events += load(&from->kept.events);
	r->kept.bytes += load(&from->kept.bytes);
	r->trace_chunks += load(&from->trace_chunks);
	r->app_lost += load(&from->app_lost);
	r->app_unwritten += load(&from->app_unwritten);
	r->programs += load(&from->programs);
	r->tenants = load(&from->tenants);
	r->refused = from->refused;
	for (uint32_t i = 0; i < from->disk.n && i < DISK_LOSSES_MAX; i++)
		disk_losses_add(&r->disk, from->disk.at[i].of, &from->disk.at[i]);
	r->disk.more += from->disk.more;
	add_impossible(&r->impossible, from);
	if (r->trouble.text[0])
		return;
	if (load_acquire(&from->has_trouble))
		r->trouble = from->trouble;
	else if (!load_acquire(&from->has_ended))
		diag_fail(&r->trouble, 0,
			  "the process that recorded other users was killed: their programs are "
			  "recorded up to then");
}

/* Cleans up in place of a killed tenant supervisor. */
static void sweep_own(void)
{
	int own = runtime_dir_open(false);

	if (own >= 0) {
		programs_sweep(own);
		close(own);
	}
}

void tenant_supervisor_end(struct tenant_supervisor *w, struct recorder_result *r)
{
	char byte;

	if (!w)
		return;
	order(w, TENANT_WATCH_STOP);
	close(w->orders);
	while (read(w->done, &byte, 1) < 0 && errno == EINTR)
		;
	close(w->done);
	waitpid(w->pid, NULL, 0); /* fails harmlessly if another process forked it */
	if (!load_acquire(&w->results->has_ended))
		sweep_own();
	if (r)
		add_results(w, r);
	munmap(w->results, sizeof *w->results);
	free(w);
}
