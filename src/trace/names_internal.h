/* SPDX-License-Identifier: MIT */
/* trace/names_internal.h - struct names, shared by names.c and names_state.c. */
#ifndef TRACE_NAMES_INTERNAL_H
#define TRACE_NAMES_INTERNAL_H

#include "trace/aliases.h"
#include "trace/names.h"

enum { NAME_MAX_BYTES = 16, CPUS_MAX = 4096 };
#define THREADS_MAX (1u << 20) /* of all hosts; further threads stay without name */
#ifdef __SANITIZE_ADDRESS__
#define THREADS_FIRST 2 /* the table moves often: pointers kept too long are found */
#else
#define THREADS_FIRST 1024
#endif

struct class_plan;

struct thread {
	uint64_t key; /* host << 32 | tid, plus 1: 0 is an empty slot */
	int32_t pid;  /* -1: unknown */
	uint8_t size;
	char name[NAME_MAX_BYTES];
};

struct names_last { /* the thread of the event that names_learn() looked at last */
	int64_t tid, pid;
	uint64_t changes;
	uint32_t host;
};

struct names {
	struct class_plan *plans; /* by class number */
	uint32_t *hosts;	  /* by source number */
	uint32_t n_classes, n_sources, n_hosts;
	int32_t *running;	/* tid by host and CPU, for kernels traced without a tid context */
	struct thread *threads; /* open addressing, at most half full */
	uint32_t n_threads, capacity;
	uint64_t n_changes; /* of names and processes */
	struct aliases *aliases;
	struct names_last last;
};

/* names_find_or_add - the thread @tid of @host; NULL: there are too many, or no memory. */
struct thread *names_find_or_add(struct names *n, uint32_t host, int64_t tid);

#endif
