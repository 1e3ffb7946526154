/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/text.c - arguments and results of system calls as text, by the rules of
 * rules.c.
 *
 * Some calls have a shape: one argument decides how many of the others are used and how they are
 * read.
 */
#include "analysis/syscalls/text.h"

#include <assert.h>
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"
#include "analysis/syscalls/fds.h"

enum { KCMP_FILE_TYPE = 0, KCMP_EPOLL = 7, CONSOLE_LEVEL = 8 };

/* ---------------------------------------------------------------- calls */

static const struct {
	const char *call;
	enum call_shape shape;
	enum call_kind result;
} shapes[] = {
	{ "open", SHAPE_OPEN, CALL_FD },
	{ "openat", SHAPE_OPEN, CALL_FD },
	{ "futex", SHAPE_FUTEX, CALL_NUMBER },
	{ "fcntl", SHAPE_FCNTL, CALL_NUMBER },
	{ "mremap", SHAPE_MREMAP, CALL_HEX },
	{ "socket", SHAPE_SOCKET, CALL_FD },
	{ "setsockopt", SHAPE_SOCKOPT, CALL_NUMBER },
	{ "getsockopt", SHAPE_SOCKOPT, CALL_NUMBER },
	{ "mmap", SHAPE_PLAIN, CALL_HEX },
	{ "brk", SHAPE_PLAIN, CALL_HEX },
	{ "shmat", SHAPE_PLAIN, CALL_HEX },
	{ "umask", SHAPE_PLAIN, CALL_OCTAL },
	{ "clone", SHAPE_CLONE, CALL_PID },
	{ "clone3", SHAPE_PLAIN, CALL_PID },
	{ "fork", SHAPE_PLAIN, CALL_PID },
	{ "vfork", SHAPE_PLAIN, CALL_PID },
	{ "wait4", SHAPE_PLAIN, CALL_PID },
	{ "getpid", SHAPE_PLAIN, CALL_PID },
	{ "gettid", SHAPE_PLAIN, CALL_PID },
	{ "getppid", SHAPE_PLAIN, CALL_PID },
	{ "getpgid", SHAPE_PLAIN, CALL_PID },
	{ "getpgrp", SHAPE_PLAIN, CALL_PID },
	{ "getsid", SHAPE_PLAIN, CALL_PID },
	{ "setsid", SHAPE_PLAIN, CALL_PID },
	{ "set_tid_address", SHAPE_PLAIN, CALL_PID },
	{ "prctl", SHAPE_PRCTL, CALL_NUMBER },
	{ "ioctl", SHAPE_IOCTL, CALL_NUMBER },
	{ "membarrier", SHAPE_MEMBARRIER, CALL_NUMBER },
	{ "kcmp", SHAPE_KCMP, CALL_NUMBER },
	{ "preadv", SHAPE_POSITION, CALL_NUMBER },
	{ "pwritev", SHAPE_POSITION, CALL_NUMBER },
	{ "preadv2", SHAPE_POSITION_FLAGS, CALL_NUMBER },
	{ "pwritev2", SHAPE_POSITION_FLAGS, CALL_NUMBER },
	{ "reboot", SHAPE_REBOOT, CALL_NUMBER },
	{ "syslog", SHAPE_SYSLOG, CALL_NUMBER },
	{ "seccomp", SHAPE_SECCOMP, CALL_NUMBER },
	{ "time", SHAPE_TIME, CALL_NUMBER },
	{ "mknod", SHAPE_MKNOD, CALL_NUMBER },
	{ "mknodat", SHAPE_MKNOD, CALL_NUMBER },
	{ "ioprio_get", SHAPE_IOPRIO, CALL_NUMBER },
	{ "sched_getscheduler", SHAPE_SCHEDULER, CALL_NUMBER },
	{ "rt_sigtimedwait", SHAPE_SIGNAL, CALL_NUMBER },
	{ "mq_open", SHAPE_MQ_OPEN, CALL_FD },
	{ "quotactl", SHAPE_QUOTA, CALL_NUMBER },
	{ "quotactl_fd", SHAPE_QUOTA_FD, CALL_NUMBER },
	{ "adjtimex", SHAPE_TIMEX, CALL_NUMBER },
	{ "bpf", SHAPE_BPF, CALL_NUMBER },
	{ "landlock_create_ruleset", SHAPE_RULESET, CALL_NUMBER },
	{ "modify_ldt", SHAPE_INT, CALL_NUMBER },
	{ "clock_adjtime", SHAPE_TIMEX, CALL_NUMBER },
};

