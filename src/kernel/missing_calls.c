/* SPDX-License-Identifier: MIT */
/*
 * kernel/missing_calls.c - the arguments of system calls that the running kernel was built without,
 * or no longer has. They fail with ENOSYS, but a program that makes one passes arguments.
 *
 * Names and types are those of the kernels that have them (linux/syscalls.h). See internal.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/internal.h"

static const struct {
	const char *call, *arguments;
} calls[] = {
	{ "init_module", "void *umod;unsigned long len;const char *uargs" },
	{ "finit_module", "int fd;const char *uargs;int flags" },
	{ "delete_module", "const char *name_user;unsigned int flags" },
	{ "kexec_load",
	  "unsigned long entry;unsigned long nr_segments;void *segments;unsigned long flags" },
	{ "kexec_file_load",
	  "int kernel_fd;int initrd_fd;unsigned long cmdline_len;void *cmdline_ptr;"
	  "unsigned long flags" },
	{ "lookup_dcookie", "u64 cookie64;void *buf;size_t len" },
	{ "add_key",
	  "const char *_type;const char *_description;void *_payload;size_t plen;int ringid" },
	{ "request_key",
	  "const char *_type;const char *_description;const char *_callout_info;int destringid" },
	{ "keyctl", "int option;unsigned long arg2;unsigned long arg3;unsigned long arg4;unsigned "
		    "long arg5" },
	{ "acct", "const char *name" },
	{ "bpf", "int cmd;void *uattr;unsigned int size" },
	{ "userfaultfd", "int flags" },
	{ "memfd_secret", "unsigned int flags" },
	{ "swapon", "const char *specialfile;int swap_flags" },
	{ "swapoff", "const char *specialfile" },
	{ "modify_ldt", "int func;void *ptr;unsigned long bytecount" },
	{ "io_setup", "unsigned nr_events;void *ctxp" },
	{ "kcmp", "int pid1;int pid2;int type;unsigned long idx1;unsigned long idx2" },
	{ "quotactl", "unsigned int cmd;const char *special;unsigned int id;void *addr" },
	{ "quotactl_fd", "unsigned int fd;unsigned int cmd;unsigned int id;void *addr" },
	{ "_sysctl", "void *args" },
	{ "sysfs", "int option;unsigned long arg1;unsigned long arg2" },
	{ "uselib", "const char *library" },
};

bool kernel_format_of_missing_call(const char *call, struct kernel_format *f)
{
	char text[2048], *arguments, *rest;
	size_t i = 0, n;
	int number = 0;

	while (i < sizeof calls / sizeof *calls && strcmp(calls[i].call, call) != 0)
		i++;
	if (i == sizeof calls / sizeof *calls)
		return false;
	rest = arguments = strdup(calls[i].arguments);
	n = (size_t)snprintf(text, sizeof text, "name: sys_enter_%s\nID: 1\nformat:\n", call);
	for (char *a; (a = strsep(&rest, ";")) && n < sizeof text; number++)
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "\tfield:%s;\toffset:%d;\tsize:8;\tsigned:0;\n", a,
				      KERNEL_SYSCALL_ARGS + 8 * number);
	free(arguments);
	return arguments && n < sizeof text && !kernel_format_parse(f, text, call, NULL);
}
