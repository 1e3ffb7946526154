/* SPDX-License-Identifier: MIT */
#include "rules/membership.h"
#include "test.h"

static void programs_without_sessions_belong_to_all_but_private_ones(void)
{
	ok(member_of("", "web", false));
	ok(!member_of("", "record-1", true));
}

static void programs_that_name_sessions_belong_to_these_alone(void)
{
	ok(member_of("web", "web", false) && member_of("web", "web", true));
	ok(!member_of("web", "webb", false) && !member_of("web", "we", false) &&
	   !member_of("web", "", false));
	ok(member_of("web+db", "db", false) && member_of("web+db", "web", false));
	ok(!member_of("web+db", "other", false) && !member_of("web+db", "web+db", false));
}

static void a_plus_adds_a_session(void)
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
	run(programs_without_sessions_belong_to_all_but_private_ones);
	run(programs_that_name_sessions_belong_to_these_alone);
	run(a_plus_adds_a_session);
	run(any_text_is_safe);
	return test_status();
}
