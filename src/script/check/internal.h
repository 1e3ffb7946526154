/* SPDX-License-Identifier: MIT */
/*
 * script/check/internal.h - data and functions that the files of the checker share.
 *
 * A script is checked in this order:
 *
 *	symbols.c	declarations of all files as tables
 *	points.c	each probe point expanded: aliases, patterns of the world
 *	template.c	prologues, body and epilogues of one probe as one tree, whose sites - expressions
 *			that the probe point evaluates - have numbers
 *	inline.c	functions that read of the event become expressions of the probe
 *	entry.c		@entry: values stored at the entry and taken at the return
 *	survey.c	the value of each site at one point; points that agree share a handler
 *	instance.c	the tree of a handler: @defined folded, sites typed
 *	resolve.c	names become variables and functions
 *	use.c		reads are counted; expressions without effect or use are left out
 *	types.c		types of everything, to a fixpoint
 *	enum.c		names of enumerations
 *	fold.c		constants computed
 *	prune.c		such expressions leave the trees, and locals that only they had
 *	finish.c	slots, needs, tables of the program
 *
 * Trees of the parser are never changed: a template is a copy, and so is a function's body.
 */
#ifndef SCRIPT_CHECK_INTERNAL_H
#define SCRIPT_CHECK_INTERNAL_H

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include "script/check/program.h"

struct check_name { /* a global or function as declared */
	const char *name;
	uint32_t source;
	bool is_library, is_private;
	const struct script_global_decl *global;
	const struct script_function_decl *decl;
	struct script_variable *variable;
	struct check_scope *scope; /* of the function; NULL: not used yet */
	enum { SITES_UNKNOWN, SITES_NONE, SITES_SOME } sites; /* in its result */
	struct script_expr *reduced; /* its body as one expression; NULL: it is none */
};

struct check_alias {
	const struct script_probe_decl *decl;
	const struct script_point *name;
	bool is_library,
		is_open; /* is_open: being expanded, so that no alias expands into itself */
};

/* Sites: expressions that a probe point evaluates. */
struct check_site {
	const struct script_expr *expr; /* of the template */
	const char *text;
	bool is_variable; /* a name that may be a convenience variable */
};

enum check_state {
	FACT_UNASKED, /* not reached at this point */
	FACT_VALUE,
	FACT_MISSING,  /* `text` has the reason */
	FACT_EXPANDED, /* $$vars: `text` has the format, `names` the values */
};

struct check_fact {
	enum check_state state;
	struct script_world_value value;
	const char *text;
	struct script_expr **names;
	uint32_t n_names;
};

struct check_entry { /* @entry(expr): a hidden array that the entry stores into */
	struct script_expr *expr;
	struct script_variable *global;
	const char *local;
};

/* How a point was reached: aliases from the outermost, and conditions. */
struct check_chain {
	struct check_alias *alias; /* NULL: only a condition */
	struct script_expr *condition;
	const struct check_chain *up;
};

struct check_assigned { /* a name that the body assigns */
	const char *name;
	struct script_expr *value; /* if it is assigned once, by `=` */
	bool is_substituted;	   /* a site reads through it */
};

struct check_template {
	const struct script_probe_decl *decl;
	const struct check_chain *chain;
	bool is_entry; /* made for @entry */
	bool is_user;  /* of functions of programs, which may call themselves */
	bool is_library;
	struct script_stmt **body;
	uint32_t n_body, own; /* body[own] is the probe's, without its aliases' */
	struct script_expr *condition;
	struct check_site **sites;
	uint32_t n_sites;
	struct check_entry **entries;
	uint32_t n_entries;
	struct script_variable *depth; /* is_user: calls of this probe that a thread is in */
	struct check_template *entry;  /* stores the values that @entry takes */
	struct check_assigned **assigned;
	uint32_t n_assigned;
	struct check_shape **shapes;
	uint32_t n_shapes;
};

struct check_shape { /* points of one template whose facts agree */
	struct check_template *template;
	struct check_fact *facts;
	uint32_t n_facts;
	struct check_scope *scope;
};

struct check_probe { /* a probe before its slots have numbers */
	struct script_probe *probe;
	struct check_shape *shape;
	struct check_fact *facts;
	uint32_t n_facts;
};

/* A variable, with facts that only the checker needs. */
struct check_variable {
	struct script_variable v; /* first */
	bool in_body;		  /* first seen in the user's own text */
	bool is_warned, is_parameter, is_hidden, is_library, is_left;
	bool is_scalar;				 /* used without keys, first at .. */
	struct script_place scalar_at, shape_at; /* shape_at: where its histogram is asked for */
};

