/* SPDX-License-Identifier: MIT */
/* Multiplexed calls: one argument decides how the others are read: their arguments and memory as text, from
 * bytes made by hand, also too few of them. */
#include "test.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/text.h"
#include "capture/table.h"

static struct call_memory memory[3];
static int n_memory;
static char made[4 * ABI_CAPTURE_MAX];

/* The capture of an argument, or of the memory behind byte @at of its memory if that is not
 * negative, which is made with these arguments. */
static const struct abi_capture *find(const char *call, bool end, int argument, int at,
				      const int64_t *args)
{
	const struct abi_captures all = capture_of_call(call, end, true);

	for (int i = 0; i < all.n; i++)
		if (all.at[i]->argument == argument && all.at[i]->is_behind == (at >= 0) &&
		    (at < 0 || all.at[i]->at == at) && capture_is_made(all.at[i], args))
			return all.at[i];
	return NULL;
}

static void put(const struct abi_capture *what, const void *bytes, size_t size)
{
	struct call_memory *m = &memory[n_memory++];

	m->what = what;
	m->size = (uint32_t)size;
	memset(m->bytes, 0xee, sizeof m->bytes); /* nothing of it may be shown */
	memcpy(m->bytes, bytes, size);
}

static const char *shown(struct call_moment x)
{
	struct text t = { 0 };

	x.memory = memory;
	x.n_memory = n_memory;
	snprintf(made, sizeof made, "%s",
		 call_memory_add(&t, &memory[0], &x) ? t.bytes
		 : t.size			     ? "refused, but something was added"
						     : "an address");
	text_fini(&t);
	return made;
}

/* The memory of an argument at the entry. */
static const char *at_entry(const char *call, int argument, const int64_t *args, const void *bytes,
			    size_t size)
{
	n_memory = 0;
	put(find(call, false, argument, -1, args), bytes, size);
	return shown((struct call_moment){ .args = args, .string_bytes = 32 });
}

static void as_a_whole(bool is_whole)
{
	call_style_set(&(struct call_style){ .is_whole = is_whole });
}

/* ---------------------------------------------------------------- bpf */

static void attributes_of_bpf_are_shown_as_far_as_they_were_passed(void)
{
	int64_t args[6] = { BPF_MAP_CREATE, 0x1000, 4 };
	uint32_t map[20] = { 2, 4, 8, 256, 0, 3 };

	is_text(at_entry("bpf", 2, args, map, 4),
		"{map_type=BPF_MAP_TYPE_ARRAY, key_size=0, value_size=0, max_entries=0}");
	args[2] = 24;
	is_text(at_entry("bpf", 2, args, map, 24),
		"{map_type=BPF_MAP_TYPE_ARRAY, key_size=4, value_size=8, max_entries=256, "
		"map_flags=0, inner_map_fd=3}");
	memcpy(&map[7], "0123456789abcdef", 16);
	args[2] = 36;
	is_text(at_entry("bpf", 2, args, map, 36),
		"{map_type=BPF_MAP_TYPE_ARRAY, key_size=4, value_size=8, max_entries=256, "
		"map_flags=0, inner_map_fd=3, map_name=\"0123456\"...}");
	is_text(at_entry("bpf", 2, args, map, 35), "an address");
	args[0] = BPF_MAP_DELETE_ELEM;
	args[2] = 20;
	memcpy(map, (const uint64_t[]){ 7, 0, 0 }, 24);
	is_text(at_entry("bpf", 2, args, map, 20), "{map_fd=7, key=NULL}");
	map[4] = 5;
	is_text(at_entry("bpf", 2, args, map, 20), "{map_fd=7, key=NULL, ...}");
	as_a_whole(true);
	is_text(at_entry("bpf", 2, args, map, 20),
		"{map_fd=7, key=NULL, extra_data=\"\\x05\\x00\\x00\\x00\" /* bytes 16..19 */}");
	as_a_whole(false);
	args[0] = 1000;
	is_text(at_entry("bpf", 2, args, map, 20), "an address");
}

static void texts_behind_attributes_of_bpf_are_shown_if_they_are_known(void)
{
	const int64_t args[6] = { BPF_OBJ_GET, 0x1000, 12 };
	const uint64_t pin[2] = { 0x5000, 0 };

	is_text(at_entry("bpf", 2, args, pin, 12), "{pathname=0x5000, bpf_fd=0}");
	put(find("bpf", false, 2, 0, args), "/sys/fs/bpf/x", 14);
	is_text(shown((struct call_moment){ .args = args, .string_bytes = 4 }),
		"{pathname=\"/sys/fs/bpf/x\", bpf_fd=0}");
	memory[1].size = 6; /* no more could be read */
	is_text(shown((struct call_moment){ .args = args }), "{pathname=0x5000, bpf_fd=0}");
}

