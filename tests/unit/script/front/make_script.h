/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/script/make_script.h - scripts checked against a small world of fixed points.
 *
 *	struct made m = { 0 };
 *	make_script(&m, "probe begin { exit() }");
 *	is_text(m.messages.text.bytes, NULL);
 *	unmake_script(&m);
 *
 * A value of the world is `number` 100 * point + its own index.
 */
#ifndef TESTS_MAKE_SCRIPT_H
#define TESTS_MAKE_SCRIPT_H

#include <errno.h>
#include <fnmatch.h>

#include "script/check/program.h"
#include "test.h"

struct fake_point {
	const char *text;
	const char *values; /* "$next_pid:long name:string" */
	const char *entry;  /* text of its entry, of a return */
};

static const struct fake_point fake_points[] = {
	{ "kernel.trace(\"sched_switch\")",
	  "$prev_pid:long $next_pid:long $prev_comm:string $next_comm:string $next:long", NULL },
	{ "kernel.trace(\"sched_wakeup\")", "$pid:long $comm:string", NULL },
	{ "syscall.open", "$filename:string $flags:long name:string argstr:string", NULL },
	{ "syscall.open.return", "$return:long name:string retstr:string", "syscall.open" },
	{ "syscall.close", "$fd:long name:string argstr:string", NULL },
	{ "syscall.close.return", "$return:long name:string retstr:string", "syscall.close" },
	{ "kernel.function(\"vfs_read\")", "$file:long $count:long", NULL },
	{ "kernel.function(\"vfs_read\").return", "$return:long", "kernel.function(\"vfs_read\")" },
	{ "app.shop.order", "id:long item:string", NULL },
	{ "process(\"a\").function(\"f\")", "$n:long", NULL },
	{ "process(\"a\").function(\"f\").return", "$return:long",
	  "process(\"a\").function(\"f\")" },
};
enum { N_FAKE_POINTS = sizeof fake_points / sizeof *fake_points };

static inline void fake_text(struct text *t, const struct script_point *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		text_addf(t, "%s%s", i ? "." : "", p->at[i].name);
		if (p->at[i].kind == COMPONENT_TEXT)
			text_addf(t, "(\"%s\")", p->at[i].text);
	}
}

static inline int fake_find(struct script_world *w, const struct script_point *p,
			    struct script_found *f, struct diag *d)
{
	struct text t = { 0 };
	unsigned n = 0;

	(void)w;
	fake_text(&t, p);
	for (size_t i = 0; i < N_FAKE_POINTS; i++) {
		struct script_world_point found = { .family = FAMILY_WORLD,
						    .text = fake_points[i].text,
						    .name = "fake",
						    .number = (int64_t)i };

		if (fnmatch(t.bytes, fake_points[i].text, 0))
			continue;
		found.is_return = fake_points[i].entry != NULL;
		found.is_user = fake_points[i].text[0] == 'p';
		f->add(f, &found);
		n++;
	}
	text_fini(&t);
	return n ? 0 : diag_fail(d, -ENOENT, "the small world has no such point");
}

static inline const char *fake_value_at(const char *values, unsigned i, size_t *size)
{
	while (i-- && values)
		values = strchr(values, ' ') ? strchr(values, ' ') + 1 : NULL;
	if (values)
		*size = strcspn(values, " ");
	return values;
}

static inline enum script_type fake_type(const char *at, size_t size)
{
	return memchr(at, ':', size) && !strncmp((const char *)memchr(at, ':', size), ":string", 7)
		       ? SCRIPT_STRING
		       : SCRIPT_LONG;
}

static inline int fake_value(struct script_world *w, const struct script_world_point *p,
			     const struct script_expr *e, struct script_world_value *v,
			     struct diag *d)
{
	struct script_nearest near = { .wanted = e->text, .wanted_size = e->size };
	const char *values = fake_points[p->number].values, *at;
	char text[160];
	size_t size;