void call_plan_make(struct call_plan *p, const char *call, const struct call_class *c)
{
	*p = (struct call_plan){ .result = fds_gives(call) ? CALL_FD : CALL_NUMBER,
				 .has_result = strcmp(call, "exit") != 0 &&
					       strcmp(call, "exit_group") != 0 };
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(shapes[i].call, call)) {
			p->shape = shapes[i].shape;
			p->result = shapes[i].result;
		}
	p->requests = call_requests(call);
	for (uint32_t i = 0; c && i < c->n_fields; i++)
		p->rules[i] = c->name[i] ? call_rule_of(call, c->name[i]) : NULL;
}

/* The arguments that are used, a bit for each: the kernel records all registers. */
static uint32_t futex_uses(int64_t op)
{
	switch (op & ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) {
	case FUTEX_WAIT:
		return 0xf;
	case FUTEX_WAKE:
	case FUTEX_FD:
		return 0x7;
	case FUTEX_REQUEUE:
		return 0x1f;
	case FUTEX_WAIT_BITSET:
		return 0x2f;
	case FUTEX_WAKE_BITSET:
		return 0x27;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return 0xb;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return 0x3;
	}
	return 0x3f;
}

/* Whether the fourth argument is a number of threads, not a time. */
static bool futex_counts(int64_t op)
{
	switch (op & ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) {
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_CMP_REQUEUE_PI:
		return true;
	}
	return false;
}

static bool futex_has_bits(int64_t op)
{
	op &= ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
	return op == FUTEX_WAIT_BITSET || op == FUTEX_WAKE_BITSET;
}

static bool futex_operates(int64_t op)
{
	return (op & ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) == FUTEX_WAKE_OP;
}

static uint32_t fcntl_uses(int64_t command)
{
	switch (command) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return 0x3;
	}
	return 0x7;
}

/* The arguments that an option uses; options that are not listed use all. */
static uint32_t prctl_uses(int64_t option)
{
	switch (option) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_TIMERSLACK:
	case PR_GET_SECUREBITS:
	case PR_GET_TIMING:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
		return 0x1;
	case PR_SET_NAME:
	case PR_GET_NAME:
	case PR_SET_PDEATHSIG:
	case PR_GET_PDEATHSIG:
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
	case PR_SET_TIMERSLACK:
	case PR_SET_SECUREBITS:
	case PR_SET_CHILD_SUBREAPER:
	case PR_GET_CHILD_SUBREAPER:
	case PR_GET_UNALIGN:
	case PR_SET_UNALIGN:
	case PR_GET_FPEMU:
	case PR_SET_FPEMU:
	case PR_GET_FPEXC:
	case PR_SET_FPEXC:
	case PR_GET_ENDIAN:
	case PR_SET_ENDIAN:
	case PR_GET_TSC:
	case PR_GET_TID_ADDRESS:
	case PR_SET_TIMING:
		return 0x3;
	case PR_SET_SECCOMP:
		return 0x7;
	}
	return 0x1f;
}

static uint32_t clone_uses(int64_t flags)
{
	return 0x3 | (flags & CLONE_PARENT_SETTID ? 0x4 : 0) |
	       (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID) ? 0x8 : 0) |
	       (flags & CLONE_SETTLS ? 0x10 : 0);
}

static uint32_t used_by(const struct call_request *r)
{
	uint32_t uses = 0;

	for (uint32_t i = 0; r->arguments[i]; i++)
		uses |= r->arguments[i] == '-' ? 0 : 1u << i;
	return uses;
}

