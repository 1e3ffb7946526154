/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/worker.c - run one tenant's collector and its sender, and give up rights
 * in the right order.
 *
 * The sender is forked first, while the process holds nothing of the tenant.  Then the process
 * takes the tenant's file system identity, opens the recorder, and enters the sandbox when it is
 * ready.
 */
#include "collect/tenant/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "collect/tenant/sandbox.h"
#include "collect/handover/handover.h"
#include "net/send/public.h"

enum { ABOVE_STANDARD = 8 }; /* descriptors that a forked child gives a meaning */

bool tenant_worker_path(char path[PATH_MAX], const char *recording, const struct tenant *t)
{
	char label[TENANT_LABEL_BYTES];

	tenant_label(t, label);
	return snprintf(path, PATH_MAX, "%s/tenant-%s", recording, label) < PATH_MAX;
}

/*
 * Unmaps the main collector's shared memory first, so that a compromised collector cannot reach it.
 */
static int enter_sandbox(void *arg, struct diag *d)
{
	struct tenant_worker *p = arg;

	handover_forget(p->main_handover);
	p->main_handover = NULL;
	return sandbox_enter(p->tenant, p->number, true, d);
}

/*
 * The sender's memory holds our keys, so the tenant's collector must not be able to read it.  It
 * gets a user id of its own.
 */
static int sandbox_sender(void *arg, struct diag *d)
{
	struct tenant_worker *p = arg;
	int err = sandbox_files(p->tenant, d);

	handover_forget(p->main_handover);
	p->main_handover = NULL;
	return err ? err : sandbox_enter(p->tenant, TENANTS_MAX + p->number, false, d);
}

/* Runs first, so that the sender inherits nothing that the collector opens. */
static int start_sender(struct tenant_worker *p, struct sender *s, struct diag *d)
{
	char name[ABI_NAME_BYTES], path[PATH_MAX];
	struct sender_options o = *p->o->sends_tenants->options;

	if (!tenant_session_name(p->tenant, p->o->session, name, sizeof name) ||
	    !tenant_worker_path(path, p->o->path, p->tenant))
		return diag_fail(d, -ENAMETOOLONG, "its name is too long to be sent");
	o.session = name;
	o.path = path;
	o.dir = p->directory;
	o.confine = sandbox_sender;
	o.confine_arg = p;
	return sender_fork(s, &o, p->o->sends_tenants->spool_bytes, d);
}

/* Waits until the server has everything, or the time is over. */
static int finish_sender(struct tenant_worker *p, struct sender *s, struct diag *d)
{
	const struct sender_options *o = p->o->sends_tenants->options;
	bool is_sent;
	char path[64];

	is_sent = sender_end(s) == SENDER_DONE && !s->status->n_skipped;
	if (!is_sent)
		diag_fail(d, -EIO,
			  "not all of it was sent%s%.200s: duet send goes on, with this part's "
			  "directory",
			  *s->status->text ? ": " : "", s->status->text);
	snprintf(path, sizeof path, "/proc/self/fd/%d", p->directory);
	if (is_sent && o->frees)
		spool_remove(path);
	sender_fini(s);
	return is_sent ? 0 : -EIO;
}

/* All work that needs root is done before on_ready runs. */
static int run_recorder(struct tenant_worker *p, struct sender *s, struct recorder_result *result,
			struct diag *d)
{
	struct recorder_options o = *p->o;
	char path[64];

	o.directory = fcntl(p->directory, F_DUPFD_CLOEXEC, ABOVE_STANDARD);
	if (o.directory < 0)
		return diag_errno(d, "no descriptor for a collector");
	snprintf(path, sizeof path, "/proc/self/fd/%d", o.directory);
	o.path = path;
	o.sent = s;
	o.quota = s ? &s->status->quota : NULL;
	o.trace_chunks.n_arrived = s ? &s->status->n_trace_chunks : NULL;
	o.tenant = p->tenant;
	o.clock = p->clock;
	o.main_handover = p->main_handover;
	o.wants_kernel = o.all_users = o.containers = false;
	o.ends_with_pids = false; /* the main collector does, and ends this one */
	o.on_ready = enter_sandbox;
	o.on_ready_arg = p;
	o.keep = true;
	return p->record(&o, s, result, d);
}

int tenant_worker_record(struct tenant_worker *p)
{
	struct recorder_result result = { .programs = 0 };
	struct sender sender = { .control = -1 }, *s = p->o->sends_tenants ? &sender : NULL;
	struct diag d = { "" }, unsent = { "" };
	int err = s ? start_sender(p, s, &d) : 0;

	if (!err)
		err = sandbox_files(p->tenant, &d);
	if (!err)
		err = run_recorder(p, s, &result, &d);
	if (s && !err && finish_sender(p, s, &unsent) && !result.trouble.text[0])
		result.trouble = unsent;
	p->results->app_events = result.app_events;
	p->results->kept = result.kept;
	p->results->disk = result.disk;
	p->results->trace_chunks = result.trace_chunks;
	p->results->app_bytes = result.app_bytes;
	p->results->app_lost = result.app_lost;
	p->results->app_unwritten = result.app_unwritten;
	p->results->programs = result.programs;
	p->results->impossible = result.impossible;
	p->results->trouble = err ? d : result.trouble;
	store_release(&p->results->has_ended, 1);
	return err ? 1 : 0;
}
