/* SPDX-License-Identifier: MIT */
/*
 * kernel/kernel.h - what the kernel did, recorded without a kernel module.
 *
 * A private tracefs instance records; its pages are read from trace_pipe_raw, converted in place
 * and appended to a CTF trace.  What always holds:
 *
 *   (1) nothing outside the instance is changed but probes, if there are any
 * (kernel/probe/uprobe.h), and a function graph's limits (kernel/probe/functions.h); no file system
 * is mounted anywhere (2) if this process dies, however, recording stops and the buffers are freed
 * at once; what remains is an empty instance, removed by the next kernel_open (3) in every stream
 * time never goes back, and events lost are counted in the next packet
 *
 * One thread at a time may use a `struct kernel`.  Design: docs/design/kernel.md.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "base/quota.h"
#include "kernel/probe/functions.h"
#include "kernel/probe/uprobe.h"
#include "kernel/watch/watch.h"

struct kernel;

/*
 * By BPF programs, system calls and the scheduler's switches and wake-ups cost less, and system
 * calls have texts (file names) and other things that arguments point to where they have pointers
 * else.  The other events, and those with a filter that programs cannot ask (kernel/bpf/filter.h),
 * the instance records in any case.
 */
enum kernel_backend {
	KERNEL_BACKEND_FTRACE,
	KERNEL_BACKEND_AUTO, /* BPF where it can be had and is the better way: not with `overwrite`
			      */
	KERNEL_BACKEND_BPF,  /* fail without */
};

/* Code of a file that a process has mapped. */
struct kernel_mapped {
	pid_t pid;
	uint64_t at_ns;		     /* by the session's clock */
	uint64_t begin, end, offset; /* offset: in the file */
	unsigned major, minor;
	uint64_t inode;
	const char *path;
};

struct kernel_options {
	const char *path;	       /* directory of the trace to write, e.g. OUT/kernel */
	const struct abi_clock *clock; /* of the session; copied */
	uint64_t clock_offset_ns;      /* from the Epoch to zero of the clock */
	const char *const *patterns;   /* which events, see below; none: "sched" and "syscalls" */
	const char *const *
		filters; /* of each pattern: an expression (duet-filter(7)), or NULL; may be NULL */
	int n_patterns;
	const struct kernel_uprobe *uprobes; /* probes in programs; with them, and without patterns,
					of the rest only what programs are called */
	int n_uprobes;
	struct kernel_graph graph; /* lent; as with probes */
	bool whole_machine; /* else only threads given to kernel_add_pid, and their children */
	/* The processes in these cgroups, given by their directories, and those that come; else
	 * NULL. */
	const char *const *cgroups;
	int n_cgroups;
	/* Tell who has come into one since kernel_start; or NULL. */
	void (*entered)(void *arg, pid_t pid);
	bool overwrite;	     /* when buffers are full: lose the oldest instead of the newest */
	uint32_t buffer_kib; /* per CPU, of each that records much; 0 means 16 MiB */
	enum kernel_backend backend; /* what records; duet's own default is KERNEL_BACKEND_AUTO */
	uint32_t contexts;	     /* more with each event: kernel_contexts_parse(),
					kernel/threads/contexts.h */
	/* By BPF: so many bytes of buffers of system calls, and structures; at most
	 * KERNEL_CAPTURE_BUFFER_MAX.  0: texts, addresses, times and arguments of programs alone.
	 */
	uint32_t capture_bytes;
	/* Tell whose code was recorded by its addresses, for the first time and after an exec; or
	 * NULL. */
	void (*on_event)(void *arg, pid_t pid, uint64_t at_ns);
	/* Beside it, with call stacks: what code such a process, or one that is followed, maps; or
	 * NULL. */
	void (*mapped)(void *arg, const struct kernel_mapped *m);
	void *on_arg;	     /* of all of them */
	struct quota *quota; /* packets are written only while it has room; lent; NULL: no limit */
};

/* A pattern is a set - sched, syscalls, irq, signal, task, block, fs, net, mm, timer, lock, power,
 * workqueue - or a glob on our names (`syscall_entry_open*`), on tracefs names ("irq:softirq_*") or
 * on a tracefs system.  One with ! leaves out what those before it chose; if it is the first, of
 * "sched" and "syscalls".  A filter is asked by the kernel before it records; the last pattern that
 * chooses an event says which.  Of system calls it is for their ends; if it chooses entries alone,
 * for their arguments, which BPF programs ask (else -EOPNOTSUPP). "profile:HZ": call stacks of what
 * runs on each CPU, sampled at this rate; "counter:NAME:PERIOD": of each PERIOD-th of what is
 * counted; "stack:PATTERN": events with call stacks; "with:NAME+NAME:PATTERN": or counters
 * (kernel/perf/profile.h). "function:PATTERN": calls of functions of the kernel
 * (kernel/probe/functions.h). */

/*
 * kernel_open - set everything up; nothing is recorded yet.
 *
 * Returns 0; -EPERM without the right to trace, -ENOENT if a pattern matches nothing or tracefs is
 * missing, or another negative errno.  About 50 ms.
 */
int kernel_open(struct kernel **k, const struct kernel_options *o, struct diag *d);

/* kernel_add_pid - record this process: its threads of now, and the children and threads they make
 * from now on.  Before or after kernel_start. */
int kernel_add_pid(struct kernel *k, pid_t pid, struct diag *d);

