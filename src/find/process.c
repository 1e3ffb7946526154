/* SPDX-License-Identifier: MIT */
/*
 * find/process.c - look at one process: its state, its files, libduet in it, its control page.
 *
 * The order is that of the remedies: a program without sites is not helped by another user's rights.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/runtime.h"
#include "collect/session/public.h"
#include "find/internal.h"
#include "patch/attach/attach.h"

enum { STATUS_BYTES = 8192, ENVIRONMENT_BYTES = 1 << 20 };

void find_by(struct find_by *by, const char *library)
{
	struct stat st;

	*by = (struct find_by){ .uid = geteuid(), .library = library };
	if (runtime_path(by->directory, sizeof by->directory, NULL) && !stat(by->directory, &st)) {
		by->dev = st.st_dev;
		by->ino = st.st_ino;
	}
}

/* The text after "NAME:\t"; "" if it is not there. */
static const char *status_of(const char *status, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, n) && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return "";
}

/* The kernel escapes line feeds and backslashes of a name there, so comm is read instead. */
static void read_name(struct find_process *p)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/comm", (int)p->pid);
	io_read_file(path, p->name, sizeof p->name);
	if (*p->name)
		p->name[strlen(p->name) - 1] = 0;
}

/* False if it has no program that could be looked at; `state` says why. */
static bool read_status(struct find_process *p)
{
	char path[64], status[STATUS_BYTES];
	char state;

	snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
	if (p->pid <= 0 || io_read_file(path, status, sizeof status) <= 0)
		return false;
	read_name(p);
	state = *status_of(status, "State");
	p->leader = (pid_t)strtol(status_of(status, "Tgid"), NULL, 10);
	sscanf(status_of(status, "Uid"), "%*u %u", &p->uid);
	if (p->leader != p->pid)
		p->state = FIND_IS_THREAD;
	else if (state == 'Z' || state == 'X')
		p->state = FIND_ZOMBIE;
	else if (!*status_of(status, "VmSize"))
		p->state = FIND_IS_KERNEL;
	else
		return true;
	return false;
}

static void read_link(pid_t pid, char file[PATH_MAX])
{
	static const char removed[] = " (deleted)";
	const size_t m = sizeof removed - 1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	n = readlink(path, file, PATH_MAX - 1);
	file[n > 0 ? n : 0] = 0;
	if (n > (ssize_t)m && !strcmp(file + n - m, removed))
		file[n - (ssize_t)m] = 0;
}

/* ---------------------------------------------------------------- its files */

/* One of its files, and the sums over all of them. */
struct looking {
	struct find_process *p;
	struct find_maps maps;
	struct elf_program object; /* the first with sites */
	struct find_cache *cache;
	char root[32]; /* before its paths */
};

static bool is_ours(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return !strncmp(name, "libduet", 7) || !strncmp(name, "liblttng-ust", 12);
}

static void add_file(struct looking *l, const struct find_mapped *f, const struct elf_program *e)
{
	struct find_process *p = l->p;

	if (e->n_sites && !p->program.n_sites) {
		snprintf(p->sites_in, sizeof p->sites_in, "%s", f->path);
		l->object = *e;
	}
	if (e->n_marks && !p->program.n_marks) {
		snprintf(p->marks_in, sizeof p->marks_in, "%s", f->path);
		memcpy(p->program.mark, e->mark, sizeof e->mark);
	}
	p->program.n_sites += e->n_sites;
	p->program.n_marks += e->n_marks;
	p->program.n_lttng += e->n_lttng;
	p->program.needs_lttng |= e->needs_lttng;
}

static bool read_mapped(struct looking *l, const struct find_mapped *f, struct elf_program *e)
{
	bool is_elf = false;
	const struct elf_program *known = find_cache_get(l->cache, f, &is_elf);
	char exe[64];
	int fd;

	if (known) {
		*e = *known;
		return is_elf;
	}
	/* The program itself is reached also after its file was replaced. */
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)l->p->pid);
	fd = !strcmp(f->path, l->p->file) ? open(exe, O_RDONLY | O_CLOEXEC)
					  : find_open(f, l->p->pid, l->root);
	if (fd < 0)
		return false;
	is_elf = !elf_program_read(e, fd, NULL);
	close(fd);
	find_cache_put(l->cache, f, e, is_elf);
	return is_elf;
}

static void set_program(struct looking *l, const struct elf_program *e)
{
	struct elf_program sums = l->p->program;

	l->p->program = *e;
	l->p->program.n_sites = sums.n_sites;
	l->p->program.n_marks = sums.n_marks;
	l->p->program.n_lttng = sums.n_lttng;
	l->p->program.needs_lttng = sums.needs_lttng;
	memcpy(l->p->program.mark, sums.mark, sizeof sums.mark);
}

static void look_at_files(struct looking *l)
{
	struct elf_program e;

	for (size_t i = 0; i < l->maps.n; i++) {
		const struct find_mapped *f = &l->maps.at[i];

		if (is_ours(f->path) || !strncmp(f->path, "/dev/", 5) || !read_mapped(l, f, &e))
			continue;
		if (!strcmp(f->path, l->p->file))
			set_program(l, &e);
		add_file(l, f, &e);
	}
}

