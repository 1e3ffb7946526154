/* SPDX-License-Identifier: MIT */
/* tests/torture/attach/alone.c - a statically linked program that waits for the end of its input. */
#include <unistd.h>

int main(void)
{
	char c;

	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (read(0, &c, 1) > 0)
		;
	return write(1, "ok\n", 3) != 3;
}
