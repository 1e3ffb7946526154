/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/world.c - all threads stopped, none of them inside bytes that are to be replaced.
 *
 * Threads appear while others are being stopped, so /proc/PID/task is read until it holds no new
 * one.  A thread in uninterruptible sleep, as the parent of a vfork, may not stop in time: then all
 * continue, and the caller tries again.
 *
 * A thread inside such bytes is let run for a moment and stopped again, until it has left them.
 * Single steps would do it for certain, but each ends with a signal that kills the process if we
 * are killed just then.
 *
 * Return addresses never lie inside a window, since windows hold no calls.  But a signal handler
 * may return into one: signal frames are looked for on each stack, by their return address.
 */
#include "patch/attach/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <ucontext.h>

enum {
	STOP_MS = 40,  /* for all threads */
	SOON_US = 200, /* for one, before the next one is asked */
	NUDGES = 200,
	STACK_BYTES = 1 << 20, /* looked through for signal frames */
};

static bool is_known(const struct world *w, pid_t tid, pid_t guest)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->threads[i].tid == tid)
			return true;
	return tid == guest;
}

/* The letter of proc(5); 0: there is no such thread. */
static char state_of(pid_t pid, pid_t tid)
{
	char path[64], text[512], *end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

/* A thread that has ended runs no code.  Its leader stays as a zombie while others live. */
static bool has_ended(char state)
{
	return !state || state == 'Z' || state == 'X';
}

bool world_keep(struct world *w, const struct thread *h)
{
	struct thread *grown;

	if (w->n == w->capacity) {
		w->capacity = w->capacity ? 2 * w->capacity : 64;
		grown = realloc(w->threads, w->capacity * sizeof *grown);
		if (!grown)
			return false;
		w->threads = grown;
	}
	w->threads[w->n++] = *h;
	return true;
}

/* A blocked thread stops at once; thread.c says why it is waited for here. */
static bool ask(struct world *w, pid_t pid, pid_t tid)
{
	char state = state_of(pid, tid);
	struct thread h;

	if (thread_seize(&h, tid))
		return has_ended(state_of(pid, tid));
	if (state == 'S')
		thread_wait(&h, monotonic_ns() + SOON_US * 1000);
	return world_keep(w, &h);
}

/* Asks all threads that are new.  Their number, or -errno. */
static int ask_new(struct world *w, const struct target *t, pid_t guest)
{
	struct dirent *e;
	char path[64];
	int found = 0;
	pid_t tid;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (found >= 0 && (e = readdir(d))) {
		tid = (pid_t)strtol(e->d_name, NULL, 10);
		if (tid <= 0 || is_known(w, tid, guest))
			continue;
		found = ask(w, t->pid, tid) ? found + 1 : -EAGAIN;
	}
	closedir(d);
	return found;
}

static bool all_stopped(struct world *w, uint64_t until_ns)
{
	for (size_t i = 0; i < w->n; i++)
		if (!thread_wait(&w->threads[i], until_ns))
			return false;
	return true;
}

/* ---------------------------------------------------------------- windows */

/* Whether a handler of the thread will return into a window. */
static bool returns_into(const struct target *t, const struct windows *w, uint64_t rsp)
{
	const struct map *m = maps_find(&t->maps, rsp);
	size_t size, words;
	uint64_t *stack;
	bool found = false;

	if (!m || !w->n)
		return false;
	size = (size_t)(m->end - rsp) & ~(size_t)7;
	size = size < STACK_BYTES ? size : STACK_BYTES;
	stack = malloc(size + 8);
	if (!stack || !memory_read(t->mem, rsp, stack, size)) {
		free(stack);
		return true; /* unknown */
	}
	words = size / 8;
	for (size_t i = 0; i < words && !found; i++) {
		size_t rip = i + 1 + offsetof(ucontext_t, uc_mcontext.gregs) / 8 + REG_RIP;

		found = stack[i] == t->at.sigreturn && rip < words && windows_hold(w, stack[rip]);
	}
	free(stack);
	return found;
}

/* libduet may hold its lock there, or be at work on a stub. */
static bool is_in_libduet(const struct target *t, uint64_t rip)
{
	const struct map *m = maps_find(&t->maps, rip), *duet = maps_find(&t->maps, t->duet);

	return m && duet && !strcmp(m->path, duet->path);
}

bool world_is_clear(const struct target *t, const struct windows *w,
		    const struct user_regs_struct *r)
{
	/* The kernel may repeat the `syscall` instruction, two bytes earlier. */
	return !windows_hold(w, r->rip) &&
	       ((int64_t)r->orig_rax < 0 || !windows_hold(w, r->rip - 2)) &&
	       !is_in_libduet(t, r->rip) && !returns_into(t, w, r->rsp);
}

static bool is_clear(const struct target *t, const struct windows *w, const struct thread *h)
{
	struct user_regs_struct r;

	return thread_registers(h, &r) && world_is_clear(t, w, &r);
}

/* Lets a thread run until it has left the windows.  False: it stays. */
static bool lead_out(struct target *t, const struct windows *windows, struct thread *h,
		     uint64_t until_ns)
{
	for (unsigned i = 0; i < NUDGES; i++) {
		if (h->state == THREAD_GONE || is_clear(t, windows, h)) {
			t->r->n_stepped += i > 0;
			return true;
		}
		thread_go(h);
		thread_ask(h);
		if (!thread_wait(h, until_ns) || monotonic_ns() > until_ns)
			return false;
	}
	return false;
}

/* ---------------------------------------------------------------- all together */

static int stop_all(struct world *w, struct target *t, const struct windows *windows, pid_t guest)
{
	uint64_t until = monotonic_ns() + STOP_MS * 1000000ull;
	int new;

	do {
		new = ask_new(w, t, guest);
		if (new < 0 || !all_stopped(w, until))
			return new < 0 ? new : -EAGAIN;
		for (size_t i = 0; i < w->n; i++)
			if (!lead_out(t, windows, &w->threads[i], until))
				return -EAGAIN;
	} while (new);
	return safe_linker_is_free(t, guest) ? 0 : -EAGAIN;
}

int world_stop(struct world *w, struct target *t, const struct windows *windows,
	       const struct thread *guest)
{
	int err = stop_all(w, t, windows, guest->tid);

	if (err)
		world_go(w);
	return err;
}

/* Threads that did not stop yet are traced still: they are waited for, without holding others. */
void world_go(struct world *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->n; i++)
		thread_leave(&w->threads[i]);
	for (size_t i = 0; i < w->n; i++)
		if (w->threads[i].state == THREAD_ASKED)
			w->threads[left++] = w->threads[i];
	w->n = left;
}

void world_release(struct world *w)
{
	all_stopped(w, 0);
	world_go(w);
}

void world_fini(struct world *w)
{
	world_release(w);
	free(w->threads);
	*w = (struct world){ 0 };
}
