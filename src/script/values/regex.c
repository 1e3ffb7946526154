/* SPDX-License-Identifier: MIT */
/*
 * values/regex.c - regular expressions compiled to instructions.  They run in regex_match.c.
 *
 * The compiler is a recursive descent over the pattern; a repetition copies the code of what it
 * repeats.  Code and nesting are bounded.
 */
#include "script/values/regex.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "script/values/regex_code.h"

enum { MOST_CODE = 4096, MOST_NESTING = 100, MOST_REPEATS = 255 };

struct compiler {
	struct script_arena *arena;
	const char *pattern;
	uint32_t at, size;
	struct regex_insn *code;
	uint32_t n;
	uint32_t nesting, n_groups;
	const char *why; /* an error */
};

static bool failed(struct compiler *c, const char *why)
{
	if (!c->why)
		c->why = why;
	return false;
}

static bool emit(struct compiler *c, struct regex_insn i)
{
	if (c->n == MOST_CODE)
		return failed(c, "the expression is too large");
	c->code[c->n++] = i;
	return true;
}

/* Makes room for one instruction at @at; jumps behind it move. */
static bool insert(struct compiler *c, uint32_t at, struct regex_insn insn)
{
	if (!emit(c, insn))
		return false;
	memmove(&c->code[at + 1], &c->code[at], (c->n - 1 - at) * sizeof *c->code);
	for (uint32_t i = at + 1; i < c->n; i++)
		if (c->code[i].op == REGEX_SPLIT || c->code[i].op == REGEX_JUMP) {
			c->code[i].a++;
			c->code[i].b++;
		}
	c->code[at] = insn;
	return true;
}

/* Copies the code [from, to) behind the end. */
static bool copy(struct compiler *c, uint32_t from, uint32_t to)
{
	uint32_t moved = c->n - from;

	for (uint32_t i = from; i < to; i++) {
		struct regex_insn insn = c->code[i];

		if (insn.op == REGEX_SPLIT || insn.op == REGEX_JUMP) {
			insn.a += moved;
			insn.b += moved;
		}
		if (!emit(c, insn))
			return false;
	}
	return true;
}

static bool at_end(const struct compiler *c)
{
	return c->at >= c->size;
}

static bool take(struct compiler *c, char wanted)
{
	if (at_end(c) || c->pattern[c->at] != wanted)
		return false;
	c->at++;
	return true;
}

static unsigned char escaped(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	default:
		return (unsigned char)c;
	}
}

static void set_bit(uint64_t *set, unsigned char c)
{
	set[c / 64] |= 1ull << c % 64;
}

/* [:alpha:], behind "[:". */
static bool named_class(struct compiler *c, uint64_t *set)
{
	static const struct {
		const char *name;
		int (*has)(int);
	} classes[] = {
		{ "alpha", isalpha }, { "digit", isdigit }, { "alnum", isalnum },
		{ "upper", isupper }, { "lower", islower }, { "space", isspace },
		{ "blank", isblank }, { "punct", ispunct }, { "print", isprint },
		{ "graph", isgraph }, { "cntrl", iscntrl }, { "xdigit", isxdigit },
	};
	const char *name = c->pattern + c->at;

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		size_t size = strlen(classes[i].name);

		if (c->size - c->at < size + 2 || memcmp(name, classes[i].name, size) ||
		    memcmp(name + size, ":]", 2))
			continue;
		for (int k = 0; k < 128; k++)
			if (classes[i].has(k))
				set_bit(set, (unsigned char)k);
		c->at += (uint32_t)size + 2;
		return true;
	}
	return failed(c, "there is no such class of characters");
}

static bool bracket_item(struct compiler *c, uint64_t *set)
{
	unsigned char first = (unsigned char)c->pattern[c->at++], last;

	if (first == '[' && take(c, ':'))
		return named_class(c, set);
	if (first == '\\' && !at_end(c))
		first = escaped(c->pattern[c->at++]);
	last = first;
	if (c->size - c->at >= 2 && c->pattern[c->at] == '-' && c->pattern[c->at + 1] != ']') {
		last = (unsigned char)c->pattern[c->at + 1];
		c->at += 2;
		if (last == '\\' && !at_end(c))
			last = escaped(c->pattern[c->at++]);
	}
	if (last < first)
		return failed(c, "a range of characters ends before it begins");
	for (unsigned k = first; k <= last; k++)
		set_bit(set, (unsigned char)k);
	return true;
}

