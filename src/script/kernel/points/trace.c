/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/trace.c - kernel.trace("NAME"), kernel.trace("SYSTEM:NAME"), kernel.tracepoint,
 * and the values there.
 *
 * A tracepoint's arguments have names and types in BTF (`__traceiter_NAME`); its format in tracefs
 * has fields.  Both are values.  A field comes from the arguments if it can, because a raw tracepoint is
 * cheaper; a field that cannot needs the classic record, and then all values must be fields.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/tracefs/public.h"
#include "script/kernel/points/points.h"

/* ---------------------------------------------------------------- points */

struct search {
	struct script_kernel *k;
	struct script_found *found;
	const char *system, *name; /* patterns; system: NULL if none was given */
	const char *word;	   /* "trace", "tracepoint" */
	uint32_t n;
	int err;
	struct script_nearest nearest;
};

static void add_tracepoint(struct search *s, const char *system, const char *name)
{
	struct kernel_point *p = script_allocate(s->k->arena, sizeof *p);
	char *copy = p ? script_copy(s->k->arena, name, strlen(name)) : NULL;
	char *text = copy ? kernel_textf(s->k, "kernel.%s(\"%s%s%s\")", s->word,
					 system ? system : "", system ? ":" : "", name)
			  : NULL;

	if (!text) {
		s->err = -ENOMEM;
		return;
	}
	*p = (struct kernel_point){ .owner = s->k, .kind = KIND_TRACE, .name = copy };
	if (system)
		p->system = script_copy(s->k->arena, system, strlen(system));
	s->n++;
	kernel_found(s->found, p, text, copy, false);
}

static void try_name(void *context, const char *name)
{
	struct search *s = context;

	if (!fnmatch(s->name, name, 0))
		add_tracepoint(s, NULL, name);
	else
		script_nearest_try(&s->nearest, name);
}

static bool is_pattern(const char *text)
{
	return text[strcspn(text, "*?[")] != 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a directory that match, sorted: the order of a directory is by chance. */
static char **list(int root, const char *path, const char *pattern, struct script_nearest *nearest)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0, room = 64;
	char **names = malloc(room * sizeof *names);

	if (!dir && fd >= 0)
		close(fd);
	for (struct dirent *e; dir && names && (e = readdir(dir));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (nearest)
			script_nearest_try(nearest, e->d_name);
		if (fnmatch(pattern, e->d_name, 0) || n > 1 << 16)
			continue;
		if (n + 2 > room) {
			char **more = realloc(names, 2 * room * sizeof *names);

			if (!more)
				break;
			names = more;
			room *= 2;
		}
		names[n] = strdup(e->d_name);
		n += names[n] != NULL;
	}
	if (dir)
		closedir(dir);
	if (names) {
		qsort(names, n, sizeof *names, compare_names);
		names[n] = NULL;
	}
	return names;
}

static void free_list(char **names)
{
	for (char **p = names; p && *p; p++)
		free(*p);
	free(names);
}

static int search_systems(struct search *s, struct diag *d)
{
	int root = kernel_tracefs(s->k, d);
	char **systems = root < 0 ? NULL : list(root, "events", s->system, NULL);

	if (root < 0)
		return root;
	for (char **p = systems; p && *p; p++) {
		char path[320];
		char **names;

		snprintf(path, sizeof path, "events/%s", *p);
		names = list(root, path, s->name, &s->nearest);
		for (char **q = names; q && *q; q++)
			add_tracepoint(s, *p, *q);
		free_list(names);
	}
	free_list(systems);
	return systems ? s->err : -ENOMEM;
}

static int search_names(struct search *s, struct diag *d)
{
	int err = kernel_types(s->k, d);

	if (err)
		return err;
	if (!is_pattern(s->name) && btf_tracepoint_prototype(&s->k->types, s->name, NULL))
		add_tracepoint(s, NULL, s->name);
	else
		btf_each_tracepoint(&s->k->types, try_name, s);
	return s->err;
}

int kernel_trace_points(struct script_kernel *k, const struct script_point *p,
			struct script_found *f, struct diag *d)
{
	struct search s = { .k = k, .found = f };
	const char *text, *colon;
	char system[128], nearest[160];
	int err;

