/* SPDX-License-Identifier: MIT */
/*
 * bpf/prune.c - instructions that nothing reaches are left out: the kernel refuses a program that
 * has any.
 */
#include <assert.h>
#include <string.h>

#include "bpf/code.h"

static bool is_jump(const struct bpf_insn *i)
{
	int class = BPF_CLASS(i->code), op = BPF_OP(i->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static bool falls_through(const struct bpf_insn *i)
{
	return i->code != (BPF_JMP | BPF_JA) && i->code != (BPF_JMP | BPF_EXIT);
}

static int next_of(const struct bpf_code *c, int i)
{
	return i + (c->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) ? 2 : 1);
}

/* Marks all that is reached; the stack of places never has one twice. */
static void mark(const struct bpf_code *c, bool *reached)
{
	static _Thread_local int stack[BPF_CODE_MAX];
	int n = 0;

	stack[n++] = 0;
	reached[0] = true;
	while (n) {
		int i = stack[--n], to[2] = { -1, -1 };

		if (falls_through(&c->insns[i]))
			to[0] = next_of(c, i);
		if (is_jump(&c->insns[i]))
			to[1] = i + 1 + c->insns[i].off;
		for (int j = 0; j < 2; j++)
			if (to[j] >= 0 && to[j] < c->n && !reached[to[j]]) {
				reached[to[j]] = true;
				stack[n++] = to[j];
			}
	}
}

void bpf_code_prune(struct bpf_code *c)
{
	static _Thread_local bool reached[BPF_CODE_MAX];
	static _Thread_local int place[BPF_CODE_MAX + 1];
	int n = 0;

	assert(!c->failed && !c->n_functions);
	memset(reached, 0, sizeof reached);
	if (c->n)
		mark(c, reached);
	for (int i = 0; i < c->n;) {
		int size = next_of(c, i) - i;

		for (int j = 0; j < size; j++)
			place[i + j] = n + (reached[i] ? j : 0);
		n += reached[i] ? size : 0;
		i += size;
	}
	place[c->n] = n;
	for (int i = 0; i < c->n;) {
		int size = next_of(c, i) - i;
		struct bpf_insn insn = c->insns[i];

		if (reached[i]) {
			if (is_jump(&insn))
				insn.off = (int16_t)(place[i + 1 + insn.off] - place[i] - 1);
			if (size == 2)
				c->insns[place[i] + 1] = c->insns[i + 1];
			c->insns[place[i]] = insn;
		}
		i += size;
	}
	c->n = n;
}
