/* SPDX-License-Identifier: MIT */
#include "rules/membership.h"
#include "test.h"

static void who_names_none_belongs_to_all_but_private_ones(void)
{
	ok(member_of("", "web", false));
	ok(!member_of("", "record-1", true));
}

static void who_names_some_belongs_to_these_alone(void)
{
	ok(member_of("web", "web", false) && member_of("web", "web", true));
	ok(!member_of("web", "webb", false) && !member_of("web", "we", false) &&
	   !member_of("web", "", false));
	ok(member_of("web+db", "db", false) && member_of("web+db", "web", false));
	ok(!member_of("web+db", "other", false) && !member_of("web+db", "web+db", false));
}

static void with_a_plus_before_it_is_one_more(void)
{
	ok(member_of("+record-1", "record-1", true) && member_of("+record-1", "web", false));
	ok(!member_of("+record-1", "record-12", true));
	ok(member_of("+outer+inner", "outer", true) && member_of("+outer+inner", "inner", true));
}

static void any_text_is_safe(void)
{
	ok(member_of("+", "web", false) && !member_of("+", "record-1", true));
	ok(!member_of("++", "", true) && member_of("++", "web", false));
	ok(member_of("a++b", "b", true) && !member_of("a++b", "", false));
}

int main(void)
{
	run(who_names_none_belongs_to_all_but_private_ones);
	run(who_names_some_belongs_to_these_alone);
	run(with_a_plus_before_it_is_one_more);
	run(any_text_is_safe);
	return test_status();
}
