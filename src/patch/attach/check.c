/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/check.c - may this process be attached to?  One clear reason if not.
 *
 * Opening /proc/PID/mem asks the kernel the very question of ptrace; the rest finds out why not,
 * and looks for other obstacles.  The process is not touched.
 */
#include "patch/attach/internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_BYTES = 8192 };

struct check {
	int pid;
	struct diag *d;
	char status[STATUS_BYTES];
};

static ssize_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

/* The text after "NAME:\t" in the status; "" if it is not there. */
static const char *status_of(const struct check *c, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = c->status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, n) && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return "";
}

static long number_of(const struct check *c, const char *name)
{
	return strtol(status_of(c, name), NULL, 10);
}

static int check_state(const struct check *c)
{
	long tracer = number_of(c, "TracerPid"), group = number_of(c, "Tgid");
	char state = *status_of(c, "State");

	if (state == 'Z' || state == 'X')
		return diag_fail(c->d, -ESRCH, "process %d has ended already (a zombie)", c->pid);
	if (group && group != c->pid)
		return diag_fail(c->d, -ESRCH, "%d is a thread of process %ld: give that number",
				 c->pid, group);
	if (tracer)
		return diag_fail(c->d, -EBUSY,
				 "process %d is traced already, by process %ld\n"
				 "  end that first (gdb, strace, another duet)",
				 c->pid, tracer);
	if (state == 'T')
		return diag_fail(c->d, -EBUSY,
				 "process %d is stopped\n  continue it first: kill -CONT %d",
				 c->pid, c->pid);
	if (c->pid == getpid())
		return diag_fail(c->d, -ENOTSUP, "duet cannot attach to itself");
	return 0;
}

/* Why the kernel refused. */
static int refused(const struct check *c, int err)
{
	long uid = strtol(status_of(c, "Uid"), NULL, 10), scope = 0;
	char text[16];

	if (geteuid() && uid != (long)geteuid())
		return diag_fail(c->d, -EPERM,
				 "process %d belongs to another user (uid %ld)\n"
				 "  run duet as that user, or as root",
				 c->pid, uid);
	if (read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) > 0)
		scope = strtol(text, NULL, 10);
	if (scope)
		return diag_fail(c->d, -EPERM,
				 "the kernel does not allow attaching to process %d: "
				 "kernel.yama.ptrace_scope is %ld\n  %s",
				 c->pid, scope,
				 scope < 3 ? "run duet as root, or set it to 0 with sysctl"
					   : "it cannot be changed before the next boot");
	return diag_fail(c->d, -EPERM,
			 "process %d may not be attached to: %s\n"
			 "  it is set-user-ID, or forbids it (PR_SET_DUMPABLE), or has more rights "
			 "than duet: run duet as root",
			 c->pid, strerror(-err));
}

static int check_rights(const struct check *c)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof path, "/proc/%d/mem", c->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	err = -errno;
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	return err == -ENOENT ? diag_fail(c->d, -ESRCH, "process %d has ended", c->pid)
			      : refused(c, err);
}

static int check_sandbox(const struct check *c)
{
	if (number_of(c, "Seccomp") > 0)
		return diag_fail(
			c->d, -EACCES,
			"process %d is sandboxed by seccomp, which may kill it when it loads "
			"libduet\n  start it with libduet instead: duet record PROGRAM",
			c->pid);
	if (strstr(status_of(c, "x86_Thread_features"), "shstk"))
		return diag_fail(c->d, -ENOTSUP,
				 "process %d runs with a shadow stack, into which duet cannot put "
				 "calls\n  start it with libduet instead: duet record PROGRAM",
				 c->pid);
	return 0;
}

/* ---------------------------------------------------------------- its program */

static int is_static(const struct check *c)
{
	return diag_fail(c->d, -ENOEXEC,
			 "process %d runs a statically linked program, which cannot load libduet",
			 c->pid);
}

