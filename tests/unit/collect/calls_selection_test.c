/* SPDX-License-Identifier: MIT */
/* Unit tests of collect/calls: patterns of --graph, the selection and its changes. */
#include "collect/calls/patterns.h"
#include "collect/calls/selection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static int dir;

static bool next_is(char **rest, const char *want)
{
	const char *p = calls_next_pattern(rest);

	return want ? p && !strcmp(p, want) : !p;
}

static void commas_between_brackets_do_not_divide_a_list(void)
{
	char list[] = "a:f(int, char<1,2>),!b:g,*:std::map<int,int>::find,c:h";
	char *rest = list, empty[] = "", open[] = "a:f(x,y", *rest_of_open = open;

	ok(next_is(&rest, "a:f(int, char<1,2>)"));
	ok(next_is(&rest, "!b:g"));
	ok(next_is(&rest, "*:std::map<int,int>::find"));
	ok(next_is(&rest, "c:h"));
	ok(next_is(&rest, NULL));
	rest = empty;
	ok(next_is(&rest, ""));
	ok(next_is(&rest, NULL));
	ok(next_is(&rest_of_open, "a:f(x,y"));
}

static void a_colon_makes_a_pattern_one_of_programs_except_for_modules(void)
{
	ok(calls_pattern_is_program("lua5.4:luaV_*"));
	ok(calls_pattern_is_program("!libc.so.6:*"));
	ok(calls_pattern_is_program("*:ns::f"));
	ok(!calls_pattern_is_program("ext4_*"));
	ok(!calls_pattern_is_program("mod:xfs"));
	ok(!calls_pattern_is_program("ext4_*:mod:ext4"));
	ok(!calls_pattern_is_program("@file"));
	ok(calls_pattern_is_whole("!a:f"));
	ok(!calls_pattern_is_whole("a:"));
	ok(!calls_pattern_is_whole(":f"));
	ok(!calls_pattern_is_whole("!:f"));
	ok(!calls_pattern_is_whole("a:@"));
}

/* The patterns, divided by blanks. */
static const char *patterns_of(const struct selection *s)
{
	static char text[4096];

	*text = 0;
	for (uint32_t i = 0; i < s->n_patterns; i++)
		sprintf(text + strlen(text), "%s%s", i ? " " : "", s->patterns[i]);
	return text;
}

static int change(struct selection *s, const char *text)
{
	struct json_line l;
	struct diag d = { "" };

	is(json_line_parse(&l, text, strlen(text)), 0);
	return selection_change(s, &l, &d);
}

static void the_file_holds_the_whole_selection(void)
{
	static struct selection s, read;
	const char *patterns[] = { "lua5.4:*", "!*:luaM_*" };
	const struct calls_options o = { .patterns = patterns,
					 .n_patterns = 2,
					 .mode = ABI_CALLS_OVER,
					 .depth = 7,
					 .threshold_ns = 10000,
					 .within = "lua5.4:main" };

	is(selection_begin(&s, &o, NULL), 0);
	is(selection_write(&s, dir), 0);
	is(selection_read(&read, dir), 0);
	is_text(patterns_of(&read), "lua5.4:* !*:luaM_*");
	is(read.mode, ABI_CALLS_OVER);
	is(read.depth, 7);
	is(read.threshold_ns, 10000);
	is(read.elide_under_ns, 1000);
	is(read.generation, 1);
	is(read.n_within, 1);
	ok(!strcmp(read.within[0], "lua5.4:main"));
}

static void requests_add_and_exclude_patterns(void)
{
	static struct selection s;

	selection_begin(&s, &(struct calls_options){ .n_patterns = 0 }, NULL);
	is(change(&s, "{\"verb\":\"disable\",\"graph\":\"a:b\"}"), 0);
	is_text(patterns_of(&s), ""); /* nothing chose it */
	is(change(&s, "{\"verb\":\"enable\",\"graph\":\"a:*,!a:g\"}"), 0);
	is_text(patterns_of(&s), "a:* !a:g");
	is(change(&s, "{\"verb\":\"disable\",\"graph\":\"a:f\"}"), 0);
	is_text(patterns_of(&s), "a:* !a:g !a:f");
	is(change(&s, "{\"verb\":\"enable\",\"graph\":\"a:f\"}"), 0);
	is_text(patterns_of(&s), "a:* !a:g a:f");
	is(change(&s, "{\"verb\":\"disable\",\"graph\":\"!a:g\"}"), 0);
	is_text(patterns_of(&s), "a:* a:f a:g");
	is(s.generation, 6);
}

