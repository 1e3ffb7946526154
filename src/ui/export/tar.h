/* SPDX-License-Identifier: MIT */
/* ui/export/tar.h - a directory as one file: POSIX.1-1988 ustar, read by every tar. */
#ifndef UI_EXPORT_TAR_H
#define UI_EXPORT_TAR_H

#include "base/diag.h"

/*
 * tar_write - write all files and directories below @dir to @fd, with names that begin with @name.
 *
 * Owners and times are left out.  Returns 0; -ENAMETOOLONG for a name that ustar cannot have (255
 * bytes in two parts); or -errno.  The reason is in @d.
 */
int tar_write(int fd, const char *dir, const char *name, struct diag *d);
/* tar_end - the two empty blocks behind the last file. */
int tar_end(int fd, struct diag *d);

#endif
