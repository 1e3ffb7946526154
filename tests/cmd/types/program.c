/* SPDX-License-Identifier: MIT */
/* program.c - allocates, locks and loads, and has its functions instrumented: events of all providers of LTTng-UST. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile memory; /* volatile: no call is left out */

__attribute__((noinline)) static void allocate(void)
{
	void *aligned;

	memory = malloc(10);
	memory = realloc(memory, 20);
	free(memory);
	memory = calloc(1, 3);
	free(memory);
	memory = memalign(64, 64);
	free(memory);
	if (!posix_memalign(&aligned, 64, 64))
		free(aligned);
}

int main(void)
{
	void *library;

	pthread_mutex_lock(&lock);
	allocate();
	pthread_mutex_unlock(&lock);
	library = dlopen("libm.so.6", RTLD_NOW);
	if (library)
		dlclose(library);
	return 0;
}
