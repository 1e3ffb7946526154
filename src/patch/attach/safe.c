/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/safe.c - may this thread load a library now?
 *
 * The other threads run meanwhile, so a lock that one of them holds is only waited for.  A lock
 * that this thread itself holds would never be released.  So its call stack is read, by the unwind
 * tables of its files, and no frame may lie in the dynamic linker, in an allocator, in fork or in
 * libduet.  A stack that cannot be read to its end is not trusted: another thread or another moment
 * is tried.
 *
 * A thread in a restartable sequence is not safe either: the kernel would forget the sequence, and
 * the thread would continue inside it unprotected.
 */
#include "patch/attach/internal.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FRAMES_MAX = 10000, CODE_64 = 0x33, RSEQ_CONFIGURATION = 0x420f };

struct safe {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
};

/* ---------------------------------------------------------------- files */

/* libdw's callback has no argument for it.  One process attaches to one process. */
static const struct target *looked_at;

static int open_mapped(uint64_t base, const char *name)
{
	const struct map *m = maps_find(&looked_at->maps, base);
	char path[4200];
	int fd = -1;

	if (m) {
		snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)looked_at->pid,
			 (unsigned long)m->begin, (unsigned long)m->end);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)looked_at->pid, name);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The file that is mapped, in the process's mount namespace, also if it was replaced since. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	if (*name != '/')
		return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
	return open_mapped(base, name);
}

/* Unwind tables are in the file itself.  The default would search, even over the network. */
static int find_no_debug(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc, char **debug)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*debug = NULL;
	return -1;
}

static bool report(struct safe *s, pid_t pid)
{
	return !dwfl_linux_proc_report(s->dwfl, pid) && !dwfl_report_end(s->dwfl, NULL, NULL) &&
	       !dwfl_linux_proc_attach(s->dwfl, pid, true);
}

struct safe *safe_open(const struct target *t)
{
	struct safe *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	looked_at = t;
	s->callbacks = (Dwfl_Callbacks){ .find_elf = find_elf, .find_debuginfo = find_no_debug };
	s->dwfl = dwfl_begin(&s->callbacks);
	if (s->dwfl && report(s, t->pid))
		return s;
	safe_close(s);
	return NULL;
}

void safe_close(struct safe *s)
{
	if (!s)
		return;
	dwfl_end(s->dwfl);
	free(s);
}

/* ---------------------------------------------------------------- frames */

