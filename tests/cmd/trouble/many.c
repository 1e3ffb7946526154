/* SPDX-License-Identifier: MIT */
/* tests/cmd/trouble/many.c - a program with 5000 events, registered at run time: compiling them
 * would take long. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DUET_I_LAYOUT_ONLY
#include <duet/site.h>

enum { SITES = 5000 };

int main(void)
{
	static struct duet_i_site sites[SITES];
	static const uint64_t off;
	const struct duet_i_api *api;
	void (*enter)(struct duet_i_site *, struct duet_i_site *, const struct duet_i_api **);
	void *libduet = dlopen(getenv("DUET_LIBRARY"), RTLD_NOW);

	if (!libduet)
		return 1;
	*(void **)&enter = dlsym(libduet, "duet_i_register");
	for (int i = 0; i < SITES; i++) {
		char *name;

		if (asprintf(&name, "many:e%d", i) < 0)
			return 1;
		sites[i] =
			(struct duet_i_site){ .enabled = &off, .name = name, .schema = " i32 n" };
	}
	enter(sites, sites + SITES, &api);
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
