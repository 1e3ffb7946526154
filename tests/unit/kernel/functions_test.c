/* SPDX-License-Identifier: MIT */
/* Records of the tracers function and function_graph, in the formats of several kernels, and the
 * events made of them. */
#include "kernel/probe/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel/probe/fetch.h"
#include "kernel/convert/page.h"
#include "test.h"

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Linux 6.1 and 6.12 */
static const char function_6_1[] =
	"name: function\nID: 1\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";
static const char entry_6_1[] = "name: funcgraph_entry\nID: 11\n" COMMON
				"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
				"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
				"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n";
static const char exit_6_1[] =
	"name: funcgraph_exit\nID: 10\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"<-- %ps\", (void *)REC->func\n";

/* Linux 6.18; the result is there with CONFIG_FUNCTION_GRAPH_RETVAL. */
static const char function_6_18[] =
	"name: function\nID: 1\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";
static const char exit_6_18[] =
	"name: funcgraph_exit\nID: 10\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int depth;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"<-- %ps\", (void *)REC->func\n";

static const struct abi_clock clock_1ns = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
static const uint64_t IP = 0xffffffff81234560u, PARENT = 0xffffffff81abcdefu;

static struct kernel_classes classes;
static uint8_t bytes[4096];
static size_t n_bytes;
static struct kernel_page page;
static struct kernel_packet packet;

static void begin(const char *format, bool has_arguments)
{
	static struct kernel_format f;

	is(kernel_classes_init(&classes, sizeof bytes), 0);
	is(kernel_format_parse(&f, format, "test", NULL), 0);
	if (has_arguments)
		is(kernel_functions_complete(&f), 0);
	is(kernel_classes_add(&classes, &f, "ftrace", f.name), 0);
	memset(bytes, 0xee, sizeof bytes);
	n_bytes = 0;
}

static void put(uint64_t value, size_t size)
{
	memcpy(bytes + n_bytes, &value, size);
	n_bytes += size;
}

/* A page with one record: @n bytes follow the common fields. */
static void begin_record(int id, size_t n)
{
	put(5000, 8);
	put(4 + 8 + n, 8); /* all records: header, common fields, fields */
	put((8 + n) / 4, 4);
	put((uint64_t)id | 777ull << 32, 8);
}

static void convert(void)
{
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, 0, 1ull << 60);
	ok(kernel_page_next(&page, &packet));
	is(packet.n_events, 1);
	is(packet.n_unknown, 0);
	ok(!page.malformed);
}

static uint64_t at(size_t offset, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, packet.events + KERNEL_EVENT_HEADER + offset, size);
	return v;
}

static void reports(const char *text)
{
	if (!strstr(classes.tsdl.bytes, text))
		printf("# %s\n", classes.tsdl.bytes);
	ok(strstr(classes.tsdl.bytes, text));
}

static void call_has_its_address_and_its_callers(void)
{
	begin(function_6_1, false);
	begin_record(1, 16);
	put(IP, 8);
	put(PARENT, 8);
	convert();
	is(packet.size, KERNEL_EVENT_HEADER + 16);
	ok(at(0, 8) == IP && at(8, 8) == PARENT);
	reports("name = \"function\";");
	reports("integer { size = 64; align = 8; signed = false; base = 16; } _ip;");
	reports("integer { size = 64; align = 8; signed = false; base = 16; } _parent_ip;");
	kernel_classes_fini(&classes);
}

static void call_has_arguments_where_they_are_recorded(void)
{
	static struct kernel_format f;

	begin(function_6_18, true);
	begin_record(1, 16 + 6 * 8);
	put(IP, 8);
	put(PARENT, 8);
	for (uint64_t i = 0; i < 6; i++)
		put(100 + i, 8);
	convert();
	for (uint64_t i = 0; i < 6; i++)
		ok(at(16 + 8 * i, 8) == 100 + i);
	reports("base = 16; } _args[6];");
	kernel_classes_fini(&classes);

	begin(function_6_18, false); /* not wanted: the same record as before */
	begin_record(1, 16);
	put(IP, 8);
	put(PARENT, 8);
	convert();
	ok(at(8, 8) == PARENT && !strstr(classes.tsdl.bytes, "_args"));
	kernel_classes_fini(&classes);

	is(kernel_format_parse(&f, function_6_1, "test", NULL), 0);
	is(kernel_functions_complete(&f), -ENODATA);
}

static void entry_of_a_graph_has_its_depth(void)
{
	begin(entry_6_1, false);
	begin_record(11, 12); /* packed: shorter than its alignment suggests */
	put(IP, 8);
	put(3, 4);
	convert();
	ok(at(0, 8) == IP);
	is(at(8, 4), 3);
	reports("_func;");
	reports("int32_t _depth;");
	kernel_classes_fini(&classes);
}

