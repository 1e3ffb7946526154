/* SPDX-License-Identifier: MIT */
/*
 * script/replay/values.c - the meaning of $x, conveniences and site functions at a point.
 *
 * Only the type is found here; the place of a value in the bytes of an event is found when its class
 * is bound (fill.c), because traces of one recording may differ.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/replay/internal.h"

struct lookup {
	struct replay *r;
	const struct replay_point *p;
	struct script_world_value *v;
	struct diag *d;
};

static int give(struct lookup *l, struct replay_value value, const char *shown)
{
	struct script_arena *a = l->r->world.arena;
	struct replay_value *kept = script_allocate(a, sizeof *kept);

	if (!kept)
		return diag_fail(l->d, -ENOMEM, "no memory for values");
	*kept = value;
	*l->v = (struct script_world_value){
		.type = value.type,
		.may_fault = value.kind == VALUE_FIELD || value.kind == VALUE_LABEL,
		.data = kept,
		.text = replay_format(a, "%s:%s", shown,
				      value.type == SCRIPT_LONG ? "long" : "string"),
	};
	return l->v->text ? 0 : diag_fail(l->d, -ENOMEM, "no memory for values");
}

/* ---------------------------------------------------------------- fields */

/* The path as the recording has it: "a.b[3]".  -EINVAL: an index that is no constant. */
static int path_of(const struct script_expr *e, bool is_arrow, struct text *t, bool *is_pretty)
{
	text_addf(t, "%s", e->text);
	for (uint32_t i = 0; i < e->n_path; i++) {
		const struct script_path *p = &e->path[i];

		if (p->kind == PATH_MEMBER)
			text_addf(t, "%s%s", is_arrow ? "->" : ".", p->name);
		else if (p->kind != PATH_INDEX)
			*is_pretty = true;
		else if (p->index->kind == EXPR_NUMBER)
			text_addf(t, "[%lld]", (long long)p->index->number);
		else
			return -EINVAL;
	}
	return t->failed ? -ENOMEM : 0;
}

bool replay_field(const struct replay_event *e, const char *path, struct match_field *f,
		  enum filter_error *why)
{
	bool is_context = !strncmp(path, "ctx.", 4);
	const char *name = is_context ? path + 4 : path;

	*why = e && e->class ? match_field_find(f, e->class, e->context, is_context, name,
						strlen(name))
			     : FILTER_NO_FIELD;
	return *why == FILTER_FINE || *why == FILTER_IS_MANY;
}

/* Field number @n, from 1, of the payload; NULL: it has fewer. */
static const char *numbered_field(const struct replay_event *e, long n)
{
	const struct ctf_type *t = e && e->class ? e->class->fields : NULL;

	for (uint32_t i = 0; t && i < t->n_members; i++) {
		const char *name = t->members[i].name;

		if (!strncmp(name, "__", 2)) /* the length of a sequence */
			continue;
		if (!strcmp(name, "_ip") && e->kind != REPLAY_OTHER)
			continue;
		if (!--n)
			return *name == '_' ? name + 1 : name;
	}
	return NULL;
}

/* The recorded field that $@path means; NULL: none. */
static const char *recorded(struct lookup *l, const char *path, struct match_field *f,
			    enum filter_error *why)
{
	const struct replay_event *e = l->p->known;
	const char *name;

	/* The kernel's names first: its child_pid is our child_tid, not our child_pid. */
	if (e && e->is_kernel) {
		name = replay_kernel_field(e->name, path);
		if (replay_field(e, name, f, why))
			return name;
	}
	if (replay_field(e, path, f, why))
		return path;
	if (!e)
		return NULL;
	if (!strncmp(path, "arg", 3) && path[3] >= '1' && path[3] <= '9') {
		name = numbered_field(e, strtol(path + 3, NULL, 10));
		if (name && replay_field(e, name, f, why))
			return name;
	}
	return NULL;
}

static int no_field(struct lookup *l, const char *path)
{
	const struct ctf_type *t =
		l->p->known && l->p->known->class ? l->p->known->class->fields : NULL;
	struct script_nearest n = { .wanted = path, .wanted_size = strlen(path) };
	struct text all = { 0 };
	char text[160];

	for (uint32_t i = 0; t && i < t->n_members; i++) {
		const char *name = t->members[i].name;

		if (!strncmp(name, "__", 2))
			continue;
		name += *name == '_';
		script_nearest_try(&n, name);
		if (all.size < 300)
			text_addf(&all, "%s$%s", all.size ? ", " : "", name);
	}
	diag_fail(l->d, -ENOENT, "the event has no $%s%s%s%s", path, script_nearest_text(&n, text),
		  all.size ? "\n  it has " : "", all.size ? all.bytes : "");
	text_fini(&all);
	return -ENOENT;
}

