/* SPDX-License-Identifier: MIT */
/*
 * script/syntax/ast.h - the tree of a script.
 *
 * The parser makes it; the checker (script/check) fills in the members under "checked".  Everything
 * lies in the arena of the script.  Lists are arrays with a count.
 */
#ifndef SCRIPT_SYNTAX_AST_H
#define SCRIPT_SYNTAX_AST_H

#include "script/syntax/source.h"

enum script_type {
	SCRIPT_UNKNOWN,
	SCRIPT_LONG,	/* 64 bits, signed */
	SCRIPT_STRING,	/* bytes, at most MAXSTRINGLEN */
	SCRIPT_STATS,	/* count, sum, least, greatest, squares, and perhaps a histogram */
	SCRIPT_NOTHING, /* a function without result */
};

enum script_op {
	SCRIPT_NO_OP,
	/* binary, also in assignments */
	SCRIPT_ADD,
	SCRIPT_SUB,
	SCRIPT_MUL,
	SCRIPT_DIV,
	SCRIPT_MOD,
	SCRIPT_SHL,
	SCRIPT_SHR /* arithmetic */,
	SCRIPT_SHR_LOGICAL,
	SCRIPT_AND,
	SCRIPT_XOR,
	SCRIPT_OR,
	SCRIPT_CONCAT,	/* . */
	SCRIPT_COLLECT, /* <<<, only in assignments */
	/* comparisons: of numbers or of strings */
	SCRIPT_EQ,
	SCRIPT_NE,
	SCRIPT_LT,
	SCRIPT_LE,
	SCRIPT_GT,
	SCRIPT_GE,
	/* with short circuit */
	SCRIPT_AND_THEN,
	SCRIPT_OR_ELSE,
	/* unary */
	SCRIPT_PLUS,
	SCRIPT_MINUS,
	SCRIPT_NOT,
	SCRIPT_INVERT,
	/* glob patterns: filters only (~ !~ with a string) */
	SCRIPT_LIKE,
	SCRIPT_UNLIKE,
};

enum script_expr_kind {
	EXPR_NUMBER,	/* number */
	EXPR_REAL,	/* real: filters only */
	EXPR_TEXT,	/* text, size */
	EXPR_VARIABLE,	/* text: a local, global or convenience variable; filters: a field */
	EXPR_ELEMENT,	/* text[kids]; a NULL kid is `*` (slices: delete, in, foreach) */
	EXPR_UNARY,	/* op kids[0] */
	EXPR_BINARY,	/* kids[0] op kids[1], also comparisons, && and || */
	EXPR_CONDITION, /* kids[0] ? kids[1] : kids[2] */
	EXPR_ASSIGN,	/* kids[0] = kids[1], or with op */
	EXPR_STEP,	/* ++ or --: op is SCRIPT_ADD or SCRIPT_SUB; is_prefix */
	EXPR_CALL,	/* text(kids) */
	EXPR_IN,	/* kids[0 .. n-1] in text; NULL kids are `*` */
	EXPR_MATCH,	/* kids[0] =~ kids[1], which is an EXPR_TEXT; is_negated: !~ */
	EXPR_CONTEXT, /* $text and path; is_address: & before it.  $$vars etc.: text begins with '$' */
	EXPR_CAST,    /* @cast(kids[0], "type", "module") path; @kernel/@task forms likewise */
	EXPR_STATIC,	/* @var("text", "module") path */
	EXPR_DEFINED,	/* @defined(kids[0]) */
	EXPR_CHOOSE,	/* @choose_defined(kids[0], kids[1]) */
	EXPR_ENTRY,	/* @entry(kids[0]) */
	EXPR_STATISTIC, /* @text(kids[0], parameters ...): count sum min max avg variance quantile
			   hist_log hist_linear; [index] of a histogram is EXPR_BUCKET */
	EXPR_BUCKET,	/* kids[0], an EXPR_STATISTIC, at [kids[1]] */
	EXPR_ENUM,	/* @enum("text"), @enumname(kids[0], "text") : kids */
	EXPR_PRINT,	/* print, println, printd, printdln, printf and s...: text, kids */
};

struct script_path { /* what follows $x or @cast(): ->member  .member  [i]  $  $$ */
	enum { PATH_MEMBER, PATH_INDEX, PATH_PRETTY, PATH_PRETTY_DEEP } kind;
	const char *name;	   /* PATH_MEMBER */
	struct script_expr *index; /* PATH_INDEX */
	struct script_place place;
};

struct script_variable;
struct script_function;

/* Expressions are no higher than this, and statements no deeper nested; in filters parentheses,
 * - and ! are nested less. */
enum { SCRIPT_HEIGHT_MAX = 250, SCRIPT_FILTER_DEPTH_MAX = 64 };

