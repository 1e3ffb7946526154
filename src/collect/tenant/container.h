/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/container.h - what containers are called, by what /proc tells of their processes.
 *
 * Nobody is asked: neither docker nor any other, of which there may be several, or none.  What a
 * process's control group is called is its maker's choice, not the process's; its mount namespace
 * always has a number.
 */
#ifndef COLLECT_TENANT_CONTAINER_H
#define COLLECT_TENANT_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

enum { CONTAINER_BYTES = 28 };

/* container_of - the container that process @pid is in, by its control group:
 * "docker-3f2a9c01b2c3", "podman-...", "containerd-...", "lxc-..."; else by the number of its mount
 * namespace: "mnt-4026532345".  False if the process is gone, or hidden from us. */
bool container_of(pid_t pid, char container[CONTAINER_BYTES]);

/* container_is_called - whether people may call it @name: as above, also "docker-3f2a9c01b2c3:0" of
 * a session's part; by its id, or at least the first 12 digits; by its name (lxc). */
bool container_is_called(pid_t pid, const char *name);

#endif
