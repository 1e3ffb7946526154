/* SPDX-License-Identifier: MIT */
/* find/file.c - look at a program or library on disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "find/internal.h"

/* The file itself, else the command of that name. */
static void resolve(char path[PATH_MAX], const char *name)
{
	const char *list = getenv("PATH");

	snprintf(path, PATH_MAX, "%s", name);
	if (strchr(name, '/') || !access(name, F_OK))
		return;
	for (const char *p = list ? list : "/usr/bin:/bin"; p;) {
		const char *end = strchrnul(p, ':');

		snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - p), p, name);
		if (end > p && !access(path, X_OK))
			return;
		p = *end ? end + 1 : NULL;
	}
	snprintf(path, PATH_MAX, "%s", name);
}

static int refuse(int fd, const char *path, const struct diag *why, struct diag *d)
{
	char head[128], shown[PATH_MAX];
	ssize_t n = pread(fd, head, sizeof head - 1, 0);

	head[n > 0 ? n : 0] = 0;
	text_printable(shown, sizeof shown, path);
	if (strncmp(head, "#!", 2))
		return diag_fail(d, -ENOEXEC, "%s is %s", shown, why->text);
	head[strcspn(head, "\n")] = 0;
	text_printable(head + 2, sizeof head - 2, strdupa(head + 2));
	return diag_fail(d, -ENOEXEC, "%s is a script: its program is %s", shown,
			 head + 2 + strspn(head + 2, " "));
}

/* Whether the kernel gives it rights when it starts: then libduet leaves it alone. */
static bool has_rights(int fd)
{
	struct stat st;

	return (!fstat(fd, &st) && st.st_mode & (S_ISUID | S_ISGID)) ||
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static void judge(struct find_file *f, const struct find_by *by)
{
	const struct find_search s = {
		.root = "",
		.duet_library = by->passes_library ? by->library : getenv("DUET_LIBRARY"),
		.library_path = getenv("LD_LIBRARY_PATH"),
		.object = &f->program,
		.object_path = f->path,
	};
	const struct elf_program *e = &f->program;

	if (!e->is_64bit || e->is_other) {
		f->state = FIND_OTHER_PROCESSOR;
	} else if (!e->n_sites) {
		f->state = e->n_lttng || e->needs_lttng ? FIND_ONLY_LTTNG
			   : e->n_marks			? FIND_ONLY_MARKS
							: FIND_NO_SITES;
	} else if (f->state == FIND_SECURE) {
		return;
	} else if (e->is_musl) {
		f->state = FIND_OTHER_LIBC;
	} else if (e->is_static && !e->has_dlopen) {
		f->state = FIND_STATIC;
	} else {
		find_loader_run(&f->loader, &s);
		f->state = *f->loader.found ? FIND_RECORDABLE : FIND_NO_LIBRARY;
	}
}

int find_file(struct find_file *f, const char *path, const struct find_by *by, struct diag *d)
{
	char whole[PATH_MAX];
	struct diag why = { "" };
	int fd, err;

	*f = (struct find_file){ .state = FIND_NOT_THERE };
	resolve(f->path, path);
	fd = elf_program_open(f->path, &why);
	if (fd < 0) {
		text_printable(whole, sizeof whole, why.text);
		return diag_fail(d, fd, "%.900s", whole);
	}
	err = elf_program_read(&f->program, fd, &why);
	if (err)
		err = refuse(fd, f->path, &why, d);
	if (!err && f->program.is_program && has_rights(fd))
		f->state = FIND_SECURE;
	close(fd);
	if (!err && realpath(f->path, whole))
		snprintf(f->path, sizeof f->path, "%s", whole);
	if (!err)
		judge(f, by);
	return err;
}

void find_file_fini(struct find_file *f)
{
	text_fini(&f->loader.looked);
}
