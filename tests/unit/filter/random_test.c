/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/filter/random_test.c - random expressions mean to the machine what they mean to a reader.
 *
 * filter_random_test [ROUNDS [SEED]].  An expression is made as a tree, evaluated there,
 * straightforwardly, with 128 bits; it is also written down, with as few parentheses as the
 * language's table of operators allows, compiled, linked and run.
 */
#include "make_filter.h"

typedef __int128 wide;
enum kind { INT, REAL, TEXT };

struct value {
	enum kind kind;
	wide i;
	double r;
	const char *t;
	bool is_missing;
};

struct node {
	const char *op; /* NULL: a leaf */
	struct node *a, *b;
	struct value value; /* leaves */
	char text[64];
	enum kind kind;
};

static uint64_t seed = 88172645463325252u;
static struct node nodes[256];
static int n_nodes;
static struct payload payload;

/* Small, and not in every event the same: set anew each round. */
static int32_t field_c;
static uint64_t field_h;
static int64_t field_d;
static uint8_t field_e;
static double field_q;
static uint32_t n_y;
static const char *field_s, *field_t;
static const char *const words[] = { "", "a", "b", "ab", "ba", "aab", "word" };
static const char schema[] = "13 t:r i32 c str s u64 h i16[] y i64 d f64 q str t u8 e";

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static uint64_t edge(void)
{
	static const uint64_t edges[] = { 0,
					  1,
					  2,
					  7,
					  63,
					  64,
					  255,
					  1ull << 31,
					  1ull << 32,
					  1ull << 53,
					  INT64_MAX,
					  1ull << 63,
					  UINT64_MAX - 1,
					  UINT64_MAX };

	return draw(2) ? draw(20) : edges[draw(sizeof edges / sizeof *edges)] + draw(2);
}

static double some_real(void)
{
	static const double reals[] = {
		0, 0.5, -0.5, 1, -1, 2.25, 9007199254740992.0, 1e19, -1e19, 9223372036854775808.0
	};

	return reals[draw(sizeof reals / sizeof *reals)];
}

static void set_fields(void)
{
	payload.size = 0;
	field_c = (int32_t)(edge() - draw(20));
	field_h = edge();
	field_d = (int64_t)(edge() - draw(20));
	field_e = (uint8_t)edge();
	field_q = some_real();
	field_s = words[draw(7)];
	field_t = words[draw(7)];
	n_y = (uint32_t)draw(3);
	PUT(&payload, int32_t, field_c);
	put_text(&payload, field_s);
	PUT(&payload, uint64_t, field_h);
	PUT(&payload, uint32_t, n_y);
	for (uint32_t i = 0; i < n_y; i++)
		PUT(&payload, int16_t, (int16_t)(i * 7 - 3));
	PUT(&payload, int64_t, field_d);
	PUT(&payload, double, field_q);
	put_text(&payload, field_t);
	PUT(&payload, uint8_t, field_e);
}

static struct node *new_node(const char *op, enum kind kind, struct node *a, struct node *b)
{
	struct node *n = &nodes[n_nodes++];

	*n = (struct node){ .op = op, .kind = kind, .a = a, .b = b };
	return n;
}

#define LEAF(n, name, ...)                                                                         \
	(strcpy((n)->text, name), (n)->value = (struct value){ (n)->kind, __VA_ARGS__ })

static struct node *int_leaf(void)
{
	struct node *n = new_node(NULL, INT, NULL, NULL);
	uint64_t v;

	switch (draw(8)) {
	case 0:
		LEAF(n, "c", .i = field_c);
		break;
	case 1:
		LEAF(n, "h", .i = field_h);
		break;
	case 2:
		LEAF(n, "d", .i = field_d);
		break;
	case 3:
		LEAF(n, "e", .i = field_e);
		break;
	case 4:
		v = draw(3);
		LEAF(n, "", .i = (wide)v * 7 - 3, .is_missing = v >= n_y);
		snprintf(n->text, sizeof n->text, "y[%d]", (int)v);
		break;
	case 5:
		LEAF(n, "$vpid", .i = 4711);
		break;
	default:
		v = edge();
		LEAF(n, "", .i = v);
		snprintf(n->text, sizeof n->text, draw(2) ? "%llu" : "0x%llx",
			 (unsigned long long)v);
	}
	return n;
}

static struct node *real_leaf(void)
{
	struct node *n = new_node(NULL, REAL, NULL, NULL);
	double r = some_real();

	if (draw(2) || r < 0) {
		LEAF(n, "q", .r = field_q);
	} else {
		LEAF(n, "", .r = r);
		snprintf(n->text, sizeof n->text, "%.2f", r);
	}
	return n;
}

