/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/module.c - -m NAME: all of a script in one file that can be run.
 *
 * The file is the parsed script as text: macros and arguments are expanded, conditions of the
 * preprocessor decided, -G is in the declarations, -D in the first line, and what -I and -E added is
 * there.  It is no byte code: the passes take less than a millisecond, while byte code would hold
 * the layout of one kernel, and no tree of which handlers could be folded into it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/script/internal.h"

/* ---- -G ---- */

static struct script_variable *global_of(const struct script_front *f, const char *name,
					 size_t size)
{
	for (uint32_t i = 0; i < f->program->n_globals; i++) {
		struct script_variable *v = f->program->globals[i];

		if (strlen(v->name) == size && !memcmp(v->name, name, size))
			return v;
	}
	return NULL;
}

static struct script_global_decl *declaration_of(const struct script_front *f,
						 const struct script_variable *v)
{
	for (uint32_t i = 0; i < f->n_files; i++)
		for (uint32_t k = 0; k < f->files[i]->n_globals; k++) {
			struct script_global_decl *g = f->files[i]->globals[k];

			if (!strcmp(g->name, v->name) && g->place.source == v->place.source)
				return g;
		}
	return NULL;
}

/* The value as a constant of the declaration.  Whether it fits was found when it was set. */
static int set_first_value(struct script_front *f, const char *definition)
{
	const char *equals = strchr(definition, '=');
	struct script_variable *v = global_of(f, definition, (size_t)(equals - definition));
	struct script_global_decl *g = v ? declaration_of(f, v) : NULL;
	struct script_expr *e = script_allocate(&f->arena, sizeof *e);

	if (!g)
		return cmd_error("script", "-m: -G %s: no such global", definition);
	if (!e)
		return cmd_error("script", "no memory");
	*e = (struct script_expr){ .kind = v->type == SCRIPT_STRING ? EXPR_TEXT : EXPR_NUMBER,
				   .text = equals + 1,
				   .slot = -1 };
	e->size = (uint32_t)strlen(e->text);
	if (e->kind == EXPR_NUMBER)
		e->number = strtoll(e->text, NULL, 0);
	g->value = e;
	return 0;
}

/* ---- one file ---- */

/* Files become one: what was private to one of them must not meet another one of its name. */
static const char *clash(const struct script_front *f)
{
	for (uint32_t a = 0; a < f->n_own_files; a++)
		for (uint32_t b = 0; b < f->n_own_files; b++) {
			const struct script_file *x = f->files[a], *y = f->files[b];

			for (uint32_t i = 0; a != b && i < x->n_globals; i++)
				for (uint32_t k = 0; k < y->n_globals; k++)
					if (x->globals[i]->is_private &&
					    !strcmp(x->globals[i]->name, y->globals[k]->name))
						return x->globals[i]->name;
			for (uint32_t i = 0; a != b && i < x->n_functions; i++)
				for (uint32_t k = 0; k < y->n_functions; k++)
					if (x->functions[i]->is_private &&
					    !strcmp(x->functions[i]->name, y->functions[k]->name))
						return x->functions[i]->name;
		}
	return NULL;
}

/* The file with the arguments declares all that there may be; only what is used is kept. */
static void drop_unused(const struct script_front *f, struct script_file *file)
{
	uint32_t n = 0;

	if (strcmp(f->sources.at[file->source].name, "<arguments>") != 0)
		return;
	for (uint32_t i = 0; i < file->n_globals; i++) {
		const char *name = file->globals[i]->name;

		if (global_of(f, name, strlen(name)))
			file->globals[n++] = file->globals[i];
	}
	file->n_globals = n;
}

/* Whole or not at all. */
static int write_file(const char *path, const struct text *t)
{
	char part[PATH_MAX];
	int fd, err;

	if (snprintf(part, sizeof part, "%s.%d.part", path, (int)getpid()) >= (int)sizeof part)
		return cmd_error("script", "-m %s: the path is too long", path);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	if (fd < 0)
		return cmd_error("script", "-m %s: %s", part, strerror(errno));
	err = io_write(fd, t->bytes, t->size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(part, path))
		err = -errno;
	if (!err)
		return 0;
	unlink(part);
	return cmd_error("script", "-m %s: %s", path, strerror(-err));
}

int script_module_write(struct script_front *f, const struct script_options *o)
{
	const char *name = clash(f);
	struct text t = { 0 };
	int status = 0;

	if (name)
		return cmd_error("script",
				 "-m %s: `%s` is private in one of the files that become one\n"
				 "  give one of the two another name",
				 o->module, name);
	for (int i = 0; i < o->globals.n && !status; i++)
		status = set_first_value(f, o->globals.at[i]);
	text_addf(&t, "#!/usr/bin/env -S duet script");
	script_limits_print(&t, &o->limits);
	text_addf(&t, "\n");
	for (uint32_t i = 0; i < f->n_own_files; i++) {
		drop_unused(f, f->files[i]);
		script_print_file(&t, f->files[i]);
	}
	if (t.failed && !status)
		status = cmd_error("script", "no memory");
	if (!status)
		status = write_file(o->module, &t);
	text_fini(&t);
	return status;
}