static void requests_set_how_calls_are_recorded(void)
{
	static struct selection s;

	selection_begin(&s, &(struct calls_options){ .n_patterns = 0 }, NULL);
	is(change(&s,
		  "{\"verb\":\"enable\",\"graph\":\"\",\"graph_mode\":\"over\",\"graph_over_ns\":5,"
		  "\"graph_depth\":3,\"graph_elide_ns\":9,\"graph_within\":\"a:m\"}"),
	   0);
	is(s.mode, ABI_CALLS_OVER);
	is(s.threshold_ns, 5);
	is(s.depth, 3);
	is(s.elide_under_ns, 9);
	is(s.n_within, 1);
	is(change(&s, "{\"verb\":\"enable\",\"graph\":\"\",\"graph_within\":\"\"}"), 0);
	is(s.n_within, 0);
}

static void a_refused_request_changes_nothing(void)
{
	static const char *const refused[] = {
		"{\"verb\":\"enable\",\"graph\":\"kernel_function\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x,\",\"graph_mode\":\"all\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x,mod:xfs\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x\",\"graph_depth\":70000}",
		"{\"verb\":\"enable\",\"graph\":\"a:x\",\"graph_depth\":\"1\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x\\n+b:y\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x\",\"graph_within\":\"x\"}",
		"{\"verb\":\"enable\",\"graph\":7}",
		"{\"verb\":\"enable\",\"graph\":\"a:\"}",
		"{\"verb\":\"enable\",\"graph\":\"a:x\",\"graph_within\":\"a:\"}",
	};
	static struct selection s;

	selection_begin(&s, &(struct calls_options){ .n_patterns = 0 }, NULL);
	for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
		is(change(&s, refused[i]),
		   -EINVAL + (strchr(refused[i], '\\') ? EINVAL - E2BIG : 0));
		is(s.generation, 1);
		is(s.n_patterns, 0);
	}
}

static void patterns_without_end_are_refused(void)
{
	static struct selection s;
	char text[64];
	int i, err = 0;

	selection_begin(&s, &(struct calls_options){ .n_patterns = 0 }, NULL);
	for (i = 0; i < 1000 && !err; i++) {
		snprintf(text, sizeof text, "{\"verb\":\"enable\",\"graph\":\"a:f%d\"}", i);
		err = change(&s, text);
	}
	is(err, -E2BIG);
	is(s.n_patterns, CALLS_PATTERNS);
}

static void damaged_files_are_refused(void)
{
	static struct selection s;
	static const char *const bad[] = { "mode 9\n", "what 1\n", "mode\n", "+a\rb\n" };

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		int fd = openat(dir, "selection", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		is(write(fd, bad[i], strlen(bad[i])), (ssize_t)strlen(bad[i]));
		close(fd);
		ok(selection_read(&s, dir) < 0);
	}
	unlinkat(dir, "selection", 0);
	is(selection_read(&s, dir), -ENOENT);
}

int main(void)
{
	char name[] = "/tmp/calls-XXXXXX";

	dir = open(mkdtemp(name), O_RDONLY | O_DIRECTORY);
	run(commas_between_brackets_do_not_divide_a_list);
	run(a_colon_makes_a_pattern_one_of_programs_except_for_modules);
	run(the_file_holds_the_whole_selection);
	run(requests_add_and_exclude_patterns);
	run(requests_set_how_calls_are_recorded);
	run(a_refused_request_changes_nothing);
	run(patterns_without_end_are_refused);
	run(damaged_files_are_refused);
	close(dir);
	if (rmdir(name))
		perror(name);
	return test_status();
}