static uint32_t uses_of(const struct call_plan *p, const struct call_value *v, uint32_t n)
{
	const uint32_t all = (1u << n) - 1;
	const struct call_request *r = p->requests ? call_request_of(p->requests, v, n) : NULL;

	if (r)
		return all & used_by(r);
	switch (p->shape) {
	case SHAPE_OPEN: /* the mode is last, the flags are before it */
		return n >= 2 && !(v[n - 2].n & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) ? all >> 1
											: all;
	case SHAPE_FUTEX:
		return n > 1 ? all & futex_uses(v[1].n) : all;
	case SHAPE_FCNTL:
		return n > 1 ? all & fcntl_uses(v[1].n) : all;
	case SHAPE_MREMAP: /* the new address counts with both flags */
		return n > 3 && ~v[3].n & (MREMAP_MAYMOVE | MREMAP_FIXED) ? all & 0xf : all;
	case SHAPE_CLONE:
		return n > 1 ? all & clone_uses(v[0].n) : all;
	case SHAPE_PRCTL:
		return n > 1 ? all & prctl_uses((int32_t)v[0].n) : all;
	case SHAPE_IOCTL:
		return n > 2 && (v[1].n == FIOCLEX || v[1].n == FIONCLEX) ? 0x3 : all;
	case SHAPE_MEMBARRIER: /* the CPU is last */
		return n > 1 && !(v[1].n & MEMBARRIER_CMD_FLAG_CPU) ? all & 0x3 : all;
	case SHAPE_KCMP:
		return n > 2 && v[2].n != KCMP_FILE_TYPE && (uint64_t)v[2].n < KCMP_EPOLL ? 0x7
											  : all;
	case SHAPE_POSITION:
		return all & 0xf;
	case SHAPE_POSITION_FLAGS:
		return all & 0x2f;
	case SHAPE_MKNOD: /* the device is last, the mode before it */
		return n >= 3 && !S_ISCHR(v[n - 2].n) && !S_ISBLK(v[n - 2].n) ? all >> 1 : all;
	case SHAPE_REBOOT:
		return n > 2 && (uint32_t)v[2].n != LINUX_REBOOT_CMD_RESTART2 ? 0x7 : all;
	case SHAPE_SYSLOG: /* those commands without a buffer */
		return n > 0 && (uint64_t)v[0].n < 11 && 0x6e3 >> v[0].n & 1 ? 0x1 : all;
	case SHAPE_QUOTA:
		return n > 0 ? all & call_quota_uses(v[0].n) : all;
	case SHAPE_QUOTA_FD: /* the descriptor takes the place of the path, and is first */
		return n > 1 ? all & (0x3 | (call_quota_uses(v[1].n) & 0xc)) : all;
	case SHAPE_MQ_OPEN:
		return n > 1 && !(v[1].n & O_CREAT) ? 0x3 : all;
	default:
		return all;
	}
}

static const struct call_rule protocol = { .kind = CALL_ONE, .names = call_names_ipproto },
			      netlink = { .kind = CALL_ONE, .names = call_names_netlink },
			      fd_flags = { .kind = CALL_FLAGS, .names = call_names_fd },
			      file_flags = { .kind = CALL_OPEN, .names = call_names_open },
			      number = { .kind = CALL_NUMBER },
			      int_number = { .kind = CALL_SIGNED },
			      count = { .kind = CALL_UNSIGNED },
			      udp_option = { .kind = CALL_ONE, .names = call_names_udp },
			      seals = { .kind = CALL_FLAGS, .names = call_names_seal },
			      hexadecimal = { .kind = CALL_HEX },
			      address = { .kind = CALL_ADDRESS },
			      notify = { .kind = CALL_FLAGS, .names = call_names_notify },
			      lease = { .kind = CALL_ONE, .names = call_names_lock },
			      signal_number = { .kind = CALL_SIGNAL },
			      socket_option = { .kind = CALL_ONE, .names = call_names_so },
			      tcp_option = { .kind = CALL_ONE, .names = call_names_tcp },
			      ip_option = { .kind = CALL_ONE, .names = call_names_ip },
			      ip6_option = { .kind = CALL_ONE, .names = call_names_ipv6 },
			      packet_option = { .kind = CALL_ONE, .names = call_names_packet },
			      raw_option = { .kind = CALL_ONE, .names = call_names_icmp },
			      log_level = { .kind = CALL_ONE_COMMENT,
					    .names = call_names_loglevel },
			      quota_format = { .kind = CALL_ONE_INT, .names = call_names_qfmt };

static const struct call_rule *fcntl_rule(int64_t command)
{
	switch (command) {
	case F_SETFD:
		return &fd_flags;
	case F_SETFL:
		return &file_flags;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return &address;
	case F_NOTIFY:
		return &notify;
	case F_SETLEASE:
		return &lease;
	case F_SETSIG:
		return &signal_number;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		return &int_number;
	case F_ADD_SEALS:
		return &seals;
	}
	return &hexadecimal;
}

