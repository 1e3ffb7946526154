#!/bin/sh
# SPDX-License-Identifier: MIT
# analysis/syscalls/names.sh - writes C tables with the names of flags and commands, from the system headers.
#
# Usage: names.sh FAMILY COMPILER...   FAMILY is "uapi" or "libc": headers of both cannot be included together.
#
# The compiler lists the macros and computes their values, so a cross build gets the values of the
# target.  A table has its name, a pattern of macros, and a pattern of the macros to leave out: those that are not flags,
# or that are another name of a flag in the table.  A missing header leaves its tables empty.
family=$1
sources=$(dirname "$0")/../..
shift

uapi_headers='linux/fcntl.h asm/mman.h linux/mman.h linux/sched.h linux/futex.h linux/eventpoll.h linux/fs.h
	linux/prctl.h asm/prctl.h linux/wait.h linux/random.h linux/memfd.h linux/timerfd.h
	linux/inotify.h linux/falloc.h linux/stat.h linux/mount.h linux/seccomp.h linux/ptrace.h asm/ptrace-abi.h
	linux/resource.h linux/time.h linux/close_range.h linux/sockios.h asm/ioctls.h linux/perf_event.h
	linux/in.h linux/tcp.h asm/socket.h asm/signal.h linux/fadvise.h linux/userfaultfd.h asm/poll.h linux/magic.h asm/termbits.h'
libc_headers='sys/socket.h netinet/tcp.h sys/eventfd.h sys/signalfd.h unistd.h sys/mount.h signal.h sys/wait.h sys/ipc.h sys/statvfs.h'

