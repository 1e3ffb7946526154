#!/bin/sh
# SPDX-License-Identifier: MIT
# analysis/syscalls/names/names.sh - writes C tables with the names of flags and commands, from the system headers.
#
# Usage: names.sh FAMILY COMPILER...   FAMILY is "uapi" or "libc": headers of both cannot be included together.
#
# The compiler lists the macros and computes their values, so a cross build gets the values of the
# target.  A table has its name, a pattern of macros, and a pattern of the macros to leave out: those that are not flags,
# or that are another name of a flag in the table.  A missing header leaves its tables empty.
family=$1
sources=$(dirname "$0")/../../..
shift

uapi_headers='linux/fcntl.h asm/mman.h linux/mman.h linux/sched.h linux/futex.h linux/eventpoll.h linux/fs.h
	linux/prctl.h asm/prctl.h linux/wait.h linux/random.h linux/memfd.h linux/timerfd.h
	linux/inotify.h linux/falloc.h linux/stat.h linux/mount.h linux/seccomp.h linux/ptrace.h asm/ptrace-abi.h
	linux/resource.h linux/time.h linux/close_range.h linux/sockios.h asm/ioctls.h linux/perf_event.h
	linux/ipc.h linux/landlock.h linux/fanotify.h linux/openat2.h linux/membarrier.h linux/kcmp.h
	linux/reboot.h linux/mempolicy.h linux/ioprio.h linux/keyctl.h linux/timex.h linux/io_uring.h linux/kexec.h linux/module.h
	linux/rseq.h linux/xattr.h linux/bpf.h linux/sem.h linux/shm.h linux/pidfd.h linux/personality.h asm/siginfo.h linux/in.h linux/tcp.h asm/socket.h asm/signal.h linux/fadvise.h linux/userfaultfd.h asm/poll.h linux/magic.h asm/termbits.h linux/aio_abi.h linux/quota.h linux/dqblk_xfs.h linux/in6.h linux/if_packet.h linux/filter.h linux/audit.h linux/hw_breakpoint.h linux/if_ether.h linux/nfc.h linux/netlink.h linux/capability.h'
libc_headers='sys/socket.h netinet/tcp.h sys/eventfd.h sys/signalfd.h unistd.h sys/mount.h signal.h sys/wait.h sys/ipc.h sys/statvfs.h fcntl.h sched.h dirent.h netinet/in.h linux/icmp.h sys/ptrace.h elf.h net/if_arp.h netinet/udp.h'

