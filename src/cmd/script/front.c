/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/front.c - texts of a script to byte code, with the messages of each pass printed.
 *
 * Texts: FILE or -e, each -E, the files of each -I, the arguments as globals, then the script
 * library.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/print/print.h"
#include "cmd/script/internal.h"
#include "script/code/code.h"
#include "script/live/live.h"
#include "script/library/library.h"

enum { TEXT_MAX = 16 << 20, FILES_MAX = 1024 };

static int out_of_memory(void)
{
	return cmd_error("script", "no memory");
}

/* The arena has a limit, which a script reaches before the system has no memory. */
static int too_large(const struct script_front *f)
{
	if (!f->arena.failed)
		return out_of_memory();
	return cmd_error("script",
			 "the script is too large: its tree and code take more than %zu MB",
			 f->arena.size >> 20);
}

/* Prints what the passes have found, once.  Returns CMD_FAILED if any of it is an error. */
static int print_messages(struct script_front *f)
{
	bool has_failed = f->messages.n_errors > 0;

	if (f->messages.text.size) {
		print_flush();
		print_lines_err(f->messages.text.bytes, f->messages.text.size);
	}
	text_fini(&f->messages.text);
	f->messages.text = (struct text){ 0 };
	return has_failed ? CMD_FAILED : 0;
}

/* ---------------------------------------------------------------- texts */

static int read_file(const char *path, struct text *to)
{
	int fd = !strcmp(path, "-") ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char bytes[65536];
	ssize_t n = 0;

	if (fd < 0)
		return cmd_error("script", "%s: %s%s", path, strerror(errno),
				 strpbrk(path, " {") ? "; a script as a word goes behind -e" : "");
	while (to->size <= TEXT_MAX && (n = io_read(fd, bytes, sizeof bytes)) > 0)
		text_add(to, bytes, (size_t)n);
	if (fd != STDIN_FILENO)
		close(fd);
	if (n < 0)
		return cmd_error("script", "%s: %s", path, strerror((int)-n));
	if (to->size > TEXT_MAX)
		return cmd_error("script", "%s: longer than %d MB: no script", path,
				 TEXT_MAX >> 20);
	return to->failed ? out_of_memory() : 0;
}

struct parsing {
	struct script_front *f;
	struct script_parse_options options;
	struct script_macros *macros;
	bool is_library;
};

static int parse_text(struct parsing *p, const char *name, const char *path, const char *text,
		      size_t size)
{
	struct script_front *f = p->f;
	int64_t source = script_sources_add(&f->sources, name, text, size);
	int err;

	if (source < 0 || f->n_files == FILES_MAX)
		return out_of_memory();
	f->sources.at[source].is_library = p->is_library;
	f->sources.at[source].path = path;
	err = script_parse(&f->files[f->n_files], &f->sources, (uint32_t)source, &p->options,
			   p->macros, &f->messages);
	if (!err)
		f->n_files++;
	return err == -ENOMEM ? out_of_memory() : 0;
}

static int parse_file(struct parsing *p, const char *path)
{
	struct text t = { 0 };
	int status = read_file(path, &t);

	if (!status)
		status = parse_text(p, !strcmp(path, "-") ? "<standard input>" : path, path,
				    t.bytes ? t.bytes : "", t.size);
	text_fini(&t);
	return status;
}

static bool ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && !strcmp(name + n - m, ending);
}

static int is_script(const struct dirent *e)
{
	return ends_in(e->d_name, ".stp");
}

static int is_macros(const struct dirent *e)
{
	return ends_in(e->d_name, ".stpm");
}

/* The files of a directory of -I that @wanted accepts, by name. */
static int parse_directory(struct parsing *p, const char *dir,
			   int (*wanted)(const struct dirent *e))
{
	struct dirent **entries;
	int n = scandir(dir, &entries, wanted, alphasort), status = 0;

	if (n < 0)
		return cmd_error("script", "-I %s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		if (!status && snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name) <
				       (int)sizeof path)
			status = parse_file(p, path);
		free(entries[i]);
	}
	free(entries);
	return status;
}

