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

/* The order in which flags are shown, in the value of a table's last element. */
enum { CALL_RISING, CALL_FALLING, CALL_AS_LISTED };

struct call_name {
	const char *name;
	uint64_t value;
	const char *unknown; /* of the last element, without a name: the comment for other
			      * numbers */
};

extern const struct call_name call_names_open[];
extern const struct call_name call_names_at[];
extern const struct call_name call_names_setns[];
extern const struct call_name call_names_wait_options[];
extern const struct call_name call_names_pkey_all[];
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
extern const struct call_name call_names_key_caps1[];
extern const struct call_name call_names_key_caps0[];
extern const struct call_name call_names_key_move[];
extern const struct call_name call_names_key_default[];
extern const struct call_name call_names_breakpoint[];
extern const struct call_name call_names_perf_cache_result[];
extern const struct call_name call_names_perf_cache_op[];
extern const struct call_name call_names_perf_cache[];
extern const struct call_name call_names_perf_hardware[];
extern const struct call_name call_names_perf_size[];
extern const struct call_name call_names_registers[];
extern const struct call_name call_names_audit_arch[];
extern const struct call_name call_names_peek_signals[];
extern const struct call_name call_names_ptrace_info[];
extern const struct call_name call_names_ptrace_option[];
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
extern const struct call_name call_names_poll[];
extern const struct call_name call_names_epoll_events[];
extern const struct call_name call_names_sa[];
extern const struct call_name call_names_statx_all[];
extern const struct call_name call_names_statx_attribute[];
extern const struct call_name call_names_magic[];
extern const struct call_name call_names_iflag[];
extern const struct call_name call_names_oflag[];
extern const struct call_name call_names_cflag[];
extern const struct call_name call_names_lflag[];
extern const struct call_name call_names_baud[];
extern const struct call_name call_names_msg_ipc[];
extern const struct call_name call_names_landlock_create[];
extern const struct call_name call_names_landlock_rule[];
extern const struct call_name call_names_landlock_fs[];
extern const struct call_name call_names_fan_class[];
extern const struct call_name call_names_fan_init[];
extern const struct call_name call_names_fan_mark[];
extern const struct call_name call_names_fan_event[];
extern const struct call_name call_names_resolve[];
extern const struct call_name call_names_membarrier[];
extern const struct call_name call_names_membarrier_flags[];
extern const struct call_name call_names_kcmp[];
extern const struct call_name call_names_reboot_magic[];
extern const struct call_name call_names_reboot[];
extern const struct call_name call_names_mpol[];
extern const struct call_name call_names_mpol_mode[];
extern const struct call_name call_names_mpol_get[];
extern const struct call_name call_names_mpol_move[];
extern const struct call_name call_names_ioprio_who[];
extern const struct call_name call_names_ioprio_class[];
extern const struct call_name call_names_keyctl[];
extern const struct call_name call_names_key_serial[];
extern const struct call_name call_names_timex_modes[];
extern const struct call_name call_names_timex_status[];
extern const struct call_name call_names_swap[];
extern const struct call_name call_names_close[];
extern const struct call_name call_names_fsopen[];
extern const struct call_name call_names_fsmount[];
extern const struct call_name call_names_fspick[];
extern const struct call_name call_names_fsconfig[];
extern const struct call_name call_names_fsmount_attr[];
extern const struct call_name call_names_mount_attr[];
extern const struct call_name call_names_move_mount[];
extern const struct call_name call_names_open_tree[];
extern const struct call_name call_names_mount_setattr[];
extern const struct call_name call_names_propagation[];
extern const struct call_name call_names_owner_type[];
extern const struct call_name call_names_notify[];
extern const struct call_name call_names_sched_flag[];
extern const struct call_name call_names_userfault[];
extern const struct call_name call_names_splice[];
extern const struct call_name call_names_sync_range[];
extern const struct call_name call_names_mlock2[];
extern const struct call_name call_names_io_uring_setup[];
extern const struct call_name call_names_io_uring_enter[];
extern const struct call_name call_names_io_uring_feat[];
extern const struct call_name call_names_io_uring_register[];
extern const struct call_name call_names_kexec[];
extern const struct call_name call_names_kexec_arch[];
extern const struct call_name call_names_kexec_file[];
extern const struct call_name call_names_module_init[];
extern const struct call_name call_names_delete_module[];
extern const struct call_name call_names_rseq[];
extern const struct call_name call_names_perf_open[];
extern const struct call_name call_names_xattr[];
extern const struct call_name call_names_pkey[];
extern const struct call_name call_names_bpf_cmd[];
extern const struct call_name call_names_sigev[];
extern const struct call_name call_names_mq_attr[];
extern const struct call_name call_names_sem[];
extern const struct call_name call_names_shmat[];
extern const struct call_name call_names_sem_cmd[];
extern const struct call_name call_names_pidfd_open[];
extern const struct call_name call_names_futex2[];
extern const struct call_name call_names_seccomp_mode[];
extern const struct call_name call_names_seccomp_filter[];
extern const struct call_name call_names_seccomp_ret[];
extern const struct call_name call_names_personality[];
extern const struct call_name call_names_memfd_secret[];
extern const struct call_name call_names_handle[];
extern const struct call_name call_names_syslog[];
extern const struct call_name call_names_quota[];
extern const struct call_name call_names_quota_type[];
extern const struct call_name call_names_qfmt[];
extern const struct call_name call_names_dqf[];
extern const struct call_name call_names_iif[];
extern const struct call_name call_names_qif[];
extern const struct call_name call_names_fs_quota[];
extern const struct call_name call_names_fs_quota_type[];
extern const struct call_name call_names_ipv6[];
extern const struct call_name call_names_packet[];
extern const struct call_name call_names_packet_mr[];
extern const struct call_name call_names_packet_type[];
extern const struct call_name call_names_arphrd[];
extern const struct call_name call_names_eth_p[];
extern const struct call_name call_names_nfc_protocol[];
extern const struct call_name call_names_icmp[];
extern const struct call_name call_names_icmp_type[];
extern const struct call_name call_names_time_state[];
extern const struct call_name call_names_so_get[];
extern const struct call_name call_names_loglevel[];
extern const struct call_name call_names_fan_mask[];
extern const struct call_name call_names_bpf_class[];
extern const struct call_name call_names_bpf_size[];
extern const struct call_name call_names_bpf_mode[];
extern const struct call_name call_names_bpf_source[];
extern const struct call_name call_names_bpf_alu[];
extern const struct call_name call_names_bpf_jump[];
extern const struct call_name call_names_bpf_value[];
extern const struct call_name call_names_bpf_misc[];
extern const struct call_name call_names_skf[];
extern const struct call_name call_names_skf_ad[];
extern const struct call_name call_names_iocb_cmd[];
extern const struct call_name call_names_iocb_flag[];
extern const struct call_name call_names_lock[];
extern const struct call_name call_names_statvfs[];
extern const struct call_name call_names_directory[];
extern const struct call_name call_names_sigstack[];
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
extern const struct call_name call_names_bus_code[];
extern const struct call_name call_names_illegal_code[];
extern const struct call_name call_names_float_code[];
extern const struct call_name call_names_trap_code[];
extern const struct call_name call_names_poll_code[];
extern const struct call_name call_names_ipc[];

/* The tables by name, of either family. */
struct call_names_entry {
	const char *name;
	const struct call_name *names;
};
extern const struct call_names_entry call_names_of_uapi[], call_names_of_libc[];

#endif
