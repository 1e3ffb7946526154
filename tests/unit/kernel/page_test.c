/* SPDX-License-Identifier: MIT */
/* Pages built by hand, and the events made of them. */
#include "capture/table.h"
#include "page.h"

static void regular_records_stay_where_they_are(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put_plain(7, 2);
	put_plain(3, 3);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 3);
	is(packet.size, 60);
	is(packet.begin_ns, T0);
	is(packet.end_ns, T0 + 10);
	is_plain(0, T0, 1);
	is_plain(20, T0 + 7, 2);
	is_plain(40, T0 + 10, 3);
	is(at16(4), at16(24));
	ok(!next());
	ok(!page.malformed);
	is(page.ticks, T0 + 10);
}

static void metadata_describe_each_recorded_event_once(void)
{
	const char *tsdl = classes.tsdl.bytes;

	ok(strstr(tsdl, "name = \"plain\""));
	ok(strstr(tsdl, "uint32_t _a;\n\t\tuint32_t _b;"));
	ok(!strstr(strstr(tsdl, "plain") + 1, "plain"));
	ok(!strstr(tsdl, "\"text\""));
}

static void long_record_loses_its_length_word(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put32(0 | 5 << 5);
	put32(4 + 16); /* counts itself */
	put_common(PLAIN);
	put32(2);
	put32(~2u);
	put_plain(1, 3);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 3);
	is(packet.size, 60);
	is_plain(20, T0 + 5, 2);
	is_plain(40, T0 + 6, 3);
}

static void padding_ends_a_page_or_is_skipped(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put32(29 | 4 << 5);
	put32(8); /* its length word and 4 bytes */
	put32(0xdeadbeef);
	put_plain(1, 2);
	put32(29);
	put32(0xdeadbeef);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	is_plain(20, T0 + 5, 2);
	ok(!next());
	ok(!page.malformed);
}

static void time_is_extended_and_set(void)
{
	uint64_t stamp = 12345678901ull;

	begin_page(T0);
	put_plain(0, 1);
	put32(30 | 9 << 5);
	put32(1);
	put_plain(2, 2);
	put32(31 | (uint32_t)(stamp & 0x7ffffff) << 5);
	put32((uint32_t)(stamp >> 27));
	put_plain(0, 3);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	is(packet.end_ns, T0 + (1 << 27) + 9 + 2);
	is_plain(20, packet.end_ns, 2);
	ok(next());
	is(packet.n_events, 1);
	is(packet.begin_ns, stamp);
	is_plain(0, stamp, 3);
}

static void absolute_stamps_take_their_top_bits_from_the_page(void)
{
	uint64_t top = 0x18ull << 56;

	begin_page(top | T0);
	put32(31 | 5000u << 5);
	put32(0);
	put_plain(0, 1);
	end_page();
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, 0, UINT64_MAX);
	ok(next());
	is(packet.begin_ns, top | 5000);
}

static void gap_too_long_for_32_bits_starts_a_packet(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put32(30);
	put32(1 << 5); /* 2^32 ticks */
	put_plain(0, 2);
	put_plain(1, 3);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 1);
	is(packet.end_ns, T0);
	ok(next());
	is(packet.n_events, 2);
	is(packet.begin_ns, T0 + (1ull << 32));
	is(packet.end_ns, T0 + (1ull << 32) + 1);
	is_plain(0, T0, 2); /* the low half */
	ok(!next());
}

static void gap_of_records_not_understood_starts_one_too(void)
{
	begin_page(T0);
	put_plain(0, 1);
	for (int i = 0; i < 40; i++) {
		put32(2 | 0x7ffffffu << 5);
		put_common(NOBODY);
	}
	put_plain(0, 2);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 1);
	ok(next());
	is(packet.n_events, 1);
	is(packet.end_ns, T0 + 40 * 0x7ffffffull);
}

static void text_becomes_a_string_and_what_follows_moves_up(void)
{
	begin_page(T0);
	put32(6 | 1 << 5);
	put_common(TEXT);
	put32(16 | 6u << 16); /* 6 bytes at 16 */
	put32(42);
	put("hello\0\0\0", 8);
	put_plain(2, 5);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	is_text((char *)packet.events + 12, "hello");
	is(at32(18), 42);
	is_plain(22, T0 + 3, 5);
	ok(strstr(classes.tsdl.bytes, "string _s;\n\t\tint32_t _v;"));
}

