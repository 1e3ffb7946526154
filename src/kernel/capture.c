/* SPDX-License-Identifier: MIT */
/* kernel/capture.c - see capture.h. */
#include "kernel/capture.h"

#include <stddef.h>
#include <string.h>

static const struct kernel_capture captures[] = {
	{ "connect", false, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "bind", false, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "sendto", false, KERNEL_CAPTURE_ADDRESS, 5, 6 },
	{ "accept", true, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "accept4", true, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "recvfrom", true, KERNEL_CAPTURE_ADDRESS, 5, 6 },
	{ "getsockname", true, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "getpeername", true, KERNEL_CAPTURE_ADDRESS, 2, 3 },
	{ "nanosleep", false, KERNEL_CAPTURE_TIME, 1, 0 },
	{ "clock_nanosleep", false, KERNEL_CAPTURE_TIME, 3, 0 },
	{ "clock_settime", false, KERNEL_CAPTURE_TIME, 2, 0 },
	{ "futex", false, KERNEL_CAPTURE_TIME, 4, 0 },
	{ "ppoll", false, KERNEL_CAPTURE_TIME, 3, 0 },
	{ "pselect6", false, KERNEL_CAPTURE_TIME, 5, 0 },
	{ "epoll_pwait2", false, KERNEL_CAPTURE_TIME, 4, 0 },
	{ "rt_sigtimedwait", false, KERNEL_CAPTURE_TIME, 3, 0 },
	{ "semtimedop", false, KERNEL_CAPTURE_TIME, 4, 0 },
	{ "mq_timedsend", false, KERNEL_CAPTURE_TIME, 5, 0 },
	{ "mq_timedreceive", false, KERNEL_CAPTURE_TIME, 5, 0 },
	{ "recvmmsg", false, KERNEL_CAPTURE_TIME, 5, 0 },
	{ "io_getevents", false, KERNEL_CAPTURE_TIME, 5, 0 },
	{ "clock_gettime", true, KERNEL_CAPTURE_TIME, 2, 0 },
	{ "clock_getres", true, KERNEL_CAPTURE_TIME, 2, 0 },
	{ "execve", false, KERNEL_CAPTURE_ARGV, 2, 0 },
	{ "execveat", false, KERNEL_CAPTURE_ARGV, 3, 0 },
};

const struct kernel_capture *kernel_capture_of(const char *call, bool is_at_exit)
{
	for (size_t i = 0; call && i < sizeof captures / sizeof *captures; i++)
		if (captures[i].is_at_exit == is_at_exit && !strcmp(captures[i].call, call))
			return &captures[i];
	return NULL;
}

const char *kernel_capture_field(const struct kernel_capture *c)
{
	static const char *const names[] = { "addr_bytes", "timespec", "argv_bytes" };

	return names[c->kind];
}

unsigned kernel_capture_element(const struct kernel_capture *c)
{
	return c->kind == KERNEL_CAPTURE_TIME ? 8 : 1;
}