/* Macros come first, for all texts.  Their files have nothing else. */
static int parse_macros(struct parsing *p, const struct script_options *o)
{
	int status = 0;

	p->is_library = true;
	for (int i = 0; i < o->include.n && !status; i++)
		status = parse_directory(p, o->include.at[i], is_macros);
	p->f->n_files = 0;
	p->is_library = false;
	return status;
}

static int parse_library(struct parsing *p, const struct script_options *o)
{
	int status = 0;

	p->is_library = true;
	for (int i = 0; i < o->include.n && !status; i++)
		status = parse_directory(p, o->include.at[i], is_script);
	return status;
}

bool script_front_has(const struct script_front *f, const char *word)
{
	for (uint32_t i = 0; i < f->sources.n; i++)
		if (!f->sources.at[i].is_library && strstr(f->sources.at[i].text, word))
			return true;
	return false;
}

static int parse_own(struct parsing *p, const struct script_options *o)
{
	int status = 0;

	if (o->text)
		status = parse_text(p, "<command line>", NULL, o->text, strlen(o->text));
	if (o->file && !status)
		status = parse_file(p, o->file);
	for (int i = 0; i < o->also.n && !status; i++)
		status = parse_text(p, "<command line, -E>", NULL, o->also.at[i],
				    strlen(o->also.at[i]));
	return status;
}

/* ---------------------------------------------------------------- arguments */

static bool uses_arguments(const struct script_source *s)
{
	for (const char *p = s->text; p + 1 < s->text + s->size; p++)
		if ((*p == '$' || *p == '@') && (p[1] == '#' || (p[1] >= '1' && p[1] <= '9')))
			return true;
	return strstr(s->text, "argv") || strstr(s->text, "argc");
}

static int check_arguments(const struct script_front *f, const struct script_options *o)
{
	for (uint32_t i = 0; i < f->sources.n; i++)
		if (!f->sources.at[i].is_library && uses_arguments(&f->sources.at[i]))
			return 0;
	if (!o->arguments.n)
		return 0;
	return cmd_error("script", "%s: no recording is there, and the script uses no arguments",
			 o->arguments.at[0]);
}

enum { ARGUMENT_GLOBALS = 32 };

static void add_literal(struct text *t, const char *s)
{
	text_add(t, "\"", 1);
	for (; *s; s++)
		text_addf(t, "\\%03o", (unsigned char)*s);
	text_add(t, "\"", 1);
}

/* Whether the script's own texts have @name, perhaps with more behind it but not @without. */
static bool names(const struct script_front *f, const char *name, char without)
{
	for (uint32_t i = 0; i < f->sources.n; i++)
		for (const char *p = f->sources.at[i].text; (p = strstr(p, name)); p++)
			if (!f->sources.at[i].is_library && p[strlen(name)] != without)
				return true;
	return false;
}

/* argc, argv_1 .., and the array argv: declared in the language itself. */
static int parse_arguments(struct parsing *p, const struct script_options *o)
{
	struct text t = { 0 };
	int status = 0;

	text_addf(&t, "global argc = %d\n", o->arguments.n);
	for (int i = 0; i < o->arguments.n || i < ARGUMENT_GLOBALS; i++) {
		text_addf(&t, "global argv_%d = ", i + 1);
		add_literal(&t, i < o->arguments.n ? o->arguments.at[i] : "");
		text_add(&t, "\n", 1);
	}
	if (names(p->f, "argv", '_')) {
		text_addf(&t, "global argv\nprobe init {\n\targv[1] = \"\"\n\tdelete argv[1]\n");
		for (int i = 0; i < o->arguments.n; i++) {
			text_addf(&t, "\targv[%d] = ", i + 1);
			add_literal(&t, o->arguments.at[i]);
			text_add(&t, "\n", 1);
		}
		text_addf(&t, "}\n");
	}
	status = t.failed ? out_of_memory() : parse_text(p, "<arguments>", NULL, t.bytes, t.size);
	text_fini(&t);
	return status;
}

