/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/requests.c - multiplexed calls: one argument decides how many of the others are used
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
 *   k K    a key, a default ring of keys
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
	{ "keyctl", 0, KEYCTL_GET_KEYRING_ID, "=kd" },
	{ "keyctl", 0, KEYCTL_JOIN_SESSION_KEYRING, "=a" },
	{ "keyctl", 0, KEYCTL_UPDATE, "=kaU" },
	{ "keyctl", 0, KEYCTL_REVOKE, "=k" },
	{ "keyctl", 0, KEYCTL_CHOWN, "=kii" },
	{ "keyctl", 0, KEYCTL_SETPERM, "=kr" },
	{ "keyctl", 0, KEYCTL_DESCRIBE, "=kaU" },
	{ "keyctl", 0, KEYCTL_CLEAR, "=k" },
	{ "keyctl", 0, KEYCTL_LINK, "=kk" },
	{ "keyctl", 0, KEYCTL_UNLINK, "=kk" },
	{ "keyctl", 0, KEYCTL_SEARCH, "=kaak" },
	{ "keyctl", 0, KEYCTL_READ, "=kaU" },
	{ "keyctl", 0, KEYCTL_INSTANTIATE, "=kaUk" },
	{ "keyctl", 0, KEYCTL_NEGATE, "=kuk" },
	{ "keyctl", 0, KEYCTL_SET_REQKEY_KEYRING, "=K" },
	{ "keyctl", 0, KEYCTL_SET_TIMEOUT, "=ku" },
	{ "keyctl", 0, KEYCTL_ASSUME_AUTHORITY, "=k" },
	{ "keyctl", 0, KEYCTL_GET_SECURITY, "=kaU" },
	{ "keyctl", 0, KEYCTL_SESSION_TO_PARENT, "=" },
	{ "keyctl", 0, KEYCTL_REJECT, "=kuek" },
	{ "keyctl", 0, KEYCTL_INSTANTIATE_IOV, "=kaUk" },
	{ "keyctl", 0, KEYCTL_INVALIDATE, "=k" },
	{ "keyctl", 0, KEYCTL_GET_PERSISTENT, "=ik" },
	{ "keyctl", 0, KEYCTL_DH_COMPUTE, "=aaUa" },
	{ "keyctl", 0, KEYCTL_PKEY_QUERY, "=kXaa" },
	{ "keyctl", 0, KEYCTL_PKEY_ENCRYPT, "=aaaa" },
	{ "keyctl", 0, KEYCTL_PKEY_DECRYPT, "=aaaa" },
	{ "keyctl", 0, KEYCTL_PKEY_SIGN, "=aaaa" },
	{ "keyctl", 0, KEYCTL_PKEY_VERIFY, "=aaaa" },
	{ "keyctl", 0, KEYCTL_RESTRICT_KEYRING, "=kaa" },
	{ "keyctl", 0, KEYCTL_MOVE, "=kkkm" },
	{ "keyctl", 0, KEYCTL_CAPABILITIES, "=aU" },
	{ "fsconfig", 1, FSCONFIG_SET_PATH, "===a@" },
	{ "fsconfig", 1, FSCONFIG_SET_PATH_EMPTY, "===a@" },
	{ "fsconfig", 1, FSCONFIG_SET_FD, "===af" },
};

/* Permissions of the possessor, the user, the group and others, in a byte each: not in headers. */
#define PERMISSIONS(who, at)                                                                       \
	{ "KEY_" #who "_VIEW", 1u << (at), NULL }, { "KEY_" #who "_READ", 2u << (at), NULL },      \
		{ "KEY_" #who "_WRITE", 4u << (at), NULL },                                        \
		{ "KEY_" #who "_SEARCH", 8u << (at), NULL },                                       \
		{ "KEY_" #who "_LINK", 16u << (at), NULL },                                        \
	{                                                                                          \
		"KEY_" #who "_SETATTR", 32u << (at), NULL                                          \
	}
static const struct call_name key_permissions[] = {
	PERMISSIONS(POS, 24),
	PERMISSIONS(USR, 16),
	PERMISSIONS(GRP, 8),
	PERMISSIONS(OTH, 0),
	{ NULL, CALL_AS_LISTED, "KEY_???" },
};

static const struct {
	char letter;
	uint8_t size_bits;
	struct call_rule rule;
} letters[] = {
	{ 'a', 64, { .kind = CALL_ADDRESS } },
	{ 'd', 32, { .kind = CALL_SIGNED } },
	{ 'D', 64, { .kind = CALL_SIGNED } },
	{ 'u', 32, { .kind = CALL_UNSIGNED } },
	{ 'U', 64, { .kind = CALL_UNSIGNED } },
	{ 'x', 32, { .kind = CALL_HEX } },
	{ 'X', 64, { .kind = CALL_HEX } },
	{ 'i', 32, { .kind = CALL_ID } },
	{ 'p', 32, { .kind = CALL_PID } },
	{ 's', 64, { .kind = CALL_SIGNAL } },
	{ 'f', 32, { .kind = CALL_FD } },
	{ '@', 32, { .kind = CALL_AT_FD } },
	{ 'o', 64, { .kind = CALL_FLAGS, .names = call_names_ptrace_option } },
	{ 'k', 32, { .kind = CALL_ONE_SIGNED, .names = call_names_key_serial } },
	{ 'K', 32, { .kind = CALL_ONE_SIGNED, .names = call_names_key_default } },
	{ 'r', 32, { .kind = CALL_FLAGS, .names = key_permissions } },
	{ 'm', 32, { .kind = CALL_FLAGS, .names = call_names_key_move } },
	{ 'e', 32, { .kind = CALL_ERROR } },
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
	/* The kernel's type is long, in others an int. */
	uint64_t bits = !strcmp(all->call, "ptrace") ? UINT64_MAX : UINT32_MAX;

	for (const struct call_request *r = all; r < end && !strcmp(r->call, all->call); r++)
		if (r->by < n && r->value == ((uint64_t)v[r->by].n & bits))
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
