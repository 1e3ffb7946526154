/* SPDX-License-Identifier: MIT */
/* random_program.c - random scripts, written from the grammar downwards. */
#include "random_program.h"

#include <stdbool.h>
#include <string.h>

enum type { LONG, TEXT, TYPES_N };

enum { FUNCTIONS_MOST = 5, PARAMETERS_MOST = 7 };

struct function {
	enum type result, parameters[PARAMETERS_MOST];
	int n_parameters;
};

/* An array: the types of its keys, "s" and "l", and of its values; S: statistics. */
static const struct array {
	const char *name, *keys;
	char value;
} arrays[] = {
	{ "al", "l", 'l' },   { "as", "s", 'l' }, { "als", "ls", 's' }, { "aw", "l", 'l' },
	{ "ass", "ss", 'l' }, { "sl", "l", 'S' }, { "ss", "s", 'S' },	{ "at", "s", 's' },
};

struct writer {
	struct text *t;
	uint64_t *seed;
	struct function functions[FUNCTIONS_MOST];
	int n_functions;
	const struct function *in; /* NULL: a probe */
	int budget;		   /* pieces left */
	int n_loops, depth;
	bool is_event, is_wrong;
};

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(struct writer *w, uint64_t below)
{
	uint64_t s = *w->seed;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	*w->seed = s;
	return s % below;
}

#define add(w, ...) text_addf((w)->t, __VA_ARGS__)
#define one_of(w, list) ((list)[draw(w, sizeof(list) / sizeof *(list))])

static void expr(struct writer *w, enum type type);

static enum type any_type(struct writer *w)
{
	return (enum type)draw(w, TYPES_N);
}

/* Now and then the other type, in scripts that are to be refused. */
static enum type perhaps_wrong(struct writer *w, enum type type)
{
	return w->is_wrong && !draw(w, 40) ? (enum type) !type : type;
}

/* ---- expressions ---- */

static void number(struct writer *w)
{
	static const char *const edges[] = { "0x7fffffffffffffff",  "-1",  "0x80000000", "63", "64",
					     "-0x8000000000000000", "010", "1000000" };

	if (draw(w, 4))
		add(w, "%d", (int)draw(w, 8));
	else
		add(w, "%s", one_of(w, edges));
}

static void string(struct writer *w)
{
	static const char *const words[] = { "\"\"",
					     "\"a\"",
					     "\"ab\"",
					     "\"b c\"",
					     "\"%%d\"",
					     "\"x\\n\"",
					     "\"longer than others\"",
					     "\"12\"" };

	add(w, "%s", one_of(w, words));
}

static void variable(struct writer *w, enum type type)
{
	static const char *const longs[] = { "x", "y", "z", "u", "gl", "gm", "v" };
	static const char *const texts[] = { "p", "q", "r", "gs", "gt" };

	if (w->in && w->in->n_parameters && draw(w, 2)) {
		int i = (int)draw(w, (uint64_t)w->in->n_parameters);

		if (w->in->parameters[i] == type) {
			add(w, "a%d", i);
			return;
		}
	}
	add(w, "%s", type == LONG ? one_of(w, longs) : one_of(w, texts));
}

static void keys(struct writer *w, const struct array *a, bool may_be_wild)
{
	add(w, "[");
	for (const char *k = a->keys; *k; k++) {
		add(w, k > a->keys ? ", " : "");
		if (may_be_wild && !draw(w, 3))
			add(w, "*");
		else
			expr(w, perhaps_wrong(w, *k == 's' ? TEXT : LONG));
	}
	add(w, "]");
}

static const struct array *array_of(struct writer *w, char value)
{
	const struct array *a;

	do
		a = &one_of(w, arrays);
	while (a->value != value);
	return a;
}

static void element(struct writer *w, enum type type)
{
	const struct array *a = array_of(w, type == TEXT ? 's' : 'l');

	add(w, "%s", a->name);
	keys(w, a, false);
}

static void call(struct writer *w, enum type type)
{
	int i = (int)draw(w, FUNCTIONS_MOST);

	if (i >= w->n_functions || w->functions[i].result != type) {
		variable(w, type);
		return;
	}
	add(w, "f%d(", i);
	for (int k = 0; k < w->functions[i].n_parameters; k++) {
		add(w, k ? ", " : "");
		expr(w, perhaps_wrong(w, w->functions[i].parameters[k]));
	}
	add(w, ")");
}

