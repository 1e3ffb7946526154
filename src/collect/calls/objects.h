/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/objects.h - the files whose code a command or a process runs.
 *
 * Runs in the planner.
 */
#ifndef COLLECT_CALLS_OBJECTS_H
#define COLLECT_CALLS_OBJECTS_H

#include <limits.h>
#include <sys/types.h>

#include "base/diag.h"

/* Called with each path; a result other than 0 ends the walk and is returned. */
typedef int objects_visit(void *arg, const char *path);

/*
 * objects_find_command - the program that execvp(@name) runs: by PATH, and the interpreter of a
 * script.
 *
 * -ENOENT: there is none.
 */
int objects_find_command(const char *name, char path[PATH_MAX], struct diag *d);

/*
 * objects_check_program - whether a program can load libduet.
 *
 * -ENOEXEC: it is static, of another architecture, or uses another libc than glibc; the reason is in
 * @d.
 */
int objects_check_program(const char *path, struct diag *d);

/* objects_of_program - the program and the libraries that it needs, as its loader finds them. */
int objects_of_program(const char *path, objects_visit *visit, void *arg, struct diag *d);

/* objects_of_process - the files with code that process @pid has mapped now. */
int objects_of_process(pid_t pid, objects_visit *visit, void *arg, struct diag *d);

#endif
