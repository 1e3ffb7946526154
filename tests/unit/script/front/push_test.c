/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/script/push_test.c - conditions of scripts as filters of traced programs.
 *
 * push_test [ROUNDS [SEED]]: random conditions are evaluated here as scripts mean them, and as
 * filters over random events; the results must agree.
 */
#include "script/replay/push.h"

#include <inttypes.h>

#include "filter/compile.h"
#include "filter/payload.h"
#include "parse_script.h"

enum { STRING_BYTES = 16 };

/* The fields of the event, in this order. */
static const char schema[] = "13 t:e i8 a i16 b i32 c i64 d u8 f u32 g u64 h str s str t";
static const struct field {
	const char *name;
	enum push_kind kind;
	int64_t low, high;
} fields[] = {
	{ "a", PUSH_NUMBER, INT8_MIN, INT8_MAX },
	{ "b", PUSH_NUMBER, INT16_MIN, INT16_MAX },
	{ "c", PUSH_NUMBER, INT32_MIN, INT32_MAX },
	{ "d", PUSH_NUMBER, INT64_MIN, INT64_MAX },
	{ "f", PUSH_NUMBER, 0, UINT8_MAX },
	{ "g", PUSH_NUMBER, 0, UINT32_MAX },
	{ "h", PUSH_WIDE, 0, 0 },
	{ "s", PUSH_TEXT, 0, 0 },
	{ "t", PUSH_THERE, 0, 0 },
	{ "u", PUSH_UNSURE, 0, 0 },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static struct script_variable local = { .name = "local", .type = SCRIPT_LONG };
static struct script_variable global = {
	.name = "total", .type = SCRIPT_LONG, .is_global = true, .is_written = true
};
static struct script_variable fixed = { .name = "fixed", .type = SCRIPT_LONG, .is_global = true };

static enum push_kind find(struct push *p, const struct script_expr *e, struct push_field *f)
{
	const struct field *field = &fields[e->slot];

	(void)p;
	*f = (struct push_field){ field->name, field->low, field->high };
	return field->kind;
}

static int64_t value_of(struct push *p, const struct script_variable *v)
{
	(void)p;
	return v == &fixed ? 5 : 0;
}

static struct push push_of_test(void)
{
	return (struct push){ .find = find, .global = value_of, .string_bytes = STRING_BYTES };
}

/* The checker would find this out. */
static void annotate(struct script_expr *e)
{
	if (!e)
		return;
	e->type = e->kind == EXPR_TEXT ? SCRIPT_STRING : SCRIPT_LONG;
	if (e->kind == EXPR_CALL)
		e->builtin = script_builtin_find(e->text, 0);
	for (uint32_t i = 0; e->kind == EXPR_VARIABLE && i < N_FIELDS; i++)
		if (!strcmp(e->text, fields[i].name)) {
			e->slot = (int32_t)i;
			if (*e->text == 's' || *e->text == 't')
				e->type = SCRIPT_STRING;
		}
	if (e->kind == EXPR_VARIABLE && e->slot < 0)
		e->variable = !strcmp(e->text, "total")	  ? &global
			      : !strcmp(e->text, "fixed") ? &fixed
							  : &local;
	for (uint32_t i = 0; i < e->n_kids; i++)
		annotate(e->kids[i]);
}

static void annotate_stmt(struct script_stmt *s)
{
	if (!s)
		return;
	annotate(s->expr);
	for (uint32_t i = 0; i < s->n_body; i++)
		annotate_stmt(s->body[i]);
}

/* ---------------------------------------------------------------- conditions */

static const char *filter_of(const char *condition, struct parsed *p, struct text *t)
{
	struct push push = push_of_test();
	uint32_t source = parsed_open(p, condition);

	if (!ok(!script_parse_expression(&p->expr, &p->sources, source, false, &p->m)))
		return p->m.text.bytes;
	annotate(p->expr);
	return push_condition(&push, p->expr, t) ? t->bytes : "none";
}

static void condition_is(const char *condition, const char *want)
{
	struct text t = { 0 };
	struct parsed p;

	is_text(filter_of(condition, &p, &t), want);
	text_fini(&t);
	parsed_fini(&p);
}

static void conditions_over_fields_and_constants_are_pushed(void)
{
	condition_is("a > 3", "(a > 3)");
	condition_is("3 < a && s == \"x\\n\"", "((3 < a) && (s == \"x\\n\"))");
	condition_is("\"x\" != s || !(c & 4)", "((s != \"x\") || !((c & 4) != 0))");
	condition_is("a", "(a != 0)");
	condition_is("a + b * 2 == -c", "((a + (b * 2)) == (0 - c))");
	condition_is("~a == 1", "((-1 - a) == 1)");
	condition_is("d / 3 == 5 && d % -7 < 2", "(((d / 3) == 5) && ((d % (0 - 7)) < 2))");
	condition_is("(a < b) + (b < c) == 2", "(((a < b) + (b < c)) == 2)");
	condition_is("g << 4 > 100", "((g << 4) > 100)");
	condition_is("d >> 60 == 1", "((d >> 60) == 1)");
	condition_is("a == fixed", "(a == 5)");
	condition_is("h == 5", "(h == 5)");
	condition_is("5 < h", "(h > 5 && h <= 9223372036854775807)");
	condition_is("h <= 5", "(h <= 5 || h > 9223372036854775807)");
}

static void what_filters_compute_otherwise_is_refused(void)
{
	static const char *const conditions[] = {
		"d + 1 == 0",	"d * 2 > 1",   "-d == 1",
		"g << 32 == 0", "a / b == 1",  "a / 0 == 1",
		"d / -1 == 1",	"d % -1 == 0", "a << b == 1",
		"a >>> 1 == 1", "h + 1 == 2",  "h > -1",
		"h < d",	"h",	       "s < \"x\"",
		"s == t",	"t == \"x\"",  "u == 1",
		"local == 1",	"total == 1",  "a == total",
		"pid() == 3",	"a ? b : c",   "s =~ \"x\"",
		"a in x",	"a == 1 && u", "s == \"0123456789abcde\"",
	};

	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
		condition_is(conditions[i], "none");
	condition_is("s == \"0123456789abcd\"", "(s == \"0123456789abcd\")");
}

/* ---------------------------------------------------------------- handlers */

static void handler_is(const char *body, const char *want)
{
	struct push push = push_of_test();
	struct script_handler h = { .n_body = 1 };
	struct text t = { 0 }, whole = { 0 };
	struct filter_code code;
	struct parsed p;
	struct diag d;

	text_addf(&whole, "probe x { %s }", body);
	parse_with(&p, whole.bytes, NULL);
	if (ok(!p.err)) {
		h.body = &p.file->probes[0]->body;
		annotate_stmt(h.body[0]);
		is_text(push_handler(&push, &h, &t) ? t.bytes : "all", want);
		ok(!t.size || !filter_compile(t.bytes, &code, &d));
	}
	parsed_fini(&p);
	text_fini(&t);
	text_fini(&whole);
}

static void events_without_effect_are_not_needed(void)
{
	handler_is("if (a > 1) print(a)", "(a > 1)");
	handler_is("if (a > 1) { if (b > 2) print(a) }", "(a > 1) && (b > 2)");
	handler_is("if (a > 1) next; print(a)", "!(a > 1)");
	handler_is("if (a > 1 || b) next; if (c) print(a)", "!((a > 1) || (b != 0)) && (c != 0)");
	handler_is("if (a > 1) print(1) else if (b > 2) print(2)",
		   "(((a > 1)) || (!(a > 1) && (b > 2)))");
	handler_is("if (a > 1 && pid() == 5) print(a)", "((a > 1))");
	handler_is("if (!(a > 1 || pid() == 5)) print(a)", "(!(a > 1))");
	handler_is("if (total) { if (a > 1) print(a) }", "(a > 1)");
	handler_is("if (!total) next; if (a > 1) print(a)", "(a > 1)");
	handler_is("local = a * 2; if (a > 1) print(local)", "(a > 1)");
	handler_is("if (a > 1) total++; else ;", "(a > 1)");
	handler_is("if (s == \"x\") total += c", "(s == \"x\")");
}

static void whatever_may_have_an_effect_needs_all_events(void)
{
	static const char *const bodies[] = {
		"print(1)",
		"total++",
		"if (a > 1) print(1) else print(2)",
		"if (pid() == 1) print(1)",
		"if (a > 1) ; print(a)",
		"if (u > 1 && a > 1) print(1)",
		"if (a / b) next; if (a > 1) print(1)",
		"if (total++ && a > 1) print(1)",
		"while (a > 1) print(1)",
		"local = a; if (local > 1) print(1)",
		"total = 1; if (a > 1) print(1)",
		"if (a > 1 || pid() == 5) print(a)",
		"try { if (a > 1) print(1) } catch { }",
		"exit()",
	};

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		handler_is(bodies[i], "all");
}

static void what_changes_locals_only_is_passed_over(void)
{
	struct text t = { 0 };

	for (int i = 0; i < 30; i++)
		text_addf(&t, "if (a == %d) { local = 1 } else { if (b) local = 2; ; } ", i);
	text_addf(&t, "if (a > 1) print(1)");
	handler_is(t.bytes, "(a > 1)");
	text_fini(&t);
}

static void long_handlers_are_given_up(void)
{
	struct text t = { 0 };

	for (int i = 0; i < 300; i++)
		text_addf(&t, "if (a == %d) next; ", i);
	text_addf(&t, "if (b > 1) print(1)");
	handler_is(t.bytes, "all");
	text_fini(&t);
}

/* ---------------------------------------------------------------- agreement */

static uint64_t state;

static uint64_t random_number(void) /* Marsaglia, Xorshift RNGs, 2003 */
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

struct event {
	int64_t values[7]; /* a to h, as scripts have them */
	const char *s;
};

static int64_t random_value(void)
{
	static const int64_t edges[] = { 0,  1,	  -1,	     2,		5,	  63,
					 64, 127, INT32_MAX, INT64_MAX, INT64_MIN };
	uint64_t r = random_number();

	return r & 1 ? edges[(r >> 8) % (sizeof edges / sizeof *edges)]
		     : (int64_t)(random_number() >> (r >> 8 & 63));
}

static void make_event(struct event *e, struct filter_code *payload)
{
	static const uint8_t sizes[] = { 1, 2, 4, 8, 1, 4, 8 };
	static const char *const texts[] = { "", "x", "xy", "0123456789abcd",
					     "0123456789abcdefgh" };

	payload->size = 0;
	for (int i = 0; i < 7; i++) {
		int64_t v = random_value();

		memcpy(payload->bytes + payload->size, &v, sizes[i]);
		payload->size += sizes[i];
		e->values[i] = i == 0	? (int8_t)v
			       : i == 1 ? (int16_t)v
			       : i == 2 ? (int32_t)v
			       : i == 4 ? (uint8_t)v
			       : i == 5 ? (uint32_t)v
					: v;
	}
	e->s = texts[random_number() % 5];
	memcpy(payload->bytes + payload->size, e->s, strlen(e->s) + 1);
	payload->size += (uint32_t)strlen(e->s) + 1;
	payload->bytes[payload->size++] = 0;
}

static void make_number(struct text *t, int depth)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" };
	static const char *const consts[] = { "0",
					      "1",
					      "2",
					      "3",
					      "7",
					      "60",
					      "255",
					      "-1",
					      "-5",
					      "9223372036854775807",
					      "-9223372036854775808" };
	uint64_t r = random_number() % 8;

	if (depth <= 0 || r < 3) {
		text_addf(t, "%s", fields[random_number() % 7].name);
	} else if (r == 3) {
		text_addf(t, "%s", consts[random_number() % (sizeof consts / sizeof *consts)]);
	} else if (r == 4) {
		text_addf(t, "%s(", random_number() & 1 ? "~" : "-");
		make_number(t, depth - 1);
		text_addf(t, ")");
	} else {
		text_addf(t, "(");
		make_number(t, depth - 1);
		text_addf(t, " %s ", ops[random_number() % 10]);
		make_number(t, random_number() & 1 ? 0 : depth - 1);
		text_addf(t, ")");
	}
}

