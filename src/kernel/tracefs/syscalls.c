/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/syscalls.c - names of system calls.
 *
 * syscalls.sh generates the table at build time. System calls newer than the build machine's
 * headers are listed here: from 424 on all architectures share the numbers. */
#include "kernel/tracefs/syscalls.h"

#include <asm/unistd.h>
#include <stddef.h>
#include <string.h>

static const char *const by_number[KERNEL_SYSCALLS_MAX] = {
#include "syscall_names.inc"
};

static const char *const younger[KERNEL_SYSCALLS_MAX] = {
	[451] = "cachestat",	     [452] = "fchmodat2",	 [453] = "map_shadow_stack",
	[454] = "futex_wake",	     [455] = "futex_wait",	 [456] = "futex_requeue",
	[457] = "statmount",	     [458] = "listmount",	 [459] = "lsm_get_self_attr",
	[460] = "lsm_set_self_attr", [461] = "lsm_list_modules", [462] = "mseal",
	[463] = "setxattrat",	     [464] = "getxattrat",	 [465] = "listxattrat",
	[466] = "removexattrat",     [467] = "open_tree_attr",	 [468] = "file_getattr",
	[469] = "file_setattr",
};

static const char *const renamed[][2] = {
	{ "fstat", "newfstat" }, { "lstat", "newlstat" }, { "sendfile", "sendfile64" },
	{ "stat", "newstat" },	 { "umount2", "umount" }, { "uname", "newuname" },
};

const char *kernel_syscall_name(int nr)
{
	if (nr < 0 || nr >= KERNEL_SYSCALLS_MAX)
		return NULL;
	return by_number[nr] ? by_number[nr] : younger[nr];
}

const char *kernel_syscall_kernel_name(int nr)
{
	const char *name = kernel_syscall_name(nr);

	for (size_t i = 0; name && i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(name, renamed[i][0]))
			return renamed[i][1];
	return name;
}
