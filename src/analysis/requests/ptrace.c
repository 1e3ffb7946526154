/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/ptrace.c - the memory of ptrace(): registers, signals, and states of calls.
 *
 * The request decides the type of the data. The data is recorded as bytes, more of them than a
 * small request has; so each decoder takes what its structure has. Registers are those of x86-64
 * (sys/user.h).
 */
#include "analysis/requests/decoders.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <string.h>

#include "analysis/syscalls/words.h"
#include "analysis/syscalls/bytes.h"
#include "kernel/tracefs/public.h"

enum { SIGNAL_INFO = 128, REGISTERS = 27, FLOATING = 512, IOVEC = 16, NEW_LENGTH_AT = 8 };

/* ---------------------------------------------------------------- registers */

static void add_registers(struct text *t, const uint8_t *p, uint64_t size)
{
	static const char *const names[REGISTERS] = {
		"r15",	  "r14", "r13", "r12",	   "rbp",     "rbx", "r11",	 "r10", "r9",
		"r8",	  "rax", "rcx", "rdx",	   "rsi",     "rdi", "orig_rax", "rip", "cs",
		"eflags", "rsp", "ss",	"fs_base", "gs_base", "ds",  "es",	 "fs",	"gs",
	};

	for (size_t i = 0; i < REGISTERS && 8 * (i + 1) <= size; i++) {
		text_addf(t, "%s%s=", i ? ", " : "{", names[i]);
		add_hex(t, bytes_number(p + 8 * i, 8));
	}
	add(t, size > 8 * REGISTERS ? ", ...}" : "}");
}

/* The part of a row of numbers of 32 bits that lies below @size. */
static void add_row(struct text *t, const uint8_t *p, const char *name, size_t at, size_t n,
		    uint64_t size)
{
	if (size <= at)
		return;
	text_addf(t, ", %s=[", name);
	for (size_t i = 0; i < n && at + 4 * i < size; i++) {
		add(t, i ? ", " : "");
		add_hex(t, bytes_number(p + at + 4 * i, 4));
	}
	add(t, "]");
}

static void add_floating(struct text *t, const uint8_t *p, uint64_t size)
{
	static const struct {
		const char *name;
		uint8_t at, size;
	} fields[] = {
		{ "cwd", 0, 2 }, { "swd", 2, 2 },  { "ftw", 4, 2 },    { "fop", 6, 2 },
		{ "rip", 8, 8 }, { "rdp", 16, 8 }, { "mxcsr", 24, 4 }, { "mxcr_mask", 28, 4 }
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (i && fields[i].at + fields[i].size > size)
			continue;
		text_addf(t, "%s%s=", i ? ", " : "{", fields[i].name);
		add_hex(t, bytes_number(p + fields[i].at, fields[i].size));
	}
	add_row(t, p, "st_space", 32, 32, size);
	add_row(t, p, "xmm_space", 160, 64, size);
	add_row(t, p, "padding", 416, 24, size);
	add(t, size > FLOATING ? ", ...}" : "}");
}

/* {iov_base={r15=0, ..}, iov_len=216}. The kernel writes the length that it used. */
static bool add_set(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_memory *set = call_memory_behind(m, x, 0);
	const struct call_length *passed = call_length_of(x, 4);
	bool is_shown = set && x->is_end == (x->args[0] == PTRACE_GETREGSET);
	uint64_t now, size, shown;

	if (m->size < IOVEC)
		return false;
	shown = now = size = u64(m, NEW_LENGTH_AT);
	if (passed)
		size = passed->bytes;
	is_shown = set && (is_shown || x->is_end) && now && now <= set->size && !(now % 8);
	if (x->args[0] == PTRACE_SETREGSET) { /* the kernel had those that it did not use, too */
		is_shown &= size && !(size % 8) &&
			    (now == size ||
			     now >= (x->args[2] == NT_PRSTATUS ? 8 * REGISTERS : FLOATING));
		shown = size;
	}
	add(t, "{iov_base=");
	if (is_shown && x->args[2] == NT_PRSTATUS)
		add_registers(t, set->bytes, shown);
	else if (is_shown && x->args[2] == NT_FPREGSET)
		add_floating(t, set->bytes, shown);
	else
		add_address(t, u64(m, 0));
	text_addf(t, ", iov_len=%" PRIu64, size);
	if (now != size)
		text_addf(t, " => %" PRIu64, now);
	add(t, "}");
	return true;
}

/* ---------------------------------------------------------------- calls */

static void add_call_number(struct text *t, uint64_t nr, uint32_t arch)
{
	const char *name = arch == AUDIT_ARCH_X86_64 && nr < KERNEL_SYSCALLS_MAX
				   ? kernel_syscall_name((int)nr)
				   : NULL;

	if (!name)
		return add_base(t, nr, 10, "");
	if (!call_words_begin(t, nr, CALL_DECIMAL))
		return;
	text_addf(t, "__NR_%s", name);
	call_words_end(t);
}

static void add_entered(struct text *t, const uint8_t *p, uint64_t size, bool is_filter)
{
	enum { NR_AT = 24, ARGS_AT = 32, DATA_AT = 80 };

	add(t, is_filter ? ", seccomp={nr=" : ", entry={nr=");
	add_call_number(t, bytes_number(p + NR_AT, 8), (uint32_t)bytes_number(p + 4, 4));
	for (size_t i = 0; i < 6 && ARGS_AT + 8 * (i + 1) <= size; i++) {
		add(t, i ? ", " : ", args=[");
		add_hex(t, bytes_number(p + ARGS_AT + 8 * i, 8));
	}
	add(t, size >= ARGS_AT + 8 ? "]" : "");
	if (is_filter && size >= DATA_AT + 4)
		text_addf(t, ", ret_data=%" PRIu64, bytes_number(p + DATA_AT, 4));
	add(t, "}");
}

