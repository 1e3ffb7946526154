/* SPDX-License-Identifier: MIT */
/* find/system/libraries.c - the libraries that duet loads when a verb needs them. */
#include <dlfcn.h>

#include "find/system/internal.h"

void check_libraries(struct checking *c)
{
	static const struct {
		const char *name, *use, *remedy;
	} libraries[] = {
		{ "libmicrohttpd.so.12", "duet ui", "apt install libmicrohttpd12" },
		{ "libgnutls.so.30", "duet ui by https", "apt install libgnutls30" },
		{ "libssl.so.3", "--to, relay and send with keys", "apt install libssl3" },
	};

	for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++) {
		void *library = dlopen(libraries[i].name, RTLD_LAZY | RTLD_LOCAL);

		if (library)
			check_fine(c, libraries[i].name, "for %s", libraries[i].use);
		else
			check_bad(c, libraries[i].name, FIND_NOTE, libraries[i].remedy,
				  "not installed: no %s", libraries[i].use);
		if (library)
			dlclose(library);
	}
}
