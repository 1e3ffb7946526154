/* SPDX-License-Identifier: MIT */
/* stacks.c - makes calls in functions with frame pointers, itself and through libc. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long own_getppid(void)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	return result;
}

__attribute__((noinline, noclone)) static int inner(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += own_getppid() > 0;
	sum += open("/does/not/exist", O_RDONLY);
	return sum + 1;
}

__attribute__((noinline, noclone)) static int outer(int n)
{
	return inner(n) + 2;
}

int main(void)
{
	return outer(3) == 0;
}
