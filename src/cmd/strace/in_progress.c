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

static void print_thread(struct strace_printer *p, pid_t pid, int tid, uint32_t n)
{
	const char *call = call_of(pid, tid);
	char path[64], name[32] = "?", line[160], prefix[64] = "";

	if (!call || !strace_filter_has(&p->filter, call) ||
	    !(p->filter.endings & STRACE_UNFINISHED))
		return;
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, tid);
	if (io_read_file(path, name, sizeof name) > 0)
		name[strcspn(name, "\n")] = 0;
	if (p->prefix == STRACE_ALL_PIDS)
		snprintf(prefix, sizeof prefix, p->names_pids ? "%d<%s> " : "%-5d ", tid, name);
	else if (p->prefix == STRACE_PIDS && n > 1)
		snprintf(prefix, sizeof prefix, p->names_pids ? "[pid %5d<%s>] " : "[pid %5d] ",
			 tid, name);
	snprintf(line, sizeof line, "%s%s(... <unfinished ...>", prefix, call);
	out_text(&p->out, line, strlen(line));
	out_byte(&p->out, '\n');
	p->n_lines++;
}

uint32_t strace_count_threads(pid_t pid)
{
	uint32_t n = 0;
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		n += isdigit((unsigned char)e->d_name[0]) != 0;
	if (dir)
		closedir(dir);
	return n ? n : 1;
}

void strace_print_in_progress(struct strace_printer *p, pid_t pid, bool is_alone, uint32_t n)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && p->n_lines < p->limit && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && (!is_alone || atoi(e->d_name) == pid))
			print_thread(p, pid, atoi(e->d_name), n);
	if (dir)
		closedir(dir);
}