static struct node *text_node(bool must_be_constant)
{
	struct node *n = new_node(NULL, TEXT, NULL, NULL);
	const char *word = words[draw(7)];

	switch (must_be_constant ? 3 : draw(4)) {
	case 0:
		LEAF(n, "s", .t = field_s);
		break;
	case 1:
		LEAF(n, "t", .t = field_t);
		break;
	case 2:
		LEAF(n, "$procname", .t = "shop");
		break;
	default:
		LEAF(n, "", .t = word);
		snprintf(n->text, sizeof n->text, "\"%s\"", word);
	}
	return n;
}

static struct node *make(enum kind kind, int depth);

static struct node *make_comparison(int depth)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=", "~", "!~" };
	static const char *const patterns[] = { "*", "a*", "*b", "?", "sh?p", "" };
	const char *op = ops[draw(8)];
	struct node *a, *b;

	if (op[strlen(op) - 1] == '~') {
		a = text_node(false);
		b = text_node(true);
		strcpy(b->text, "\"");
		b->value.t = patterns[draw(6)];
		strcat(strcat(b->text, b->value.t), "\"");
		return new_node(op, INT, a, b);
	}
	if (draw(4) == 0)
		return a = text_node(false), b = text_node(false), new_node(op, INT, a, b);
	a = make(draw(4) ? INT : REAL, depth - 1);
	b = make(draw(4) ? INT : REAL, depth - 1);
	return new_node(op, INT, a, b);
}

static struct node *make(enum kind kind, int depth)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" };
	struct node *a, *b;

	if (depth <= 0 || n_nodes > 200)
		return kind == INT ? int_leaf() : real_leaf();
	switch (draw(6)) {
	case 0:
		return new_node(kind == INT && draw(2) ? "!" : "neg", kind, make(kind, depth - 1),
				NULL);
	case 1:
		if (kind == INT)
			return make_comparison(depth);
		/* fallthrough */
	case 2:
		if (kind == INT) {
			a = make(draw(4) ? INT : REAL, depth - 1);
			b = make(draw(4) ? INT : REAL, depth - 1);
			return new_node(draw(2) ? "&&" : "||", INT, a, b);
		}
		/* fallthrough */
	default:
		a = make(kind, depth - 1);
		b = make(kind == REAL && draw(2) ? INT : kind, depth - 1);
		return new_node(ops[draw(kind == INT ? 10 : 4)], kind, a, b);
	}
}

