/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/analysis/calls_program.c - calls whose numbers are known: main calls serve 100 times, serve calls price 3
 * times and, for every tenth order, log, which writes.
 */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone))

volatile double sum;
static int fd;

CALLED void price(int id)
{
	for (int i = 0; i < 500; i++)
		sum += sqrt(sum + id + i);
}

CALLED int log_order(int id)
{
	char byte = (char)id;
	ssize_t n = write(fd, &byte, 1);

	sum += (double)n;
	return n == 1;
}

CALLED int serve(int id)
{
	int n = 0;

	for (int i = 0; i < 3; i++)
		price(id);
	if (id % 10 == 0)
		n = log_order(id);
	sum += n;
	return n;
}

int main(void)
{
	int n = 0;

	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 100; i++)
		n += serve(i);
	return n != 10;
}
