/* SPDX-License-Identifier: MIT */
#include "rules/rules.h"
#include "test.h"

static uint32_t level = 4; /* a warning */
static const struct selector selector = { .name = "worker",
					  .host = "web-1",
					  .pid = 7,
					  .uid = 1000,
					  .pid_namespace = 4026531836,
					  .mount_namespace = 4026531840 };

/* @rules: with '|' for NUL. */
static struct rules_verdict judge(const char *rules, const char *name)
{
	size_t n = strlen(rules);
	char *copy =
		malloc(n + 1); /* of exactly their size: a sanitizer reports a read beyond them */
	struct rules_verdict v;

	for (size_t i = 0; i < n; i++)
		copy[i] = rules[i] == '|' ? 0 : rules[i];
	copy = realloc(copy, n ? n : 1);
	v = rules_judge(copy, (uint32_t)n, name, level, &selector);
	free(copy);
	return v;
}

static bool wants(const char *rules, const char *name)
{
	return judge(rules, name).wanted;
}

static uint32_t channel(const char *rules)
{
	return ABI_ROUTING_CHANNEL(judge(rules, "a:b").routing);
}

static uint32_t filter(const char *rules)
{
	return ABI_ROUTING_FILTER(judge(rules, "a:b").routing);
}

static void nothing_is_wanted_unasked(void)
{
	ok(!wants("", "a:b"));
	is(judge("", "a:b").routing, 0);
	ok(!wants("+c:*|", "a:b"));
}

static void the_last_that_matches_decides(void)
{
	ok(wants("+a:*|", "a:b"));
	ok(!wants("+a:*|!a:b|", "a:b"));
	ok(wants("+a:*|!a:b|", "a:c"));
	ok(wants("!a:b|+a:*|", "a:b"));
	ok(wants("+a:*|!c:*|", "a:b"));
}

static void a_filter_goes_with_the_rule_that_decides(void)
{
	is(filter("?3 a:*|"), 3);
	is(filter("?3 a:*|?200 a:b|"), 200);
	is(filter("?3 a:*|+a:b|"), 0);
	is(filter("?3 a:*|!a:b|"), 0);
	ok(wants("?3 a:*|", "a:b"));
}

static void a_channel_is_decided_alone(void)
{
	is(channel("@2 a:*|"), 2);
	ok(!wants("@2 a:*|", "a:b"));
	is(channel("@2 a:*|@3 a:b|"), 3);
	is(channel("@2 a:*|@3 c:b|"), 2);
	is(channel("@2 a:*|?5 a:*|"), 2);
	is(filter("?5 a:*|@2 a:*|"), 5);
	is(filter("@2 a:*|?255 a:*|"), 255);
}

static void numbers_out_of_range_are_none(void)
{
	is(channel("@16 a:*|"), 0);
	is(channel("@15 a:*|"), 15);
	is(channel("@4294967297 a:*|"), 0);
	is(filter("?256 a:*|"), 0);
	is(filter("?99999999999999999999 a:*|"), 0);
}

static void malformed_rules_decide_nothing(void)
{
	static const char *const odd[] = { "+",	 "+a:*", "|",	 "||",	   "|||+",   "?",
					   "?|", "?3",	 "?3|",	 "@",	   "@|",     "@2|",
					   "!",	 "!|",	 "a:*|", "x a:*|", "?x a:*|" };

	for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++)
		is(wants(odd[i], "a:b"), !strcmp(odd[i], "?x a:*|") && false);
	ok(!wants("+a:*|", "no colon"));
	ok(!wants("+*|", ""));
}