static enum script_type type_of(const struct match_field *f)
{
	/* The running kernel gives the words of such a number. */
	bool is_word = f->type && f->type->kind == CTF_ENUM && f->type->is_known;

	return f->filter_type == FILTER_STRING || is_word ? SCRIPT_STRING : SCRIPT_LONG;
}

/* $@path of an event that was not recorded yet.  Which arguments of system calls are recorded as
 * texts is known by their names. */
static int unseen_field(struct lookup *l, const char *path, const char *shown)
{
	static const char *const texts[] = { "filename", "pathname", "oldname", "newname",
					     "path",	 "name",     "old",	"new_root",
					     "dev_name", "dir_name", "type" };
	struct replay_value value = { VALUE_FIELD, .type = SCRIPT_LONG };

	value.path = script_copy(l->r->world.arena, path, strlen(path));
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if ((l->p->at == AT_ENTRY || l->p->at == AT_EXIT) && !strcmp(path, texts[i]))
			value.type = SCRIPT_STRING;
	return value.path ? give(l, value, shown)
			  : diag_fail(l->d, -ENOMEM, "no memory for values");
}

/* The entry of the call that a point is the exit of, if it was recorded. */
static const struct replay_event *entry_event(const struct lookup *l)
{
	const struct replay_event *e = l->r->events;

	if (l->p->at != AT_EXIT || !l->p->event)
		return NULL;
	while (e && (e->kind != REPLAY_ENTRY || strcmp(e->subject, l->p->event) != 0))
		e = e->next;
	return e;
}

/* Argument @path of a call at its exit.  -ENOENT without a text: there is none. */
static int entry_value(struct lookup *l, const char *path, bool is_pretty, const char *shown)
{
	struct replay_value value = { is_pretty ? VALUE_LABEL : VALUE_FIELD, .of_entry = true };
	const struct replay_event *e = entry_event(l);
	enum filter_error why;
	struct match_field f;

	if (!e || !replay_field(e, path, &f, &why) || why == FILTER_IS_MANY)
		return -ENOENT;
	value.path = script_copy(l->r->world.arena, path, strlen(path));
	value.type = is_pretty ? SCRIPT_STRING : type_of(&f);
	return value.path ? give(l, value, shown)
			  : diag_fail(l->d, -ENOMEM, "no memory for values");
}

/* The value of field @path; @arrow: the same as written, for members of kernel structures. */
static int field_value(struct lookup *l, const char *path, const char *arrow, bool is_pretty,
		       const char *shown)
{
	struct replay_value value = { is_pretty ? VALUE_LABEL : VALUE_FIELD };
	struct script_arena *a = l->r->world.arena;
	enum filter_error why;
	struct match_field f;
	const char *name = recorded(l, path, &f, &why);

	if (!name && l->p->known) {
		name = replay_member_field(l->p->known->name, arrow, &value.index);
		if (name && !replay_field(l->p->known, name, &f, &why))
			name = NULL;
	}
	if (!name) {
		int err = entry_value(l, path, is_pretty, shown);

		if (err != -ENOENT)
			return err;
	}
	if (!name && !l->p->known &&
	    (l->p->at == AT_ENTRY || l->p->at == AT_EXIT || l->r->o.follows))
		return unseen_field(l, path, shown);
	if (!name)
		return no_field(l, path);
	if (why == FILTER_IS_MANY && !is_pretty)
		return diag_fail(l->d, -ENOENT,
				 "$%s is an array or structure\n"
				 "  $%s[0] is an element, $%s.x a member, $%s$ all of it as text",
				 path, path, path, path);
	value.path = script_copy(a, name, strlen(name));
	value.type = is_pretty ? SCRIPT_STRING : type_of(&f);
	if (!value.path)
		return diag_fail(l->d, -ENOMEM, "no memory for values");
	return give(l, value, shown);
}

/* ---------------------------------------------------------------- results */

/* The field of a return event that has the result. */
static const char *result_field(const struct replay_event *e)
{
	static const char *const names[] = { "ret", "retval", "result", "return" };
	const struct ctf_type *t = e && e->class ? e->class->fields : NULL;
	const char *only = NULL;
	enum filter_error why;
	struct match_field f;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (replay_field(e, names[i], &f, &why))
			return names[i];
	for (uint32_t i = 0; t && i < t->n_members; i++) {
		const char *name = t->members[i].name + (*t->members[i].name == '_');

		if (!strcmp(name, "func") || !strcmp(name, "ret_ip") || *name == '_')
			continue;
		if (only)
			return NULL;
		only = name;
	}
	return only;
}

