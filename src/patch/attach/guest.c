/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/guest.c - a call on a thread of the process, which finds its own way back.
 *
 * A signal frame with the thread's registers, vector state and signal mask is written into the
 * process first.  Then one PTRACE_SETREGS makes the thread run the call; it returns to
 * rt_sigreturn with that frame.  So whenever we are killed, the thread either has not begun, or
 * ends the call and continues where it was.  If we live, we stop it just before rt_sigreturn and
 * put the registers back ourselves: only that way is a wait with a timeout resumed exactly.
 *
 *   on the thread's stack, below the red zone   a frame, for mmap, mprotect and munmap
 *   in an area that mmap made: code             landing, below; not writable any more
 *                              job              function, arguments, result
 *                              frame            the same again
 *                              stack            for the call: the thread's own may be small
 *
 * Signals are blocked during the call, but not those of faults: the kernel would kill the process
 * instead of reporting them to us.
 */
#include "patch/attach/internal.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	RED_ZONE = 128,
	PAGE = 4096,
	AREA_BYTES = 512 << 10,
	JOB_AT = PAGE,
	CONTEXT_AT = JOB_AT + 256,
	VECTORS_AT = JOB_AT + 2048,
	TEXTS_AT = JOB_AT + 20480,
	TEXTS_BYTES = 16384,
	CALL_MS = 2000, /* for a system call that does not wait, on a busy machine */
};

/* What the landing reads, rbx being its address. */
struct job {
	uint64_t is_done;
	uint64_t errno_location, function, arguments[3], result;
	uint64_t context; /* rt_sigreturn's stack pointer */
};
_Static_assert(offsetof(struct job, context) == 56, "the landing knows it");

/* The landing spins for some 10 to 50 ms after the call, so that we can stop it there.  sched_yield
 * would take a second for each 300 rounds on a busy machine. */
extern const uint8_t attach_landing[], attach_landing_end[];
__asm__(".pushsection .rodata\n"
	"attach_landing:\n"
	"	call *8(%rbx)\n"
	"	mov (%rax), %r12d\n"
	"	mov %rax, %r13\n"
	"	mov 24(%rbx), %rdi\n"
	"	mov 32(%rbx), %rsi\n"
	"	mov 40(%rbx), %rdx\n"
	"	call *16(%rbx)\n"
	"	mov %r12d, (%r13)\n"
	"	mov %rax, 48(%rbx)\n"
	"	movl $1, (%rbx)\n"
	"	mov $1000000, %ebp\n"
	"1:	pause\n"
	"	dec %ebp\n"
	"	jnz 1b\n"
	"	mov 56(%rbx), %rsp\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	"attach_landing_end:\n"
	".popsection\n");

struct guest {
	struct target *t;
	struct thread *h;
	struct frame before;
	uint64_t stack; /* entry stack pointer of calls on the thread's own stack */
	uint64_t area;	/* 0: none */
	uint64_t texts; /* bytes used */
	uint64_t held;	/* signals taken from the thread, as a mask */
	bool is_back;	/* it has returned by itself */
};

/* ---------------------------------------------------------------- the frame */

/* [stack] the address of rt_sigreturn, which pops it; [stack + 8] its frame. */
static bool write_stack(struct guest *g)
{
	uint64_t vectors =
		(g->before.registers.rsp - RED_ZONE - g->before.vectors_bytes - 64) & ~63ull;
	uint64_t context = (vectors - sizeof(ucontext_t)) & ~15ull;
	const struct map *m = maps_find(&g->t->maps, g->before.registers.rsp - 1);

	g->stack = context - 8;
	/* Calls there need some bytes below, and the guard of the stack is not far. */
	if (!m || !(m->prot & MAP_WRITE) ||
	    g->before.registers.rsp - m->begin < RED_ZONE + 2 * PAGE || g->stack < m->begin + PAGE)
		return false;
	return frame_write(&g->before, g->t->mem, context, vectors) &&
	       memory_write(g->t->mem, g->stack, &g->t->at.sigreturn, 8);
}

