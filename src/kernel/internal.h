/* SPDX-License-Identifier: MIT */
/* kernel/internal.h - struct kernel, shared by kernel.c, the setup files and snapshot.c. */
#ifndef KERNEL_INTERNAL_H
#define KERNEL_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>

#include "capture/table.h"
#include "kernel/bpf/bpf.h"
#include "kernel/threads/cgroup.h"
#include "kernel/convert/cpu.h"
#include "kernel/kernel.h"
#include "kernel/probe/functions.h"
#include "kernel/threads/pids.h"
#include "kernel/perf/profile.h"
#include "kernel/select/select.h"
#include "kernel/tracefs/syscalls.h"
#include "kernel/tracefs/tracefs.h"

struct kernel {
	int root;			 /* of tracefs; -1: the instance is borrowed */
	int available;			 /* then: the list of events; -1 once it is read */
	struct kernel_instance instance; /* none where BPF programs record all: setup_recorders.c */
	struct kernel_instance_setup *setup; /* while it is prepared */
	struct kernel_selection selection;   /* without its filters */
	bool is_own;			     /* there is no instance: setup_own.c */
	bool attaches;			     /* perf samples own threads alone: setup_perf.c */
	int refused;			     /* by tracefs, and by a lender: is_own may do */
	struct diag refused_why;
	bool is_triggers_only; /* only watched events are enabled */
	bool is_paused;
	bool has_uprobes, has_kprobes;
	struct kernel_functions functions;
	struct kernel_drain drain;
	struct kernel_profile *profile;	    /* NULL: none */
	struct kernel_bpf *bpf;		    /* or NULL */
	struct diag bpf_refused;	    /* why BPF does not record an event, or anything */
	uint32_t capture_bytes;		    /* of buffers, and structures too; 0: neither */
	unsigned captures;		    /* CAPTURE_*, by BPF programs */
	uint8_t texts[KERNEL_SYSCALLS_MAX]; /* texts in entries: kernel_layout_texts() */
	int n_events;			    /* recorded by the instance */
	uint32_t idle_bpf;		    /* bit of the program for switches from idle; 0: none */
	char *busy_filter;		    /* of the other switches: setup_idle.c */
	struct kernel_cpu *cpus;
	int n_cpus;
	uint64_t missed_ns;	      /* when missed probes were last read */
	struct kernel_losses *losses; /* per CPU, and one for probes; shared with successors */
	pid_t *pids;		      /* added so far */
	int n_pids;
	bool whole_machine;
	bool dumps_followed;
	bool records_calls;		/* with their arguments */
	struct kernel_cgroups *cgroups; /* or NULL */
	struct pids followed;		/* during a scan of cgroups: threads that the kernel follows
			       * already */
	void (*entered)(void *arg, pid_t pid);
	void *entered_arg;
	bool is_overwrite; /* `overwrite` */
	bool is_started;
	bool ends_soon;
	uint64_t clock_offset_ns;
	bool is_of_command;
	uint64_t bytes_before; /* in traces before the last rotation */
	struct snapshot {      /* while one is written drain.sink belongs to it */
		bool is_open;
		struct ctf_writer main;
		uint16_t main_described;
		uint64_t main_events, main_malformed;
		uint64_t from_ns;
		uint64_t lost;
		int next_cpu;
	} snapshot;
};

/* kernel_set - write @value to a @file of the instance.  0, or -errno with the reason. */
int kernel_set(const struct kernel *k, const char *file, const char *value, struct diag *d);

/* kernel_open_trace - the CTF trace that is written from now on. @begin_ns: nothing in it is older;
 * 0: not known. A flight recorder overwrites, so there it is not used. */
int kernel_open_trace(struct kernel *k, const char *path, uint64_t begin_ns, struct diag *d);
/* kernel_end_trace - its streams end now, together. Nothing is written to it afterwards. */
void kernel_end_trace(struct kernel *k);

/* kernel_prepare, kernel_complete - prepare everything before the first record: open.c. On an error
 * kernel_close() restores the previous state. */
int kernel_prepare(struct kernel *k, const struct kernel_options *o, struct diag *d);
int kernel_complete(struct kernel *k, const struct kernel_options *o, struct diag *d);
/* kernel_thread_start - a thread without signals; false: there is none. */
bool kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* The size that is asked for; before Linux 6.8 a sub-buffer is a page. */
enum { KERNEL_SUBBUFFER_KIB = 64 };

