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

enum role {
	ROLE_NONE,
	ROLE_DUMP,
	ROLE_SWITCH,
	ROLE_FORK,
	ROLE_TASK,
	ROLE_EXEC,
	ROLE_RENAME,
	ROLE_PROCNAME
};

struct class_plan {
	enum role role;
	const struct ctf_op *tid, *pid, *procname; /* contexts */
	const struct ctf_op *field[5];		   /* in the order of roles[] of names.c */
};

struct thread {
	uint64_t key; /* host << 32 | tid, plus 1: 0 is an empty slot */
	int32_t pid;  /* -1: unknown */
	uint8_t size;
	char name[NAME_MAX_BYTES];
	uint8_t is_kernels;  /* pid is from an event of the kernel: applications do not change it */
	uint8_t is_named;    /* by an event that was read: see names_skipped.has_kernel */
	uint8_t is_doubtful; /* its process is that of a thread whose process is not known */
};

struct names_last { /* the thread of the event that names_learn() looked at last */
	int64_t tid, pid;
	uint64_t changes;
	uint32_t host;
};

/* Skipped events that are searched backward. */
struct names_search {
	struct trace *part; /* the streams that are searched; NULL: none */
	int64_t low_ns;	    /* events from here on were read after all */
	int64_t begin_ns;
};

/* Events that were skipped, if a kernel recorded: names_recall.c. */
struct names_skipped {
	bool is_open; /* else nothing was skipped */
	/* a kernel's events were skipped, too: names and processes are those of events that were read */
	bool has_kernel;
	bool knows_births; /* with has_kernel: the processes that the kernel's events have were read: names_births.c */
	bool knows_threads; /* and they have each thread of a program: no other is searched */
	bool reads_births;  /* just now */
	int64_t from_ns; /* events of applications before it were skipped; with has_kernel: all events */
	struct names_search names, processes; /* for names of threads: with has_kernel alone */
	uint64_t n_left;		      /* how many may still be read */
	bool is_unsure;
};

struct names {
	struct class_plan *plans; /* by class number */
	uint32_t *hosts;	  /* by source number */
	char **host_names;	  /* by host: its last source may be forgotten */
	uint32_t n_classes, n_sources, n_hosts;
	int32_t *running;	/* tid by host and CPU, for kernels traced without a tid context */
	struct thread *threads; /* open addressing, at most half full */
	uint32_t n_threads, capacity;
	uint64_t n_changes; /* of names and processes */
	struct aliases *aliases;
	struct names_last last;
	struct names_skipped skipped;
};

/* Events of kernels with processes of threads were skipped, and are not known. */
static inline bool names_lack_births(const struct names *n)
{
	return n->skipped.has_kernel && !n->skipped.knows_births;
}

/* names_find - the thread @tid of @host; NULL: no event named it. */
struct thread *names_find(const struct names *n, uint32_t host, int64_t tid);
/* names_find_or_add - the thread @tid of @host; NULL: there are too many, or no memory. */
struct thread *names_find_or_add(struct names *n, uint32_t host, int64_t tid);

/* names_forget_threads - clear the table of threads. */
void names_forget_threads(struct names *n);

/* names_set_pid - @is_kernels: an event of the kernel has it. */
void names_set_pid(struct names *n, uint32_t host, int64_t tid, int64_t pid, bool is_kernels);

/* names_state.c: n->hosts of sources from @first on.  False: no memory. */
bool names_number_hosts(struct names *n, const struct trace *t, uint32_t first);
void names_free_hosts(struct names *n);

/* Tid 0 is the idle task of every CPU: its names ("swapper/3") would overwrite each other. */
void names_set_name(struct names *n, uint32_t host, int64_t tid, const char *name, size_t size);

/* names_skip.c: names_skip() with another limit for a kernel that is read from its begin. */
bool names_skip_beyond(struct names *n, struct trace *t, int64_t time_ns,
		       uint64_t kernel_bytes_max);

/* names_births.c: learn the processes of threads from all events of kernels before n->skipped.from_ns.  Without
 * success nothing has changed: an index lacks them, they are too many, or there is damage. */
void names_read_births(struct names *n, const struct trace *t);
/* names_births.c: right after that, whether these have all threads of @programs, which have names there. */
void names_check_births(struct names *n, const struct trace *t, const struct names *programs);

/* names_recall.c: events of applications before @from_ns are skipped, or all events: then @needs
 * has the streams, by number, whose events name threads; else NULL.  False: no memory. */
bool names_recall_open(struct names *n, const struct trace *t, int64_t from_ns, const bool *needs);
void names_recall_close(struct names *n);
/* The thread @tid ran in the kernel, and its process is not known: find the last skipped event of it. */
void names_recall(struct names *n, uint32_t host, int64_t tid);
/* If all events were skipped: find the last one that named the thread of this event. */
void names_recall_name(struct names *n, uint32_t host, const struct thread_identity *w);

#endif
