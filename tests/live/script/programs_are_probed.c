/* SPDX-License-Identifier: MIT */
/*
 * tests/live/script/programs_are_probed.c - functions of a program that duet did not instrument:
 * their parameters, members of structures, results, counts.
 *
 * As a workload: programs_are_probed TIMES.
 */
#include "live_script.h"

struct item {
	int id;
	char kind[8];
	const char *name;
	struct item *next;
};

__attribute__((noipa)) int sell(struct item *item, long amount, const char *who);
__attribute__((noipa)) int sell(struct item *item, long amount, const char *who)
{
	return item->id * (int)amount + (who[0] == 'x');
}

static char self[4096];

static int work(long times)
{
	struct item tea = { 7, "leaf", "tea", NULL }, salt = { 5, "crystal", "salt", &tea };
	int sum = 0;

	for (long i = 0; i < times; i++)
		sum += sell(&salt, i, "a customer");
	return sum < 0;
}

/* What @handler prints at .call or .return of sell(). */
static void prints(const char *at, const char *handler, const char *wanted)
{
	struct live l = { 0 };
	char text[5000], command[4200];

	snprintf(text, sizeof text, "probe process(\"%s\").function(\"sell\")%s { %s }", self, at,
		 handler);
	snprintf(command, sizeof command, "%s 2", self);
	if (live_run(&l, text, command))
		is_text(l.out.bytes, wanted);
	is(l.result.n_errors, 0);
	live_close(&l);
}

static void parameters_and_members_are_read(void)
{
	prints("", "printf(\"%s %d %s,\", ppfunc(), $amount, user_string($who))",
	       "sell 0 a customer,sell 1 a customer,");
	prints(".call",
	       "printf(\"%d %s %d %s,\", $item->id, $item->kind, $item->next->id, "
	       "user_string($item->next->name))",
	       "5 crystal 7 tea,5 crystal 7 tea,");
	prints("", "printf(\"%d %d,\", $arg2, int_arg(2))", "0 0,1 1,");
	prints(".return", "printf(\"%d %d,\", $return, returnval())", "0 0,5 5,");
}

static void calls_are_counted_in_the_kernel(void)
{
	struct live l = { 0 };
	char text[5000], command[4200];

	snprintf(text, sizeof text,
		 "global n, all; probe process(\"%s\").function(\"sell\") { n[$amount & 1]++; "
		 "all++ } "
		 "probe end { printf(\"%%d %%d %%d\", n[0], n[1], all) }",
		 self);
	snprintf(command, sizeof command, "%s 1001", self);
	live_run(&l, text, command);
	ok(strstr(l.words.bytes, "folded into the kernel"));
	is_text(l.out.bytes, "501 500 1001");
	live_close(&l);
}

static bool is_refused(const char *what, const char *reason)
{
	struct live l = { 0 };
	char text[5000];
	bool is_reason;

	snprintf(text, sizeof text, "probe process(\"%s\").function(%s }", self, what);
	ok(!live_compile(&l, text));
	is_reason = l.errors.bytes && strstr(l.errors.bytes, reason);
	if (!is_reason)
		printf("# %s\n", l.errors.bytes ? l.errors.bytes : "");
	live_close(&l);
	return is_reason;
}

static void mistakes_are_answered_with_the_nearest_name(void)
{
	ok(is_refused("\"sall\") {", "did you mean `sell`?"));
	ok(is_refused("\"sell\") { println($amont)", "did you mean `amount`?"));
	ok(is_refused("\"sell\") { println($item->nxt)", "did you mean `next`?"));
	ok(is_refused("\"sell\").return { println($amount)", "@entry($amount)"));
}

int main(int argc, char **argv)
{
	struct diag d;

	if (argc > 1)
		return work(atol(argv[1]));
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || script_kernel_rights(&d))
		skip("needs root: programs are loaded into the kernel");
	run(parameters_and_members_are_read);
	run(calls_are_counted_in_the_kernel);
	run(mistakes_are_answered_with_the_nearest_name);
	return test_status();
}
