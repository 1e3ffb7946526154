/* SPDX-License-Identifier: MIT */
/*
 * inproc/page.c - create, copy and extend the control page.
 *
 * Every program with a site pays for this when it starts, so each step counts:
 * docs/design/inproc.md, "Start".  Memory that is not reserved is never written: a file system may
 * be full, and a store into the mapping then raises SIGBUS.
 */
#include "inproc/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"

enum { PAGE_BYTES = 4096 };
#define NO_PROC (1u << 31) /* above the numbers of all /proc */

/* Does not call libc's function: that reads the time stamp counter, which may be forbidden from the
 * start. */
static uint64_t boottime_ns(void)
{
	struct timespec t = { 0 };

	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Without /proc the page takes a number that no /proc has, and that no other process will take. */
static void name_page(char name[ABI_PAGE_NAME_BYTES])
{
	struct runtime_self self = runtime_self();
	char pid[DECIMAL_BYTES], proc[DECIMAL_BYTES];

	if (!self.pid) {
		self.pid = (uint32_t)syscall(SYS_getpid);
		self.proc = (uint32_t)(boottime_ns() / 1000) | NO_PROC;
	}
	compose(name, ABI_PAGE_NAME_BYTES, "app-", decimal(pid, self.pid), "-",
		decimal(proc, self.proc), NULL);
}

enum { SESSION_SLOTS_BYTES = sizeof((struct abi_control *)0)->session_slots };

/* Keeps the losses that the page in the way counts: no collector has read them yet. */
static void read_losses(int dir, const char *name,
			struct abi_control_slot session_slots[ABI_SESSION_SLOTS])
{
	int fd = (int)syscall(SYS_openat, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			      0);

	if (fd < 0)
		return;
	if (syscall(SYS_pread64, fd, session_slots, SESSION_SLOTS_BYTES,
		    (off_t)offsetof(struct abi_control, session_slots)) !=
	    (ssize_t)SESSION_SLOTS_BYTES)
		memset(session_slots, 0, SESSION_SLOTS_BYTES);
	syscall(SYS_close, fd);
}

/* The program that exec replaced, or a dead process of the same name, left a page file in the
 * way. */
static int create_file(int dir, const char *name,
		       struct abi_control_slot session_slots[ABI_SESSION_SLOTS])
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = (int)syscall(SYS_openat, dir, name, flags, 0600);
	struct stat st;

	if (fd < 0 && errno == EEXIST) {
		read_losses(dir, name, session_slots);
		unlinkat(dir, name, 0);
		fd = (int)syscall(SYS_openat, dir, name, flags, 0600);
	}
	if (fd >= 0 && !syscall(SYS_fstat, fd, &st) && (st.st_mode & 0777) != 0600)
		syscall(SYS_fchmod, fd, 0600); /* an unusual umask */
	return fd;
}

/*
 * The page is locked as long as any process maps it.  The lock belongs to the open file, which
 * mappings keep, also those that children inherit.  So one query shows whether it is in use, in any
 * pid namespace.  A page without a lock would be taken for a dead one.
 */
static bool lock_file(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !syscall(SYS_fcntl, fd, F_OFD_SETLK, &whole);
}

/* `ulimit -f`: beyond it ftruncate does not just fail, it kills. */
static bool may_have_file(uint64_t size)
{
	struct rlimit limit;

	return !syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) && limit.rlim_cur >= size;
}

/* The first page gets its memory through the mapping, which is cheaper than by a write.  Kernels before
 * 5.14 and some sandboxes refuse that.  Core dumps leave out mapped files that have a name, so nothing is said about
 * them here. */
static struct abi_control *map_file(int fd)
{
	struct abi_control *c;

	if (syscall(SYS_ftruncate, fd, (off_t)ABI_CONTROL_BYTES))
		return NULL;
	c = mmap(NULL, ABI_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		return NULL;
	if (!madvise(c, PAGE_BYTES, MADV_POPULATE_WRITE) ||
	    syscall(SYS_pwrite64, fd, "", 1, (off_t)0) == 1)
		return c;
	munmap(c, ABI_CONTROL_BYTES);
	return NULL;
}

/* Before libc is initialised it does not know the name; the kernel does, in 15 characters. */
void page_program(char program[ABI_NAME_BYTES])
{
	compose(program, ABI_NAME_BYTES, program_invocation_short_name, NULL);
	if (!*program)
		syscall(SYS_prctl, PR_GET_NAME, program, 0, 0, 0);
}

void page_publish(struct abi_control *c)
{
	c->version = ABI_CONTROL_VERSION;
	c->pid = process.pid;
	c->registered_ns = boottime_ns();
	page_program(c->program);
	memcpy(c->sessions, process.sessions_named, sizeof c->sessions);
	store_release(&c->magic, ABI_CONTROL_MAGIC);
}

struct abi_control *page_create(int dir, char name[ABI_PAGE_NAME_BYTES])
{
	struct abi_control *c;
	struct abi_control_slot session_slots[ABI_SESSION_SLOTS] = { { 0 } };
	int fd;

