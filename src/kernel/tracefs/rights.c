/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/rights.c - a message for each kind of refused access. */
#include "kernel/tracefs/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const char tracefs_path[] = "/sys/kernel/tracing";

bool kernel_is_locked_down(void)
{
	char text[256];

	return io_read_file("/sys/kernel/security/lockdown", text, sizeof text) > 0 &&
	       strstr(text, "[confidentiality]");
}

/* " (NAME is VALUE)" for a kernel setting; "" if it cannot be read. */
static const char *setting(const char *name, char *text, size_t size)
{
	char path[128], value[32];

	*text = 0;
	snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
	if (io_read_file(path, value, sizeof value) > 0) {
		value[strcspn(value, "\n")] = 0;
		snprintf(text, size, " (kernel.%s is %s)", name, value);
	}
	return text;
}

static bool has_capability(int n)
{
	char text[4096];
	const char *at = io_read_file("/proc/self/status", text, sizeof text) > 0
				 ? strstr(text, "\nCapEff:")
				 : NULL;

	return at && strtoull(at + strlen("\nCapEff:"), NULL, 16) >> n & 1;
}

static int locked_down(struct diag *d)
{
	return diag_fail(
		d, -EPERM,
		"kernel events cannot be recorded: the kernel is locked down (confidentiality)\n"
		"  boot without lockdown=confidentiality");
}

int kernel_rights_tracefs(struct diag *d)
{
	char mode[96] = "";
	struct stat s;

	if (kernel_is_locked_down())
		return locked_down(d);
	if (!geteuid())
		return diag_fail(d, -EPERM,
				 "kernel events cannot be recorded: tracefs needs CAP_SYS_ADMIN, "
				 "which this process (in a container?) does not have");
	if (!stat(tracefs_path, &s))
		snprintf(mode, sizeof mode, " (%s is of user %u, group %u, mode %04o)",
			 tracefs_path, s.st_uid, s.st_gid, s.st_mode & 07777);
	return diag_fail(
		d, -EPERM,
		"kernel events cannot be recorded: tracefs needs root%s\n  use sudo, or let root "
		"lend it (man duet-lend), or record only the application\n  -k sched_switch, -k "
		"profile and -k counter:NAME work for your own processes without root",
		mode);
}

int kernel_rights_broker(struct diag *d)
{
	return diag_fail(d, -EACCES,
			 "kernel events cannot be recorded: this user is not in the group of the "
			 "lender's socket\n  usermod -a -G tracing USER, then log in again");
}

int kernel_rights_perf(const char *what, int err, struct diag *d)
{
	char now[96];

	if (kernel_is_locked_down())
		return locked_down(d);
	if (has_capability(CAP_PERFMON)) /* a check that Debian adds to the kernel */
		return diag_fail(d, err,
				 "%s: no right to sample all processes%s\n  above 2 this kernel "
				 "wants CAP_SYS_ADMIN: give it, or: sysctl "
				 "kernel.perf_event_paranoid=2",
				 what, setting("perf_event_paranoid", now, sizeof now));
	return diag_fail(d, err,
			 "%s: no right to sample all processes%s\n  it needs root, CAP_PERFMON, "
			 "or: sysctl kernel.perf_event_paranoid=0 (-1 for stack:)",
			 what, setting("perf_event_paranoid", now, sizeof now));
}

int kernel_rights_bpf(int err, struct diag *d)
{
	bool has_bpf = has_capability(CAP_BPF), has_perfmon = has_capability(CAP_PERFMON);
	char now[96];

	if (kernel_is_locked_down())
		return locked_down(d);
	return diag_fail(
		d, err, "BPF programs need root, or CAP_BPF and CAP_PERFMON; they are not lent%s%s",
		has_bpf	      ? has_perfmon ? "" : ": CAP_PERFMON is missing"
		: has_perfmon ? ": CAP_BPF is missing"
			      : ": both are missing",
		setting("unprivileged_bpf_disabled", now, sizeof now));
}