	if (p->n != 2 || strcmp(p->at[0].name, "kernel") ||
	    (strcmp(p->at[1].name, "trace") && strcmp(p->at[1].name, "tracepoint")))
		return -ENOTSUP;
	if (p->at[1].kind != COMPONENT_TEXT)
		return diag_fail(d, -ENOENT, "kernel.%s needs a name: kernel.%s(\"sched_switch\")",
				 p->at[1].name, p->at[1].name);
	s.word = p->at[1].name;
	text = p->at[1].text;
	colon = strchr(text, ':');
	s.name = colon ? colon + 1 : text;
	if (colon) {
		snprintf(system, sizeof system, "%.*s", (int)(colon - text), text);
		s.system = system;
	}
	s.nearest = (struct script_nearest){ .wanted = s.name, .wanted_size = strlen(s.name) };
	err = colon ? search_systems(&s, d) : search_names(&s, d);
	if (err || s.n)
		return err;
	return diag_fail(d, -ENOENT, "this kernel has no tracepoint `%s`%s", text,
			 script_nearest_text(&s.nearest, nearest));
}

/* ---------------------------------------------------------------- values */

/* The prototype with names, and the number for loading. */
static int describe(struct script_kernel *k, struct kernel_point *p, struct diag *d)
{
	char name[128];
	uint32_t function;
	int err = p->prototype ? 0 : kernel_types(k, d);

	if (err || p->prototype)
		return err;
	if (!btf_tracepoint_prototype(&k->types, p->name, &p->btf_id))
		return diag_fail(d, -ENOENT, "the types of tracepoint %s are not known", p->name);
	snprintf(name, sizeof name, "__traceiter_%s", p->name);
	function = btf_find(&k->types, BTF_KIND_FUNC, name);
	if (!function) {
		snprintf(name, sizeof name, "__bpf_trace_%s", p->name);
		function = btf_find(&k->types, BTF_KIND_FUNC, name);
	}
	if (!function)
		return diag_fail(d, -ENOENT, "the arguments of tracepoint %s have no names",
				 p->name);
	p->prototype = btf_type(&k->types, function)->type;
	return 0;
}

/* The number of the argument called @name, of @size bytes, or -1. */
static int argument_of(struct script_kernel *k, const struct kernel_point *p, const char *name,
		       size_t size, uint32_t *type)
{
	const char *found;

	for (uint32_t i = 1; btf_parameter(&k->types, p->prototype, i, type, &found); i++)
		if (strlen(found) == size && !memcmp(found, name, size))
			return (int)i - 1;
	return -1;
}

static struct kernel_fetch argument(int number)
{
	return (struct kernel_fetch){ .base = FETCH_ARGUMENT,
				      .what = FETCH_VALUE,
				      .at = number,
				      .bytes = 8,
				      .user_from = FETCH_NEVER_USER,
				      .is_trusted = true };
}

/* A char pointer that a path ends with is the text it points to: a field of the format. */
static void follow_chars(struct kernel_fetch *f)
{
	if (f->what != FETCH_LOAD || f->bytes != 8 || f->n_hops == FETCH_HOPS_MAX)
		return;
	f->hops[f->n_hops++] = f->offset;
	f->offset = 0;
	f->what = FETCH_TEXT;
	f->size = FETCH_TEXT_MAX;
	f->may_fault = true;
}

static int computed_field(struct script_kernel *k, struct kernel_point *p, const char *path,
			  const struct kernel_field *field, struct script_world_value *v,
			  struct diag *d)
{
	size_t n = strcspn(path, "-");
	uint32_t type;
	int number = argument_of(k, p, path, n, &type), err;
	struct kernel_fetch f;

	if (number < 0)
		return -ENOENT;
	f = argument(number);
	err = kernel_follow_text(k, &f, type, path[n] ? path + n + 2 : "", NULL);
	if (err)
		return -ENOENT;
	if (field->place != KERNEL_IN_RECORD || (field->is_pointer && field->is_chars))
		follow_chars(&f);
	return kernel_give_fetch(k, &f, v, d);
}

static int recorded_field(struct script_kernel *k, const struct kernel_field *field,
			  struct script_world_value *v, struct diag *d)
{
	struct kernel_fetch f = { .base = FETCH_RECORD,
				  .at = field->offset,
				  .user_from = FETCH_NEVER_USER };

	if (field->place != KERNEL_IN_RECORD) {
		if (!field->is_text || field->place == KERNEL_REL_LOC)
			return diag_fail(d, -EINVAL, "field %s is an array", field->name);
		f.what = FETCH_DATA_LOC;
		f.size = FETCH_TEXT_MAX;
	} else if (field->is_array && !field->is_text) {
		return diag_fail(d, -EINVAL, "field %s is an array", field->name);
	} else if (field->is_array) {
		f.what = FETCH_BYTES;
		f.size = field->size < FETCH_TEXT_MAX ? field->size : FETCH_TEXT_MAX;
	} else {
		f.what = FETCH_VALUE;
		f.bytes = (uint8_t)field->size;
		f.is_signed = field->is_signed;
	}
	return kernel_give_fetch(k, &f, v, d);
}