tables() {
	cat <<-'END'
	uapi at AT_(SYMLINK_NOFOLLOW|REMOVEDIR|SYMLINK_FOLLOW|NO_AUTOMOUNT|EMPTY_PATH|RECURSIVE) - AT_???
	uapi at_access AT_(EACCESS|SYMLINK_NOFOLLOW|EMPTY_PATH) - AT_???
	uapi at_unlink AT_REMOVEDIR -  AT_???
	uapi statx_mask STATX_[A-Z_]+ STATX__RESERVED|STATX_ATTR_.* STATX_???
	uapi fcntl F_[A-Z0-9_]+ F_(OK|RDLCK|WRLCK|UNLCK|EXLCK|SHLCK|OWNER_.*|SEAL_.*|LINUX_SPECIFIC_BASE) F_???
	uapi seal F_SEAL_[A-Z_]+ - F_SEAL_???
	uapi capability _LINUX_CAPABILITY_VERSION_[0-9] - _LINUX_CAPABILITY_VERSION_???
	uapi netlink NETLINK_(ROUTE|UNUSED|USERSOCK|FIREWALL|SOCK_DIAG|NFLOG|XFRM|SELINUX|ISCSI|AUDIT|FIB_LOOKUP|CONNECTOR|NETFILTER|IP6_FW|DNRTMSG|KOBJECT_UEVENT|GENERIC|SCSITRANSPORT|ECRYPTFS|RDMA|CRYPTO|SMC) - NETLINK_???
	libc udp UDP_(CORK|ENCAP|NO_CHECK6_TX|NO_CHECK6_RX|SEGMENT|GRO) - UDP_???
	uapi fd FD_CLOEXEC - FD_???
	uapi prot PROT_[A-Z0-9_]+ PROT_(BTI|MTE|SAO|ADI) PROT_???
	uapi map MAP_[A-Z0-9_]+ MAP_(FILE|TYPE|HUGE_.*|UNINITIALIZED) MAP_???
	uapi madvise MADV_[A-Z_]+ - MADV_???
	uapi fadvise POSIX_FADV_[A-Z]+ - POSIX_FADV_???
	uapi mremap MREMAP_[A-Z]+ - MREMAP_???
	uapi mlockall MCL_[A-Z]+ - MCL_???
	uapi clone CLONE_[A-Z_0-9]+ CLONE_ARGS_.*|CLONE_(CLEAR_SIGHAND|INTO_CGROUP|NEWTIME) CLONE_???
	uapi setns CLONE_NEW[A-Z]+ - CLONE_NEW???
	uapi unshare CLONE_(NEW[A-Z]+|FS|FILES|SYSVSEM|VM|SIGHAND|THREAD) - CLONE_???
	libc sched SCHED_(OTHER|FIFO|RR|BATCH|ISO|IDLE|DEADLINE) - SCHED_???
	uapi futex FUTEX_(WAIT|WAKE|FD|REQUEUE|CMP_REQUEUE|WAKE_OP|LOCK_PI|LOCK_PI2|UNLOCK_PI|TRYLOCK_PI|WAIT_BITSET|WAKE_BITSET|WAIT_REQUEUE_PI|CMP_REQUEUE_PI) - FUTEX_???
	uapi futex_flags FUTEX_(PRIVATE_FLAG|CLOCK_REALTIME) - FUTEX_???
	uapi epoll_ctl EPOLL_CTL_[A-Z]+ - EPOLL_CTL_???
	uapi epoll EPOLL_CLOEXEC - EPOLL_???
	uapi seek SEEK_[A-Z]+ SEEK_MAX SEEK_???
	uapi prctl PR_((SET|GET|CAPBSET)_[A-Z0-9_]+|CAP_AMBIENT|MCE_KILL|MCE_KILL_GET|TASK_PERF_EVENTS_(DIS|EN)ABLE|SCHED_CORE) PR_SET_(MM_.*|PTRACER_ANY) PR_???
	uapi arch_prctl ARCH_[A-Z0-9_]+ - ARCH_???
	uapi waitid P_(ALL|PID|PGID|PIDFD) - P_???
	uapi random GRND_[A-Z]+ - GRND_???
	uapi memfd MFD_[A-Z_]+ MFD_HUGE_.* MFD_???
	uapi inotify IN_(CLOEXEC|NONBLOCK) - IN_???
	uapi inotify_mask IN_(ACCESS|MODIFY|ATTRIB|CLOSE_WRITE|CLOSE_NOWRITE|OPEN|MOVED_FROM|MOVED_TO|CREATE|DELETE|DELETE_SELF|MOVE_SELF|UNMOUNT|Q_OVERFLOW|IGNORED|ONLYDIR|DONT_FOLLOW|EXCL_UNLINK|MASK_CREATE|MASK_ADD|ISDIR|ONESHOT) - IN_???
	uapi fallocate FALLOC_FL_[A-Z_]+ - FALLOC_FL_???
	uapi rename RENAME_[A-Z]+ - RENAME_??
	uapi mount MS_[A-Z_]+ MS_(ASYNC|SYNC|INVALIDATE|RMT_MASK|MGC_VAL|MGC_MSK|VERBOSE|KERNMOUNT_.*) MS_???
	uapi seccomp SECCOMP_(SET|GET)_[A-Z_]+ SECCOMP_GET_NOTIF_SIZES_.* SECCOMP_SET_MODE_???
	libc ptrace PTRACE_[A-Z0-9_]+ PTRACE_((EVENT|O|EVENTMSG|SYSCALL_INFO|PEEKSIGINFO)_.*|OLDSETOPTIONS) PTRACE_???
	uapi ptrace_option PTRACE_O_[A-Z]+ PTRACE_O_MASK PTRACE_O_???
	uapi ptrace_info PTRACE_SYSCALL_INFO_[A-Z]+ - PTRACE_SYSCALL_INFO_???
	uapi peek_signals PTRACE_PEEKSIGINFO_SHARED - PTRACE_PEEKSIGINFO_???
	uapi audit_arch AUDIT_ARCH_[A-Z0-9_]+ - AUDIT_ARCH_???
	libc registers NT_[A-Z0-9_]+ NT_(GNU_.*|STAPSDT|VERSION|PRFPREG) NT_???
	uapi rlimit RLIMIT_[A-Z]+ - RLIMIT_???
	uapi rusage RUSAGE_[A-Z]+ - RUSAGE_???
	uapi priority PRIO_(PROCESS|PGRP|USER) - PRIO_???
	uapi clock CLOCK_[A-Z_]+ - CLOCK_???
	uapi itimer ITIMER_[A-Z]+ - ITIMER_???
	uapi timer TIMER_ABSTIME - TIMER_???
	uapi close_range CLOSE_RANGE_[A-Z]+ - CLOSE_RANGE_???
	uapi ioctl (TC[A-Z0-9]+|TIOC[A-Z0-9_]+|FIO[A-Z]+|SIOC[A-Z0-9]+|BLK[A-Z0-9]+|FS_IOC_[A-Z0-9_]+|FI[A-Z]+|PERF_EVENT_IOC_[A-Z_]+) TIOC(PKT|M|SER)_.*|TIOCINQ|TCSANOW|SIOCDEVPRIVATE|SIOCPROTOPRIVATE|FIRST.*|FS_IOC32_.*|FS_IOC_FSSETXATTR|FS_IOC_FSGETXATTR|FITRIM|FI(DEDUPERANGE|CLONERANGE)|TIOCG?S?RS485|TIOC[GS]ISO7816|TCGETS2|TCSETS2|TCSETSW2|TCSETSF2|SIOC(INQ|OUTQ)
	uapi ipproto IPPROTO_[A-Z0-9]+ IPPROTO_(MAX|HOPOPTS) IPPROTO_???
	uapi ip (IP_[A-Z0-9_]+|MCAST_[A-Z_]+) IP_(RECVRETOPTS|PMTUDISC_.*|DEFAULT_.*|MAX_.*|BIND_ADDRESS_NO_PORT_.*)|MCAST_(EXCLUDE|INCLUDE) IP_???
	uapi tcp TCP_[A-Z0-9_]+ TCP_(CA_.*|CM_INQ|NO_QUEUE|RECV_QUEUE|SEND_QUEUE|QUEUES_NR|FLAG_.*|RESERVED_BITS|DATA_OFFSET|NLA_.*|REPAIR_(ON|OFF|OFF_NO_WP)|MSS_.*|MD5SIG_(MAXKEYLEN|FLAG_.*)|AO_.*|RECEIVE_ZEROCOPY_.*) TCP_???
	uapi so SO_[A-Z0-9_]+ SO_(EE_.*|PEERSEC_.*|TIMESTAMP(NS|ING)?|RCVTIMEO|SNDTIMEO|GET_FILTER|DETACH_BPF) SO_???
	uapi sigmask SIG_(BLOCK|UNBLOCK|SETMASK) - SIG_???
	uapi rwf RWF_[A-Z]+ RWF_SUPPORTED RWF_???
	uapi statx_all STATX_[A-Z_]+ STATX__RESERVED|STATX_ATTR_.* STATX_???
	uapi statx_attribute STATX_ATTR_[A-Z_]+ - STATX_ATTR_???
	uapi magic [A-Z0-9_]+_(SUPER_)?MAGIC(_NUMBER)? EXT[34]_SUPER_MAGIC|.*(BALLOON|FUTEXFS|MTD_INODE|STACK_END|QNX6|AFS_FS|NVRAM|LIBRARY|TIMER|IPC|LOCK).*
	uapi iflag (IGNBRK|BRKINT|IGNPAR|PARMRK|INPCK|ISTRIP|INLCR|IGNCR|ICRNL|IUCLC|IXON|IXANY|IXOFF|IMAXBEL|IUTF8) -
	uapi oflag (OPOST|OLCUC|ONLCR|OCRNL|ONOCR|ONLRET|OFILL|OFDEL) -
	uapi cflag (CSTOPB|CREAD|PARENB|PARODD|HUPCL|CLOCAL|CMSPAR|CRTSCTS) -
	uapi lflag (ISIG|ICANON|XCASE|ECHO|ECHOE|ECHOK|ECHONL|NOFLSH|TOSTOP|ECHOCTL|ECHOPRT|ECHOKE|FLUSHO|PENDIN|IEXTEN|EXTPROC) -
	uapi baud B[0-9]+ -
	uapi msg_ipc IPC_(CREAT|EXCL|NOWAIT) - IPC_???
	uapi landlock_create LANDLOCK_CREATE_RULESET_[A-Z]+ - LANDLOCK_CREATE_RULESET_???
	uapi landlock_rule LANDLOCK_RULE_[A-Z_]+ - LANDLOCK_RULE_???
	uapi landlock_fs LANDLOCK_ACCESS_FS_[A-Z_]+ - LANDLOCK_ACCESS_FS_???
	uapi fan_class FAN_CLASS_[A-Z_]+ - FAN_CLASS_???
	uapi fan_init FAN_(CLOEXEC|NONBLOCK|UNLIMITED_QUEUE|UNLIMITED_MARKS|ENABLE_AUDIT|REPORT_(TID|FID|DIR_FID|NAME|PIDFD|TARGET_FID)) - FAN_???
	uapi fan_mark FAN_MARK_[A-Z_]+ FAN_MARK_(IGNORE_SURV|INODE) FAN_MARK_???
	uapi fan_event FAN_(ACCESS|MODIFY|ATTRIB|CLOSE_WRITE|CLOSE_NOWRITE|OPEN|MOVED_FROM|MOVED_TO|CREATE|DELETE|DELETE_SELF|MOVE_SELF|OPEN_EXEC|Q_OVERFLOW|FS_ERROR|OPEN_PERM|ACCESS_PERM|OPEN_EXEC_PERM|EVENT_ON_CHILD|RENAME|ONDIR) - FAN_???
	uapi resolve RESOLVE_[A-Z_]+ - RESOLVE_???
	uapi membarrier MEMBARRIER_(CMD_[A-Z_]+) MEMBARRIER_CMD_(SHARED|FLAG_.*) MEMBARRIER_CMD_???
	uapi membarrier_flags MEMBARRIER_CMD_FLAG_CPU - MEMBARRIER_CMD_FLAG_???
	uapi kcmp KCMP_[A-Z_]+ KCMP_TYPES KCMP_???
	uapi reboot_magic LINUX_REBOOT_MAGIC[0-9][A-C]? - LINUX_REBOOT_MAGIC_???
	uapi reboot LINUX_REBOOT_CMD_[A-Z0-9_]+ - LINUX_REBOOT_CMD_???
	uapi mpol MPOL_(DEFAULT|PREFERRED|BIND|INTERLEAVE|LOCAL|PREFERRED_MANY) - MPOL_???
	uapi mpol_mode MPOL_F_(STATIC_NODES|RELATIVE_NODES|NUMA_BALANCING) - MPOL_??? down
	uapi mpol_get MPOL_F_(NODE|ADDR|MEMS_ALLOWED) - MPOL_???
	uapi mpol_move MPOL_MF_(STRICT|MOVE|MOVE_ALL) - MPOL_???
	uapi mpol_pages MPOL_MF_(MOVE|MOVE_ALL) - MPOL_???
	uapi ioprio_who IOPRIO_WHO_(PROCESS|PGRP|USER) - IOPRIO_WHO_???
	uapi ioprio_class IOPRIO_CLASS_(NONE|RT|BE|IDLE) - IOPRIO_CLASS_???
	uapi keyctl KEYCTL_[A-Z_0-9]+ KEYCTL_(MOVE_EXCL|CAPS.*|SUPPORTS_.*|CAPABILITIES_.*) KEYCTL_???
	uapi key_serial KEY_SPEC_[A-Z_]+ -
	uapi key_default KEY_REQKEY_DEFL_[A-Z_]+ - KEY_REQKEY_DEFL_???
	uapi key_move KEYCTL_MOVE_EXCL - KEYCTL_MOVE_???
	uapi key_caps0 KEYCTL_CAPS0_[A-Z_]+ - KEYCTL_CAPS0_???
	uapi key_caps1 KEYCTL_CAPS1_[A-Z_]+ - KEYCTL_CAPS1_???
	uapi key_operation KEYCTL_SUPPORTS_[A-Z_]+ - KEYCTL_SUPPORTS_???
	uapi timex_modes ADJ_[A-Z_]+ ADJ_ADJTIME ADJ_???
	uapi timex_status STA_[A-Z_]+ STA_RONLY STA_???
	uapi close CLOSE_RANGE_[A-Z]+ - CLOSE_RANGE_???
	uapi fsopen FSOPEN_CLOEXEC - FSOPEN_???
	uapi fsmount FSMOUNT_CLOEXEC - FSMOUNT_???
	uapi fspick FSPICK_[A-Z_]+ - FSPICK_???
	uapi fsconfig FSCONFIG_[A-Z_]+ - FSCONFIG_???
	uapi fsmount_attr MOUNT_ATTR_(RDONLY|NOSUID|NODEV|NOEXEC|NOATIME|STRICTATIME|NODIRATIME) - MOUNT_ATTR_???
	uapi mount_attr MOUNT_ATTR_[A-Z_]+ MOUNT_ATTR__ATIME|MOUNT_ATTR_SIZE_.*|MOUNT_ATTR_RELATIME MOUNT_ATTR_???
	uapi move_mount MOVE_MOUNT_[A-Z_]+ MOVE_MOUNT__MASK MOVE_MOUNT_???
	uapi mount_setattr AT_(SYMLINK_NOFOLLOW|NO_AUTOMOUNT|EMPTY_PATH|RECURSIVE) - AT_???
	uapi propagation MS_(UNBINDABLE|PRIVATE|SLAVE|SHARED) - MS_???
	uapi owner_type F_OWNER_(TID|PID|PGRP) - F_OWNER_???
	uapi notify DN_[A-Z]+ - DN_???
	uapi sched_flag SCHED_FLAG_[A-Z_]+ SCHED_FLAG_(ALL|KEEP_ALL|UTIL_CLAMP) SCHED_FLAG_???
	uapi userfault (O_CLOEXEC|O_NONBLOCK|UFFD_USER_MODE_ONLY) - UFFD_???
	libc splice SPLICE_F_[A-Z]+ - SPLICE_F_???
	uapi sync_range SYNC_FILE_RANGE_[A-Z_]+ SYNC_FILE_RANGE_WRITE_AND_WAIT SYNC_FILE_RANGE_???
	uapi mlock2 MLOCK_ONFAULT - MLOCK_???
	uapi io_uring_setup IORING_SETUP_[A-Z0-9_]+ - IORING_SETUP_???
	uapi io_uring_enter IORING_ENTER_[A-Z_]+ - IORING_ENTER_???
	uapi io_uring_feat IORING_FEAT_[A-Z0-9_]+ - IORING_FEAT_???
	uapi io_uring_register IORING_(UN)?REGISTER_[A-Z_0-9]+ IORING_REGISTER_(LAST|FILES_SKIP|USE_REGISTERED_RING) IORING_REGISTER_???
	uapi kexec KEXEC_(ON_CRASH|PRESERVE_CONTEXT) - KEXEC_???
	uapi kexec_arch KEXEC_ARCH_[A-Z0-9_]+ KEXEC_ARCH_MASK KEXEC_ARCH_???
	uapi kexec_file KEXEC_FILE_[A-Z_]+ - KEXEC_FILE_???
	uapi module_init MODULE_INIT_[A-Z_]+ - MODULE_INIT_???
	uapi delete_module O_(NONBLOCK|TRUNC) - O_??? down
	uapi rseq RSEQ_FLAG_[A-Z]+ - RSEQ_FLAG_???
	uapi perf_open PERF_FLAG_[A-Z_]+ - PERF_FLAG_???
	uapi xattr XATTR_(CREATE|REPLACE) - XATTR_???
	uapi pkey PKEY_DISABLE_[A-Z]+ - PKEY_???
	uapi bpf_cmd BPF_(MAP|PROG|OBJ|BTF|LINK|TASK|ITER|RAW|ENABLE)_[A-Z_]+ BPF_((MAP_TYPE|PROG_TYPE|OBJ_NAME|LINK_TYPE)_.*|PROG_RUN) BPF_???
	uapi bpf_map_type BPF_MAP_TYPE_[A-Z0-9_]+ BPF_MAP_TYPE_CGROUP_STORAGE_DEPRECATED BPF_MAP_TYPE_???
	uapi bpf_prog_type BPF_PROG_TYPE_[A-Z0-9_]+ - BPF_PROG_TYPE_???
	uapi bpf_map_flag BPF_F_(NO_PREALLOC|NO_COMMON_LRU|NUMA_NODE|RDONLY|WRONLY|STACK_BUILD_ID|ZERO_SEED|RDONLY_PROG|WRONLY_PROG|CLONE|MMAPABLE|PRESERVE_ELEMS|INNER_MAP) - BPF_F_???
	uapi bpf_prog_flag BPF_F_(STRICT_ALIGNMENT|ANY_ALIGNMENT|TEST_RND_HI32|TEST_STATE_FREQ|SLEEPABLE|XDP_HAS_FRAGS) - BPF_F_???
	uapi bpf_file BPF_F_(RDONLY|WRONLY) - BPF_F_???
	uapi bpf_attach BPF_(CGROUP_[A-Z0-9_]+|SK_[A-Z_]+|LIRC_MODE2|FLOW_DISSECTOR|TRACE_[A-Z_]+|MODIFY_RETURN|LSM_[A-Z]+|XDP_[A-Z]+|XDP|PERF_EVENT) BPF_(CGROUP_ITER.*|SK_LOOKUP_.*|TRACE_KPROBE_SESSION)|BPF_SK_STORAGE.* BPF_???
	uapi bpf_attach_flag BPF_F_(ALLOW_OVERRIDE|ALLOW_MULTI|REPLACE) - BPF_F_???
	uapi bpf_lookup BPF_(ANY|F_LOCK) - BPF_???
	uapi bpf_update BPF_(ANY|NOEXIST|EXIST|F_LOCK) - BPF_???
	uapi bpf_query BPF_F_QUERY_EFFECTIVE - BPF_F_QUERY_???
	uapi bpf_test BPF_F_(TEST_RUN_ON_CPU|TEST_XDP_LIVE_FRAMES) - BPF_F_???
	uapi bpf_kprobe BPF_F_KPROBE_MULTI_RETURN - BPF_F_???
	uapi bpf_fd_type BPF_FD_TYPE_[A-Z_]+ - BPF_FD_TYPE_???
	uapi perf_type PERF_TYPE_[A-Z_]+ PERF_TYPE_MAX PERF_TYPE_???
	uapi perf_size PERF_ATTR_SIZE_VER[0-9]+ - PERF_ATTR_SIZE_???
	uapi perf_hardware PERF_COUNT_HW_(CPU_CYCLES|INSTRUCTIONS|CACHE_REFERENCES|CACHE_MISSES|BRANCH_INSTRUCTIONS|BRANCH_MISSES|BUS_CYCLES|STALLED_CYCLES_FRONTEND|STALLED_CYCLES_BACKEND|REF_CPU_CYCLES) - PERF_COUNT_HW_???
	uapi perf_software PERF_COUNT_SW_[A-Z_]+ PERF_COUNT_SW_MAX PERF_COUNT_SW_???
	uapi perf_cache PERF_COUNT_HW_CACHE_(L1D|L1I|LL|DTLB|ITLB|BPU|NODE) - PERF_COUNT_HW_CACHE_???
	uapi perf_cache_op PERF_COUNT_HW_CACHE_OP_(READ|WRITE|PREFETCH) - PERF_COUNT_HW_CACHE_OP_???
	uapi perf_cache_result PERF_COUNT_HW_CACHE_RESULT_(ACCESS|MISS) - PERF_COUNT_HW_CACHE_RESULT_???
	uapi perf_sample PERF_SAMPLE_[A-Z_]+ PERF_SAMPLE_(BRANCH_(U|K|H|A|I|N|C|T|P|M).*|MAX|REGS_ABI.*|WEIGHT_TYPE) PERF_SAMPLE_???
	uapi perf_format PERF_FORMAT_[A-Z_]+ PERF_FORMAT_MAX PERF_FORMAT_???
	uapi perf_branch PERF_SAMPLE_BRANCH_[A-Z_]+ PERF_SAMPLE_BRANCH_(STACK|MAX|PLM_ALL|.*_SHIFT) PERF_SAMPLE_BRANCH_???
	uapi breakpoint HW_BREAKPOINT_(EMPTY|R|W|RW|X) -
	uapi sigev SIGEV_[A-Z_]+ SIGEV_(MAX_SIZE|PAD_SIZE) SIGEV_???
	uapi mq_attr O_NONBLOCK - O_???
	uapi sem (IPC_NOWAIT|SEM_UNDO) - SEM_??? down
	uapi shmat SHM_(RDONLY|RND|REMAP|EXEC) - SHM_???
	uapi sem_cmd (IPC_RMID|IPC_SET|IPC_STAT|IPC_INFO|SEM_STAT|SEM_INFO|SEM_STAT_ANY|GETPID|GETVAL|GETALL|GETNCNT|GETZCNT|SETVAL|SETALL) - SEM_???
	uapi pidfd_open PIDFD_NONBLOCK - PIDFD_???
	uapi futex2 (FUTEX_32|FUTEX_PRIVATE_FLAG) - FUTEX_???
	uapi seccomp_mode SECCOMP_MODE_[A-Z]+ - SECCOMP_MODE_???
	uapi seccomp_filter SECCOMP_FILTER_FLAG_[A-Z_]+ - SECCOMP_FILTER_FLAG_???
	uapi seccomp_ret SECCOMP_RET_[A-Z_]+ SECCOMP_RET_(ACTION|DATA|ACTION_FULL|KILL) SECCOMP_RET_???
	uapi personality ADDR_NO_RANDOMIZE - PER_???
	uapi memfd_secret O_CLOEXEC -
	uapi handle AT_(SYMLINK_FOLLOW|EMPTY_PATH|HANDLE_FID) - AT_???
	uapi quota Q_[A-Z]+ - Q_???
	uapi quota_type (USR|GRP|PRJ)QUOTA - ???QUOTA
	uapi qfmt QFMT_[A-Z0-9_]+ - QFMT_VFS_???
	uapi dqf DQF_(ROOT_SQUASH|SYS_FILE) - DQF_???
	uapi iif IIF_(BGRACE|IGRACE|FLAGS) - IIF_???
	uapi qif QIF_(BLIMITS|SPACE|ILIMITS|INODES|BTIME|ITIME) - QIF_???
	uapi fs_quota FS_QUOTA_[A-Z]+_(ACCT|ENFD) - FS_QUOTA_???
	uapi fs_quota_type FS_(USER|PROJ|GROUP)_QUOTA - FS_???_QUOTA
	uapi ipv6 (IPV6_[A-Z0-9_]+|MCAST_[A-Z_]+) IPV6_(TLV_.*|PMTUDISC_.*|PREFER_SRC_.*|FL_.*|OPTIONS|PRIORITY_.*|FLOWINFO_(FLOWLABEL|PRIORITY)|JOIN_GROUP|LEAVE_GROUP|DEFAULT_.*|MIN_MTU)|MCAST_(EXCLUDE|INCLUDE) IPV6_???
	uapi packet PACKET_[A-Z_]+ PACKET_(HOST|BROADCAST|MULTICAST|OTHERHOST|OUTGOING|LOOPBACK|USER|KERNEL|FASTROUTE|FANOUT_[A-CE-Z].*|MR_.*) PACKET_???
	uapi packet_mr PACKET_MR_[A-Z]+ - PACKET_MR_???
	uapi packet_type PACKET_(HOST|BROADCAST|MULTICAST|OTHERHOST|OUTGOING|LOOPBACK|USER|KERNEL|FASTROUTE) - PACKET_???
	libc arphrd ARPHRD_[A-Z0-9_]+ ARPHRD_(CISCO|RAWHDLC) ARPHRD_???
	uapi eth_p ETH_P_[A-Z0-9_]+ ETH_P_802_3_MIN -
	uapi nfc_protocol NFC_PROTO_[A-Z0-9_]+ NFC_PROTO_(MAX|.*_MASK) NFC_PROTO_???
	libc icmp ICMP_FILTER - ICMP_???
	libc icmp_type ICMP_(ECHOREPLY|DEST_UNREACH|SOURCE_QUENCH|REDIRECT|ECHO|TIME_EXCEEDED|PARAMETERPROB|TIMESTAMP|TIMESTAMPREPLY|INFO_REQUEST|INFO_REPLY|ADDRESS|ADDRESSREPLY) -
	uapi time_state TIME_(OK|INS|DEL|OOP|WAIT|ERROR) - TIME_???
	uapi so_get SO_[A-Z0-9_]+ SO_(EE_.*|PEERSEC_.*|TIMESTAMP(NS|ING)?|RCVTIMEO|SNDTIMEO|ATTACH_FILTER|DETACH_BPF) SO_???
	uapi bpf_class BPF_(LD|LDX|ST|STX|ALU|JMP|RET|MISC) - BPF_???
	uapi bpf_size BPF_(W|H|B) - BPF_???
	uapi bpf_mode BPF_(IMM|ABS|IND|MEM|LEN|MSH) - BPF_???
	uapi bpf_source BPF_(K|X) - BPF_???
	uapi bpf_alu BPF_(ADD|SUB|MUL|DIV|OR|AND|LSH|RSH|NEG|MOD|XOR) - BPF_???
	uapi bpf_jump BPF_(JA|JEQ|JGT|JGE|JSET) - BPF_???
	uapi bpf_value BPF_(K|X|A) - BPF_???
	uapi bpf_misc BPF_(TAX|TXA) - BPF_???
	uapi skf SKF_(AD|NET|LL)_OFF - SKF_???
	uapi skf_ad SKF_AD_[A-Z0-9_]+ SKF_AD_(OFF|MAX) SKF_AD_???
	uapi iocb_cmd IOCB_CMD_[A-Z]+ - IOCB_CMD_???
	uapi iocb_flag IOCB_FLAG_[A-Z]+ - IOCB_FLAG_???
	uapi lock F_(RDLCK|WRLCK|UNLCK|EXLCK|SHLCK) - F_???
	libc directory DT_[A-Z]+ - DT_???
	libc statvfs ST_[A-Z]+ - ST_???
	libc sigstack SS_[A-Z]+ - SS_???
	libc signalfd SFD_[A-Z]+ - SFD_??? down
	libc family AF_([A-Z0-9]+|DECnet) AF_(LOCAL|FILE|MAX|ROUTE) AF_???
	libc socket SOCK_(STREAM|DGRAM|RAW|RDM|SEQPACKET|DCCP|PACKET) - SOCK_???
	libc sol SOL_[A-Z0-9]+ - SOL_??
	libc shutdown SHUT_[A-Z]+ - SHUT_???
	libc access [RWXF]_OK - ?_OK down
	libc umount (MNT_(FORCE|DETACH|EXPIRE)|UMOUNT_NOFOLLOW) - MNT_???
	libc signal_code SI_[A-Z]+ -
	libc child_code CLD_[A-Z]+ -
	libc bus_code BUS_[A-Z_]+ -
	libc illegal_code ILL_[A-Z]+ -
	libc float_code FPE_[A-Z]+ -
	uapi trap_code TRAP_[A-Z]+ -
	libc poll_code POLL_[A-Z]+ -
	libc fault_code SEGV_[A-Z]+ SEGV_CPERR
	libc ipc IPC_(RMID|SET|STAT) - IPC_???
	END
}

