/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/ctf.c - `duet export ctf`: an uncompressed copy of a recording, for other CTF readers.
 *
 * The copy has the same files as the recording's directory, each decompressed
 * (ctf/compressed/compressed.h).  If it cannot be completed, it is removed.  Events are copied byte
 * for byte.  A part of the time is copied by packets and events: trace/repair.  Calls of programs, which are bytes in batches, become a trace more
 * (cmd/export/cyg_profile.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/export/cyg_profile.h"
#include "cmd/export/internal.h"
#include "cmd/progress.h"
#include "ctf/compressed/compressed.h"
#include "trace/public.h"
#include "trace/repair/repair.h"

/* nftw() has no context argument. */
static struct {
	const char *to;
	size_t base;	/* length of the recording's path */
	uint64_t bytes; /* of all files */
	struct diag *d;
	int err;
} job;

static int copy_plain(const char *from, const char *to, struct diag *d)
{
	int in = io_open_file(AT_FDCWD, from), out, err = 0;

	if (in == -EINVAL)
		return 0; /* a FIFO or a device: no part of a trace */
	if (in < 0)
		return diag_fail(d, in, "cannot open %s: %s", from, strerror(-in));
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out < 0)
		err = diag_errno(d, "cannot write %s", to);
	if (!err) {
		err = io_copy(in, out, progress_made);
		if (err == -EINTR)
			diag_fail(d, err, "interrupted");
		else if (err)
			diag_fail(d, err, "cannot copy %s to %s: %s", from, to, strerror(-err));
	}
	close(in);
	if (out >= 0)
		close(out);
	return err;
}

static int copy_file(const char *from, char *to, uint64_t size, struct diag *d)
{
	int err;

	if (compressed_is_name(from)) {
		to[strlen(to) - (sizeof COMPRESSED_SUFFIX - 1)] = 0;
		err = compressed_restore(AT_FDCWD, from, AT_FDCWD, to, d);
		if (!err && progress_made(size))
			err = diag_fail(d, -EINTR, "interrupted");
	} else {
		err = copy_plain(from, to, d);
	}
	return err == -EEXIST ? 0 : err; /* both files were there: it is just being compressed */
}

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char to[PATH_MAX];

	(void)at;
	if (snprintf(to, sizeof to, "%s%s", job.to, path + job.base) >= (int)sizeof to)
		job.err = diag_fail(job.d, -ENAMETOOLONG, "%s: the path is too long", path);
	else if (type == FTW_D)
		job.err = io_make_dirs(to) ? diag_errno(job.d, "cannot make %s", to) : 0;
	else if (type == FTW_F)
		job.err = copy_file(path, to, (uint64_t)st->st_size, job.d);
	return job.err;
}

/* Adds the size of one file. */
static int count_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)at;
	job.bytes += type == FTW_F ? (uint64_t)st->st_size : 0;
	return 0;
}

/* A copy inside the recording would copy itself again and again. */
static bool is_below(const char *to, const char *path)
{
	char below[PATH_MAX], above[PATH_MAX];
	size_t n;

	if (!realpath(to, below) || !realpath(path, above))
		return false;
	n = strlen(above);
	return !strncmp(below, above, n) && (below[n] == '/' || n == 1);
}

static int copy_recording(const char *path, const char *to, struct diag *d)
{
	size_t n = strlen(path);
	char parent[4096];
	int err;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (mkdir(to, 0777) && (errno != EEXIST || rmdir(to) || mkdir(to, 0777)))
		return diag_errno(d, "%s: a new or empty directory is wanted", to);
	if (is_below(to, path)) {
		rmdir(to);
		return diag_fail(d, -EINVAL,
				 "%s lies in the recording itself: give a directory elsewhere", to);
	}
	if (reader_confine(&(struct reader){ .verb = "export",
					     .writes = { to },
					     .directories = { reader_parent(to, parent) } })) {
		rmdir(to);
		return diag_fail(d, -EPERM, "nothing was copied");
	}
	job.to = to;
	job.base = n;
	job.d = d;
	job.err = 0;
	progress_catch();
	nftw(path, count_one, 16, FTW_PHYS);
	progress_begin_bytes("export", job.bytes);
	err = nftw(path, copy_one, 16, FTW_PHYS);
	progress_end();
	if (err < 0 && !job.err)
		job.err = diag_errno(d, "cannot read %s", path);
	if (!job.err)
		job.err = export_cyg_profile(path, to, d);
	if (job.err)
		io_remove_tree(to);
	return job.err;
}

/* ---------------------------------------------------------------- a part */

static void warn_damage(void *context, const char *text)
{
	(void)context;
	cmd_error("export", "%s", text);
}

static bool advance(void *context, uint64_t bytes)
{
	(void)context;
	return progress_made(bytes);
}

static void begin(void *context, const struct trace *t)
{
	(void)context;
	progress_begin("export", t);
}

static int resolve(const char *path, struct moment *from, struct moment *to, struct diag *d)
{
	struct trace *t;
	int err = trace_open(&t, &path, 1, NULL, d);

	if (!err)
		moments_resolve(from, to, t);
	if (!err)
		err = moments_check(from, to, t, d);
	trace_close(t);
	return err;
}

static int copy_part(const char *path, const char *to, struct moment from, struct moment until,
		     struct diag *d)
{
	struct repair_options o = { .warn = warn_damage,
				    .begin = begin,
				    .progress = advance,
				    .is_cut = true,
				    .from_ns = INT64_MIN,
				    .to_ns = INT64_MAX };
	struct repair_target target = { .work = "" };
	struct repaired r;
	int err = repair_prepare(&target, to, d);

	if (!err && repair_confine("export", &target))
		err = diag_fail(d, -EPERM, "nothing was copied");
	if (!err)
		err = resolve(path, &from, &until, d);
	if (from.is_given)
		o.from_ns = from.ns;
	if (until.is_given)
		o.to_ns = until.ns;
	if (!err && o.from_ns > o.to_ns)
		err = diag_fail(d, -EINVAL, "ctf: --from is later than --to");
	progress_catch();
	if (!err)
		err = repair(path, &target, &o, &r, d);
	progress_end();
	repair_drop(&target);
	if (err)
		return err;
	err = export_cyg_profile(to, to, d);
	if (err)
		io_remove_tree(to);
	return err;
}

int export_ctf(const char *path, const char *to, const struct moment *from,
	       const struct moment *until, struct diag *d)
{
	mode_t mask = umask(0077); /* a copy is as private as a recording */
	int err = from->is_given || until->is_given ? copy_part(path, to, *from, *until, d)
						    : copy_recording(path, to, d);

	umask(mask);
	return err;
}
