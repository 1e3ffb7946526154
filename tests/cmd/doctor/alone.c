/* SPDX-License-Identifier: MIT */
/* alone.c - a static program without libc, with room for one trace site: it cannot load libduet. */
#include <stdint.h>

static uint64_t site[9] __attribute__((section("duet_sites"), used));

void _start(void);
__attribute__((force_align_arg_pointer)) void _start(void)
{
	static const char ready[] = "ready\n";
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(1), "D"(1), "S"(ready), "d"(sizeof ready - 1)
			 : "rcx", "r11", "memory");
	for (;;)
		__asm__ volatile("syscall" : "=a"(result) : "a"(34) : "rcx", "r11", "memory");
}
