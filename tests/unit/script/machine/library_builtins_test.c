/* SPDX-License-Identifier: MIT */
/* tests/unit/script/library_builtins_test.c - the functions that scripts call. */
#include "library_for_test.h"

/* Letters: a result, then at most five arguments; a row with a cell or a site has no C function. */
static void rows_are_sound(void)
{
	const struct script_builtin *b;
	uint32_t n = 0;

	for (; (b = script_builtin_at(n)); n++) {
		bool has_function = b->standard < 0 && !b->is_site;

		if (!ok(strchr("lsv", b->signature[0]) && b->signature[1] == ':' &&
			strspn(b->signature + 2, "ls") == strlen(b->signature) - 2 &&
			strlen(b->signature) <= 7 && has_function == !!script_builtin_run[n] &&
			script_builtin_number(b) == n))
			printf("# %s %s\n", b->name, b->signature);
		if (b->standard >= 0)
			ok((*b->signature == 's') ==
			   (script_standard_type(b->standard) == SCRIPT_STRING));
		for (unsigned i = 0; script_builtin_find(b->name, i); i++)
			if (script_builtin_find(b->name, i) != b)
				ok(strlen(script_builtin_find(b->name, i)->signature) !=
				   strlen(b->signature));
	}
	ok(n > 150);
	ok(!script_builtin_find("nothing_like_that", 0));
}

static void strings_are_searched_and_cut(void)
{
	open_machine();
	is(call1("strlen", text("four")), 4);
	is_text(of(call3("substr", text("tracer"), 1, 3)), "rac");
	is_text(of(call3("substr", text("tracer"), 4, 100)), "er");
	is_text(of(call3("substr", text("tracer"), 6, 1)), "");
	is_text(of(call3("substr", text("tracer"), -1, 1)), "");
	is(call2("stringat", text("abc"), 1), 'b');
	is(call2("stringat", text("abc"), 3), 0);
	is(call2("stringat", text("abc"), -1), 0);
	is(call2("isinstr", text("abc"), text("bc")), 1);
	is(call2("isinstr", text("abc"), text("cb")), 0);
	is(call2("strpos", text("abcbc"), text("bc")), 1);
	is(call2("strpos", text("abc"), text("x")), -1);
	is_text(of(call3("str_replace", text("a-b--c"), text("-"), text("+"))), "a+b++c");
	is_text(of(call3("str_replace", text("abc"), text(""), text("+"))), "abc");
	is_text(of(call1("toupper", text("tea 4"))), "TEA 4");
	is_text(of(call1("tolower", text("TeA"))), "tea");
	is(call1("isdigit", text("7up")), 1);
	is(call1("isdigit", text("")), 0);
	close_machine();
}

static void numbers_are_read_from_strings(void)
{
	open_machine();
	is(call2("strtol", text("42"), 10), 42);
	is(call2("strtol", text("-42 apples"), 10), -42);
	is(call2("strtol", text("0xff"), 16), 255);
	is(call2("strtol", text("0xff"), 0), 255);
	is(call2("strtol", text("tea"), 10), 0);
	is(call2("strtol", text("1"), 99), 0);
	is(call2("strtol", text("1"), -1), 0);
	close_machine();
}

static void tokens_come_one_after_the_other(void)
{
	open_machine();
	is_text(of(call2("tokenize", text(" one, two,,three"), text(", "))), "one");
	is_text(of(call2("tokenize", text(""), text(", "))), "two");
	is_text(of(call1("tokenize", text(", "))), "three");
	is_text(of(call2("tokenize", text(""), text(", "))), "");
	is_text(of(call2("tokenize", text(""), text(", "))), "");
	close_machine();
}

static void bytes_that_cannot_be_printed_are_escaped(void)
{
	open_machine();
	is_text(of(call1("text_str", text("a\tb\001c\"\\"))), "a\\tb\\001c\\\"\\\\");
	is_text(of(call3("text_strn", text("abcdef"), 3, 0)), "abc");
	is_text(of(call3("text_strn", text("abcdef"), 3, 1)), "\"abc\"...");
	is_text(of(call3("text_strn", text("abc"), 0, 1)), "\"abc\"");
	is_text(of(call1("string_quoted", text("say \"x\""))), "\"say \\\"x\\\"\"");
	close_machine();
}

