/* SPDX-License-Identifier: MIT */
/*
 * bpf/btf.h - the kernel's own description of its types (BTF).
 *
 * BPF programs need two answers from it: the type number of a tracepoint, and the offset of a
 * structure's member.
 *
 * Layout: Linux, Documentation/bpf/btf.rst. The bytes are not trusted: a type that does not fit is
 * not found.
 */
#ifndef BPF_BTF_H
#define BPF_BTF_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct btf {
	uint8_t *bytes; /* owned; or */
	void *mapped;
	size_t size;
	const uint8_t *types, *types_end;
	const char *strings;
	uint32_t strings_size;
};

/* btf_open - read the BTF of the running kernel: 5 MB, mapped, or read in some milliseconds. 0 or -errno. */
int btf_open(struct btf *b, struct diag *d);
/* btf_take - the same for @bytes from malloc. @b owns them; on an error they are freed. */
int btf_take(struct btf *b, uint8_t *bytes, size_t size, struct diag *d);
void btf_close(struct btf *b);

/* btf_tracepoint - the number of the type that stands for tracepoint @name; -ENOENT. */
int btf_tracepoint(const struct btf *b, const char *name);

/* btf_member - the byte offset of @member in @structure; -ENOENT. Members of structures inside
 * @structure are not found. */
int btf_member(const struct btf *b, const char *structure, const char *member);

/* btf_tail_size - bytes of a type behind its first three words; SIZE_MAX for an unknown kind. */
size_t btf_tail_size(uint32_t info);

#endif
