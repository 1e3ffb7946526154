/* SPDX-License-Identifier: MIT */
/* tests/unit/script/library_helpers_test.c - helpers on arrays, statistics, iterations, matches; tables
 * and plots. */
#include <errno.h>

#include "library_for_test.h"
#include "script/unit/columns.h"
#include "script/values/regex.h"

#define L SCRIPT_LONG
#define S SCRIPT_STRING

static struct script_array_code arrays[] = {
	{ .name = "calls", .n_keys = 2, .keys = { S, L }, .value = L, .capacity = 4 },
	{ .name = "times",
	  .n_keys = 1,
	  .keys = { S },
	  .value = SCRIPT_STATS,
	  .has_quantiles = true },
	{ .name = "sizes",
	  .n_keys = 1,
	  .keys = { L },
	  .value = SCRIPT_STATS,
	  .histogram = HIST_LOG },
};
static struct script_iteration iterations[] = {
	{ .array = 0, .sort = -1, .sort_key = -1, .wild = 0xffff },
	{ .array = 1, .sort_key = -1, .wild = 0xffff },
	{ .array = 2, .sort_key = -1, .wild = 0xffff },
};

static uint64_t help(enum script_helper_number number, uint64_t r1, uint64_t r2, uint64_t r3,
		     uint64_t r4)
{
	return script_helpers[number](&machine, r1, r2, r3, r4, 0);
}

static uint64_t keys(const char *name, int64_t number)
{
	static union script_cell cells[2];

	cells[0].number = (int64_t)text(name);
	cells[1].number = number;
	return (uint64_t)(uintptr_t)cells;
}

static void open_arrays(void)
{
	machine.unit.arrays = arrays;
	machine.unit.n_arrays = 3;
	machine.unit.iterations = iterations;
	machine.unit.n_iterations = 3;
	open_machine();
}

static void helpers_change_arrays_and_raise_errors(void)
{
	union script_cell number;

	open_arrays();
	help(SCRIPT_HELPER_ARRAY_SET, 0, keys("a", 1), 5, 0);
	is(help(SCRIPT_HELPER_ARRAY_ADD, 0, keys("a", 1), 2, 0), 7);
	is(help(SCRIPT_HELPER_ARRAY_GET, 0, keys("a", 1), 0, 0), 7);
	is(help(SCRIPT_HELPER_ARRAY_HAS, 0, keys("a", 2), 0, 0), 0);
	is(help(SCRIPT_HELPER_ARRAY_HAS_SLICE, 0, keys("a", 2), 2, 0), 1);
	for (int i = 2; i <= 4; i++)
		help(SCRIPT_HELPER_ARRAY_SET, 0, keys("b", i), i, 0);
	is_text(raised(), "");
	help(SCRIPT_HELPER_ARRAY_SET, 0, keys("b", 5), 5, 0);
	ok(strstr(raised(), "array calls is full: it has 4 elements"));
	help(SCRIPT_HELPER_ARRAY_DELETE_SLICE, 0, keys("b", 0), 2, 0);
	help(SCRIPT_HELPER_ARRAY_DELETE, 0, keys("a", 1), 0, 0);
	is(values_count(machine.values, 0), 0);
	help(SCRIPT_HELPER_STAT_GET, 1, keys("a", 0), STATISTIC_AVG, 0);
	ok(strstr(raised(), "empty aggregate: times"));
	number.number = 7;
	help(SCRIPT_HELPER_STAT_ADD, 2, (uint64_t)(uintptr_t)&number, 5, 0);
	help(SCRIPT_HELPER_STAT_BUCKET, 2, (uint64_t)(uintptr_t)&number, 999, 0);
	ok(strstr(raised(), "has no bucket of this number"));
	help(SCRIPT_HELPER_ARRAY_CLEAR, 2, 0, 0, 0);
	is(values_count(machine.values, 2), 0);
	close_machine();
}

static void helpers_go_through_arrays(void)
{
	uint64_t handle;

	open_arrays();
	for (int i = 1; i <= 3; i++)
		help(SCRIPT_HELPER_ARRAY_SET, 0, keys("b", i), i, 0);
	handle = help(SCRIPT_HELPER_ITER_BEGIN, 0, 0, -1, 0);
	is(help(SCRIPT_HELPER_ITER_DEPTH, 0, 0, 0, 0), 1);
	help(SCRIPT_HELPER_ITER_NEXT, handle, 0, 0, 0);
	is_text(of(help(SCRIPT_HELPER_ITER_KEY_STRING, handle, 0, 0, 0)), "b");
	is(help(SCRIPT_HELPER_ITER_KEY_LONG, handle, 1, 0, 0), 3);
	is(help(SCRIPT_HELPER_ITER_VALUE_LONG, handle, 0, 0, 0), 3);
	is_text(raised(), "");
	help(SCRIPT_HELPER_ARRAY_CLEAR, 0, 0, 0, 0);
	is_text(raised(), "array calls cannot change in a foreach over it");
	is_text(of(help(SCRIPT_HELPER_ITER_VALUE_STRING, handle, 0, 0, 0)), "");
	ok(strstr(raised(), "has ended"));
	help(SCRIPT_HELPER_ITER_END, handle, 0, 0, 0);
	help(SCRIPT_HELPER_ITER_VALUE_LONG, handle, 0, 0, 0);
	ok(strstr(raised(), "has ended"));
	help(SCRIPT_HELPER_ITER_UNWIND, 0, 0, 0, 0);
	close_machine();
}