static void binary(struct writer *w)
{
	static const char *const operators[] = { "+",  "-",  "*",  "/",	  "%", "&",  "|",
						 "^",  "<<", ">>", ">>>", "<", "<=", ">",
						 ">=", "==", "!=", "&&",  "||" };

	add(w, "(");
	expr(w, LONG);
	add(w, " %s ", one_of(w, operators));
	expr(w, perhaps_wrong(w, LONG));
	add(w, ")");
}

static void compare_texts(struct writer *w)
{
	static const char *const operators[] = { "<", "<=", ">", ">=", "==", "!=" };
	static const char *const patterns[] = { "a", "^a", "[ab]+", "(a|b)*c$", "x.?", "(a)(b)" };

	add(w, "(");
	expr(w, TEXT);
	if (draw(w, 4)) {
		add(w, " %s ", one_of(w, operators));
		expr(w, TEXT);
	} else {
		add(w, " %s \"%s\"", draw(w, 3) ? "=~" : "!~", one_of(w, patterns));
	}
	add(w, ")");
}

static void assign(struct writer *w)
{
	static const char *const operators[] = { "=",  "=",  "=",  "+=", "-=",	"*=",  "/=",
						 "%=", "|=", "&=", "^=", "<<=", ">>=", ">>>=" };

	add(w, "(");
	if (draw(w, 3))
		variable(w, LONG);
	else
		element(w, LONG);
	add(w, " %s ", one_of(w, operators));
	expr(w, LONG);
	add(w, ")");
}

static void step(struct writer *w)
{
	bool is_prefix = draw(w, 2);
	const char *op = draw(w, 2) ? "++" : "--";

	add(w, "(%s", is_prefix ? op : "");
	if (draw(w, 2))
		variable(w, LONG);
	else
		element(w, LONG);
	add(w, "%s)", is_prefix ? "" : op);
}

static void is_in(struct writer *w)
{
	const struct array *a = &one_of(w, arrays);

	add(w, "(");
	keys(w, a, true);
	add(w, " in %s)", a->name);
}

static void statistic(struct writer *w)
{
	static const char *const names[] = { "count", "sum", "min", "max", "avg", "count", "sum" };
	const struct array *a = array_of(w, 'S');

	if (!draw(w, 5)) {
		add(w, "@%s(st)", one_of(w, names));
		return;
	}
	add(w, "@%s(%s", one_of(w, names), a->name);
	keys(w, a, false);
	add(w, ")");
}

static void choice(struct writer *w, enum type type)
{
	add(w, "(");
	expr(w, LONG);
	add(w, " ? ");
	expr(w, type);
	add(w, " : ");
	expr(w, perhaps_wrong(w, type));
	add(w, ")");
}

static void long_expr(struct writer *w)
{
	static const char *const unary[] = { "-", "~", "!" };

	switch (draw(w, 22)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		binary(w);
		break;
	case 5:
	case 6:
		assign(w);
		break;
	case 7:
		step(w);
		break;
	case 8:
		add(w, "%s(", one_of(w, unary));
		expr(w, LONG);
		add(w, ")");
		break;
	case 9:
	case 10:
		compare_texts(w);
		break;
	case 11:
		choice(w, LONG);
		break;
	case 12:
	case 13:
		call(w, LONG);
		break;
	case 14:
	case 15:
		element(w, LONG);
		break;
	case 16:
		is_in(w);
		break;
	case 17:
		statistic(w);
		break;
	case 18:
		add(w, "strlen(");
		expr(w, TEXT);
		add(w, ")");
		break;
	case 19:
		add(w, "%s", w->is_event ? (draw(w, 2) ? "$number" : "$bad") : "pid()");
		break;
	case 20:
		add(w, "strtol(");
		expr(w, TEXT);
		add(w, ", 10)");
		break;
	default:
		add(w, "%s", draw(w, 2) ? "cpu()" : "gettimeofday_us()");
	}
}

