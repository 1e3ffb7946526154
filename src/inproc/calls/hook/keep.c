/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/keep.c - the slow path's door: all registers are saved, vector registers by XSAVE.
 *
 * A caller may keep values in registers that calls normally destroy, if the compiler saw that the
 * function leaves them alone (-fipa-ra); so hooks keep all.  The tile registers of AMX are not
 * saved: nothing here uses them, and they are 8 KiB.
 */
#include <cpuid.h>

#include "inproc/calls/hook/thread.h"

enum { KEEP_FXSAVE, KEEP_XSAVE, KEEP_XSAVEC };

/* x87, SSE, AVX and AVX-512. */
enum { KEEP_STATES = 0xe7, KEEP_LEAST = 576 };

__attribute__((used, visibility("hidden"))) uint32_t keep_how, keep_mask;
__attribute__((used, visibility("hidden"))) uint64_t keep_bytes = KEEP_LEAST;

static uint32_t enabled_states(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low & KEEP_STATES;
}

void keep_start(void)
{
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	keep_mask = enabled_states();
	for (uint32_t i = 2; i < 8; i++)
		if (keep_mask & 1u << i && __get_cpuid_count(0xd, i, &a, &b, &c, &d) &&
		    a + b > keep_bytes)
			keep_bytes = a + b;
	keep_how = __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 2) ? KEEP_XSAVEC : KEEP_XSAVE;
}

/*
 * name(frame): calls target(frame, second argument of the caller).  The state is saved at a
 * multiple of 64; the header of a compact one has to be zero.
 */
#define DOOR(name, target)                                                                         \
	".globl " name "\n.hidden " name "\n.type " name ", @function\n" name ":\n"                \
	"	.cfi_startproc\n"                                                                        \
	"	push %rbp\n"                                                                             \
	"	.cfi_def_cfa_offset 16\n"                                                                \
	"	.cfi_offset %rbp, -16\n"                                                                 \
	"	mov %rsp, %rbp\n"                                                                        \
	"	.cfi_def_cfa_register %rbp\n"                                                            \
	"	push %r10\n"                                                                             \
	"	lea " target "(%rip), %r10\n"                                                      \
	"	jmp keep_all\n"                                                                          \
	"	.cfi_endproc\n"                                                                          \
	".size " name ", . - " name "\n"

_Static_assert(CALLS_LONGJMP == 6 && CALLS_LONGJMP_HIDDEN == 7, "the numbers below");

/* The entry hook of longjmp and its like: it passes their jmp_buf on. */
#define JUMP(name, kind)                                                                           \
	".globl " name "\n.hidden " name "\n.type " name ", @function\n" name ":\n"                \
	"	.cfi_startproc\n"                                                                        \
	"	push %rbp\n"                                                                             \
	"	.cfi_def_cfa_offset 16\n"                                                                \
	"	.cfi_offset %rbp, -16\n"                                                                 \
	"	mov %rsp, %rbp\n"                                                                        \
	"	.cfi_def_cfa_register %rbp\n"                                                            \
	"	push %rsi\n"                                                                             \
	"	push %rdi\n"                                                                             \
	"	mov %rdi, %rsi\n"                                                                        \
	"	lea 16(%rbp), %rdi\n"                                                                    \
	"	movl $" kind ", 4(%rdi)\n"                                                         \
	"	call calls_jump_unusual\n"                                                               \
	"	pop %rdi\n"                                                                              \
	"	pop %rsi\n"                                                                              \
	"	pop %rbp\n"                                                                              \
	"	.cfi_def_cfa %rsp, 8\n"                                                                  \
	"	ret\n"                                                                                   \
	"	.cfi_endproc\n"                                                                          \
	".size " name ", . - " name "\n"

__asm__(".pushsection .text\n"
	".type keep_all, @function\n"
	"keep_all:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa %rbp, 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r11\n"
	"	cld\n"
	"	sub keep_bytes(%rip), %rsp\n"
	"	and $-64, %rsp\n"
	"	xor %edx, %edx\n"
	"	mov %rdx, 512(%rsp)\n"
	"	mov %rdx, 520(%rsp)\n"
	"	mov %rdx, 528(%rsp)\n"
	"	mov %rdx, 536(%rsp)\n"
	"	mov %rdx, 544(%rsp)\n"
	"	mov %rdx, 552(%rsp)\n"
	"	mov %rdx, 560(%rsp)\n"
	"	mov %rdx, 568(%rsp)\n"
	"	mov keep_mask(%rip), %eax\n"
	"	cmpl $1, keep_how(%rip)\n"
	"	jb 1f\n"
	"	je 2f\n"
	"	xsavec64 (%rsp)\n"
	"	jmp 3f\n"
	"1:	fxsave64 (%rsp)\n"
	"	jmp 3f\n"
	"2:	xsave64 (%rsp)\n"
	"3:	call *%r10\n"
	"	xor %edx, %edx\n"
	"	mov keep_mask(%rip), %eax\n"
	"	cmpl $0, keep_how(%rip)\n"
	"	je 4f\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 5f\n"
	"4:	fxrstor64 (%rsp)\n"
	"5:	lea -72(%rbp), %rsp\n"
	"	pop %r11\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	pop %r10\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size keep_all, . - keep_all\n"
	/* clang-format off */
	DOOR("calls_enter_unusual", "calls_enter_slowly")
	DOOR("calls_leave_unusual", "calls_leave_slowly")
	DOOR("calls_tail_unusual", "calls_tail_slowly")
	DOOR("calls_decide_unusual", "calls_decide_slowly")
	DOOR("calls_switch_unusual", "calls_switch_slowly")
	DOOR("calls_rescan_unusual", "calls_rescan_slowly")
	DOOR("calls_jump_unusual", "calls_jump_slowly")
	JUMP("calls_enter_jump", "6")
	JUMP("calls_enter_jump_hidden", "7")
	/* clang-format on */
	".popsection\n");
