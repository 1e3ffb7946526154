/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_lists.h - captures of lists: texts, pointers, iovecs, messages, iocbs.
 *
 * Each reads the capture in R9, from its argument, to position R8, and jumps to @done. R6 counts.
 */
#ifndef KERNEL_BPF_CAPTURE_LISTS_H
#define KERNEL_BPF_CAPTURE_LISTS_H

#include "kernel/bpf/parts.h"

/* Each text of an argv with its NUL; three dots follow if there are more than fit. */
void bpf_capture_texts(struct bpf_code *c, int stage, int done);
/* The number of pointers before a NULL. */
void bpf_capture_count(struct bpf_code *c, int stage, int done);
/* The iovecs of a readv or writev; at @is_header those of a msghdr, after it. */
void bpf_capture_vector(struct bpf_code *c, int stage, int is_header, int done);
/* Mmsghdrs, each with its iovecs. */
void bpf_capture_headers(struct bpf_code *c, int stage, int done);
/* The iocbs that an array points to, each with the data that it writes. */
void bpf_capture_each(struct bpf_code *c, int stage, int done);

#endif
