/* SPDX-License-Identifier: MIT */
/*
 * tests/live/control/programs/growing.c - many event classes, one after the other: growing FIRST N TIMES [PAUSE_MS]
 *
 * Registers N events, growing:e<FIRST> and so on.  Then two threads record each of them TIMES times.  With
 * PAUSE_MS it waits for a line before that, and so long between two events.  Compiling as many events would
 * take long.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DUET_I_LAYOUT_ONLY
#include <duet/site.h>

static const uint64_t off;
static const struct duet_i_api *api;
static int times;

static void *record(void *arg)
{
	struct duet_i_site *site = arg;

	for (int32_t i = 0; i < times; i++)
		if (*(const volatile uint64_t *)site->enabled)
			api->emit(site, &i, sizeof i, __builtin_return_address(0));
	return NULL;
}

static void register_all(struct duet_i_site *sites, int first, int n)
{
	void (*enter)(struct duet_i_site *, struct duet_i_site *, const struct duet_i_api **);
	const char *library = getenv("DUET_LIBRARY");
	void *libduet = library ? dlopen(library, RTLD_NOW) : NULL;

	if (!sites || !libduet)
		exit(1);
	*(void **)&enter = dlsym(libduet, "duet_i_register");
	for (int i = 0; i < n; i++) {
		char *name;

		if (asprintf(&name, "growing:e%d", first + i) < 0)
			exit(1);
		sites[i] = (struct duet_i_site){ .enabled = &off,
						 .name = name,
						 .schema = " i32 n",
						 .fixed_size = sizeof(int32_t) };
	}
	enter(sites, sites + n, &api);
}

int main(int argc, char **argv)
{
	int first = argc > 3 ? atoi(argv[1]) : 0, n = argc > 3 ? atoi(argv[2]) : 0;
	int pause_ms = argc > 4 ? atoi(argv[4]) : 0;
	struct duet_i_site *sites = calloc((size_t)n + 1, sizeof *sites);
	pthread_t other;

	if (n <= 0)
		return 2;
	times = atoi(argv[3]);
	register_all(sites, first, n);
	if (pause_ms) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = 0; i < n; i++) {
		if (pthread_create(&other, NULL, record, &sites[i]))
			return 1;
		record(&sites[i]);
		pthread_join(other, NULL);
		usleep((useconds_t)pause_ms * 1000);
	}
	return 0;
}
