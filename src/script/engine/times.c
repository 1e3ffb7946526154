/* SPDX-License-Identifier: MIT */
/* script/engine/times.c - .duet/script and .duet/scripts of a recording. */
#include "script/engine/times.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static int write_file(const char *dir, const char *name, const char *bytes, size_t size,
		      struct diag *d)
{
	char path[PATH_MAX];
	int fd, err;

	if (snprintf(path, sizeof path, "%s/.duet/%s", dir, name) >= (int)sizeof path)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return diag_errno(d, "cannot write %s", path);
	err = io_write(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	return err ? diag_fail(d, err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

int script_times_write(const char *dir, const struct script_times *t, struct diag *d)
{
	char line[96];

	snprintf(line, sizeof line, "%" PRId64 " %" PRId64 " %d\n", t->begin_ns, t->end_ns,
		 (int)t->target);
	return write_file(dir, "script", line, strlen(line), d);
}

/* "slow-files" of "examples/slow files.stp". */
static void name_results(const char *script, char name[96])
{
	const char *slash = script ? strrchr(script, '/') : NULL;
	size_t n = 0;

	script = slash ? slash + 1 : script ? script : "script";
	for (; *script && strcmp(script, ".stp") != 0 && n < 80; script++, n++)
		name[n] = isalnum((unsigned char)*script) || (n && strchr("_-.", *script)) ? *script
											   : '-';
	snprintf(name + n, 96 - n, "%s.json", n ? "" : "script");
}

int script_results_write(const char *dir, const char *script, const char *json, size_t size,
			 struct diag *d)
{
	char path[PATH_MAX], name[96], below[112];

	if (snprintf(path, sizeof path, "%s/.duet", dir) >= (int)sizeof path - 16)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", dir);
	if (mkdir(path, 0777) && errno != EEXIST)
		return diag_errno(d, "cannot make %s", path);
	strcat(path, "/scripts");
	if (mkdir(path, 0777) && errno != EEXIST)
		return diag_errno(d, "cannot make %s", path);
	name_results(script, name);
	snprintf(below, sizeof below, "scripts/%s", name);
	return write_file(dir, below, json, size, d);
}

int script_times_read(const char *dir, struct script_times *t)
{
	char path[PATH_MAX], line[96];
	int target;

	if (snprintf(path, sizeof path, "%s/.duet/script", dir) >= (int)sizeof path ||
	    io_read_file(path, line, sizeof line) <= 0 ||
	    sscanf(line, "%" SCNd64 " %" SCNd64 " %d", &t->begin_ns, &t->end_ns, &target) != 3 ||
	    t->begin_ns <= 0 || t->end_ns < t->begin_ns || target < 0)
		return -ENOENT;
	t->target = target;
	return 0;
}
