/* SPDX-License-Identifier: MIT */
/* Programs for births, names and ends, made for the formats of several kernels. */
#include "kernel/bpf/assemble.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel/bpf/parts.h"
#include "test.h"

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define NAME(name, at) "\tfield:char " name "[16];\toffset:" at ";\tsize:16;\tsigned:0;\n"
#define TEXT(name, at) "\tfield:__data_loc char[] " name ";\toffset:" at ";\tsize:4;\tsigned:0;\n"
#define PID(name, at) "\tfield:pid_t " name ";\toffset:" at ";\tsize:4;\tsigned:1;\n"

static struct bpf_code c;

/* The bytes of the record that the program for @text reserves, without a path, or -errno. */
static int record_of(const char *text, bool knows_paths)
{
	const struct bpf_plan p = { .rings = 1,
				    .control = 2,
				    .ring_size = 65536,
				    .ring_kept = 4096,
				    .bit = 1,
				    .follows = true,
				    .task_pid = 8,
				    .task_comm = 16,
				    .task_prio = 32,
				    .task_signal = 40,
				    .score = 4,
				    .path = knows_paths ? 96 : -1,
				    .has_lives = true };
	struct kernel_format f;
	struct diag d = { "" };
	int err = kernel_format_parse(&f, text, "a test", &d);

	if (!err)
		err = bpf_program_life(&c, &p, &f);
	if (!err)
		err = bpf_code_end(&c);
	for (int i = 0; !err && i + 1 < c.n; i++) {
		/* The first addition behind the time is the size, or before it that to the path's length. */
		if (c.insns[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) && c.insns[i].dst_reg == R8)
			return c.insns[i].imm - (BPF_RING_UNIT - 1);
		if (c.insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_X) && c.insns[i].dst_reg == R1 &&
		    c.insns[i].src_reg == R9 &&
		    c.insns[i + 1].code == (BPF_ALU64 | BPF_ADD | BPF_K))
			return c.insns[i + 1].imm;
	}
	return err;
}

static void names_are_in_the_record_or_behind_it(void)
{
	is(record_of("name: sched_process_fork\nID: 1\n" COMMON NAME("parent_comm", "8") PID(
			     "parent_pid", "24") NAME("child_comm", "28") PID("child_pid", "44"),
		     true),
	   8 + 48);
	is(record_of("name: sched_process_fork\nID: 1\n" COMMON TEXT("parent_comm", "8") PID(
			     "parent_pid", "12") TEXT("child_comm", "16") PID("child_pid", "20"),
		     true),
	   8 + 24 + 16 + 16);
}

static void a_path_takes_no_more_than_its_length(void)
{
	static const char exec[] = "name: sched_process_exec\nID: 1\n" COMMON TEXT("filename", "8")
		PID("pid", "12") PID("old_pid", "16");

	is(record_of(exec, true), 8 + 24);
	is(record_of(exec, false), -EOPNOTSUPP);
}

static void other_fields_and_events_are_refused(void)
{
	is(record_of("name: sched_process_exit\nID: 1\n" COMMON NAME("comm", "8") PID("pid", "24")
			     PID("prio", "28") PID("reason", "32"),
		     true),
	   -EOPNOTSUPP);
	is(record_of("name: sched_process_exit\nID: 1\n" COMMON TEXT("pid", "8"), true),
	   -EOPNOTSUPP);
	is(record_of("name: sched_process_wait\nID: 1\n" COMMON PID("pid", "8"), true),
	   -EOPNOTSUPP);
	is(record_of("name: sched_process_exit\nID: 1\n" COMMON, true), -EOPNOTSUPP);
	ok(bpf_has_life("task", "task_rename"));
	ok(!bpf_has_life("sched", "task_rename"));
}

int main(void)
{
	run(names_are_in_the_record_or_behind_it);
	run(a_path_takes_no_more_than_its_length);
	run(other_fields_and_events_are_refused);
	return test_status();
}
