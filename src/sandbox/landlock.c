/* SPDX-License-Identifier: MIT */
/*
 * sandbox/landlock.c - the files that a process may open, and the connections that it may make.
 *
 * The layouts and numbers are those of the kernel's interface, version 7 (Linux 6.15).  They are
 * written here because the headers of a distribution may be older than the kernel.  An older kernel
 * gets the rights that it knows: each version only adds some.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/internal.h"

enum { CREATE_RULESET = 444, ADD_RULE, RESTRICT_SELF }; /* of all architectures */
enum { RULE_PATH_BENEATH = 1 };
#define VERSION_REQUEST 1u

enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	TRUNCATE = 1 << 14,
	BEFORE_REFER = (1 << 13) - 1, /* version 1 */
	BEFORE_TRUNCATE = (1 << 14) - 1,
	BEFORE_IOCTL = (1 << 15) - 1,
	ALL_FILE_RIGHTS = (1 << 16) - 1,
	FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
	READING = READ_FILE | READ_DIR,
	WRITING = READING | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG,
	BIND_TCP = 1 << 0,
	CONNECT_TCP = 1 << 1,
	SCOPE_ABSTRACT_SOCKETS = 1 << 0,
	SCOPE_SIGNALS = 1 << 1,
};

struct ruleset {
	uint64_t files, net, scopes; /* refused unless a rule allows it */
};
_Static_assert(sizeof(struct ruleset) == 24, "the kernel's layout");

struct path_rule {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));
_Static_assert(sizeof(struct path_rule) == 12, "the kernel's layout");

int sandbox_landlock_version(void)
{
	long version = syscall(CREATE_RULESET, NULL, 0, VERSION_REQUEST);

	return version > 0 ? (int)version : 0;
}

static struct ruleset refused(const struct sandbox *s, int version)
{
	struct ruleset r = { .files = version < 2   ? BEFORE_REFER
				      : version < 3 ? BEFORE_TRUNCATE
				      : version < 5 ? BEFORE_IOCTL
						    : ALL_FILE_RIGHTS };

	if (version >= 4)
		r.net = s->rights & SANDBOX_CONNECTS ? BIND_TCP : BIND_TCP | CONNECT_TCP;
	if (version >= 6)
		r.scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	return r;
}

/* @rights: those that the kernel knows. */
static int allow(int ruleset, const char *path, uint64_t rights, struct diag *d)
{
	struct path_rule rule = { .fd = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;
	int err = 0;

	if (rule.fd < 0)
		return diag_errno(d, "cannot open %s", path);
	rule.rights = fstat(rule.fd, &st) || S_ISDIR(st.st_mode) ? rights : rights & FOR_FILES;
	if (syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0u))
		err = diag_errno(d, "cannot limit access to %s", path);
	close(rule.fd);
	return err;
}

static int allow_all(int ruleset, const char *const *paths, uint64_t rights, struct diag *d)
{
	int err = 0;

	for (; paths && *paths && !err; paths++)
		err = allow(ruleset, *paths, rights, d);
	return err;
}

int sandbox_landlock(const struct sandbox *s, struct diag *d)
{
	static const char *const everything[] = { "/", NULL };
	int version = sandbox_landlock_version(), ruleset, err;
	struct ruleset r = refused(s, version);

	if (!version)
		return 0;
	ruleset = (int)syscall(CREATE_RULESET, &r, sizeof r, 0u);
	if (ruleset < 0)
		return diag_errno(d, "cannot make a sandbox (Landlock)");
	err = allow_all(ruleset, s->reads ? s->reads : everything, READING, d);
	if (!err)
		err = allow_all(ruleset, s->writes, WRITING & r.files, d);
	if (!err)
		err = allow_all(ruleset, s->directories, MAKE_DIR | REMOVE_DIR, d);
	if (!err && syscall(RESTRICT_SELF, ruleset, 0u))
		err = diag_errno(d, "cannot enter the sandbox (Landlock)");
	close(ruleset);
	return err;
}
