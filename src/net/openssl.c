/* SPDX-License-Identifier: MIT */
/* net/openssl.c - dlopen(3) of libssl, and the address of a function in it. */
#include "net/openssl.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
#define LIBRARY "libssl.so." TEXT(OPENSSL_SHLIB_VERSION) /* loads libcrypto as well */

#ifdef DUET_STATIC
int openssl_load(struct diag *d)
{
	(void)d;
	return 0;
}
#else
static void *library;

int openssl_load(struct diag *d)
{
	if (!library)
		library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	return library ? 0
		       : diag_fail(d, -ELIBACC,
				   "keys need OpenSSL: %s (install it, or --plain within one "
				   "machine)",
				   dlerror());
}

void *openssl_find(const char *name)
{
	void *at = library ? dlsym(library, name) : NULL;

	assert(at);
	return at;
}
#endif
