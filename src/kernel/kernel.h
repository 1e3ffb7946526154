/* SPDX-License-Identifier: MIT */
/*
 * kernel/kernel.h - records kernel events without a kernel module.
 *
 * A private tracefs instance records. Its pages are read from trace_pipe_raw, converted in place
 * and appended to a CTF trace. Invariants:
 *
 *   (1) nothing outside the instance is changed, except probes, if there are any
 *       (kernel/probe/uprobe.h), and a function graph's limits (kernel/probe/functions.h); no file
 *       system is mounted anywhere
 *   (2) if this process dies for any reason, recording stops and the buffers are freed at once;
 *       an empty instance remains, which the next kernel_open removes
 *   (3) in every stream time never goes back, and lost events are counted in the next packet
 *
 * One thread at a time may use a `struct kernel`. Design: docs/design/kernel/README.md.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "base/quota.h"
#include "base/text.h"
#include "ctf/write/public.h"
#include "kernel/perf/mapped.h"
#include "kernel/probe/functions.h"
#include "kernel/probe/uprobe.h"
#include "kernel/watch/watch.h"

struct kernel;

/*
 * The part of the kernel that records.
 *
 * With BPF programs, system calls and the scheduler's switches and wake-ups cost less. System calls
 * then also have the texts (file names) and other memory that arguments point to, instead of
 * pointers. The instance records all other events, and those with a filter that programs cannot
 * evaluate (kernel/bpf/filter.h). If nothing is left to it, there is none (setup_recorders.c).
 */
enum kernel_backend {
	KERNEL_BACKEND_FTRACE,
	KERNEL_BACKEND_AUTO, /* BPF where it is available and better: not with `overwrite` */
	KERNEL_BACKEND_BPF,  /* BPF, or fail */
};

struct kernel_options {
	const char *path;	       /* directory of the trace to write, e.g. OUT/kernel */
	const struct abi_clock *clock; /* the session's; copied */
	uint64_t clock_offset_ns;      /* from the Epoch to zero of the clock */
	const char *const *patterns;   /* events to record, see below; none: "sched" and
				        * "syscalls" */
	const char *const
		*filters; /* for each pattern an expression (duet-filter(7)) or NULL; may be NULL */
	int n_patterns;
	const struct kernel_uprobe *uprobes; /* probes in programs; with them, and without
					      * patterns, only births, names and ends of threads
					      * are recorded besides */
	int n_uprobes;
	struct kernel_graph graph; /* not owned; as with probes */
	bool whole_machine;  /* false: only threads given to kernel_add_pid, and their children */
	bool dumps_followed; /* the state that is written has the followed processes' threads alone:
			      * no event names others */
	bool is_of_command;  /* begins and ends with a command; metadata says so */
	/* Records the processes in these cgroups, given by their directories, and those that enter
	 * later; or NULL. */
	const char *const *cgroups;
	int n_cgroups;
	/* Called for each process that enters a cgroup after kernel_start; or NULL. */
	void (*entered)(void *arg, pid_t pid);
	bool overwrite;	     /* when buffers are full: lose the oldest instead of the newest */
	uint32_t buffer_kib; /* per CPU, for each buffer with many events; 0 means 16 MiB */
	enum kernel_backend backend; /* the recorder; duet's own default is KERNEL_BACKEND_AUTO */
	uint32_t contexts;	     /* contexts of each event: kernel_contexts_parse(),
				      * kernel/threads/event_contexts.h */
	/* With BPF: the bytes captured of each buffer of a system call, and structures too; at most
	 * ABI_CAPTURE_BUFFER_MAX. 0: only texts, addresses, times and arguments of programs. */
	uint32_t capture_bytes;
	/* With BPF and capture_bytes: the kernel's files of new descriptors too. */
	bool captures_files;
	bool captures_environment; /* the same for the texts of environments */
	/* Called when code addresses of a process are recorded for the first time and after an
	 * exec; or NULL. */
	void (*on_sampled)(void *arg, pid_t pid, uint64_t at_ns);
	/* With call stacks: called for code that such a process, or a followed one, maps; or
	 * NULL. */
	void (*mapped)(void *arg, const struct kernel_mapped *m);
	void *callback_arg; /* for all callbacks */
	bool ends_soon; /* the process ends after kernel_close: a child process that outlives it may
			 * remove the instance */
	struct disk_budget *disk; /* the same, of bytes on disk */
	struct quota *quota;	  /* packets are written only while it has room; not owned; NULL: no
			      * limit */
	struct ctf_ledger *ledger; /* enters each packet of the recording, of snapshots none; not
				* owned; NULL: none */
};

