/* SPDX-License-Identifier: MIT */
/* collect/tenant.c - see tenant.h. */
#include "collect/tenant.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { ID_LEAST = 32, ID_SHOWN = 12 }; /* hex digits */

void tenant_label(const struct tenant *t, char label[TENANT_LABEL_BYTES])
{
	int n = snprintf(label, TENANT_LABEL_BYTES, "%s%s%u", t->container, *t->container ? ":" : "", t->number);

	if (t->turn > 1 && t->turn < 10000)
		snprintf(label + n, TENANT_LABEL_BYTES - (size_t)n, ".%u", t->turn);
}

bool tenant_session_name(const struct tenant *t, const char *session, char *name, size_t size)
{
	char label[TENANT_LABEL_BYTES];

	tenant_label(t, label);
	return snprintf(name, size, "%s@%s", session, label) < (int)size;
}

/* ---------------------------------------------------------------- containers */

/* Who runs it, by how the path of its control group is made. */
static const char *runtime_of(const char *cgroup)
{
	static const struct {
		const char *in_path, *name;
	} runtimes[] = {
		{ "libpod", "podman" },		   { "docker", "docker" }, { "cri-containerd", "containerd" },
		{ "containerd", "containerd" },	   { "crio", "crio" },	   { "kubepods", "pod" },
	};

	for (unsigned i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (strstr(cgroup, runtimes[i].in_path))
			return runtimes[i].name;
	return "container";
}

/* The last run of at least ID_LEAST hex digits: containers within containers have several. */
static const char *find_id(const char *cgroup)
{
	const char *found = NULL;

	while (*cgroup) {
		size_t n = strspn(cgroup, "0123456789abcdef");

		if (n >= ID_LEAST)
			found = cgroup;
		cgroup += n ? n : 1;
	}
	return found;
}

static bool is_word(const char *s, size_t n)
{
	return n && n == strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") &&
	       *s != '.' && *s != '-';
}

/* "/lxc.payload.NAME/...": these have names. */
static bool name_lxc(const char *cgroup, char container[TENANT_CONTAINER_BYTES])
{
	const char *p = strstr(cgroup, "/lxc.payload.");
	size_t n;
	char name[TENANT_CONTAINER_BYTES - 4];

	if (!p)
		return false;
	p += strlen("/lxc.payload.");
	n = strcspn(p, "/\n");
	n = n < sizeof name ? n : sizeof name - 1;
	snprintf(name, sizeof name, "%.*s", (int)n, p);
	if (!is_word(name, strlen(name)))
		return false;
	snprintf(container, TENANT_CONTAINER_BYTES, "lxc-%s", name);
	return true;
}

/* False if nothing there has to do with containers. */
static bool name_by_cgroup(const char *pid, char container[TENANT_CONTAINER_BYTES])
{
	char path[64], cgroup[4096];
	const char *id;

	snprintf(path, sizeof path, "/proc/%s/cgroup", pid);
	if (io_read_file(path, cgroup, sizeof cgroup) <= 0)
		return false;
	if (name_lxc(cgroup, container))
		return true;
	id = find_id(cgroup);
	if (id)
		snprintf(container, TENANT_CONTAINER_BYTES, "%s-%.*s", runtime_of(cgroup), ID_SHOWN, id);
	return id;
}

/* Where we are in a container ourselves, its name tells no namespaces within it apart. */
bool tenant_container_of(pid_t pid, char container[TENANT_CONTAINER_BYTES])
{
	char ours[TENANT_CONTAINER_BYTES], digits[16], path[64];
	struct stat st;

	snprintf(digits, sizeof digits, "%d", (int)pid);
	if (name_by_cgroup(digits, container) && !(name_by_cgroup("self", ours) && !strcmp(ours, container)))
		return true;
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	if (stat(path, &st))
		return false;
	snprintf(container, TENANT_CONTAINER_BYTES, "mnt-%lu", (unsigned long)st.st_ino);
	return true;
}

/* ---------------------------------------------------------------- the owner's rights */

uid_t owner_of(int dir)
{
	struct stat st;

	return fstat(dir, &st) ? (uid_t)-1 : st.st_uid;
}

/*
 * Not seteuid: our other rights are still wanted, and a process with his user id would be his to kill.
 * Also in a file system of a user namespace nothing may be made by one who has no id there, root of the
 * machine among them.
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
	/* The kernel takes it back from who changes these ids. */
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