/*
 * An instance while it is set up: kernel/setup_instance.c. It begins when the instance is made; the
 * events are announced when they are chosen; when it has ended, events may be enabled; and when all
 * programs are made, the buffers get another size if they need it. Each end returns 0 or -errno;
 * @err: an earlier error, which is reported first.
 */
struct kernel_instance_setup {
	struct kernel *kernel;
	const struct kernel_options *o;
	struct diag d;
	int err;
	bool has_begun, has_thread;
	pthread_t thread;
	int subbuffers; /* the file that takes their size; -1: none */
	sem_t events;	/* posted when they are read, or failed */
	bool has_events, is_quiet;
	uint64_t kib; /* of each CPU; 0: not sized yet */
};
int kernel_instance_begin(struct kernel_instance_setup *p, struct diag *d);
void kernel_instance_announce(struct kernel_instance_setup *p);
int kernel_instance_end(struct kernel_instance_setup *p, int err, struct diag *d);
int kernel_instance_resize(struct kernel_instance_setup *p, struct diag *d);
/* kernel_instance_require - make and set up the instance of a @k that is being prepared, unless it has
 * one: an event is left to it. 0 or -errno. */
int kernel_instance_require(struct kernel *k, struct diag *d);
/* kernel_formats - a directory with the formats of events. Those of a new instance, all 360 of system
 * calls, would be looked up for the first time, which takes twice as long. */
int kernel_formats(const struct kernel *k);

/* kernel_setup_selection - resolve the patterns of @o. 0 or -errno. */
int kernel_setup_selection(struct kernel *k, const struct kernel_options *o, struct diag *d);
/* kernel_setup_recorders - do so, make the instance if there is any need of it, and open BPF. 0 or
 * -errno. */
int kernel_setup_recorders(struct kernel *k, const struct kernel_options *o, struct diag *d);

/* kernel_setup_idle - let a BPF program record the switches from idle if perf records the others. @f: room. */
int kernel_setup_idle(struct kernel *k, struct kernel_format *f, struct diag *d);
/* kernel_setup_perf - the part of kernel_complete() for call stacks and counters. */
int kernel_setup_perf(struct kernel *k, const struct kernel_options *o, struct diag *d);

/* kernel_setup_own - replaces kernel_complete(): tracefs @refused access, for the reason in @d. 0; or
 * @refused, with @d unchanged, if perf is not enough for @o; or another -errno. */
int kernel_setup_own(struct kernel *k, const struct kernel_options *o, int refused, struct diag *d);

/* kernel_check_pids - refuse to follow processes in a pid namespace: there the kernel would take their
 * pids for those of others. -EOPNOTSUPP. */
int kernel_check_pids(const struct kernel_options *o, struct diag *d);
/* kernel_note_pids - put into an empty @d what a recording of the whole machine lacks there. */
void kernel_note_pids(const struct kernel_options *o, struct diag *d);
/* kernel_follow_again - in a successor: give perf the threads that the kernel follows. */
void kernel_follow_again(struct kernel *k);
/* kernel_begin_cgroups - add the members of the cgroups, and watch for later ones. 0 or -errno. */
int kernel_begin_cgroups(struct kernel *k, struct diag *d);
/* kernel_scan_cgroups - add the members that entered since the last scan. 0 or -errno. */
int kernel_scan_cgroups(struct kernel *k, struct diag *d);

/* kernel_format_of_missing_call - the format of the entry of a call that this kernel lacks; false:
 * not known. */
bool kernel_format_of_missing_call(const char *call, struct kernel_format *f);

/* kernel_describe_arguments - give the classes the arguments of the chosen system calls' entries.
 * @f is scratch space. 0 or -errno. */
int kernel_describe_arguments(struct kernel *k, const struct kernel_selection *s, bool by_bpf,
			      struct kernel_format *f);

/* kernel_setup_syscalls - set up the chosen entries and exits; @f is scratch space. */
int kernel_setup_syscalls(struct kernel *k, struct kernel_selection *s, struct kernel_format *f,
			  struct diag *d);

/* kernel_set_filter - set the filter of an event in the instance. The kernel appends its error to
 * the filter's file; @d gets it together with @expression, unless that is NULL. */
int kernel_set_filter(const struct kernel *k, const char *system, const char *event,
		      const char *filter, const char *expression, struct diag *d);

/* kernel_translate_filter - for kernel_selection_filter(), with a struct kernel_syscall_filter as
 * @arg. */
struct kernel_syscall_filter {
	const struct kernel_format *format;
	const char *expression; /* the last */
	struct diag *d;
};
int kernel_translate_filter(void *arg, const char *expression, struct text *t);

#endif
