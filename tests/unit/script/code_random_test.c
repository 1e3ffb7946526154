/* SPDX-License-Identifier: MIT */
/*
 * code_random_test.c [ROUNDS [SEED]] - random expressions mean to the machine what they mean to a
 * reader.
 *
 * An expression is made as a tree and evaluated there, from left to right, with all its effects; it
 * is also written down, compiled, and run by the interpreter and translated.  Statements run inside
 * a try, so that what a division by zero leaves behind is compared too.  Long: 1000000, 15 minutes.
 */
#include <inttypes.h>

#include "run_script.h"
#include "test.h"

enum kind {
	NUMBER,
	LOCAL,
	GLOBAL,
	ELEMENT,
	UNARY,
	BINARY,
	BOTH,
	EITHER,
	CHOICE,
	ASSIGN,
	STEP,
	CALL,
	CALL3,
	CALL6,
};

struct node {
	enum kind kind;
	const char *op;
	int64_t number;
	bool is_prefix;
	struct node *kids[6];
	int n;
};

enum { LOCALS = 7, GLOBALS = 3, ELEMENTS = 4, NODES = 400, STATEMENTS = 8 };

static uint64_t seed = 88172645463325252u;
static struct node nodes[NODES];
static int n_nodes;
static int64_t locals[LOCALS], globals[GLOBALS], elements[ELEMENTS];
static bool failed; /* the expression divided by zero */

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* ---- trees ---- */

static int64_t any_number(void)
{
	static const int64_t edges[] = { 0,
					 1,
					 -1,
					 2,
					 63,
					 64,
					 0x7fffffff,
					 -0x80000000ll,
					 0x80000000ll,
					 INT64_MAX,
					 INT64_MIN + 1 };

	return draw(3) ? (int64_t)draw(9) - 2 : edges[draw(sizeof edges / sizeof *edges)];
}

static struct node *leaf(void)
{
	struct node *n = &nodes[n_nodes++];

	*n = (struct node){ .kind = (enum kind)draw(4) };
	n->number = n->kind == NUMBER	? any_number()
		    : n->kind == LOCAL	? (int64_t)draw(LOCALS)
		    : n->kind == GLOBAL ? (int64_t)draw(GLOBALS)
					: (int64_t)draw(ELEMENTS);
	return n;
}

static struct node *any(int depth);

static struct node *with_kids(struct node *n, int count, int depth)
{
	n->n = count;
	for (int i = 0; i < count; i++)
		n->kids[i] = any(depth - 1);
	return n;
}

/* A place that can be assigned to. */
static struct node *place(void)
{
	struct node *n = leaf();

	while (n->kind == NUMBER) {
		n_nodes--;
		n = leaf();
	}
	return n;
}

static bool is_known(const struct node *n)
{
	return n->kind == NUMBER || (n->kind == UNARY && is_known(n->kids[0])) ||
	       ((n->kind == BOTH || n->kind == EITHER) &&
		(is_known(n->kids[0]) || is_known(n->kids[1])));
}

/* A constant that decides && or || may leave out what comes before it, with its errors. */
static struct node *unknown(struct node *n)
{
	struct node *call = n;

	if (is_known(n)) {
		call = &nodes[n_nodes++];
		*call = (struct node){ .kind = CALL, .n = 1, .kids = { n } };
	}
	return call;
}

static struct node *any(int depth)
{
	static const char *const binary[] = { "+",  "-",   "*", "/",  "%", "&",	 "|",  "^", "<<",
					      ">>", ">>>", "<", "<=", ">", ">=", "==", "!=" };
	static const char *const assign[] = { "=",  "+=", "-=", "*=",  "/=",  "%=",
					      "&=", "|=", "^=", "<<=", ">>=", ">>>=" };
	static const char *const unary[] = { "-", "~", "!", "+" };
	static const enum kind kinds[] = { UNARY,  BINARY, BINARY, BINARY, BINARY, BOTH, EITHER,
					   CHOICE, ASSIGN, STEP,   CALL,   CALL3,  CALL6 };
	struct node *n;

	if (depth <= 0 || n_nodes > NODES - 40 || !draw(5))
		return leaf();
	n = &nodes[n_nodes++];
	*n = (struct node){ .kind = kinds[draw(sizeof kinds / sizeof *kinds)] };
	switch (n->kind) {
	case UNARY:
		n->op = unary[draw(4)];
		return with_kids(n, 1, depth);
	case BINARY:
		n->op = binary[draw(17)];
		return with_kids(n, 2, depth);
	case BOTH:
	case EITHER:
		with_kids(n, 2, depth);
		n->kids[1] = unknown(n->kids[1]);
		return n;
	case CHOICE:
		return with_kids(n, 3, depth);
	case ASSIGN:
		n->op = assign[draw(12)];
		n->n = 2;
		n->kids[0] = place();
		n->kids[1] = any(depth - 1);
		return n;
	case STEP:
		n->is_prefix = draw(2);
		n->op = draw(2) ? "++" : "--";
		n->n = 1;
		n->kids[0] = place();
		return n;
	default:
		return with_kids(n, n->kind == CALL ? 1 : n->kind == CALL3 ? 3 : 6, depth);
	}
}