static void make_truth(struct text *t, int depth)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	uint64_t r = random_number() % 8;

	if (r < 2 && depth > 0) {
		text_addf(t, "(");
		make_truth(t, depth - 1);
		text_addf(t, random_number() & 1 ? " && " : " || ");
		make_truth(t, depth - 1);
		text_addf(t, ")");
	} else if (r == 2) {
		text_addf(t, "!");
		text_addf(t, "(");
		make_truth(t, depth - 1);
		text_addf(t, ")");
	} else if (r == 3) {
		text_addf(t, random_number() & 1 ? "s == \"x\"" : "s != \"0123456789abcd\"");
	} else if (r == 4) {
		make_number(t, depth);
	} else {
		make_number(t, depth);
		text_addf(t, " %s ", ops[random_number() % 6]);
		make_number(t, depth);
	}
}

/* As the machine of scripts computes; what fails there is never asked for. */
static int64_t evaluate(const struct script_expr *e, const struct event *event)
{
	int64_t x, y;
	char cut[STRING_BYTES];
	int differs;

	if (e->slot >= 0)
		return event->values[e->slot];
	if (e->kind == EXPR_NUMBER)
		return e->number;
	if (e->kids[0]->type == SCRIPT_STRING) {
		snprintf(cut, sizeof cut, "%s", event->s);
		differs = strcmp(cut, e->kids[1]->text);
		return e->op == SCRIPT_EQ ? !differs : !!differs;
	}
	x = evaluate(e->kids[0], event);
	if (e->kind == EXPR_UNARY)
		return e->op == SCRIPT_NOT	? !x
		       : e->op == SCRIPT_INVERT ? ~x
						: (int64_t)(0 - (uint64_t)x);
	if (e->op == SCRIPT_AND_THEN || e->op == SCRIPT_OR_ELSE)
		return (e->op == SCRIPT_AND_THEN) == !!x ? !!evaluate(e->kids[1], event) : !!x;
	y = evaluate(e->kids[1], event);
	switch (e->op) {
	case SCRIPT_ADD:
		return (int64_t)((uint64_t)x + (uint64_t)y);
	case SCRIPT_SUB:
		return (int64_t)((uint64_t)x - (uint64_t)y);
	case SCRIPT_MUL:
		return (int64_t)((uint64_t)x * (uint64_t)y);
	case SCRIPT_DIV:
		return x / y;
	case SCRIPT_MOD:
		return x % y;
	case SCRIPT_AND:
		return x & y;
	case SCRIPT_OR:
		return x | y;
	case SCRIPT_XOR:
		return x ^ y;
	case SCRIPT_SHL:
		return (int64_t)((uint64_t)x << y);
	case SCRIPT_SHR:
		return x >> y;
	case SCRIPT_EQ:
		return x == y;
	case SCRIPT_NE:
		return x != y;
	case SCRIPT_LT:
		return x < y;
	case SCRIPT_LE:
		return x <= y;
	case SCRIPT_GT:
		return x > y;
	default:
		return x >= y;
	}
}

