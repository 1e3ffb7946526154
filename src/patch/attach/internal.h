/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/internal.h - shared by the files of this room.
 *
 *   memory.c   the process's mappings, memory, and exported symbols
 *   check.c    may we attach?
 *   thread.c   one thread stopped by ptrace, and continued as if nothing had happened
 *   safe.c     may this thread make a call of ours now?
 *   frame.c    the signal frame that brings a thread back
 *   guest.c    a call on a thread of the process
 *   windows.c  bytes that the plans replace
 *   world.c    all threads stopped, none of them in such bytes
 *   attach.c   the order of all that
 */
#ifndef PATCH_ATTACH_INTERNAL_H
#define PATCH_ATTACH_INTERNAL_H

#include <signal.h>
#include <stddef.h>
#include <sys/user.h>

#include "base/monotonic.h"
#include "patch/attach/attach.h"

/* ---------------------------------------------------------------- memory.c */

enum { MAP_READ = 1, MAP_WRITE = 2, MAP_EXECUTE = 4 };

struct map {
	uint64_t begin, end, offset;
	uint32_t prot; /* MAP_... */
	char *path;    /* "" if it has none */
};

struct maps {
	struct map *at;
	size_t n;
};

/* maps_read - the mappings of a process, ascending.  -errno if /proc does not show them. */
int maps_read(struct maps *m, pid_t pid);
void maps_fini(struct maps *m);

/* maps_find - the mapping that holds @address; NULL: none. */
const struct map *maps_find(const struct maps *m, uint64_t address);

/* maps_object - the first mapping of a file whose last component is @name, or @name and a dot and
 * more (libc.so.6, libc.so.6.1; not libc.so.60).  NULL: there is none. */
const struct map *maps_object(const struct maps *m, const char *name);

/* memory_read, memory_write - all bytes, through /proc/PID/mem; false: not all of them. */
bool memory_read(int mem, uint64_t address, void *bytes, size_t size);
bool memory_write(int mem, uint64_t address, const void *bytes, size_t size);

/* image_symbol - the address of an exported symbol of the ELF object loaded at @base, and its size
 * (@size may be NULL).  0: it has none.  Reads the process's memory, not the file: that may have
 * been replaced. */
uint64_t image_symbol(int mem, uint64_t base, const char *name, uint64_t *size);

/* image_build_id - bytes of the object's build ID, at most @size; 0: it has none. */
size_t image_build_id(int mem, uint64_t base, uint8_t *id, size_t size);

/* image_bias - the number added to the object's own addresses; false: it is no ELF object. */
bool image_bias(int mem, uint64_t base, uint64_t *bias);

/* ---------------------------------------------------------------- the process */

struct target {
	pid_t pid;
	int mem; /* /proc/PID/mem */
	const struct attach_options *o;
	struct attach_result *r;
	struct diag *d;
	uint64_t deadline_ns;
	struct maps maps;
	uint64_t libc, ld_so; /* where they are loaded */
	uint64_t duet;	      /* libduet; 0: it is not loaded */
	struct {
		uint64_t mmap, mprotect, munmap, errno_location, sigreturn;
		uint64_t dlopen, dlerror;
		uint64_t rtld_global, rtld_global_bytes;
	} at;
};

/* target_look - read the mappings again, and find libc, ld.so and libduet. */
int target_look(struct target *t);

/* ---------------------------------------------------------------- thread.c */

struct thread {
	pid_t tid;
	enum { THREAD_RUNS, THREAD_ASKED, THREAD_STOPPED, THREAD_GONE } state;
	int signal; /* taken by the stop, and given back when the thread continues */
};

/* thread_seize - become its tracer and ask it to stop.  0, -ESRCH, -EPERM. */
int thread_seize(struct thread *h, pid_t tid);

/* thread_reap - a signal handler: while thread_seize() waits, reap threads of ours that ended. */
void thread_reap(int number);

/* thread_ask - ask a thread that we trace to stop. */
void thread_ask(struct thread *h);

/* thread_wait - wait until it has stopped or is gone; false: not by @until_ns. */
bool thread_wait(struct thread *h, uint64_t until_ns);

/* thread_soften - a call that a stop ended with EINTR is repeated, unless a handler runs.
 * thread_wait() does it. */
void thread_soften(const struct thread *h);