/* The system of an event that was named without it. */
static const char *find_system(struct script_kernel *k, const char *event)
{
	int root = kernel_tracefs(k, NULL);
	char **systems = root < 0 ? NULL : list(root, "events", "*", NULL);
	const char *found = NULL;

	for (char **p = systems; !found && p && *p; p++) {
		char path[320];

		snprintf(path, sizeof path, "events/%s/%s/format", *p, event);
		if (!faccessat(root, path, F_OK, 0))
			found = script_copy(k->arena, *p, strlen(*p));
	}
	free_list(systems);
	return found;
}

static int read_format(struct script_kernel *k, struct kernel_point *p, struct kernel_format *f,
		       struct diag *d)
{
	int root = kernel_tracefs(k, d);

	if (root < 0)
		return root;
	if (!p->system)
		p->system = find_system(k, p->name);
	if (!p->system)
		return diag_fail(d, -ENOENT, "tracepoint %s has no format", p->name);
	return kernel_event_format(root, p->system, p->name, f, d);
}

static int field_value(struct script_kernel *k, struct kernel_point *p, const char *name,
		       struct script_world_value *v, struct diag *d)
{
	struct kernel_format format;
	const char *path = kernel_field_path(p->name, name);

	if (read_format(k, p, &format, NULL))
		return -ENOENT;
	for (int i = 0; i < format.n_fields; i++) {
		if (strcmp(format.fields[i].name, name))
			continue;
		if (path && !describe(k, p, NULL) &&
		    !computed_field(k, p, path, &format.fields[i], v, NULL)) {
			((struct kernel_value *)v->data)->name = name;
			return 0;
		}
		return recorded_field(k, &format.fields[i], v, d);
	}
	return -ENOENT;
}

int kernel_trace_recorded(struct script_kernel *k, const struct kernel_point *point,
			  const char *name, struct script_world_value *v)
{
	struct kernel_point *p = (struct kernel_point *)(uintptr_t)point;
	struct kernel_format format;

	if (!name || p->kind != KIND_TRACE || read_format(k, p, &format, NULL))
		return -ENOENT;
	for (int i = 0; i < format.n_fields; i++)
		if (!strcmp(format.fields[i].name, name))
			return recorded_field(k, &format.fields[i], v, NULL);
	return -ENOENT;
}

static void offer(void *context, const char *name)
{
	script_nearest_try(context, name);
}

static int no_value(struct script_kernel *k, const struct kernel_point *p, const char *name,
		    struct diag *d)
{
	struct script_nearest n = { .wanted = name, .wanted_size = strlen(name) };
	char text[160];

	kernel_trace_names(k, p, offer, &n);
	return diag_fail(d, -ENOENT, "tracepoint %s has no argument and no field `%s`%s", p->name,
			 name, script_nearest_text(&n, text));
}

int kernel_trace_value(struct script_kernel *k, const struct kernel_point *point,
		       const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct kernel_point *p = (struct kernel_point *)(uintptr_t)point;
	const char *name = e->text;
	struct kernel_fetch f;
	uint32_t type;
	int number, err;

	if (!describe(k, p, NULL)) {
		number = argument_of(k, p, name, strlen(name), &type);
		if (number >= 0) {
			f = argument(number);
			err = kernel_path_value(k, &f, type, e, v, d);
			if (!err && !e->n_path && !e->is_address)
				((struct kernel_value *)v->data)->name = name;
			return err;
		}
	}
	if (e->n_path) /* a field has no members */
		return no_value(k, p, name, d);
	err = field_value(k, p, name, v, d);
	return err == -ENOENT ? no_value(k, p, name, d) : err;
}

void kernel_trace_arguments(struct script_kernel *k, const struct kernel_point *point,
			    void (*visit)(void *context, const char *name), void *context)
{
	struct kernel_point *p = (struct kernel_point *)(uintptr_t)point;
	const char *name;
	uint32_t type;

	if (!describe(k, p, NULL))
		for (uint32_t i = 1; btf_parameter(&k->types, p->prototype, i, &type, &name); i++)
			visit(context, name);
}

void kernel_trace_names(struct script_kernel *k, const struct kernel_point *point,
			void (*visit)(void *context, const char *name), void *context)
{
	struct kernel_point *p = (struct kernel_point *)(uintptr_t)point;
	struct kernel_format format;
	uint32_t type;

	kernel_trace_arguments(k, p, visit, context);
	if (!read_format(k, p, &format, NULL))
		for (int i = 0; i < format.n_fields; i++) {
			char *copy;

			if (argument_of(k, p, format.fields[i].name, strlen(format.fields[i].name),
					&type) >= 0)
				continue;
			copy = script_copy(k->arena, format.fields[i].name,
					   strlen(format.fields[i].name));

			if (copy)
				visit(context, copy);
		}
}