/* The rule for argument @i, which may depend on others. */
static const struct call_rule *rule_for(const struct call_plan *p, const struct call_value *v,
					uint32_t i)
{
	if (p->shape == SHAPE_KCMP && i == 4 && v[2].n == KCMP_EPOLL)
		return &address;
	if (p->shape == SHAPE_SECCOMP && i == 1 && v[0].n != SECCOMP_SET_MODE_FILTER)
		return &hexadecimal;
	if (p->shape == SHAPE_FUTEX && i == 5 && futex_counts(v[1].n))
		return &count;
	if (p->shape == SHAPE_FUTEX && i == 3 && futex_counts(v[1].n))
		return &count;
	if (i != 2)
		return p->rules[i];
	switch (p->shape) {
	case SHAPE_QUOTA:
	case SHAPE_QUOTA_FD:
		return call_quota_has_format(v[p->shape == SHAPE_QUOTA_FD].n) ? &quota_format
									      : p->rules[i];
	case SHAPE_SYSLOG:
		return v[0].n == CONSOLE_LEVEL ? &log_level : p->rules[i];
	case SHAPE_FCNTL:
		return fcntl_rule(v[1].n);
	case SHAPE_SOCKET:
		return v[0].n == AF_INET || v[0].n == AF_INET6 ? &protocol
		       : v[0].n == AF_NETLINK		       ? &netlink
							       : &number;
	case SHAPE_SOCKOPT:
		return v[1].n == SOL_SOCKET	? p->rules[2] ? p->rules[2] : &socket_option
		       : v[1].n == IPPROTO_TCP	? &tcp_option
		       : v[1].n == IPPROTO_IP	? &ip_option
		       : v[1].n == IPPROTO_IPV6 ? &ip6_option
		       : v[1].n == SOL_PACKET	? &packet_option
		       : v[1].n == IPPROTO_RAW	? &raw_option
		       : v[1].n == IPPROTO_UDP	? &udp_option
						: &number;
	default:
		return p->rules[i];
	}
}

/* An argument of futex() that is not a time may look like an address by chance. */
static bool may_point(const struct call_plan *p, const struct call_value *v, uint32_t i)
{
	if (p->shape != SHAPE_FUTEX || i != 3)
		return true;
	switch (v[1].n & ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return true;
	}
	return false;
}

/* Calls whose arguments strace shows in another order, with labels. */
static const struct {
	uint8_t argument;
	const char *label;
} clone_order[CALL_ARGS] = {
	{ 1, "child_stack=" }, { 0, "flags=" },	       { 2, "parent_tid=" },
	{ 4, "tls=" },	       { 3, "child_tidptr=" }, { 5, "" },
};

static uint32_t at_place(const struct call_plan *p, uint32_t place)
{
	return p->shape == SHAPE_CLONE ? clone_order[place].argument : place;
}

uint32_t call_operand(const struct call_plan *p, uint32_t i)
{
	uint32_t place = 0;

	assert(i < CALL_ARGS);
	while (at_place(p, place) != i)
		place++;
	return place;
}

void call_arguments(struct call_parts *parts, const struct call_plan *p,
		    const struct call_value *values, uint32_t n, uint32_t which,
		    const struct call_moment *x)
{
	const struct call_request *request =
		p->requests ? call_request_of(p->requests, values, n) : NULL;

	parts->uses = uses_of(p, values, n < CALL_ARGS ? n : CALL_ARGS);
	for (uint32_t i = 0; i < CALL_ARGS; i++) {
		const struct call_rule *r = rule_for(p, values, i), *own = NULL;
		struct call_value v = values[i];

		if (!(parts->uses & which & 1u << i))
			continue;
		if (request)
			own = call_request_rule(request, i, &v.size_bits);
		r = own ? own : r;
		if (!may_point(p, values, i))
			v.memory = NULL;
		if (p->shape == SHAPE_FCNTL && i == 2 && v.n && values[1].n == F_SETFL)
			v.size_bits = 32;
		parts->part[i].size = 0;
		if (p->shape == SHAPE_FUTEX && i == 5 && futex_operates(values[1].n))
			call_futex_operation(&parts->part[i], (uint32_t)v.n);
		else if (p->shape == SHAPE_FUTEX && i == 5 && (uint32_t)v.n == UINT32_MAX &&
			 futex_has_bits(values[1].n))
			add(&parts->part[i], "FUTEX_BITSET_MATCH_ANY");
		else
			call_value_add(&parts->part[i], r, &v, x);
	}
}