/* A handler or a function while it is checked. */
struct check_scope {
	struct script_function own;	  /* first: a function's scope is found by it */
	struct script_handler *handler;	  /* or .. */
	struct script_function *function; /* .. &own */
	const struct check_template *template;
	const struct script_world_point *point; /* the first one of a handler */
	struct script_stmt **body;
	uint32_t n_body;
	struct script_expr *condition;
	struct script_variable **locals;
	uint32_t n_locals;
	bool is_library;
	bool has_effects; /* writes globals, prints, or calls a function that is not pure */
	bool returns_value;
	int32_t *site_slots;		      /* of a handler: the slot of each site, or -1 */
	uint32_t n_loops;		      /* around the statement at hand */
	struct script_variable *iterated[16]; /* arrays of the foreach around it */
	uint32_t n_iterated;
};

struct check {
	struct script_arena *arena;
	struct script_sources *sources;
	struct script_world *world;
	const struct script_check_options *options;
	struct script_messages *m;
	struct script_program *program;
	struct check_name **globals, **functions;
	uint32_t n_globals, n_functions;
	struct check_alias **aliases;
	uint32_t n_aliases;
	struct check_template **templates;
	uint32_t n_templates;
	struct check_probe **probes;
	uint32_t n_probes;
	struct check_scope **scopes; /* handlers and used functions */
	uint32_t n_scopes;
	uint32_t n_entries;		/* hidden globals so far */
	struct script_variable *answer; /* $value of procfs reads, or NULL */
	uint32_t depth;			/* of aliases */
	uint32_t patterns;		/* around the point at hand: missing points are left out */
	bool changed, is_last;		/* types: something became known; report unknown ones */
	const char *why; /* types: who wants a type of the next expression; or NULL */
	struct script_place why_at;
	struct btf_types *types; /* of the kernel, for @enum */
	enum { TYPES_CLOSED, TYPES_OPEN, TYPES_MISSING } types_are;
	jmp_buf full; /* the arena has no memory: nothing of the checker is outside it */
};

