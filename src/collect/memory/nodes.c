/* SPDX-License-Identifier: MIT */
/* collect/memory/nodes.c - reads lists of nodes and of CPUs, as "0-3,8", from sysfs. */
#include "collect/memory/nodes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

enum { LIST_BYTES = 4096 };

/* The next range of the list at *@p, [*first, *last]; false: there is none, or it is malformed. */
static bool next_range(const char **p, unsigned long *first, unsigned long *last)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	*first = *last = strtoul(*p, &end, 10);
	if (*end == '-')
		*last = strtoul(end + 1, &end, 10);
	*p = *end == ',' ? end + 1 : end;
	return *first <= *last;
}

static bool read_list(char list[LIST_BYTES], const char *directory, const char *file)
{
	char path[512];

	return snprintf(path, sizeof path, "%s/%s", directory, file) < (int)sizeof path &&
	       io_read_file(path, list, LIST_BYTES) > 0;
}

static bool read_cpus(struct nodes *nodes, const char *directory, uint32_t node)
{
	char list[LIST_BYTES], file[40];
	const char *p = list;
	unsigned long first, last;

	snprintf(file, sizeof file, "node%u/cpulist", (unsigned)nodes->id[node]);
	if (!read_list(list, directory, file))
		return false;
	while (next_range(&p, &first, &last))
		for (; first <= last && first < ABI_CPUS_MAX; first++)
			nodes->of_cpu[first] = (uint8_t)node;
	return true;
}

static bool read_nodes(struct nodes *nodes, const char *directory)
{
	char list[LIST_BYTES];
	const char *p = list;
	unsigned long first, last;

	if (!read_list(list, directory, "has_cpu"))
		return false;
	while (next_range(&p, &first, &last))
		for (; first <= last; first++) {
			if (first >= NODE_IDS || nodes->n == NODES_MOST)
				return false;
			nodes->id[nodes->n] = (uint16_t)first;
			if (!read_cpus(nodes, directory, nodes->n++))
				return false;
		}
	return nodes->n > 0;
}

void nodes_read(struct nodes *nodes, const char *directory)
{
	*nodes = (struct nodes){ 0 };
	if (!read_nodes(nodes, directory))
		*nodes = (struct nodes){ .n = 1 };
}
