/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/file.c - make the calls file, and a forked child's own.
 *
 * It is made like a control page (inproc/page.c): exclusively, closed to others, locked while it is
 * mapped, and its descriptor is closed at once.  It is large and sparse.  Memory that is stored to
 * is reserved first.
 */
#include "inproc/calls/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compose.h"
#include "base/runtime.h"

enum { PAGE = 4096 };

/* The control page's name with another beginning. */
static bool name_file(char name[CALLS_FILE_NAME_BYTES])
{
	const char *numbers = strchr(process.page_name, '-');

	return numbers && compose(name, CALLS_FILE_NAME_BYTES, "calls", numbers, NULL);
}

/* When the program that made the file did so; 0 if it is none. */
static uint64_t registered_ns_of(int dir, const char *name)
{
	int fd = (int)syscall(SYS_openat, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			      0);
	struct abi_calls c = { .magic = 0 };

	if (fd < 0)
		return 0;
	syscall(SYS_pread64, fd, &c, sizeof c, (off_t)0);
	syscall(SYS_close, fd);
	return c.magic == ABI_CALLS_MAGIC ? c.registered_ns : 0;
}

/* The file of the program that exec replaced still has calls for the collector. */
static void set_aside(int dir, const char *name)
{
	char other[CALLS_FILE_NAME_BYTES + DECIMAL_BYTES], digits[DECIMAL_BYTES];
	uint64_t ns = registered_ns_of(dir, name);

	compose(other, sizeof other, name, ".", decimal(digits, ns), NULL);
	if (!ns || syscall(SYS_renameat, dir, name, dir, other))
		unlinkat(dir, name, 0);
}

static int create(int dir, const char *name)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = (int)syscall(SYS_openat, dir, name, flags, 0600);
	struct stat st;

	if (fd < 0 && errno == EEXIST) {
		set_aside(dir, name);
		fd = (int)syscall(SYS_openat, dir, name, flags, 0600);
	}
	if (fd >= 0 && !fstat(fd, &st) && (st.st_mode & 0777) != 0600)
		syscall(SYS_fchmod, fd, 0600); /* an unusual umask */
	return fd;
}

/* Beyond `ulimit -f` ftruncate does not just fail, it kills. */
static bool may_have_file(void)
{
	struct rlimit limit;

	return !syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) &&
	       limit.rlim_cur >= CALLS_FILE_BYTES;
}

static struct abi_calls *map_file(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	void *c;

	if (syscall(SYS_fcntl, fd, F_OFD_SETLK, &whole) ||
	    syscall(SYS_ftruncate, fd, (off_t)CALLS_FILE_BYTES))
		return NULL;
	c = mmap(NULL, CALLS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (c == MAP_FAILED)
		return NULL;
	if (!runtime_reserve(c, PAGE)) {
		munmap(c, CALLS_FILE_BYTES);
		return NULL;
	}
	madvise(c, CALLS_FILE_BYTES, MADV_DONTDUMP);
	return c;
}

struct abi_calls *calls_file_make(int dir, char name[CALLS_FILE_NAME_BYTES])
{
	struct abi_calls *c;
	int fd;

	if (!may_have_file() || !name_file(name))
		return NULL;
	fd = create(dir, name);
	if (fd < 0)
		return NULL;
	c = map_file(fd);
	syscall(SYS_close, fd);
	if (!c)
		unlinkat(dir, name, 0);
	return c;
}

static struct abi_calls_object *objects_of(struct abi_calls *c)
{
	return (void *)((char *)c + ABI_CALLS_OBJECTS_AT);
}

static struct abi_calls_function *functions_of(struct abi_calls *c)
{
	return (void *)((char *)c + ABI_CALLS_FUNCTIONS_AT);
}

static bool copy(struct abi_calls *to, struct abi_calls *from)
{
	uint32_t objects = load(&from->n_objects), functions = load(&from->n_functions);
	size_t object_bytes, function_bytes;

	if (objects > ABI_CALLS_OBJECTS || functions > ABI_CALLS_FUNCTIONS)
		return false;
	object_bytes = objects * sizeof(struct abi_calls_object);
	function_bytes = functions * sizeof(struct abi_calls_function);
	if (!runtime_reserve(objects_of(to), object_bytes) ||
	    !runtime_reserve(functions_of(to), function_bytes))
		return false;
	memcpy(to, from, sizeof *to);
	memcpy(objects_of(to), objects_of(from), object_bytes);
	for (uint32_t i = 0; i < functions; i++)
		functions_of(to)[i].state = load(&functions_of(from)[i].state);
	to->pid = process.pid;
	to->n_threads = 0;
	to->lost = 0;
	return true;
}

bool calls_file_inherit(struct abi_calls *old, int dir, char name[CALLS_FILE_NAME_BYTES])
{
	struct abi_calls *c = calls_file_make(dir, name);

	if (!c)
		return false;
	if (copy(c, old) && mremap(c, CALLS_FILE_BYTES, CALLS_FILE_BYTES,
				   MREMAP_MAYMOVE | MREMAP_FIXED, old) == old)
		return true;
	munmap(c, CALLS_FILE_BYTES);
	unlinkat(dir, name, 0);
	return false;
}
