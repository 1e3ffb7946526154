/* SPDX-License-Identifier: MIT */
/*
 * script/check_random_test.c - random scripts, most of them wrong: the checker ends, reports what it
 * refuses, and the compiler and the verifier take what it accepts.
 *
 *	check_random_test [COUNT [SEED]]
 */
#include <unistd.h>

#include "make_script.h"
#include "script/code/code.h"

static uint64_t state;

static unsigned pick(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 33) % n);
}

#define ONE_OF(list) (list)[pick(sizeof(list) / sizeof *(list))]

static const char *const names[] = { "a", "b", "c", "g", "h", "s", "t", "name", "argstr" };
static const char *const globals[] = { "g", "h", "s" };
static const char *const sites[] = {
	"$filename",	    "$flags", "$return", "$fd",	     "$next",	   "$nothing",
	"$next_comm",	    "$$vars", "$$parms", "$$return", "$next->pid", "@cast(t, \"x\")->y",
	"kernel_string(t)", "t->z"
};
static const char *const operators[] = { "+", "-", "*",	 "/",  "%", "<<", ">>", "&", "|",
					 "^", ".", "==", "!=", "<", ">",  "&&", "||" };
static const char *const assignments[] = { "=", "=", "=", "+=", ".=", "<<<", "-=" };
static const char *const statistics[] = { "count", "sum",      "min",	  "max",
					  "avg",   "variance", "hist_log" };
static const char *const points[] = { "begin",
				      "end",
				      "timer.s(1)",
				      "syscall.open",
				      "syscall.*",
				      "syscall.*.return",
				      "kernel.trace(\"sched_*\")",
				      "my.*",
				      "my.one",
				      "my.two.return",
				      "nowhere",
				      "syscall.close ?",
				      "app.shop.order !" };

static void expression(struct text *t, unsigned depth);

static void several(struct text *t, unsigned depth, unsigned most)
{
	for (unsigned n = 1 + pick(most), i = 0; i < n; i++) {
		text_addf(t, "%s", i ? ", " : "");
		expression(t, depth);
	}
}

static void call(struct text *t, unsigned depth)
{
	static const char *const functions[] = { "f",	   "f",	     "r",    "pid",    "execname",
						 "strlen", "substr", "exit", "sprint", "println",
						 "min",	   "p",	     "q",    "twice" };

	text_addf(t, "%s(", ONE_OF(functions));
	if (pick(4))
		several(t, depth, 3);
	text_addf(t, ")");
}

static void element(struct text *t, unsigned depth)
{
	text_addf(t, "%s[", ONE_OF(globals));
	several(t, depth, 2);
	text_addf(t, "]");
}

static void inner(struct text *t, unsigned depth)
{
	switch (pick(10)) {
	case 0:
	case 1:
		text_addf(t, "(");
		expression(t, depth);
		text_addf(t, " %s ", ONE_OF(operators));
		expression(t, depth);
		text_addf(t, ")");
		break;
	case 2:
		text_addf(t, "(");
		expression(t, depth);
		text_addf(t, " ? ");
		expression(t, depth);
		text_addf(t, " : ");
		expression(t, depth);
		text_addf(t, ")");
		break;
	case 3:
		call(t, depth);
		break;
	case 4:
		element(t, depth);
		break;
	case 5:
		text_addf(t, "@%s(%s)", ONE_OF(statistics), ONE_OF(globals));
		break;
	case 6:
		text_addf(t, "@defined(");
		expression(t, depth);
		text_addf(t, ")");
		break;
	case 7:
		text_addf(t, "@entry(");
		expression(t, depth);
		text_addf(t, ")");
		break;
	case 8:
		text_addf(t, "@choose_defined(");
		expression(t, depth);
		text_addf(t, ", ");
		expression(t, depth);
		text_addf(t, ")");
		break;
	default:
		text_addf(t, "(%s %s ", ONE_OF(names), ONE_OF(assignments));
		expression(t, depth);
		text_addf(t, ")");
		break;
	}
}

