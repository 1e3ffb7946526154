/* SPDX-License-Identifier: MIT */
/* A program with some functions, which says by a file that it ran; it is not linked with libduet. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTION static __attribute__((noinline, noclone, used))

FUNCTION int plan_once(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

FUNCTION int plan_twice(int n)
{
	return plan_once(plan_once(n)) + 1;
}

FUNCTION int plan_often(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += plan_twice(i);
	return sum;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	if (fd >= 0)
		close(fd);
	return getenv("PLANNED_FAILS") && plan_often(3) ? 1 : plan_often(3) < 0;
}
