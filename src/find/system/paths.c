/* SPDX-License-Identifier: MIT */
/* find/system/paths.c - the runtime directory, /dev/shm, the directory of recordings, and the environment. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "abi/control.h"
#include "find/system/internal.h"

#define LEAST_FREE (256ull << 20) /* of a disk: seconds of a busy recording */
enum { LEAST_PAGES = 4 };	  /* control pages for which /dev/shm has room */

static void check_runtime(const struct checking *c)
{
	const char *path = c->by->directory;
	struct stat st;

	if (lstat(path, &st) && errno == ENOENT)
		check_fine(c, "runtime", "%s (not made yet)", path);
	else if (lstat(path, &st))
		check_bad(c, "runtime", FIND_FINDING, "set DUET_RUNTIME_DIR to another one",
			  "%s: %s", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != c->by->uid || st.st_mode & 022)
		check_bad(c, "runtime", FIND_FINDING,
			  "remove it, or set DUET_RUNTIME_DIR for duet and the programs",
			  "%s is not a directory of this user alone (uid %u, mode %04o): nothing "
			  "can be recorded",
			  path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
	else
		check_fine(c, "runtime", "%s", path);
}

static uint64_t free_bytes(const struct statvfs *fs)
{
	return (uint64_t)fs->f_bavail * fs->f_frsize;
}

static void check_shm(const struct checking *c)
{
	struct statvfs fs;
	char size[32];

	if (statvfs("/dev/shm", &fs))
		check_bad(c, "/dev/shm", FIND_FINDING,
			  "mount -t tmpfs -o mode=1777 tmpfs /dev/shm, or set DUET_RUNTIME_DIR",
			  "%s", strerror(errno));
	else if (free_bytes(&fs) < LEAST_PAGES * (uint64_t)ABI_CONTROL_BYTES ||
		 (fs.f_files && !fs.f_favail))
		check_bad(c, "/dev/shm", FIND_FINDING,
			  "remove files there, or: mount -o remount,size=1G /dev/shm",
			  "%s free: programs that start now get no control page",
			  check_size(free_bytes(&fs), size));
	else
		check_fine(c, "/dev/shm", "%s free", check_size(free_bytes(&fs), size));
}

static void check_recordings(const struct checking *c)
{
	struct statvfs fs;
	char size[32];

	if (statvfs(c->directory, &fs))
		check_bad(c, "recordings", FIND_FINDING, "record with -o DIR", "%s: %s",
			  c->directory, strerror(errno));
	else if (access(c->directory, W_OK | X_OK))
		check_bad(c, "recordings", FIND_FINDING, "record with -o DIR",
			  "%s: this user may not write there", c->directory);
	else if (free_bytes(&fs) < LEAST_FREE)
		check_bad(c, "recordings", FIND_FINDING, "record with -o DIR on another disk",
			  "%s: only %s free", c->directory, check_size(free_bytes(&fs), size));
	else
		check_fine(c, "recordings", "%s: %s free", c->directory,
			   check_size(free_bytes(&fs), size));
}

static void check_variable(const struct checking *c, const char *name, const char *effect)
{
	const char *value = getenv(name);

	if (value && *value)
		check_bad(c, name, FIND_NOTE, "unset it if that is not wanted", "%s: %s", value,
			  effect);
}

void check_paths(struct checking *c)
{
	check_runtime(c);
	check_shm(c);
	check_recordings(c);
	check_variable(c, "DUET_RUNTIME_DIR",
		       "only programs that have it too meet this user's sessions");
	check_variable(c, "DUET_SESSION", "programs started here belong to these sessions");
	check_variable(c, "DUET_LIBRARY", "programs started here load this libduet and no other");
}
