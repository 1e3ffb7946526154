/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/analysis/call_classes_test.c - a call that was made outlives new event classes.
 *
 * Who follows a recording holds a call between its entry and its exit, with a pointer to the class of the
 * entry.  Here the recording describes thousands of classes between the two.
 */
#include "analysis/pass.h"
#include "analysis/syscalls/calls.h"
#include "trace/public.h"
#include "unit/trace/make_trace.h"

enum { MORE = 20000 };

#define KERNEL "env { domain = \"kernel\"; };\n"
#define ENTRY                                                                                      \
	"event { name = \"syscall_entry_read\"; id = 0; stream_id = 0; "                           \
	"fields := struct { u32 _fd; u64 _buf; u64 _count; }; };\n"
#define EXIT                                                                                       \
	"event { name = \"syscall_exit_read\"; id = 1; stream_id = 0; fields := struct { i32 "     \
	"_ret; }; };\n"

static const char *path;

static void describe(struct text *metadata, int first, int n)
{
	for (int i = first; i < first + n; i++)
		text_addf(metadata,
			  "event { name = \"syscall_entry_c%d\"; id = %d; stream_id = 0; "
			  "fields := struct { u32 _fd; }; };\n",
			  i, i);
	write_file(path, "metadata", metadata->bytes, metadata->size);
}

static void write_stream(bool has_exit)
{
	static struct bytes b;
	size_t at;

	b.n = 0;
	at = begin_packet(&b, 1000, 0, 0);
	put(&b, 0 | 1000 << 5, 4);
	put(&b, 7, 4);
	put(&b, 0x1000, 8);
	put(&b, 64, 8);
	end_packet(&b, at);
	if (has_exit) {
		at = begin_packet(&b, 2000, 1, 0);
		put(&b, 1 | 2000 << 5, 4);
		put(&b, 64, 4);
		end_packet(&b, at);
	}
	write_file(path, "s0", b.at, b.n);
}

static void read_again(struct trace **trace, struct pass *pass)
{
	struct diag d = { "" };

	is(trace_open(trace, &path, 1, NULL, &d), 0);
	is(pass_init(pass, *trace, NULL, &d), 0);
}

static void a_call_outlives_new_classes(void)
{
	struct text metadata = { 0 };
	struct call_made made = { 0 };
	const struct call_class *entry;
	struct trace_event e;
	struct trace *trace, *grown;
	struct calls calls;
	struct pass pass, grown_pass;
	struct diag d = { "" };
	uint32_t thread, class, n_before;

	path = make_directory();
	text_addf(&metadata, "%s", COMPACT KERNEL ENTRY EXIT);
	describe(&metadata, 0, 0);
	write_stream(false);
	read_again(&trace, &pass);
	is(calls_init(&calls, &pass), 0);
	is(pass_next(&pass, &e, &thread, &d), TRACE_EVENT);
	class = trace_class_number(&e);
	entry = calls.classes[class];
	calls_read(entry, &e, &made);
	n_before = trace_n_classes(trace);

	/* To calls_update() a followed recording is one with more classes behind the known ones. */
	describe(&metadata, 32, MORE);
	write_stream(true);
	read_again(&grown, &grown_pass);
	is(trace_n_classes(grown), n_before + MORE);
	is(calls_update(&calls, &grown_pass), 0);
	is(calls.n_classes, n_before + MORE + 1);
	is(calls.classes[class] == made.class, 1);
	is(made.class->is, CALL_ENTRY);
	is_text(calls.names[made.class->call], "read");
	is(made.args[0], 7);

	calls_fini(&calls);
	pass_fini(&pass);
	pass_fini(&grown_pass);
	trace_close(trace);
	trace_close(grown);
	text_fini(&metadata);
	remove_directory(path);
}

int main(void)
{
	run(a_call_outlives_new_classes);
	return test_status();
}
