/* SPDX-License-Identifier: MIT */
/*
 * qemu/node.c - records events on one CPU, and prints the memory nodes of the pages they lie in.
 *
 *	node CPU	prints "node N: PAGES" for each node
 *
 * move_pages(2) reports the node of each page of the session's memory that this process has touched.
 * Only pages count that hold an event of it.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <duet/duet.h>

#define MARK "an event whose text is found"
enum { EVENTS = 4000, PAGE = 4096, NODES = 8 };

DUET_EVENT(qemu, node, (str, text));

static void count_pages(uintptr_t begin, uintptr_t end, unsigned long on[NODES])
{
	static char mark[] = MARK; /* not the constant itself */

	for (uintptr_t at = begin; at < end; at += PAGE) {
		void *page = (void *)at;
		int node = -1;

		if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) || node < 0 ||
		    node >= NODES)
			continue;
		on[node] += memmem(page, PAGE, mark, strlen(mark)) != NULL;
	}
}

int main(int argc, char **argv)
{
	unsigned long on[NODES] = { 0 }, begin, end;
	cpu_set_t cpus;
	char line[512];
	FILE *maps;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus)) {
		perror("sched_setaffinity");
		return 1;
	}
	for (int i = 0; i < EVENTS; i++)
		trace_qemu_node(MARK);
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:duet-pool") && sscanf(line, "%lx-%lx", &begin, &end) == 2)
			count_pages(begin, end, on);
	if (maps)
		fclose(maps);
	for (int i = 0; i < NODES; i++)
		if (on[i])
			printf("node %d: %lu\n", i, on[i]);
	return 0;
}