static bool bracket(struct compiler *c)
{
	struct regex_insn insn = { .op = REGEX_SET };
	bool is_negated = take(c, '^'), is_first = true;

	insn.set = script_allocate(c->arena, 32);
	if (!insn.set)
		return failed(c, "no memory");
	while (!at_end(c) && (c->pattern[c->at] != ']' || is_first)) {
		if (!bracket_item(c, insn.set))
			return false;
		is_first = false;
	}
	if (!take(c, ']'))
		return failed(c, "`[` without `]`");
	for (int i = 0; i < 4 && is_negated; i++)
		insn.set[i] = ~insn.set[i];
	return emit(c, insn);
}

static bool alternatives(struct compiler *c);

static bool group(struct compiler *c)
{
	uint32_t number = ++c->n_groups;
	bool is_kept = number < SCRIPT_REGEX_GROUPS;

	if (++c->nesting > MOST_NESTING)
		return failed(c, "groups are nested too deeply");
	if (is_kept && !emit(c, (struct regex_insn){ .op = REGEX_SAVE, .a = 2 * number }))
		return false;
	if (!alternatives(c))
		return false;
	if (!take(c, ')'))
		return failed(c, "`(` without `)`");
	c->nesting--;
	return !is_kept || emit(c, (struct regex_insn){ .op = REGEX_SAVE, .a = 2 * number + 1 });
}

static bool atom(struct compiler *c)
{
	unsigned char k = (unsigned char)c->pattern[c->at++];

	switch (k) {
	case '(':
		return group(c);
	case '[':
		return bracket(c);
	case '.':
		return emit(c, (struct regex_insn){ .op = REGEX_ANY });
	case '^':
		return emit(c, (struct regex_insn){ .op = REGEX_BEGIN });
	case '$':
		return emit(c, (struct regex_insn){ .op = REGEX_END });
	case '*':
	case '+':
	case '?':
		return failed(c, "nothing to repeat");
	case '\\':
		if (at_end(c))
			return failed(c, "the expression ends with a backslash");
		k = escaped(c->pattern[c->at++]);
		break;
	}
	return emit(c, (struct regex_insn){ .op = REGEX_BYTE, .byte = k });
}

static bool number(struct compiler *c, uint32_t *n)
{
	uint32_t from = c->at;

	for (*n = 0; !at_end(c) && isdigit((unsigned char)c->pattern[c->at]); c->at++) {
		*n = *n * 10 + (uint32_t)(c->pattern[c->at] - '0');
		if (*n > MOST_REPEATS)
			return failed(c, "more than 255 repetitions");
	}
	return c->at > from;
}

static bool optional(struct compiler *c, uint32_t from)
{
	return insert(c, from,
		      (struct regex_insn){ .op = REGEX_SPLIT, .a = from + 1, .b = c->n + 1 });
}

static bool star(struct compiler *c, uint32_t from)
{
	return optional(c, from) && emit(c, (struct regex_insn){ .op = REGEX_JUMP, .a = from }) &&
	       (c->code[from].b = c->n);
}

static bool plus(struct compiler *c, uint32_t from)
{
	return emit(c, (struct regex_insn){ .op = REGEX_SPLIT, .a = from, .b = c->n + 1 });
}

/* {least,most} of the code from @from; "{" has been read. */
static bool counted(struct compiler *c, uint32_t from)
{
	uint32_t least, most, to = c->n;
	bool is_endless = false;

	if (!number(c, &least))
		return failed(c, "a number must follow `{`");
	most = least;
	if (take(c, ','))
		is_endless = !number(c, &most);
	if (c->why || !take(c, '}') || (!is_endless && most < least))
		return failed(c, "a repetition is {n}, {n,} or {n,m}");
	if (!is_endless && !most) {
		c->n = from;
		return true;
	}
	for (uint32_t i = 1; i < least; i++)
		if (!copy(c, from, to))
			return false;
	if (is_endless)
		return least ? plus(c, c->n - (to - from)) : star(c, from);
	for (uint32_t i = least ? least : 1; i < most; i++) {
		uint32_t begin = c->n;

		if (!copy(c, from, to) || !optional(c, begin))
			return false;
	}
	return least || optional(c, from);
}