	(void)w;
	if (e->kind == EXPR_CALL || e->kind == EXPR_CAST) {
		*v = (struct script_world_value){ .type = e->kind == EXPR_CAST ? SCRIPT_LONG
									       : SCRIPT_STRING,
						  .number = 99,
						  .may_fault = true };
		return 0;
	}
	for (unsigned i = 0; (at = fake_value_at(values, i, &size)); i++) {
		bool dollar = *at == '$';
		size_t name = strcspn(at, ":") - dollar;

		if (e->kind != (dollar ? EXPR_CONTEXT : EXPR_VARIABLE))
			continue;
		if (strlen(e->text) == name && !strncmp(at + dollar, e->text, name)) {
			bool is_pretty = e->n_path && e->path[0].kind >= PATH_PRETTY;

			*v = (struct script_world_value){ .number = (uint32_t)p->number * 100 + i,
							  .may_fault = dollar,
							  .type = is_pretty ? SCRIPT_STRING
									    : fake_type(at, size) };
			return 0;
		}
		snprintf(text, sizeof text, "%.*s", (int)name, at + dollar);
		script_nearest_try(&near, text);
	}
	if (e->kind == EXPR_VARIABLE)
		return -ENOENT;
	return diag_fail(d, -ENOENT, "there is no $%s%s", e->text,
			 script_nearest_text(&near, text));
}

static inline void fake_each(struct script_world *w, const struct script_world_point *p,
			     void (*report)(void *context, const struct script_world_value *v,
					    const char *name),
			     void *context)
{
	const char *at;
	size_t size;

	for (unsigned i = 0; (at = fake_value_at(fake_points[p->number].values, i, &size)); i++) {
		struct script_world_value v = { .type = fake_type(at, size),
						.text = script_copy(w->arena, at, size) };

		const char *name = script_copy(w->arena, at, strcspn(at, ":"));

		if (name)
			report(context, &v, name);
	}
}

static inline int fake_entry(struct script_world *w, const struct script_world_point *p,
			     struct script_world_point *entry, struct diag *d)
{
	const char *name = fake_points[p->number].entry;

	(void)w;
	for (size_t i = 0; name && i < N_FAKE_POINTS; i++)
		if (!strcmp(fake_points[i].text, name)) {
			*entry = *p;
			entry->text = name;
			entry->number = (int64_t)i;
			entry->is_return = false;
			return 0;
		}
	return diag_fail(d, -ENOENT, "%s is no return", p->text);
}

static const struct script_world_ops fake_ops = { "the small world", fake_find, fake_value,
						  fake_each, fake_entry };

struct made {
	const char *library; /* a text of the library, or NULL */
	struct script_check_options options;
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_world world;
	struct script_file *files[2];
	struct script_program *program; /* NULL: messages say why */
	uint32_t n_files;
	int result;
};

static inline void make_file(struct made *m, const char *name, const char *text, bool is_library)
{
	static const struct script_parse_options options;
	int64_t source = script_sources_add(&m->sources, name, text, strlen(text));

	if (source < 0)
		return;
	m->sources.at[source].is_library = is_library;
	m->result = script_parse(&m->files[m->n_files], &m->sources, (uint32_t)source, &options,
				 NULL, &m->messages);
	if (!m->result)
		m->n_files++;
}

/* make_script - parse and check @text; m->library and m->options are the caller's. */
static inline void make_script(struct made *m, const char *text)
{
	m->sources.arena = &m->arena;
	m->messages.sources = &m->sources;
	m->world = (struct script_world){ &fake_ops, &m->arena };
	make_file(m, "test.stp", text, false);
	if (!m->result && m->library)
		make_file(m, "library.stp", m->library, true);
	if (!m->result)
		m->result = script_check(&m->program, m->files, m->n_files, &m->sources, &m->world,
					 &m->options, &m->messages);
}

static inline void unmake_script(struct made *m)
{
	text_fini(&m->messages.text);
	script_arena_fini(&m->arena);
	*m = (struct made){ 0 };
}

#endif