static void expression(struct text *t, unsigned depth)
{
	if (depth && pick(3)) {
		inner(t, depth - 1);
		return;
	}
	switch (pick(6)) {
	case 0:
		text_addf(t, "%u", pick(5));
		break;
	case 1:
		text_addf(t, "\"x\"");
		break;
	case 2:
		text_addf(t, "%s", ONE_OF(sites));
		break;
	default:
		text_addf(t, "%s", ONE_OF(names));
		break;
	}
}

static void statement(struct text *t, unsigned depth, bool in_function)
{
	switch (pick(depth ? 11 : 5)) {
	case 0:
	case 1:
	case 2:
		text_addf(t, "%s %s ", ONE_OF(names), ONE_OF(assignments));
		expression(t, 2);
		break;
	case 3:
		element(t, 1);
		text_addf(t, " %s ", ONE_OF(assignments));
		expression(t, 2);
		break;
	case 4:
		text_addf(t, "printf(\"%%d %%s\\n\", ");
		expression(t, 2);
		text_addf(t, ", ");
		expression(t, 2);
		text_addf(t, ")");
		break;
	case 5:
		text_addf(t, "if (");
		expression(t, 2);
		text_addf(t, ") ");
		statement(t, depth - 1, in_function);
		text_addf(t, " else ");
		statement(t, depth - 1, in_function);
		return;
	case 6:
		text_addf(t, "foreach ([%s, %s] in %s) { ", ONE_OF(names), ONE_OF(names),
			  ONE_OF(globals));
		statement(t, depth - 1, in_function);
		text_addf(t, " break }");
		return;
	case 7:
		text_addf(t, "foreach (%s in %s+ limit 3) { ", ONE_OF(names), ONE_OF(globals));
		statement(t, depth - 1, in_function);
		text_addf(t, " }");
		return;
	case 8:
		text_addf(t, "try { ");
		statement(t, depth - 1, in_function);
		text_addf(t, " } catch (%s) { ", ONE_OF(names));
		statement(t, depth - 1, in_function);
		text_addf(t, " }");
		return;
	case 9:
		text_addf(t, "delete %s", ONE_OF(globals));
		break;
	default:
		text_addf(t, in_function ? "return " : "println(");
		expression(t, 2);
		text_addf(t, in_function ? "" : ")");
		break;
	}
	text_addf(t, ";");
}

static void body(struct text *t, bool in_function)
{
	text_addf(t, "{ ");
	for (unsigned n = 1 + pick(3); n--;) {
		statement(t, 2, in_function);
		text_addf(t, " ");
	}
	text_addf(t, "}\n");
}

static void script(struct text *t)
{
	text_addf(t, "global g, h, s\n");
	text_addf(t, "function f(a) ");
	body(t, true);
	text_addf(t, "function r(a, b) ");
	body(t, true);
	text_addf(t, "function p(a) { return ");
	expression(t, 2);
	text_addf(t, " } function q(t) { return t->%s }\n", ONE_OF(names));
	text_addf(t, "probe my.one = syscall.open ");
	body(t, false);
	text_addf(t, "probe my.two = my.one, %s ", ONE_OF(points));
	body(t, false);
	for (unsigned n = 1 + pick(3); n--;) {
		text_addf(t, "probe %s", ONE_OF(points));
		if (!pick(5)) {
			text_addf(t, " if (");
			expression(t, 1);
			text_addf(t, ")");
		}
		text_addf(t, " ");
		body(t, false);
	}
}

static unsigned n_accepted, n_refused;

static void take(struct made *m, const char *text)
{
	static const struct script_limits limits;
	struct script_unit *unit;
	struct diag d = { "" };
	struct text t = { 0 };
	int err;

	n_accepted++;
	script_program_print(&t, m->program);
	if (!ok(m->messages.n_errors == 0))
		printf("# accepted, with errors: %s", text);
	err = script_code(&unit, m->program, &limits, &m->messages);
	if (!ok(!err || err == -E2BIG || err == -ENOMEM))
		printf("# not compiled (%d):\n%s%s", err, text,
		       m->messages.text.bytes ? m->messages.text.bytes : "");
	if (!err && !ok(!script_verify(unit, &d)))
		printf("# not verified: %s\n%s%s", d.text, text, t.bytes);
	text_fini(&t);
}

