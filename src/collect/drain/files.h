/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/files.h - the layout of a recording's directory.
 *
 * 	PATH/ust/uid/UID/BITS-bit                   application traces
 * 	PATH/ust/container/NAME/uid/UID/BITS-bit    the same of a container; PATH is tenant-LABEL
 * 	PATH/kernel                  kernel trace
 * 	PATH/.duet/clock             readings of all clocks, one a line
 * 	PATH/.duet/maps              mappings of programs: collect/drain/maps.h
 * 	PATH/.duet/kallsyms          kernel symbols, if code addresses are recorded
 */
#ifndef COLLECT_DRAIN_FILES_H
#define COLLECT_DRAIN_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "collect/session/session.h"
#include "collect/drain/streams.h"

/* Whether the directory @path can be read and is empty. */
bool files_are_none(const char *path);
/* files_whole - the absolute path of @path, in @whole; if it cannot be resolved, @path. */
const char *files_whole(const char *path, char whole[PATH_MAX]);
/* files_remove - remove everything that a recording made in @path; the directory itself stays. */
void files_remove(const char *path);

/*
 * files_application_path - the application trace of the recording @path.
 *
 * @tenant: its programs; NULL: this user's own.  @incarnation: number of the collector, from 1.
 *   Returns 0 or -ENAMETOOLONG.
 */
int files_application_path(char *to, size_t size, const char *path, const struct tenant *tenant,
			   uint32_t incarnation, struct diag *d);
/* files_kernel_path - the same for the kernel trace. */
int files_kernel_path(char *to, size_t size, const char *path, uint32_t incarnation,
		      struct diag *d);
/* files_remove_trace - remove one CTF trace; directories above it stay. */
void files_remove_trace(const char *path);
/* files_open_application - create it with the channels of @session; the rest as in @more. */
int files_open_application(struct streams **s, struct session *session, const char *path,
			   uint32_t incarnation, const struct streams_options *more,
			   struct diag *diag);

/*
 * files_open_clock - NULL, with errno, if it cannot be written.
 *
 * It stays locked while any process has it open.  The lock tells a follower (base/progress.h) that
 * the recording has a live writer.
 */
FILE *files_open_clock(const char *path, const struct abi_clock *clock);
/*
 * files_add_clock - append a reading of all clocks.
 *
 * @written_ns: everything recorded before it is in the files; 0: not known; FILES_END: and no more
 *   will follow.
 */
#define FILES_END UINT64_MAX
void files_add_clock(FILE *f, const struct abi_clock *clock, uint64_t written_ns);

/* files_add_kallsyms - 0 or -errno; the recording is complete without. */
int files_add_kallsyms(const char *path, struct diag *d);
/*
 * files_again_kallsyms - append symbols of kernel modules loaded since the last call.  @modules:
 * kernel/statedump/kallsyms.h.
 */
void files_again_kallsyms(const char *path, char **modules);
/*
 * files_share_kallsyms - link the symbols of the recording @path into @trace_chunk, if there are
 * any.  0 or -errno.
 */
int files_share_kallsyms(const char *path, const char *trace_chunk);

#endif