/* A pattern is a set - sched, syscalls, irq, signal, task, block, fs, net, mm, timer, lock, power,
 * workqueue - or a glob on duet's names (`syscall_entry_open*`), on tracefs names ("irq:softirq_*")
 * or on a tracefs system. A pattern with ! removes events that the patterns before it chose; as the
 * first one it applies to "sched" and "syscalls".
 *
 * The kernel evaluates a filter before it records. If several patterns choose an event, the last
 * one's filter counts. For system calls a filter is about the results at their exits. If the
 * pattern chooses only entries, it is about the arguments, which only BPF programs can evaluate
 * (otherwise -EOPNOTSUPP).
 *
 * "profile:HZ": call stacks of the running threads, sampled at this rate. "counter:NAME:PERIOD":
 * the same at each PERIOD-th count. "stack:PATTERN": events with call stacks.
 * "with:NAME+NAME:PATTERN": events with counters (kernel/perf/profile.h). "function:PATTERN": calls
 * of functions of the kernel (kernel/probe/functions.h). */

/* kernel_has_lost_its_lender - whether the instance was borrowed and its lender has ended: nothing is
 * recorded any more. */
bool kernel_has_lost_its_lender(const struct kernel *k);

/*
 * kernel_open - prepare recording; nothing is recorded yet.
 *
 * Returns 0; -EPERM without the right to trace, -ENOENT if a pattern matches nothing or tracefs is
 * missing, or another negative errno. About 50 ms.
 */
int kernel_open(struct kernel **k, const struct kernel_options *o, struct diag *d);

/*
 * The same in two steps: between them a thread prepares what needs neither the clock's rate nor the
 * directory. No fork meanwhile.
 *
 * kernel_open_begin - @o, of which only the pointers must stay valid; of its clock only the kind
 * counts. NULL: no thread can be started.
 * kernel_open_end - as kernel_open, with the complete options; frees @p, which may be NULL.
 * kernel_open_abandon - instead of that: restore everything. Accepts NULL.
 */
struct kernel_opening;
struct kernel_opening *kernel_open_begin(const struct kernel_options *o);
int kernel_open_end(struct kernel_opening *p, struct kernel **k, const struct kernel_options *o,
		    struct diag *d);
void kernel_open_abandon(struct kernel_opening *p);

/* kernel_add_pid - record this process: its present threads, and the children and threads they make
 * from now on. Before or after kernel_start. */
int kernel_add_pid(struct kernel *k, pid_t pid, struct diag *d);

/* kernel_start - start recording, and write the existing processes. -EINVAL if no process was added
 * and neither cgroups nor the whole machine was requested. */
int kernel_start(struct kernel *k, struct diag *d);

/*
 * kernel_resume - continue in a new trace at @path, after a fork: another process polled before and
 * was killed.
 *
 * Data that the other process had read but not written is lost.
 */
int kernel_resume(struct kernel *k, const char *path, struct diag *d);

/*
 * kernel_rotate - continue in a new trace at @path. It does not repeat losses reported in the trace
 * before.
 *
 * On an error (disk full) the old trace continues. Not while a snapshot is open. Call kernel_state
 * afterwards: it writes the existing processes, so that the new trace can be read alone.
 */
int kernel_rotate(struct kernel *k, const char *path, struct diag *d);
int kernel_state(struct kernel *k, struct diag *d);

/* kernel_hide_memory - until it is undone, the child of a fork does not get the rings' mappings: for a
 * command, which needs none. */
int kernel_hide_memory(struct kernel *k, bool hides, struct diag *d);

/*
 * kernel_poll - write the recorded data to the trace. Call it every 20 to 50 ms. If kernel_wake
 * succeeded, call it each second and whenever that wakes the caller.
 *
 * @until_ns: data recorded before this session time is written in this call; later data may wait
 * for the next one. 0: no promise, which is cheapest.
 *
 * With `overwrite` it writes nothing: it reports watched events and makes room.
 *
 * Never blocks. Returns 0; 1 if there was too much data to keep the promise; or a negative errno if
 * the trace cannot be written: the data read then counts as lost, and later calls try again. A
 * malformed page is skipped and counted; the first one leaves its reason in @d although the result
 * is 0.
 */
int kernel_poll(struct kernel *k, uint64_t until_ns, struct diag *d);

/* kernel_refuse - write nothing more: @why, a constant.  Events that are read count as lost. */
void kernel_refuse(struct kernel *k, const char *why);

/* kernel_is_polled - whether kernel_poll must be called at all. */
bool kernel_is_polled(const struct kernel *k);

/*
 * kernel_recorder - the recorder of the most frequent events: "bpf" (ftrace records the rest) or
 * "ftrace".
 *
 * @why: becomes the reason against "bpf", if KERNEL_BACKEND_AUTO had the choice; otherwise "".
 */
