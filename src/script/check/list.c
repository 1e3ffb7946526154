/* SPDX-License-Identifier: MIT */
/*
 * check/list.c - the points that a pattern means, for -l and -L.
 *
 * A point of an alias is listed by the alias's name, with the names that its prologue assigns.
 */
#include "script/check/internal.h"

struct listed {
	const char *name;
	struct listed *next; /* of this hash */
	struct script_world_point point;
	struct check_scope *scope; /* of the alias's prologues, or NULL */
};

struct listing {		/* a sink */
	struct check_sink sink; /* first */
	struct check *c;
	struct text *text;
	bool with_values;
	struct listed **listed;
	uint32_t n_listed;
	struct listed *by_hash[4096]; /* so that no name is listed twice */
};

static void add_value(void *context, const struct script_world_value *v, const char *name)
{
	struct text *t = context;

	text_addf(t, " %s", v->text ? v->text : name);
}

/* The names that the prologues of @chain assign, checked as a probe with an empty body. */
static struct check_scope *prologue(struct check *c, const struct check_chain *chain,
				    const struct script_world_point *p)
{
	static const struct script_probe_decl nothing;
	struct check_survey s = { .c = c,
				  .point = p,
				  .template = check_template(c, &nothing, chain, false) };

	check_survey(&s);
	return check_instance(&s);
}

static void add_names(struct text *t, const struct check_scope *s)
{
	static const char *const types[] = {
		[SCRIPT_LONG] = ":long", [SCRIPT_STRING] = ":string", [SCRIPT_STATS] = ""
	};

	for (uint32_t i = 0; i < s->n_locals; i++) {
		const struct script_variable *v = s->locals[i];

		if (v->is_written && strncmp(v->name, "__", 2) && v->name[0] != '@')
			text_addf(t, " %s%s", v->name, types[v->type] ? types[v->type] : "");
	}
}

static struct listed **bucket(struct listing *l, const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *at = name; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619u;
	return &l->by_hash[hash % (sizeof l->by_hash / sizeof *l->by_hash)];
}

static bool is_seen(struct listing *l, const char *name)
{
	for (const struct listed *p = *bucket(l, name); p; p = p->next)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

static const char *alias_name(struct check *c, const struct check_chain *chain)
{
	struct text t = { 0 };
	const struct check_alias *outermost = NULL;
	const char *copy;

	for (; chain; chain = chain->up)
		if (chain->alias)
			outermost = chain->alias;
	if (!outermost)
		return NULL;
	script_print_point(&t, outermost->name);
	copy = script_copy(c->arena, t.bytes ? t.bytes : "", t.size);
	text_fini(&t);
	if (!copy)
		longjmp(c->full, 1);
	return copy;
}

static void list_point(struct check_sink *s, const struct check_chain *chain,
		       const struct script_world_point *p, const struct script_point *of)
{
	struct listing *l = (struct listing *)s;
	struct check *c = l->c;
	const char *alias = alias_name(c, chain);
	struct listed *made, **first;
	const char *name = alias ? alias : check_point_name(p);

	(void)of;
	if (is_seen(l, name))
		return;
	made = check_allocate(c, sizeof *made);
	made->name = name;
	made->point = *p;
	first = bucket(l, name);
	made->next = *first;
	*first = made;
	if (alias && l->with_values)
		made->scope = prologue(c, chain, &made->point);
	check_push(c, &l->listed, &l->n_listed, made);
}

static void print_listed(const struct listing *l, const struct listed *p)
{
	const struct script_world *w = l->c->world;

	text_addf(l->text, "%s", p->name);
	if (p->scope)
		add_names(l->text, p->scope);
	if (l->with_values && p->point.family == FAMILY_WORLD && w->ops->each_value)
		w->ops->each_value((struct script_world *)w, &p->point, add_value, l->text);
	text_addf(l->text, "\n");
}

int script_check_list(struct text *t, const struct script_point *p, bool with_values,
		      struct script_file *const *files, uint32_t n_files,
		      struct script_sources *sources, struct script_world *world,
		      const struct script_check_options *o, struct script_messages *m)
{
	struct script_check_options options = o ? *o : (struct script_check_options){ 0 };
	struct script_program program = { .arena = sources->arena };
	struct check c = { .arena = sources->arena,
			   .sources = sources,
			   .world = world,
			   .options = &options,
			   .m = m,
			   .program = &program };
	struct listing l = {
		.sink.add = list_point, .c = &c, .text = t, .with_values = with_values
	};
	uint32_t errors = m->n_errors;

	options.skips_bad_values = true;
	if (setjmp(c.full))
		return -EINVAL;
	check_declare(&c, files, n_files);
	check_expand(&c, p, NULL, &l.sink);
	if (m->n_errors != errors)
		return -EINVAL;
	for (uint32_t i = 0; i < c.n_scopes; i++)
		if (c.scopes[i]->function)
			check_resolve(&c, c.scopes[i]);
	check_types(&c);
	for (uint32_t i = 0; i < l.n_listed; i++)
		print_listed(&l, l.listed[i]);
	return m->n_errors == errors ? (int)l.n_listed : -EINVAL;
}