static void text_that_points_out_of_its_record_is_left_out(void)
{
	static const uint32_t words[] = { 24 | 1u << 16, 16 | 9u << 16, 0xffffffff, 0xffff };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		begin_page(T0);
		put32(6 | 1 << 5);
		put_common(TEXT);
		put32(words[i]);
		put32(42);
		put("hello\0\0\0", 8);
		put_plain(2, 5);
		end_page();
		open_page();
		ok(next());
		is(packet.n_events, 1);
		is(packet.n_unknown, 1);
		is_plain(0, T0 + 3, 5);
	}
}

static void list_becomes_a_count_and_its_elements(void)
{
	begin_page(T0);
	put32(5);
	put_common(LIST);
	put32(0 | 8u << 16); /* right behind the word */
	put32(100);
	put32(200);
	end_page();
	open_page();
	ok(next());
	is(packet.size, 12 + 2 + 8);
	is(at16(12), 2);
	is(at32(14), 100);
	is(at32(18), 200);
}

static void system_calls_are_events_of_their_own(void)
{
	static struct kernel_format f;

	is(kernel_format_parse(&f,
			       "name: sys_enter_close\nID: 3\n"
			       "field:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
			       "field:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n",
			       "test", NULL),
	   0);
	is(kernel_classes_describe_arguments(&classes, SYS_close, &f, 0, NULL), 0);
	begin_page(T0);
	put_enter(SYS_close);
	put_exit(SYS_close, -9);
	put_enter(SYS_read); /* the arguments are not described */
	put_exit(-1, 4);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 4);
	is(packet.size, 16 + 20 + 60 + 28);
	is(at32(12), 0); /* fd: the low half of the register */
	is((int32_t)at32(28), -9);
	is(at32(36 + 12 + 40), 5);	/* the last argument of read */
	is((int32_t)at32(96 + 12), -1); /* unknown: id and ret */
	ok(strstr(classes.tsdl.bytes, "\"syscall_entry_close\""));
	ok(strstr(classes.tsdl.bytes, "uint32_t _fd;\n\t};"));
	ok(strstr(classes.tsdl.bytes, "\"syscall_exit_close\""));
	ok(strstr(classes.tsdl.bytes, "\"syscall_entry_read\""));
	ok(strstr(classes.tsdl.bytes, "\"syscall_exit_unknown\""));
	ok(!strstr(classes.tsdl.bytes, "\"syscall_entry_write\""));
}

/* BPF programs leave the words out if nothing was captured; rings of tracefs never have them. */
static void a_record_without_words_has_no_captured_memory(void)
{
	const struct abi_captures in = capture_of_call("fcntl", false, CAPTURE_EXTRA),
				  out = capture_of_call("fcntl", true, CAPTURE_EXTRA);
	static struct kernel_format f;

	is(kernel_format_parse(&f,
			       "name: sys_enter_fcntl\nID: 3\n"
			       "field:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
			       "field:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n",
			       "test", NULL),
	   0);
	is(in.n, 1);
	is(kernel_classes_describe_arguments(&classes, SYS_fcntl, &f, 0, &in), 0);
	is(kernel_classes_describe_result(&classes, SYS_fcntl, false, &out), 0);
	begin_page(T0);
	put_enter(SYS_fcntl);
	put_exit(SYS_fcntl, 7);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	is(packet.n_unknown, 0);
	is(packet.size, 12 + 4 + 2 + 12 + 8 + 2); /* each has a sequence of 0 bytes */
	is(at32(18 + 12), 7);
	ok(strstr(classes.tsdl.bytes, "_flock_bytes"));
}

