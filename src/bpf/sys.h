/* SPDX-License-Identifier: MIT */
/*
 * bpf/sys.h - maps and programs in the kernel, by bpf(2) alone.
 *
 * All that is made is held by descriptors, close-on-exec, and by nothing else: it goes when the
 * last process that has them ends, however it ends.
 */
#ifndef BPF_SYS_H
#define BPF_SYS_H

#include <stdint.h>

#include "base/diag.h"
#include "bpf/code.h"

/* bpf_map_make - an array of @n elements, to be mapped; each takes a multiple of 8 bytes.  A
 * descriptor or -errno. */
int bpf_map_make(const char *name, uint32_t element_size, uint32_t n, struct diag *d);

/* bpf_attach - load @c, a program for the tracepoint which is @btf_id, and let it run there from
 * now on.
 *
 * @links: becomes descriptors of the program and of its being attached; none on error.
 * Returns 0 or -errno, with the verifier's last words in @d. */
struct bpf_link {
	int program, link;
};
int bpf_attach(struct bpf_link *l, const char *name, const struct bpf_code *c, int btf_id,
	       struct diag *d);

/* No longer run; the program remains to be asked.  Then: let it go, too. */
void bpf_detach(struct bpf_link *l);
void bpf_release(struct bpf_link *l);

/* How often it was not run because it was running there already. */
uint64_t bpf_misses(const struct bpf_link *l);

#endif
