/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/in_progress.c - prints the call each thread is in when `duet strace -p` attaches.
 *
 * The beginnings of these calls are not recorded, and a hanging thread makes no other call.  They
 * are read from /proc; no thread is stopped for it.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "cmd/strace/print.h"
#include "kernel/tracefs/public.h"

/* Parses "202 0x7f.. 0x80 ...".  "running" and -1 mean that the thread is in no call. */
static const char *call_of(pid_t pid, int tid)
{
	char path[64], text[256], *end;
	long nr;

	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, tid);
	if (io_read_file(path, text, sizeof text) <= 0)
		return NULL;
	nr = strtol(text, &end, 10);
	return end == text || nr < 0 || nr >= KERNEL_SYSCALLS_MAX ? NULL
								  : kernel_syscall_name((int)nr);
}

static void print_thread(struct strace_printer *p, pid_t pid, int tid)
{
	const char *call = call_of(pid, tid);
	char path[64], name[32] = "?", line[160];

	if (!call || !strace_filter_has(&p->filter, call) ||
	    !(p->filter.endings & STRACE_UNFINISHED))
		return;
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, tid);
	if (io_read_file(path, name, sizeof name) > 0)
		name[strcspn(name, "\n")] = 0;
	snprintf(line, sizeof line, "[%s:%d] %s(... <unfinished ...>", name, tid, call);
	out_text(&p->out, line, strlen(line));
	out_byte(&p->out, '\n');
	p->n_lines++;
}

void strace_print_in_progress(struct strace_printer *p, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && p->n_lines < p->limit && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			print_thread(p, pid, atoi(e->d_name));
	if (dir)
		closedir(dir);
}