/* mmap's fd is an unsigned long to the kernel, and -1 if there is none. */
static void arguments_are_lttngs(void)
{
	static struct kernel_format f;

	is(kernel_format_parse(&f,
			       "name: sys_enter_mmap\nID: 3\n"
			       "field:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
			       "field:unsigned long addr;\toffset:16;\tsize:8;\tsigned:0;\n"
			       "field:unsigned long fd;\toffset:24;\tsize:8;\tsigned:0;\n"
			       "field:unsigned long off;\toffset:32;\tsize:8;\tsigned:0;\n",
			       "test", NULL),
	   0);
	is(kernel_classes_describe_arguments(&classes, SYS_mmap, &f, 0, NULL), 0);
	begin_page(T0);
	put_enter(SYS_mmap);
	end_page();
	open_page();
	ok(next());
	is(packet.size, 12 + 8 + 4 + 8);
	ok(strstr(classes.tsdl.bytes, "\tint32_t _fd;\n"));
	ok(strstr(classes.tsdl.bytes, "uint64_t _offset;\n"));
}

static void values_are_lttngs(void)
{
	begin_page(T0);
	for (int i = 0; i < 2; i++) { /* described by the first, plain from then on */
		put32(6);
		put_common(SWITCH);
		put32(120);
		put32(55);
		put64(i ? 0x100 : 1);
	}
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	is(at32(12), 20);
	is(at32(20), 1);
	is(at32(28 + 12), 20);
	is(at32(28 + 16), 55);
	is(at32(28 + 20), 0);
	ok(strstr(classes.tsdl.bytes, "int32_t _prev_tid;"));
}

static void losses_are_read_from_the_flags(void)
{
	uint64_t commit;

	begin_page(T0);
	put_plain(0, 1);
	commit = (n_bytes - KERNEL_PAGE_HEADER) | 1u << 31 | 1u << 30;
	memcpy(bytes + 8, &commit, sizeof commit);
	put64(1234);
	open_page();
	is(page.n_missed, 1234);
	ok(next());
	is(packet.n_events, 1);
	commit &= ~(1ull << 30); /* lost, but not said how many */
	memcpy(bytes + 8, &commit, sizeof commit);
	open_page();
	is(page.n_missed, 1);
	open_page();
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes - 8, 0, FAR);
	is(page.n_missed, 1);
}

static void page_out_of_time_is_refused(void)
{
	begin_page(T0);
	put_plain(0, 1);
	end_page();
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, T0 + 1, FAR);
	ok(page.malformed && !next());
	is(page.ticks, T0 + 1);
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, 0, T0 - 1);
	ok(page.malformed && !next());
	is(page.ticks, 0);
}

static void data_before_the_damage_are_kept(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put_plain(1, 2);
	put32(28 | 1 << 5); /* 112 bytes, of which 8 are there */
	put_common(PLAIN);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 2);
	ok(page.malformed);
	ok(!next());
	is(page.ticks, T0 + 1);
}

static void time_never_goes_back(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put32(31 | 5 << 5);
	put32(0);
	put_plain(0, 2);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 1);
	ok(page.malformed);
}

/* ---------------------------------------------------------------- births and requests */

enum { GONE = INT32_MAX - 1 }; /* no thread has this number */

static void put_newtask(uint32_t child, bool is_thread)
{
	put32(6 | 1 << 5);
	put_common(NEWTASK);
	put32(child);
	put32(0);
	put64(is_thread ? 0x10000 : 0);
}

static void put_fork(uint32_t parent, uint32_t child)
{
	put32(4 | 1 << 5);
	put_common(FORK);
	put32(parent);
	put32(child);
}

/* The fork at @offset: threads as in the record, then their processes. */
static void is_fork(size_t offset, uint32_t parent, uint32_t child, uint32_t parent_pid,
		    uint32_t child_pid)
{
	is(at32(offset + 12), parent);
	is(at32(offset + 16), child);
	is(at32(offset + 20), parent_pid);
	is(at32(offset + 24), child_pid);
}

