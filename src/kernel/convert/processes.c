/* SPDX-License-Identifier: MIT */
/* kernel/convert/processes.c - a table of threads and their processes: see processes.h. */
#include "kernel/convert/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

static void keep(struct kernel_processes *p, int32_t tid, int32_t pid)
{
	uint32_t at = (uint32_t)tid & (KERNEL_PROCESSES - 1);

	p->of[at].tid = tid;
	p->of[at].pid = pid;
}

/* 0: the thread is gone. */
static int32_t look_up(int32_t tid)
{
	static const char key[] = "\nTgid:";
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/status", tid);
	if (tid <= 0 || io_read_file(path, text, sizeof text) <= 0)
		return 0;
	at = strstr(text, key);
	return at ? (int32_t)strtol(at + strlen(key), NULL, 10) : 0;
}

int32_t kernel_processes_of(struct kernel_processes *p, int32_t tid)
{
	uint32_t at = (uint32_t)tid & (KERNEL_PROCESSES - 1);
	int32_t pid;

	if (p->of[at].tid == tid) /* also 0, the idle thread */
		return p->of[at].pid;
	pid = look_up(tid);
	if (!pid)
		return tid;
	keep(p, tid, pid);
	return pid;
}

void kernel_processes_born(struct kernel_processes *p, int32_t parent, int32_t child,
			   bool is_thread)
{
	keep(p, child, is_thread ? kernel_processes_of(p, parent) : child);
	p->born = child;
}

/* An earlier thread with this number may be in the table: it does not count. */
int32_t kernel_processes_child(struct kernel_processes *p, int32_t child)
{
	int32_t pid;

	if (p->born == child) {
		p->born = 0;
		return kernel_processes_of(p, child);
	}
	pid = look_up(child);
	keep(p, child, pid ? pid : child);
	return pid ? pid : child;
}