/* @most: bytes of memory; 0: enough. */
static void check_text(const char *text, size_t most, bool keeps_unused)
{
	struct made m = { .arena = { .most = most },
			  .library = "function twice(n) { return n + n }\n",
			  .options = { .keeps_unused = keeps_unused } };

	make_script(&m, text);
	if (m.result == 0) {
		take(&m, text);
	} else {
		n_refused++;
		if (!ok(m.result == -ENOMEM || (m.result == -EINVAL && m.messages.n_errors)))
			printf("# refused (%d) without a message: %s", m.result, text);
	}
	unmake_script(&m);
}

static unsigned count = 3000;

static void any_script_is_accepted_or_refused_with_a_message(void)
{
	for (unsigned i = 0; i < count && !test_n_failed; i++) {
		struct text t = { 0 };

		alarm(20); /* a script that does not end is a failure */
		script(&t);
		check_text(t.bytes, 0, i & 1);
		text_fini(&t);
	}
	printf("# %u accepted, %u refused\n", n_accepted, n_refused);
	ok(n_accepted > count / 100);
}

/* Some bytes of @t change places, or are left out. */
static void damage(struct text *t)
{
	for (unsigned n = 1 + pick(4); n-- && t->size > 8;) {
		unsigned at = pick((unsigned)t->size - 4), other = pick((unsigned)t->size - 4);
		size_t size = 1 + pick(3);

		if (pick(2))
			memmove(t->bytes + at, t->bytes + other, size);
		else
			memset(t->bytes + at, ' ', size);
	}
}

static void a_damaged_script_too(void)
{
	for (unsigned i = 0; i < count && !test_n_failed; i++) {
		struct text t = { 0 };

		alarm(20);
		script(&t);
		damage(&t);
		check_text(t.bytes, 0, false);
		text_fini(&t);
	}
}

/* Each function and local stands in the next one. */
static void what_becomes_too_high_is_refused(void)
{
	struct text t = { 0 };
	struct made m = { 0 };

	text_addf(&t, "function f0(t) { return @cast(t, \"a\")->b }\n");
	for (unsigned i = 1; i < 8; i++) {
		text_addf(&t, "function f%u(t) { x0 = f%u(t); ", i, i - 1);
		for (unsigned k = 1; k < 14; k++) {
			text_addf(&t, "x%u = x%u", k, k - 1);
			for (unsigned n = 0; n < 100; n++)
				text_addf(&t, " + %u", n);
			text_addf(&t, "; ");
		}
		text_addf(&t, "return x13 }\n");
	}
	text_addf(&t, "probe syscall.open { println(f7($flags)) }\n");
	make_script(&m, t.bytes);
	is(m.result, -EINVAL);
	ok(m.messages.n_errors == 1 && strstr(m.messages.text.bytes, "nested more than"));
	unmake_script(&m);
	text_fini(&t);
}

static void without_memory_it_ends_too(void)
{
	static const char text[] =
		"global a, s function f(x) { return x . \"a\" } probe my = syscall.open { n = name "
		"}\n"
		"probe my, syscall.*.return { a[name, @entry(pid())]++; s <<< pid(); "
		"println($$vars) }\n"
		"probe end { foreach ([x, y] in a) println(f(x), y); print(@hist_log(s)) }\n";

	for (size_t most = 1000; most < 200000; most += most / 40) {
		alarm(20);
		check_text(text, most, false);
	}
}

int main(int argc, char **argv)
{
	state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : 88172645463325252ull;
	if (argc > 1)
		count = (unsigned)strtoul(argv[1], NULL, 0);
	run(any_script_is_accepted_or_refused_with_a_message);
	run(a_damaged_script_too);
	run(what_becomes_too_high_is_refused);
	run(without_memory_it_ends_too);
	return test_status();
}