/* ---- written down ---- */

static void write_node(struct text *t, const struct node *n)
{
	static const char *const calls[] = { [CALL] = "id", [CALL3] = "three", [CALL6] = "six" };

	switch (n->kind) {
	case NUMBER:
		text_addf(t, n->number < 0 ? "(%" PRIi64 ")" : "%" PRIi64, n->number);
		return;
	case LOCAL:
		text_addf(t, "x%" PRIi64, n->number);
		return;
	case GLOBAL:
		text_addf(t, "g%" PRIi64, n->number);
		return;
	case ELEMENT:
		text_addf(t, "a[%" PRIi64 "]", n->number);
		return;
	case UNARY:
		text_addf(t, "(%s ", n->op);
		write_node(t, n->kids[0]);
		break;
	case STEP:
		text_addf(t, "(%s", n->is_prefix ? n->op : "");
		write_node(t, n->kids[0]);
		text_addf(t, "%s", n->is_prefix ? "" : n->op);
		break;
	case CHOICE:
		text_addf(t, "(");
		write_node(t, n->kids[0]);
		text_addf(t, " ? ");
		write_node(t, n->kids[1]);
		text_addf(t, " : ");
		write_node(t, n->kids[2]);
		break;
	case CALL:
	case CALL3:
	case CALL6:
		text_addf(t, "%s(", calls[n->kind]);
		for (int i = 0; i < n->n; i++) {
			text_addf(t, i ? ", " : "");
			write_node(t, n->kids[i]);
		}
		break;
	default:
		text_addf(t, "(");
		write_node(t, n->kids[0]);
		text_addf(t, " %s ", n->kind == BOTH ? "&&" : n->kind == EITHER ? "||" : n->op);
		write_node(t, n->kids[1]);
	}
	text_addf(t, ")");
}

/* ---- evaluated ---- */

static int64_t operate(const char *op, int64_t a, int64_t b)
{
	uint64_t ua = (uint64_t)a, ub = (uint64_t)b;

	if (*op == '/' || *op == '%') {
		if (!b)
			failed = true;
		if (!b || b == -1)
			return *op == '%' ? 0 : (int64_t)-ua;
		return *op == '/' ? a / b : a % b;
	}
	if (!strncmp(op, ">>>", 3))
		return (int64_t)(ua >> (ub & 63));
	if (!strncmp(op, ">>", 2))
		return a >> (ub & 63);
	if (!strncmp(op, "<<", 2))
		return (int64_t)(ua << (ub & 63));
	if (!strcmp(op, "<"))
		return a < b;
	if (!strcmp(op, "<="))
		return a <= b;
	if (!strcmp(op, ">"))
		return a > b;
	if (!strcmp(op, ">="))
		return a >= b;
	if (!strcmp(op, "=="))
		return a == b;
	if (!strcmp(op, "!="))
		return a != b;
	switch (*op) {
	case '+':
		return (int64_t)(ua + ub);
	case '-':
		return (int64_t)(ua - ub);
	case '*':
		return (int64_t)(ua * ub);
	case '&':
		return a & b;
	case '|':
		return a | b;
	default:
		return a ^ b;
	}
}

static int64_t *variable(const struct node *n)
{
	return n->kind == LOCAL	   ? &locals[n->number]
	       : n->kind == GLOBAL ? &globals[n->number]
				   : &elements[n->number];
}

static int64_t eval(const struct node *n);

/* x op= e: a variable is read before e is computed, an element after it. */
static int64_t eval_assign(const struct node *n)
{
	int64_t *to = variable(n->kids[0]), old = *to, value = eval(n->kids[1]);

	if (failed)
		return 0;
	if (strcmp(n->op, "="))
		value = operate(n->op, n->kids[0]->kind == ELEMENT ? *to : old, value);
	if (!failed)
		*to = value;
	return value;
}

static int64_t eval_step(const struct node *n)
{
	int64_t *to = variable(n->kids[0]), old = *to;

	*to = operate(n->op[0] == '+' ? "+" : "-", old, 1);
	return n->is_prefix ? *to : old;
}

static int64_t eval_unary(const char *op, int64_t a)
{
	return *op == '-' ? (int64_t) - (uint64_t)a : *op == '~' ? ~a : *op == '!' ? !a : a;
}

static int64_t eval_call(const struct node *n)
{
	int64_t sum = 0;

	for (int i = 0; i < n->n; i++) {
		sum = operate("+", operate("*", sum, n->n == 1 ? 0 : 3), eval(n->kids[i]));
		if (failed)
			return 0;
	}
	if (n->n == 3)
		globals[0] = operate("+", globals[0], 1);
	return sum;
}