/* ---------------------------------------------------------------- passes */

int script_front_parse(struct script_front *f, const struct script_options *o)
{
	struct script_config config = { .arena = &f->arena };
	struct parsing p = { .f = f,
			     .options = { .arguments = o->arguments.at,
					  .n_arguments = o->arguments.n,
					  .config = script_config,
					  .context = &config } };
	int status;

	*f = (struct script_front){ .messages = { .hides_warnings = o->hides_warnings,
						  .warnings_are_errors = o->warnings_are_errors } };
	f->sources.arena = &f->arena;
	f->messages.sources = &f->sources;
	f->files = script_allocate(&f->arena, FILES_MAX * sizeof *f->files);
	p.macros = script_macros_new(&f->arena);
	if (!f->files || !p.macros)
		return out_of_memory();
	status = parse_macros(&p, o);
	if (!status)
		status = parse_own(&p, o);
	if (!status)
		status = parse_library(&p, o);
	if (!status && (names(f, "argc", 0) || names(f, "argv", 0)))
		status = parse_arguments(&p, o);
	f->n_own_files = f->n_files;
	if (!status && script_library_parse(f->files, &f->n_files, FILES_MAX, &f->sources,
					    &p.options, p.macros, &f->messages))
		status = out_of_memory();
	if (!status)
		status = print_messages(f);
	return status ? status : check_arguments(f, o);
}

static int check(struct script_front *f, const struct script_options *o)
{
	const struct script_check_options check = { .other_names = script_library_name,
						    .keeps_unused = o->keeps_unused,
						    .skips_bad_values = o->skips_bad_values };

	return script_check(&f->program, f->files, f->n_files, &f->sources, f->world, &check,
			    &f->messages);
}

/* Of a script with probes of both kinds: all of it by one recording, if that has all values. */
static void put_on_one_clock(struct script_front *f, const struct script_options *o)
{
	struct script_program *mixed = f->program;

	script_live_prefer_session(f->live, true);
	if (check(f, o)) {
		script_live_prefer_session(f->live, false);
		f->program = mixed;
	}
	text_fini(&f->messages.text);
	f->messages.text = (struct text){ 0 };
	f->messages.n_errors = 0;
}

int script_front_compile(struct script_front *f, const struct script_options *o)
{
	struct diag d = { "" };
	int err = check(f, o);

	if (print_messages(f))
		return CMD_FAILED;
	if (err)
		return too_large(f);
	if (f->live && script_live_is_mixed(f->live, f->program))
		put_on_one_clock(f, o);
	if (o->pass < 3)
		return 0;
	err = script_code(&f->unit, f->program, &o->limits, &f->messages);
	if (print_messages(f))
		return CMD_FAILED;
	if (err)
		return too_large(f);
	return o->pass > 3 && script_verify(f->unit, &d)
		       ? cmd_error("script", "the compiler made bad code: %s", d.text)
		       : 0;
}

int script_front_list(struct script_front *f, const struct script_options *o)
{
	static const struct script_check_options check = { .other_names = script_library_name };
	static const struct script_parse_options parse;
	struct script_point *point;
	struct text t = { 0 };
	int64_t source = script_sources_add(&f->sources, o->lists_values ? "-L" : "-l", o->point,
					    strlen(o->point));
	int n;

	if (source < 0)
		return out_of_memory();
	n = script_parse_point(&point, &f->sources, (uint32_t)source, &f->messages);
	if (n >= 0)
		n = script_library_parse(f->files, &f->n_files, FILES_MAX, &f->sources, &parse,
					 NULL, &f->messages);
	if (n >= 0)
		n = script_check_list(&t, point, o->lists_values, f->files, f->n_files, &f->sources,
				      f->world, &check, &f->messages);
	if (t.size)
		print_lines(t.bytes, t.size);
	text_fini(&t);
	return print_messages(f) || n < 0 ? CMD_FAILED : !n;
}

void script_front_fini(struct script_front *f)
{
	text_fini(&f->messages.text);
	script_arena_fini(&f->arena);
}