tables() {
	cat <<-'END'
	uapi open (O_[A-Z]+|__O_TMPFILE|FASYNC) O_(ACCMODE|NDELAY|RDONLY|WRONLY|RDWR)|__O_TMPFILE
	uapi at AT_(SYMLINK_NOFOLLOW|SYMLINK_FOLLOW|NO_AUTOMOUNT|EMPTY_PATH|RECURSIVE|STATX_(FORCE|DONT)_SYNC) -
	uapi at_access AT_(EACCESS|SYMLINK_NOFOLLOW|EMPTY_PATH) -
	uapi at_unlink AT_REMOVEDIR -
	uapi statx_mask STATX_[A-Z_]+ STATX__RESERVED|STATX_ATTR_.*|STATX_ALL
	uapi fcntl F_[A-Z0-9_]+ F_(OK|RDLCK|WRLCK|UNLCK|EXLCK|SHLCK|OWNER_.*|SEAL_.*|LINUX_SPECIFIC_BASE)
	uapi fd FD_CLOEXEC -
	uapi flock LOCK_(SH|EX|NB|UN) -
	uapi prot PROT_[A-Z0-9_]+ PROT_(BTI|MTE|SAO|ADI)
	uapi map MAP_[A-Z0-9_]+ MAP_(FILE|TYPE|HUGE_.*)
	uapi madvise MADV_[A-Z_]+ -
	uapi fadvise POSIX_FADV_[A-Z]+ -
	uapi mremap MREMAP_[A-Z]+ -
	uapi msync MS_(ASYNC|SYNC|INVALIDATE) -
	uapi mlockall MCL_[A-Z]+ -
	uapi clone CLONE_[A-Z_0-9]+ CLONE_ARGS_.*|CLONE_(CLEAR_SIGHAND|INTO_CGROUP|NEWTIME)
	uapi unshare CLONE_(NEW[A-Z]+|FS|FILES|SYSVSEM) -
	uapi sched SCHED_[A-Z]+ SCHED_FLAG.*
	uapi futex FUTEX_(WAIT|WAKE|FD|REQUEUE|CMP_REQUEUE|WAKE_OP|LOCK_PI|LOCK_PI2|UNLOCK_PI|TRYLOCK_PI|WAIT_BITSET|WAKE_BITSET|WAIT_REQUEUE_PI|CMP_REQUEUE_PI) -
	uapi futex_flags FUTEX_(PRIVATE_FLAG|CLOCK_REALTIME) -
	uapi epoll_ctl EPOLL_CTL_[A-Z]+ -
	uapi epoll EPOLL_CLOEXEC -
	uapi seek SEEK_[A-Z]+ SEEK_MAX
	uapi prctl PR_((SET|GET|CAPBSET)_[A-Z0-9_]+|CAP_AMBIENT|MCE_KILL|MCE_KILL_GET|TASK_PERF_EVENTS_(DIS|EN)ABLE|SCHED_CORE) PR_SET_(MM_.*|PTRACER_ANY)
	uapi arch_prctl ARCH_[A-Z0-9_]+ -
	uapi wait W(NOHANG|UNTRACED|STOPPED|EXITED|CONTINUED|NOWAIT)|__W(NOTHREAD|ALL|CLONE) WSTOPPED
	uapi waitid P_(ALL|PID|PGID|PIDFD) -
	uapi random GRND_[A-Z]+ -
	uapi memfd MFD_[A-Z_]+ MFD_HUGE_.*
	uapi timerfd TFD_[A-Z]+ TFD_TIMER_.*
	uapi timerfd_set TFD_TIMER_[A-Z_]+ -
	uapi inotify IN_(CLOEXEC|NONBLOCK) -
	uapi inotify_mask IN_[A-Z_]+ IN_(CLOEXEC|NONBLOCK|CLOSE|MOVE|ALL_EVENTS)
	uapi fallocate FALLOC_FL_[A-Z_]+ -
	uapi rename RENAME_[A-Z]+ -
	uapi mount MS_[A-Z_]+ MS_(ASYNC|SYNC|INVALIDATE|RMT_MASK|MGC_VAL|MGC_MSK|VERBOSE|NOSEC|BORN|ACTIVE|NOUSER|SUBMOUNT|NOREMOTELOCK)
	uapi seccomp SECCOMP_(SET|GET)_[A-Z_]+ SECCOMP_GET_NOTIF_SIZES_.*
	uapi ptrace PTRACE_[A-Z0-9_]+ PTRACE_(EVENT|O|EVENTMSG|SYSCALL_INFO|PEEKSIGINFO)_.*|PTRACE_OLDSETOPTIONS
	uapi rlimit RLIMIT_[A-Z]+ -
	uapi rusage RUSAGE_[A-Z]+ -
	uapi priority PRIO_(PROCESS|PGRP|USER) -
	uapi clock CLOCK_[A-Z_]+ -
	uapi itimer ITIMER_[A-Z]+ -
	uapi timer TIMER_ABSTIME -
	uapi close_range CLOSE_RANGE_[A-Z]+ -
	uapi ioctl (TC[A-Z0-9]+|TIOC[A-Z0-9_]+|FIO[A-Z]+|SIOC[A-Z0-9]+|BLK[A-Z0-9]+|FS_IOC_[A-Z0-9_]+|FI[A-Z]+|PERF_EVENT_IOC_[A-Z_]+) TIOC(PKT|M|SER)_.*|TIOCINQ|TCSANOW|SIOCDEVPRIVATE|SIOCPROTOPRIVATE|FIRST.*|FS_IOC32_.*|FS_IOC_FSSETXATTR|FS_IOC_FSGETXATTR|FITRIM|FI(DEDUPERANGE|CLONERANGE)|TIOCG?S?RS485|TIOC[GS]ISO7816|TCGETS2|TCSETS2|TCSETSW2|TCSETSF2|SIOC(INQ|OUTQ)
	uapi ipproto IPPROTO_[A-Z0-9]+ IPPROTO_MAX
	uapi ip IP_[A-Z_]+ IP_(PMTUDISC_.*|DEFAULT_.*|MAX_.*|BIND_ADDRESS_NO_PORT_.*)
	uapi tcp TCP_[A-Z_]+ TCP_(NLA_.*|REPAIR_(ON|OFF|OFF_NO_WP)|MSS_.*|MD5SIG_(MAXKEYLEN|FLAG_.*)|AO_.*|RECEIVE_ZEROCOPY_.*)
	uapi so SO_[A-Z0-9_]+ SO_(EE_.*|PEERSEC_.*|TIMESTAMP(NS|ING)?|RCVTIMEO|SNDTIMEO|GET_FILTER|.*_NEW)
	uapi sigmask SIG_(BLOCK|UNBLOCK|SETMASK) -
	uapi rwf RWF_[A-Z]+ RWF_SUPPORTED
	uapi poll POLL[A-Z]+ POLLFREE|POLL_.*|POLLREMOVE
	uapi epoll_events EPOLL(IN|PRI|OUT|RDNORM|RDBAND|WRNORM|WRBAND|MSG|ERR|HUP|RDHUP|EXCLUSIVE|WAKEUP|ONESHOT|ET) -
	uapi sa SA_[A-Z]+ SA_(NOMASK|ONESHOT|STACK|RESTORER)
	uapi statx_attribute STATX_ATTR_[A-Z_]+ -
	uapi magic [A-Z0-9_]+_(SUPER_)?MAGIC(_NUMBER)? EXT[34]_SUPER_MAGIC|.*(BALLOON|FUTEXFS|MTD_INODE|STACK_END|QNX6|AFS_FS|NVRAM|LIBRARY|TIMER|IPC|LOCK).*
	uapi iflag (IGNBRK|BRKINT|IGNPAR|PARMRK|INPCK|ISTRIP|INLCR|IGNCR|ICRNL|IUCLC|IXON|IXANY|IXOFF|IMAXBEL|IUTF8) -
	uapi oflag (OPOST|OLCUC|ONLCR|OCRNL|ONOCR|ONLRET|OFILL|OFDEL) -
	uapi cflag (CSTOPB|CREAD|PARENB|PARODD|HUPCL|CLOCAL|CMSPAR|CRTSCTS) -
	uapi lflag (ISIG|ICANON|XCASE|ECHO|ECHOE|ECHOK|ECHONL|NOFLSH|TOSTOP|ECHOCTL|ECHOPRT|ECHOKE|FLUSHO|PENDIN|IEXTEN|EXTPROC) -
	uapi baud B[0-9]+ -
	uapi lock F_(RDLCK|WRLCK|UNLCK) -
	libc statvfs ST_[A-Z]+ -
	libc sigstack SS_[A-Z]+ -
	libc eventfd EFD_[A-Z]+ -
	libc signalfd SFD_[A-Z]+ -
	libc family AF_[A-Z0-9]+ AF_(LOCAL|FILE|MAX|ROUTE)
	libc socket SOCK_(STREAM|DGRAM|RAW|RDM|SEQPACKET|DCCP|PACKET) -
	libc socket_flags SOCK_(CLOEXEC|NONBLOCK) -
	libc message MSG_[A-Z_]+ MSG_(TRYHARD|EOF)
	libc sol SOL_[A-Z0-9]+ SOL_(RAW)
	libc shutdown SHUT_[A-Z]+ -
	libc access [RWXF]_OK -
	libc umount (MNT_(FORCE|DETACH|EXPIRE)|UMOUNT_NOFOLLOW) -
	libc signal_code SI_[A-Z]+ -
	libc child_code CLD_[A-Z]+ -
	libc fault_code SEGV_[A-Z]+ SEGV_(CPERR|ACCADI|ADIDERR|ADIPERR|MTEAERR|MTESERR)
	libc ipc IPC_(RMID|SET|STAT) -
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


write() {
	echo '/* Made by analysis/syscalls/names.sh. */'
	printf '%s\n#include "analysis/syscalls/names.h"\n' "$includes"
	{
		tables
		echo ===
		# What takes arguments, or speaks of a type or a text, is no plain number.
		printf '%s\n' "$macros" | grep -v -e 'struct' -e '"' |
			sed -n 's/^#define \([A-Za-z_][A-Za-z0-9_]*\) .*/\1/p' | LC_ALL=C sort
	} | awk -v family="$family" '
		$0 == "===" { reads = 1; next }
		!reads && $1 == family { table[++n] = $2; wanted[n] = "^(" $3 ")$"; not[n] = "^(" $4 ")$"; next }
		reads { for (i = 1; i <= n; i++) if ($1 ~ wanted[i] && $1 !~ not[i])
				lines[i] = lines[i] "\t{ \"" $1 "\", (uint64_t)(" $1 ") },\n" }
		END { for (i = 1; i <= n; i++)
			printf "const struct call_name call_names_%s[] = {\n%s\t{ 0 },\n};\n", table[i], lines[i] }'
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
