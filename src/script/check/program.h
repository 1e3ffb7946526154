/* SPDX-License-Identifier: MIT */
/*
 * script/check/program.h - a script whose names and types are resolved.
 *
 * The checker expands aliases and patterns, infers types, and finds the values that each handler needs of
 * its event.  Probe points whose slots have the same types share one handler; a body is copied for
 * each different shape (types of slots, results of @defined).
 */
#ifndef SCRIPT_CHECK_PROGRAM_H
#define SCRIPT_CHECK_PROGRAM_H

#include "script/check/world.h"
#include "script/syntax/parse.h"

struct script_variable {
	const char *name;
	bool is_global, is_array, wraps;
	bool is_read, is_written;
	bool prints_at_end;    /* written and never read */
	enum script_type type; /* of the value: LONG, STRING, STATS */
	uint32_t n_keys;
	enum script_type keys[SCRIPT_KEYS_MAX];
	uint32_t capacity;	   /* 0: the default */
	struct script_expr *value; /* initial, or NULL */
	/* STATS: */
	uint8_t histogram; /* HIST_... */
	int64_t low, high, width;
	uint32_t variance_bits;
	bool has_variance, has_quantiles;
	struct script_place place, typed_at; /* declared; where its type was inferred */
	struct script_place keys_at[SCRIPT_KEYS_MAX];
	uint32_t
		index; /* global: number of its cell or array (code); local: number in its function */
};

struct script_function {
	const char *name;
	const struct script_function_decl *decl;
	struct script_variable **parameters; /* also the first of `locals` */
	uint32_t n_parameters;
	struct script_variable **locals;
	uint32_t n_locals;
	enum script_type type;
	struct script_place typed_at;
	struct script_stmt *body;
	struct script_function *next; /* the overload that `next` tries; NULL: none */
	uint64_t needs;		      /* bits of enum script_standard, with all it calls */
	bool is_used, writes_globals, prints;
	uint32_t index; /* for the code */
};

struct script_slot {
	enum script_type type;
	bool may_fault;
	const struct script_expr *expr; /* the first use of it */
	const char *text;		/* "$next->pid" */
};

struct script_handler {
	struct script_place place;
	struct script_stmt **body; /* prologues, body, epilogues */
	uint32_t n_body;
	struct script_expr *condition; /* or NULL: of the points */
	struct script_variable **locals;
	uint32_t n_locals;
	struct script_slot *slots;
	uint32_t n_slots; /* at most SCRIPT_SLOTS_MAX */
	uint64_t needs;	  /* bits of enum script_standard */
	bool writes_globals;
	uint32_t index; /* for the code */
};

struct script_probe {
	struct script_handler *handler;
	struct script_world_point point;
	struct script_world_value *slots; /* handler->n_slots: the value of each slot here */
	uint32_t number;		  /* order in the script */
};

struct script_program {
	struct script_arena *arena;
	struct script_sources *sources;
	struct script_world *world;
	struct script_variable **globals; /* used ones */
	uint32_t n_globals;
	struct script_function **functions; /* used ones */
	uint32_t n_functions;
	struct script_handler **handlers;
	uint32_t n_handlers;
	struct script_probe **probes; /* in the order of the script */
	uint32_t n_probes;
};

struct script_check_options {
	bool keeps_unused;     /* -u: no elision */
	bool skips_bad_values; /* --skip-badvars: a $variable that is not there is 0, with a warning */
	/* Names for "did you mean", from 0 until NULL: of texts that are not parsed.  May be NULL. */
	const char *(*other_names)(uint32_t i);
};

/*
 * script_check - resolve the files of a script, user's files first, then those of the library.
 *
 * @o: NULL: the defaults.
 * Returns 0, or -EINVAL with the messages in @m, or -ENOMEM.
 */
int script_check(struct script_program **program, struct script_file *const *files,
		 uint32_t n_files, struct script_sources *sources, struct script_world *world,
		 const struct script_check_options *o, struct script_messages *m);
/* script_check_list - the points that @p means, a line each; @with_values: and their values (-L).
 * Returns their number or -EINVAL. */
int script_check_list(struct text *t, const struct script_point *p, bool with_values,
		      struct script_file *const *files, uint32_t n_files,
		      struct script_sources *sources, struct script_world *world,
		      const struct script_check_options *o, struct script_messages *m);
/* script_program_print - the resolved script as text (-p2). */
void script_program_print(struct text *t, const struct script_program *p);

#endif
