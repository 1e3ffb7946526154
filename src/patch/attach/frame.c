/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/frame.c - the signal frame that brings a thread back to where it was stopped.
 *
 * As the kernel writes it for a signal handler; rt_sigreturn reads it.  The kernel's own layout
 * (asm/sigcontext.h) is that of ucontext_t, but for a shorter signal mask at the end.
 */
#include "patch/attach/internal.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* struct _xsave_hdr and struct _fpx_sw_bytes of the kernel, as offsets in the vector state. */
enum { SOFTWARE_AT = 464, HEADER_AT = 512, PROTECTION_KEYS = 9 };
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u

struct software {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t xstate_bytes, pad[7];
};

/* The vector state as a signal frame has it: only components in use, because those of the thread's
 * largest format may be more than the kernel accepts.  Returns the bytes with the magic at the end. */
static size_t frame_vectors(const struct frame *f, uint8_t *to)
{
	struct software s = { .magic1 = XSTATE_MAGIC1 };
	uint32_t size = FRAME_VECTORS_LEAST, magic2 = XSTATE_MAGIC2, a, b, c, d;
	uint64_t used, known;

	memcpy(&used, f->vectors + HEADER_AT, sizeof used);
	memcpy(&known, f->vectors + SOFTWARE_AT, sizeof known);
	used |= known & 1u << PROTECTION_KEYS;
	for (unsigned i = 2; i < 63; i++)
		if (used >> i & 1 && __get_cpuid_count(0xd, i, &a, &b, &c, &d) && a + b > size)
			size = a + b;
	if (size > f->vectors_bytes)
		size = (uint32_t)f->vectors_bytes;
	memcpy(to, f->vectors, size);
	s.features = used | 3;
	s.xstate_bytes = size;
	s.extended_bytes = size + (uint32_t)sizeof magic2;
	memcpy(to + SOFTWARE_AT, &s, sizeof s);
	memcpy(to + HEADER_AT, &used, sizeof used);
	memcpy(to + size, &magic2, sizeof magic2);
	return size + sizeof magic2;
}

/* Whether a stop has interrupted a call that the kernel will repeat: its ERESTART... errors. */
static bool is_repeated(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax >= 0 && (int64_t)r->rax <= -512 && (int64_t)r->rax >= -516;
}

/* rt_sigreturn does not repeat calls, so the frame stands on the `syscall` instruction.  Calls
 * whose only use is to be interrupted end instead. */
static struct user_regs_struct repeated(struct user_regs_struct r)
{
	if (!is_repeated(&r))
		return r;
	if (r.orig_rax == SYS_pause || r.orig_rax == SYS_rt_sigsuspend) {
		r.rax = (uint64_t)-EINTR;
		return r;
	}
	r.rax = r.orig_rax;
	r.rip -= 2;
	return r;
}

static ucontext_t frame_context(const struct frame *f, uint64_t vectors_at)
{
	struct user_regs_struct r = repeated(f->registers);
	ucontext_t u = { .uc_flags = 7 }; /* vector state, ss valid, ss restored as it is */
	greg_t *to = u.uc_mcontext.gregs;

	u.uc_stack.ss_flags = 0x3f; /* no such mode: the alternate stack stays as it is */
	to[REG_R8] = (greg_t)r.r8;
	to[REG_R9] = (greg_t)r.r9;
	to[REG_R10] = (greg_t)r.r10;
	to[REG_R11] = (greg_t)r.r11;
	to[REG_R12] = (greg_t)r.r12;
	to[REG_R13] = (greg_t)r.r13;
	to[REG_R14] = (greg_t)r.r14;
	to[REG_R15] = (greg_t)r.r15;
	to[REG_RDI] = (greg_t)r.rdi;
	to[REG_RSI] = (greg_t)r.rsi;
	to[REG_RBP] = (greg_t)r.rbp;
	to[REG_RBX] = (greg_t)r.rbx;
	to[REG_RDX] = (greg_t)r.rdx;
	to[REG_RAX] = (greg_t)r.rax;
	to[REG_RCX] = (greg_t)r.rcx;
	to[REG_RSP] = (greg_t)r.rsp;
	to[REG_RIP] = (greg_t)r.rip;
	to[REG_EFL] = (greg_t)r.eflags;
	to[REG_CSGSFS] = (greg_t)((r.cs & 0xffff) | (r.gs & 0xffff) << 16 | (r.fs & 0xffff) << 32 |
				  (r.ss & 0xffff) << 48);
	u.uc_mcontext.fpregs = (fpregset_t)vectors_at;
	memcpy(&u.uc_sigmask, &f->mask, sizeof f->mask);
	return u;
}

bool frame_write(const struct frame *f, int mem, uint64_t context_at, uint64_t vectors_at)
{
	uint8_t vectors[FRAME_VECTORS_MAX + 4];
	size_t size = frame_vectors(f, vectors);
	ucontext_t u = frame_context(f, vectors_at);

	/* The kernel's context ends with 8 bytes of signal mask. */
	return memory_write(mem, vectors_at, vectors, size) &&
	       memory_write(mem, context_at, &u, offsetof(ucontext_t, uc_sigmask) + 8);
}
