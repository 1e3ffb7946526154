/* SPDX-License-Identifier: MIT */
/* kernel/perf/mapped.h - code that a process mapped, as perf reports it. */
#ifndef KERNEL_PERF_MAPPED_H
#define KERNEL_PERF_MAPPED_H

#include <stdint.h>
#include <sys/types.h>

/* Code of a file that a process has mapped. */
struct kernel_mapped {
	pid_t pid;
	uint64_t at_ns;		     /* session time */
	uint64_t begin, end, offset; /* offset: in the file */
	unsigned major, minor;
	uint64_t inode;
	const char *path;
};

#endif
