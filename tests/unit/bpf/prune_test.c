/* SPDX-License-Identifier: MIT */
/* Instructions that nothing reaches are left out, and jumps still end where they did. */
#include "bpf/code.h"
#include "test.h"

static struct bpf_code code;

static void unreached_code_is_left_out(void)
{
	int end, dead;

	bpf_code_begin(&code);
	end = bpf_label(&code);
	dead = bpf_label(&code);
	bpf_mov64(&code, 1, 7);			    /* 0, 1 */
	bpf_jump_if_imm(&code, BPF_JEQ, 1, 0, end); /* 2 */
	bpf_alu_imm(&code, BPF_MOV, 0, 1);	    /* 3 */
	bpf_jump(&code, end);			    /* 4 */
	bpf_put_label(&code, dead);
	bpf_mov64(&code, 2, 8); /* 5, 6: nothing leads here */
	bpf_jump(&code, dead);	/* 7 */
	bpf_put_label(&code, end);
	bpf_alu_imm(&code, BPF_MOV, 0, 0); /* 8 */
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	bpf_code_prune(&code);
	is(code.n, 7);
	is(code.insns[0].code, BPF_LD | BPF_IMM | BPF_DW);
	is(code.insns[2].off, 2);
	is(code.insns[4].off, 0);
	is(code.insns[6].code, BPF_JMP | BPF_EXIT);
}

static void code_that_is_all_reached_stays(void)
{
	bpf_code_begin(&code);
	bpf_alu_imm(&code, BPF_MOV, 0, 0);
	bpf_call(&code, 5);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	bpf_code_prune(&code);
	is(code.n, 3);
	is(code.insns[1].imm, 5);
}

static void a_loop_is_kept(void)
{
	int again;

	bpf_code_begin(&code);
	again = bpf_label(&code);
	bpf_put_label(&code, again);
	bpf_alu_imm(&code, BPF_ADD, 0, 1);
	bpf_jump_if_imm(&code, BPF_JLT, 0, 9, again);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	bpf_code_prune(&code);
	is(code.n, 3);
	is(code.insns[1].off, -2);
}

int main(void)
{
	run(unreached_code_is_left_out);
	run(code_that_is_all_reached_stays);
	run(a_loop_is_kept);
	return test_status();
}