case $family in
uapi) headers=$uapi_headers ;;
libc) headers=$libc_headers ;;
*)
	echo "names.sh: family \"$family\": uapi or libc" >&2
	exit 2
	;;
esac
includes=$(for h in $headers; do
	printf '#if __has_include(<%s>)\n#include <%s>\n#endif\n' "$h" "$h"
done)
macros=$(printf '%s\n' "$includes" | "$@" -D_GNU_SOURCE -E -dM -x c -) || exit 1
enumerators=$(printf '%s\n' "$includes" | "$@" -D_GNU_SOURCE -E -P -x c - | tr '{,' '\n\n' |
	sed -n 's/^[[:space:]]*\([A-Z][A-Z0-9_]*\)[[:space:]]*\(=.*\)\{0,1\}\(}.*\)\{0,1\}$/\1/p')


write() {
	echo '/* Made by analysis/syscalls/names/names.sh. */'
	printf '%s\n#include "analysis/syscalls/names/names.h"\n' "$includes"
	{
		tables
		echo ===
		# What takes arguments, or speaks of a type or a text, is no plain number.
		{
			printf '%s\n' "$macros" | grep -v -e 'struct' -e '"' |
				sed -n 's/^#define \([A-Za-z_][A-Za-z0-9_]*\) .*/\1/p'
			printf '%s\n' "$enumerators"
		} | LC_ALL=C sort -u
	} | awk -v family="$family" '
		$0 == "===" { reads = 1; next }
		!reads && $1 == family { table[++n] = $2; wanted[n] = "^(" $3 ")$"; not[n] = "^(" $4 ")$"
			unknown[n] = $5 ? "\"" $5 "\"" : "0"; order[n] = $6 == "down" ? "CALL_FALLING" : "0"; next }
		reads { for (i = 1; i <= n; i++) if ($1 ~ wanted[i] && $1 !~ not[i])
				lines[i] = lines[i] "\t{ \"" $1 "\", (uint64_t)(" $1 "), 0 },\n" }
		END { for (i = 1; i <= n; i++) {
			printf "const struct call_name call_names_%s[] = {\n%s\t{ 0, %s, %s },\n};\n", table[i], lines[i], order[i], unknown[i]
			index_of = index_of "\t{ \"" table[i] "\", call_names_" table[i] " },\n" }
			printf "const struct call_names_entry call_names_of_%s[] = {\n%s\t{ 0 },\n};\n", family, index_of }'
}

text=$(write)
# Without the lines that the compiler does not take: macros of headers of other years, of things not declared here.
for round in 1 2 3 4 5; do
	wrong=$(printf '%s\n' "$text" | "$@" -D_GNU_SOURCE "-I$sources" -fsyntax-only -x c - 2>&1 |
		sed -n 's/^<stdin>:\([0-9]*\):.*error:.*/\1d/p')
	[ "$wrong" ] || break
	text=$(printf '%s\n' "$text" | sed "$wrong")
done
printf '%s\n' "$text"
