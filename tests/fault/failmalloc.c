/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/failmalloc.c - preloaded: the FAULT_MALLOC-th allocation fails.  0 only counts.
 *
 * FAULT_COUNT names a file for the count.  Only the process that is started with it: its children
 * find no preload.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static long n, count, is_counting;
static const char *count_file;

static __attribute__((constructor)) void begin(void)
{
	const char *at = getenv("FAULT_MALLOC");

	n = at ? atol(at) : 0;
	count_file = getenv("FAULT_COUNT");
	unsetenv("LD_PRELOAD");
	is_counting = 1;
}

static __attribute__((destructor)) void end(void)
{
	char text[32];
	int fd = count_file ? open(count_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	(void)!write(fd, text, (size_t)snprintf(text, sizeof text, "%ld\n", count));
	close(fd);
}

static int fails(void)
{
	if (!is_counting || ++count != n)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t a, size_t b)
{
	return fails() ? NULL : __libc_calloc(a, b);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}