static int result_value(struct lookup *l, const char *shown)
{
	const char *field = result_field(l->p->known);
	enum filter_error why;
	struct match_field f;
	bool is_return =
		l->p->at == AT_EXIT || l->p->at == AT_RETURNED || l->p->at == AT_USER_RETURNED;

	if (!is_return)
		return diag_fail(l->d, -ENOENT, "%s is only at a return", shown);
	if (l->p->at == AT_EXIT)
		field = "ret";
	if (!field && l->p->known)
		return diag_fail(l->d, -ENOENT,
				 "the recorded return has no result\n"
				 "  duet record -u 'FILE:FUNCTION%%return ret=retval' records it");
	return give(
		l,
		(struct replay_value){ VALUE_FIELD, .path = field,
				       .type = field && replay_field(l->p->known, field, &f, &why)
						       ? type_of(&f)
						       : SCRIPT_LONG },
		shown);
}

/* ---------------------------------------------------------------- names */

static bool is_call_point(const struct replay_point *p)
{
	return p->at == AT_ENTRY || p->at == AT_EXIT;
}

static const struct {
	const char *name;
	enum replay_value_kind kind;
	enum script_type type;
} of_calls[] = {
	{ "name", VALUE_CALL, SCRIPT_STRING },
	{ "argstr", VALUE_ARGSTR, SCRIPT_STRING },
	{ "syscall_nr", VALUE_CALL_NUMBER, SCRIPT_LONG },
	{ "retstr", VALUE_RETSTR, SCRIPT_STRING },
};

/* A name without $.  -ENOENT without a text: it is none. */
static int convenience(struct lookup *l, const char *name)
{
	const struct replay_event *e = l->p->known;
	enum filter_error why;
	struct match_field f;

	for (size_t i = 0; is_call_point(l->p) && i < sizeof of_calls / sizeof *of_calls; i++)
		if (!strcmp(name, of_calls[i].name) &&
		    (of_calls[i].kind != VALUE_RETSTR || l->p->at == AT_EXIT))
			return give(
				l,
				(struct replay_value){ of_calls[i].kind, .type = of_calls[i].type },
				name);
	if (l->p->at == AT_EXIT && !strcmp(name, "retval"))
		return result_value(l, name);
	if (l->p->at == AT_ENTRY && e && replay_field(e, name, &f, &why) && why == FILTER_FINE)
		return field_value(l, name, name, false, name);
	if (!is_call_point(l->p) && e && !e->is_kernel && replay_field(e, name, &f, &why) &&
	    why == FILTER_FINE)
		return field_value(l, name, name, false, name);
	if ((l->p->at == AT_SAMPLE || e) && !strcmp(name, "name") && !is_call_point(l->p))
		return give(l, (struct replay_value){ VALUE_NAME, .type = SCRIPT_STRING }, name);
	return -ENOENT;
}

static int context_value(struct lookup *l, const struct script_expr *e)
{
	struct text path = { 0 }, arrow = { 0 };
	bool is_pretty = false;
	int err;

	if (*e->text == '$') {
		if (!strcmp(e->text, "$vars") || !strcmp(e->text, "$parms") ||
		    !strcmp(e->text, "$locals"))
			return give(l, (struct replay_value){ VALUE_ALL, .type = SCRIPT_STRING },
				    e->text);
		if (!strcmp(e->text, "$name"))
			return give(l, (struct replay_value){ VALUE_NAME, .type = SCRIPT_STRING },
				    e->text);
		return diag_fail(l->d, -ENOENT, "recordings have no $%s", e->text);
	}
	if (e->is_address)
		return diag_fail(l->d, -ENOENT, "a recording has no address of $%s", e->text);
	if (!strcmp(e->text, "return") && !e->n_path)
		return result_value(l, "$return");
	err = path_of(e, false, &path, &is_pretty);
	if (!err)
		err = path_of(e, true, &arrow, &is_pretty);
	if (err == -EINVAL) {
		diag_fail(l->d, -ENOENT, "an index of $%s must be a number", e->text);
		err = -ENOENT;
	}
	if (!err) {
		const char *shown = replay_format(l->r->world.arena, "$%s%s", arrow.bytes,
						  is_pretty ? "$" : "");

		err = shown ? field_value(l, path.bytes, arrow.bytes, is_pretty, shown) : -ENOMEM;
	}
	text_fini(&path);
	text_fini(&arrow);
	return err;
}

