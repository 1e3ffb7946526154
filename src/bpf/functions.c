/* SPDX-License-Identifier: MIT */
/*
 * bpf/functions.c - writes the BTF of a program's functions.
 *
 * One integer type serves all arguments and results. There is a prototype for each number of
 * arguments, and a function refers to one of them:
 *
 *	1		the integer
 *	2 + n		the prototype with n arguments
 *	PROGRAM + i	the program, then each function
 */
#include "bpf/functions.h"

#include <assert.h>
#include <linux/btf.h>
#include <string.h>

enum { INTEGER = 1, PROTOTYPES, PROGRAM = PROTOTYPES + BPF_ARGUMENTS_MAX + 1 };

/* A part of the BTF that grows; `size` goes on if it is full. */
struct part {
	uint8_t bytes[BPF_FUNCTION_TYPES_MAX / 2];
	uint32_t size;
};

static void add(struct part *p, const void *bytes, size_t size)
{
	if (size <= sizeof p->bytes && p->size <= sizeof p->bytes - size)
		memcpy(p->bytes + p->size, bytes, size);
	p->size += (uint32_t)size;
}

static void add_u32(struct part *p, uint32_t value)
{
	add(p, &value, sizeof value);
}

static uint32_t add_name(struct part *strings, const char *name)
{
	uint32_t at = strings->size;

	add(strings, name, strlen(name) + 1);
	return at;
}

static void add_type(struct part *types, uint32_t name, int kind, int n, uint32_t type_or_size)
{
	add_u32(types, name);
	add_u32(types, (uint32_t)kind << 24 | (uint32_t)n);
	add_u32(types, type_or_size);
}

static void add_prototypes(struct part *types, struct part *strings)
{
	uint32_t name = add_name(strings, "value");

	for (int n = 0; n <= BPF_ARGUMENTS_MAX; n++) {
		add_type(types, 0, BTF_KIND_FUNC_PROTO, n, INTEGER);
		for (int i = 0; i < n; i++) {
			add_u32(types, name);
			add_u32(types, INTEGER);
		}
	}
}

static void add_function(struct part *types, struct part *strings, const char *name,
			 int n_arguments)
{
	add_type(types, add_name(strings, name), BTF_KIND_FUNC, BTF_FUNC_GLOBAL,
		 (uint32_t)(PROTOTYPES + n_arguments));
}

static void describe(struct part *types, struct part *strings, const struct bpf_code *c)
{
	add_name(strings, "");
	add_type(types, add_name(strings, "u64"), BTF_KIND_INT, 0, sizeof(uint64_t));
	add_u32(types, 8 * sizeof(uint64_t)); /* bits */
	add_prototypes(types, strings);
	add_function(types, strings, "program", 1);
	for (int i = 0; i < c->n_functions; i++)
		add_function(types, strings, c->functions[i].name, c->functions[i].n_arguments);
}

bool bpf_functions_describe(struct bpf_function_types *t, const struct bpf_code *c)
{
	struct part types = { .size = 0 }, strings = { .size = 0 };
	struct btf_header h = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof h };

	assert(!c->failed);
	if (!c->n_functions)
		return false;
	describe(&types, &strings, c);
	h.type_len = h.str_off = types.size;
	h.str_len = strings.size;
	t->size = (uint32_t)sizeof h + types.size + strings.size;
	if (types.size > sizeof types.bytes || strings.size > sizeof strings.bytes ||
	    t->size > sizeof t->btf)
		return false;
	memcpy(t->btf, &h, sizeof h);
	memcpy(t->btf + sizeof h, types.bytes, types.size);
	memcpy(t->btf + sizeof h + types.size, strings.bytes, strings.size);
	t->n = 1 + (uint32_t)c->n_functions;
	t->info[0] = (struct bpf_func_info){ 0, PROGRAM };
	for (int i = 0; i < c->n_functions; i++)
		t->info[i + 1] = (struct bpf_func_info){ (uint32_t)c->functions[i].insn,
							 (uint32_t)(PROGRAM + 1 + i) };
	return true;
}
