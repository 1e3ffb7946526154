/* SPDX-License-Identifier: MIT */
/*
 * bpf/types.h - the kernel's types by number: members, pointers, prototypes.
 *
 * An index of all types is made once, in half a millisecond.  Names are looked up by a scan of it.
 * Modifiers (const, volatile, typedef, tags) are skipped by btf_plain().  The bytes are not
 * trusted: numbers and depths are bounded, and an unknown type is the number 0, `void`.
 */
#ifndef BPF_TYPES_H
#define BPF_TYPES_H

#include <linux/btf.h>
#include <stdbool.h>

#include "bpf/btf.h"

struct btf_types {
	struct btf btf;
	uint32_t *at; /* offset of each in btf.types */
	uint32_t n;   /* type numbers are below; 0 is void */
};

int btf_types_open(struct btf_types *t, struct diag *d); /* of the running kernel; 0 or -errno */
/* btf_types_take - the same for @bytes from malloc, which are owned then. */
int btf_types_take(struct btf_types *t, uint8_t *bytes, size_t size, struct diag *d);
void btf_types_close(struct btf_types *t);

/* btf_type - type @id; its tail follows.  NULL for 0 and unknown numbers. */
const struct btf_type *btf_type(const struct btf_types *t, uint32_t id);
const char *btf_name(const struct btf_types *t, uint32_t offset); /* "" if it has none */
/* btf_find - the number of the type of @kind called @name, or 0. */
uint32_t btf_find(const struct btf_types *t, uint32_t kind, const char *name);
/* btf_find_type - a type as C names it: "task_struct", "struct task_struct", "enum x"; or 0. */
uint32_t btf_find_type(const struct btf_types *t, const char *name);
/* btf_plain - the type behind modifiers and typedefs. */
uint32_t btf_plain(const struct btf_types *t, uint32_t id);
uint32_t btf_kind(const struct btf_types *t, uint32_t id); /* of btf_plain(); 0: void or unknown */
uint64_t btf_size(const struct btf_types *t, uint32_t id); /* bytes; 0: unknown */
uint32_t btf_pointed(const struct btf_types *t,
		     uint32_t id); /* of a pointer or array: the target */

struct btf_place {	   /* where a member is */
	uint32_t type;	   /* as declared */
	uint32_t bit;	   /* from the beginning of the structure */
	uint32_t bit_size; /* of a bit-field; 0: none */
};
/* btf_place_of - @member of structure or union @id, also one inside unnamed members. */
bool btf_place_of(const struct btf_types *t, uint32_t id, const char *member, struct btf_place *p);
/* btf_each_member - calls @visit for each named member, also of unnamed ones, until it returns
 * other than 0, which is returned. */
int btf_each_member(const struct btf_types *t, uint32_t id,
		    int (*visit)(void *context, const char *name, const struct btf_place *p),
		    void *context);
/* btf_parameter - parameter @i of a prototype, from 0; false: it has none.  @name may be NULL. */
bool btf_parameter(const struct btf_types *t, uint32_t prototype, uint32_t i, uint32_t *type,
		   const char **name);
/* btf_number - whether @id is a number (also an enum, a bool or a char), with its bytes. */
bool btf_number(const struct btf_types *t, uint32_t id, uint8_t *bytes, bool *is_signed);
/* btf_is_char - whether it is a char, so that arrays of it and pointers to it are texts. */
bool btf_is_char(const struct btf_types *t, uint32_t id);

/* btf_each_enumerator - the names and values of enumeration @id, until @visit returns other than 0,
 * which is returned. */
int btf_each_enumerator(const struct btf_types *t, uint32_t id,
			int (*visit)(void *context, const char *name, int64_t value),
			void *context);

/* btf_tracepoint_prototype - the prototype of tracepoint @name, or 0; its first parameter is not an
 * argument.  @id: the type number for loading; may be NULL. */
uint32_t btf_tracepoint_prototype(const struct btf_types *t, const char *name, uint32_t *id);
/* btf_each_tracepoint - the names of all. */
void btf_each_tracepoint(const struct btf_types *t, void (*visit)(void *context, const char *name),
			 void *context);

#endif
