/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/names.h - names of flags and commands in the arguments of system calls.
 *
 * names.sh makes the tables at build time from the headers of the system, so they match the target
 * machine and nothing is copied from other projects. Each table ends with a NULL name.
 */
#ifndef ANALYSIS_SYSCALLS_NAMES_H
#define ANALYSIS_SYSCALLS_NAMES_H

#include <stdint.h>

struct call_name {
	const char *name;
	uint64_t value;
};

extern const struct call_name call_names_open[];
extern const struct call_name call_names_at[];
extern const struct call_name call_names_at_access[];
extern const struct call_name call_names_at_unlink[];
extern const struct call_name call_names_statx_mask[];
extern const struct call_name call_names_fcntl[];
extern const struct call_name call_names_fd[];
extern const struct call_name call_names_flock[];
extern const struct call_name call_names_prot[];
extern const struct call_name call_names_map[];
extern const struct call_name call_names_madvise[];
extern const struct call_name call_names_fadvise[];
extern const struct call_name call_names_mremap[];
extern const struct call_name call_names_msync[];
extern const struct call_name call_names_mlockall[];
extern const struct call_name call_names_clone[];
extern const struct call_name call_names_unshare[];
extern const struct call_name call_names_sched[];
extern const struct call_name call_names_futex[];
extern const struct call_name call_names_futex_flags[];
extern const struct call_name call_names_epoll_ctl[];
extern const struct call_name call_names_epoll[];
extern const struct call_name call_names_seek[];
extern const struct call_name call_names_prctl[];
extern const struct call_name call_names_arch_prctl[];
extern const struct call_name call_names_wait[];
extern const struct call_name call_names_waitid[];
extern const struct call_name call_names_random[];
extern const struct call_name call_names_memfd[];
extern const struct call_name call_names_timerfd[];
extern const struct call_name call_names_timerfd_set[];
extern const struct call_name call_names_inotify[];
extern const struct call_name call_names_inotify_mask[];
extern const struct call_name call_names_fallocate[];
extern const struct call_name call_names_rename[];
extern const struct call_name call_names_mount[];
extern const struct call_name call_names_seccomp[];
extern const struct call_name call_names_ptrace[];
extern const struct call_name call_names_rlimit[];
extern const struct call_name call_names_rusage[];
extern const struct call_name call_names_priority[];
extern const struct call_name call_names_clock[];
extern const struct call_name call_names_itimer[];
extern const struct call_name call_names_timer[];
extern const struct call_name call_names_close_range[];
extern const struct call_name call_names_ioctl[];
extern const struct call_name call_names_ipproto[];
extern const struct call_name call_names_ip[];
extern const struct call_name call_names_tcp[];
extern const struct call_name call_names_so[];
extern const struct call_name call_names_sigmask[];
extern const struct call_name call_names_rwf[];
extern const struct call_name call_names_eventfd[];
extern const struct call_name call_names_signalfd[];
extern const struct call_name call_names_family[];
extern const struct call_name call_names_socket[];
extern const struct call_name call_names_socket_flags[];
extern const struct call_name call_names_message[];
extern const struct call_name call_names_sol[];
extern const struct call_name call_names_shutdown[];
extern const struct call_name call_names_access[];
extern const struct call_name call_names_umount[];
extern const struct call_name call_names_signal_code[];
extern const struct call_name call_names_child_code[];
extern const struct call_name call_names_fault_code[];
extern const struct call_name call_names_ipc[];
extern const struct call_name call_names_poll[];
extern const struct call_name call_names_epoll_events[];
extern const struct call_name call_names_sa[];
extern const struct call_name call_names_statx_attribute[];
extern const struct call_name call_names_magic[];
extern const struct call_name call_names_iflag[];
extern const struct call_name call_names_oflag[];
extern const struct call_name call_names_cflag[];
extern const struct call_name call_names_lflag[];
extern const struct call_name call_names_baud[];
extern const struct call_name call_names_lock[];
extern const struct call_name call_names_statvfs[];
extern const struct call_name call_names_sigstack[];

#endif
