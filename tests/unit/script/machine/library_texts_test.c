/* SPDX-License-Identifier: MIT */
/*
 * script/library_texts_test.c - the script library: it resolves in a world that has every point and
 * value, and a script gets those of its texts that it names.
 */
#include "script/check/program.h"
#include "script/library/library.h"
#include "test.h"

/* ---- a world that has everything ---- */

static int any_point(struct script_world *w, const struct script_point *p, struct script_found *f,
		     struct diag *d)
{
	struct script_world_point found = { .family = FAMILY_WORLD, .text = "any", .name = "any" };

	(void)w, (void)d;
	found.is_return = !strcmp(p->at[p->n - 1].name, "return");
	f->add(f, &found);
	return 0;
}

static bool is_a_text(const char *name)
{
	return strstr(name, "comm") || strstr(name, "name") || !strcmp(name, "rwbs");
}

static int any_value(struct script_world *w, const struct script_world_point *p,
		     const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	(void)w, (void)p, (void)d;
	*v = (struct script_world_value){ .type = e->kind == EXPR_CONTEXT && !e->n_path &&
								  is_a_text(e->text)
							  ? SCRIPT_STRING
							  : SCRIPT_LONG };
	return 0;
}

static const struct script_world_ops ops = { "everything", any_point, any_value, NULL, NULL };

struct checked {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_file *files[32];
	uint32_t n_files;
	struct script_program *program;
};

static void check(struct checked *c, const char *text)
{
	static const struct script_parse_options options;
	struct script_world world = { &ops, &c->arena };
	struct script_macros *macros;
	int64_t source;

	c->sources.arena = &c->arena;
	c->messages.sources = &c->sources;
	macros = script_macros_new(&c->arena);
	source = script_sources_add(&c->sources, "test.stp", text, strlen(text));
	is(script_parse(&c->files[0], &c->sources, (uint32_t)source, &options, macros,
			&c->messages),
	   0);
	c->n_files = 1;
	is(script_library_parse(c->files, &c->n_files, 32, &c->sources, &options, macros,
				&c->messages),
	   0);
	script_check(&c->program, c->files, c->n_files, &c->sources, &world, NULL, &c->messages);
	if (!ok(!c->messages.n_errors))
		printf("# %s\n%s", text, c->messages.text.bytes);
}

static void finish(struct checked *c)
{
	text_fini(&c->messages.text);
	script_arena_fini(&c->arena);
}

/* ---- tests ---- */

/* Calls @visit with each NAME of "probe NAME =" or "function NAME(" and what is behind it. */
static unsigned each(const char *text, const char *begin,
		     void (*visit)(const char *name, const char *behind))
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, begin)); n++) {
		char name[128];
		size_t size;

		at += strlen(begin);
		size = strcspn(at, " (");
		snprintf(name, sizeof name, "%.*s", (int)size, at);
		visit(name, at + size);
	}
	return n;
}

static void check_alias(const char *name, const char *behind)
{
	struct checked c = { 0 };
	char script[512], *end = NULL, *body;
	struct text t = { 0 };

	/* All that its prologue assigns is printed: so it has types, and one of its own. */
	text_addf(&t, "probe %s { println(1", name);
	body = strndup(behind, strcspn(behind, "}"));
	for (char *line = strtok_r(strchr(body, '{') + 1, "\n;", &end); line;
	     line = strtok_r(NULL, "\n;", &end)) {
		char variable[64];

		if (sscanf(line, " %63[a-z_] =", variable) == 1)
			text_addf(&t, ", %s", variable);
	}
	snprintf(script, sizeof script, "%s) }", t.bytes);
	check(&c, script);
	is(c.messages.n_warnings, 0);
	ok(c.program && c.program->n_probes >= 1);
	free(body);
	text_fini(&t);
	finish(&c);
}

static void every_alias_has_points_and_its_values_have_types(void)
{
	const char *name, *text;
	unsigned n = 0;

	for (uint32_t i = 0; (text = script_library_text(i, &name)); i++)
		n += each(text, "\nprobe ", check_alias);
	ok(n > 80);
}

static void check_function(const char *name, const char *behind)
{
	struct checked c = { 0 };
	char script[256];

	snprintf(script, sizeof script, "probe begin { println(%s(1)) }", name);
	ok(strchr(behind, ',') > strchr(behind, ')') || !strchr(behind, ','));
	check(&c, script);
	finish(&c);
}

static void every_function_has_a_type(void)
{
	const char *name, *text;
	unsigned n = 0;

	for (uint32_t i = 0; (text = script_library_text(i, &name)); i++)
		n += each(text, "\nfunction ", check_function);
	ok(n > 8);
}

static uint32_t n_texts_of(const char *script)
{
	struct checked c = { 0 };
	uint32_t n;

	check(&c, script);
	n = c.n_files - 1;
	finish(&c);
	return n;
}

static void a_script_gets_only_the_texts_that_it_names(void)
{
	is(n_texts_of("probe begin { exit() }"), 0);
	is(n_texts_of("global vm, signal probe begin { vm = 1; signal[vm] = 2 }"), 0);
	is(n_texts_of("probe scheduler.wakeup { exit() }"), 1);
	is(n_texts_of("probe sched*.wakeup { exit() }"), 1);
	is(n_texts_of("probe begin { println(sock_fam_num2str (2)) }"), 1);
	is(n_texts_of("probe tcp.state { println(new_state_str) }"), 2);
	is(n_texts_of("probe kernel.trace(\"x\") { println($vm) }"), 0);
}

static void a_name_of_the_user_hides_that_of_the_library(void)
{
	is(n_texts_of(
		   "function devname(d) { return d + 1 } probe begin { println(1 + devname(1)) }"),
	   1);
	is(n_texts_of("global name probe scheduler.wakeup { name[\"x\"]++ }"), 1);
}

static void tid_at_cpu_on_is_the_thread_that_begins(void)
{
	struct checked c = { 0 };
	struct text t = { 0 };

	check(&c, "probe scheduler.cpu_on { println(tid()) }");
	script_program_print(&t, c.program);
	ok(strstr(t.bytes, "__tid = $next_pid") && strstr(t.bytes, "println(__tid)"));
	text_fini(&t);
	finish(&c);
}

int main(void)
{
	run(every_alias_has_points_and_its_values_have_types);
	run(every_function_has_a_type);
	run(a_script_gets_only_the_texts_that_it_names);
	run(a_name_of_the_user_hides_that_of_the_library);
	run(tid_at_cpu_on_is_the_thread_that_begins);
	return test_status();
}
