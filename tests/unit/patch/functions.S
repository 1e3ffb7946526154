/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/patch/functions.S - one function for each check of src/patch; sites_test.c looks at
 * them by name.  Nothing here ever runs.
 */

.macro begin name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size	\name, . - \name
.endm

/* More than 5 bytes that every function may begin with. */
.macro ordinary
	movl	$1, %eax
	movl	$2, %edx
.endm

	.text

/* ---------------------------------------------------------------- kinds of sites */

begin five_nops
	.byte	0x90, 0x90, 0x90, 0x90, 0x90
	ret
end five_nops

begin one_nop
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	ret
end one_nop

begin nops_behind_endbr
	endbr64
	.byte	0x66, 0x90, 0x66, 0x90, 0x90
	ret
end nops_behind_endbr

begin xray_sled
	.byte	0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00
	ret
end xray_sled

begin prologue
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rbx
	movq	%rsi, %rax
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	ret
end prologue

begin prologue_behind_endbr
	endbr64
	ordinary
	ret
end prologue_behind_endbr

begin short_with_padding
	xorl	%eax, %eax
	ret
end short_with_padding
	.byte	0xcc, 0xcc, 0xcc, 0xcc

begin short_before_another
	ret
end short_before_another
	.globl	follower
	.type	follower, @function
follower:
	.cfi_startproc
	ordinary
	ret
end follower

/* ---------------------------------------------------------------- branches */

/* The first instruction has one byte, so that no jump of two bytes fits either. */

begin branch_inside
	clc
1:	incl	%eax
	movl	$5, %edx
	cmpl	%edx, %eax
	jne	1b
	ret
end branch_inside

begin branch_from_outside
	clc
inside_of_another:
	movl	$5, %edx
	ret
end branch_from_outside

begin branches_into_another
	ordinary
	jmp	inside_of_another
end branches_into_another

begin loop_to_first_byte
	addl	$1, %edi
	cmpl	$100000, %edi
	jne	loop_to_first_byte
	ret
end loop_to_first_byte

begin switch_into_window
	clc
.Lcase:
	movl	$7, %edx
	leaq	.Ltable(%rip), %rcx
	movslq	(%rcx,%rdi,4), %rax
	addq	%rcx, %rax
	jmp	*%rax
.Lother:
	ret
end switch_into_window

begin computed_goto_into_window
	clc
.Llabel:
	movl	$7, %edx
	leaq	.Llabels(%rip), %rcx
	jmp	*(%rcx,%rdi,8)
end computed_goto_into_window

begin switch_elsewhere
	movl	$7, %edx
	leaq	.Ltable_elsewhere(%rip), %rcx
	movslq	(%rcx,%rdi,4), %rax
	addq	%rcx, %rax
	jmp	*%rax
.Lelsewhere:
	ret
end switch_elsewhere

/* ---------------------------------------------------------------- first bytes */

begin call_first
	call	follower
	ret
end call_first

/* The padding behind it holds the jump to the stub. */
begin island_before_call
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	follower
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	.byte	0x90
	ret
end island_before_call
	.p2align 4
	.fill	16, 1, 0xcc

/* Ends at a multiple of 16, so that there is no padding behind it. */
begin long_without_padding
	ordinary
	.fill	128, 1, 0x90
	.balign	16, 0x90
	.fill	15, 1, 0x90
	ret
end long_without_padding

/* The only bytes near it that look like padding are data of another function. */
begin data_instead_of_padding
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	call	follower
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	ret
end data_instead_of_padding
.Ldata_in_code:
	.fill	16, 1, 0xcc

begin long_behind_the_data
	ordinary
	.fill	128, 1, 0x90
	ret
end long_behind_the_data

begin reads_data_in_code
	movq	.Ldata_in_code(%rip), %rax
	ret
end reads_data_in_code

begin jrcxz_first
	jrcxz	1f
	movl	$1, %eax
1:	ret
end jrcxz_first

begin relative_operand
	movq	.Ldata(%rip), %rax
	ret
end relative_operand

begin relative_operand_and_constant
	cmpl	$100, .Ldata(%rip)
	ret
end relative_operand_and_constant

begin short_branch_first
	testl	%edi, %edi
	je	1f
	movl	$1, %eax
1:	ret
end short_branch_first

begin jump_first
	jmp	follower
end jump_first

/* ---------------------------------------------------------------- the stack */

begin two_stack_arguments
	movl	$1, %eax
	movq	8(%rsp), %rdi
	movq	16(%rsp), %rsi
	ret
