/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/points.h - points, values and fetches, as the programs that serve them need
 * them.
 *
 *	world.c trace.c calls.c user.c function.c perf.c	which points there are
 *	values.c user_values.c path.c pretty.c fields.c		the values there
 *
 * A *fetch* is one number, text or block of bytes that a BPF program takes at the probe.  A value is
 * one fetch, or a text made of several in this process.
 */
#ifndef SCRIPT_KERNEL_POINTS_POINTS_H
#define SCRIPT_KERNEL_POINTS_POINTS_H

#include "bpf/types.h"
#include "script/kernel/points/world.h"

/* ---------------------------------------------------------------- fetches */

enum fetch_base {
	FETCH_ARGUMENT, /* 64 bits number `at` of the context: an argument of a tracepoint */
	FETCH_REGISTER, /* byte `at` of the context, a struct pt_regs */
	FETCH_RECORD,	/* byte `at` of the context, the record of a classic tracepoint */
	FETCH_TASK,	/* the running task's structure */
	FETCH_NUMBER,	/* `number` */
	FETCH_PID_TGID, /* the result of bpf_get_current_pid_tgid() */
	FETCH_UID_GID,
	FETCH_CGROUP,
	FETCH_CPU,
	FETCH_RESULT, /* of a function of the kernel that has `at` arguments; `number`: the byte of the
		       * context, if that is a struct pt_regs */
	FETCH_COOKIE, /* given when the program was attached: the probed address */
};
enum fetch_what {
	FETCH_VALUE,	/* the number itself */
	FETCH_LOAD,	/* the number of `bytes` at `offset` from it */
	FETCH_BYTES,	/* `size` bytes there */
	FETCH_TEXT,	/* the text there, at most `size` bytes with its NUL */
	FETCH_COMM,	/* the running thread's name: no base */
	FETCH_DATA_LOC, /* FETCH_RECORD: the text that the word `at` locates in the record */
	FETCH_STACK,	/* return addresses, at most FETCH_STACK_MAX: no base */
};
enum {
	FETCH_HOPS_MAX = 12,
	FETCH_TEXT_MAX = 512,
	FETCH_STACK_MAX = 127,
	FETCHES_MAX = 48, /* of one section: each has a bit for its fault */
	COMM_BYTES = 16,
};

struct kernel_fetch { /* zeroed where it is not used: compared by its bytes */
	int64_t number;
	int32_t at, offset;
	int32_t hops[FETCH_HOPS_MAX]; /* each: the pointer at this offset is followed */
	uint16_t size;
	uint8_t base, what;
	uint8_t bytes, is_signed; /* of the number */
	uint8_t bit, bits;	  /* of a bit-field in it; bits 0: none */
	uint8_t n_hops;
	uint8_t user_from;  /* memory is the program's from this hop on; n_hops: only the last */
	uint8_t is_trusted; /* the kernel knows the type of the base: its members can be loaded */
	uint8_t may_fault;
};
enum { FETCH_NEVER_USER = 255 };

static inline bool fetch_is_text(const struct kernel_fetch *f)
{
	return f->what >= FETCH_BYTES;
}
/* Whether its length is known only when it is taken. */
static inline bool fetch_is_long(const struct kernel_fetch *f)
{
	return f->what == FETCH_TEXT || f->what == FETCH_DATA_LOC || f->what == FETCH_STACK;
}
/* Its cells in a record; of a long one that with its length. */
static inline uint32_t fetch_cells(const struct kernel_fetch *f)
{
	return f->what == FETCH_COMM	? COMM_BYTES / 8
	       : f->what == FETCH_BYTES ? (f->size + 7u) / 8
					: 1;
}

/* ---------------------------------------------------------------- points and values */

enum kernel_kind {
	KIND_TRACE,    /* a tracepoint, by its BTF arguments or by the record of its format */
	KIND_CALL,     /* a system call: `number`, -1: any */
	KIND_PERF,     /* a sample of a perf event: a clock, a software event, a watched address */
	KIND_USER,     /* an instruction of a program or library */
	KIND_FUNCTION, /* a function of the kernel */
};

