/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/attach/fake_duet.c - as much of libduet as attaching needs.
 *
 * So the test judges attaching alone.  It is called libduet.so.0 too.  Its second function writes
 * about as much as the first patches of some hundred functions need.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int duet_i_attached(const char *runtime);
int duet_i_calls_prepare(void);
int duet_i_calls_apply(uint32_t flags);

static char directory[512];
static int calls;

/* dlopen runs it: the program's own allocator and errno are used, as by any library. */
static __attribute__((constructor)) void begin(void)
{
	void *volatile p[64];

	for (int i = 0; i < 64; i++)
		p[i] = malloc((size_t)i * 100);
	for (int i = 0; i < 64; i++)
		free(p[i]);
	errno = ENOTUNIQ;
}

int duet_i_attached(const char *runtime)
{
	void *volatile p = malloc(1000);

	free(p);
	if (runtime && *directory && strcmp(runtime, directory))
		return -EEXIST;
	if (runtime)
		strncpy(directory, runtime, sizeof directory - 1);
	return 0;
}

int duet_i_calls_prepare(void)
{
	void *volatile p = malloc(100000);

	free(p);
	return 0;
}

int duet_i_calls_apply(uint32_t flags)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = ENOTUNIQ;
	if (flags != 1 || p == MAP_FAILED)
		return -EINVAL;
	for (int i = 0; i < 16; i++)
		memset(p + (i << 12), i, 4096);
	mprotect(p, 1 << 16, PROT_READ);
	munmap(p, 1 << 16);
	/* Vector registers are the program's. */
	__asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvmovdqa %%ymm0, %%ymm15\n\t"
			 "vmovdqa %%ymm0, %%ymm7" ::
				 : "xmm0", "xmm7", "xmm15");
	return ++calls;
}
