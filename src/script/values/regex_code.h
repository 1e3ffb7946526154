/* SPDX-License-Identifier: MIT */
/* values/regex_code.h - a compiled regular expression, for regex.c and regex_match.c alone. */
#ifndef SCRIPT_VALUES_REGEX_CODE_H
#define SCRIPT_VALUES_REGEX_CODE_H

#include "script/values/regex.h"

enum regex_op {
	REGEX_BYTE, /* byte */
	REGEX_ANY,
	REGEX_SET,   /* set */
	REGEX_BEGIN, /* of the text */
	REGEX_END,
	REGEX_SPLIT, /* a, and with less priority b */
	REGEX_JUMP,  /* a */
	REGEX_SAVE,  /* the place becomes bound a */
	REGEX_MATCH,
};

struct regex_insn {
	uint8_t op, byte;
	uint32_t a, b;
	uint64_t *set; /* 256 bits */
};

struct regex_thread {
	uint32_t insn;
	int32_t bounds[2 * SCRIPT_REGEX_GROUPS];
};

struct regex_threads {
	struct regex_thread *at; /* by priority */
	uint32_t n;
	uint32_t *seen; /* by instruction: the step in which it was added */
};

struct script_regex {
	struct regex_insn *code;
	uint32_t n, n_groups, step;
	struct regex_threads threads[2];
	struct regex_visit { /* where to go on: an instruction, or a bound to put back */
		uint32_t insn;
		int32_t bound, value; /* bound -1: none */
	} * stack;
	struct regex_dfa *dfa;
	char *literal; /* NULL: not only bytes */
	uint32_t literal_size;
};

/* regex_dfa_new - the table of @r, whose code is complete.  NULL: no memory. */
struct regex_dfa *regex_dfa_new(struct script_arena *a, const struct script_regex *r);
/* regex_dfa_match - whether @r matches anywhere in @text. */
bool regex_dfa_match(const struct script_regex *r, const char *text, size_t size);

#endif
