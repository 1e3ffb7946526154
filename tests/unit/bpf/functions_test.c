/* SPDX-License-Identifier: MIT */
/* Calls of functions reach them, and the types that the kernel reads describe each of them. */
#include "bpf/functions.h"

#include <linux/btf.h>

#include "test.h"

static struct bpf_code code;
static struct bpf_function_types types;

static void write_program(void)
{
	int none, two;

	bpf_code_begin(&code);
	none = bpf_label(&code);
	two = bpf_label(&code);
	bpf_alu_imm(&code, BPF_MOV, 1, 7);
	bpf_call_function(&code, two);
	bpf_exit(&code);
	bpf_function(&code, none, "none", 0);
	bpf_alu_imm(&code, BPF_MOV, 0, 1);
	bpf_exit(&code);
	bpf_function(&code, two, "two", 2);
	bpf_call_function(&code, none);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
}

static void calls_reach_their_functions(void)
{
	write_program();
	is(code.insns[1].code, BPF_JMP | BPF_CALL);
	is(code.insns[1].src_reg, BPF_PSEUDO_CALL);
	is(code.insns[1].imm, 3);  /* two, at 5 */
	is(code.insns[5].imm, -3); /* none, at 3 */
	is(code.insns[1].off, 0);
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof w);
	return w;
}

/* The place of type @number. */
static const uint8_t *type(const struct btf_header *h, uint32_t number)
{
	const uint8_t *at = types.btf + h->hdr_len;

	for (uint32_t i = 1; i < number; i++) {
		uint32_t info = word(at + 4);

		at += 12;
		if (BTF_INFO_KIND(info) == BTF_KIND_INT)
			at += 4;
		else if (BTF_INFO_KIND(info) == BTF_KIND_FUNC_PROTO)
			at += (size_t)8 * BTF_INFO_VLEN(info);
	}
	return at;
}

static void is_function(const struct btf_header *h, int i, uint32_t insn, const char *name,
			unsigned n_arguments)
{
	const uint8_t *function = type(h, types.info[i].type_id), *prototype;

	is(types.info[i].insn_off, insn);
	is(word(function + 4), (uint32_t)BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL);
	is_text((const char *)types.btf + h->hdr_len + h->str_off + word(function), name);
	prototype = type(h, word(function + 8));
	is(word(prototype + 4), (uint32_t)BTF_KIND_FUNC_PROTO << 24 | n_arguments);
	is(word(prototype + 8), 1); /* the integer */
	for (unsigned n = 0; n < n_arguments; n++)
		is(word(prototype + 12 + (size_t)8 * n + 4), 1);
}

static void types_describe_each_function(void)
{
	struct btf_header h;

	write_program();
	ok(bpf_functions_describe(&types, &code));
	memcpy(&h, types.btf, sizeof h);
	is(h.magic, BTF_MAGIC);
	is(h.hdr_len + h.type_len + h.str_len, types.size);
	is(word(type(&h, 1) + 4) >> 24, BTF_KIND_INT);
	is(types.n, 3);
	is_function(&h, 0, 0, "program", 1);
	is_function(&h, 1, 3, "none", 0);
	is_function(&h, 2, 5, "two", 2);
}

static void a_program_without_functions_has_no_types(void)
{
	bpf_code_begin(&code);
	bpf_exit(&code);
	is(bpf_code_end(&code), 0);
	ok(!bpf_functions_describe(&types, &code));
}

static void too_many_functions_are_refused(void)
{
	bpf_code_begin(&code);
	for (int i = 0; i < BPF_FUNCTIONS_MAX + 1; i++)
		bpf_function(&code, bpf_label(&code), "f", 0);
	is(bpf_code_end(&code), -7); /* E2BIG */
}

int main(void)
{
	run(calls_reach_their_functions);
	run(types_describe_each_function);
	run(a_program_without_functions_has_no_types);
	run(too_many_functions_are_refused);
	return test_status();
}