end two_stack_arguments

begin stack_argument_in_frame
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	subq	$64, %rsp
	movl	48(%rbp), %eax
	movl	8(%rsp), %edx
	leave
	.cfi_def_cfa rsp, 8
	ret
end stack_argument_in_frame

begin stack_argument_in_part
	ordinary
	testl	%edi, %edi
	jne	stack_argument_in_part.cold
	ret
end stack_argument_in_part

begin stack_argument_in_callee
	ordinary
	jmp	two_stack_arguments
end stack_argument_in_callee

begin unknown_callee
	ordinary
	jmp	*8(%rdi)
end unknown_callee

begin locals_only
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	leaq	16(%rsp), %rdi
	movq	%rsp, %rsi
	movq	%rax, 24(%rsp)
	addq	$40, %rsp
	.cfi_adjust_cfa_offset -40
	ret
end locals_only

begin variable_arguments
	subq	$88, %rsp
	.cfi_adjust_cfa_offset 88
	leaq	96(%rsp), %rax
	movq	%rax, 8(%rsp)
	addq	$88, %rsp
	.cfi_adjust_cfa_offset -88
	ret
end variable_arguments

begin realigned
	leaq	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	andq	$-32, %rsp
	pushq	-8(%r10)
	pushq	%rbp
	movq	%rsp, %rbp
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
	movq	(%rbp), %rax
	leave
	leaq	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	ret
end realigned

begin many_arguments
	movl	$1, %eax
	movq	800(%rsp), %rdi
	ret
end many_arguments

begin reads_return_address
	movl	$1, %eax
	movq	(%rsp), %rdi
	ret
end reads_return_address

begin pops_return_address
	movl	$1, %eax
	popq	%rcx
	jmp	*%rcx
end pops_return_address

begin pops_arguments
	movl	$1, %eax
	ret	$16
end pops_arguments

begin switches_stacks
	movq	16(%rdi), %rax
	movq	8(%rdi), %rsp
	jmp	*%rax
end switches_stacks

begin restores_stack
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rsp, %rbx
	subq	%rdi, %rsp
	movq	%rbx, %rsp
	leave
	.cfi_def_cfa rsp, 8
	ret
end restores_stack

begin hands_on_return_address
	ordinary
	jmp	reads_return_address
end hands_on_return_address

begin looks_up_next
	ordinary
	jmp	dlsym@PLT
end looks_up_next

/* ---------------------------------------------------------------- kinds of functions */

begin result_in_flags
	movl	$1, %eax
	cmpl	%eax, %edi
	ret
end result_in_flags

begin uses_flags
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movl	$1, %edi
	call	result_in_flags
	je	1f
	movl	$1, %eax
1:	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
end uses_flags

	.globl	without_unwind_information
	.type	without_unwind_information, @function
	.p2align 4
without_unwind_information:
	ordinary
	ret
	.size	without_unwind_information, . - without_unwind_information

	.type	resolved, @gnu_indirect_function
begin resolved
	.type	resolved, @gnu_indirect_function
	leaq	prologue(%rip), %rax
	ret
end resolved

begin trampoline
	.cfi_signal_frame
	ordinary
	ret
end trampoline

begin setjmp
	ordinary
	ret
end setjmp

begin longjmp
	ordinary
	ret
end longjmp

begin dlclose
	ordinary
	ret
end dlclose

begin restartable
	ordinary
.Lrestart:
	movl	$1, %eax
.Lcommitted:
	ret
end restartable

begin no_instruction
	ordinary
	ret
	.byte	0x06, 0x06
end no_instruction

	.section .text.unlikely, "ax", @progbits
	.type	stack_argument_in_part.cold, @function
stack_argument_in_part.cold:
	.cfi_startproc
	movq	24(%rsp), %rax
	ret
	.cfi_endproc
	.size	stack_argument_in_part.cold, . - stack_argument_in_part.cold

	.section .rodata
	.p2align 3
.Ldata:
	.quad	1
.Ltable:
	.long	.Lother - .Ltable
	.long	.Lcase - .Ltable
	.long	0x70000000
.Ltable_elsewhere:
	.long	.Lelsewhere - .Ltable_elsewhere
	.long	0x70000000

	.section .data.rel.ro, "aw", @progbits
	.p2align 3
.Llabels:
	.quad	.Llabel

	.section __rseq_cs, "aw", @progbits
	.p2align 5
	.long	0, 0
	.quad	.Lrestart, .Lcommitted - .Lrestart, without_unwind_information

	.section .note.GNU-stack, "", @progbits