struct kernel_point {
	const struct script_kernel *owner; /* how a point of this world is known */
	uint8_t kind;
	bool is_return;
	bool is_target;		    /* only in the process of -c or -x, if there is one */
	bool is_leader_only;	    /* process.end: not for its other threads */
	const char *system, *name;  /* system: NULL if not given */
	int number;		    /* KIND_CALL */
	uint32_t btf_id, prototype; /* KIND_TRACE, KIND_FUNCTION; 0: not known */
	const char *pattern;	    /* KIND_FUNCTION: of many functions; NULL: this one is named */
	const char *const *arguments; /* names; KIND_CALL */
	uint32_t n_arguments;
	struct kernel_fetch
		*places; /* KIND_USER: of the arguments, and of the result behind them */
	bool has_places;
	/* KIND_PERF */
	uint32_t perf_type, breakpoint;
	uint64_t config, period, address, length;
	bool is_frequency;
	/* KIND_USER */
	const char *path;
	uint64_t offset, semaphore;
	pid_t pid;	     /* only this process; 0: any.  KIND_TRACE of process.*: likewise */
	const char *program; /* KIND_TRACE of process("x").*: only of this program */
};

struct kernel_piece { /* of a text that is composed in this process */
	const char *before;
	uint32_t fetch;
	enum { PIECE_DECIMAL, PIECE_HEX, PIECE_TEXT, PIECE_NOTHING } how;
};

enum kernel_form {
	FORM_NUMBER,	/* one fetch */
	FORM_TEXT,	/* one fetch of a text */
	FORM_QUOTED,	/* the same, in quotes */
	FORM_CONSTANT,	/* `constant` */
	FORM_PIECES,	/* n_pieces */
	FORM_ARGUMENTS, /* argstr of a call: its number, six arguments, texts */
	FORM_RESULT,	/* retstr of a call: the result */
	FORM_CALL_NAME, /* the name of the call with the number fetched */
};

struct kernel_value {
	uint8_t form;
	bool has_rescue;    /* the last two fetches are the address and the process: a text that was
			     * not in memory is read again when the record is */
	bool shows_address; /* instead of a text that cannot be read */
	const char *name;   /* of a plain argument of a tracepoint: its format may have it too */
	uint32_t n_fetches, n_pieces;
	struct kernel_fetch *fetches;
	struct kernel_piece *pieces;
	const struct script_string *constant;
};

struct script_kernel {
	struct script_world world;
	struct script_kernel_options options;
	struct script_arena *arena;
	struct btf_types types;
	bool has_types, types_failed;
	struct diag types_reason;
	int tracefs; /* -1: not open yet; -2: cannot be opened */
	struct diag tracefs_reason;
	struct symbols *symbols; /* of programs; NULL: none asked yet */
};

/* world.c */
int kernel_types(struct script_kernel *k, struct diag *d);   /* 0 if there is BTF */
int kernel_tracefs(struct script_kernel *k, struct diag *d); /* a descriptor or -errno */
const struct script_string *kernel_constant(struct script_kernel *k, const char *text);
char *kernel_textf(struct script_kernel *k, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The only process in which it is to hit; 0: any.  Known when the source starts. */
static inline pid_t kernel_point_pid(const struct script_kernel *k, const struct kernel_point *p)
{
	return p->is_target ? k->options.target : p->pid;
}
static inline const struct kernel_point *kernel_point_of(const struct script_world_point *p)
{
	return p->data;
}

/* A family of points.  points: as in world.h; -ENOTSUP without text: it is another family.
 * value: of EXPR_CONTEXT and EXPR_VARIABLE; -ENOENT without text: not known to the family. */
int kernel_trace_points(struct script_kernel *k, const struct script_point *p,
			struct script_found *f, struct diag *d);
int kernel_trace_value(struct script_kernel *k, const struct kernel_point *p,
		       const struct script_expr *e, struct script_world_value *v, struct diag *d);
void kernel_trace_names(struct script_kernel *k, const struct kernel_point *p,
			void (*visit)(void *context, const char *name), void *context);
/* The same value from the record of the format: -ENOENT if that does not have it. */
int kernel_trace_recorded(struct script_kernel *k, const struct kernel_point *p, const char *name,
			  struct script_world_value *v);
void kernel_trace_arguments(struct script_kernel *k, const struct kernel_point *p,
			    void (*visit)(void *context, const char *name), void *context);
int kernel_call_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d);
int kernel_call_value(struct script_kernel *k, const struct kernel_point *p,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d);
void kernel_call_names(struct script_kernel *k, const struct kernel_point *p,
		       void (*visit)(void *context, const char *name), void *context);