static int check_interpreter(const struct check *c, int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < e->e_phnum && e->e_phentsize == sizeof p; i++)
		if (pread(fd, &p, sizeof p, (off_t)(e->e_phoff + i * sizeof p)) == sizeof p &&
		    p.p_type == PT_INTERP)
			return 0;
	return is_static(c);
}

static int check_program(const struct check *c)
{
	char path[64];
	Elf64_Ehdr e;
	int fd, err = 0;

	snprintf(path, sizeof path, "/proc/%d/exe", c->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? diag_fail(c->d, -ENOEXEC,
						   "process %d is a thread of the kernel", c->pid)
				       : diag_errno(c->d, "cannot read %s", path);
	if (pread(fd, &e, sizeof e, 0) != sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG))
		err = diag_fail(c->d, -ENOEXEC, "the program of process %d is no ELF file", c->pid);
	else if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64)
		err = diag_fail(c->d, -ENOEXEC,
				"process %d is not a 64-bit program of x86-64: libduet is", c->pid);
	else
		err = check_interpreter(c, fd, &e);
	close(fd);
	return err;
}

static int check_libc(const struct check *c, const struct maps *m)
{
	const char *name = NULL;

	for (size_t i = 0; i < m->n && !name; i++) {
		const char *slash = strrchr(m->at[i].path, '/');

		if (slash && (!strncmp(slash, "/ld-musl", 8) || !strncmp(slash, "/libc.musl", 10) ||
			      !strncmp(slash, "/ld-uClibc", 10)))
			name = m->at[i].path;
	}
	if (name)
		return diag_fail(
			c->d, -ENOEXEC,
			"process %d uses another C library than glibc, which libduet needs: "
			"%s",
			c->pid, name);
	if (!maps_object(m, "libc.so.6") && !maps_object(m, "libc-2"))
		return diag_fail(c->d, -ENOEXEC,
				 "process %d has no C library that libduet can use (glibc's "
				 "libc.so.6)",
				 c->pid);
	return 0;
}

static bool shares(int pid, const char *namespace)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof path, "/proc/self/ns/%s", namespace);
	if (stat(path, &ours))
		return true;
	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, namespace);
	return stat(path, &its) || (ours.st_ino == its.st_ino && ours.st_dev == its.st_dev);
}

static int check_library(const struct check *c, const char *library)
{
	char path[4200];

	if (!library || *library != '/')
		return diag_fail(c->d, -ENOENT,
				 "libduet.so.0 is not installed: process %d cannot load it",
				 c->pid);
	snprintf(path, sizeof path, "/proc/%d/root%s", c->pid, library);
	if (!access(path, R_OK))
		return 0;
	if (!shares(c->pid, "mnt"))
		return diag_fail(c->d, -ENOENT,
				 "process %d sees other files (a container), and no %s there\n"
				 "  install duet in its container, or mount that file into it",
				 c->pid, library);
	return diag_errno(c->d, "process %d cannot load %s", c->pid, library);
}

static int check_objects(const struct check *c, const struct attach_options *o)
{
	struct maps m;
	int err = maps_read(&m, c->pid);

	if (err)
		return diag_fail(c->d, err, "cannot read /proc/%d/maps: %s", c->pid,
				 strerror(-err));
	err = check_libc(c, &m);
	if (!err && o && !maps_object(&m, "libduet.so.0"))
		err = check_library(c, o->library);
	maps_fini(&m);
	return err;
}

int attach_check(pid_t pid, const struct attach_options *o, struct diag *d)
{
	struct check c = { .pid = (int)pid, .d = d };
	char path[64];
	int err;

	snprintf(path, sizeof path, "/proc/%d/status", c.pid);
	if (pid <= 0 || read_text(path, c.status, sizeof c.status) <= 0)
		return diag_fail(d, -ESRCH, "there is no process %d", c.pid);
	err = check_state(&c);
	err = err ? err : check_program(&c);
	if (err == -EACCES || err == -EPERM)
		err = refused(&c, err);
	err = err ? err : check_rights(&c);
	err = err ? err : check_sandbox(&c);
	return err ? err : check_objects(&c, o);
}
