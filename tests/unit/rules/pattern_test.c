/* SPDX-License-Identifier: MIT */
#include "rules/pattern.h"
#include "test.h"

static bool glob(const char *pattern, const char *text)
{
	return pattern_glob(pattern, pattern + strlen(pattern), text, text + strlen(text));
}

static bool matches(const char *pattern, const char *channel, const char *name)
{
	return pattern_matches_event(pattern, pattern + strlen(pattern), channel, name);
}

static void a_star_is_any_run_also_none(void)
{
	ok(glob("*", ""));
	ok(glob("*", "abc"));
	ok(glob("a*", "a"));
	ok(glob("a*c", "abbbc"));
	ok(glob("a*b*c", "axxbyyc"));
	ok(!glob("a*c", "abcd"));
	ok(!glob("a*b*c", "axxcyyb"));
}

static void a_question_mark_is_one_character(void)
{
	ok(glob("a?c", "abc"));
	ok(!glob("a?c", "ac"));
	ok(!glob("?", ""));
	ok(glob("??*", "ab"));
}

static void other_characters_match_themselves(void)
{
	ok(glob("a[b]c", "a[b]c"));
	ok(glob("", ""));
	ok(!glob("", "a"));
	ok(!glob("a", ""));
	ok(!glob("A", "a"));
}

static void a_star_tries_again_behind_a_false_start(void)
{
	ok(glob("*ab", "aab"));
	ok(glob("*aab*", "aaaaab!"));
	ok(glob("*.*.c", "a.b.b.c"));
}

static void many_stars_take_no_more_than_linear_time_each(void)
{
	char text[4001];

	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = 0;
	ok(!glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static void with_a_colon_channel_and_name_match_each_their_part(void)
{
	ok(matches("shop:order", "shop", "order"));
	ok(matches("s*:*", "shop", "order"));
	ok(!matches("shop:order", "shop", "orders"));
	ok(!matches("order:shop", "shop", "order"));
	ok(!matches("*:paid", "shop", "order"));
}

static void without_a_colon_either_may_match(void)
{
	ok(matches("shop", "shop", "order"));
	ok(matches("order", "shop", "order"));
	ok(matches("*", "shop", "order"));
	ok(!matches("shoporder", "shop", "order"));
}

static void a_pattern_ends_at_its_given_length(void)
{
	const char list[] = "shop,bank";

	ok(pattern_matches_event(list, list + 4, "shop", "x"));
	ok(!pattern_matches_event(list, list + 4, "bank", "x"));
}

int main(void)
{
	run(a_star_is_any_run_also_none);
	run(a_question_mark_is_one_character);
	run(other_characters_match_themselves);
	run(a_star_tries_again_behind_a_false_start);
	run(many_stars_take_no_more_than_linear_time_each);
	run(with_a_colon_channel_and_name_match_each_their_part);
	run(without_a_colon_either_may_match);
	run(a_pattern_ends_at_its_given_length);
	return test_status();
}