/* ---------------------------------------------------------------- functions */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* kernel_string($x), user_string_n($x, 10): $x must have been recorded as a text. */
static int text_value(struct lookup *l, const struct script_expr *e)
{
	struct replay_value *value;
	int err;

	if (!e->n_kids || (e->kids[0]->kind != EXPR_CONTEXT && e->kids[0]->kind != EXPR_VARIABLE))
		return diag_fail(l->d, -ENOENT, "%s() of a recording needs a $field", e->text);
	err = e->kids[0]->kind == EXPR_CONTEXT ? context_value(l, e->kids[0])
					       : convenience(l, e->kids[0]->text);
	if (err)
		return err;
	value = l->v->data;
	if (!l->p->known)
		value->type = l->v->type = SCRIPT_STRING;
	if (l->v->type != SCRIPT_STRING)
		return diag_fail(l->d, -ENOENT,
				 "the recording has the address in %s, not the text there",
				 l->v->text);
	value->is_quoted = strstr(e->text, "_quoted") != NULL;
	if (strstr(e->text, "_n") && e->n_kids > 1 && e->kids[1]->kind == EXPR_NUMBER)
		value->limit = e->kids[1]->number;
	return 0;
}

static const struct {
	const char *function, *member;
	bool is_process;
} of_tasks[] = {
	{ "task_tid", "pid", false },	    { "task_pid", "pid", true },
	{ "task_execname", "comm", false }, { "task_prio", "prio", false },
	{ "task_state", "__state", false },
};

/* task_tid($next): as $next->pid. */
static int task_value(struct lookup *l, const struct script_expr *e)
{
	for (size_t i = 0; i < sizeof of_tasks / sizeof *of_tasks; i++) {
		char arrow[128];
		int err;

		if (strcmp(e->text, of_tasks[i].function) != 0 || e->n_kids != 1 ||
		    e->kids[0]->kind != EXPR_CONTEXT || e->kids[0]->n_path)
			continue;
		snprintf(arrow, sizeof arrow, "%s->%s", e->kids[0]->text, of_tasks[i].member);
		err = field_value(l, arrow, arrow, false, e->text);
		if (!err && of_tasks[i].is_process)
			((struct replay_value *)l->v->data)->kind = VALUE_PROCESS;
		return err;
	}
	return diag_fail(l->d, -ENOENT, "a recording has no %s() of this", e->text);
}

static int function_value(struct lookup *l, const struct script_expr *e)
{
	static const char *const arguments[] = { "int_arg", "uint_arg", "long_arg", "ulong_arg",
						 "pointer_arg" };

	if (!strcmp(e->text, "returnval"))
		return result_value(l, "returnval()");
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
		const char *field;

		if (strcmp(e->text, arguments[i]) != 0)
			continue;
		if (e->n_kids != 1 || e->kids[0]->kind != EXPR_NUMBER)
			return diag_fail(l->d, -ENOENT, "%s() of a recording needs a number",
					 e->text);
		field = numbered_field(l->p->known, (long)e->kids[0]->number);
		if (!field)
			return diag_fail(l->d, -ENOENT, "the event has no argument %lld",
					 (long long)e->kids[0]->number);
		return field_value(l, field, field, false, e->text);
	}
	if (begins(e->text, "task_"))
		return task_value(l, e);
	if (strstr(e->text, "_string") || strstr(e->text, "_buffer"))
		return text_value(l, e);
	return diag_fail(l->d, -ENOENT, "%s() reads memory, which a recording does not have",
			 e->text);
}

int replay_value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct lookup l = { (struct replay *)w, p->data, v, d };

	if (p->family != FAMILY_WORLD)
		return e->kind == EXPR_VARIABLE
			       ? -ENOENT
			       : diag_fail(d, -ENOENT, "%s is no event: it has no values", p->text);
	switch (e->kind) {
	case EXPR_VARIABLE:
		return convenience(&l, e->text);
	case EXPR_CONTEXT:
		return context_value(&l, e);
	case EXPR_CALL:
		return function_value(&l, e);
	case EXPR_CAST:
		return diag_fail(d, -ENOENT, "@cast reads memory, which a recording does not have");
	default:
		return diag_fail(d, -ENOENT, "@var reads memory, which a recording does not have");
	}
}

/* ---------------------------------------------------------------- listing */

void replay_each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context)
{
	const struct replay_point *at = p->data;
	const struct ctf_type *t =
		at && at->known && at->known->class ? at->known->class->fields : NULL;
	struct script_world_value v;
	struct lookup l = { (struct replay *)w, at, &v, NULL };

	if (p->family != FAMILY_WORLD)
		return;
	for (uint32_t i = 0; t && i < t->n_members; i++) {
		const char *name = t->members[i].name;
		const char *shown;

		if (!strncmp(name, "__", 2))
			continue;
		name += *name == '_';
		shown = replay_format(w->arena, "$%s", name);
		if (shown && (!field_value(&l, name, name, false, shown) ||
			      !field_value(&l, name, name, true, shown)))
			report(context, &v, shown);
	}
	for (size_t i = 0; is_call_point(at) && i < sizeof of_calls / sizeof *of_calls; i++)
		if (!convenience(&l, of_calls[i].name))
			report(context, &v, of_calls[i].name);
}