static void births_have_processes(void)
{
	uint32_t of_777 = (uint32_t)kernel_processes_of(&classes.processes, 777);

	begin_page(T0);
	put_newtask(GONE - 1, false); /* by thread 777, as put_common() has it */
	put_fork(777, GONE - 1);
	put_newtask(GONE - 2, true);
	put_fork(777, GONE - 2);
	put_fork((uint32_t)getpid(), GONE - 2); /* task_newtask was not recorded: a process */
	put_fork(GONE - 1, GONE);
	end_page();
	open_page();
	ok(next());
	is(packet.n_events, 5);
	is_fork(24, 777, GONE - 1, of_777, GONE - 1);
	is_fork(24 + 28 + 24, 777, GONE - 2, of_777, of_777);
	is_fork(24 + 28 + 24 + 28, (uint32_t)getpid(), GONE - 2, (uint32_t)getpid(), GONE - 2);
	ok(next()); /* there was no more room in the first */
	is_fork(0, GONE - 1, GONE, GONE - 1, GONE);
	ok(!next());
	ok(!page.malformed);
}

/* Its entry in the index shows them. */
static void packets_have_births_or_not(void)
{
	bool has_births = false;

	begin_page(T0);
	for (uint32_t i = 0; i < 60; i++)
		put_plain(1, i);
	end_page();
	open_page();
	while (next())
		ok(!packet.has_births);
	for (int kind = 0; kind < 2; kind++) {
		has_births = false;
		begin_page(T0);
		put_plain(1, 0);
		kind ? put_newtask(GONE - 1, false) : put_fork(777, GONE - 1);
		put_plain(1, 1);
		end_page();
		open_page();
		while (next())
			has_births |= packet.has_births;
		ok(has_births);
	}
}

/* No event overwrites a record that is not converted yet. */
static void growing_events_end_packets_in_time(void)
{
	uint32_t n = 0, packets = 0;

	begin_page(T0);
	for (uint32_t i = 0; i < 60; i++) {
		put_plain(1, i);
		put_fork(GONE, GONE - i);
	}
	end_page();
	open_page();
	while (next()) {
		size_t at = 0;

		for (uint32_t i = 0; i < packet.n_events; i++, n++) {
			if (n % 2)
				is_fork(at, GONE, GONE - n / 2, GONE, GONE - n / 2);
			else
				is(at32(at + 12), n / 2);
			at += n % 2 ? 28 : 20;
		}
		is(at, packet.size);
		packets++;
	}
	is(n, 120);
	ok(packets > 1);
	ok(!page.malformed);
}

static void requests_become_lttngs_bits(void)
{
	static const struct {
		const char *letters;
		uint32_t bits;
	} all[] = { { "R", 4 },		  { "RA", 12 },	 { "W", 1 },
		    { "WS", 33 },	  { "WSM", 97 }, { "FWFS", 1024 + 512 + 33 },
		    { "FF", 1024 + 256 }, { "F", 256 },	 { "D", 2 },
		    { "DE", 130 },	  { "N", 0 },	 { "", 0 },
		    { "ZA", 8 },	  { "FN", 1024 } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		is(kernel_layout_request(all[i].letters, 10), all[i].bits);
	begin_page(T0);
	put32(6 | 1 << 5);
	put_common(BLOCK);
	put32(8);
	put("WS\0\0\0\0\0\0\0\0\0\0", 12);
	end_page();
	open_page();
	ok(next());
	is(at32(12), 8);
	is(at32(16), 33);
	is(packet.size, 20);
}

int main(void)
{
	setup();
	run(regular_records_stay_where_they_are);
	run(metadata_describe_each_recorded_event_once);
	run(long_record_loses_its_length_word);
	run(padding_ends_a_page_or_is_skipped);
	run(time_is_extended_and_set);
	run(absolute_stamps_take_their_top_bits_from_the_page);
	run(gap_too_long_for_32_bits_starts_a_packet);
	run(gap_of_records_not_understood_starts_one_too);
	run(text_becomes_a_string_and_what_follows_moves_up);
	run(text_that_points_out_of_its_record_is_left_out);
	run(list_becomes_a_count_and_its_elements);
	run(system_calls_are_events_of_their_own);
	run(a_record_without_words_has_no_captured_memory);
	run(arguments_are_lttngs);
	run(values_are_lttngs);
	run(losses_are_read_from_the_flags);
	run(page_out_of_time_is_refused);
	run(data_before_the_damage_are_kept);
	run(time_never_goes_back);
	run(births_have_processes);
	run(packets_have_births_or_not);
	run(growing_events_end_packets_in_time);
	run(requests_become_lttngs_bits);
	tear_down();
	return test_status();
}
