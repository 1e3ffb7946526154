/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/patch/marks.S - USDT marks as sys/sdt.h makes them, each in surroundings of its own;
 * marks_test.c looks at them by name.  Nothing here ever runs.
 */

.macro begin name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	/* 25 bytes in which the function itself is patched */
	movl	$1, %eax
	movl	$1, %eax
	movl	$1, %eax
	movl	$1, %eax
	movl	$1, %eax
.endm

.macro end name
	.cfi_endproc
	.size	\name, . - \name
.endm

.macro mark name, arguments, semaphore=0
990:	nop
	.pushsection .note.stapsdt, "", "note"
	.balign	4
	.4byte	992f - 991f, 994f - 993f, 3
991:	.asciz	"stapsdt"
992:	.balign	4
993:	.8byte	990b
	.8byte	_.stapsdt.base
	.8byte	\semaphore
	.asciz	"shop"
	.asciz	"\name"
	.asciz	"\arguments"
994:	.balign	4
	.popsection
.endm

	.text

begin forward
	mark	forward, "-4@%edi 8@$-5 8f@%xmm2 4@value+4(%rip)", counter
	movl	$2, %edx
	ret
end forward

begin backward
	movl	$2, %edx
	testl	%edi, %edi
	mark	backward, "8@%rsi"
1:	xorl	%eax, %eax
	decl	%edi
	jne	1b
	ret
end backward

begin no_room
1:	xorl	%eax, %eax
	mark	no_room, "8@%rsi"
2:	decl	%edi
	jne	1b
	decl	%esi
	jne	2b
	ret
end no_room

begin call_behind
1:	mark	call_behind, ""
	call	forward
	jmp	1b
end call_behind

begin two_marks
1:	mark	first, ""
	mark	second, ""
	xorl	%eax, %eax
	jmp	1b
end two_marks

begin relative
	mark	relative, "1@%ah"
	cmpl	$3, value(%rip)
	ret
end relative

begin unknown_operand
	mark	unknown_operand, "8@%fs:16"
	movl	$2, %edx
	ret
end unknown_operand

	.globl	at_entry
	.type	at_entry, @function
	.p2align 4
at_entry:
	.cfi_startproc
	mark	at_entry, ""
	movl	$2, %edx
	ret
	.cfi_endproc
	.size	at_entry, . - at_entry

	.data
	.p2align 3
	.type	value, @object
value:
	.quad	1
	.size	value, 8

	.section .probes, "aw", @progbits
	.hidden	counter
counter:
	.2byte	0
	.balign	8

	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak	_.stapsdt.base
	.hidden	_.stapsdt.base
_.stapsdt.base:
	.space	1
	.size	_.stapsdt.base, 1

	.section .note.GNU-stack, "", @progbits