/* kernel_start - record, and write down which processes exist.  -EINVAL if neither a process was
 * added nor cgroups or the whole machine asked for. */
int kernel_start(struct kernel *k, struct diag *d);

/*
 * kernel_resume - go on in a new trace at @path, after fork: another process had polled, and was
 * killed.
 *
 * What that one had read and not written is lost.
 */
int kernel_resume(struct kernel *k, const char *path, struct diag *d);

/*
 * kernel_rotate - go on in a new trace at @path, which tells no loss that the one before has told.
 *
 * On error (disk full) the old one goes on.  Not while a snapshot is open.  Then kernel_state:
 * write down which processes exist, so that the new trace can be read alone.
 */
int kernel_rotate(struct kernel *k, const char *path, struct diag *d);
int kernel_state(struct kernel *k, struct diag *d);

/*
 * kernel_poll - write to the trace what was recorded so far.  Call it every 20 to 50 ms or, where
 * kernel_wake could, each second and when it tells.
 *
 * @until_ns: what was recorded before, by the session's clock, is written for certain; later things
 * may wait for the next call.  0: no promise, which is cheapest.
 *
 * With `overwrite` nothing is written: it tells who waits, and makes room for what comes.
 *
 * Never blocks.  Returns 0; 1 if there was too much to keep the promise; or a negative errno if the
 * trace cannot be written: what was read then is counted lost, and later calls try on.  A page that
 * makes no sense is skipped and counted; the first one leaves its reason in @d although 0 is
 * returned.
 */
int kernel_poll(struct kernel *k, uint64_t until_ns, struct diag *d);

/* kernel_is_polled - whether kernel_poll is to be called at all. */
bool kernel_is_polled(const struct kernel *k);

/*
 * kernel_recorder - what records the most frequent events: "bpf" (the rest "ftrace" does) or
 * "ftrace".
 *
 * @why: becomes why not "bpf", where KERNEL_BACKEND_AUTO was free to choose; else "".
 */
const char *kernel_recorder(const struct kernel *k, const char **why);

/* kernel_has_addresses - whether addresses of code in the kernel are recorded. */
bool kernel_has_addresses(const struct kernel *k);

/*
 * kernel_wake - have @epoll tell @data when a CPU's buffer is a quarter full, until kernel_poll has
 * emptied it; and in any case when somebody comes into a cgroup that is recorded.
 *
 * Returns 0, or a negative errno where it cannot tell of the buffers: before Linux 5.0, with
 * contexts, or with a profile or BPF programs, whose events lie elsewhere.
 */
int kernel_wake(struct kernel *k, int epoll, uint32_t data);

/*
 * kernel_wait_for - tell @told of events that @wish is about, when they are read: in kernel_poll
 * and kernel_take.
 *
 * Only of events that are recorded.  0; -ENOENT if none of them matches; -EINVAL if it fits none of
 * those that do. All who wait have the same @told.  kernel_wait_for_none - nobody waits any more.
 */
int kernel_wait_for(struct kernel *k, const struct kernel_watch_request *request,
		    kernel_event_callback *reported, void *arg, struct diag *d);
void kernel_wait_for_none(struct kernel *k);

/* kernel_pause - record nothing but what somebody waits for, or go on; what was recorded stays.
 * Before kernel_start: as what it begins.  0 or -errno. */
int kernel_pause(struct kernel *k, bool pause, struct diag *d);

/* kernel_stop - stop recording and write what remains. */
int kernel_stop(struct kernel *k, struct diag *d);

/* kernel_close - put everything back.  Accepts NULL. */
void kernel_close(struct kernel *k);

struct kernel_counts {
	uint64_t events;    /* written to the trace */
	uint64_t lost;	    /* recorded nowhere: buffers full, trace not writable, not understood */
	uint64_t bytes;	    /* of all streams */
	uint64_t malformed; /* pages that made no sense, their rest skipped */
};
void kernel_counts(const struct kernel *k, struct kernel_counts *c);

/*
 * Snapshots: with `overwrite`.  Recording goes on meanwhile, and nothing is lost
 * between one and the next: what was read stays held in memory, up to the size of the buffers, so
 *that snapshots may overlap.
 *
 * kernel_take - read what was recorded up to @until_ns of the session's clock.
 * kernel_each_held - tell begin, end (at the latest) and size of each page that is held; in no
 *order. kernel_snapshot_open - begin a trace of its own at @path, of what ends at @from_ns or
 *later. kernel_snapshot_step - write one CPU's part, in the end the processes there are now.
 *Returns 1 if there is more to do, 0 at the end, or -errno. kernel_snapshot_close - end it; @counts
 *may be NULL.  Does nothing if none was opened.
 */
int kernel_take(struct kernel *k, uint64_t until_ns, struct diag *d);
void kernel_each_held(struct kernel *k,
		      void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		      void *arg);
int kernel_snapshot_open(struct kernel *k, const char *path, uint64_t from_ns, struct diag *d);
int kernel_snapshot_step(struct kernel *k, struct diag *d);
void kernel_snapshot_close(struct kernel *k, struct kernel_counts *counts);

/* kernel_list - tell all that could be recorded: our name and "system:event". */
int kernel_list(void (*each)(void *arg, const char *event, const char *tracefs_name), void *arg,
		struct diag *d);

/* kernel_reap - remove what dead recorders left.  Returns how many, or a negative errno. */
int kernel_reap(struct diag *d);

#endif
