/* SPDX-License-Identifier: MIT */
/*
 * collect/session/tenant.c - labels of tenants, and the file system identity with which this thread
 * opens and creates files.
 */
#include "collect/session/tenant.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

void tenant_label(const struct tenant *t, char label[TENANT_LABEL_BYTES])
{
	int n = snprintf(label, TENANT_LABEL_BYTES, "%s%s%u", t->container,
			 *t->container ? ":" : "", t->number);

	if (t->turn > 1 && t->turn < 10000)
		snprintf(label + n, TENANT_LABEL_BYTES - (size_t)n, ".%u", t->turn);
}

bool tenant_session_name(const struct tenant *t, const char *session, char *name, size_t size)
{
	char label[TENANT_LABEL_BYTES];

	tenant_label(t, label);
	return snprintf(name, size, "%s@%s", session, label) < (int)size;
}

/* ---------------------------------------------------------------- the owner's rights */

uid_t owner_of(int dir)
{
	struct stat st;

	return fstat(dir, &st) ? (uid_t)-1 : st.st_uid;
}

/*
 * setfsuid, not seteuid: the thread still needs its other rights, and a process with the tenant's
 * user id could be killed by the tenant.  setfsuid also serves a file system of a user namespace,
 * where an id that the namespace does not map, such as the machine's root, may create no files.
 */
struct rights rights_take(struct rights r)
{
	const struct rights now = { (uid_t)setfsuid((uid_t)-1), (gid_t)setfsgid((gid_t)-1) };
	int before = errno, death_signal = 0;
	pid_t parent = getppid();

	if (r.uid == now.uid && r.gid == now.gid)
		return now;
	prctl(PR_GET_PDEATHSIG, &death_signal);
	setfsgid(r.gid);
	setfsuid(r.uid);
	/* The kernel clears the parent-death signal when these ids change. */
	prctl(PR_SET_PDEATHSIG, death_signal);
	if (death_signal && getppid() != parent)
		raise(death_signal);
	errno = before;
	return now;
}

struct rights owner_begin(int dir)
{
	struct rights r = { (uid_t)-1, (gid_t)-1 }; /* no change */
	int before = errno;
	struct stat st;

	if (!fstat(dir, &st))
		r = (struct rights){ st.st_uid, st.st_gid };
	errno = before;
	return rights_take(r);
}

void owner_end(struct rights before)
{
	rights_take(before);
}
