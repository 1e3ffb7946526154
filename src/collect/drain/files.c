/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/files.c - paths of the traces in a recording, and the files in its .duet
 * directory.
 */
#include "collect/drain/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "kernel/statedump/kallsyms.h"

bool files_are_none(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	if (!dir)
		return false;
	while ((e = readdir(dir)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return !n;
}

/*
 * Not realpath: a tenant's collector holds the directory open but may not search all directories
 * above it.
 */
const char *files_whole(const char *path, char whole[PATH_MAX])
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	ssize_t n;

	if (fd < 0)
		return path;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, whole, PATH_MAX - 1);
	close(fd);
	if (n <= 0)
		return path;
	whole[n] = 0;
	return whole;
}

void files_remove_trace(const char *path)
{
	io_remove_tree(path);
}

void files_remove(const char *path)
{
	static const char *const parts[] = { "ust", "kernel", ".duet", "piece-000001" };
	char part[PATH_MAX];

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		if (snprintf(part, sizeof part, "%s/%s", path, parts[i]) < (int)sizeof part)
			io_remove_tree(part);
}

/* "ust", "ust-2", "ust-3": for the first collector and for its successors. */
static void part_name(char part[24], const char *half, uint32_t incarnation)
{
	if (incarnation > 1)
		snprintf(part, 24, "%s-%u", half, incarnation);
	else
		snprintf(part, 24, "%s", half);
}

int files_kernel_path(char *to, size_t size, const char *path, uint32_t incarnation, struct diag *d)
{
	char part[24];

	part_name(part, "kernel", incarnation);
	return snprintf(to, size, "%s/%s", path, part) < (int)size
		       ? 0
		       : diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", path);
}

int files_application_path(char *to, size_t size, const char *path, const struct tenant *tenant,
			   uint32_t incarnation, struct diag *d)
{
	unsigned uid = tenant ? tenant->number : (unsigned)geteuid();
	char part[24], container[CONTAINER_BYTES + 16] = "", turn[16] = "";

	part_name(part, "ust", incarnation);
	if (tenant && *tenant->container)
		snprintf(container, sizeof container, "container/%s/", tenant->container);
	if (tenant && tenant->turn > 1)
		snprintf(turn, sizeof turn, ".%u", tenant->turn);
	if (snprintf(to, size, "%s/%s/%suid/%u%s/%d-bit", path, part, container, uid, turn,
		     (int)sizeof(long) * 8) >= (int)size)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", path);
	return 0;
}

int files_open_application(struct streams **out, struct session *session, const char *path,
			   uint32_t incarnation, const struct streams_options *more,
			   struct diag *diag)
{
	struct streams_channel channels[ABI_CHANNELS];
	struct streams_options o = *more;
	char trace[512];
	int err = files_application_path(trace, sizeof trace, path, session->tenant, incarnation,
					 diag);

	*out = NULL;
	if (err)
		return err;
	o.path = trace;
	o.channels = channels;
	o.n_channels = session->n_channels;
	for (uint32_t i = 0; i < session->n_channels; i++)
		channels[i] = (struct streams_channel){ .pool = &session->pools[i],
							.name = i ? session->channels[i].name : "",
							.contexts = session->channels[i].contexts };
	return streams_open(out, &o, diag);
}

/*
 * Makes the path PATH/.duet/NAME and that directory.  False, with errno, if the path is too long.
 */
static bool make_hidden(char *file, size_t size, const char *path, const char *name)
{
	if (snprintf(file, size, "%s/.duet/%s", path, name) >= (int)size) {
		errno = ENAMETOOLONG;
		return false;
	}
	*strrchr(file, '/') = 0;
	mkdir(file, 0777);
	file[strlen(file)] = '/';
	return true;
}

int files_add_kallsyms(const char *path, struct diag *d)
{
	char file[PATH_MAX];

	return make_hidden(file, sizeof file, path, "kallsyms") ? kernel_kallsyms_write(file, d)
								: diag_errno(d, "%s", path);
}

void files_again_kallsyms(const char *path, char **modules)
{
	char file[PATH_MAX];

	if (make_hidden(file, sizeof file, path, "kallsyms"))
		kernel_kallsyms_again(file, modules);
}

int files_share_kallsyms(const char *path, const char *trace_chunk)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (!strcmp(path, trace_chunk))
		return 0;
	return make_hidden(from, sizeof from, path, "kallsyms") &&
			       make_hidden(to, sizeof to, trace_chunk, "kallsyms") &&
			       !link(from, to)
		       ? 0
		       : -errno;
}

FILE *files_open_clock(const char *path, const struct abi_clock *clock)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char file[PATH_MAX];
	FILE *f;

	if (!make_hidden(file, sizeof file, path, "clock"))
		return NULL;
	f = fopen(file, "we");
	if (f)
		fcntl(fileno(f), F_OFD_SETLK,
		      &whole); /* if locks are not supported, followers cannot detect a live
				* writer */
	if (f)
		fprintf(f, "# %s; ticks, trace, monotonic, boottime, realtime, written (ns)\n",
			clock_tracefs_name(clock));
	return f;
}

void files_add_clock(FILE *f, const struct abi_clock *clock, uint64_t written_ns)
{
	struct clock_reading c;
	char written[24] = "";

	if (written_ns == FILES_END)
		strcpy(written, " end");
	else if (written_ns)
		snprintf(written, sizeof written, " %llu", (unsigned long long)written_ns);

	clock_read(clock, &c);
	fprintf(f, "%llu %llu %llu %llu %llu%s\n", (unsigned long long)c.ticks,
		(unsigned long long)clock_ns(clock, c.ticks), (unsigned long long)c.monotonic_ns,
		(unsigned long long)c.boottime_ns, (unsigned long long)c.realtime_ns, written);
	fflush(f);
}
