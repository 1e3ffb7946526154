/* SPDX-License-Identifier: MIT */
/*
 * collect/session/container.c - derive a container's name from the cgroup path and the mount
 * namespace of one of its processes.
 */
#include "collect/session/container.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"

enum { ID_LEAST = 32, ID_SHOWN = 12 }; /* hex digits */
enum { CGROUP_BYTES = 4096 };

/* The runtime that made the container, from its part of the cgroup path. */
static const char *runtime_of(const char *cgroup)
{
	static const struct {
		const char *in_path, *name;
	} runtimes[] = {
		{ "libpod", "podman" },
		{ "docker", "docker" },
		{ "cri-containerd", "containerd" },
		{ "containerd", "containerd" },
		{ "crio", "crio" },
		{ "kubepods", "pod" },
	};

	for (unsigned i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (strstr(cgroup, runtimes[i].in_path))
			return runtimes[i].name;
	return "container";
}

/* The last run of at least ID_LEAST hex digits, because nested containers have several. */
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
	return n &&
	       n == strspn(s,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") &&
	       *s != '.' && *s != '-';
}

/* "/lxc.payload.NAME/...": LXC containers have names. */
static bool name_lxc(const char *cgroup, char container[CONTAINER_BYTES])
{
	const char *p = strstr(cgroup, "/lxc.payload.");
	size_t n;
	char name[CONTAINER_BYTES - 4];

	if (!p)
		return false;
	p += strlen("/lxc.payload.");
	n = strcspn(p, "/\n");
	n = n < sizeof name ? n : sizeof name - 1;
	snprintf(name, sizeof name, "%.*s", (int)n, p);
	if (!is_word(name, strlen(name)))
		return false;
	snprintf(container, CONTAINER_BYTES, "lxc-%s", name);
	return true;
}

static bool read_cgroup(const char *pid, char cgroup[CGROUP_BYTES])
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%.20s/cgroup", pid);
	return io_read_file(path, cgroup, CGROUP_BYTES) > 0;
}

/* False if the cgroup path does not look like a container's. */
static bool name_by_cgroup(const char *pid, char container[CONTAINER_BYTES])
{
	char cgroup[CGROUP_BYTES];
	const char *id;

	if (!read_cgroup(pid, cgroup))
		return false;
	if (name_lxc(cgroup, container))
		return true;
	id = find_id(cgroup);
	if (id)
		snprintf(container, CONTAINER_BYTES, "%s-%.*s", runtime_of(cgroup), ID_SHOWN, id);
	return id;
}

/*
 * If we run in a container too, its name does not distinguish mount namespaces inside it: use the
 * namespace's number then.
 */
bool container_of(pid_t pid, char container[CONTAINER_BYTES])
{
	char ours[CONTAINER_BYTES], digits[16], path[64];
	struct stat st;

	snprintf(digits, sizeof digits, "%d", (int)pid);
	if (name_by_cgroup(digits, container) &&
	    !(name_by_cgroup("self", ours) && !strcmp(ours, container)))
		return true;
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	if (stat(path, &st))
		return false;
	snprintf(container, CONTAINER_BYTES, "mnt-%lu", (unsigned long)st.st_ino);
	return true;
}

/*
 * Whether the cgroup path @path belongs to container @id: docker-ID.scope, /lxc/NAME, libpod-ID...
 */
static bool is_path_of(const char *path, const char *id)
{
	size_t n = strlen(id);
	bool is_hex = n >= ID_SHOWN && !id[strspn(id, "0123456789abcdef")];

	for (const char *p = strstr(path, id); p; p = strstr(p + 1, id)) {
		bool begins = p > path && strchr("/-.:", p[-1]);
		char after = p[n];

		if (begins &&
		    (!after || strchr("/.\n", after) || (is_hex && isxdigit((unsigned char)after))))
			return true;
	}
	return false;
}

bool container_is_called(pid_t pid, const char *name)
{
	char cgroup[CGROUP_BYTES], container[CONTAINER_BYTES], digits[16];
	size_t n = strcspn(name, ":");

	snprintf(digits, sizeof digits, "%d", (int)pid);
	if (read_cgroup(digits, cgroup) && is_path_of(cgroup, name))
		return true;
	return container_of(pid, container) && strlen(container) == n &&
	       !memcmp(container, name, n);
}