void call_join(struct text *t, const struct call_plan *p, const struct call_parts *parts,
	       uint32_t from, uint32_t n)
{
	const char *before = "";

	assert(from <= n);
	for (uint32_t i = 0; i < CALL_ARGS; i++) {
		uint32_t argument = at_place(p, i);
		const struct text *part = &parts->part[argument];

		if (!(parts->uses & 1u << argument) || i < from)
			continue;
		if (i >= n)
			return add(t, before);
		add(t, before);
		before = ", ";
		if (p->shape == SHAPE_CLONE)
			add(t, clone_order[i].label);
		if (part->size)
			text_add(t, part->bytes, part->size);
	}
}

void call_parts_fini(struct call_parts *parts)
{
	for (uint32_t i = 0; i < CALL_ARGS; i++)
		text_fini(&parts->part[i]);
}

/* A number, with its name in parentheses. */
static void add_named_result(struct text *t, const struct call_plan *p, int64_t result)
{
	static const struct call_rule states = { .kind = CALL_ONE, .names = call_names_time_state },
				      scheduler = { .kind = CALL_ONE, .names = call_names_sched },
				      signal = { .kind = CALL_SIGNAL };

	add_signed(t, result);
	if (call_style()->constants == CALL_RAW)
		return;
	add(t, " (");
	if (p->shape == SHAPE_IOPRIO)
		call_io_priority(t, (uint64_t)result);
	else
		call_value_add(t,
			       p->shape == SHAPE_TIMEX	     ? &states
			       : p->shape == SHAPE_SCHEDULER ? &scheduler
							     : &signal,
			       &(struct call_value){ .n = result }, NULL);
	add(t, ")");
}

void call_result(struct text *t, const struct call_plan *p, const struct call_made *m,
		 int64_t result, const struct call_about *about)
{
	int64_t command = p->shape == SHAPE_FCNTL && m->class ? m->args[1] : -1;

	if (!p->has_result)
		return add(t, "?");
	if (p->shape == SHAPE_INT && call_is_error((int32_t)result) &&
	    call_errno(-(int32_t)result)) { /* an unsigned int */
		add_base(t, (uint64_t)result, 10, "");
		return text_addf(t, " %s (%s)", call_errno(-(int32_t)result),
				 strerrordesc_np(-(int32_t)result));
	}
	if (call_is_error(result))
		return call_error(t, (int)-result);
	if (p->result == CALL_FD || command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return call_fd(t, result, about);
	if (p->shape == SHAPE_RULESET && m->class && !m->args[2])
		return call_fd(t, result, about);
	if (p->shape == SHAPE_BPF && m->class && fds_bpf_kind(m->args[0]))
		return call_fd(t, result, about);
	if (p->result == CALL_PID)
		return call_pid(t, result, about);
	if (p->result == CALL_HEX)
		return add_hex(t, (uint64_t)result);
	if (p->shape == SHAPE_IOPRIO || p->shape == SHAPE_SCHEDULER || p->shape == SHAPE_SIGNAL ||
	    p->shape == SHAPE_TIMEX)
		return add_named_result(t, p, result);
	if (p->shape == SHAPE_MEMBARRIER && m->class && !m->args[0] && result > 0) {
		add_hex(t, (uint64_t)result);
		if (call_style()->constants == CALL_RAW)
			return;
		add(t, " (");
		call_flags(t, call_names_membarrier, (uint64_t)result);
		return add(t, ")");
	}
	if (p->shape == SHAPE_TIME) {
		add_signed(t, result);
		return call_date(t, " (", result, 0, 0, ")");
	}
	if (p->result == CALL_OCTAL)
		return text_addf(t, "%#03llo", (unsigned long long)result);
	if (command == F_GETSIG && result > 0) {
		add_signed(t, result);
		if (call_style()->constants == CALL_RAW)
			return;
		add(t, " (");
		call_signal(t, result);
		return add(t, ")");
	}
	if (command == F_GET_SEALS && result > 0) {
		add_hex(t, (uint64_t)result);
		add(t, " (seals ");
		call_flags(t, call_names_seal, (uint64_t)result);
		return add(t, ")");
	}
	if (command == F_GETLEASE) {
		add_hex(t, (uint64_t)result);
		if (call_style()->constants == CALL_RAW)
			return;
		add(t, " (");
		call_one(t, call_names_lock, result, 32);
		return add(t, ")");
	}
	if (command != F_GETFL && (command != F_GETFD || !result))
		return add_signed(t, result);
	add_hex(t, (uint64_t)result);
	add(t, " (flags ");
	call_value_add(t, command == F_GETFL ? &file_flags : &fd_flags,
		       &(struct call_value){ .n = result }, NULL);
	add(t, ")");
}
