/* SPDX-License-Identifier: MIT */
/* analysis/io_files.c - see io_files.h. */
#include "analysis/io_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void io_files_fini(struct io_files *f)
{
	for (uint32_t i = 0; i < f->n_tables; i++)
		free(f->tables[i].files);
	free(f->tables);
	keys_fini(&f->names);
	keys_fini(&f->unnamed);
	*f = (struct io_files){ 0 };
}

static int64_t add(struct io_files *f, const struct io_file *one)
{
	struct io *io = f->io;

	if (run_grow(&io->files, &f->n_rooms, io->n_files, sizeof *io->files))
		return -ENOMEM;
	io->files[io->n_files] = *one;
	return io->n_files++;
}

/* The place of @fd; NULL if there is no memory or it is no number of a descriptor. */
static uint32_t *slot(struct io_files *f, uint32_t process, int64_t fd)
{
	struct io_table *t;

	if (fd < 0 || fd >= IO_FDS_MAX || run_grow(&f->tables, &f->n_tables, process, sizeof *f->tables))
		return NULL;
	t = &f->tables[process];
	return run_grow(&t->files, &t->n, (uint32_t)fd, sizeof *t->files) ? NULL : &t->files[fd];
}

/* The file of a key; @one becomes it if the key is new. */
static int64_t file_of(struct io_files *f, struct keys *k, uint64_t a, uint64_t b, uint64_t c,
		       const struct io_file *one)
{
	uint32_t n = k->n;
	int64_t key = keys_find(k, a, b, c, true), file;

	if (key < 0 || (uint32_t)key < n)
		return key < 0 ? key : (int64_t)k->at[key].user;
	file = add(f, one);
	if (file >= 0)
		k->at[key].user = (uint32_t)file;
	return file;
}

int io_files_name(struct io_files *f, uint32_t process, int64_t fd, const char *name, size_t size)
{
	uint32_t *at = slot(f, process, fd);
	struct io_file one = { .process = process, .fd = (int32_t)fd };
	uint32_t n = f->names.n;
	int64_t file;

	if (!at)
		return 0;
	one.name = strndup(name, size);
	if (!one.name)
		return -ENOMEM;
	/* Names whose hashes and sizes are equal are taken for one. */
	file = file_of(f, &f->names, keys_hash(name, size), size, 0, &one);
	if (file < 0 || f->names.n == n)
		free(one.name);
	if (file >= 0)
		*at = (uint32_t)file + 1;
	return file < 0 ? -ENOMEM : 0;
}

static int64_t set_unnamed(struct io_files *f, uint32_t process, int64_t fd, const char *call)
{
	const struct io_file one = { .call = call, .process = process, .fd = (int32_t)fd };
	int64_t file = file_of(f, &f->unnamed, process, (uint64_t)fd, (uintptr_t)call, &one);
	uint32_t *at = slot(f, process, fd);

	if (at && file >= 0)
		*at = (uint32_t)file + 1;
	return file;
}

int io_files_open(struct io_files *f, uint32_t process, int64_t fd, const char *call)
{
	return fd < 0 || set_unnamed(f, process, fd, call) >= 0 ? 0 : -ENOMEM;
}

int64_t io_files_find(struct io_files *f, uint32_t process, int64_t fd)
{
	const uint32_t *at = slot(f, process, fd);

	return at && *at ? (int64_t)*at - 1 : set_unnamed(f, process, fd, NULL);
}

int io_files_dup(struct io_files *f, uint32_t process, int64_t from, int64_t to)
{
	int64_t file = io_files_find(f, process, from);
	uint32_t *at = slot(f, process, to);

	if (at && file >= 0)
		*at = (uint32_t)file + 1;
	return file < 0 ? -ENOMEM : 0;
}

void io_files_close(struct io_files *f, uint32_t process, int64_t fd)
{
	if (process < f->n_tables && fd >= 0 && fd < f->tables[process].n)
		f->tables[process].files[fd] = 0;
}

int io_files_fork(struct io_files *f, uint32_t parent, uint32_t child)
{
	struct io_table *from, *to;

	if (run_grow(&f->tables, &f->n_tables, parent > child ? parent : child, sizeof *f->tables))
		return -ENOMEM;
	from = &f->tables[parent];
	to = &f->tables[child];
	if (!from->n || parent == child)
		return 0;
	if (run_grow(&to->files, &to->n, from->n - 1, sizeof *to->files))
		return -ENOMEM;
	memcpy(to->files, from->files, from->n * sizeof *to->files);
	return 0;
}