/* Whether @filter over the event gives what @e gives. */
static bool agrees(const struct script_expr *e, const char *filter)
{
	static uint64_t room[FILTER_LINKED_BYTES_MAX / 8];
	static const struct filter_source none;
	struct filter_problem problem;
	struct filter_code code, payload;
	struct event event;
	struct diag d;

	if (filter_compile(filter, &code, &d))
		return true; /* too long: it would not be used */
	if (filter_payload_link((struct filter *)room, sizeof room, code.bytes, code.size, schema,
				strlen(schema), 0, &problem) == 0)
		return true;
	for (int i = 0; i < 20; i++) {
		make_event(&event, &payload);
		if (filter_run((struct filter *)room, payload.bytes, payload.size, &none) !=
		    !!evaluate(e, &event))
			return false;
	}
	return true;
}

static unsigned rounds = 20000;

static void filters_agree_with_the_conditions_they_were(void)
{
	unsigned n_pushed = 0;

	for (unsigned i = 0; i < rounds; i++) {
		struct text condition = { 0 }, filter = { 0 };
		struct parsed p;

		make_truth(&condition, 3);
		if (strcmp(filter_of(condition.bytes, &p, &filter), "none")) {
			n_pushed++;
			if (!ok(agrees(p.expr, filter.bytes)))
				printf("# %s\n# %s\n", condition.bytes, filter.bytes);
		}
		parsed_fini(&p);
		text_fini(&condition);
		text_fini(&filter);
	}
	ok(n_pushed > rounds / 10);
	printf("# %u of %u conditions pushed\n", n_pushed, rounds);
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : rounds;
	state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : 88172645463325252;
	run(conditions_over_fields_and_constants_are_pushed);
	run(what_filters_compute_otherwise_is_refused);
	run(events_without_effect_are_not_needed);
	run(whatever_may_have_an_effect_needs_all_events);
	run(what_changes_locals_only_is_passed_over);
	run(long_handlers_are_given_up);
	run(filters_agree_with_the_conditions_they_were);
	return test_status();
}
