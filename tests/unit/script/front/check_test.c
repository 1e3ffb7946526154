/* SPDX-License-Identifier: MIT */
/*
 * script/check_test.c - what scripts mean, and what is wrong with them.
 *
 * The cases are files of blocks: a script, a line "--", then the messages and the resolved program.
 * check_test --write FILE writes what is printed today; it is to be read before it is committed.
 */
#include "make_script.h"

static const char rule[] = "==\n", dash[] = "--\n";

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "r");
	char *bytes = calloc(1, 1 << 20);
	size_t n = f && bytes ? fread(bytes, 1, (1 << 20) - 1, f) : 0;

	if (f)
		fclose(f);
	if (!n)
		skip("no cases");
	return bytes;
}

static const char library[] =
	"probe scheduler.on = kernel.trace(\"sched_switch\") { pid = $next_pid; name = \"on\" }\n"
	"probe scheduler.ready = kernel.trace(\"sched_wakeup\") { pid = $pid; name = \"ready\" }\n"
	"function twice(n) { return n * 2 }\n"
	"global seen\n"
	"function visits() { return ++seen }\n";

/* A first line "# -u", "# --skip-badvars" or "# -L POINT" is an option. */
static void resolve(struct text *out, const char *script)
{
	struct made m = { .library = library };
	bool lists = !strncmp(script, "# -L ", 5);

	m.options.keeps_unused = !strncmp(script, "# -u", 4);
	m.options.skips_bad_values = !strncmp(script, "# --skip", 8);
	make_script(&m, lists ? "probe never {}" : script);
	if (lists) {
		struct script_point *p;
		int64_t source = script_sources_add(&m.sources, "point", script + 5,
						    strcspn(script + 5, "\n"));

		if (!script_parse_point(&p, &m.sources, (uint32_t)source, &m.messages))
			script_check_list(out, p, true, m.files, m.n_files, &m.sources, &m.world,
					  NULL, &m.messages);
	}
	if (m.messages.text.bytes)
		text_addf(out, "%s", m.messages.text.bytes);
	if (m.program && !lists)
		script_program_print(out, m.program);
	ok((m.result == 0) == (m.messages.n_errors == 0) || lists);
	unmake_script(&m);
}

static void run_case(const char *script, const char *want)
{
	struct text out = { 0 };

	resolve(&out, script);
	if (!test_is_text(out.bytes ? out.bytes : "", want, script, __FILE__, __LINE__))
		printf("# of this script\n");
	text_fini(&out);
}

static void write_cases(char *cases, FILE *f)
{
	bool first = true;

	for (char *at = cases, *next; at; at = next) {
		struct text out = { 0 };
		char *end = strstr(at, rule), *answer;

		next = end ? end + strlen(rule) : NULL;
		if (end)
			*end = 0;
		answer = strstr(at, dash);
		if (answer)
			*answer = 0;
		resolve(&out, at);
		fprintf(f, "%s%s--\n%s", first ? "" : rule, at, out.bytes ? out.bytes : "");
		first = false;
		text_fini(&out);
	}
}

static char *cases;

static void a_script_means_and_reports_what_its_case_states(void)
{
	unsigned n = 0;

	for (char *at = cases, *next; at; at = next) {
		char *end = strstr(at, rule), *answer;

		next = end ? end + strlen(rule) : NULL;
		if (end)
			*end = 0;
		answer = strstr(at, dash);
		if (!ok(answer != NULL))
			return;
		*answer = 0;
		run_case(at, answer + strlen(dash));
		n++;
	}
	printf("# %u scripts\n", n);
}

/* The names of this kernel are not in the cases: it may have other ones. */
static void names_of_enumerations_are_numbers_and_back(void)
{
	struct made m = { 0 };
	struct text t = { 0 };

	make_script(&m,
		    "probe begin { x = @enum(\"PIDTYPE_PID\"); println(@enumname(x, \"pid_type\")) "
		    "println(@defined(@enum(\"NO_SUCH_NAME\"))) }");
	if (m.messages.n_errors && strstr(m.messages.text.bytes, "types")) {
		printf("# this kernel has no BTF\n");
	} else if (ok(m.program != NULL)) {
		script_program_print(&t, m.program);
		ok(strstr(t.bytes, "x = 0;"));
		ok(strstr(t.bytes, "\"PIDTYPE_PID\""));
		ok(strstr(t.bytes, "println(0)"));
	}
	text_fini(&t);
	unmake_script(&m);
}

static void an_unknown_name_of_an_enumeration_is_an_error(void)
{
	struct made m = { 0 };

	make_script(
		&m,
		"probe begin { println(@enum(\"PIDTYPE_TGIX\"), @enumname(pid(), \"pid_type\")) }");
	is(m.result, -EINVAL);
	if (!strstr(m.messages.text.bytes, "types"))
		ok(strstr(m.messages.text.bytes, "did you mean") &&
		   strstr(m.messages.text.bytes, "takes a variable"));
	unmake_script(&m);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--write")) {
		FILE *f;

		cases = read_whole(argv[2]);
		f = fopen(argv[2], "w");
		write_cases(cases, f);
		fclose(f);
	} else if (argc == 2) {
		cases = read_whole(argv[1]);
		run(a_script_means_and_reports_what_its_case_states);
		run(names_of_enumerations_are_numbers_and_back);
		run(an_unknown_name_of_an_enumeration_is_an_error);
	}
	free(cases);
	return test_status();
}