static void the_length_that_bpf_filled_stands_beside_the_old_one(void)
{
	const struct call_length lengths[6] = { [1] = { 152, true } };
	const uint32_t info[4] = { 5, 104, 0x7000 };

	for (int64_t size = 16; size < 200;
	     size += 128) { /* 144: a caller passes the whole union */
		const int64_t args[6] = { BPF_OBJ_GET_INFO_BY_FD, 0x1000, size };

		n_memory = 0;
		put(find("bpf", true, 2, -1, args), info, 16);
		is_text(shown((struct call_moment){
				.args = args, .is_end = true, .lengths = lengths }),
			"{info={bpf_fd=5, info_len=152 => 104, info=0x7000}}");
	}
}

/* ---------------------------------------------------------------- ptrace */

static void registers_of_ptrace_have_their_names(void)
{
	const int64_t args[6] = { PTRACE_GETREGSET, 7, 1, 0x1000 };
	const struct call_length lengths[6] = { [3] = { 24, true } };
	const uint64_t iov[2] = { 0x5000, 16 }, set[2] = { 1, 0 };

	n_memory = 0;
	put(find("ptrace", true, 4, -1, args), iov, 16);
	put(find("ptrace", true, 4, 0, args), set, 16);
	is_text(shown((struct call_moment){ .args = args, .is_end = true, .lengths = lengths }),
		"{iov_base={r15=0x1, r14=0}, iov_len=24 => 16}");
	memory[1].size = 8;
	is_text(shown((struct call_moment){ .args = args, .is_end = true, .lengths = lengths }),
		"{iov_base=0x5000, iov_len=24 => 16}");
	is_text(at_entry("ptrace", 4, args, iov, 16), "{iov_base=0x5000, iov_len=16}");
	is_text(at_entry("ptrace", 4, args, iov, 15), "an address");
}

static void a_state_of_a_call_is_shown_as_far_as_it_was_wanted(void)
{
	int64_t args[6] = { PTRACE_GET_SYSCALL_INFO, 7, 40, 0x1000 };
	const uint64_t state[5] = { 0xc000003e00000001, 0x401000, 0x7ff0, 0, 3 };
	struct call_moment x = { .args = args, .is_end = true, .result = 80 };

	n_memory = 0;
	put(find("ptrace", true, 4, -1, args), state, 40);
	is_text(shown(x), "{op=PTRACE_SYSCALL_INFO_ENTRY, arch=AUDIT_ARCH_X86_64, "
			  "instruction_pointer=0x401000, stack_pointer=0x7ff0, "
			  "entry={nr=__NR_read, args=[0x3]}}");
	args[2] = 9;
	is_text(shown(x), "{op=PTRACE_SYSCALL_INFO_ENTRY, arch=AUDIT_ARCH_X86_64}");
	memory[0].size = 8;
	is_text(shown(x), "an address");
}

/* ---------------------------------------------------------------- others */

static void threads_that_clone3_made_are_those_in_memory(void)
{
	const int64_t args[6] = { 0x1000, 88 };
	const uint64_t clone[11] = { CLONE_PARENT_SETTID, 0, 0, 0x5000, SIGCHLD };
	const int32_t tid = 77;

	is_text(at_entry("clone3", 1, args, clone, 88),
		"{flags=CLONE_PARENT_SETTID, parent_tid=0x5000, exit_signal=SIGCHLD, stack=NULL, "
		"stack_size=0}");
	is_text(at_entry("clone3", 1, args, clone, 80), "an address");
	n_memory = 0;
	put(find("clone3", true, 1, -1, args), clone, 88);
	put(find("clone3", true, 1, 24, args), &tid, 4);
	is_text(shown((struct call_moment){ .args = args, .is_end = true, .result = 99 }),
		"{flags=CLONE_PARENT_SETTID, parent_tid=0x5000, exit_signal=SIGCHLD, stack=NULL, "
		"stack_size=0} => {parent_tid=[77]}");
}

static void an_unknown_size_of_attributes_is_answered_by_the_kernels(void)
{
	const int64_t args[6] = { 0x1000, 0, -1, -1, 0 };
	const struct call_length lengths[6] = { { 200, true } };
	uint64_t attr[16] = { (uint64_t)PERF_ATTR_SIZE_VER7 << 32 | PERF_TYPE_SOFTWARE, 2 };

	is_text(at_entry("perf_event_open", 1, args, attr, 128),
		"{type=PERF_TYPE_SOFTWARE, size=PERF_ATTR_SIZE_VER7, "
		"config=PERF_COUNT_SW_PAGE_FAULTS, sample_period=0, sample_type=0, read_format=0, "
		"precise_ip=0 /* arbitrary skid */, ...}");
	is_text(at_entry("perf_event_open", 1, args, attr, 40), "an address");
	n_memory = 0;
	put(find("perf_event_open", true, 1, -1, args), attr, 128);
	is_text(shown((struct call_moment){
			.args = args, .is_end = true, .result = -E2BIG, .lengths = lengths }),
		"{type=PERF_TYPE_SOFTWARE, size=0xc8 /* PERF_ATTR_SIZE_??? */ => "
		"PERF_ATTR_SIZE_VER7, config=PERF_COUNT_SW_PAGE_FAULTS, sample_period=0, "
		"sample_type=0, read_format=0, precise_ip=0 /* arbitrary skid */, ...}");
}

