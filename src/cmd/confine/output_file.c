/* SPDX-License-Identifier: MIT */
/* cmd/confine/output_file.c - opened without truncation; truncated at the first write. */
#include "cmd/confine/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int output_file_open(struct output_file *f, const char *path, struct diag *d)
{
	struct stat st;

	*f = (struct output_file){ .path = path, .fd = STDOUT_FILENO, .removal = ERRAND_NONE };
	if (!path)
		return 0;
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	f->is_new = f->fd >= 0;
	if (f->fd < 0 && errno == EEXIST)
		f->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (f->fd < 0 || fstat(f->fd, &st))
		return diag_errno(d, "cannot write %s", path);
	return S_ISREG(st.st_mode) ? errand_prepare(&f->removal, path, NULL) : 0;
}

int output_file_begin(struct output_file *f, struct diag *d)
{
	f->has_begun = true;
	return f->removal.fd >= 0 && ftruncate(f->fd, 0) ? diag_errno(d, "cannot write %s", f->path)
							 : 0;
}

int output_file_close(struct output_file *f, bool failed, struct diag *d)
{
	int err =
		f->path && close(f->fd) && !failed ? diag_errno(d, "cannot write %s", f->path) : 0;

	if ((failed || err) && (f->is_new || f->has_begun))
		errand_run(&f->removal);
	errand_drop(&f->removal);
	return err;
}
