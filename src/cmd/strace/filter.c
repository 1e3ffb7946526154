/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/filter.c - parses -e, and turns it into patterns for the recorder.
 *
 * The recorder gets one list of names: the kernel then records only the calls that are printed, or
 * that change descriptors.
 */
#include "cmd/strace/filter.h"

#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pairing/public.h"
#include "analysis/syscalls/public.h"
#include "cmd/print/print.h"
#include "rules/pattern.h"
#include "kernel/tracefs/public.h"

/* Kinds of calls: those that take a path, a descriptor, ... */
static const struct {
	const char *kind, *calls;
} kinds[] = {
	{ "file",
	  "access acct chdir chmod chown chroot creat execve execveat faccessat faccessat2 "
	  "fanotify_mark "
	  "fchmodat fchmodat2 fchownat file_getattr file_setattr fspick futimesat getcwd getxattr "
	  "getxattrat inotify_add_watch lchown lgetxattr link linkat listxattr listxattrat "
	  "llistxattr "
	  "lremovexattr lsetxattr lstat mkdir mkdirat mknod mknodat mount mount_setattr move_mount "
	  "name_to_handle_at newfstatat open open_tree open_tree_attr openat openat2 pivot_root "
	  "quotactl "
	  "readlink readlinkat removexattr removexattrat rename renameat renameat2 rmdir setxattr "
	  "setxattrat stat statfs statx swapoff swapon symlink symlinkat truncate umount2 unlink "
	  "unlinkat "
	  "uselib utime utimensat utimes" },
	{ "desc",
	  "accept accept4 bind cachestat close close_range connect copy_file_range creat dup dup2 "
	  "dup3 "
	  "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd "
	  "eventfd2 "
	  "execveat faccessat faccessat2 fadvise64 fallocate fanotify_init fanotify_mark fchdir "
	  "fchmod "
	  "fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr file_getattr file_setattr "
	  "flistxattr flock fremovexattr fsconfig fsetxattr fsmount fsopen fspick fstat fstatfs "
	  "fsync "
	  "ftruncate futimesat getdents getdents64 getpeername getsockname getsockopt getxattrat "
	  "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_uring_enter "
	  "io_uring_register "
	  "io_uring_setup ioctl landlock_add_rule landlock_create_ruleset landlock_restrict_self "
	  "linkat "
	  "listen listxattrat lseek memfd_create memfd_secret mkdirat mknodat mmap mount_setattr "
	  "move_mount mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend "
	  "name_to_handle_at "
	  "newfstatat open open_by_handle_at open_tree open_tree_attr openat openat2 "
	  "perf_event_open "
	  "pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 poll ppoll pread64 preadv preadv2 "
	  "process_madvise process_mrelease pselect6 pwrite64 pwritev pwritev2 quotactl_fd read "
	  "readahead "
	  "readlinkat readv recvfrom recvmmsg recvmsg removexattrat renameat renameat2 select "
	  "sendfile "
	  "sendmmsg sendmsg sendto setns setsockopt setxattrat shutdown signalfd signalfd4 socket "
	  "socketpair splice statx symlinkat sync_file_range syncfs tee timerfd_create "
	  "timerfd_gettime "
	  "timerfd_settime unlinkat userfaultfd utimensat vmsplice write writev" },
	{ "network", "accept accept4 bind connect getpeername getsockname getsockopt listen "
		     "recvfrom recvmmsg recvmsg "
		     "sendfile sendmmsg sendmsg sendto setsockopt shutdown socket socketpair" },
	{ "process",
	  "clone clone3 execve execveat exit exit_group fork kill pidfd_open pidfd_send_signal "
	  "rt_sigqueueinfo rt_tgsigqueueinfo tgkill tkill unshare vfork wait4 waitid" },
	{ "memory", "brk get_mempolicy madvise map_shadow_stack mbind migrate_pages mincore mlock "
		    "mlock2 mlockall "
		    "mmap move_pages mprotect mremap mseal msync munlock munlockall munmap "
		    "pkey_alloc pkey_free "
		    "pkey_mprotect process_madvise remap_file_pages set_mempolicy "
		    "set_mempolicy_home_node shmat "
		    "shmdt userfaultfd" },
	{ "signal",
	  "kill pause pidfd_send_signal rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
	  "rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack signalfd "
	  "signalfd4 "
	  "tgkill tkill" },
	{ "stat", "stat" },
	{ "lstat", "lstat" },
	{ "fstat", "fstat newfstatat statx" },
	{ "%stat", "stat lstat fstat newfstatat statx" },
	{ "statfs", "statfs" },
	{ "fstatfs", "fstatfs" },
	{ "%statfs", "statfs fstatfs" },
	{ "pure",
	  "getegid geteuid getgid getpgrp getpid getppid getresgid getresuid gettid getuid" },
	{ "creds", "capget capset getegid geteuid getgid getgroups getresgid getresuid getuid "
		   "prctl setfsgid setfsuid setgid "
		   "setgroups setregid setresgid setresuid setreuid setuid" },
	{ "clock", "adjtimex clock_adjtime clock_getres clock_gettime clock_settime gettimeofday "
		   "settimeofday time" },
	{ "net", "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom "
		 "recvmmsg recvmsg "
		 "sendfile sendmmsg sendmsg sendto setsockopt shutdown socket socketpair" },
	{ "ipc", "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl "
		 "msgget msgrcv "
		 "msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget" },
	{ "sched",
	  "getpriority ioprio_get ioprio_set sched_get_priority_max sched_get_priority_min "
	  "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
	  "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield "
	  "setpriority" },
};