static void a_text_is_shown_if_it_ends_or_goes_on_beyond_what_is_shown(void)
{
	const int64_t args[6] = { 1, 2, 3, 0, 4 }, binds[6] = { 1, 2, 3, MS_BIND, 4 },
		      old[6] = { 1, 2, 3, MS_MGC_VAL, 4 };
	const char more[] = "0123456789012345678901234567890123456789";

	is_text(at_entry("mount", 5, args, "data", 5), "\"data\"");
	is_text(at_entry("mount", 5, old, "data", 5), "\"data\"");
	is_text(at_entry("mount", 5, binds, "data", 5), "an address");
	is_text(at_entry("mount", 5, args, "data", 4), "an address");
	is_text(at_entry("mount", 5, args, more, 33), "\"01234567890123456789012345678901\"...");
	is_text(at_entry("mount", 5, args, "", 0), "an address");
}

static void a_text_that_is_not_looked_at_is_no_text(void)
{
	const int64_t mounts[6] = { 1, 2, 3, 0, 4 }, remounts[6] = { 1, 2, 3, MS_REMOUNT, 4 },
		      sets[6] = { 3, FSCONFIG_SET_FLAG }, makes[6] = { 3, FSCONFIG_CMD_CREATE };
	uint8_t type = capture_text_condition("mount", 3),
		key = capture_text_condition("fsconfig", 3);

	is(type && key, 1);
	is(capture_text_condition("mount", 1), 0);
	is(capture_text_is_used(type, mounts), 1);
	is(capture_text_is_used(type, remounts), 0);
	is(capture_text_is_used(key, sets), 1);
	is(capture_text_is_used(key, makes), 0);
	is(capture_text_is_used(0, makes), 1);
}

static const char *arguments(const char *call, const char *const *names, const int64_t *n)
{
	struct call_value values[CALL_ARGS] = { 0 };
	struct call_class class = { .is = CALL_ENTRY };
	struct call_parts parts = { 0 };
	struct call_plan plan;
	struct text t = { 0 };

	for (; names[class.n_fields]; class.n_fields++) {
		values[class.n_fields] = (struct call_value){ .n = n[class.n_fields] };
		class.name[class.n_fields] = names[class.n_fields];
	}
	call_plan_make(&plan, call, &class);
	call_arguments(&parts, &plan, values, class.n_fields, UINT32_MAX,
		       &(struct call_moment){ .args = n });
	call_join(&t, &plan, &parts, 0, CALL_ARGS);
	call_parts_fini(&parts);
	snprintf(made, sizeof made, "%s", t.bytes ? t.bytes : "");
	text_fini(&t);
	return made;
}

static void the_request_decides_which_arguments_are_shown(void)
{
	static const char *const of_ptrace[] = { "request", "pid", "addr", "data", NULL },
				 *const of_keyctl[] = { "option", "arg2", "arg3",
							"arg4",	  "arg5", NULL };

	is_text(arguments("ptrace", of_ptrace, (const int64_t[6]){ PTRACE_TRACEME, 1, 2, 3 }),
		"PTRACE_TRACEME");
	is_text(arguments("ptrace", of_ptrace, (const int64_t[6]){ PTRACE_CONT, 1, 0, SIGUSR1 }),
		"PTRACE_CONT, 1, NULL, SIGUSR1");
	is_text(arguments("ptrace", of_ptrace, (const int64_t[6]){ PTRACE_GETREGS, 1, 5, 0x10 }),
		"PTRACE_GETREGS, 1, 0x10");
	is_text(arguments("ptrace", of_ptrace, (const int64_t[6]){ 0x9999, 1, 5, 0x10 }),
		"0x9999 /* PTRACE_??? */, 1, 0x5, 0x10");
	is_text(arguments("ptrace", of_ptrace,
			  (const int64_t[6]){ 1l << 32 | PTRACE_GETREGS, 1, 5, 0x10 }),
		"0x10000000c /* PTRACE_??? */, 1, 0x5, 0x10");
	is_text(arguments("keyctl", of_keyctl, (const int64_t[6]){ KEYCTL_LINK, -1, 12, 13, 14 }),
		"KEYCTL_LINK, KEY_SPEC_THREAD_KEYRING, 12");
	is(call_request_of(call_requests("keyctl"),
			   &(struct call_value){ .n = 1l << 32 | KEYCTL_CLEAR }, 1) != NULL,
	   1);
	is_text(arguments("keyctl", of_keyctl,
			  (const int64_t[6]){ KEYCTL_SETPERM, 9, 0x01000002, 0, 0 }),
		"KEYCTL_SETPERM, 9, KEY_POS_VIEW|KEY_OTH_READ");
}

