/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/skip_test.c - a reader that skips what names no thread returns the items of a whole reading
 * from that time on, names included; where names depend on everything, nothing is skipped, or a reader has
 * to begin anew.
 */
#include <endian.h>

#include "abi/ctf.h"
#include "trace/filter/match.h"
#include "trace/names_internal.h"
#include "unit/trace/make_trace.h"

enum {
	DATA = 2,
	PACKETS = 12,
	EVENTS = 40,
	RECORDINGS = 30,
	TIMES = 30,
	KERNELS = 8,
	STATE_CLASS = 16
};

#define HEADER                                                                                     \
	"event.header := struct { t32 timestamp; u16 id; }; "                                      \
	"event.context := struct { i32 vpid; i32 vtid; }; };\n"
#define APPLICATION                                                                                \
	HEAD("le")                                                                                 \
	"env { domain = \"ust\"; hostname = \"h\"; };\n"                                           \
	"stream { id = 0; " CONTEXT HEADER "stream { id = 16; " CONTEXT HEADER                     \
	"event { name = \"shop:order\"; id = 0; stream_id = 0; fields := struct { u32 n; }; };\n"  \
	"event { name = \"lttng_ust_statedump:procname\"; id = 0; stream_id = 16; "                \
	"fields := struct { string procname; i32 pid; }; };\n"
#define THREADS_ALONE                                                                              \
	HEAD("le")                                                                                 \
	"env { domain = \"ust\"; hostname = \"h\"; };\n"                                           \
	"stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; "          \
	"event.context := struct { i32 vtid; }; };\n"                                              \
	"event { name = \"shop:order\"; id = 0; stream_id = 0; fields := struct { u32 n; }; };\n"
#define KERNEL                                                                                     \
	HEAD("le")                                                                                 \
	"env { domain = \"kernel\"; hostname = \"h\"; };\n"                                        \
	"stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; "          \
	"event.context := struct { i32 tid; }; };\n"                                               \
	"event { name = \"tick\"; id = 0; stream_id = 0; fields := struct { u32 n; }; };\n"        \
	"event { name = \"sched_process_fork\"; id = 1; stream_id = 0; fields := struct { "        \
	"i32 child_tid; i32 child_pid; string child_comm; i32 parent_tid; i32 parent_pid; }; };\n" \
	"event { name = \"task_newtask\"; id = 2; stream_id = 0; fields := struct { "              \
	"i32 pid; u64 clone_flags; }; };\n"                                                        \
	"event { name = \"task_rename\"; id = 3; stream_id = 0; fields := struct { "               \
	"i32 tid; string newcomm; }; };\n"                                                         \
	"event { name = \"sched_switch\"; id = 4; stream_id = 0; fields := struct { "              \
	"i32 prev_tid; string prev_comm; i32 next_tid; string next_comm; }; };\n"                  \
	"event { name = \"lttng_statedump_process_state\"; id = 5; stream_id = 0; "                \
	"fields := struct { i32 tid; i32 pid; string name; }; };\n"

static const char *where;
static char path[160], others[160];
static uint64_t seed = 11;
static bool is_in_namespace; /* some programs are */
static uint64_t namespaces_from;
static uint64_t n_read;
static bool has_kernel, kernel_has_index, has_births; /* of a recording with a kernel */
static uint64_t may_recall = UINT64_MAX;	      /* events */
static bool hides_processes;
static int n_begun_anew, n_recalled, n_with_births, n_with_threads;
static bool notes_births, hides_some_births; /* in the index */
static bool dumps_all;			     /* programs: otherwise the first one is left out */
static bool was_birth;			     /* the kernel's event that was put last */
static uint64_t n_to_name; /* threads: the state dump and switches name them first */
static uint64_t kernel_bytes_max = UINT64_MAX; /* of one that is read from its begin */

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void put_event(struct bytes *b, uint64_t now, bool is_state)
{
	uint64_t pid = 1 + dice(6);
	char name[24];

	put(b, (uint32_t)now, 4);
	put(b, 0, 2);
	put(b, pid, 4);
	put(b, dice(4) ? pid + 10 * dice(3) : 1 + dice(36), 4); /* some change their process */
	if (!is_state)
		return put(b, dice(1000), 4);
	snprintf(name, sizeof name, "name-%d", (int)dice(30));
	put_text(b, name);
	put(b, is_in_namespace && now >= namespaces_from && !dice(4) ? pid + 30 : pid, 4);
}