static void numbers_become_words(void)
{
	open_machine();
	is_text(of(call1("errno_str", 2)), "ENOENT");
	is_text(of(call1("errno_str", -13)), "EACCES");
	is_text(of(call1("errno_str", 0)), "0");
	is_text(of(call1("errno_str", INT64_MIN)), "-9223372036854775808");
	is_text(of(call2("return_str", 1, -2)), "-2 (ENOENT)");
	is_text(of(call2("return_str", 2, 255)), "0xff");
	is_text(of(call2("return_str", 3, 8)), "010");
	is_text(of(call1("signal_str", 9)), "SIGKILL");
	is_text(of(call1("signal_name", 34)), "SIGRT_2");
	is_text(of(call1("signal_str", 999)), "999");
	is_text(of(call1("bytes_to_string", 512)), "512");
	is_text(of(call1("bytes_to_string", 1536)), "1.50K");
	is_text(of(call1("bytes_to_string", UINT64_MAX)), "15.99E");
	is_text(of(call1("pages_to_string", 256)), "1.00M");
	is_text(of(call1("msecs_to_string", 61005)), "1m1.005s");
	is_text(of(call1("usecs_to_string", 5)), "0m0.000005s");
	is_text(of(call1("nsecs_to_string", -1)), "-0m0.000000001s");
	is_text(of(call1("ip_ntop", 0x0100007f)), "127.0.0.1");
	is(call1("ntohs", 0x5000), 80);
	is(call1("htonl", 0x7f000001), 0x0100007f);
	is(call1("MAJOR", 0x800001), 8);
	is(call1("MINOR", 0x800001), 1);
	is(call2("MKDEV", 8, 1), 0x800001);
	is(call2("min", -5, 3), -5);
	is(call2("max", -5, 3), 3);
	is(call1("abs", -5), 5);
	for (int i = 0; i < 1000; i++)
		ok(call1("randint", 7) < 7);
	is(call1("randint", 0), 0);
	close_machine();
}

static void times_are_those_of_the_event(void)
{
	setenv("TZ", "XYZ-2", 1);
	open_machine();
	machine.frame->standard[STANDARD_TIME_NS].number = 1700000000123456789;
	machine.frame->standard[STANDARD_MONOTONIC_NS].number = 5000000000;
	is(call0("gettimeofday_s"), 1700000000);
	is(call0("gettimeofday_ms"), 1700000000123);
	is(call0("gettimeofday_us"), 1700000000123456);
	is(call0("local_clock_ms"), 5000);
	is(call1("cpu_clock_us", 3), 5000000);
	is(call0("jiffies"), 1250);
	is_text(of(call1("ctime", 0)), "Thu Jan  1 00:00:00 1970");
	is_text(of(call0("ctime")), "Tue Nov 14 22:13:20 2023");
	is_text(of(call1("tz_ctime", 0)), "Thu Jan  1 02:00:00 1970 XYZ");
	is(call0("tz_gmtoff"), -7200);
	is_text(of(call0("tz_name")), "XYZ");
	is_text(of(call1("ctime", INT64_MAX)), "");
	close_machine();
}

static void errors_are_raised(void)
{
	open_machine();
	call1("error", text("too late"));
	is_text(raised(), "too late");
	call1("assert", 1);
	is_text(raised(), "");
	call1("assert", 0);
	is_text(raised(), "assertion failed");
	call2("assert", 0, text("no tea"));
	is_text(raised(), "no tea");
	call1("panic", text("now"));
	ok(strstr(raised(), "refused"));
	call1("system", text("true"));
	ok(strstr(raised(), "cannot run"));
	call0("exit");
	ok(machine.is_exiting);
	close_machine();
}

static void messages_go_to_the_other_stream(void)
{
	open_machine();
	call1("warn", text("low"));
	call1("log", text("high"));
	is_text(machine.errors.bytes, "WARNING: low\nhigh\n");
	is_text(written(), "");
	close_machine();
}

static void terminal_is_controlled_by_sequences(void)
{
	open_machine();
	call0("ansi_clear_screen");
	call1("ansi_set_color", 31);
	call3("ansi_set_color3", 31, 42, 1);
	call2("ansi_cursor_move", 3, 4);
	call0("ansi_reset_color");
	is_text(written(), "\033[1;1H\033[J\033[31m\033[1;31;42m\033[4;3H\033[0;0m");
	close_machine();
}

static bool setting(void *context, const char *name, struct text *to)
{
	(void)context;
	if (strcmp(name, "target") && strcmp(name, "target_set_pid:55"))
		return false;
	text_addf(to, "%s", strcmp(name, "target") ? "1" : "44");
	return true;
}

