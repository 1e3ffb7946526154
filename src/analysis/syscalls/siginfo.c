/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/siginfo.c - a signal's siginfo as text.
 *
 * Signal and code decide which union it has.
 */
#include <inttypes.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>

#include "analysis/syscalls/bytes.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"
#include "kernel/tracefs/public.h"

/* Offsets in the kernel's struct siginfo of 64-bit programs. */
enum {
	AT_ERRNO = 4,
	AT_CODE = 8,
	AT_PID = 16, /* or a timer's number; */
	AT_UID = 20, /* or its overruns */
	AT_STATUS = 24,
	AT_VALUE = 24,
	AT_USER_TIME = 32,
	AT_SYSTEM_TIME = 40,
	AT_ADDRESS = 16,
	AT_LOWER = 32, /* or a protection key */
	AT_UPPER = 40,
	AT_BAND = 16,
	AT_FD = 24,
	AT_LSB = 24,
	AT_CALL = 24,
	AT_ARCH = 28,
};

/* Not in the C library's headers of 2022. */
static const struct call_name refusals[] = { { "SYS_SECCOMP", 1, NULL },
					     { "SYS_USER_DISPATCH", 2, NULL },
					     { NULL, 0, NULL } };

static int32_t number(const uint8_t *info, int at)
{
	return (int32_t)bytes_u32(info + at);
}

static uint64_t word(const uint8_t *info, int at)
{
	return bytes_u64(info + at);
}

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP;
}

const struct call_name *call_siginfo_codes(int signal, int64_t code)
{
	if (code <= 0 || code == SI_KERNEL)
		return call_names_signal_code;
	switch (signal) {
	case SIGCHLD:
		return call_names_child_code;
	case SIGSEGV:
		return call_names_fault_code;
	case SIGBUS:
		return call_names_bus_code;
	case SIGILL:
		return call_names_illegal_code;
	case SIGFPE:
		return call_names_float_code;
	case SIGTRAP:
		return call_names_trap_code;
	case SIGIO:
		return call_names_poll_code;
	case SIGSYS:
		return refusals;
	}
	return call_names_signal_code;
}

static void add_child(struct text *t, const uint8_t *info, int code)
{
	add(t, ", si_status=");
	if (code == CLD_EXITED)
		text_addf(t, "%" PRId32, number(info, AT_STATUS));
	else
		call_signal(t, number(info, AT_STATUS));
	add(t, ", si_utime=");
	call_ticks(t, (int64_t)word(info, AT_USER_TIME));
	add(t, ", si_stime=");
	call_ticks(t, (int64_t)word(info, AT_SYSTEM_TIME));
}

static void add_fault(struct text *t, const uint8_t *info, int signal, int code)
{
	add(t, ", si_addr=");
	add_address(t, word(info, AT_ADDRESS));
	if (signal == SIGBUS && (code == BUS_MCEERR_AR || code == BUS_MCEERR_AO)) {
		text_addf(t, ", si_addr_lsb=%#x", (unsigned)number(info, AT_LSB) & 0xffff);
	} else if (signal == SIGSEGV && code == SEGV_BNDERR) {
		add(t, ", si_lower=");
		add_address(t, word(info, AT_LOWER));
		add(t, ", si_upper=");
		add_address(t, word(info, AT_UPPER));
	} else if (signal == SIGSEGV && code == SEGV_PKUERR) {
		text_addf(t, ", si_pkey=%" PRIu32, (uint32_t)number(info, AT_LOWER));
	}
}

static void add_refused_call(struct text *t, const uint8_t *info)
{
	const char *call = number(info, AT_CALL) >= 0 && number(info, AT_CALL) < KERNEL_SYSCALLS_MAX
				   ? kernel_syscall_name(number(info, AT_CALL))
				   : NULL;

	add(t, ", si_call_addr=");
	add_address(t, word(info, AT_ADDRESS));
	add(t, ", si_syscall=");
	if (!call || (uint32_t)number(info, AT_ARCH) != AUDIT_ARCH_X86_64) {
		add_base(t, (uint32_t)number(info, AT_CALL), 10, "");
	} else if (call_words_begin(t, (uint32_t)number(info, AT_CALL), CALL_DECIMAL)) {
		text_addf(t, "__NR_%s", call);
		call_words_end(t);
	}
	add(t, ", si_arch=");
	call_one(t, call_names_audit_arch, (uint32_t)number(info, AT_ARCH), 32);
}

static void add_value(struct text *t, const uint8_t *info)
{
	text_addf(t, ", si_int=%" PRId32 ", si_ptr=", number(info, AT_VALUE));
	add_address(t, word(info, AT_VALUE));
}

static void add_band(struct text *t, const uint8_t *info, const struct call_about *about)
{
	text_addf(t, ", si_band=%" PRId64 ", si_fd=", (int64_t)word(info, AT_BAND));
	call_fd(t, number(info, AT_FD), about);
}

static void add_sender(struct text *t, const uint8_t *info)
{
	static const struct call_rule user = { .kind = CALL_ID };

	text_addf(t, ", si_pid=%" PRId32 ", si_uid=", number(info, AT_PID));
	call_value_add(t, &user, &(struct call_value){ .n = number(info, AT_UID) }, NULL);
}

/* Adds the fields of signals that the kernel itself sends. */
static void add_own(struct text *t, const uint8_t *info, int signal, int code,
		    const struct call_about *about)
{
	if (signal == SIGCHLD && code != SI_KERNEL) {
		add_sender(t, info);
		add_child(t, info, code);
	} else if (is_fault(signal)) {
		add_fault(t, info, signal, code);
	} else if (signal == SIGSYS) {
		add_refused_call(t, info);
	} else if (signal == SIGIO && code != SI_KERNEL) {
		if (code >= POLL_IN && code <= POLL_HUP) /* else the kernel has no band either */
			add_band(t, info, about);
	} else {
		if (number(info, AT_PID) || number(info, AT_UID))
			add_sender(t, info);
		if (word(info, AT_VALUE))
			add_value(t, info);
	}
}

void call_siginfo(struct text *t, const uint8_t *info)
{
	call_siginfo_of(t, info, NULL);
}

static void add_errno(struct text *t, int err)
{
	const char *name = err > 0 ? call_errno(err) : NULL;

	if (!err)
		return;
	add(t, ", si_errno=");
	if (!name)
		return add_base(t, (uint32_t)err, 10, "");
	if (!call_words_begin(t, (uint32_t)err, CALL_DECIMAL))
		return;
	add(t, name);
	call_words_end(t);
}

void call_siginfo_of(struct text *t, const uint8_t *info, const struct call_about *about)
{
	int signal = number(info, 0), code = number(info, AT_CODE);

	if (!signal)
		return add(t, "{}");
	add(t, "{si_signo=");
	call_signal(t, signal);
	add(t, ", si_code=");
	call_one(t, call_siginfo_codes(signal, code), code, 32);
	add_errno(t, number(info, AT_ERRNO));
	if (code > 0) {
		add_own(t, info, signal, code, about);
	} else if (code == SI_SIGIO) {
		add_band(t, info, about);
	} else if (code == SI_TIMER) {
		text_addf(t, ", si_timerid=%#" PRIx32 ", si_overrun=%" PRId32,
			  (uint32_t)number(info, AT_PID), number(info, AT_UID));
		add_value(t, info);
	} else {
		add_sender(t, info);
		if (code < 0 && code != SI_TKILL && word(info, AT_VALUE))
			add_value(t, info);
	}
	add(t, "}");
}