static bool has_other_files(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	return !stat("/proc/self/ns/mnt", &ours) && !stat(path, &its) &&
	       (ours.st_ino != its.st_ino || ours.st_dev != its.st_dev);
}

static const struct find_mapped *page_of(const struct find_maps *m)
{
	struct page_name name;

	for (size_t i = 0; i < m->n; i++)
		if (page_name_parse(strrchr(m->at[i].path, '/') + 1, &name))
			return &m->at[i];
	return NULL;
}

/* ---------------------------------------------------------------- the verdict */

/* Its environment at its start; the caller frees it.  NULL: hidden. */
static char *read_environment(pid_t pid, size_t *size)
{
	char path[64], *bytes = malloc(ENVIRONMENT_BYTES);
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	n = bytes ? io_read_file(path, bytes, ENVIRONMENT_BYTES) : -ENOMEM;
	*size = n > 0 ? (size_t)n : 0;
	return bytes;
}

const char *find_environment(const char *environment, size_t size, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < size; i += strnlen(environment + i, size - i) + 1)
		if (size - i > n && !strncmp(environment + i, name, n) && environment[i + n] == '=')
			return environment + i + n + 1;
	return NULL;
}

static void search_library(struct looking *l, const char *environment, size_t size)
{
	struct find_process *p = l->p;
	const struct find_search s = {
		.root = l->root,
		.duet_library = find_environment(environment, size, "DUET_LIBRARY"),
		.library_path = find_environment(environment, size, "LD_LIBRARY_PATH"),
		.object = &l->object,
		.object_path = p->sites_in,
	};

	find_loader_run(&p->loader, &s);
	p->state = *p->loader.found ? FIND_LIBRARY_IS_NEW : FIND_NO_LIBRARY;
}

static void judge_without_page(struct looking *l)
{
	struct find_process *p = l->p;
	size_t size;
	char *environment = read_environment(p->pid, &size);
	const char *directory =
		environment ? find_environment(environment, size, "DUET_RUNTIME_DIR") : NULL;

	if (directory && *directory)
		snprintf(p->directory, sizeof p->directory, "%s", directory);
	else
		snprintf(p->directory, sizeof p->directory, "/dev/shm/duet-%u", (unsigned)p->uid);
	if (find_is_secure(p->pid))
		p->state = FIND_SECURE;
	else if (*p->library)
		find_no_page(p, l->root, p->directory);
	else if (p->program.is_static)
		p->state = FIND_STATIC;
	else if (p->program.is_musl)
		p->state = FIND_OTHER_LIBC;
	else
		search_library(l, environment ? environment : "", size);
	free(environment);
}

static void judge_without_sites(struct find_process *p)
{
	if (!p->program.is_64bit || p->program.is_other)
		p->state = FIND_OTHER_PROCESSOR;
	else if (p->program.n_lttng || p->program.needs_lttng)
		p->state = FIND_ONLY_LTTNG;
	else
		p->state = p->program.n_marks ? FIND_ONLY_MARKS : FIND_NO_SITES;
}

static void judge(struct looking *l, const struct find_by *by)
{
	struct find_process *p = l->p;
	const struct attach_options o = { .library = by->library };
	const struct find_mapped *page = page_of(&l->maps),
				 *library = find_maps_named(&l->maps, "libduet.so");

	p->program.needs_lttng |= find_maps_named(&l->maps, "liblttng-ust.so") != NULL;
	if (library) {
		snprintf(p->library, sizeof p->library, "%s", library->path);
		p->library_is_removed = library->is_removed;
	}
	if (page)
		find_page_read(p, page, l->root, by);
	else if (p->program.n_sites)
		judge_without_page(l);
	else
		judge_without_sites(p);
	if (p->state == FIND_RECORDABLE && !p->n_events && !p->program.n_sites)
		judge_without_sites(p); /* libduet records only its calls */
	if (p->state != FIND_RECORDABLE)
		p->loads_calls = !attach_check(p->pid, &o, &p->no_calls);
}

void find_process(struct find_process *p, pid_t pid, const struct find_by *by,
		  struct find_cache *cache)
{
	struct looking l = { .p = p, .cache = cache };

	*p = (struct find_process){ .pid = pid, .uid = (uid_t)-1, .state = FIND_NOT_THERE };
	if (!read_status(p))
		return;
	read_link(pid, p->file);
	if (has_other_files(pid)) {
		snprintf(l.root, sizeof l.root, "/proc/%d/root", (int)pid);
		container_of(pid, p->container);
	}
	p->state = FIND_HIDDEN;
	if (!find_maps_read(&l.maps, pid) && l.maps.n && *p->file) {
		look_at_files(&l);
		judge(&l, by);
	}
	find_maps_fini(&l.maps);
	assert(p->state < N_FIND_STATES);
}

void find_process_fini(struct find_process *p)
{
	text_fini(&p->loader.looked);
}
