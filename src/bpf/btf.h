/* SPDX-License-Identifier: MIT */
/*
 * bpf/btf.h - the kernel's own description of its types, as far as programs of ours need it: where
 * a tracepoint is described, and where a structure has a member.
 *
 * Layout: Linux, Documentation/bpf/btf.rst.  Nothing in it is believed: what does not fit is not
 * found.
 */
#ifndef BPF_BTF_H
#define BPF_BTF_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct btf {
	uint8_t *bytes;
	const uint8_t *types, *types_end;
	const char *strings;
	uint32_t strings_size;
};

/* btf_open - read that of the running kernel: 5 MB, some milliseconds.  0 or -errno. */
int btf_open(struct btf *b, struct diag *d);
/* btf_take - the same of @bytes from malloc, which it keeps, on errors too. */
int btf_take(struct btf *b, uint8_t *bytes, size_t size, struct diag *d);
void btf_close(struct btf *b);

/* btf_tracepoint - the number of the type that stands for tracepoint @name; -ENOENT. */
int btf_tracepoint(const struct btf *b, const char *name);

/* btf_member - at which byte @structure has @member, not one of a structure in it; -ENOENT. */
int btf_member(const struct btf *b, const char *structure, const char *member);

#endif