struct kernel_fetch kernel_call_number(void); /* of the call, at its entry and exit */
int kernel_perf_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d);
int kernel_user_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d);
int kernel_user_value(struct script_kernel *k, const struct kernel_point *p,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d);
void kernel_user_names(struct script_kernel *k, const struct kernel_point *p,
		       void (*visit)(void *context, const char *name), void *context);
int kernel_function_points(struct script_kernel *k, const struct script_point *p,
			   struct script_found *f, struct diag *d);
int kernel_function_value(struct script_kernel *k, const struct kernel_point *p,
			  const struct script_expr *e, struct script_world_value *v,
			  struct diag *d);
/* The result of a function, as 8 bytes. */
struct kernel_fetch kernel_function_result(const struct script_kernel *k,
					   const struct kernel_point *p);
void kernel_function_names(struct script_kernel *k, const struct kernel_point *p,
			   void (*visit)(void *context, const char *name), void *context);

/* Adds a point to those found; @text: as pp() shows it. */
void kernel_found(struct script_found *f, const struct kernel_point *point, const char *text,
		  const char *name, bool is_user);

/* values.c: finished values, in the arena. */
const char *kernel_shown(struct script_kernel *k, const struct script_expr *e); /* as written */
int kernel_give_fetch(struct script_kernel *k, const struct kernel_fetch *f,
		      struct script_world_value *v, struct diag *d);
int kernel_give_form(struct script_kernel *k, enum kernel_form form,
		     const struct kernel_fetch *fetches, uint32_t n, struct script_world_value *v,
		     struct diag *d);
/* A text of the program's memory, by the point that @p is. */
int kernel_give_user_text(struct script_kernel *k, const struct kernel_point *p,
			  const struct kernel_fetch *fetches, uint32_t n, enum kernel_form form,
			  struct script_world_value *v, struct diag *d);
int kernel_give_constant(struct script_kernel *k, const char *text, struct script_world_value *v,
			 struct diag *d);
int kernel_value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d);
void kernel_each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context);

/* path.c */
/* kernel_path_value - @f, which fetches a value of BTF type @type, is taken along @e's path; *@v is
 * the value there.  0; or -ENOENT, -EINVAL with the reason in @d. */
int kernel_path_value(struct script_kernel *k, struct kernel_fetch *f, uint32_t type,
		      const struct script_expr *e, struct script_world_value *v, struct diag *d);
/* kernel_follow_text - @f is taken along a path given as "real_parent->tgid". */
int kernel_follow_text(struct script_kernel *k, struct kernel_fetch *f, uint32_t type,
		       const char *path, struct diag *d);
/* pretty.c */
/* Whether @e ends with $ or $$. */
static inline bool script_is_pretty(const struct script_expr *e)
{
	return e->n_path && (e->path[e->n_path - 1].kind == PATH_PRETTY ||
			     e->path[e->n_path - 1].kind == PATH_PRETTY_DEEP);
}
/* kernel_pretty - the value of @type that @f fetches as text; of a structure, to which @f leads, its
 * members, and with @is_deep those of structures in it. */
int kernel_pretty(struct script_kernel *k, const struct kernel_fetch *f, uint32_t type,
		  bool is_deep, struct script_world_value *v, struct diag *d);
/* fields.c: the path from BTF arguments that gives a field of a format, or NULL. */
const char *kernel_field_path(const char *event, const char *field);

#endif