struct script_expr {
	uint8_t kind; /* enum script_expr_kind */
	uint8_t op;   /* enum script_op */
	bool is_prefix, is_negated, is_address;
	uint16_t height; /* of the tree, at most SCRIPT_HEIGHT_MAX: recursion may follow it */
	struct script_place place; /* of an operator: the operator's */
	const char *text;	   /* with a NUL behind it */
	uint32_t size;
	uint32_t n_kids, n_path;
	struct script_expr **kids;
	struct script_path *path;
	const char *module, *type_name; /* EXPR_CAST, EXPR_STATIC; else NULL */
	union {
		int64_t number;
		double real;
	};
	/* checked: */
	enum script_type type;		      /* of its value */
	struct script_variable *variable;     /* EXPR_VARIABLE, EXPR_ELEMENT, EXPR_IN */
	struct script_function *function;     /* EXPR_CALL of a function of the script */
	const struct script_builtin *builtin; /* EXPR_CALL of another one */
	int32_t slot;	/* EXPR_CONTEXT, and others that a probe provides; -1: none */
	bool is_elided; /* no effect and no use: no code is made for it */
};

enum script_stmt_kind {
	STMT_BLOCK,   /* body */
	STMT_EXPR,    /* expr */
	STMT_IF,      /* expr, body[0], body[1] may be NULL */
	STMT_WHILE,   /* expr, body[0] */
	STMT_FOR,     /* init, expr, step: any may be NULL; body[0] */
	STMT_FOREACH, /* see struct script_foreach; body[0] */
	STMT_BREAK,
	STMT_CONTINUE,
	STMT_NEXT,
	STMT_RETURN, /* expr may be NULL */
	STMT_DELETE, /* expr: EXPR_VARIABLE or EXPR_ELEMENT */
	STMT_TRY,    /* body[0], catch (variable or NULL) body[1] */
	STMT_EMPTY,
};

/* foreach (value = [keys] in array[slice] sort limit expr) */
struct script_foreach {
	struct script_expr **keys; /* EXPR_VARIABLE each */
	uint32_t n_keys;
	struct script_expr *value; /* EXPR_VARIABLE or NULL */
	struct script_expr
		*array; /* EXPR_VARIABLE, EXPR_ELEMENT (slice) or EXPR_STATISTIC (buckets) */
	int sort;	/* -1 descending, 1 ascending, 0 none */
	int sort_key;	/* -1: by value; else key number, from 0 */
	const char *sort_statistic; /* "count", "sum", "min", "max", "avg"; NULL: the default */
	struct script_expr *limit;  /* or NULL */
};

struct script_stmt {
	uint8_t kind; /* enum script_stmt_kind */
	struct script_place place;
	struct script_expr *expr, *init, *step;
	struct script_stmt **body;
	uint32_t n_body;
	struct script_foreach *foreach;
	struct script_expr *variable; /* STMT_TRY */
};

/* One component of a probe point: name, name(5), name("x"). */
struct script_component {
	const char *name;
	enum { COMPONENT_PLAIN, COMPONENT_NUMBER, COMPONENT_TEXT } kind;
	int64_t number;
	const char *text;
	struct script_place place;
};

struct script_point { /* a.b("c").d ? */
	struct script_component *at;
	uint32_t n;
	bool is_optional, is_sufficient; /* ? ! */
	struct script_expr *condition;	 /* if (...), or NULL */
	struct script_place place;
};

struct script_probe_decl {
	struct script_point *points;
	uint32_t n_points;
	struct script_stmt *body;
	struct script_place place;
	/* Of an alias: its names.  `=`: its body comes first; `+=`: last; both may be there. */
	struct script_point *names;
	uint32_t n_names;
	struct script_stmt *epilogue;
	bool is_private;
};

struct script_global_decl {
	const char *name;
	bool wraps, is_private;
	struct script_expr *capacity; /* [n], or NULL */
	struct script_expr *value;    /* a constant, or NULL */
	struct script_place place;
};

struct script_parameter {
	const char *name;
	enum script_type type; /* as declared */
	struct script_place place;
};

struct script_function_decl {
	const char *name;
	struct script_parameter *parameters;
	uint32_t n_parameters;
	enum script_type type; /* as declared */
	bool is_private;
	int64_t priority; /* 1: the default */
	struct script_stmt *body;
	struct script_place place;
};

/* All declarations of one source, in order. */
struct script_file {
	struct script_probe_decl **probes, **aliases;
	uint32_t n_probes, n_aliases;
	struct script_global_decl **globals;
	uint32_t n_globals;
	struct script_function_decl **functions;
	uint32_t n_functions;
	uint32_t source;
};

#endif