static const struct {
	const char *name;
	unsigned bit;
} endings[] = {
	{ "successful", STRACE_OK },
	{ "failed", STRACE_FAILED },
	{ "unfinished", STRACE_UNFINISHED },
	{ "unavailable", 0 }, /* as when strace loses a process: that does not happen here */
	{ "detached", 0 },
	{ "all", STRACE_ALL },
	{ "none", 0 },
};

/* ---------------------------------------------------------------- parsing */

/* Adds a copy that is kept until exit. */
static void add_call(struct strace_filter *c, const char *name, size_t size)
{
	char *copy = strndup(name, size);

	if (!copy) {
		print_err("duet: no memory\n");
		exit(CMD_FAILED);
	}
	cmd_add_string(&c->calls, copy);
}

static int add_kind(struct strace_filter *c, const char *name)
{
	size_t i = 0;

	while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i].kind, name) != 0)
		i++;
	if (i == sizeof kinds / sizeof *kinds)
		return cmd_error(
			"strace",
			"-e %%%s: no such kind: %%file %%desc %%network %%process %%memory "
			"%%signal %%ipc %%sched %%creds %%clock %%pure %%%%stat %%%%statfs",
			name);
	for (const char *p = kinds[i].calls; *p;) {
		const char *end = strchrnul(p, ' ');

		add_call(c, p, (size_t)(end - p));
		p = *end ? end + 1 : end;
	}
	return 0;
}

static bool is_kind(const char *name)
{
	size_t i = 0;

	while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i].kind, name) != 0)
		i++;
	return i < sizeof kinds / sizeof *kinds;
}

static bool is_known(const char *call)
{
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++)
		if (kernel_syscall_name(nr) && !strcmp(kernel_syscall_name(nr), call))
			return true;
	return false;
}

/* Adds a name, or all names that match a pattern with * and ?. */
static int add_names(struct strace_filter *c, const char *pattern)
{
	const char *end = pattern + strlen(pattern);
	bool found = false;

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++) {
		const char *name = kernel_syscall_name(nr);

		if (!name || !pattern_glob(pattern, end, name, name + strlen(name)))
			continue;
		add_call(c, name, strlen(name));
		found = true;
	}
	return found ? 0
		     : cmd_error("strace", "-e %s: no such system call (man 2 syscalls)", pattern);
}

