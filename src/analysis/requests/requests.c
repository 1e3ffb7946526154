/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/requests.c - calls of which one argument decides how many of the others are used
 * and how they are read.
 *
 * A request has a letter for each argument that it uses:
 *
 *   -      not used
 *   =      by the rule of the call's argument (syscalls/rules.c)
 *   a      an address
 *   d u    a signed, an unsigned number of 32 bits; D U: of 64
 *   x X    a hexadecimal number of 32 bits, of 64
 *   i      the number of a user or group
 *   p      a process
 *   s      a signal
 *   f @    a descriptor, one of a directory
 *   o      options of ptrace()
 *   n      a set of registers of ptrace()
 *   k      a key
 *   r      permissions of a key
 *   m      flags of KEYCTL_MOVE
 *   e      an error
 */
#include <asm/ptrace-abi.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/ptrace.h>
#include <string.h>

#include "analysis/syscalls/text.h"

static const struct call_request requests[] = {
	{ "ptrace", 0, PTRACE_TRACEME, "=" },
	{ "ptrace", 0, PTRACE_ATTACH, "=p" },
	{ "ptrace", 0, PTRACE_INTERRUPT, "=p" },
	{ "ptrace", 0, PTRACE_KILL, "=p" },
	{ "ptrace", 0, PTRACE_LISTEN, "=p" },
	{ "ptrace", 0, PTRACE_GETREGSET, "=pna" },
	{ "ptrace", 0, PTRACE_SETREGSET, "=pna" },
	{ "ptrace", 0, PTRACE_GETSIGMASK, "=pUa" },
	{ "ptrace", 0, PTRACE_SETSIGMASK, "=pUa" },
	{ "ptrace", 0, PTRACE_SECCOMP_GET_FILTER, "=pUa" },
	{ "ptrace", 0, PTRACE_SECCOMP_GET_METADATA, "=pUa" },
	{ "ptrace", 0, PTRACE_GET_SYSCALL_INFO, "=pUa" },
	{ "ptrace", 0, PTRACE_GETREGS, "=p-a" },
	{ "ptrace", 0, PTRACE_SETREGS, "=p-a" },
	{ "ptrace", 0, PTRACE_GETFPREGS, "=p-a" },
	{ "ptrace", 0, PTRACE_SETFPREGS, "=p-a" },
	{ "ptrace", 0, PTRACE_CONT, "=pas" },
	{ "ptrace", 0, PTRACE_DETACH, "=pas" },
	{ "ptrace", 0, PTRACE_SYSCALL, "=pas" },
	{ "ptrace", 0, PTRACE_SINGLESTEP, "=pas" },
	{ "ptrace", 0, PTRACE_SINGLEBLOCK, "=pas" },
	{ "ptrace", 0, PTRACE_SYSEMU, "=pas" },
	{ "ptrace", 0, PTRACE_SYSEMU_SINGLESTEP, "=pas" },
	{ "ptrace", 0, PTRACE_SEIZE, "=pao" },
	{ "ptrace", 0, PTRACE_SETOPTIONS, "=pao" },
	{ "fsconfig", 1, FSCONFIG_SET_PATH, "===a@" },
	{ "fsconfig", 1, FSCONFIG_SET_PATH_EMPTY, "===a@" },
	{ "fsconfig", 1, FSCONFIG_SET_FD, "===af" },
};

static const struct {
	char letter;
	uint8_t size_bits;
	struct call_rule rule;
} letters[] = {
	{ 'a', 64, { .kind = CALL_ADDRESS } },	{ 'd', 32, { .kind = CALL_SIGNED } },
	{ 'D', 64, { .kind = CALL_SIGNED } },	{ 'u', 32, { .kind = CALL_UNSIGNED } },
	{ 'U', 64, { .kind = CALL_UNSIGNED } }, { 'x', 32, { .kind = CALL_HEX } },
	{ 'X', 64, { .kind = CALL_HEX } },	{ 'i', 32, { .kind = CALL_ID } },
	{ 'p', 32, { .kind = CALL_PID } },	{ 's', 64, { .kind = CALL_SIGNAL } },
	{ 'f', 32, { .kind = CALL_FD } },	{ '@', 32, { .kind = CALL_AT_FD } },
	{ 'o', 64, { .kind = CALL_FLAGS, .names = call_names_ptrace_option } },
	{ 'n', 32, { .kind = CALL_ONE, .names = call_names_registers } },
};

const struct call_request *call_requests(const char *call)
{
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		if (!strcmp(requests[i].call, call))
			return &requests[i];
	return NULL;
}

const struct call_request *call_request_of(const struct call_request *all,
					   const struct call_value *v, uint32_t n)
{
	const struct call_request *end = requests + sizeof requests / sizeof *requests;

	for (const struct call_request *r = all; r < end && !strcmp(r->call, all->call); r++)
		if (r->by < n && r->value == ((uint64_t)v[r->by].n & UINT32_MAX))
			return r;
	return NULL;
}

const struct call_rule *call_request_rule(const struct call_request *r, uint32_t i,
					  uint8_t *size_bits)
{
	for (size_t k = 0; i < strlen(r->arguments) && k < sizeof letters / sizeof *letters; k++)
		if (letters[k].letter == r->arguments[i]) {
			*size_bits = letters[k].size_bits;
			return &letters[k].rule;
		}
	return NULL;
}