const char *kernel_recorder(const struct kernel *k, const char **why);

/* kernel_has_addresses - whether addresses of code in the kernel are recorded. */
bool kernel_has_addresses(const struct kernel *k);

/*
 * kernel_wake - make @epoll report @data when a CPU's buffer is a quarter full, until kernel_poll
 * has emptied it. It always reports a process that enters a recorded cgroup.
 *
 * Returns 0, or a negative errno if buffers cannot wake a reader: before Linux 5.0, with contexts,
 * or with a profile or BPF programs, whose events are in other buffers.
 */
int kernel_wake(struct kernel *k, int epoll, uint32_t data);

/*
 * kernel_wait_for - call @on_match for events that match @request, when kernel_poll or kernel_take
 * reads them.
 *
 * Only for recorded events. 0; -ENOENT if none matches; -EINVAL if the request fits none of those
 * that match. All requests share one @on_match. kernel_wait_for_none - remove all requests.
 */
int kernel_wait_for(struct kernel *k, const struct kernel_watch_request *request,
		    kernel_event_callback *on_match, void *arg, struct diag *d);
void kernel_wait_for_none(struct kernel *k);

/* kernel_pause - record only watched events, or resume; recorded data stays. Before kernel_start:
 * start in this state. 0 or -errno. */
int kernel_pause(struct kernel *k, bool pause, struct diag *d);

/* kernel_stop - stop recording and write the remaining data. */
int kernel_stop(struct kernel *k, struct diag *d);

/* kernel_buffer_kib - memory of each CPU that @o asks for. */
uint32_t kernel_buffer_kib(const struct kernel_options *o);

/* kernel_close - restore everything. Accepts NULL. */
void kernel_close(struct kernel *k);

struct kernel_counts {
	uint64_t lost_elsewhere; /* part of lost: not understood, not written, missed by probes */
	uint64_t events;	 /* written to the trace, by this process */
	uint64_t lost;	    /* not in any trace: buffers full, trace not writable, not understood */
	uint64_t bytes;	    /* of all streams; likewise */
	uint64_t malformed; /* malformed pages, whose rest was skipped */
};
void kernel_counts(const struct kernel *k, struct kernel_counts *c);

/* kernel_records_calls - whether arguments of system calls are recorded, addresses among them. */
bool kernel_records_calls(const struct kernel *k);
/* kernel_each_recorded - report the threads that are recorded now, as far as the kernel lists them;
 * for the whole machine its processes. */
void kernel_each_recorded(const struct kernel *k, void (*each)(void *arg, pid_t tid), void *arg);

/*
 * Snapshots: with `overwrite`. Recording goes on meanwhile, and nothing is lost between two of
 * them: data that was read stays in memory, up to the size of the buffers, so snapshots may
 * overlap.
 *
 * kernel_take - read the data recorded up to @until_ns, session time.
 * kernel_each_held - report begin, end (at the latest) and size of each held page, in no order.
 * kernel_snapshot_open - begin a separate trace at @path with data that ends at @from_ns or later.
 * kernel_snapshot_step - write one CPU's part, at the end the existing processes. Returns 1 if
 * there is more to do, 0 at the end, or -errno.
 * kernel_snapshot_close - end it; @counts may be NULL. Does nothing if none is open.
 */
int kernel_take(struct kernel *k, uint64_t until_ns, struct diag *d);
void kernel_each_held(struct kernel *k,
		      void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		      void *arg);
int kernel_snapshot_open(struct kernel *k, const char *path, uint64_t from_ns,
			 struct disk_budget *disk, struct diag *d);
int kernel_snapshot_step(struct kernel *k, struct diag *d);
void kernel_snapshot_close(struct kernel *k, struct kernel_counts *counts);

/* kernel_list - report every event that can be recorded: duet's name and "system:event". */
int kernel_list(void (*each)(void *arg, const char *event, const char *tracefs_name), void *arg,
		struct diag *d);

/* kernel_formats_open - a descriptor for kernel_fields(); or -errno.  The caller closes it. */
int kernel_formats_open(struct diag *d);
/* kernel_fields - append the fields of event @name, "sched:sched_switch" or
 * "syscalls:sys_enter_openat", as the metadata of a recording by BPF has them: the inside of a TSDL
 * struct.  0 or -errno. */
int kernel_fields(int formats, const char *name, struct text *to, struct diag *d);

/* kernel_reap - remove the instances and probes that dead recorders left. kernel_open does so first.
 * @root: of tracefs. Returns the number of instances, or a negative errno. */
int kernel_reap(int root, struct diag *d);

#endif