	if (!may_have_file(ABI_CONTROL_BYTES))
		return NULL;
	name_page(name);
	fd = create_file(dir, name, session_slots);
	if (fd < 0)
		return NULL;
	c = lock_file(fd) ? map_file(fd) : NULL;
	syscall(SYS_close, fd);
	if (!c) {
		unlinkat(dir, name, 0);
		return NULL;
	}
	memcpy(c->session_slots, session_slots, sizeof session_slots);
	c->text_end = offsetof(struct abi_control, text);
	return c;
}

void page_remove(const char *name)
{
	char path[512];

	if (runtime_file(path, sizeof path, name))
		unlink(path);
}

bool page_replace(struct abi_control *old, struct abi_control *c)
{
	return mremap(c, ABI_CONTROL_BYTES, ABI_CONTROL_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		      old) == old;
}

void page_drop(struct abi_control *c, const char *name)
{
	page_remove(name);
	munmap(c, ABI_CONTROL_BYTES);
}

/* Reserves memory for the bytes from @begin to @end of the page. */
static bool reserve(struct abi_control *c, uint32_t begin, uint32_t end)
{
	begin &= ~(uint32_t)(PAGE_BYTES - 1);
	return end <= begin || runtime_reserve((char *)c + begin, end - begin);
}

/* The same for bytes that follow others in an area: if @begin is not at the start of a page, that
 * page is reserved already. */
static bool reserve_next(struct abi_control *c, uint32_t begin, uint32_t end)
{
	return reserve(c, (begin + PAGE_BYTES - 1) & ~(uint32_t)(PAGE_BYTES - 1), end);
}

bool page_copy(struct abi_control *to, const struct abi_control *from)
{
	uint32_t n = load_acquire(&from->n_events), text = load(&from->text_end);
	uint32_t first = offsetof(struct abi_control, events), lines;

	if (n > ABI_EVENTS || text < first || text > ABI_CONTROL_BYTES)
		return false;
	lines = abi_control_event_offset(n) > sizeof *to ? abi_control_event_offset(n) : sizeof *to;
	if (!reserve(to, sizeof *to, lines) || !reserve(to, ABI_CONTROL_TEXT_OFFSET, text))
		return false;
	memcpy((char *)to + first, (const char *)from + first, lines - first);
	if (text > ABI_CONTROL_TEXT_OFFSET)
		memcpy((char *)to + ABI_CONTROL_TEXT_OFFSET,
		       (const char *)from + ABI_CONTROL_TEXT_OFFSET,
		       text - ABI_CONTROL_TEXT_OFFSET);
	for (uint32_t i = 0; i < ABI_SESSION_SLOTS; i++)
		to->session_slots[i].epoch = load(&from->session_slots[i].epoch);
	to->text_end = text;
	to->n_refused = from->n_refused;
	store_release(&to->n_events, n);
	return true;
}

static int find_event(struct abi_control *c, uint32_t n, const char *schema, size_t size)
{
	for (uint32_t i = 0; i < n && i < ABI_EVENTS; i++) {
		uint32_t its_size;
		const char *its = page_schema(c, page_event(c, i), &its_size);

		if (its && its_size == size && !memcmp(its, schema, size))
			return (int)i;
	}
	return -1;
}

/* The offset for @size bytes of text; 0 if they do not fit. */
static uint32_t text_offset(struct abi_control *c, size_t size)
{
	uint32_t at = load(&c->text_end);

	if (at <= sizeof *c && size > sizeof *c - at)
		at = ABI_CONTROL_TEXT_OFFSET;
	if (at < offsetof(struct abi_control, text) ||
	    (at > sizeof *c && at < ABI_CONTROL_TEXT_OFFSET) || at > ABI_CONTROL_BYTES - size ||
	    !reserve_next(c, at, at + (uint32_t)size))
		return 0;
	return at;
}

int page_add_event(struct abi_control *c, const char *schema, size_t size)
{
	uint32_t n = load(&c->n_events), line, at;
	int i = find_event(c, n, schema, size);

	if (i >= 0)
		return i;
	if (n >= ABI_EVENTS)
		return -1;
	line = abi_control_event_offset(n);
	at = text_offset(c, size);
	if (!at || !reserve_next(c, line, line + (uint32_t)sizeof(struct abi_control_event)))
		return -1;
	memcpy((char *)c + at, schema, size);
	*page_event(c, n) =
		(struct abi_control_event){ .schema = at, .schema_size = (uint32_t)size };
	c->text_end = at + (uint32_t)size;
	store_release(&c->n_events, n + 1);
	return (int)n;
}