/* Adds the names that contain a match of the regular expression. */
static int add_matching(struct strace_filter *c, const char *expression)
{
	bool found = false;
	regex_t r;

	if (regcomp(&r, expression, REG_EXTENDED | REG_NOSUB))
		return cmd_error("strace", "-e /%s: not a regular expression", expression);
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++) {
		const char *name = kernel_syscall_name(nr);

		if (name && !regexec(&r, name, 0, NULL, 0)) {
			add_call(c, name, strlen(name));
			found = true;
		}
	}
	regfree(&r);
	return found ? 0 : cmd_error("strace", "-e /%s: matches no system call", expression);
}

/* Adds one item of a list: "%file", "/^open", "?newer" that may be unknown, "close". */
static int add_list_item(struct strace_filter *c, const char *p)
{
	if (*p == '%')
		return add_kind(c, p + 1);
	if (*p == '/')
		return add_matching(c, p + 1);
	if (*p == '?' && !is_known(p + 1))
		return 0;
	/* a kind without %, as old versions of strace accepted it */
	if (!is_known(p) && is_kind(p))
		return add_kind(c, p);
	return add_names(c, *p == '?' ? p + 1 : p);
}

/* The number of a signal as "SIGINT", "int", "10", "SIGRT_3"; 0 if it is none. */
static int signal_of(const char *text)
{
	const char *name = !strncasecmp(text, "SIG", 3) ? text + 3 : text;
	int number = atoi(name);

	if (!strcasecmp(name, "RTMIN"))
		return 32;
	if (!strncasecmp(name, "RT_", 3))
		return 32 + atoi(name + 3);
	for (int i = 1; !number && i < 32; i++)
		if (sigabbrev_np(i) && !strcasecmp(sigabbrev_np(i), name))
			number = i;
	return !number && !strcasecmp(name, "IO") ? SIGIO : number;
}

/* Parses a list as "SIGINT,CHLD,10", or "!" and such a list. */
static int select_signals(struct strace_filter *c, const char *list)
{
	bool is_not = *list == '!';
	char *copy = strdup(list + is_not), *rest = copy;
	uint64_t set = 0;
	int status = copy ? 0 : CMD_FAILED;

	for (char *p; !status && (p = strsep(&rest, ","));) {
		int number = signal_of(p);

		if (!strcmp(p, "all"))
			set = UINT64_MAX;
		else if (number > 0 && number <= 64)
			set |= 1ull << (number - 1);
		else if (strcmp(p, "none") != 0)
			status = cmd_error(
				"strace", "-e signal=%s: no such signal: SIGINT, 10, none, all", p);
	}
	free(copy);
	c->signals = is_not ? ~set : set;
	return status;
}

static int select_calls(struct strace_filter *c, const char *list)
{
	char *copy = strdup(*list == '!' ? list + 1 : list), *rest = copy;
	int status = copy ? 0 : CMD_FAILED;

	if (c->only_listed || c->all_but_listed) {
		free(copy);
		return cmd_error("strace", "-e %s: a second list of calls: join them by commas",
				 list);
	}
	c->all_but_listed = *list == '!';
	c->only_listed = !c->all_but_listed;
	for (char *p; !status && (p = strsep(&rest, ","));) {
		if (!strcmp(p, "all") || !strcmp(p, "none"))
			c->only_listed = !strcmp(p, "none") != c->all_but_listed,
			c->all_but_listed = false;
		else
			status = add_list_item(c, p);
	}
	free(copy);
	return status;
}

