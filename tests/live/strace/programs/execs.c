/* SPDX-License-Identifier: MIT */
/* A second thread executes this program again, by the call that the argument names, and so takes the place of the
 * first. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool spins;

static void *execute(void *argument)
{
	char **argv = argument, *again[] = { argv[0], argv[1], "over", NULL };

	while (!spins)
		;
	if (!strcmp(argv[1], "execve"))
		execve(argv[0], again, NULL);
	else
		syscall(SYS_execveat, AT_FDCWD, argv[0], again, NULL, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		return argc > 2 ? 5 : 2;
	if (pthread_create(&thread, NULL, execute, argv))
		return 3;
	for (;;)
		spins = true;
}
