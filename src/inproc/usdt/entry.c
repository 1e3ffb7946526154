/* SPDX-License-Identifier: MIT */
/*
 * inproc/usdt/entry.c - from a stub to C and back, all registers as they were.
 *
 * Flags are kept by lahf and seto, which take a tenth of the time of pushf and popf.  The direction
 * flag is 0 in compiled code.  Vector registers are saved only on the slow path: AMX's tiles are
 * not, as nothing here uses them.
 */
#include <cpuid.h>

#include "inproc/usdt/internal.h"

/* x87, SSE, AVX, AVX-512; the area's legacy part and header. */
enum { STATES = 0xe7, LEAST = 576 };

__attribute__((used)) uint32_t usdt_keep_mask HIDDEN;	       /* 0: FXSAVE */
__attribute__((used)) uint64_t usdt_keep_bytes HIDDEN = LEAST; /* of the area */

void usdt_keep_start(void)
{
	uint32_t a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	for (uint32_t i = 2; i < 8; i++)
		if (low & STATES & 1u << i && __get_cpuid_count(0xd, i, &a, &b, &c, &d) &&
		    a + b > usdt_keep_bytes)
			usdt_keep_bytes = a + b;
	usdt_keep_mask = low & STATES;
}

/*
 * The stack at usdt_entry: return address into the stub, the mark, 136 bytes, then the program's.
 * 17 words follow below: the registers by number, and the flags.
 */
__asm__(".pushsection .text\n"
	".globl usdt_entry\n.hidden usdt_entry\n.type usdt_entry, @function\n"
	"usdt_entry:\n"
	"	.cfi_startproc\n"
	"	lea -136(%rsp), %rsp\n"
	"	.cfi_adjust_cfa_offset 136\n"
	"	mov %rax, 0(%rsp)\n"
	"	lahf\n"
	"	seto %al\n"
	"	mov %rax, 128(%rsp)\n"
	"	mov %rcx, 8(%rsp)\n"
	"	mov %rdx, 16(%rsp)\n"
	"	mov %rbx, 24(%rsp)\n"
	"	lea 288(%rsp), %rax\n"
	"	mov %rax, 32(%rsp)\n"
	"	mov %rbp, 40(%rsp)\n"
	"	mov %rsi, 48(%rsp)\n"
	"	mov %rdi, 56(%rsp)\n"
	"	mov %r8, 64(%rsp)\n"
	"	mov %r9, 72(%rsp)\n"
	"	mov %r10, 80(%rsp)\n"
	"	mov %r11, 88(%rsp)\n"
	"	mov %r12, 96(%rsp)\n"
	"	mov %r13, 104(%rsp)\n"
	"	mov %r14, 112(%rsp)\n"
	"	mov %r15, 120(%rsp)\n"
	"	mov 144(%rsp), %rdi\n"
	"	mov %rsp, %rsi\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	and $-16, %rsp\n"
	"	call usdt_hit\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	mov 8(%rsp), %rcx\n"
	"	mov 16(%rsp), %rdx\n"
	"	mov 24(%rsp), %rbx\n"
	"	mov 48(%rsp), %rsi\n"
	"	mov 56(%rsp), %rdi\n"
	"	mov 64(%rsp), %r8\n"
	"	mov 72(%rsp), %r9\n"
	"	mov 80(%rsp), %r10\n"
	"	mov 88(%rsp), %r11\n"
	"	mov 128(%rsp), %rax\n"
	"	add $0x7f, %al\n" /* 1 becomes 128: overflow */
	"	sahf\n"
	"	mov 0(%rsp), %rax\n"
	"	lea 136(%rsp), %rsp\n"
	"	.cfi_adjust_cfa_offset -136\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size usdt_entry, . - usdt_entry\n"
	".globl usdt_slowly\n.hidden usdt_slowly\n.type usdt_slowly, @function\n"
	"usdt_slowly:\n" /* its arguments are those of usdt_slow */
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	mov %rdx, %rcx\n"
	"	sub usdt_keep_bytes(%rip), %rsp\n"
	"	and $-64, %rsp\n"
	"	xor %edx, %edx\n" /* XRSTOR wants zeroes in the header */
	"	mov %rdx, 512(%rsp)\n"
	"	mov %rdx, 520(%rsp)\n"
	"	mov %rdx, 528(%rsp)\n"
	"	mov %rdx, 536(%rsp)\n"
	"	mov %rdx, 544(%rsp)\n"
	"	mov %rdx, 552(%rsp)\n"
	"	mov %rdx, 560(%rsp)\n"
	"	mov %rdx, 568(%rsp)\n"
	"	mov usdt_keep_mask(%rip), %eax\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	"	xsave64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave64 (%rsp)\n"
	"2:	mov %rcx, %rdx\n"
	"	call usdt_slow\n"
	"	xor %edx, %edx\n"
	"	mov usdt_keep_mask(%rip), %eax\n"
	"	test %eax, %eax\n"
	"	jz 3f\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 4f\n"
	"3:	fxrstor64 (%rsp)\n"
	"4:	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size usdt_slowly, . - usdt_slowly\n"
	".popsection\n");
