/* SPDX-License-Identifier: MIT */
/* Reading `format` files: their fields, and malformed files that must be refused without a
 * crash. */
#include "kernel/tracefs/format.h"

#include <errno.h>
#include <stdlib.h>

#include "test.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char exec_format[] =
	"name: sched_process_exec\nID: 365\nformat:\n" COMMON
	"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"filename=%s\nfield: nonsense\", __get_str(filename)\n";

static struct kernel_format f;

static int parse_fields(const char *fields)
{
	char text[4096];

	snprintf(text, sizeof text, "name: x\nID: 1\nformat:\n" COMMON "%s", fields);
	return kernel_format_parse(&f, text, "test", NULL);
}

static void fields_of_an_event_are_found(void)
{
	is(kernel_format_parse(&f, exec_format, "test", NULL), 0);
	is_text(f.name, "sched_process_exec");
	is(f.id, 365);
	is(f.n_fields, 2);
	is_text(f.fields[0].name, "filename");
	is(f.fields[0].place, KERNEL_DATA_LOC);
	ok(f.fields[0].is_text);
	is(f.fields[0].element, 1);
	is_text(f.fields[1].name, "pid");
	is(f.fields[1].offset, 12);
	is(f.fields[1].element, 4);
	ok(f.fields[1].is_signed && !f.fields[1].is_array);
}

static void arrays_know_their_elements(void)
{
	is(parse_fields("\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n"
			"\tfield:char comm[TASK_COMM_LEN];\toffset:64;\tsize:16;\tsigned:0;\n"
			"\tfield:struct x y;\toffset:80;\tsize:12;\tsigned:0;\n"
			"\tfield:__rel_loc u64[] v;\toffset:92;\tsize:4;\tsigned:0;\n"
			"\tfield:u32 tail[];\toffset:96;\tsize:0;\tsigned:0;\n"),
	   0);
	is(f.n_fields, 4);
	is(f.fields[0].element, 8);
	ok(f.fields[0].is_array);
	ok(f.fields[1].is_text);
	is(f.fields[1].element, 1);
	ok(f.fields[2].is_array && !f.fields[2].is_text);
	is(f.fields[3].element, 8);
	is(f.fields[3].place, KERNEL_REL_LOC);
}

static void types_of_arguments_are_known_by_name(void)
{
	is(parse_fields("\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
			"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
			"\tfield:umode_t mode;\toffset:32;\tsize:8;\tsigned:0;\n"
			"\tfield:enum what w;\toffset:40;\tsize:8;\tsigned:0;\n"),
	   0);
	is(f.fields[0].type_size, 4);
	ok(f.fields[0].type_is_signed);
	ok(f.fields[1].is_pointer);
	is(f.fields[2].type_size, 2);
	is(f.fields[3].type_size, 0);
}

static void fields_come_in_the_order_of_the_record(void)
{
	is(parse_fields("\tfield:int b;\toffset:12;\tsize:4;\tsigned:1;\n"
			"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"),
	   0);
	is_text(f.fields[0].name, "a");
}

static void malformed_lines_are_refused(void)
{
	static const char *const bad[] = {
		"\tfield:int a;\toffset:;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\tsize:4x;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\tsize:99999999999;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:2;\n",
		"\tfield:int a;\toffset:8;\tsize:4;\n",
		"\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:[];\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:]\n",
		"\tfield:__data_loc char[] x;\toffset:8;\tsize:8;\tsigned:1;\n",
		"name: two words\n",
		"ID: -1\n",
		"ID: 65536\n",
	};
	struct diag d;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is(parse_fields(bad[i]), -EINVAL);
	is(kernel_format_parse(&f, "name: x\nID: 7z\n", "events/x/format", &d), -EINVAL);
	is_text(d.text, "events/x/format: line 2 is not a format's: ID: 7z");
	is(kernel_format_parse(&f, "", "test", NULL), -EINVAL);
	is(kernel_format_parse(&f, "name: x\n", "test", NULL), -EINVAL);
}

static void too_many_fields_are_refused(void)
{
	char text[16384] = "name: x\nID: 1\nformat:\n";

	for (int i = 0; i <= KERNEL_FIELDS_MAX; i++)
		sprintf(text + strlen(text), "\tfield:int f%d;\toffset:%d;\tsize:4;\tsigned:1;\n",
			i, 8 + 4 * i);
	is(kernel_format_parse(&f, text, "test", NULL), -E2BIG);
}

/* On the heap and of exact size, so that a sanitizer sees every byte read too many. */
static void any_cut_or_changed_byte_is_survived(void)
{
	size_t size = sizeof exec_format;

	for (size_t i = 0; i < size; i++) {
		char *cut = strndup(exec_format, i), *changed = strdup(exec_format);
		static const char with[] = "\n;:[]\t*0 x\xff";

		kernel_format_parse(&f, cut, "test", NULL);
		for (const char *p = with; *p && i + 1 < size; p++) {
			changed[i] = *p;
			kernel_format_parse(&f, changed, "test", NULL);
		}
		free(cut);
		free(changed);
	}
}

int main(void)
{
	run(fields_of_an_event_are_found);
	run(arrays_know_their_elements);
	run(types_of_arguments_are_known_by_name);
	run(fields_come_in_the_order_of_the_record);
	run(malformed_lines_are_refused);
	run(too_many_fields_are_refused);
	run(any_cut_or_changed_byte_is_survived);
	return test_status();
}