static void put_some_name(struct bytes *b)
{
	char name[24];

	snprintf(name, sizeof name, "kernel-%d", (int)dice(30));
	put_text(b, name);
}

/* Threads and processes are those of applications, but need not agree with them. */
static void put_kernel_event(struct bytes *b, uint64_t now)
{
	uint64_t id, at = b->n;

	n_to_name -= n_to_name == 41 && !dumps_all;
	id = n_to_name > 40 ? 9 : n_to_name ? 6 : dice(has_births ? 14 : 7);
	id = id > 6 && id < 9 ? id - 6 : id == 9 ? 5 : id == 5 ? 3 : id == 6 ? 4 : 0;
	was_birth = id == 1 || id == 2 || id == 5;
	put(b, (uint32_t)now, 4);
	put(b, id, 2);
	put(b, 1 + dice(40), 4);
	if (!id)
		return put(b, at, 4);
	put(b, n_to_name ? 1 + --n_to_name % 40 : 1 + dice(40), 4);
	if (id == 2)
		return put(b, dice(4) ? 0 : 0x10000, 8);
	if (id == 1 || id == 5)
		put(b, 1 + dice(40), 4);
	put_some_name(b);
	if (id == 3 || id == 5)
		return;
	put(b, 1 + dice(40), 4);
	id == 1 ? put(b, 1 + dice(8), 4) : put_some_name(b);
}

static struct abi_ctf_index_entry entry(uint64_t at, uint64_t end, uint64_t begin_ns,
					uint64_t end_ns, uint64_t sequence)
{
	return (struct abi_ctf_index_entry){
		.offset = htobe64(at),
		.packet_bits = htobe64((end - at) * 8),
		.content_bits = htobe64((end - at) * 8),
		.begin_ns = htobe64(begin_ns),
		.end_ns = htobe64(end_ns),
		.sequence = htobe64(sequence),
	};
}

static void write_kernel(void)
{
	static struct bytes b;
	struct {
		struct abi_ctf_index_header h;
		struct abi_ctf_index_entry e[PACKETS / 2];
	} index = { .h = { htobe32(ABI_CTF_INDEX_MAGIC), htobe32(1), htobe32(1),
			   htobe32(sizeof index.e[0]) } };
	char directory[256];

	snprintf(directory, sizeof directory, "%s/index", others);
	ok(!mkdir(others, 0700) && !mkdir(directory, 0700));
	write_file(others, "metadata", KERNEL, strlen(KERNEL));
	for (int i = 0; i < 2; i++) {
		uint64_t now = 1000;

		b.n = 0;
		n_to_name = !kernel_has_index || i ? 0
			    : notes_births	   ? 78
						   : 40; /* two are not dumped */
		for (uint64_t p = 0; p < PACKETS / 2; p++) {
			size_t at = begin_packet(&b, now, p, 0);
			uint64_t begin = now;
			bool births = false;

			put_at(&b, b.n - 4, (uint64_t)i, 4);
			for (int k = 0; k < EVENTS / 2; k++) {
				put_kernel_event(&b, now += dice(12));
				births |= was_birth;
			}
			put_at(&b, at + 24 + 8, now, 8);
			end_packet(&b, at);
			index.e[p] = entry(at, b.n, begin, now, p);
			if (notes_births && !(hides_some_births && p == 2))
				index.e[p].stream_instance_id = htobe64(
					births ? ABI_CTF_INDEX_BIRTHS : ABI_CTF_INDEX_NO_BIRTHS);
		}
		write_file(others, i ? "s1" : "s0", b.at, b.n);
		if (kernel_has_index)
			write_file(others, i ? "index/s1.idx" : "index/s0.idx", &index,
				   sizeof index);
	}
}

/* Many events of several streams have one time. */
static void write_stream(const char *directory, const char *stream, uint64_t class, bool has_index)
{
	static struct bytes b;
	struct {
		struct abi_ctf_index_header h;
		struct abi_ctf_index_entry e[PACKETS];
	} index = { .h = { htobe32(ABI_CTF_INDEX_MAGIC), htobe32(1), htobe32(1),
			   htobe32(sizeof index.e[0]) } };
	uint64_t now = 1000, lost = 0;
	char name[32];

	b.n = 0;
	for (uint64_t p = 0; p < PACKETS; p++) {
		uint64_t begin = now;
		size_t at = begin_packet(&b, now, p, lost += p && dice(3) == 0);

		put_at(&b, at + 20, class, 4);
		for (int i = 0; i < EVENTS; i++)
			put_event(&b, now += dice(3), class != 0);
		put_at(&b, at + 24 + 8, now, 8);
		end_packet(&b, at);
		index.e[p] = (struct abi_ctf_index_entry){
			.offset = htobe64(at),
			.packet_bits = htobe64((b.n - at) * 8),
			.content_bits = htobe64((b.n - at) * 8),
			.begin_ns = htobe64(begin),
			.end_ns = htobe64(now),
			.discarded = htobe64(lost),
			.stream_id = htobe64(class),
			.sequence = htobe64(p),
		};
	}
	write_file(directory, stream, b.at, b.n);
	snprintf(name, sizeof name, "index/%s.idx", stream);
	if (has_index)
		write_file(directory, name, &index, sizeof index);
}