static void a_rule_is_for_programs_that_meet_its_conditions(void)
{
	ok(wants("nwork*\t+a:*|", "a:b"));
	ok(!wants("nother\t+a:*|", "a:b"));
	ok(wants("nother\tnw*\t+a:*|", "a:b")); /* of one letter, one */
	ok(!wants("nw*\tu0\t+a:*|", "a:b"));	/* of several, each */
	ok(wants("nw*\tu1000\t+a:*|", "a:b"));
	ok(!wants("Nw*\t+a:*|", "a:b")); /* of capitals, none */
	ok(wants("Nother\tU0\t+a:*|", "a:b"));
	ok(!wants("nw*\tNworker\t+a:*|", "a:b"));
	ok(wants("p7:4026531836\t+a:*|", "a:b"));
	ok(!wants("p7:4026531837\t+a:*|", "a:b"));
	ok(!wants("p7\t+a:*|", "a:b"));
	ok(wants("c4026531836\t+a:*|", "a:b"));
	ok(wants("c4026531840\t+a:*|", "a:b"));
	ok(wants("cweb-?\t+a:*|", "a:b"));
	ok(!wants("Cweb-1\t+a:*|", "a:b"));
	ok(!wants("c0\t+a:*|", "a:b"));
}

static void a_level_means_this_or_more_important(void)
{
	ok(wants("l4\t+a:*|", "a:b"));
	ok(!wants("l3\t+a:*|", "a:b"));
	ok(wants("l14\t+a:*|", "a:b"));
	ok(!wants("L6\t+a:*|", "a:b"));
	ok(!wants("+a:*|l5\t!a:b|", "a:b"));
	ok(wants("+a:*|l3\t!a:b|", "a:b"));
}

static void conditions_go_with_every_kind(void)
{
	is(channel("nworker\t@2 a:*|"), 2);
	is(channel("nother\t@2 a:*|"), 0);
	is(filter("nworker\tl4\t?3 a:*|"), 3);
	is(filter("+a:*|nother\t?3 a:*|"), 0);
}

static void unknown_conditions_hold_for_no_program(void)
{
	static const char *const odd[] = {
		"n+a:*|",     "x1\t+a:*|",    "X1\t+a:*|",  "nworker+a:*|",
		"u\t+a:*|",   "l\t+a:*|",     "l4x\t+a:*|", "u99999999999999999999\t+a:*|",
		"p\t+a:*|",   "nworker\t",    "nworker\t|", "c\t+a:*|",
		"p7:\t+a:*|", "u1000 \t+a:*|"
	};

	for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++)
		ok(!wants(odd[i], "a:b"));
}

static void the_letters_of_rules_are_found(void)
{
	is(selector_letters("+a:*", 5), 0);
	static const char rules[] = "nx\t+a:*\0Cx\tl3\t@2 a";

	is(selector_letters(rules, sizeof rules),
	   SELECTOR_LETTER('n') | SELECTOR_LETTER('c') | SELECTOR_LETTER('l'));
	is(selector_letters("nx", 2), 0);
}

static void any_bytes_are_safe(void)
{
	static const char some[] = "+!?@0123456789 :*?abncuplNP\t\t\t\0\0\377\200";
	uint64_t random = 88172645463325252ull;

	for (int i = 0; i < 200000; i++) {
		char rules[64];
		uint32_t n;
		struct rules_verdict v;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		n = (uint32_t)(random % sizeof rules);
		for (uint32_t k = 0; k < n; k++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			rules[k] = some[random % (sizeof some - 1)];
		}
		v = rules_judge(rules, n, "a:b", 3, &selector);
		selector_letters(rules, n);
		ok(ABI_ROUTING_CHANNEL(v.routing) < ABI_CHANNELS &&
		   ABI_ROUTING_FILTER(v.routing) <= ABI_FILTERS);
	}
}

int main(void)
{
	run(nothing_is_wanted_unasked);
	run(the_last_that_matches_decides);
	run(a_filter_goes_with_the_rule_that_decides);
	run(a_channel_is_decided_alone);
	run(numbers_out_of_range_are_none);
	run(malformed_rules_decide_nothing);
	run(a_rule_is_for_programs_that_meet_its_conditions);
	run(a_level_means_this_or_more_important);
	run(conditions_go_with_every_kind);
	run(unknown_conditions_hold_for_no_program);
	run(the_letters_of_rules_are_found);
	run(any_bytes_are_safe);
	return test_status();
}