/* As the entry keeps them for the exit. */
static void lengths_have_all_their_bits(void)
{
	const int64_t of_ptrace[6] = { PTRACE_GETREGSET, 7, 1, 0x1000 };
	const int64_t of_perf[6] = { 0x1000, 0, -1, -1, 0 };
	uint64_t iov[2] = { 0x5000, (1ull << 32) + 16 };
	uint64_t attr[16] = { (uint64_t)UINT32_MAX << 32 | PERF_TYPE_SOFTWARE, 2 };
	struct call_length lengths[6] = { 0 };

	n_memory = 0;
	put(find("ptrace", false, 4, -1, of_ptrace), iov, 16);
	call_described_length(&memory[0], lengths);
	iov[1] = 216;
	n_memory = 0;
	put(find("ptrace", true, 4, -1, of_ptrace), iov, 16);
	is_text(shown((struct call_moment){
			.args = of_ptrace, .is_end = true, .lengths = lengths }),
		"{iov_base=0x5000, iov_len=4294967312 => 216}");
	n_memory = 0;
	put(find("perf_event_open", false, 1, -1, of_perf), attr, 128);
	call_described_length(&memory[0], lengths);
	attr[0] = (uint64_t)136 << 32 | PERF_TYPE_SOFTWARE;
	n_memory = 0;
	put(find("perf_event_open", true, 1, -1, of_perf), attr, 128);
	is(!strncmp(
		   shown((struct call_moment){
			   .args = of_perf, .is_end = true, .result = -E2BIG, .lengths = lengths }),
		   "{type=PERF_TYPE_SOFTWARE, size=0xffffffff /* PERF_ATTR_SIZE_??? */ => ", 69),
	   1);
}

/* No number of a file is an error whose name is looked for behind the largest. */
static void the_least_number_is_no_error(void)
{
	const int64_t args[6] = { 0, 1, 1, 1, 1, 0 };
	const int32_t errors[] = { INT32_MIN };

	n_memory = 0;
	put(find("move_pages", true, 5, -1, args), errors, 4);
	is_text(shown((struct call_moment){ .args = args, .is_end = true }), "[-2147483648]");
}

/* Whatever stands in a file: no size of any type reads too far, or shows something in part. */
static void no_size_shows_bytes_that_were_not_recorded(void)
{
	static const struct {
		const char *call;
		int argument;
	} all[] = { { "bpf", 2 },	 { "ptrace", 4 },	 { "clone3", 1 },
		    { "keyctl", 2 },	 { "keyctl", 3 },	 { "perf_event_open", 1 },
		    { "mount", 5 },	 { "fsconfig", 4 },	 { "mount_setattr", 4 },
		    { "modify_ldt", 2 }, { "sched_setattr", 2 }, { "io_uring_setup", 2 } };
	static uint8_t bytes[600];

	memset(bytes, 1, sizeof bytes);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (int64_t first = 0; first < 40; first++)
			for (size_t size = 0; size < sizeof bytes; size += 1 + size / 16) {
				const int64_t args[6] = { first, 64, (int64_t)size, 600, 64 };
				const struct abi_capture *what =
					find(all[i].call, false, all[i].argument, -1, args);

				n_memory = 0;
				if (!what)
					continue;
				put(what, bytes, size);
				shown((struct call_moment){ .args = args, .string_bytes = 32 });
				is(!strstr(made, "\\356") && !strstr(made, "ee"), 1);
				is(strncmp(made, "refused", 7) != 0, 1);
			}
}

int main(void)
{
	run(attributes_of_bpf_are_shown_as_far_as_they_were_passed);
	run(texts_behind_attributes_of_bpf_are_shown_if_they_are_known);
	run(the_length_that_bpf_filled_stands_beside_the_old_one);
	run(registers_of_ptrace_have_their_names);
	run(a_state_of_a_call_is_shown_as_far_as_it_was_wanted);
	run(threads_that_clone3_made_are_those_in_memory);
	run(an_unknown_size_of_attributes_is_answered_by_the_kernels);
	run(a_text_is_shown_if_it_ends_or_goes_on_beyond_what_is_shown);
	run(a_text_that_is_not_looked_at_is_no_text);
	run(the_request_decides_which_arguments_are_shown);
	run(lengths_have_all_their_bits);
	run(the_least_number_is_no_error);
	run(no_size_shows_bytes_that_were_not_recorded);
	return test_status();
}
