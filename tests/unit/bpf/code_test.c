/* SPDX-License-Identifier: MIT */
/* Instructions are those of the specification, byte by byte; jumps end where their labels are. */
#include "bpf/code.h"
#include "test.h"

static struct bpf_code code;

static uint64_t word(int i)
{
	uint64_t w;

	memcpy(&w, &code.insns[i], sizeof w);
	return w;
}

/* Little-endian: immediate, offset, registers (source above), operation. */
static void instructions_have_their_bytes(void)
{
	bpf_code_begin(&code);
	bpf_alu(&code, BPF_MOV, 6, 1);
	bpf_alu_imm(&code, BPF_ADD, 2, -8);
	bpf_alu_imm(&code, BPF_AND, 9, 0xffff);
	bpf_load(&code, BPF_DW, 3, 7, 16);
	bpf_store(&code, BPF_W, 10, -4, 0);
	bpf_store_imm(&code, BPF_B, 1, 252, '.');
	bpf_compare_exchange(&code, 7, 8, 1);
	bpf_atomic(&code, BPF_ADD, 7, 8, 1);
	bpf_call(&code, 5);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	is(code.n, 10);
	is(word(0), 0x16bf);
	is(word(1), 0xfffffff800000207);
	is(word(2), 0x0000ffff00000957);
	is(word(3), 0x107379);
	is(word(4), 0xfffc0a63);
	is(word(5), 0x2e00fc0172);
	is(word(6), 0xf1000817db);
	is(word(7), 0x0817db);
	is(word(8), 0x500000085);
	is(word(9), 0x95);
}

static void long_values_and_maps_take_two(void)
{
	bpf_code_begin(&code);
	bpf_mov64(&code, 2, 0x123456789abcdef0);
	bpf_load_map(&code, 1, 7);
	bpf_load_map_value(&code, 3, 7, 4096);
	is(bpf_code_end(&code), 0);
	is(code.n, 6);
	is(word(0), 0x9abcdef000000218);
	is(word(1), 0x1234567800000000);
	is(word(2), 0x700001118);
	is(word(3), 0);
	is(word(4), 0x700002318);
	is(word(5), 0x100000000000);
}

static void jumps_end_at_their_labels(void)
{
	int forward, back;

	bpf_code_begin(&code);
	forward = bpf_label(&code);
	back = bpf_label(&code);
	bpf_put_label(&code, back);
	bpf_jump_if_imm(&code, BPF_JEQ, 1, 0, forward);
	bpf_jump_if(&code, BPF_JNE, 1, 2, back);
	bpf_jump(&code, forward);
	bpf_exit(&code);
	bpf_put_label(&code, forward);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	is(code.insns[0].off, 3);
	is(code.insns[1].off, -2);
	is(code.insns[2].off, 1);
}

static void a_program_that_does_not_fit_is_refused_at_the_end(void)
{
	int label;

	bpf_code_begin(&code);
	for (int i = 0; i < BPF_CODE_MAX + 1; i++)
		bpf_exit(&code);
	is(bpf_code_end(&code), -7); /* E2BIG */
	bpf_code_begin(&code);
	for (int i = 0; i < BPF_CODE_MAX + 1; i++)
		bpf_jump(&code, i ? 0 : bpf_label(&code));
	is(bpf_code_end(&code), -7);
	bpf_code_begin(&code);
	for (int i = 0; i < BPF_LABELS_MAX + 1; i++)
		label = bpf_label(&code);
	bpf_put_label(&code, label);
	is(bpf_code_end(&code), -7);
	bpf_code_begin(&code);
	bpf_jump(&code, bpf_label(&code)); /* to nowhere */
	is(bpf_code_end(&code), -7);
	bpf_code_begin(&code);
	bpf_load(&code, BPF_DW, 1, 1, 1 << 15);
	is(bpf_code_end(&code), -7);
}

int main(void)
{
	run(instructions_have_their_bytes);
	run(long_values_and_maps_take_two);
	run(jumps_end_at_their_labels);
	run(a_program_that_does_not_fit_is_refused_at_the_end);
	return test_status();
}
