/* SPDX-License-Identifier: MIT */
/*
 * collect/memory/nodes.h - the memory nodes of the machine, and the CPUs of each.
 *
 * Only nodes with CPUs count: a pool has a part of its chunks for each (memory.h).  They are numbered from
 * 0 here, without gaps; @id is the kernel's number.
 */
#ifndef COLLECT_MEMORY_NODES_H
#define COLLECT_MEMORY_NODES_H

#include <stdint.h>

#include "abi/pool.h"

enum { NODES_MOST = 64, NODE_IDS = 1024 /* of the kernel, at most */ };

struct nodes {
	uint32_t n; /* at least 1; 1: all memory is equally near */
	uint16_t id[NODES_MOST];
	uint8_t of_cpu[ABI_CPUS_MAX]; /* below n */
};

/*
 * nodes_read - the nodes that @directory lists, the kernel's /sys/devices/system/node.
 *
 * If that cannot be read or understood, or there are more than NODES_MOST, it is one node.
 */
void nodes_read(struct nodes *nodes, const char *directory);

#endif