/* ---------------------------------------------------------------- the thread */

/* All signals but those of faults. */
static uint64_t mask_of_calls(void)
{
	return ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
		 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1));
}

/* In this order: a thread without its signals must already be on its way to the frame. */
static bool set_off(struct guest *g, const struct user_regs_struct *r)
{
	uint64_t mask = mask_of_calls();

	return !ptrace(PTRACE_SETREGS, g->h->tid, 0, r) &&
	       !ptrace(PTRACE_SETSIGMASK, g->h->tid, sizeof mask, &mask);
}

/* The thread is not touched again: whatever it is about to do, it finds its way back. */
static int gone(struct guest *g)
{
	bool has_ended = g->h->state == THREAD_GONE;

	g->h->state = THREAD_GONE;
	if (has_ended)
		return diag_fail(g->t->d, -ECHILD,
				 "process %d ended or replaced its program meanwhile",
				 (int)g->t->pid);
	return diag_fail(g->t->d, -ETIMEDOUT, "thread %d of process %d does not continue",
			 (int)g->h->tid, (int)g->t->pid);
}

/* A fault in the call, or such a signal from another process: that one is sent again later. */
static int fault(struct guest *g, int number)
{
	siginfo_t info;

	if (!ptrace(PTRACE_GETSIGINFO, g->h->tid, 0, &info) && info.si_code <= 0) {
		g->held |= 1ull << (number - 1);
		return 0;
	}
	return diag_fail(g->t->d, -EFAULT, "a call in process %d ended with signal %d: undone",
			 (int)g->t->pid, number);
}

enum stop { STOP_EVENT = 1, STOP_CALL = 2 };

/* Continue the thread until the stop that is @wanted.  With @request PTRACE_CONT it must have been
 * asked to stop. */
static int run_until(struct guest *g, int request, enum stop wanted)
{
	uint64_t until = monotonic_ns() + CALL_MS * 1000000ull;
	int status, err, number;

	for (;;) {
		if (ptrace(request, g->h->tid, 0, 0)) {
			g->h->state = THREAD_GONE;
			return gone(g);
		}
		if (!thread_wait_status(g->h, &status, until))
			return gone(g);
		number = WSTOPSIG(status);
		if (number == (SIGTRAP | 0x80)) {
			if (wanted == STOP_CALL)
				return 0;
		} else if (status >> 16) {
			if (wanted == STOP_EVENT)
				return 0;
		} else {
			err = fault(g, number);
			if (err)
				return err;
		}
	}
}

/* One of libc's thin functions around a system call, on the thread's own stack. */
static int call_on_stack(struct guest *g, uint64_t function, const uint64_t a[6], uint64_t *result)
{
	struct user_regs_struct r = g->before.registers;
	int err;

	if (!write_stack(g))
		return diag_fail(g->t->d, -EAGAIN,
				 "thread %d of process %d has no room on its stack", (int)g->h->tid,
				 (int)g->t->pid);
	r.rip = function;
	r.rsp = g->stack;
	r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.rcx = a[3], r.r8 = a[4], r.r9 = a[5];
	r.rax = 0;
	r.orig_rax = (uint64_t)-1;
	r.eflags = 0x202;
	if (!set_off(g, &r)) {
		g->h->state = THREAD_GONE;
		return gone(g);
	}
	err = run_until(g, PTRACE_SYSCALL, STOP_CALL); /* its beginning */
	err = err ? err : run_until(g, PTRACE_SYSCALL, STOP_CALL);
	if (err)
		return err;
	if (!thread_registers(g->h, &r)) {
		g->h->state = THREAD_GONE;
		return gone(g);
	}
	*result = r.rax;
	return 0;
}

