/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/objects.c - find the files of a program.
 *
 * glibc's loader itself lists the libraries of a program (ld.so --list): RUNPATH, the cache,
 * LD_LIBRARY_PATH and hardware variants are its own rules.  It maps the files and runs no code of
 * them.  The loader is the one of this machine, not the one that the program names.
 */
#include "collect/calls/objects.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADER "/lib64/ld-linux-x86-64.so.2"
enum { SCRIPTS_DEEP = 4, PROGRAM_HEADERS = 64, LIBRARIES = 1024 };

/* ---------------------------------------------------------------- the command */

static bool is_executable(const char *path)
{
	return !access(path, X_OK);
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_executable(path);
	for (list = list ? list : "/usr/bin:/bin"; *list; list += strspn(list, ":")) {
		size_t n = strcspn(list, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, name) < PATH_MAX &&
		    is_executable(path))
			return true;
		list += n;
	}
	return false;
}

/* The interpreter of "#!/usr/bin/lua5.4 -x"; of "#!/usr/bin/env lua5.4" the program that env runs.
 * False: @path is no script. */
static bool find_interpreter(const char *path, char interpreter[PATH_MAX])
{
	char line[PATH_MAX], *word, *rest = line + 2, *next;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

	if (fd >= 0)
		close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(rest, " \t", &rest);
	if (!word)
		return false;
	next = strtok_r(NULL, " \t", &rest);
	if (!strcmp(word, "/usr/bin/env") && next && *next != '-' && !strchr(next, '='))
		return find_in_path(next, interpreter);
	return snprintf(interpreter, PATH_MAX, "%s", word) < PATH_MAX;
}

int objects_find_command(const char *name, char path[PATH_MAX], struct diag *d)
{
	char interpreter[PATH_MAX];

	if (!find_in_path(name, path))
		return diag_fail(d, -ENOENT, "%.200s: no such command", name);
	for (int i = 0; i < SCRIPTS_DEEP && find_interpreter(path, interpreter); i++)
		memcpy(path, interpreter, PATH_MAX);
	return 0;
}

/* ---------------------------------------------------------------- can it load libduet? */

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

static bool is_our_kind(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == EM_X86_64 &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum <= PROGRAM_HEADERS;
}

/* 1: it has an interpreter; 0: none; -errno: it is no program. */
static int read_loader(int fd, char loader[PATH_MAX])
{
	Elf64_Phdr p[PROGRAM_HEADERS];
	Elf64_Ehdr h;

	if (!read_at(fd, &h, sizeof h, 0) || !is_our_kind(&h) ||
	    !read_at(fd, p, h.e_phnum * sizeof *p, h.e_phoff))
		return -ENOEXEC;
	for (int i = 0; i < h.e_phnum; i++)
		if (p[i].p_type == PT_INTERP && p[i].p_filesz && p[i].p_filesz < PATH_MAX) {
			memset(loader, 0, PATH_MAX);
			return read_at(fd, loader, p[i].p_filesz, p[i].p_offset) ? 1 : -ENOEXEC;
		}
	return 0;
}

int objects_check_program(const char *path, struct diag *d)
{
	char loader[PATH_MAX] = "";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int has_loader = fd < 0 ? -errno : read_loader(fd, loader);

	if (fd >= 0)
		close(fd);
	if (has_loader < 0)
		return diag_fail(d, -ENOEXEC, "%.200s is no program for x86-64", path);
	if (!has_loader)
		return diag_fail(d, -ENOEXEC,
				 "%.200s is linked statically: it cannot load libduet, so its "
				 "functions cannot be recorded",
				 path);
	if (!strstr(loader, "/ld-linux-x86-64.so"))
		return diag_fail(d, -ENOEXEC,
				 "%.200s uses another libc (%.100s): libduet is made for glibc, so "
				 "its functions cannot be recorded",
				 path, loader);
	return 0;
}

/* ---------------------------------------------------------------- its libraries */

/* "	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f..)"; NULL: no path. */
static char *path_in(char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, " \t");
	char *end = strrchr(path, '(');

	if (*path != '/' || !end || end == path)
		return NULL;
	end[-1] = 0;
	return path;
}

static _Noreturn void run_loader(const char *path, int output)
{
	char *const argv[] = { (char *)"ld.so", (char *)"--list", (char *)(uintptr_t)path, NULL };

	dup2(output, STDOUT_FILENO);
	execv(LOADER, argv);
	_exit(127);
}

static FILE *list_libraries(const char *path, pid_t *pid)
{
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC))
		return NULL;
	*pid = fork();
	if (!*pid)
		run_loader(path, pipe[1]);
	close(pipe[1]);
	if (*pid > 0)
		return fdopen(pipe[0], "r");
	close(pipe[0]);
	return NULL;
}

int objects_of_program(const char *path, objects_visit *visit, void *arg, struct diag *d)
{
	int err = visit(arg, path), n = 0;
	char line[PATH_MAX + 64], *library;
	pid_t pid = 0;
	FILE *list = err ? NULL : list_libraries(path, &pid);

	if (!err && !list)
		err = diag_errno(d, "cannot list the libraries of %.200s", path);
	while (!err && n++ < LIBRARIES && fgets(line, sizeof line, list))
		if ((library = path_in(line)))
			err = visit(arg, library);
	if (list)
		fclose(list);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

int objects_of_process(pid_t pid, objects_visit *visit, void *arg, struct diag *d)
{
	char path[64], line[PATH_MAX + 128], last[PATH_MAX] = "", rights[8];
	int err = 0, at;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return diag_errno(d, "process %d", (int)pid);
	while (!err && fgets(line, sizeof line, maps)) {
		at = 0;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%*x-%*x %7s %*x %*s %*u %n", rights, &at) != 1 || !at ||
		    rights[2] != 'x' || line[at] != '/' || !strcmp(line + at, last))
			continue;
		snprintf(last, sizeof last, "%s", line + at);
		err = visit(arg, line + at);
	}
	fclose(maps);
	return err;
}
