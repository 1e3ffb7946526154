/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/assemble.h - the BPF programs that record, as instructions.
 *
 * Each program serves one tracepoint of the kernel (type tp_btf: arguments are typed and read
 * directly). It decides whether the event is wanted, reserves a record in its CPU's ring, fills it
 * and publishes it: kernel/bpf/shared_ring.h. It uses only features that verifiers from Linux 6.1
 * on accept.
 */
#ifndef KERNEL_BPF_ASSEMBLE_H
#define KERNEL_BPF_ASSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/btf.h"
#include "bpf/code.h"
#include "kernel/tracefs/format.h"

/* Offsets for files of descriptors: kernel/bpf/capture_file.c. Those of sockets, from unix_peer on, may be
 * negative: unknown. */
struct bpf_file_layout {
	int files, fdt, fd, max_fds;
	int inode, private_data, mode, device, number, links;
	int sk, family, protocol, local_port, remote_port, local, remote, prot, prot_name;
	int local6, remote6;
	int sk_socket, socket_inode, unix_peer, unix_address, address_size, address_path;
	int netlink_port;
};

struct bpf_plan {
	int rings, control;   /* descriptors of the maps */
	uint32_t ring_size;   /* bytes, a power of two */
	uint32_t ring_kept;   /* of them only births, names and ends use these: lives.c */
	uint32_t bit;	      /* of control->is_on, for the next program */
	bool follows;	      /* only threads in control->pids */
	bool has_extra;	      /* also captures that are made on request only: capture/table.h */
	bool has_environment; /* also texts of environments */
	bool has_files;	      /* also the kernel's files of descriptors */
	bool has_table;	      /* the BTF has files, fdt and max_fds: for has_extra */
	struct bpf_file_layout file;
	/* Offsets in the kernel's structures; negative: unknown. */
	int task_pid, task_comm, task_prio, task_exit_state;
	int task_cpu, task_status; /* of thread_info, in the task */
	bool has_sigaction;	   /* k_sigaction begins with handler and flags */
	bool has_lives;		   /* births, names and ends too: for them are .. */
	int task_signal, score,
		path; /* .. oom_score_adj of signal_struct, filename of linux_binprm */
};

/* bpf_plan_layout - find the offsets. */
void bpf_plan_layout(struct bpf_plan *p, const struct btf *b);

/* bpf_file_layout - the same for files of descriptors; false if they cannot be read. */
bool bpf_file_layout(struct bpf_file_layout *l);

/* System calls. @kernel_id: of raw_syscalls:sys_enter or sys_exit, for the record. @filters: @n of
 * them; control->calls has the number of each call's filter, from 1. 0; -EOPNOTSUPP if one cannot
 * be compiled. */
struct kernel_bpf_filter;
int bpf_program_sys_enter(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			  const struct kernel_bpf_filter *filters, int n);
int bpf_program_sys_exit(struct bpf_code *c, const struct bpf_plan *p, uint16_t kernel_id,
			 const struct kernel_bpf_filter *filters, int n);

/* bpf_program_event - another event, if it passes @filter (NULL: always). -EOPNOTSUPP if there is
 * no program for it or for its format, or if the filter cannot be compiled. */
int bpf_program_event(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f,
		      const char *filter);

/* bpf_has_event - true if a program records the event; bpf_program_event() may refuse its format. */
bool bpf_has_event(const char *system, const char *event);

/* bpf_program_signal - a signal that is sent or delivered, with its siginfo behind the fields of
 * @f: kernel_bpf_siginfo_at(). -EOPNOTSUPP for other events and formats. */
int bpf_program_signal(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f);
bool bpf_has_signal(const char *system, const char *event);

/* bpf_program_life - a birth, a name or an end of a thread; bpf_has_life - whether it is one;
 * bpf_plan_lives - find the offsets for them. -EOPNOTSUPP for other events and formats. */
void bpf_plan_lives(struct bpf_plan *p, const struct btf *b);
int bpf_program_life(struct bpf_code *c, const struct bpf_plan *p, const struct kernel_format *f);
bool bpf_has_life(const char *system, const char *event);

/* Children of followed threads become followed; ended threads are removed. */
void bpf_program_fork(struct bpf_code *c, const struct bpf_plan *p);
void bpf_program_free(struct bpf_code *c, const struct bpf_plan *p);

#endif