/* Functions that hold a lock which dlopen or libduet takes, by any allocator's names. */
static bool may_hold_locks(const char *name)
{
	static const char *const names[] = { "malloc",
					     "calloc",
					     "realloc",
					     "reallocarray",
					     "free",
					     "cfree",
					     "memalign",
					     "aligned_alloc",
					     "posix_memalign",
					     "valloc",
					     "pvalloc",
					     "malloc_trim",
					     "malloc_info",
					     "malloc_stats",
					     "malloc_usable_size",
					     "mallinfo",
					     "mallinfo2",
					     "mallopt",
					     "sdallocx",
					     "rallocx",
					     "xallocx",
					     "mallocx",
					     "dallocx",
					     "fork",
					     "_Fork",
					     "vfork",
					     "pthread_create",
					     "pthread_atfork",
					     "__register_atfork",
					     "__cxa_atexit",
					     "__cxa_finalize",
					     "exit",
					     "quick_exit",
					     "setenv",
					     "unsetenv",
					     "putenv",
					     "clearenv",
					     "dl_iterate_phdr",
					     "_dl_find_object",
					     "dlopen",
					     "dlmopen",
					     "dlclose",
					     "dlsym",
					     "dlvsym",
					     "dladdr",
					     "dladdr1",
					     "dlinfo",
					     "dlerror",
					     "__tls_get_addr" };
	static const char *const prefixes[] = { "_Znw",
						"_Zna",
						"_Zdl",
						"_Zda",
						"__libc_dl",
						"__libc_fork",
						"__libc_malloc",
						"__libc_calloc",
						"__libc_realloc",
						"__libc_free",
						"__libc_memalign",
						"__libc_valloc",
						"__libc_pvalloc",
						"tc_",
						"je_",
						"mi_",
						"_int_malloc",
						"_dl_",
						"duet_" };

	/* Every thread stands in one of these. */
	if (!strcmp(name, "__libc_start_main") || !strcmp(name, "__libc_start_call_main"))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

struct walk {
	const struct target *t;
	Dwfl *dwfl;
	unsigned n;
	bool is_safe;
};

static bool is_in(const struct target *t, uint64_t pc, uint64_t base)
{
	const struct map *m = maps_find(&t->maps, pc), *object = maps_find(&t->maps, base);

	return m && object && *object->path && !strcmp(m->path, object->path);
}

static int see_frame(Dwfl_Frame *frame, void *arg)
{
	struct walk *w = arg;
	Dwfl_Module *module;
	const char *name;
	bool is_exact;
	Dwarf_Addr pc;

	w->is_safe = false;
	if (w->n++ == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	pc -= is_exact ? 0 : 1;
	if (is_in(w->t, pc, w->t->ld_so) || (w->t->duet && is_in(w->t, pc, w->t->duet)))
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(w->dwfl, pc);
	name = module ? dwfl_module_addrname(module, pc) : NULL;
	if (name && may_hold_locks(name))
		return DWARF_CB_ABORT;
	w->is_safe = true;
	return DWARF_CB_OK;
}

/* ---------------------------------------------------------------- registers */

struct rseq_configuration {
	uint64_t area;
	uint32_t bytes, signature, flags, pad;
};

/* Position of the pointer in struct rseq, and of the bounds in struct rseq_cs: linux/rseq.h. */
enum { RSEQ_CS_AT = 8 };
struct sequence {
	uint32_t version, flags;
	uint64_t begin, bytes, abort;
};

static bool is_in_sequence(const struct target *t, pid_t tid, uint64_t pc)
{
	struct rseq_configuration c = { 0 };
	struct sequence s;
	uint64_t at;

	if (ptrace((enum __ptrace_request)RSEQ_CONFIGURATION, tid, sizeof c, &c) <= 0 || !c.area)
		return false;
	if (!memory_read(t->mem, c.area + RSEQ_CS_AT, &at, sizeof at) || !at)
		return false;
	return !memory_read(t->mem, at, &s, sizeof s) || pc - s.begin < s.bytes;
}

bool safe_thread(struct safe *s, const struct target *t, const struct thread *h)
{
	struct walk w = { .t = t, .dwfl = s->dwfl };
	struct user_regs_struct r;

	if (h->state != THREAD_STOPPED || h->signal || !thread_registers(h, &r) ||
	    r.cs != CODE_64 || is_in_sequence(t, h->tid, r.rip))
		return false;
	return !dwfl_getthread_frames(s->dwfl, h->tid, see_frame, &w) && w.is_safe;
}

/* ---------------------------------------------------------------- locks of the linker */

/* pthread_mutex_t of glibc on x86-64. */
struct mutex {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
	int32_t spins;
	uint64_t previous, next;
};

static bool is_recursive(const struct mutex *m)
{
	return m->kind == 1 && m->lock >= 0 && m->lock <= 2 && !m->spins && !m->previous &&
	       !m->next;
}

/* The linker's locks lie side by side in _rtld_global, two or three of them.  Their place is not in
 * any table: they are known by their kind.  If they are not found, nothing is known about them. */
bool safe_linker_is_free(const struct target *t, pid_t but)
{
	uint8_t bytes[8192];
	size_t size = t->at.rtld_global_bytes;
	struct mutex m[2];

	if (!t->at.rtld_global || size > sizeof bytes ||
	    !memory_read(t->mem, t->at.rtld_global, bytes, size))
		return true;
	for (size_t at = 0; at + sizeof m <= size; at += 8) {
		memcpy(m, bytes + at, sizeof m);
		if (!is_recursive(&m[0]) || !is_recursive(&m[1]))
			continue;
		for (unsigned i = 0; i < 2; i++)
			if (m[i].lock && m[i].owner != but)
				return false;
	}
	return true;
}

/* ---------------------------------------------------------------- order */

/* Lower is better.  Threads that wait for input hold no lock.  A wait with a duration begins anew
 * if we are killed in the middle, and pause would: so these come later. */
static int rank_of_call(long call)
{
	switch (call) {
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
		return 0;
	case SYS_futex:
		return 1;
	case SYS_poll:
	case SYS_select:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return 2;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return 3;
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		return 6;
	default:
		return 5;
	}
}

static int rank(pid_t pid, pid_t tid)
{
	char path[64], text[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 5;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return *text >= '0' && *text <= '9' ? rank_of_call(strtol(text, NULL, 10)) : 4;
}

struct ranked {
	int rank;
	pid_t tid;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->rank != y->rank ? x->rank - y->rank : (x->tid > y->tid) - (x->tid < y->tid);
}

void safe_order(pid_t pid, pid_t *tids, size_t n)
{
	struct ranked *r = malloc(n * sizeof *r);

	if (!r)
		return;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ rank(pid, tids[i]), tids[i] };
	qsort(r, n, sizeof *r, compare_ranks);
	for (size_t i = 0; i < n; i++)
		tids[i] = r[i].tid;
	free(r);
}