static void make(const char *metadata, bool has_index)
{
	char directory[256];

	where = make_directory();
	snprintf(path, sizeof path, "%s/ust", where);
	snprintf(others, sizeof others, "%s/other", where);
	snprintf(directory, sizeof directory, "%s/index", path);
	ok(!mkdir(path, 0700) && !mkdir(directory, 0700));
	write_file(path, "metadata", metadata, strlen(metadata));
	for (int i = 0; i < DATA; i++)
		write_stream(path, i ? "s1" : "s0", 0, has_index);
	if (strstr(metadata, "id = 16"))
		write_stream(path, "state_0", STATE_CLASS, has_index);
	if (has_kernel)
		write_kernel();
}

static void remove_all(void)
{
	static const char *const files[] = { "index/s0.idx", "index/s1.idx", "index/state_0.idx",
					     "state_0" };
	char file[256];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(file, sizeof file, "%s/%s", path, files[i]);
		unlink(file);
	}
	snprintf(file, sizeof file, "%s/index", path);
	rmdir(file);
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof file, "%s/index/s%d.idx", others, i);
		unlink(file);
	}
	snprintf(file, sizeof file, "%s/index", others);
	rmdir(file);
	remove_directory(path);
	remove_directory(others);
	ok(!rmdir(where));
}

/* Whether the reader has to begin anew. */
static bool learn(struct names *names, const struct trace_event *e, struct thread_identity *w,
		  bool is_before)
{
	is_before ? names_learn(names, e) : names_on_event(names, e, w);
	if (!is_before && !hides_processes)
		names_find_process(names, e, w);
	return names_is_unsure(names);
}

/* Passes over the @n_items at @from_ns or later that it has returned. */
static void begin_anew(struct trace *trace, struct names *names, int64_t from_ns, uint64_t n_items)
{
	struct thread_identity w;
	struct trace_event e;
	struct diag d = { "" };
	int item;

	n_begun_anew++;
	is(names_forget(names), 0);
	trace_seek(trace, INT64_MIN);
	while ((item = trace_next(trace, &e, &d)) > 0) {
		if (e.time_ns >= from_ns && !n_items--)
			break;
		if (item == TRACE_EVENT)
			ok(!learn(names, &e, &w, e.time_ns < from_ns));
	}
	ok(trace_previous(trace, &e, &d) == item);
}

static bool has_searched(const struct names_skipped *s, const struct names_search *of)
{
	return of->part && of->low_ns < s->from_ns;
}

/* The lines from @from_ns on. @skips: whether something can be skipped. */
static char *lines(int64_t from_ns, bool *skips)
{
	uint64_t n_items = 0;
	struct text t = { 0 };
	struct trace *trace;
	struct names *names;
	struct trace_event e;
	struct thread_identity w;
	struct diag d = { "" };
	int item;

	is(trace_open(&trace, &where, 1, NULL, &d), 0);
	is(names_open(&names, trace, &d), 0);
	if (skips)
		*skips = names_skip_beyond(names, trace, from_ns, kernel_bytes_max);
	n_with_births += names->skipped.knows_births;
	n_with_threads += names->skipped.knows_threads;
	if (names->skipped.is_open && names->skipped.n_left > may_recall)
		names->skipped.n_left = may_recall;
	for (n_read = 0; (item = trace_next(trace, &e, &d)) > 0; n_read++) {
		if (item == TRACE_EVENT && learn(names, &e, &w, e.time_ns < from_ns)) {
			begin_anew(trace, names, from_ns, n_items);
			continue;
		}
		if (e.time_ns < from_ns)
			continue;
		n_items++;
		if (item == TRACE_LOST) {
			text_addf(&t, "%" PRId64 " lost %" PRIu64 "\n", e.time_ns, e.lost_events);
			continue;
		}
		text_addf(&t, "%" PRId64 " %s %" PRId64 " %" PRId64 " %.*s\n", e.time_ns,
			  e.stream->name, w.tid, hides_processes ? 0 : w.pid, (int)w.size, w.name);
	}
	n_recalled += has_searched(&names->skipped, &names->skipped.names) ||
		      has_searched(&names->skipped, &names->skipped.processes);
	names_close(names);
	trace_close(trace);
	text_add(&t, "", 0);
	return t.bytes;
}

