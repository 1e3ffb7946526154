/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/place.h - whether the directory of a recording is still where it was made.
 *
 * The recorder writes to open files, so it does not notice when their directory is removed or its
 * file system unmounted: everything seems to be written, and is gone.  So the directory is held
 * open, and looked at once a second.
 */
#ifndef COLLECT_CHUNKS_PLACE_H
#define COLLECT_CHUNKS_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

enum place_state {
	PLACE_FINE,	 /* also if it was moved within its file system */
	PLACE_REMOVED,	 /* files in it are gone once they are closed */
	PLACE_UNMOUNTED, /* files in it are where no path leads */
	PLACE_READ_ONLY,
};

struct place {
	int dir; /* -1: it could not be opened, and is not looked at */
	dev_t device;
	ino_t inode;
};
#define PLACE_NONE                                                                                 \
	{                                                                                          \
		.dir = -1                                                                          \
	}

/* place_open - hold the directory @path. */
void place_open(struct place *p, const char *path);
void place_close(struct place *p);

/* place_look - its state; for anything but PLACE_FINE a sentence in @d. */
enum place_state place_look(const struct place *p, const char *path, struct diag *d);

#endif
