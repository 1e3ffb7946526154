/* SPDX-License-Identifier: MIT */
/*
 * collect/session/container.h - names of containers, derived from /proc.
 *
 * No container runtime is asked: there may be several, or none.  The path of a process's cgroup is
 * chosen by the container runtime, not by the process.  The mount namespace always has a number.
 */
#ifndef COLLECT_SESSION_CONTAINER_H
#define COLLECT_SESSION_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

enum { CONTAINER_BYTES = 28 };

/*
 * container_of - the name of the container that process @pid runs in.
 *
 * From its cgroup: "docker-3f2a9c01b2c3", "podman-...", "containerd-...", "lxc-..."; otherwise from
 * the number of its mount namespace: "mnt-4026532345".  False if the process is gone or hidden.
 */
bool container_of(pid_t pid, char container[CONTAINER_BYTES]);

/*
 * container_is_called - whether @name names the container of process @pid.
 *
 * Accepts the name above, also with a suffix as in a tenant's label ("docker-3f2a9c01b2c3:0"); the
 * container's id, or at least its first 12 digits; and an LXC name.
 */
bool container_is_called(pid_t pid, const char *name);

#endif