static void text_expr(struct writer *w)
{
	switch (draw(w, 10)) {
	case 0:
	case 1:
		add(w, "(");
		expr(w, TEXT);
		add(w, " . ");
		expr(w, TEXT);
		add(w, ")");
		break;
	case 2:
		choice(w, TEXT);
		break;
	case 3:
		call(w, TEXT);
		break;
	case 4:
	case 5:
		element(w, TEXT);
		break;
	case 6:
		add(w, "sprint(");
		expr(w, any_type(w));
		add(w, ")");
		break;
	case 7:
		add(w, "sprintf(\"%%s-%%5d\", ");
		expr(w, TEXT);
		add(w, ", ");
		expr(w, perhaps_wrong(w, LONG));
		add(w, ")");
		break;
	case 8:
		add(w, "substr(");
		expr(w, TEXT);
		add(w, ", %d, %d)", (int)draw(w, 4), (int)draw(w, 5));
		break;
	default:
		add(w, "%s", w->is_event ? (draw(w, 2) ? "$text" : "$name") : "execname()");
	}
}

static void expr(struct writer *w, enum type type)
{
	if (--w->budget < 0 || ++w->depth > 12 || !draw(w, 3)) {
		if (!draw(w, 3))
			type == LONG ? number(w) : string(w);
		else
			variable(w, type);
	} else if (type == LONG) {
		long_expr(w);
	} else {
		text_expr(w);
	}
	if (w->depth)
		w->depth--;
}

/* ---- statements ---- */

static void statement(struct writer *w, int depth);

static void block(struct writer *w, int depth)
{
	int n = (int)draw(w, 4);

	add(w, "{\n");
	for (int i = 0; i < n; i++)
		statement(w, depth - 1);
	add(w, "}\n");
}

static void output(struct writer *w)
{
	switch (draw(w, 4)) {
	case 0:
		add(w, "println(");
		expr(w, any_type(w));
		break;
	case 1:
		add(w, "printf(\"%%d %%s %%x|\\n\", ");
		expr(w, LONG);
		add(w, ", ");
		expr(w, perhaps_wrong(w, TEXT));
		add(w, ", ");
		expr(w, LONG);
		break;
	case 2:
		add(w, "printdln(\",\", ");
		expr(w, LONG);
		add(w, ", ");
		expr(w, TEXT);
		break;
	default:
		add(w, "print(@hist_log(st)");
	}
	add(w, ")\n");
}

static void text_assignment(struct writer *w)
{
	if (draw(w, 2))
		variable(w, TEXT);
	else
		element(w, TEXT);
	add(w, draw(w, 2) ? " = " : " .= ");
	expr(w, perhaps_wrong(w, TEXT));
	add(w, "\n");
}

static void collect(struct writer *w)
{
	const struct array *a = array_of(w, 'S');

	if (draw(w, 3)) {
		add(w, "%s", a->name);
		keys(w, a, false);
	} else {
		add(w, "st");
	}
	add(w, " <<< ");
	expr(w, LONG);
	add(w, "\n");
}

static void foreach (struct writer *w, int depth)
{
	static const char *const longs[] = { "x", "y", "z", "gm" }, *const texts[] = { "p", "q",
										       "gt" };
	static const char *const marks[] = { "", "", "+", "-" };
	const struct array *a = &one_of(w, arrays);

	add(w, "foreach ([");
	for (const char *k = a->keys; *k; k++)
		add(w, "%s%s%s", k > a->keys ? ", " : "",
		    *k == 's' ? texts[draw(w, 2) + (k > a->keys)]
			      : longs[draw(w, 3) + (k > a->keys)],
		    k == a->keys ? one_of(w, marks) : "");
	add(w, "] in %s", a->name);
	if (strlen(a->keys) > 1 && !draw(w, 3))
		keys(w, a, true);
	if (!draw(w, 3)) {
		add(w, " limit ");
		expr(w, LONG);
	}
	add(w, ") ");
	w->n_loops++;
	block(w, depth);
	w->n_loops--;
}

static void loop(struct writer *w, int depth)
{
	w->n_loops++;
	if (draw(w, 2)) {
		add(w, "while (");
		expr(w, LONG);
	} else {
		add(w, "for (z = 0; z < %d; z++", (int)draw(w, 12));
	}
	add(w, ") ");
	block(w, depth);
	w->n_loops--;
}

static void remove_some(struct writer *w)
{
	const struct array *a = &one_of(w, arrays);

	add(w, "delete %s", a->name);
	if (draw(w, 3))
		keys(w, a, true);
	add(w, "\n");
}

static void leave(struct writer *w)
{
	if (w->n_loops && draw(w, 2)) {
		add(w, draw(w, 2) ? "break\n" : "continue\n");
	} else if (w->in) {
		add(w, "return ");
		expr(w, perhaps_wrong(w, w->in->result));
		add(w, "\n");
	} else {
		add(w, "next\n");
	}
}