/* Stopped where the kernel repeats calls, with all as it was. */
static int put_back(struct guest *g)
{
	struct iovec vectors = { g->before.vectors, g->before.vectors_bytes };
	int err = 0;

	if (!g->is_back) {
		thread_ask(g->h);
		err = g->h->state == THREAD_GONE ? gone(g) : run_until(g, PTRACE_CONT, STOP_EVENT);
	}
	if (g->h->state == THREAD_GONE)
		return err ? err : -ECHILD;
	/* After a fault too: the thread is stopped then. */
	if (!g->is_back &&
	    (ptrace(PTRACE_SETREGSET, g->h->tid, NT_X86_XSTATE, &vectors) ||
	     ptrace(PTRACE_SETSIGMASK, g->h->tid, sizeof g->before.mask, &g->before.mask) ||
	     ptrace(PTRACE_SETREGS, g->h->tid, 0, &g->before.registers))) {
		g->h->state = THREAD_GONE;
		return gone(g);
	}
	g->h->state = THREAD_STOPPED;
	for (int i = 1; i < 65; i++)
		if (g->held >> (i - 1) & 1)
			syscall(SYS_tgkill, g->t->pid, g->h->tid, i);
	return err;
}

/* ---------------------------------------------------------------- calls */

static bool save(struct guest *g)
{
	struct iovec vectors = { g->before.vectors, sizeof g->before.vectors };

	if (!thread_registers(g->h, &g->before.registers) ||
	    ptrace(PTRACE_GETSIGMASK, g->h->tid, sizeof g->before.mask, &g->before.mask) ||
	    ptrace(PTRACE_GETREGSET, g->h->tid, NT_X86_XSTATE, &vectors))
		return false;
	g->before.vectors_bytes = vectors.iov_len;
	return g->before.vectors_bytes >= FRAME_VECTORS_LEAST;
}

static bool write_area(struct guest *g)
{
	size_t code = (size_t)(attach_landing_end - attach_landing);

	return memory_write(g->t->mem, g->area, attach_landing, code) &&
	       frame_write(&g->before, g->t->mem, g->area + CONTEXT_AT, g->area + VECTORS_AT);
}

static int make_area(struct guest *g)
{
	const uint64_t map[6] = { 0,
				  AREA_BYTES,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				  (uint64_t)-1,
				  0 };
	uint64_t protect[6] = { 0, PAGE, PROT_READ | PROT_EXEC }, result;
	int err = call_on_stack(g, g->t->at.mmap, map, &result);

	if (err)
		return err;
	if (result > (uint64_t)-4096)
		return diag_fail(g->t->d, (int)result, "process %d gets no memory: mmap: %s",
				 (int)g->t->pid, strerror((int)-result));
	g->area = protect[0] = result;
	if (!write_area(g))
		return diag_fail(g->t->d, -EIO, "cannot write the memory of process %d",
				 (int)g->t->pid);
	err = call_on_stack(g, g->t->at.mprotect, protect, &result);
	if (!err && result)
		return diag_fail(g->t->d, (int)result,
				 "process %d may not have executable memory: mprotect: %s",
				 (int)g->t->pid, strerror((int)-result));
	return err;
}

struct guest *guest_begin(struct target *t, struct thread *h)
{
	struct guest *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	g->t = t;
	g->h = h;
	if (!save(g) || !write_stack(g)) {
		diag_fail(t->d, -EAGAIN, "thread %d of process %d cannot make a call", (int)h->tid,
			  (int)t->pid);
		free(g);
		return NULL;
	}
	if (!make_area(g))
		return g;
	guest_end(g);
	return NULL;
}

uint64_t guest_text(struct guest *g, const char *text)
{
	uint64_t at = g->area + TEXTS_AT + g->texts;
	size_t size = strlen(text) + 1;

	if (size > TEXTS_BYTES - g->texts || !memory_write(g->t->mem, at, text, size))
		return 0;
	g->texts += size;
	return at;
}

static bool is_done(const struct guest *g)
{
	uint64_t done = 0;

	return memory_read(g->t->mem, g->area + JOB_AT, &done, sizeof done) && done;
}

