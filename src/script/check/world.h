/* SPDX-License-Identifier: MIT */
/*
 * script/check/world.h - probe points and their values, which the surroundings offer to a script.
 *
 * Two worlds exist: the running system (script/live) and recordings (script/replay).  The checker
 * asks the world which points a pattern means and which value an expression has there; it knows no
 * family of probes itself but begin, end, error, never, oneshot and timer, which world_common has.
 *
 * A value that is computed where the event happens is a slot: $variables with their paths, @cast
 * and @var on them, functions marked is_site (kernel_string($x)), and convenience variables of a
 * point (`name`, `argstr`, the fields of an application's event without $).  The world gets the
 * whole expression.
 */
#ifndef SCRIPT_CHECK_WORLD_H
#define SCRIPT_CHECK_WORLD_H

#include "script/unit/unit.h"

enum script_family {
	/* of the engine: */
	FAMILY_BEGIN, /* number: order */
	FAMILY_END,
	FAMILY_ERROR,
	FAMILY_NEVER,
	FAMILY_ONESHOT,
	FAMILY_TIMER,  /* number: nanoseconds; random_ns */
	FAMILY_INPUT,  /* text: "char" or "line", which is also its value */
	FAMILY_PROCFS, /* text: path; is_return: read, else write.  The reader gets the $value that
			  the handler of a read assigns. */
	/* of the worlds: */
	FAMILY_WORLD, /* `data` is the world's */
};

struct script_world_point {
	enum script_family family;
	const char *text; /* pp(): the point in full */
	const char *name; /* `name`, ppfunc(): the call, event or function */
	int64_t number;	  /* see the family */
	int64_t random_ns;
	bool is_return;
	bool is_user;	    /* happens in a program */
	const char *module; /* probemod(); NULL: "" */
	void *data;	    /* the world's own, in the arena */
};

struct script_world_value {
	enum script_type type; /* LONG or STRING */
	bool may_fault;
	uint32_t number;  /* the world's own */
	void *data;	  /* the world's own, in the arena */
	const char *text; /* how -L and -v show it: "$next_pid:long" */
};

struct script_world {
	const struct script_world_ops *ops;
	struct script_arena *arena;
};

struct script_found { /* receives the points of a pattern */
	void (*add)(struct script_found *f, const struct script_world_point *p);
};

struct script_world_ops {
	const char *name; /* "this system", "the recording" */
	/*
	 * points - report each concrete point that @p (with wildcards, without aliases) means.
	 *
	 * Returns 0; -ENOENT: none, with the reason, the nearest name and the remedy in @d;
	 * -ENOTSUP: there is no such family in this world, reason in @d.
	 */
	int (*points)(struct script_world *w, const struct script_point *p, struct script_found *f,
		      struct diag *d);
	/*
	 * value - find the value of @e at @p.
	 *
	 * @e: EXPR_CONTEXT, EXPR_CAST, EXPR_STATIC, an EXPR_CALL of a site function; or
	 * EXPR_VARIABLE for a convenience variable (then -ENOENT without text means there is none).
	 * Returns 0; -ENOENT with the reason and the nearest name in @d.
	 */
	int (*value)(struct script_world *w, const struct script_world_point *p,
		     const struct script_expr *e, struct script_world_value *v, struct diag *d);
	/* each_value - the values of @p by name, for -L and $$vars. */
	void (*each_value)(struct script_world *w, const struct script_world_point *p,
			   void (*report)(void *context, const struct script_world_value *v,
					  const char *name),
			   void *context);
	/* entry - the point of the entry that belongs to return point @p, for @entry(). */
	int (*entry)(struct script_world *w, const struct script_world_point *p,
		     struct script_world_point *entry, struct diag *d);
};

/* world_engine_point - report @p if it is of the engine's own families (begin, timer.s(1), ...).
 * Returns 1: it was; 0: it is none; -EINVAL with the reason in @d. */
int world_engine_point(struct script_arena *a, const struct script_point *p, struct script_found *f,
		       struct diag *d);
/* world_engine_value - the only value of such a point, slot 0: `char` and `line` of input, $value of
 * procfs().write; all are strings.  As script_world_ops.value. */
int world_engine_value(const struct script_world_point *p, const struct script_expr *e,
		       struct script_world_value *v, struct diag *d);

#endif