/* thread_go - let it run, still traced, with its signal. */
void thread_go(struct thread *h);

/* thread_leave - end tracing.  A thread that has not stopped is left at the end of our process. */
void thread_leave(struct thread *h);

bool thread_registers(const struct thread *h, struct user_regs_struct *r);

/* thread_wait_status - the next status of a thread that runs; false: none by @until_ns, or it is
 * gone. */
bool thread_wait_status(struct thread *h, int *status, uint64_t until_ns);

/* ---------------------------------------------------------------- safe.c */

/* safe_open - knowledge about the process's code; NULL: no memory. */
struct safe *safe_open(const struct target *t);
void safe_close(struct safe *s); /* accepts NULL */

/* safe_thread - whether a stopped thread may load a library now: it is not inside an allocator, the
 * dynamic linker, fork, or libduet; and it can be continued exactly. */
bool safe_thread(struct safe *s, const struct target *t, const struct thread *h);

/* safe_linker_is_free - whether no thread holds a lock of the dynamic linker. */
bool safe_linker_is_free(const struct target *t, pid_t but);

/* safe_order - sort threads, those first that are most likely to be safe. */
void safe_order(pid_t pid, pid_t *tids, size_t n);

/* ---------------------------------------------------------------- frame.c */

enum { FRAME_VECTORS_LEAST = 576, FRAME_VECTORS_MAX = 16384 };

/* Where a thread was stopped: all that it needs to continue. */
struct frame {
	struct user_regs_struct registers;  /* as the kernel resumes them */
	uint64_t mask;			    /* signals */
	uint8_t vectors[FRAME_VECTORS_MAX]; /* NT_X86_XSTATE */
	size_t vectors_bytes;
};

/* frame_write - put it into the process's memory: the context with which rt_sigreturn is called,
 * and the vector state, aligned to 64.  False: that memory cannot be written. */
bool frame_write(const struct frame *f, int mem, uint64_t context_at, uint64_t vectors_at);

/* ---------------------------------------------------------------- guest.c */

struct guest;

/* guest_begin - prepare a stopped thread for calls.  NULL with the reason in t->d: nothing has
 * happened to the thread. */
struct guest *guest_begin(struct target *t, struct thread *h);

/* guest_text - put a text where the call can read it; its address. */
uint64_t guest_text(struct guest *g, const char *text);

/* guest_call - call @function in the process; its result in *result.  0, or a negative errno with
 * the reason in t->d: -ETIMEDOUT, -EFAULT, -ECHILD. */
int guest_call(struct guest *g, uint64_t function, const uint64_t arguments[3], uint64_t *result,
	       uint64_t until_ns);

/* guest_registers - where the thread will continue. */
const struct user_regs_struct *guest_registers(const struct guest *g);

/* guest_end - the thread is stopped where it was before guest_begin.  -ECHILD if it is gone. */
int guest_end(struct guest *g);

/* ---------------------------------------------------------------- windows.c */

struct windows {
	struct window {
		uint64_t begin, end; /* a thread may stand at begin, not between */
	} * at;
	size_t n;
};

/* windows_read - those of all plans in the process's runtime directory. */
int windows_read(struct windows *w, const struct target *t);
void windows_fini(struct windows *w);
bool windows_hold(const struct windows *w, uint64_t address);

/* ---------------------------------------------------------------- world.c */

struct world {
	struct thread *threads;
	size_t n, capacity;
};

/*
 * world_stop - stop all threads of the process but @guest, which is stopped.
 *
 * When it returns 0, no thread stands in a window, and none will return into one from a signal
 * handler.  -EAGAIN: not now; all run.
 */
int world_stop(struct world *w, struct target *t, const struct windows *windows,
	       const struct thread *guest);
/* world_is_clear - whether a thread with these registers neither stands in a window or in libduet,
 * nor returns into a window from a signal handler. */
bool world_is_clear(const struct target *t, const struct windows *w,
		    const struct user_regs_struct *r);
/* world_keep - a thread that we trace, and that has not stopped in time, is left when it does. */
bool world_keep(struct world *w, const struct thread *h);
void world_go(struct world *w); /* all run, untraced; those that did not stop in time are kept */
void world_release(struct world *w); /* leaves those that have stopped since */
void world_fini(struct world *w);

#endif
