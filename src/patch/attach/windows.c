/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/windows.c - the bytes of the process that its plans replace.
 *
 * Plans lie in the directories calls-<session> of the process's runtime directory, under the build
 * IDs of its objects.  They are other users' files perhaps: every number is checked.
 */
#include "patch/attach/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/plan.h"

enum { PATH_BYTES = 4096 };

/* The value of a variable in the environment that the process started with. */
static bool environment(pid_t pid, const char *name, char *value, size_t size)
{
	char path[64], *entry = NULL;
	size_t capacity = 0, length = strlen(name);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&entry, &capacity, 0, f) > 0)
		found = !strncmp(entry, name, length) && entry[length] == '=' &&
			strlen(entry + length + 1) < size;
	if (found)
		strcpy(value, entry + length + 1);
	free(entry);
	if (f)
		fclose(f);
	return found && *value;
}

/* As base/runtime.h does it in the process. */
static void runtime_of(const struct target *t, char *path, size_t size)
{
	char proc[64];
	struct stat st;

	if (t->o->runtime && *t->o->runtime) {
		snprintf(path, size, "%s", t->o->runtime);
		return;
	}
	snprintf(proc, sizeof proc, "/proc/%d", (int)t->pid);
	if (!environment(t->pid, "DUET_RUNTIME_DIR", path, size))
		snprintf(path, size, "/dev/shm/duet-%u",
			 stat(proc, &st) ? (unsigned)geteuid() : (unsigned)st.st_uid);
}

static bool add(struct windows *w, uint64_t begin, uint64_t bytes)
{
	struct window *grown = w->at;

	if (!(w->n & (w->n - 1)))
		grown = realloc(w->at, (w->n ? 2 * w->n : 1) * sizeof *grown);
	if (!grown)
		return false;
	w->at = grown;
	w->at[w->n++] = (struct window){ begin, begin + bytes };
	return true;
}

static bool is_plan(const struct abi_plan *p, size_t size)
{
	return size >= sizeof *p && p->magic == ABI_PLAN_MAGIC && p->version == ABI_PLAN_VERSION &&
	       p->n_sites <= ABI_PLAN_SITES && p->sites <= size && p->sites % 8 == 0 &&
	       (size - p->sites) / sizeof(struct abi_plan_site) >= p->n_sites;
}

static bool add_plan(struct windows *w, const void *bytes, size_t size, uint64_t bias)
{
	const struct abi_plan *p = bytes;
	const struct abi_plan_site *sites;

	if (!is_plan(p, size))
		return true; /* libduet refuses it too */
	sites = (const void *)((const char *)bytes + p->sites);
	for (uint32_t i = 0; i < p->n_sites; i++)
		if (!add(w, bias + sites[i].address, sites[i].window))
			return false;
	return true;
}

static int read_plan(struct windows *w, int dir, const char *name, uint64_t bias)
{
	struct stat st;
	void *bytes;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > ABI_PLAN_MOST_BYTES) {
		close(fd);
		return 0;
	}
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		err = -ENOMEM;
	else if (read(fd, bytes, (size_t)st.st_size) == st.st_size &&
		 !add_plan(w, bytes, (size_t)st.st_size, bias))
		err = -ENOMEM;
	free(bytes);
	close(fd);
	return err;
}

/* The plans of one session for all objects of the process. */
static int read_session(struct windows *w, const struct target *t, int dir)
{
	char name[2 * ABI_BUILD_ID_BYTES + 1];
	uint8_t id[ABI_BUILD_ID_BYTES];
	uint64_t bias;
	int err = 0;

	for (size_t i = 0; !err && i < t->maps.n; i++) {
		const struct map *m = &t->maps.at[i];
		size_t n;

		if (m->offset || !(m->prot & MAP_READ) || *m->path != '/')
			continue;
		n = image_build_id(t->mem, m->begin, id, sizeof id);
		if (!n || !image_bias(t->mem, m->begin, &bias))
			continue;
		for (size_t k = 0; k < n; k++)
			snprintf(name + 2 * k, 3, "%02x", id[k]);
		err = read_plan(w, dir, name, bias);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

int windows_read(struct windows *w, const struct target *t)
{
	char runtime[PATH_BYTES], path[PATH_BYTES + 64];
	struct dirent *e;
	int err = 0, fd;
	DIR *d;

	windows_fini(w);
	runtime_of(t, runtime, sizeof runtime);
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)t->pid, runtime);
	d = opendir(path);
	while (d && !err && (e = readdir(d))) {
		if (strncmp(e->d_name, "calls-", 6))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		err = read_session(w, t, fd);
		close(fd);
	}
	if (d)
		closedir(d);
	if (w->n)
		qsort(w->at, w->n, sizeof *w->at, compare);
	return err ? diag_fail(t->d, err, "no memory for the plans of process %d", (int)t->pid) : 0;
}

void windows_fini(struct windows *w)
{
	free(w->at);
	*w = (struct windows){ 0 };
}

bool windows_hold(const struct windows *w, uint64_t address)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (w->at[middle].begin < address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Windows of one site in two sessions may differ in length. */
	for (size_t i = low; i > 0 && low - i < 4; i--)
		if (address < w->at[i - 1].end)
			return true;
	return false;
}
