/* SPDX-License-Identifier: MIT */
/* A library to preload: the kernel refuses BPF programs whose name begins with $REFUSED. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	const char *refused = getenv("REFUSED");
	long at[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		at[i] = va_arg(list, long);
	va_end(list);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_bpf && at[0] == BPF_PROG_LOAD && refused) {
		const union bpf_attr *a = (const union bpf_attr *)at[1];

		if (!strncmp(a->prog_name, refused, strlen(refused))) {
			errno = EINVAL;
			return -1;
		}
	}
	return next(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}
