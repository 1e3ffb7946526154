/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/fds_names.c - working directories, paths that are relative to them or to
 * descriptors, and names of sockets and pipes: see fds.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/memory.h"

/* Removes "." and "name/.." from an absolute path; links are not followed. */
static void simplify(char *path)
{
	char *to = path;

	for (const char *p = path; *p;) {
		const char *end = strchrnul(p + 1, '/');
		size_t n = (size_t)(end - p);

		if (n == 3 && !memcmp(p, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (n > 1 && (n != 2 || p[1] != '.')) {
			memmove(to, p, n);
			to += n;
		}
		p = end;
	}
	if (to == path)
		*to++ = '/';
	*to = 0;
}

/* @path relative to the directory @dir, or to the working directory, if that is known. */
char *fds_join(const struct fds *f, uint32_t process, int64_t dir, const struct fd_path *path)
{
	const struct fd_file *at = dir < 0 ? NULL : fds_look(f, process, dir);
	const char *base = *path->bytes == '/' ? NULL
			   : dir >= 0	       ? at ? at->name : NULL
					       : fds_cwd(f, process);
	size_t size = base ? strlen(base) : 0;
	char *joined = malloc(size + path->size + 2);

	if (!joined)
		return NULL;
	if (size) {
		memcpy(joined, base, size);
		joined[size++] = '/';
	}
	memcpy(joined + size, path->bytes, path->size + 1);
	if (*joined == '/')
		simplify(joined);
	return joined;
}

int fds_set_cwd(struct fds *f, uint32_t process, const char *path)
{
	char *copy = strdup(path);

	if (!copy || pass_grow(&f->tables, &f->n_tables, process, sizeof *f->tables)) {
		free(copy);
		return -ENOMEM;
	}
	free(f->tables[process].cwd);
	f->tables[process].cwd = copy;
	return 0;
}

const char *fds_cwd(const struct fds *f, uint32_t process)
{
	return process < f->n_tables ? f->tables[process].cwd : NULL;
}

void fds_unlinked(struct fds *f, uint32_t process, int64_t dir, const struct fd_path *path)
{
	char *joined = fds_join(f, process, dir, path);
	struct fd_file *file = joined && *joined == '/' ? fds_named(f, joined) : NULL;

	if (file)
		file->is_deleted = true;
	free(joined);
}

/* ---------------------------------------------------------------- words */

bool fds_name(const struct fds *f, uint32_t file, struct text *t)
{
	const struct fd_file *at = &f->files[file];
	const char *name = at->name ? at->name : fds_kind(at->call);

	if (name)
		text_add(t, name, strlen(name));
	return name;
}

void fds_words(const struct fds *f, uint32_t file, struct text *t)
{
	const struct fd_file *at = &f->files[file];

	if (at->name)
		text_add(t, at->name, strlen(at->name));
	else
		text_addf(t, at->call ? "fd %d (%s)" : "fd %d", at->fd, at->call);
}

/* ---------------------------------------------------------------- sockets and pipes */

static bool read_memory(struct call_memory *m, enum abi_capture_kind kind,
			const struct abi_captures *in, const struct trace_event *e)
{
	for (int i = 0; i < in->n; i++)
		if (in->at[i]->kind == kind) {
			call_memory_read(m, in->at[i], e->ctf);
			return m->size;
		}
	return false;
}

static bool add_unix(struct text *t, const struct call_memory *m)
{
	const size_t at = offsetof(struct sockaddr_un, sun_path);
	size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path,
	       n = m->size > at ? m->size - at : 0;
	const char *path = (const char *)m->bytes + at;

	n = n < most ? n : most;
	if (!n)
		return false;
	if (*path)
		text_addf(t, "socket %.*s", (int)strnlen(path, n), path);
	else /* an abstract name */
		text_addf(t, "socket @%.*s", (int)strnlen(path + 1, n - 1), path + 1);
	return true;
}

bool fds_address(struct text *t, const struct abi_captures *in, const struct trace_event *e)
{
	struct call_memory m;
	struct sockaddr_in6 six = { 0 };
	struct sockaddr_in four;
	char name[INET6_ADDRSTRLEN];
	sa_family_t family;

	if (!read_memory(&m, ABI_CAPTURE_ADDRESS, in, e) || m.size < sizeof family)
		return false;
	memcpy(&family, m.bytes, sizeof family);
	if (family == AF_UNIX)
		return add_unix(t, &m) && !t->failed;
	if (family == AF_INET && m.size >= sizeof four) {
		memcpy(&four, m.bytes, sizeof four);
		inet_ntop(AF_INET, &four.sin_addr, name, sizeof name);
		text_addf(t, "socket %s:%u", name, ntohs(four.sin_port));
		return !t->failed;
	}
	if (family == AF_INET6 && m.size >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&six, m.bytes, m.size < sizeof six ? m.size : sizeof six);
		inet_ntop(AF_INET6, &six.sin6_addr, name, sizeof name);
		text_addf(t, "socket [%s]:%u", name, ntohs(six.sin6_port));
		return !t->failed;
	}
	return false;
}

bool fds_two(int32_t fds[2], const struct abi_captures *in, const struct trace_event *e)
{
	struct call_memory m;

	if (!read_memory(&m, ABI_CAPTURE_INTS, in, e) || m.size < 2 * sizeof *fds)
		return false;
	memcpy(fds, m.bytes, 2 * sizeof *fds);
	return true;
}
