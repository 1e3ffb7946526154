/* SPDX-License-Identifier: MIT */
/*
 * script/replay/bind.h - probes bound to event classes, and frames filled from events.
 *
 * bind_class() looks everything up once per class and probe, so that an event costs no comparison of
 * names.
 */
#ifndef SCRIPT_REPLAY_BIND_H
#define SCRIPT_REPLAY_BIND_H

#include "analysis/calls/calls.h"
#include "script/replay/internal.h"

/* A slot of a probe, in one class. */
struct bound_slot {
	const struct replay_value *value;
	enum script_type type; /* of the handler's slot */
	bool is_there;	       /* else every event faults */
	bool is_many;	       /* a structure or array, as text */
	struct match_field field;
};

enum bound_context { /* fields that fill standard cells */
		     BOUND_UID,
		     BOUND_EUID,
		     BOUND_GID,
		     BOUND_EGID,
		     BOUND_PPID,
		     BOUND_CGROUP,
		     BOUND_IP,
		     BOUND_FUNCTION, /* address of the traced function of the kernel */
		     BOUND_CHILD,    /* the thread that a fork made */
		     BOUND_CONTEXTS
};

struct bound { /* a probe at one class */
	const struct script_probe *probe;
	const struct replay_point *point;
	struct bound_slot *slots;
	uint32_t n_slots;
	uint32_t call; /* system calls: its number; UINT32_MAX: unknown */
};

struct bound_class {
	bool is_bound;
	struct bound_slot *kept; /* of an entry: what probes at the exit read */
	uint32_t n_kept;
	struct bound *at; /* in the order of the script */
	uint32_t n;
	const struct ctf_op *context[BOUND_CONTEXTS];
	bool has_stack;
	enum ctf_scope stack_scope;
	bool is_needed;		      /* its events have a probe, or say something about threads */
	bool is_dump;		      /* of processes */
	const struct ctf_op *dump[2]; /* tid, ppid */
};

/* bind_class - bind the probes of @program to class @c, which is event @e.  0 or -ENOMEM. */
int bind_class(struct bound_class *to, const struct replay *r, const struct script_program *program,
	       const struct replay_event *e, const struct ctf_event_class *c);
void bind_fini(struct bound_class *c);

/* Calls of functions of programs: functions.c.  Open only if a probe wants them. */
struct functions {
	struct fcalls *calls;
	struct fcalls_walk *walk; /* NULL: not open */
	struct bound *at;	  /* probes at functions: also those of `class` */
	uint32_t n;
	struct bound_class class; /* of all calls */
	struct fcalls_item item;
	struct trace_event last; /* stands for the event of a call: time and stream */
	uint8_t *is_like;	 /* by function and probe */
	uint32_t n_like;
};

/* functions_open - if @program has probes at functions, and the recording calls. */
int functions_open(struct functions *f, struct replay *r, const struct script_program *program,
		   struct diag *d);
void functions_close(struct functions *f);
/* The pass under the walk, with the threads. */
struct pass *functions_pass(struct functions *f);
/* functions_next - as pass_next(); @is_function: the event stands for f->item, a call. */
int functions_next(struct functions *f, struct trace_event *e, uint32_t *thread, bool *is_function,
		   struct diag *d);
/* functions_is_at - whether probe @i of f->at is at the present call.  functions_name - its
 * function. */
bool functions_is_at(struct functions *f, uint32_t i);
const char *functions_name(const struct functions *f);

struct entries; /* entries.c */
struct fill;
/* entries_open - number the values of @program that are of_entry.  0 or -ENOMEM. */
int entries_open(struct entries **e, const struct replay *r, const struct script_program *program);
void entries_close(struct entries *e); /* accepts NULL */
/* entries_keep - keep @slots of the present event, an entry.  0 or -ENOMEM. */
int entries_keep(struct entries *e, struct fill *f, const struct bound_slot *slots, uint32_t n);
/* entries_take - such a value at the exit; false: the entry was not seen. */
bool entries_take(const struct entries *e, struct fill *f, const struct bound_slot *s,
		  union script_cell *cell);

/* The event that a frame is filled from. */
struct fill {
	struct replay *r;
	struct threads *threads;
	const struct trace_event *e;
	uint32_t thread;
	const struct bound_class *class;
	struct fill_block *strings;  /* of the frame */
	size_t string_bytes;	     /* limit, with the NUL */
	const char *function;	     /* of a call of a program's function; else NULL */
	const char *argstr, *retstr; /* words of a system call; "" if they are not needed */
	const int32_t *parents; /* by thread: its parent as the state dump has it; 0: unknown */
	uint32_t n_parents;
	const struct entries *entries;
	struct text scratch;
};

/* fill_frame - the cells and slots that @b's handler reads.  Its strings are valid until the next
 * call: the machine's own would end with any handler that runs meanwhile. */
void fill_frame(struct fill *f, const struct bound *b, struct script_frame *frame);
/* fill_field - slot @s of the present event; false: it does not have it. */
bool fill_field(struct fill *f, const struct bound_slot *s, union script_cell *cell);
/* fill_is_of - whether the event's process and function are those of the point. */
bool fill_is_of(struct fill *f, const struct bound *b);

/* fill_string.c. fill_string - a string of the frame. */
const struct script_string *fill_string(struct fill *f, const char *bytes, size_t size);
void fill_forget_strings(struct fill *f);
void fill_strings_fini(struct fill *f);

/* fill_text.c: values as text. */
void fill_all(struct text *t, const struct ctf_event *e);
/* fill_field_text - the field @name of the payload, with all inside it. */
void fill_field_text(struct text *t, const struct ctf_event *e, const char *name);
void fill_label(struct text *t, const struct match_field *f, const struct filter_value *v);
void fill_quoted(struct text *t, const char *bytes, size_t size);

#endif