/* Linux 7.3 */
static void depth_is_a_number_however_long(void)
{
	begin("name: funcgraph_entry\nID: 11\n" COMMON
	      "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	      "\tfield:unsigned long depth;\toffset:16;\tsize:8;\tsigned:0;\n",
	      false);
	begin_record(11, 16);
	put(IP, 8);
	put(4, 8);
	convert();
	is(at(8, 8), 4);
	reports("\tuint64_t _depth;");
	kernel_classes_fini(&classes);
}

static void end_of_a_graph_has_its_duration_and_not_its_times(void)
{
	begin(exit_6_1, false);
	begin_record(10, 32 + 16); /* and longer, on some kernels */
	put(IP, 8);
	put(2, 4);
	put(0, 4);
	put(1000000, 8);
	put(1012345, 8);
	put(~0ull, 8);
	put(~0ull, 8);
	convert();
	is(packet.size, KERNEL_EVENT_HEADER + 24);
	ok(at(0, 8) == IP);
	is(at(8, 4), 2);
	is(at(16, 8), 12345);
	reports("uint64_t _duration;");
	ok(!strstr(classes.tsdl.bytes, "calltime") && !strstr(classes.tsdl.bytes, "rettime"));
	kernel_classes_fini(&classes);
}

static void end_of_a_graph_has_its_result(void)
{
	begin(exit_6_18, false);
	begin_record(10, 40);
	put(IP, 8);
	put((uint64_t)-2, 8);
	put(1, 4);
	put(0, 4);
	put(50, 8);
	put(57, 8);
	convert();
	is((int64_t)at(8, 8), -2);
	is(at(24, 8), 7);
	reports("\tint64_t _retval;");
	kernel_classes_fini(&classes);
}

/* Two records: one cut short, and one that is whole. */
static void record_that_is_cut_short_is_left_out(void)
{
	begin(exit_6_1, false);
	put(5000, 8);
	put((4 + 8 + 24) + (4 + 8 + 32), 8);
	put((8 + 24) / 4, 4);
	put(10 | 777ull << 32, 8);
	put(IP, 8);
	put(2, 8);
	put(1000, 8); /* rettime is missing */
	put((8 + 32) / 4, 4);
	put(10 | 777ull << 32, 8);
	put(IP, 8);
	put(2, 8);
	put(1000, 8);
	put(1001, 8);
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, 0, 1ull << 60);
	ok(kernel_page_next(&page, &packet));
	is(packet.n_events, 1);
	is(packet.n_unknown, 1);
	is(at(16, 8), 1);
	kernel_classes_fini(&classes);
}

static void arguments_of_probes_are_in_the_kernels_words(void)
{
	static const char *const words[][2] = {
		{ "fd=arg1:s32", " fd=$arg1:s32" },
		{ "name=arg2:str", " name=+0($arg2):string" },
		{ "name=+0($arg2):ustring", " name=+0($arg2):ustring" },
		{ "r=retval", " r=$retval:u64" },
		{ "$arg*", " $arg*" },
	};
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		t.size = 0;
		is(kernel_fetch_argument(words[i][0], strlen(words[i][0]), true, &t, NULL), 0);
		is_text(t.bytes, words[i][1]);
	}
	is(kernel_fetch_argument("$arg*", 5, false, &t, NULL), -EINVAL);
	is(kernel_fetch_argument("arg1", 4, true, &t, NULL), -EINVAL);
	text_fini(&t);
}

static void patterns_of_functions_are_chosen_apart(void)
{
	static const char available[] =
		"sched:sched_process_exec\nsched:sched_switch\ntask:task_rename\n";
	const char *patterns[] = { "function:tcp_*", "function:mod:xfs" },
		   *filters[] = { "x == 1", NULL };
	struct kernel_selection s;

	is(kernel_select(&s, available, patterns, NULL, 2, NULL), 0);
	is(s.n_functions, 2);
	is_text(s.functions[0], "tcp_*");
	is_text(s.functions[1], "mod:xfs");
	is(s.n_events, 2); /* names of processes, and nothing else */
	kernel_selection_fini(&s);
	is(kernel_select(&s, available, patterns, filters, 2, NULL), -EINVAL);
}

int main(void)
{
	run(call_has_its_address_and_its_callers);
	run(call_has_arguments_where_they_are_recorded);
	run(entry_of_a_graph_has_its_depth);
	run(depth_is_a_number_however_long);
	run(end_of_a_graph_has_its_duration_and_not_its_times);
	run(end_of_a_graph_has_its_result);
	run(record_that_is_cut_short_is_left_out);
	run(arguments_of_probes_are_in_the_kernels_words);
	run(patterns_of_functions_are_chosen_apart);
	return test_status();
}
