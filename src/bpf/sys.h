/* SPDX-License-Identifier: MIT */
/*
 * bpf/sys.h - maps and programs in the kernel, with bpf(2) alone.
 *
 * Only descriptors hold them, all close-on-exec. They vanish when the last process that has the
 * descriptors ends, however it ends.
 */
#ifndef BPF_SYS_H
#define BPF_SYS_H

#include <stdint.h>

#include "base/diag.h"
#include "bpf/code.h"

/* bpf_map_make - make an array of @n elements that can be mapped. Each element takes a multiple of
 * 8 bytes. Returns a descriptor or -errno. */
int bpf_map_make(const char *name, uint32_t element_size, uint32_t n, struct diag *d);

/* bpf_attach - load @c, a program for the tracepoint with type number @btf_id, and run it there
 * from now on.
 *
 * @l: becomes the descriptors of the program and of its attachment; -1 on error.
 * Returns 0 or -errno, with the verifier's last line in @d. */
struct bpf_link {
	int program, link;
};
int bpf_attach(struct bpf_link *l, const char *name, const struct bpf_code *c, int btf_id,
	       struct diag *d);

/* bpf_detach: the program no longer runs, but bpf_misses() still works. bpf_release: closes the
 * program too. */
void bpf_detach(struct bpf_link *l);
void bpf_release(struct bpf_link *l);

/* The number of runs the kernel skipped because the program was already running on that CPU. */
uint64_t bpf_misses(const struct bpf_link *l);

#endif