static int64_t eval(const struct node *n)
{
	int64_t a;

	if (failed)
		return 0;
	switch (n->kind) {
	case NUMBER:
		return n->number;
	case LOCAL:
	case GLOBAL:
	case ELEMENT:
		return *variable(n);
	case UNARY:
		return eval_unary(n->op, eval(n->kids[0]));
	case BINARY:
		a = eval(n->kids[0]);
		return operate(n->op, a, failed ? 1 : eval(n->kids[1]));
	case BOTH:
		return eval(n->kids[0]) && !failed && eval(n->kids[1]);
	case EITHER:
		return eval(n->kids[0]) || (!failed && eval(n->kids[1]));
	case CHOICE:
		a = eval(n->kids[0]);
		return eval(n->kids[a ? 1 : 2]);
	case ASSIGN:
		return eval_assign(n);
	case STEP:
		return eval_step(n);
	default:
		return eval_call(n);
	}
}

/* ---- rounds ---- */

static void begin_script(struct text *script)
{
	text_addf(script,
		  "global g0 = 0, g1 = 0, g2 = 0, a\n"
		  "function id(x) { return x }\n"
		  "function three(x, y, z) { g0++; return (x * 3 + y) * 3 + z }\n"
		  "function six(u, v, w, x, y, z) { return ((((u * 3 + v) * 3 + w) * 3 + x) * 3 "
		  "+ y) * 3 + z }\n"
		  "probe begin {\n");
	memset(globals, 0, sizeof globals);
	memset(elements, 0, sizeof elements);
	for (int i = 0; i < LOCALS; i++) {
		locals[i] = any_number();
		text_addf(script, "\tx%d = id(%" PRIi64 ")\n", i, locals[i]);
	}
}

static void statement(struct text *script, struct text *want)
{
	const struct node *n;
	int64_t value;

	n_nodes = 0;
	n = any(5);
	text_addf(script, "\ttry { println(");
	write_node(script, n);
	text_addf(script, ") } catch { println(\"failed\") }\n");
	failed = false;
	value = eval(n);
	if (failed)
		text_addf(want, "failed\n");
	else
		text_addf(want, "%" PRIi64 "\n", value);
}

/* As a statement its value is not used, and a condition is one. */
static void other_statement(struct text *script, struct text *want)
{
	const struct node *n;
	int64_t value;

	n_nodes = 0;
	n = any(4);
	failed = false;
	if (n->kind == ASSIGN && draw(2)) {
		text_addf(script, "\ttry { ");
		write_node(script, n);
		text_addf(script, " } catch { println(\"failed\") }\n");
		eval(n);
	} else {
		text_addf(script, "\ttry { if (");
		write_node(script, n);
		text_addf(script, ") println(\"yes\"); else println(\"no\") } catch { "
				  "println(\"failed\") }\n");
		value = eval(n);
		if (!failed)
			text_addf(want, value ? "yes\n" : "no\n");
	}
	if (failed)
		text_addf(want, "failed\n");
}

static void end_script(struct text *script, struct text *want)
{
	for (int i = 0; i < LOCALS; i++) {
		text_addf(script, "\tprintln(x%d)\n", i);
		text_addf(want, "%" PRIi64 "\n", locals[i]);
	}
	for (int i = 0; i < GLOBALS; i++) {
		text_addf(script, "\tprintln(g%d)\n", i);
		text_addf(want, "%" PRIi64 "\n", globals[i]);
	}
	for (int i = 0; i < ELEMENTS; i++) {
		text_addf(script, "\tprintln(a[%d])\n", i);
		text_addf(want, "%" PRIi64 "\n", elements[i]);
	}
	text_addf(script, "\ta[0]++\n}\n"); /* so that `a` is an array in any script */
}

static void compare(const struct made_script *made, const struct text *script,
		    const struct text *want, bool jit)
{
	struct text got = { 0 };

	run_made(made, NULL, jit, &got);
	if (got.size != want->size || memcmp(got.bytes, want->bytes, got.size)) {
		test_n_failed++;
		printf("# %s\n%s---- got\n%s---- not\n%s", jit ? "translated" : "interpreted",
		       script->bytes, got.bytes, want->bytes);
	}
	text_fini(&got);
}

static void one_round(void)
{
	struct text script = { 0 }, want = { 0 };
	struct made_script made;

	begin_script(&script);
	for (int i = 0; i < STATEMENTS; i++) {
		if (draw(2))
			statement(&script, &want);
		else
			other_statement(&script, &want);
	}
	end_script(&script, &want);
	if (make_script(&made, script.bytes, NULL)) {
		compare(&made, &script, &want, false);
#ifdef __x86_64__
		compare(&made, &script, &want, true);
#endif
	} else {
		test_n_failed++;
		printf("# refused:\n%s%s\n", script.bytes, made.messages.text.bytes);
	}
	free_script(&made);
	text_fini(&script);
	text_fini(&want);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;

	made_scripts_keep_unused = true; /* a division that nobody uses must fail too */
	if (argc > 2)
		seed ^= strtoull(argv[2], NULL, 0) << 20;
	for (long i = 0; i < rounds && test_n_failed < 3; i++) {
		uint64_t first = seed;

		one_round();
		if (test_n_failed)
			printf("# round %ld, state %#" PRIx64 "\n", i, first);
	}
	printf("%s random expressions mean to the machine what they mean to a reader\n",
	       test_n_failed ? "not ok" : "ok");
	return test_status();
}