/* A table of its own: the operators as in duet-filter(7). */
static int strength(const struct node *n)
{
	static const char *const table[] = { "||",    "&&",  "== != < <= > >= ~ !~",
					     "|",     "^",   "&",
					     "<< >>", "+ -", "* / %" };

	if (!n->op)
		return 20;
	for (int i = 0; i < 9; i++)
		for (const char *p = table[i]; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
			if (!strncmp(p, n->op, strlen(n->op)) &&
			    (p[strlen(n->op)] == ' ' || !p[strlen(n->op)]))
				return i;
	return 10; /* unary */
}

static void write_node(const struct node *n, int least, char *out)
{
	bool in = strength(n) < least || draw(10) == 0;
	int own = strength(n);

	strcat(out, in ? "(" : "");
	if (!n->op) {
		strcat(out, n->text);
	} else if (!n->b) {
		strcat(out, *n->op == '!' ? "!" : "-");
		write_node(n->a, 10, out);
	} else {
		write_node(n->a, own == 2 ? 3 : own, out);
		strcat(strcat(strcat(out, draw(2) ? " " : ""), n->op), " ");
		write_node(n->b, own + 1, out);
	}
	strcat(out, in ? ")" : "");
}

/* Into the range of integers: exact, else modulo 2^64. */
static struct value integer(wide i)
{
	if (i < INT64_MIN || i > UINT64_MAX)
		i = (uint64_t)i;
	return (struct value){ .kind = INT, .i = i };
}

static double real_of(struct value v)
{
	return v.kind == REAL ? v.r : v.i < 0 ? (double)(int64_t)v.i : (double)(uint64_t)v.i;
}

static bool is_set(struct value v)
{
	return v.kind == REAL ? v.r != 0 : v.i != 0;
}

static wide shift(const char *op, wide a, wide n)
{
	if (n < 0)
		return 0;
	if (*op == '<')
		return n > 63 ? 0 : (wide)((unsigned __int128)a << n);
	return n > 127 ? (a < 0 ? -1 : 0) : a >> n;
}

static struct value compute(const char *op, struct value a, struct value b)
{
	double x = real_of(a), y = real_of(b);

	if (a.kind == REAL || b.kind == REAL)
		return (struct value){ .kind = REAL,
				       .r = *op == '+'	 ? x + y
					    : *op == '-' ? x - y
					    : *op == '*' ? x * y
					    : y != 0	 ? x / y
							 : 0 };
	switch (*op) {
	case '+':
		return integer(a.i + b.i);
	case '-':
		return integer(a.i - b.i);
	case '*': {
		wide product;

		if (__builtin_mul_overflow(a.i, b.i, &product))
			return (struct value){ .kind = INT, .i = (uint64_t)a.i * (uint64_t)b.i };
		return integer(product);
	}
	case '/':
		return integer(b.i ? a.i / b.i : 0);
	case '%':
		return integer(b.i ? a.i % b.i : 0);
	case '&':
		return integer(a.i & b.i);
	case '|':
		return integer(a.i | b.i);
	case '^':
		return integer(a.i ^ b.i);
	}
	return integer(shift(op, a.i, b.i));
}

/* Long double holds all integers of 64 bits, and their signs. */
static int order(struct value a, struct value b)
{
	long double x = a.kind == REAL ? (long double)a.r : (long double)a.i;
	long double y = b.kind == REAL ? (long double)b.r : (long double)b.i;

	if (a.kind == TEXT)
		return strcmp(a.t, b.t) < 0 ? -1 : strcmp(a.t, b.t) > 0;
	return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static bool is_like(const char *p, const char *s)
{
	if (!*p)
		return !*s;
	if (*p == '*')
		return is_like(p + 1, s) || (*s && is_like(p, s + 1));
	return *s && (*p == '?' || *p == *s) && is_like(p + 1, s + 1);
}

static bool compare(const char *op, struct value a, struct value b)
{
	int o;

	if (op[strlen(op) - 1] == '~')
		return is_like(b.t, a.t) == (*op == '~');
	o = order(a, b);
	if (*op == '=' || *op == '!')
		return (o == 0) == (*op == '=');
	return o != 2 && (o == (*op == '<' ? -1 : 1) || (op[1] == '=' && o == 0));
}

static struct value evaluate(const struct node *n)
{
	struct value a, b;

	if (!n->op)
		return n->value;
	a = evaluate(n->a);
	if (a.is_missing)
		return a;
	if (!strcmp(n->op, "!"))
		return integer(!is_set(a));
	if (!strcmp(n->op, "neg"))
		return a.kind == REAL ? (struct value){ .kind = REAL, .r = -a.r } : integer(-a.i);
	if (!strcmp(n->op, "&&") || !strcmp(n->op, "||")) {
		if (is_set(a) == (*n->op == '|'))
			return integer(is_set(a));
		b = evaluate(n->b);
		return b.is_missing ? b : integer(is_set(b));
	}
	b = evaluate(n->b);
	if (b.is_missing)
		return b;
	return strength(n) == 2 ? integer(compare(n->op, a, b)) : compute(n->op, a, b);
}

static long n_rounds = 30000, n_too_large, n_true;

static void one_round(long i)
{
	static char text[65536];
	struct filter_code code;
	struct filter_problem problem;
	struct value v;
	struct linked l;
	struct diag d;
	const struct node *n;
	bool want;
	int err;

	n_nodes = 0;
	set_fields();
	n = make(INT, 1 + (int)draw(5));
	*text = 0;
	write_node(n, 0, text);
	v = evaluate(n);
	want = !v.is_missing && is_set(v);
	err = filter_compile(text, &code, &d);
	if (err == -E2BIG) {
		n_too_large++;
		return;
	}
	if (err || !filter_payload_link(&l.f, sizeof l, code.bytes, code.size, schema,
					strlen(schema), ALL_CONTEXTS, &problem)) {
		printf("# round %ld: %s\n# %s\n", i, text, err ? d.text : "cannot be linked");
		test_n_failed++;
		return;
	}
	n_true += want;
	if (filter_run(&l.f, payload.bytes, payload.size, &contexts) != want) {
		printf("# round %ld: %s is %d in the tree\n# c=%d h=%llu d=%lld e=%d q=%g s=%s "
		       "t=%s n_y=%u\n",
		       i, text, want, field_c, (unsigned long long)field_h, (long long)field_d,
		       field_e, field_q, field_s, field_t, n_y);
		test_n_failed++;
	}
}

static void random_expressions_are_evaluated_as_trees_are(void)
{
	for (long i = 0; i < n_rounds && test_n_failed < 5; i++)
		one_round(i);
	printf("# %ld expressions, %ld true, %ld too large\n", n_rounds, n_true, n_too_large);
	ok(n_true > n_rounds / 10 && n_true < n_rounds * 9 / 10 && n_too_large < n_rounds / 10);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_rounds = atol(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	run(random_expressions_are_evaluated_as_trees_are);
	return test_status();
}