static bool repeated(struct compiler *c)
{
	uint32_t from = c->n;

	if (!atom(c))
		return false;
	while (!at_end(c)) {
		bool is_fine;

		if (take(c, '*'))
			is_fine = star(c, from);
		else if (take(c, '+'))
			is_fine = plus(c, from);
		else if (take(c, '?'))
			is_fine = optional(c, from);
		else if (take(c, '{'))
			is_fine = counted(c, from);
		else
			break;
		if (!is_fine)
			return false;
	}
	return true;
}

static bool alternatives(struct compiler *c)
{
	uint32_t from = c->n, jump;

	while (!at_end(c) && c->pattern[c->at] != '|' && (c->pattern[c->at] != ')' || !c->nesting))
		if (!repeated(c))
			return false;
	if (!take(c, '|'))
		return true;
	if (!insert(c, from,
		    (struct regex_insn){ .op = REGEX_SPLIT, .a = from + 1, .b = c->n + 2 }))
		return false;
	jump = c->n;
	if (!emit(c, (struct regex_insn){ .op = REGEX_JUMP }))
		return false;
	if (!alternatives(c))
		return false;
	c->code[jump].a = c->n;
	return true;
}

static bool compile(struct compiler *c)
{
	return emit(c, (struct regex_insn){ .op = REGEX_SAVE, .a = 0 }) && alternatives(c) &&
	       emit(c, (struct regex_insn){ .op = REGEX_SAVE, .a = 1 }) &&
	       emit(c, (struct regex_insn){ .op = REGEX_MATCH });
}

/* Bytes alone, so that memmem finds them. */
static bool is_literal(const struct compiler *c)
{
	for (uint32_t i = 1; i + 2 < c->n; i++)
		if (c->code[i].op != REGEX_BYTE)
			return false;
	return true;
}

static struct script_regex *finish(struct compiler *c)
{
	struct script_regex *r = script_allocate(c->arena, sizeof *r);
	bool fine = r;

	if (!fine)
		return NULL;
	*r = (struct script_regex){ .n = c->n, .code = c->code, .n_groups = c->n_groups + 1 };
	for (int i = 0; i < 2; i++) {
		r->threads[i].at = script_allocate(c->arena, c->n * sizeof *r->threads[i].at);
		r->threads[i].seen = script_allocate(c->arena, c->n * sizeof(uint32_t));
		fine = fine && r->threads[i].at && r->threads[i].seen;
	}
	r->stack = script_allocate(c->arena, (2 * c->n + 2) * sizeof *r->stack);
	if (is_literal(c)) {
		r->literal = script_allocate(c->arena, c->n);
		for (uint32_t i = 1; r->literal && i + 2 < c->n; i++)
			r->literal[r->literal_size++] = (char)c->code[i].byte;
	}
	r->dfa = regex_dfa_new(c->arena, r);
	return fine && r->stack && r->dfa ? r : NULL;
}

struct script_regex *script_regex_compile(struct script_arena *a, const char *pattern, size_t size,
					  uint32_t *at, struct diag *d)
{
	struct compiler c = { .arena = a, .pattern = pattern, .size = (uint32_t)size };
	struct script_regex *r = NULL;

	c.code = script_allocate(a, MOST_CODE * sizeof *c.code);
	if (!c.code)
		failed(&c, "no memory");
	else if (size > MOST_CODE)
		failed(&c, "the expression is too large");
	else if (compile(&c))
		r = finish(&c);
	*at = c.at;
	if (!r)
		diag_fail(d, -EINVAL, "regular expression: %s", c.why ? c.why : "no memory");
	return r;
}
