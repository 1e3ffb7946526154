/* SPDX-License-Identifier: MIT */
/* tests/unit/script/values_regex_test.c - regular expressions, also against those of libc. */
#include <regex.h>
#include <time.h>

#include "script/values/regex.h"
#include "test.h"

static struct script_arena arena;

static struct script_regex *compiled(const char *pattern, uint32_t *at)
{
	return script_regex_compile(&arena, pattern, strlen(pattern), at, NULL);
}

/* The part of @text that matches, in brackets; "-": none; "!": no regular expression. */
static const char *matched(const char *pattern, const char *text)
{
	static char result[256];
	struct script_regex_match m;
	uint32_t at;
	struct script_regex *r = compiled(pattern, &at);
	size_t size = 0;

	if (!r)
		return "!";
	if (!script_regex_match(r, text, strlen(text), &m))
		return "-";
	*result = 0;
	for (uint32_t i = 0; i < m.n_groups; i++)
		size += (size_t)snprintf(result + size, sizeof result - size, "[%.*s]",
					 m.end[i] - m.begin[i],
					 text + (m.begin[i] < 0 ? 0 : m.begin[i]));
	return result;
}

static void leftmost_longest_match_is_found(void)
{
	static const char *const cases[][3] = {
		{ "abc", "xxabcabc", "[abc]" },
		{ "a|ab|abc", "zabcd", "[abc]" },
		{ "b+", "abbbcb", "[bbb]" },
		{ "^b", "ab", "-" },
		{ "b$", "abab", "[b]" },
		{ "^$", "", "[]" },
		{ "x*", "aaa", "[]" },
		{ "[a-c]+", "zzbcaz", "[bca]" },
		{ "[^a-c]+", "abxyc", "[xy]" },
		{ "[]a]+", "x]a]", "[]a]]" },
		{ "[a-]+", "b-a-", "[-a-]" },
		{ "a.c", "abc", "[abc]" },
		{ "a\\.c", "abc", "-" },
		{ "[[:digit:]]+", "ab123c", "[123]" },
		{ "[^[:space:]]+", "  ab ", "[ab]" },
		{ "(a|b)*c", "xababc", "[ababc][b]" },
		{ "(foo|foobar)(bar)?", "foobar", "[foobar][foo][bar]" },
		{ "a{2}", "aaa", "[aa]" },
		{ "a{2,}", "baaaa", "[aaaa]" },
		{ "(ab){1,2}", "ababab", "[abab][ab]" },
		{ "x{0}y", "xy", "[y]" },
		{ "a?b", "b", "[b]" },
		{ "", "abc", "[]" },
		{ "\\(", "f(x)", "[(]" },
		{ "(^a|b)c", "abc", "[bc][b]" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!is_text(matched(cases[i][0], cases[i][1]), cases[i][2]))
			printf("# /%s/ on \"%s\"\n", cases[i][0], cases[i][1]);
}

static void wrong_expressions_are_refused_with_their_place(void)
{
	static const char *const wrong[] = {
		"(",   "(a",	 "[",	   "[a",    "*a",	 "a|*", "a{",
		"a{2", "a{3,2}", "a{999}", "[b-a]", "[[:foo:]]", "\\",	"((a{200}){200}){9}"
	};
	uint32_t at;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (!ok(!compiled(wrong[i], &at)))
			printf("# /%s/\n", wrong[i]);
	compiled("ab[z-a]", &at);
	is(at, 6);
}

static void text_of_any_kind_takes_little_time(void)
{
	static char text[20000];
	uint32_t at;
	struct script_regex *r = compiled("(a*)*(a|aa)*(a?){50}b", &at);
	clock_t begin = clock();

	memset(text, 'a', sizeof text);
	ok(!script_regex_match(r, text, sizeof text, NULL));
	ok(clock() - begin < 5 * CLOCKS_PER_SEC);
}

/* The whole match is that of libc, for random expressions and texts. */
static void random_expressions_agree_with_libc(void)
{
	static const char letters[] = "ab()|*+?.[]^a-b$";
	unsigned seed = 5;
	int n_compared = 0, n_wrong = 0;

	for (int round = 0; round < 60000; round++) {
		char pattern[12], text[12], got[64], want[64];
		int n = 1 + rand_r(&seed) % 9, m = rand_r(&seed) % 9;
		regmatch_t match;
		regex_t re;

		for (int i = 0; i < n; i++)
			pattern[i] = letters[(unsigned)rand_r(&seed) % (sizeof letters - 1)];
		for (int i = 0; i < m; i++)
			text[i] = "abc"[rand_r(&seed) % 3];
		pattern[n] = text[m] = 0;
		/* What POSIX leaves undefined differs: empty alternatives, repeated anchors. */
		if (strpbrk(pattern, "^$") || strstr(pattern, "()") || strstr(pattern, "(|") ||
		    strstr(pattern, "||") || strstr(pattern, "|)") || pattern[n - 1] == '|' ||
		    *pattern == '|' || regcomp(&re, pattern, REG_EXTENDED))
			continue;
		snprintf(got, sizeof got, "%s", matched(pattern, text));
		if (strchr(got, ']') && got[0] == '[')
			*strchr(got, ']') = 0;
		if (regexec(&re, text, 1, &match, 0))
			snprintf(want, sizeof want, "-");
		else
			snprintf(want, sizeof want, "[%.*s", (int)(match.rm_eo - match.rm_so),
				 text + match.rm_so);
		regfree(&re);
		if (*got == '!')
			continue;
		n_compared++;
		if (strcmp(got, want)) {
			n_wrong++;
			if (n_wrong < 5)
				printf("# /%s/ on \"%s\": %s, not %s\n", pattern, text, got, want);
		}
		script_arena_fini(&arena);
		arena = (struct script_arena){ 0 };
	}
	is(n_wrong, 0);
	ok(n_compared > 3000);
}

/* A pattern of a few pieces, as long as it compiles. */
static struct script_regex *random_pattern(unsigned *seed, char pattern[64])
{
	static const char *const pieces[] = { "a",     "b",	"c",	".",	   "[ab]", "[^b]",
					      "(a|b)", "(ab)*", "a*",	"b+",	   "c?",   "^",
					      "$",     "(b|)",	"a{2}", "(a|^c)+", "|" };
	struct diag d;
	uint32_t at;

	*pattern = 0;
	for (int n = 1 + rand_r(seed) % 6; n > 0; n--)
		strcat(pattern, pieces[(unsigned)rand_r(seed) % (sizeof pieces / sizeof *pieces)]);
	return script_regex_compile(&arena, pattern, strlen(pattern), &at, &d);
}

/* Whether there is a match is known from the table, where from the threads. */
static void table_and_threads_agree(void)
{
	unsigned seed = 7;
	int n_matches = 0;

	for (int round = 0; round < 4000; round++) {
		char pattern[64], text[24];
		struct script_regex *r = random_pattern(&seed, pattern);

		for (int i = 0; r && i < 20; i++) {
			struct script_regex_match m = { .n_groups = 0 };
			int n = rand_r(&seed) % 20;
			bool threads, table;

			for (int k = 0; k < n; k++)
				text[k] = "abc"[rand_r(&seed) % 3];
			threads = script_regex_find(r, text, (size_t)n, &m);
			table = script_regex_match(r, text, (size_t)n, NULL);
			n_matches += table;
			if (!ok(threads == table))
				printf("# /%s/ on \"%.*s\"\n", pattern, n, text);
		}
		script_arena_fini(&arena);
		arena = (struct script_arena){ 0 };
	}
	ok(n_matches > 1000);
}

/* (a|b)*a(a|b){12} has 2^13 states: more than are kept. */
static void states_are_forgotten_when_there_are_too_many(void)
{
	static const char pattern[] = "^(a|b)*a(a|b){12}$";
	struct script_regex_match m;
	struct script_regex *r;
	unsigned seed = 3;
	struct diag d;
	uint32_t at;

	r = script_regex_compile(&arena, pattern, strlen(pattern), &at, &d);
	for (int i = 0; r && i < 200; i++) {
		char text[100];

		for (size_t k = 0; k < sizeof text; k++)
			text[k] = "ab"[rand_r(&seed) % 2];
		is(script_regex_match(r, text, sizeof text, NULL), text[sizeof text - 13] == 'a');
		is(script_regex_match(r, text, sizeof text, &m), text[sizeof text - 13] == 'a');
	}
	script_arena_fini(&arena);
	arena = (struct script_arena){ 0 };
}

int main(void)
{
	run(leftmost_longest_match_is_found);
	run(wrong_expressions_are_refused_with_their_place);
	run(text_of_any_kind_takes_little_time);
	script_arena_fini(&arena);
	arena = (struct script_arena){ 0 };
	run(random_expressions_agree_with_libc);
	run(table_and_threads_agree);
	run(states_are_forgotten_when_there_are_too_many);
	script_arena_fini(&arena);
	return test_status();
}