static void add_left(struct text *t, const uint8_t *p, uint64_t size, const struct call_moment *x)
{
	bool is_error = size >= 33 && p[32];

	add(t, ", exit={");
	call_description_add(t, is_error ? "rval=%24e4" : "rval=%24d8", p, x);
	if (size >= 33)
		text_addf(t, ", is_error=%u", p[32]);
	add(t, "}");
}

/* struct ptrace_syscall_info, as far as the caller wanted it. */
static bool add_call_state(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { MOST = 88 };
	uint64_t size = (uint64_t)x->args[2];
	const uint8_t *p = m->bytes;

	size = size < (uint64_t)x->result ? size : (uint64_t)x->result;
	size = size < MOST ? size : MOST;
	if (!size || m->size < size)
		return false;
	call_description_add(t, "{op=%0E1:ptrace_info", p, x);
	if (size >= 8)
		call_description_add(t, ", arch=%4E4:audit_arch", p, x);
	if (size >= 16)
		call_description_add(t, ", instruction_pointer=%8p8", p, x);
	if (size >= 24)
		call_description_add(t, ", stack_pointer=%16p8", p, x);
	if (size >= 32 && p[0] == PTRACE_SYSCALL_INFO_EXIT)
		add_left(t, p, size, x);
	else if (size >= 32 && p[0])
		add_entered(t, p, size, p[0] == PTRACE_SYSCALL_INFO_SECCOMP);
	add(t, "}");
	return true;
}

/* ---------------------------------------------------------------- others */

static bool add_siginfos(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t n = x->result > 0 ? (uint64_t)x->result : 0, known = m->size / SIGNAL_INFO;

	if (n && !known)
		return false;
	add(t, "[");
	for (uint64_t i = 0; i < n && i < known; i++) {
		add(t, i ? ", " : "");
		call_siginfo_of(t, m->bytes + SIGNAL_INFO * i, x->about);
	}
	add(t, n > known ? ", ...]" : "]");
	return true;
}

static bool add_siginfo(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	if (m->size < SIGNAL_INFO)
		return false;
	call_siginfo_of(t, m->bytes, x->about);
	return true;
}

/* The kernel writes the flags behind the number of the filter, which the caller gives. */
static bool add_filter_state(struct text *t, const struct call_memory *m,
			     const struct call_moment *x)
{
	enum { SIZE = 16 };
	uint64_t size = x->is_end ? (uint64_t)x->result : (uint64_t)x->args[2];

	if (m->size < 8 || (uint64_t)x->args[2] < 8)
		return false;
	call_description_add(t, "{filter_off=%0u8", m->bytes, x);
	if (x->is_end && size > 8) {
		if (size >= SIZE && m->size >= SIZE)
			call_description_add(t, ", flags=%8F8:seccomp_filter", m->bytes, x);
		else
			add(t, ", ???");
		add(t, size > SIZE ? ", ..." : "");
	}
	add(t, "}");
	return true;
}

static bool add_signal_mask(struct text *t, const struct call_memory *m,
			    const struct call_moment *x)
{
	if (m->size < 8 || x->args[2] != 8)
		return false;
	call_set_add(t, u64(m, 0));
	return true;
}

static bool add_number(struct text *t, const struct call_memory *m, bool is_hex)
{
	if (m->size < 8)
		return false;
	add(t, "[");
	if (is_hex)
		add_hex(t, u64(m, 0));
	else
		add_base(t, u64(m, 0), 10, "");
	add(t, "]");
	return true;
}

bool request_ptrace_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	switch (x->args[0]) {
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		return add_set(t, m, x);
	case PTRACE_SETSIGINFO:
		return !x->is_end && add_siginfo(t, m, x);
	case PTRACE_GETSIGINFO:
		return x->is_end && add_siginfo(t, m, x);
	case PTRACE_SETSIGMASK:
		return !x->is_end && add_signal_mask(t, m, x);
	case PTRACE_GETSIGMASK:
		return x->is_end && add_signal_mask(t, m, x);
	case PTRACE_SECCOMP_GET_METADATA:
		return add_filter_state(t, m, x);
	case PTRACE_PEEKSIGINFO:
		return x->is_end && add_siginfos(t, m, x);
	case PTRACE_GET_SYSCALL_INFO:
		return x->is_end && add_call_state(t, m, x);
	case PTRACE_GETEVENTMSG:
		return x->is_end && add_number(t, m, false);
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSR:
		return x->is_end && add_number(t, m, true);
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
		if (x->is_end != (x->args[0] == PTRACE_GETREGS) || m->size < 8 * REGISTERS)
			return false;
		return add_registers(t, m->bytes, 8 * REGISTERS), true;
	case PTRACE_GETFPREGS:
	case PTRACE_SETFPREGS:
		if (x->is_end != (x->args[0] == PTRACE_GETFPREGS) || m->size < FLOATING)
			return false;
		return add_floating(t, m->bytes, FLOATING), true;
	}
	return false;
}
