/* SPDX-License-Identifier: MIT */
/*
 * script/engine/procfs.c - probes procfs("x").read and .write: files of the runtime directory.
 *
 * SystemTap has files below /proc, which need a kernel module.  Here they are FIFOs: DIR/x for a
 * read probe, DIR/x.write for a write probe.  `$value` of a write handler is its slot; that of a read
 * handler is the hidden global of that name: what the reader gets.
 *
 * A read probe runs when a reader has opened the FIFO.  The FIFO is replaced by a new one before the
 * answer is complete, so that each reader gets one answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "script/engine/internal.h"

enum { FILES_MAX = 64, TEXT_MAX = 65536 };

struct procfs_file {
	const struct script_probe *probe;
	char path[PATH_MAX];
	int fd; /* of a write probe; -1 */
};

struct engine_procfs {
	struct procfs_file files[FILES_MAX];
	uint32_t n;
	const struct script_variable *value; /* "$value", or NULL: no handler uses it */
};

static bool is_safe(const char *name)
{
	return *name && *name != '/' && !strstr(name, "..") && strlen(name) < NAME_MAX;
}

static int make_fifo(const struct procfs_file *f, struct diag *d)
{
	char *slash, dir[PATH_MAX];

	strcpy(dir, f->path);
	slash = strrchr(dir, '/');
	*slash = 0;
	if (io_make_dirs(dir) || (mkfifo(f->path, 0600) && errno != EEXIST))
		return diag_errno(d, "cannot make %s", f->path);
	return 0;
}

static int add_file(struct script_engine *e, const struct script_probe *p, struct diag *d)
{
	struct engine_procfs *all = e->procfs;
	struct procfs_file *f = &all->files[all->n];
	int err;

	if (all->n == FILES_MAX)
		return diag_fail(d, -E2BIG, "more than %d procfs probes", FILES_MAX);
	if (!is_safe(p->point.text))
		return diag_fail(d, -EINVAL, "%s: a name without .. is expected", p->point.name);
	f->probe = p;
	f->fd = -1;
	if (snprintf(f->path, sizeof f->path, "%s/%s%s", e->o.procfs_dir, p->point.text,
		     p->point.is_return ? "" : ".write") >= (int)sizeof f->path)
		return diag_fail(d, -ENAMETOOLONG, "%s: its name is too long", p->point.name);
	err = make_fifo(f, d);
	if (err)
		return err;
	all->n++;
	if (!p->point.is_return)
		f->fd = open(f->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return p->point.is_return || f->fd >= 0 ? 0 : diag_errno(d, "cannot open %s", f->path);
}

int engine_procfs_open(struct script_engine *e, struct diag *d)
{
	const struct script_program *p = e->o.program;
	int err = 0;

	for (uint32_t i = 0; i < p->n_probes && !err; i++) {
		if (p->probes[i]->point.family != FAMILY_PROCFS || e->o.is_replay)
			continue;
		if (!e->procfs)
			e->procfs = calloc(1, sizeof *e->procfs);
		err = e->procfs ? add_file(e, p->probes[i], d) : -ENOMEM;
	}
	for (uint32_t i = 0; e->procfs && i < p->n_globals; i++)
		if (!strcmp(p->globals[i]->name, "$value"))
			e->procfs->value = p->globals[i];
	return err;
}

uint32_t engine_procfs_poll(struct script_engine *e, struct pollfd *fds, uint32_t n)
{
	for (uint32_t i = 0; e->procfs && i < e->procfs->n && n < 64; i++)
		if (e->procfs->files[i].fd >= 0)
			fds[n++] =
				(struct pollfd){ .fd = e->procfs->files[i].fd, .events = POLLIN };
	return n;
}

/* A process wrote; the handler runs for the bytes that are there. */
static void take_written(struct script_engine *e, struct procfs_file *f)
{
	char text[4096];
	ssize_t n = read(f->fd, text, sizeof text);

	if (n <= 0)
		return;
	engine_run_own(e, f->probe, engine_clock(e), text, (size_t)n);
}

static void answer(struct script_engine *e, struct procfs_file *f, int fd)
{
	const struct script_string *s;

	if (e->procfs->value)
		script_vm_set_global(e->o.vm, "$value", "", NULL);
	engine_run_own(e, f->probe, engine_clock(e), NULL, 0);
	if (!e->procfs->value)
		return;
	s = values_globals(script_vm_values(e->o.vm))[e->procfs->value->index].text;
	(void)!write(fd, s->bytes, s->size < TEXT_MAX ? s->size : TEXT_MAX);
}

static void take_reader(struct script_engine *e, struct procfs_file *f)
{
	int fd = open(f->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return; /* ENXIO: no reader */
	unlink(f->path);
	make_fifo(f, NULL);
	answer(e, f, fd);
	close(fd);
}

void engine_procfs_take(struct script_engine *e)
{
	for (uint32_t i = 0; e->procfs && i < e->procfs->n && !e->is_exiting; i++) {
		struct procfs_file *f = &e->procfs->files[i];

		if (f->fd >= 0)
			take_written(e, f);
		else
			take_reader(e, f);
	}
}

void engine_procfs_close(struct script_engine *e)
{
	if (!e->procfs)
		return;
	for (uint32_t i = 0; i < e->procfs->n; i++)
		if (e->procfs->files[i].fd >= 0)
			close(e->procfs->files[i].fd);
	io_remove_tree(e->o.procfs_dir);
	free(e->procfs);
	e->procfs = NULL;
}
