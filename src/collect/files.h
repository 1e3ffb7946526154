/* SPDX-License-Identifier: MIT */
/*
 * collect/files.h - the parts of a recording's directory that are no trace, and where the traces
 *lie.
 *
 *	PATH/ust/uid/UID/BITS-bit    applications
 *	PATH/ust/container/NAME/uid/UID/BITS-bit    those of a container; then PATH is below
 *tenant-LABEL PATH/kernel                  the kernel PATH/.duet/clock             what all clocks
 *said, line by line PATH/.duet/maps              what programs had mapped: collect/drain/maps.h
 *	PATH/.duet/kallsyms          the kernel's functions, if its code's addresses are recorded
 */
#ifndef COLLECT_FILES_H
#define COLLECT_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "collect/session/session.h"
#include "collect/drain/streams.h"

/* Whether the directory @path can be read and is empty. */
bool files_are_none(const char *path);
/* files_whole - where @path is, as anybody may be told: @whole, or, if it cannot be found, @path.
 */
const char *files_whole(const char *path, char whole[PATH_MAX]);
/* files_remove - what a recording has made in @path; the directory itself stays. */
void files_remove(const char *path);

/* files_application_path - where the applications' half of the recording @path lies, of those of
 * @tenant (NULL: this user's own); @life: of its n-th collector, 1 being the first.  Returns 0 or
 * -ENAMETOOLONG. */
int files_application_path(char *to, size_t size, const char *path, const struct tenant *tenant,
			   uint32_t incarnation, struct diag *d);
/* files_kernel_path - the same of the kernel's half. */
int files_kernel_path(char *to, size_t size, const char *path, uint32_t incarnation,
		      struct diag *d);
/* files_remove_trace - one CTF trace; directories above it stay. */
void files_remove_trace(const char *path);
/* files_open_application - make it, with the channels of @session; the rest is as in @more. */
int files_open_application(struct streams **s, struct session *session, const char *path,
			   uint32_t incarnation, const struct streams_options *more,
			   struct diag *diag);

/* files_open_clock - NULL, with errno, if it cannot be written.  It stays locked while anybody has
 * it open: so who follows the recording (base/progress.h) knows that somebody lives who writes it.
 */
FILE *files_open_clock(const char *path, const struct abi_clock *clock);
/* files_add_clock - a line of now.  @written_ns: all that was recorded before it is in the files;
 * 0: nothing is said of that; FILES_END: and nothing will follow. */
#define FILES_END UINT64_MAX
void files_add_clock(FILE *f, const struct abi_clock *clock, uint64_t written_ns);

/* files_add_kallsyms - 0; or -errno, and the recording is whole without. */
int files_add_kallsyms(const char *path, struct diag *d);
/* files_again_kallsyms - of the recording @path: those of modules that have come since the last
 * call.  @modules: kernel/statedump/kallsyms.h. */
void files_again_kallsyms(const char *path, char **modules);
/* files_share_kallsyms - those of the recording @path also in its part @piece, if there are any.  0
 * or -errno. */
int files_share_kallsyms(const char *path, const char *trace_chunk);

#endif