static bool is_same(int64_t from_ns, bool *skips)
{
	char *near = lines(from_ns, NULL), *far = lines(from_ns, skips);
	bool is = !strcmp(near, far);

	free(near);
	free(far);
	return is;
}

static int64_t some_time(void)
{
	return 900 + (int64_t)dice(PACKETS * EVENTS + 200);
}

/* ---------------------------------------------------------------- tests */

static void far_lines_are_those_of_a_whole_reading(void)
{
	uint64_t skipped = 0;
	bool skips;

	for (int i = 0; i < RECORDINGS; i++) {
		make(APPLICATION, true);
		for (int k = 0; k < TIMES; k++) {
			ok(is_same(some_time(), &skips));
			ok(skips);
			skipped += n_read < 2 * PACKETS * EVENTS;
		}
		remove_all();
	}
	ok(skipped > RECORDINGS * TIMES / 4);
}

static void only_packets_around_the_time_are_read(void)
{
	bool skips;

	make(APPLICATION, true);
	ok(is_same(1000 + PACKETS * EVENTS * 2, &skips) && skips);
	ok(n_read <= PACKETS * (EVENTS + 1)); /* the state's stream */
	remove_all();
}

/* From the first such program on ids depend on the events before. */
static void with_programs_in_namespaces_all_is_read(void)
{
	bool skips;
	int refused = 0;

	is_in_namespace = true;
	for (int i = 0; i < RECORDINGS; i++) {
		make(APPLICATION, true);
		for (int k = 0; k < TIMES; k++) {
			ok(is_same(some_time(), &skips));
			refused += !skips;
		}
		remove_all();
	}
	is_in_namespace = false;
	ok(refused > RECORDINGS * TIMES / 2);
}

static void where_ids_or_indexes_are_missing_all_is_read(void)
{
	bool skips;

	make(THREADS_ALONE, true);
	ok(is_same(some_time(), &skips) && !skips);
	remove_all();
	make(APPLICATION, false);
	ok(is_same(some_time(), &skips) && !skips);
	remove_all();
}

/* Reads some recordings with a kernel.  Returns how often it was less than half of it. */
static int read_beside_a_kernel(void)
{
	uint64_t all = (DATA + 1) * PACKETS * EVENTS + PACKETS * EVENTS / 2;
	int n_less = 0;
	bool skips;

	has_kernel = true;
	n_begun_anew = n_recalled = n_with_births = n_with_threads = 0;
	for (int i = 0; i < KERNELS; i++) {
		make(APPLICATION, true);
		for (int k = 0; k < TIMES; k++) {
			ok(is_same(some_time(), &skips));
			n_less += n_read < all * 3 / 4;
			ok(skips || is_in_namespace);
		}
		remove_all();
	}
	has_kernel = false;
	return n_less;
}

static void beside_a_kernel_processes_are_found_backward(void)
{
	has_births = false;
	ok(read_beside_a_kernel() > KERNELS * TIMES / 4);
	is(n_begun_anew, 0);
	ok(n_recalled > KERNELS * TIMES / 2);
}

static void names_alone_need_fewer_processes(void)
{
	int n_with_processes;

	has_births = false;
	read_beside_a_kernel();
	n_with_processes = n_recalled;
	hides_processes = true;
	read_beside_a_kernel();
	hides_processes = false;
	is(n_begun_anew, 0);
	ok(n_recalled < n_with_processes);
}

static void a_thread_of_an_unknown_process_lets_the_reader_begin_anew(void)
{
	has_births = true;
	read_beside_a_kernel();
	ok(n_begun_anew > KERNELS * TIMES / 10);
	ok(n_recalled > 0);
}

static void a_long_search_lets_the_reader_begin_anew(void)
{
	has_births = false;
	may_recall = 200;
	read_beside_a_kernel();
	may_recall = UINT64_MAX;
	ok(n_begun_anew > KERNELS * TIMES / 10);
}

/* ---------------------------------------------------------------- a skipped kernel */

static int read_without_kernel(void)
{
	int n_less;

	kernel_has_index = true;
	kernel_bytes_max = 0;
	n_less = read_beside_a_kernel();
	kernel_has_index = false;
	kernel_bytes_max = UINT64_MAX;
	return n_less;
}