static void groups_of_the_last_match_are_returned(void)
{
	struct script_regex *regex;
	uint32_t at;

	open_arrays();
	regex = script_regex_compile(&machine.arena, "(t+)(x)?ea", 10, &at, NULL);
	machine.unit.regexes = &regex;
	is(help(SCRIPT_HELPER_MATCH, 0, text("a ttea b"), 0, 0), 1);
	is(help(SCRIPT_HELPER_MATCH, 0, text("coffee"), 0, 0), 0);
	is(call0("ngroups"), 3);
	is_text(of(call1("matched", 0)), "ttea");
	is_text(of(call1("matched", 1)), "tt");
	is_text(of(call1("matched", 2)), "");
	is_text(of(call1("matched", 3)), "");
	is_text(of(call1("matched", -1)), "");
	close_machine();
}

static void fill(void)
{
	help(SCRIPT_HELPER_ARRAY_ADD, 0, keys("sshd", 22), 5, 0);
	help(SCRIPT_HELPER_ARRAY_ADD, 0, keys("caf\303\251\n", 4711), 1234567, 0);
	for (int i = 1; i <= 100; i++)
		help(SCRIPT_HELPER_STAT_ADD, 1, keys("read", 0), i * 20000, 0);
	help(SCRIPT_HELPER_STAT_ADD, 1, keys("write", 0), 7, 0);
}

static void print_table(uint32_t iteration, const char *columns, int kind)
{
	machine.unit.columns = &columns;
	help(SCRIPT_HELPER_TABLE, iteration, 0, kind, -1);
}

static void table_is_aligned(void)
{
	open_arrays();
	fill();
	print_table(0, "process, port, calls", 0);
	is_text(written(), "process   port    calls\n"
			   "caf\303\251\\x0a  4711  1234567\n"
			   "sshd        22        5\n");
	print_table(1, "call, count, avg:ns, slowest = max : ns, p99:ns", 0);
	is_text(written(), "call   count      avg  slowest      p99\n"
			   "read     100  1.01 ms  2.00 ms  1.98 ms\n"
			   "write      1     7 ns     7 ns     7 ns\n");
	print_table(1, "", 0);
	is_text(written(), "key    count        sum    min      avg      max\n"
			   "read     100  101000000  20000  1010000  2000000\n"
			   "write      1          7      7        7        7\n");
	is_text(raised(), "");
	is(values_depth(machine.values), 0);
	close_machine();
}

static void table_as_json_has_numbers_and_escapes(void)
{
	open_arrays();
	fill();
	machine.services.is_json = true;
	print_table(0, "process, port, calls", 0);
	is_text(written(),
		"{\"table\":\"calls\",\"columns\":[\"process\",\"port\",\"calls\"],\"rows\":["
		"[\"caf\303\251\\u000a\",4711,1234567],[\"sshd\",22,5]]}\n");
	is_text(machine.result.bytes,
		"{\"table\":\"calls\",\"columns\":[\"process\",\"port\",\"calls\"],\"rows\":["
		"[\"caf\303\251\\u000a\",4711,1234567],[\"sshd\",22,5]]}");
	print_table(1, "", 1);
	is_text(written(),
		"{\"plot\":\"times\",\"columns\":[\"key\",\"count\",\"sum\",\"min\",\"avg\","
		"\"max\"],\"rows\":[[\"read\",100,101000000,20000,1010000,2000000],"
		"[\"write\",1,7,7,7,7]]}\n");
	close_machine();
}

static void plot_draws_bars_and_histograms(void)
{
	open_arrays();
	fill();
	print_table(1, "call, count", 1);
	is_text(written(), "read     100  |########################################\n"
			   "write      1  |#\n");
	help(SCRIPT_HELPER_STAT_ADD, 2, keys("", 0), 5, 0);
	print_table(2, "", 1);
	ok(strstr(written(), " 4..7 |########################################     1\n"));
	close_machine();
}

static void wrong_columns_are_refused(void)
{
	struct script_column columns[SCRIPT_COLUMNS_MAX];
	struct diag d;

	is(script_columns_parse(columns, "a, b, c", 1, false, &d), -EINVAL);
	ok(strstr(d.text, "more columns"));
	is(script_columns_parse(columns, "a, most", 1, true, &d), -EINVAL);
	ok(strstr(d.text, "no statistic `most`"));
	is(script_columns_parse(columns, "a, p99, x=p999:us", 1, true, &d), 3);
	is(columns[1].parameter, 99);
	is(columns[2].parameter, 999);
	is(columns[2].unit, UNIT_US);
	is(script_columns_parse(columns, "a:b, count", 1, true, &d), 2);
	is(columns[0].heading_size, 3);
	is(script_columns_parse(columns, "", 9, true, &d), 14);
	open_arrays();
	print_table(1, "a, most", 0);
	ok(strstr(raised(), "no statistic `most`"));
	close_machine();
}

int main(void)
{
	run(helpers_change_arrays_and_raise_errors);
	run(helpers_go_through_arrays);
	run(groups_of_the_last_match_are_returned);
	run(table_is_aligned);
	run(table_as_json_has_numbers_and_escapes);
	run(plot_draws_bars_and_histograms);
	run(wrong_columns_are_refused);
	return test_status();
}
