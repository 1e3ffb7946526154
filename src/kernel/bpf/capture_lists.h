/* SPDX-License-Identifier: MIT */
/* kernel/bpf/capture_lists.h - captures of lists: texts, pointers, iovecs, messages, iocbs. */
#ifndef KERNEL_BPF_CAPTURE_LISTS_H
#define KERNEL_BPF_CAPTURE_LISTS_H

#include "kernel/bpf/capture.h"

/* bpf_capture_list - if the capture in R9 is a list: read it to position R8, and jump to @done.
 * R1 becomes the kind of its size. */
void bpf_capture_list(const struct bpf_captures *k, int done);
/* bpf_capture_lists - the functions for that. */
void bpf_capture_lists(const struct bpf_captures *k);

#endif
