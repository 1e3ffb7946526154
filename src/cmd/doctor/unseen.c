/* SPDX-License-Identifier: MIT */
/*
 * cmd/doctor/unseen.c - say which programs stay invisible to a recording, and why (find/find.h).
 *
 * A command is looked at after it has ended: it may start other programs that join.
 */
#include "cmd/doctor/unseen.h"

#include <unistd.h>

#include "cmd/doctor/explain.h"
#include "cmd/record/recording.h"

/* Application events are meant unless the options ask only for something else. */
static bool wants_events(const struct recording *a)
{
	return a->n_events || !(recording_names_kernel(a) || a->calls.n || a->o.calls.n_marks);
}

/* An event that is enabled there later still counts: the reason may vanish. */
static bool may_record_later(enum find_state state)
{
	return state == FIND_RECORDABLE || state == FIND_SANDBOXED || state == FIND_NO_CLOCK;
}

/* Root records them as tenants; the rules name the processes, so no other is recorded. */
static bool can_be_tenant(struct recording *a, pid_t pid)
{
	enum find_state state = geteuid() ? FIND_NOT_THERE : explain_state(pid);

	a->o.all_users |= state == FIND_OTHER_USER;
	a->o.containers |= state == FIND_CONTAINER;
	return state == FIND_OTHER_USER || state == FIND_CONTAINER;
}

static int report_processes(struct recording *a)
{
	bool has_more = a->o.wants_kernel || a->calls.n || a->o.calls.n_marks;
	int status = 0;

	for (int i = 0; i < a->pids.n; i++) {
		enum find_state state;

		if (can_be_tenant(a, a->pids.at[i]))
			continue;
		state = explain_process(a->verb, a->pids.at[i], a->o.wants_kernel);

		if (!may_record_later(state) && (a->n_events || !has_more))
			status = CMD_FAILED;
	}
	return status;
}

int unseen_report(struct recording *a)
{
	if (!wants_events(a) || a->o.command)
		return 0;
	if (a->pids.n)
		return report_processes(a);
	if ((!a->quiet || a->is_strict) && !a->o.all_users && !a->o.containers && !a->cgroups.n)
		explain_running(a->verb, a->programs, true);
	return 0;
}

void unseen_report_command(const struct recording *a, const struct recorder_result *result)
{
	if (a->o.command && !result->programs && wants_events(a))
		explain_command(a->verb, a->o.command[0], result->kernel_recorded);
}