/* The call has returned: stop the thread in the landing.  If we come too late, it is back already. */
static int stop_in_landing(struct guest *g)
{
	struct user_regs_struct r;
	int status;

	thread_ask(g->h);
	while (g->h->state == THREAD_ASKED) {
		if (!thread_wait_status(g->h, &status, monotonic_ns() + CALL_MS * 1000000ull))
			return gone(g);
		if (status >> 16)
			g->h->state = THREAD_STOPPED;
		else if (ptrace(PTRACE_CONT, g->h->tid, 0, WSTOPSIG(status)))
			g->h->state = THREAD_GONE;
	}
	if (g->h->state == THREAD_GONE || !thread_registers(g->h, &r))
		return gone(g);
	g->is_back = r.rip - g->area >= PAGE;
	if (g->is_back)
		thread_soften(g->h);
	return 0;
}

/* It will return by itself. */
static int abandon(struct guest *g)
{
	int status;

	thread_ask(g->h);
	if (g->h->state == THREAD_ASKED &&
	    thread_wait_status(g->h, &status, monotonic_ns() + CALL_MS * 1000000ull))
		ptrace(PTRACE_DETACH, g->h->tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	g->h->state = THREAD_GONE;
	return diag_fail(g->t->d, -ETIMEDOUT,
			 "a call in process %d takes too long; its thread %d continues when it "
			 "returns",
			 (int)g->t->pid, (int)g->h->tid);
}

static int await(struct guest *g, uint64_t until_ns)
{
	int status, err;

	while (!is_done(g)) {
		if (thread_wait_status(g->h, &status, monotonic_ns())) {
			err = status >> 16 ? 0 : fault(g, WSTOPSIG(status));
			if (err)
				return err;
			if (ptrace(PTRACE_CONT, g->h->tid, 0, 0))
				g->h->state = THREAD_GONE;
		}
		if (g->h->state == THREAD_GONE)
			return gone(g);
		if (monotonic_ns() > until_ns)
			return abandon(g);
		usleep(20);
	}
	return stop_in_landing(g);
}

int guest_call(struct guest *g, uint64_t function, const uint64_t arguments[3], uint64_t *result,
	       uint64_t until_ns)
{
	struct job job = { .errno_location = g->t->at.errno_location, .function = function };
	struct user_regs_struct r = g->before.registers;
	int err;

	if (g->is_back)
		return diag_fail(g->t->d, -EAGAIN, "thread %d continued too early", (int)g->h->tid);
	memcpy(job.arguments, arguments, sizeof job.arguments);
	job.context = g->area + CONTEXT_AT;
	r.rip = g->area;
	r.rbx = g->area + JOB_AT;
	r.rsp = g->area + AREA_BYTES - 64;
	r.rbp = 0;
	r.orig_rax = (uint64_t)-1;
	r.eflags = 0x202;
	if (!memory_write(g->t->mem, g->area + JOB_AT, &job, sizeof job) || !set_off(g, &r) ||
	    ptrace(PTRACE_CONT, g->h->tid, 0, 0)) {
		g->h->state = THREAD_GONE;
		return gone(g);
	}
	g->h->state = THREAD_RUNS;
	err = await(g, until_ns);
	if (!err && !memory_read(g->t->mem, g->area + JOB_AT, &job, sizeof job))
		err = gone(g);
	*result = job.result;
	return err;
}

const struct user_regs_struct *guest_registers(const struct guest *g)
{
	return &g->before.registers;
}

int guest_end(struct guest *g)
{
	const uint64_t unmap[6] = { g->area, AREA_BYTES };
	uint64_t result;
	int err = 0;

	if (g->h->state != THREAD_GONE) {
		if (g->area && !g->is_back)
			err = call_on_stack(g, g->t->at.munmap, unmap, &result);
		err = g->h->state == THREAD_GONE ? err : put_back(g);
	}
	free(g);
	return err;
}