static void target_comes_from_the_session(void)
{
	open_machine();
	is(call0("target"), 0);
	machine.services.setting = setting;
	is(call0("target"), 44);
	is(call1("target_set_pid", 44), 1);
	is(call1("target_set_pid", 55), 1);
	is(call1("target_set_pid", 66), 0);
	is_text(of(call0("module_name")), "");
	close_machine();
}

static void symbol(void *context, int64_t pid, uint64_t address, char what, struct text *to)
{
	(void)context;
	if (address < 100)
		text_addf(to, "%c%lld_%llu", what, (long long)pid, (unsigned long long)address);
}

static void stacks_are_shown_with_symbols(void)
{
	open_machine();
	is_text(of(call1("symname", 0xabc)), "0xabc");
	machine.services.symbol = symbol;
	machine.frame->standard[STANDARD_PID].number = 7;
	machine.frame->standard[STANDARD_KERNEL_STACK].text = (void *)(uintptr_t)text("a 1f fff");
	machine.frame->standard[STANDARD_USER_STACK].text = (void *)(uintptr_t)text("10");
	is_text(of(call1("symname", 10)), "s0_10");
	is_text(of(call1("usymdata", 10)), "d7_10");
	is_text(of(call1("modname", 0xabc)), "");
	call0("print_backtrace");
	is_text(written(), " 0xa : d0_10\n 0x1f : d0_31\n 0xfff : 0xfff\n");
	call0("print_ubacktrace");
	is_text(written(), " 0x10 : d7_16\n");
	is_text(of(call1("sprint_ustack", text("1 2"))), " 0x1 : d7_1\n 0x2 : d7_2\n");
	is_text(of(call1("callers", 2)), "a 1f");
	is_text(of(call1("callers", -1)), "a 1f fff");
	is(call1("stack", 2), 0xfff);
	is(call1("stack", 3), 0);
	is(call0("caller_addr"), 0x1f);
	is_text(of(call0("caller")), "s0_31 0x1f");
	is_text(of(call1("folded_stack", text("a 1f fff"))), "0xfff;s0_31;s0_10");
	is_text(of(call1("folded_ustack", text(""))), "");
	close_machine();
}

static void indentation_follows_the_calls_of_each_thread(void)
{
	open_machine();
	machine.frame->standard[STANDARD_EXECNAME].text = (void *)(uintptr_t)text("sh");
	machine.frame->standard[STANDARD_TID].number = 5;
	machine.frame->standard[STANDARD_TIME_NS].number = 1000000;
	is_text(of(call1("thread_indent", 1)), "     0 sh(5): ");
	machine.frame->standard[STANDARD_TIME_NS].number = 1005000;
	is_text(of(call1("thread_indent", 1)), "     5 sh(5):  ");
	machine.frame->standard[STANDARD_TID].number = 6;
	is_text(of(call1("thread_indent", 1)), "     0 sh(6): ");
	machine.frame->standard[STANDARD_TID].number = 5;
	is_text(of(call1("thread_indent", -1)), "     5 sh(5):  ");
	is_text(of(call1("thread_indent", -1)), "     5 sh(5): ");
	is(call1("thread_indent_depth", 1), 1);
	is(call1("indent_depth", 2), 2);
	is_text(of(call1("indent", -2)), "     0 :  ");
	is(call1("indent_depth", -50), 0);
	for (int tid = 100; tid < 20000; tid++) {
		machine.frame->standard[STANDARD_TID].number = tid;
		call1("thread_indent_depth", 1);
		if (tid % 2)
			call1("thread_indent_depth", -1);
	}
	machine.frame->standard[STANDARD_TID].number = 200;
	is(call1("thread_indent_depth", 1), 2);
	close_machine();
}

int main(void)
{
	run(rows_are_sound);
	run(strings_are_searched_and_cut);
	run(numbers_are_read_from_strings);
	run(tokens_come_one_after_the_other);
	run(bytes_that_cannot_be_printed_are_escaped);
	run(numbers_become_words);
	run(times_are_those_of_the_event);
	run(errors_are_raised);
	run(messages_go_to_the_other_stream);
	run(terminal_is_controlled_by_sequences);
	run(target_comes_from_the_session);
	run(stacks_are_shown_with_symbols);
	run(indentation_follows_the_calls_of_each_thread);
	return test_status();
}