static int select_endings(struct strace_filter *c, const char *list)
{
	bool is_not = *list == '!';
	char *copy = strdup(list + is_not), *rest = copy;
	unsigned set = 0;
	int status = 0;

	for (char *p; !status && (p = strsep(&rest, ","));) {
		size_t i = 0;

		while (i < sizeof endings / sizeof *endings && strcmp(endings[i].name, p) != 0)
			i++;
		if (i == sizeof endings / sizeof *endings)
			status = cmd_error("strace",
					   "-e status=%s: it may be successful, failed, unfinished",
					   p);
		else
			set |= endings[i].bit;
	}
	free(copy);
	c->endings = is_not ? STRACE_ALL & ~set : set;
	return status;
}

int strace_filter_parse(struct strace_filter *c, const char *expression)
{
	const char *equals = strchr(expression, '=');
	size_t n = equals ? (size_t)(equals - expression) : 0;
	const char *value = equals ? equals + 1 : expression;

	if (!n || (n == 5 && !memcmp(expression, "trace", n)) || (n == 1 && *expression == 't'))
		return select_calls(c, value);
	if (n == 6 && !memcmp(expression, "status", n))
		return select_endings(c, value);
	if ((n == 6 && !memcmp(expression, "signal", n)) ||
	    (n == 7 && !memcmp(expression, "signals", n)) || (n == 1 && *expression == 's'))
		return select_signals(c, value);
	if ((n == 6 && !memcmp(expression, "inject", n)) ||
	    (n == 5 && !memcmp(expression, "fault", n)))
		return cmd_error("strace",
				 "-e %s: duet strace changes and stops nothing; strace can do that",
				 expression);
	return cmd_error("strace", "-e %s: it may be trace=CALLS, status=HOW, signal=SIGNALS",
			 expression);
}

/* ---------------------------------------------------------------- use */

bool strace_filter_has(const struct strace_filter *c, const char *call)
{
	for (int i = 0; i < c->calls.n; i++)
		if (!strcmp(c->calls.at[i], call))
			return !c->all_but_listed;
	return !c->only_listed;
}

static void add_event(struct cmd_strings *patterns, const char *before, const char *event,
		      const char *call)
{
	char *text;

	if (asprintf(&text, "%s%s%s", before, event, call) < 0) {
		print_err("duet: no memory\n");
		exit(CMD_FAILED);
	}
	cmd_add_string(patterns, text);
}

static void add_pattern(struct cmd_strings *patterns, const char *before, const char *call)
{
	add_event(patterns, before, "syscall_entry_", call);
	add_event(patterns, before, "syscall_exit_", call);
}

static void add_exit_of_exec(const struct strace_filter *c, struct cmd_strings *patterns)
{
	cmd_add_string(patterns, c->only_listed ? "syscall_exit_execve" : "!syscall_entry_execve");
}

void strace_filter_patterns(const struct strace_filter *c, bool fds, bool pids, bool stacks,
			    struct cmd_strings *patterns)
{
	static const char *const always[] = {
		"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit",
		"task:task_newtask",	    "task:task_rename",		"signal:signal_generate",
		"signal:signal_deliver"
	};

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		cmd_add_string(patterns, always[i]);
	if (!c->only_listed)
		cmd_add_string(patterns, "syscalls");
	if (stacks && !c->only_listed)
		cmd_add_string(patterns, "stack:syscall_exit_*");
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++) {
		const char *call = kernel_syscall_name(nr);
		bool is_needed =
			call &&
			(strace_filter_has(c, call) || (fds && fds_is_needed(call)) ||
			 (pids && pairing_numbers_need(call)) || !strcmp(call, "exit_group"));

		/* A program that execveat() started returns from execve(). */
		if (call && !is_needed && !strcmp(call, "execve") &&
		    strace_filter_has(c, "execveat"))
			add_exit_of_exec(c, patterns);
		else if (call && is_needed == c->only_listed)
			add_pattern(patterns, is_needed ? "" : "!", call);
		if (stacks && c->only_listed && call && strace_filter_has(c, call))
			add_event(patterns, "stack:", "syscall_exit_", call);
	}
}
