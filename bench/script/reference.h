/* SPDX-License-Identifier: MIT */
/* reference.h - the handler of handler.c written in C, in a file of its own: nothing is inlined. */
#ifndef BENCH_SCRIPT_REFERENCE_H
#define BENCH_SCRIPT_REFERENCE_H

#include <stdint.h>

struct event {
	uint64_t time;
	uint32_t id, pid;
	int64_t a, b;
};

void reference_event(const struct event *e);

#endif
