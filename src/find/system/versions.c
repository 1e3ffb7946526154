/* SPDX-License-Identifier: MIT */
/* find/system/versions.c - duet, its libduet, the libduet that programs find, and the kernel. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "elf/build_id.h"
#include "find/loader.h"
#include "find/system/internal.h"

static bool is_same_library(const char *a, const char *b)
{
	char id_a[ELF_BUILD_ID_HEX], id_b[ELF_BUILD_ID_HEX];
	struct stat st_a, st_b;

	if (!stat(a, &st_a) && !stat(b, &st_b) && st_a.st_dev == st_b.st_dev &&
	    st_a.st_ino == st_b.st_ino)
		return true;
	return elf_build_id(a, id_a) && elf_build_id(b, id_b) && !strcmp(id_a, id_b);
}

static void check_found(const struct checking *c, const struct find_loader *l)
{
	const char *ours = c->by->library;
	char dir[PATH_MAX], remedy[2 * PATH_MAX];

	if (*l->found && (!ours || is_same_library(l->found, ours))) {
		check_fine(c, "loader", "programs find %s", l->found);
		return;
	}
	if (*l->found) {
		check_bad(c, "loader", FIND_NOTE,
			  "install one of them only: layouts of versions differ",
			  "programs find %s, which is another build than duet's", l->found);
		return;
	}
	if (!ours)
		return; /* the line above says so */
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(ours, '/') - ours), ours);
	if (find_loader_is_configured(dir))
		snprintf(remedy, sizeof remedy, "run ldconfig as root, then restart the programs");
	else
		snprintf(remedy, sizeof remedy,
			 "start programs with LD_LIBRARY_PATH=%s, or put that directory into "
			 "/etc/ld.so.conf.d/duet.conf and run ldconfig",
			 dir);
	check_bad(c, "loader", FIND_FINDING, remedy,
		  "programs find no libduet.so.0 (%s): only those of `duet record -- COMMAND` "
		  "record",
		  l->looked.bytes ? l->looked.bytes : "");
}

void check_versions(struct checking *c)
{
	const struct find_search s = { .root = "",
				       .duet_library = getenv("DUET_LIBRARY"),
				       .library_path = getenv("LD_LIBRARY_PATH") };
	struct find_loader l;
	struct utsname u;

	check_fine(c, "duet", "%s", DUET_VERSION);
	if (c->by->library)
		check_fine(c, "libduet", "%s", c->by->library);
	else
		check_bad(c, "libduet", FIND_FINDING, "install libduet0",
			  "this installation has no libduet.so.0");
	find_loader_run(&l, &s);
	check_found(c, &l);
	text_fini(&l.looked);
	if (!uname(&u))
		check_fine(c, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
}