static void compound(struct writer *w, int depth)
{
	switch (draw(w, 6)) {
	case 0:
	case 1:
		add(w, "if (");
		expr(w, LONG);
		add(w, ") ");
		block(w, depth);
		if (draw(w, 2)) {
			add(w, "else ");
			block(w, depth);
		}
		break;
	case 2:
		loop(w, depth);
		break;
	case 3:
		foreach (w, depth)
			;
		break;
	default:
		add(w, "try ");
		block(w, depth);
		add(w, draw(w, 2) ? "catch (r) " : "catch ");
		block(w, depth);
	}
}

static void statement(struct writer *w, int depth)
{
	if (depth > 0 && w->budget > 0 && !draw(w, 3)) {
		compound(w, depth);
		return;
	}
	switch (draw(w, 12)) {
	case 0:
	case 1:
	case 2:
		output(w);
		break;
	case 3:
	case 4:
		text_assignment(w);
		break;
	case 5:
		collect(w);
		break;
	case 6:
		remove_some(w);
		break;
	case 7:
		leave(w);
		break;
	case 8:
		step(w);
		add(w, ";\n");
		break;
	case 9:
		add(w, "error(");
		expr(w, TEXT);
		add(w, ")\n");
		break;
	case 10:
		expr(w, any_type(w));
		add(w, ";\n");
		break;
	default:
		assign(w);
		add(w, ";\n");
	}
}

/* ---- scripts ---- */

static void declare(struct writer *w)
{
	add(w, "global gl = 3, gm = 0, gs = \"g\", gt = \"\", al[20], as, als%%, aw%%[4], ass, sl, "
	       "ss, at, "
	       "st\n");
	w->n_functions = (int)draw(w, FUNCTIONS_MOST + 1);
	for (int i = 0; i < w->n_functions; i++) {
		struct function *f = &w->functions[i];

		f->result = any_type(w);
		f->n_parameters = (int)draw(w, draw(w, 3) ? 4 : PARAMETERS_MOST + 1);
		for (int k = 0; k < f->n_parameters; k++)
			f->parameters[k] = any_type(w);
	}
}

/* Every local has its type, whatever is drawn. */
static void body(struct writer *w, int depth)
{
	add(w, "{\nx = y = z = u = v = %d\np = q = r = \"\"\n", (int)draw(w, 3));
	block(w, depth);
	add(w, "}\n");
}

static void function(struct writer *w, int i)
{
	struct function *f = &w->functions[i];

	w->in = f;
	w->is_event = false;
	add(w, "function f%d:%s(", i, f->result == LONG ? "long" : "string");
	for (int k = 0; k < f->n_parameters; k++)
		add(w, "%sa%d:%s", k ? ", " : "", k, f->parameters[k] == LONG ? "long" : "string");
	add(w, ") ");
	w->budget = 40;
	body(w, 3);
}

static void probe(struct writer *w, const char *point, bool is_event)
{
	w->in = NULL;
	w->is_event = is_event;
	w->budget = 80;
	add(w, "probe %s ", point);
	body(w, 4);
}

/* Characters changed, doubled or lost. */
static void damage(struct writer *w)
{
	static const char characters[] = "(){}[];,.\"%$@+-*/=<>!&|~^?: \nax0";
	int n = 1 + (int)draw(w, 3);

	for (int i = 0; i < n; i++)
		w->t->bytes[draw(w, w->t->size)] = characters[draw(w, sizeof characters - 1)];
}

void random_program(struct text *t, uint64_t *seed)
{
	struct writer w = { .t = t, .seed = seed };
	uint64_t kind = draw(&w, 16);

	w.is_wrong = kind == 0;
	declare(&w);
	for (int i = 0; i < w.n_functions; i++)
		function(&w, i);
	probe(&w, "begin", false);
	probe(&w, "event(4)", true);
	if (draw(&w, 2))
		probe(&w, "end", false);
	/* And every global. */
	add(&w,
	    "probe begin { al[0]++; as[\"\"]++; als[0, \"\"] = \"\"; aw[0]++; ass[\"\", \"\"]++; "
	    "sl[0] <<< 1; ss[\"\"] <<< 1; at[\"\"] = \"\"; st <<< 1; gl++; gm++; gs = \"\"; gt = "
	    "\"\" "
	    "}\n");
	if (kind == 1)
		damage(&w);
}