static void names_of_a_skipped_kernel_are_found_backward(void)
{
	hides_processes = true;
	for (int births = 0; births < 2; births++) {
		has_births = births;
		ok(read_without_kernel() > KERNELS * TIMES / 8);
		ok(n_recalled > KERNELS * TIMES / 8);
	}
	hides_processes = false;
}

static void processes_of_a_skipped_kernel_let_the_reader_begin_anew(void)
{
	has_births = true;
	read_without_kernel();
	ok(n_begun_anew > KERNELS * TIMES / 2);
	has_births = false;
}

static void noted_births_have_the_processes_of_a_skipped_kernel(void)
{
	int n_less;

	has_births = notes_births = true;
	n_less = read_without_kernel();
	ok(n_less > KERNELS * TIMES / 4);
	ok(n_begun_anew < KERNELS * TIMES / 2); /* a thread of a process that no event has */
	ok(n_recalled > KERNELS * TIMES / 2);
	is(n_with_births, KERNELS * TIMES);
	hides_some_births = true;
	read_without_kernel();
	is(n_with_births, 0);
	hides_some_births = has_births = notes_births = false;
}

/* Two threads of the kernel are of other programs. */
static void threads_that_record_nothing_are_not_searched(void)
{
	has_births = notes_births = dumps_all = true;
	read_without_kernel();
	ok(n_with_threads > KERNELS * TIMES / 4);
	has_births = notes_births = dumps_all = false;
}

static void a_long_search_for_names_lets_the_reader_begin_anew(void)
{
	hides_processes = true;
	may_recall = 60;
	read_without_kernel();
	may_recall = UINT64_MAX;
	hides_processes = false;
	ok(n_begun_anew > KERNELS * TIMES / 10);
}

static void later_namespaces_let_the_reader_begin_anew(void)
{
	is_in_namespace = true;
	namespaces_from = 1000 + PACKETS * EVENTS / 2;
	has_births = false;
	read_beside_a_kernel();
	namespaces_from = 0;
	is_in_namespace = false;
	ok(n_begun_anew > KERNELS * TIMES / 10);
}

static void a_large_kernel_is_read_with_all(void)
{
	char name[256];
	bool skips;

	has_kernel = true;
	kernel_bytes_max = 64 << 20;
	make(APPLICATION, true);
	snprintf(name, sizeof name, "%s/s1", others);
	ok(!truncate(name, 100 << 20)); /* the rest of it is damage */
	free(lines(some_time(), &skips));
	ok(!skips); /* s1 has no index */
	has_kernel = false;
	kernel_bytes_max = UINT64_MAX;
	remove_all();
}

static bool uses_process(struct trace *t, const char *filter)
{
	struct diag d = { "" };
	struct match *m;
	bool uses;

	is(match_open(&m, t, filter, NULL, &d), 0);
	uses = m && match_uses_process(m);
	match_close(m);
	return uses;
}

static void only_filters_with_a_process_need_it(void)
{
	struct diag d = { "" };
	struct trace *t;

	make(APPLICATION, true);
	is(trace_open(&t, &where, 1, NULL, &d), 0);
	ok(uses_process(t, "n > 3 && $vpid == 4"));
	ok(uses_process(t, "$pid == 4"));
	ok(!uses_process(t, "n > 3 || $vtid == 4 || $procname == \"name-1\""));
	trace_close(t);
	remove_all();
}

int main(void)
{
	run(far_lines_are_those_of_a_whole_reading);
	run(only_packets_around_the_time_are_read);
	run(with_programs_in_namespaces_all_is_read);
	run(where_ids_or_indexes_are_missing_all_is_read);
	run(beside_a_kernel_processes_are_found_backward);
	run(names_alone_need_fewer_processes);
	run(a_thread_of_an_unknown_process_lets_the_reader_begin_anew);
	run(a_long_search_lets_the_reader_begin_anew);
	run(names_of_a_skipped_kernel_are_found_backward);
	run(processes_of_a_skipped_kernel_let_the_reader_begin_anew);
	run(noted_births_have_the_processes_of_a_skipped_kernel);
	run(threads_that_record_nothing_are_not_searched);
	run(a_long_search_for_names_lets_the_reader_begin_anew);
	run(later_namespaces_let_the_reader_begin_anew);
	run(a_large_kernel_is_read_with_all);
	run(only_filters_with_a_process_need_it);
	return test_status();
}