/* check_allocate - zeroed, from the script's arena, never NULL: without memory the checker ends. */
void *check_allocate(struct check *c, size_t size);
const char *check_copy_text(struct check *c, const char *bytes, size_t size);
const char *check_text(struct check *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* check_push - append @item to a list of pointers that grows by doubling. */
void check_push_(struct check *c, void ***list, uint32_t *n, void *item);
#define check_push(c, list, n, item) check_push_(c, (void ***)(void *)(list), n, item)

#define semantic(c, place, ...) script_error((c)->m, place, "semantic error", __VA_ARGS__)
const char *check_type_name(enum script_type t);

/* walk.c */
struct check_walk {
	bool (*enter)(struct check_walk *w, struct script_expr **e); /* false: not into it */
	bool (*statement)(struct check_walk *w, struct script_stmt *s);
	void *context;
};
void check_walk_expr(struct check_walk *w, struct script_expr **e);
void check_walk_stmt(struct check_walk *w, struct script_stmt *s);
struct check_copier {
	struct check *c;
	/* A node to put in place of @e, or NULL: copy it. */
	struct script_expr *(*replace)(struct check_copier *k, const struct script_expr *e);
	struct script_stmt *(*replace_stmt)(struct check_copier *k, const struct script_stmt *s);
	void *context;
};
struct script_expr *check_copy_expr(struct check_copier *k, const struct script_expr *e);
struct script_stmt *check_copy_stmt(struct check_copier *k, const struct script_stmt *s);
struct script_expr *check_expr(struct check *c, enum script_expr_kind kind,
			       struct script_place place, const char *text, uint32_t n_kids);
struct script_expr *check_number(struct check *c, struct script_place place, int64_t number);
struct script_stmt *check_stmt(struct check *c, enum script_stmt_kind kind,
			       struct script_place place, struct script_expr *e);

/* symbols.c */
void check_declare(struct check *c, struct script_file *const *files, uint32_t n_files);
struct check_name *check_find_global(struct check *c, const char *name, struct script_place from);
/* The overload with @n arguments that is tried first, or NULL. */
struct check_name *check_find_function(struct check *c, const char *name, uint32_t n,
				       struct script_place from);
/* Any function of that name; for messages. */
struct check_name *check_any_function(struct check *c, const char *name, struct script_place from);
const struct script_builtin *check_find_builtin(const char *name, uint32_t n);
bool check_is_library(const struct check *c, struct script_place place);
struct script_variable *check_global(struct check *c, struct check_name *name);
void check_unknown_function(struct check *c, const struct script_expr *e);
void check_try_others(const struct check *c, struct script_nearest *near);

/* points.c */
struct check_sink { /* receives concrete points */
	void (*add)(struct check_sink *s, const struct check_chain *chain,
		    const struct script_world_point *p, const struct script_point *of);
};
/* check_expand - each concrete point of @p; returns their number, or -EINVAL after a message. */
int check_expand(struct check *c, const struct script_point *p, const struct check_chain *chain,
		 struct check_sink *s);
bool check_glob(const char *pattern, const char *name);

/* template.c */
struct check_template *check_template(struct check *c, const struct script_probe_decl *decl,
				      const struct check_chain *chain, bool is_user);
uint32_t check_site(struct check *c, struct check_template *t, const struct script_expr *e,
		    bool is_variable);
const char *check_expr_text(struct check *c, const struct script_expr *e);

/* inline.c: */
/* The expression that stands for a call of a function with sites; NULL: it stays a call.  @outer copies
 * arguments. */
struct script_expr *check_inline(struct check *c, const struct script_expr *e,
				 struct check_copier *outer, unsigned depth);
bool check_is_site_call(struct check *c, const struct script_expr *e);
/* v->member: the path of @e goes on behind that of @value.  NULL: @value has no members. */
struct script_expr *check_go_on(struct check *c, struct script_expr *value,
				const struct script_expr *e);

/* enum.c: */
/* @enum() as a number, @enumname() as tests of the value for each name. */
struct script_expr *check_enum(struct check *c, const struct script_expr *e);
bool check_has_enum(struct check *c, const struct script_expr *e);

/* entry.c: */
/* The local that stands for @entry expression @e. */
struct script_expr *check_entry(struct check *c, struct check_template *t,
				const struct script_expr *e);
/* Statements that take the stored values, before the body of @t. */
void check_entry_loads(struct check *c, struct check_template *t);
/* Statements of @t, at the entry, that store the values that @of takes. */
void check_entry_stores(struct check_copier *k, struct check_template *t,
			struct check_template *of);

/* survey.c */
struct check_survey {
	struct check *c;
	struct check_template *template;
	const struct script_world_point *point;
	struct check_fact *facts;
	uint32_t n_facts;
	const struct check_site *missing; /* the first one that the body needs */
	const char *reason;
};
/* check_survey - the facts of @template at @point. */
void check_survey(struct check_survey *s);
/* check_known - 1 or 0 if the values of the point decide @e, else -1. */
int check_known(struct check_survey *s, const struct script_expr *e);
struct check_fact *check_ask(struct check_survey *s, const struct script_expr *e);
/* check_is_answer - whether @e is $value of a procfs read, which the handler assigns. */
bool check_is_answer(const struct script_world_point *p, const struct script_expr *e);

/* instance.c */
struct check_scope *check_instance(struct check_survey *s);
void check_probes(struct check *c, struct script_file *const *files, uint32_t n_files);

/* resolve.c */
void check_resolve(struct check *c, struct check_scope *s);
struct script_function *check_function(struct check *c, struct check_name *name);

/* use.c */
void check_use(struct check *c);

/* types.c, type_calls.c, type_stmt.c */
void check_types(struct check *c);
/* check_infer - find the type of @e, and of variables in it.  @wanted: UNKNOWN: any;
 * NOTHING: the value is not used. */
enum script_type check_infer(struct check *c, struct script_expr *e, enum script_type wanted);
enum script_type check_infer_call(struct check *c, struct script_expr *e, enum script_type wanted);
void check_infer_print(struct check *c, struct script_expr *e);
void check_infer_statistic(struct check *c, struct script_expr *e);
void check_infer_stmt(struct check *c, struct check_scope *s, struct script_stmt *stmt);
/* check_type_variable - @v is @type, as seen at @place. */
void check_type_variable(struct check *c, struct script_variable *v, enum script_type type,
			 struct script_place place);
bool check_is_array(struct check *c, struct script_variable *v, uint32_t n_keys,
		    struct script_place place);
void check_keys(struct check *c, struct script_variable *v, struct script_expr **keys, uint32_t n,
		struct script_place place, bool wild);
/* check_because - name the reason for a type that check_infer() wants next. */
void check_because(struct check *c, struct script_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* print.c: the point in full, as messages and lists show it. */
const char *check_point_name(const struct script_world_point *p);

/* fold.c, prune.c, finish.c */
void check_fold(struct check *c);
void check_prune(struct check *c);
void check_finish(struct check *c);

#endif
