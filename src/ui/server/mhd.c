/* SPDX-License-Identifier: MIT */
/* ui/server/mhd.c - dlopen(3) of libmicrohttpd, and the address of a function in it. */
#include "ui/server/mhd.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>

static void *library;

int mhd_load(struct diag *d)
{
#ifdef DUET_STATIC /* dlopen would need the glibc that this program was linked with */
	return diag_fail(d, -ELIBACC,
			 "a static duet has no server: use duet ui --html FILE RECORDING, or duet "
			 "of the packages");
#endif
	if (!library)
		library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	return library ? 0
		       : diag_fail(d, -ELIBACC,
				   "the server needs libmicrohttpd: %s\n"
				   "  apt install libmicrohttpd12, or without it: "
				   "duet ui --html FILE RECORDING",
				   dlerror());
}

void *mhd_find(const char *name)
{
	void *at = library ? dlsym(library, name) : NULL;

	assert(at);
	return at;
}
