/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/marks_test.c - a reader from a mark on returns the items of a reader from the begin,
 * names included; files of marks that are damaged, foreign or others' are not used.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "make_trace.h"
#include "trace/marks/internal.h"

enum { STREAMS = 4, PACKETS = 12, EVENTS = 40, EVERY = 50, TIMES = 80, FLIPS = 300 };

#define KERNEL                                                                                     \
	COMPACT "env { domain = \"kernel\"; hostname = \"h\"; };\n"                                \
		"event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { "      \
		"i32 prev_tid; string prev_comm; i32 next_tid; string next_comm; }; };\n"          \
		"event { name = \"tick\"; id = 1; stream_id = 0; fields := struct { u32 n; }; "    \
		"};\n"                                                                             \
		"event { name = \"sched_process_fork\"; id = 2; stream_id = 0; fields := struct "  \
		"{ "                                                                               \
		"i32 child_tid; i32 child_pid; string child_comm; i32 parent_tid; "                \
		"i32 parent_pid; }; };\n"

#define APPLICATION                                                                                \
	HEAD("le")                                                                                 \
	"env { domain = \"ust\"; hostname = \"h\"; };\n"                                           \
	"stream { id = 0; " CONTEXT "event.header := struct { "                                    \
	"enum : u5 { compact = 0 ... 30, extended = 31 } id; variant <id> { "                      \
	"struct { t27 timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } "   \
	"align(8); event.context := struct { i32 vpid; i32 vtid; }; };\n"                          \
	"event { name = \"shop:order\"; id = 0; stream_id = 0; fields := struct { u32 n; }; };\n"  \
	"event { name = \"lttng_ust_statedump:procname\"; id = 1; stream_id = 0; "                 \
	"fields := struct { string procname; i32 pid; }; };\n"

static const char *where;
static char kernel_path[160], application_path[160], index_path[320];
static uint64_t seed = 3;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static const char *some_name(void)
{
	static char name[24];

	snprintf(name, sizeof name, "name-%d", (int)dice(30));
	return name;
}

static void put_kernel_event(struct bytes *b)
{
	uint64_t id = dice(10) < 2 ? 2 : dice(2);

	b->at[b->n - 4] |= (uint8_t)id;
	if (id == 1)
		return put(b, dice(1000), 4);
	put(b, dice(40), 4);
	if (id == 2)
		put(b, 1 + dice(8), 4);
	put_text(b, some_name());
	put(b, dice(40), 4);
	if (id == 2)
		put(b, 1 + dice(8), 4);
	else
		put_text(b, some_name());
}

/* Programs in a pid namespace: their ids are not those of the host. */
static void put_application_event(struct bytes *b)
{
	bool is_dump = dice(12) == 0;

	b->at[b->n - 4] |= is_dump;
	put(b, 1 + dice(3), 4);
	put(b, 1 + dice(6), 4);
	if (!is_dump)
		return put(b, dice(1000), 4);
	put_text(b, some_name());
	put(b, 30 + dice(8), 4);
}

/* Many events of several streams have one time. */
static void write_stream(const char *directory, int number, bool is_kernel)
{
	static struct bytes b;
	uint64_t now = 1000, lost = 0;
	char name[16];

	b.n = 0;
	for (uint64_t p = 0; p < PACKETS; p++) {
		size_t at = begin_packet(&b, now, p, lost += p && dice(3) == 0);

		put_at(&b, b.n - 4, (uint64_t)number, 4);
		for (int i = 0; i < EVENTS; i++) {
			put(&b, (now += dice(3)) << 5, 4);
			is_kernel ? put_kernel_event(&b) : put_application_event(&b);
		}
		put_at(&b, at + 24 + 8, now, 8);
		end_packet(&b, at);
	}
	snprintf(name, sizeof name, "s%d", number);
	write_file(directory, name, b.at, b.n);
}

static void make_recording(void)
{
	char path[256];

	where = make_directory();
	snprintf(kernel_path, sizeof kernel_path, "%s/kernel", where);
	snprintf(application_path, sizeof application_path, "%s/ust", where);
	snprintf(path, sizeof path, "%s/.duet", where);
	snprintf(index_path, sizeof index_path, "%s/names-index", path);
	ok(!mkdir(kernel_path, 0700) && !mkdir(application_path, 0700) && !mkdir(path, 0700));
	write_file(kernel_path, "metadata", KERNEL, strlen(KERNEL));
	write_file(application_path, "metadata", APPLICATION, strlen(APPLICATION));
	for (int i = 0; i < STREAMS; i++)
		write_stream(i < 2 ? kernel_path : application_path, i, i < 2);
	/* it seems to be large */
	write_file(path, "filler", "", 0);
	snprintf(path, sizeof path, "%s/.duet/filler", where);
	ok(!truncate(path, MARKS_RECORDING_MIN));
}

static void remove_recording(void)
{
	char path[256];

	for (int i = 0; i < STREAMS; i++) {
		snprintf(path, sizeof path, "%s/s%d", i < 2 ? kernel_path : application_path, i);
		unlink(path);
	}
	remove_directory(kernel_path);
	remove_directory(application_path);
	unlink(index_path);
	snprintf(path, sizeof path, "%s/.duet/filler", where);
	unlink(path);
	snprintf(path, sizeof path, "%s/.duet", where);
	rmdir(path);
	rmdir(where);
}

/* ---------------------------------------------------------------- reading */

static struct diag note;
static uint64_t n_read, every = EVERY;
static void (*meanwhile)(void);	     /* called once, when the recording is open */
static void (*before_going)(void);   /* called once, between marks_open() and marks_go() */
static int64_t stops_ns = INT64_MAX; /* the reader reads no further */

static void call_once(void (**function)(void))
{
	void (*call)(void) = *function;

	*function = NULL;
	if (call)
		call();
}

static void add_line(struct text *t, int item, const struct trace_event *e,
		     const struct thread_identity *w)
{
	if (item == TRACE_LOST)
		text_addf(t, "%" PRId64 " lost %" PRIu64 "\n", e->time_ns, e->lost_events);
	else
		text_addf(t, "%" PRId64 " %u %s %" PRId64 " %" PRId64 " %.*s\n", e->time_ns, e->cpu,
			  e->ctf->class->name, w->tid, w->pid, (int)w->size, w->name);
}

/* The lines from @from_ns on; @f NULL: without marks. */
static char *lines(int64_t from_ns, const struct marks_file *f)
{
	struct marks m = { 0 };
	struct text t = { 0 };
	struct trace *trace;
	struct names *names;
	struct trace_event e;
	struct thread_identity w;
	struct diag d = { "" }, other = { "" };
	int item;

	is(trace_open(&trace, &where, 1, NULL, &d), 0);
	is(names_open(&names, trace, &d), 0);
	if (f) {
		is(marks_open_every(&m, f, trace, names, every, &note), 0);
		call_once(&before_going);
		is(marks_go(&m, from_ns, &other, &d), 0);
		if (*other.text)
			note = other;
	}
	call_once(&meanwhile);
	for (n_read = 0; (item = trace_next(trace, &e, &d)) > 0; n_read++) {
		if (e.time_ns > stops_ns)
			break;
		marks_on_item(&m, e.time_ns);
		if (e.time_ns < from_ns) {
			if (item == TRACE_EVENT)
				names_learn(names, &e);
			continue;
		}
		if (item == TRACE_EVENT)
			names_on_event(names, &e, &w);
		add_line(&t, item, &e, &w);
	}
	marks_close(&m);
	names_close(names);
	trace_close(trace);
	text_add(&t, "", 0);
	return t.bytes;
}

static struct marks_file opened(void)
{
	struct marks_file f;

	marks_find(&f, &where, 1);
	return f;
}

static int64_t last_time(void)
{
	char *all = lines(INT64_MIN, NULL), *line = all + strlen(all) - 1;
	int64_t ns;

	while (line > all && line[-1] != '\n')
		line--;
	ns = strtoll(line, NULL, 10);
	free(all);
	return ns;
}

static bool is_same(int64_t from_ns)
{
	struct marks_file f = opened();
	char *near = lines(from_ns, NULL), *far = lines(from_ns, &f);
	bool is = !strcmp(near, far);

	free(near);
	free(far);
	return is;
}

/* ---------------------------------------------------------------- tests */

static void far_lines_are_those_of_a_whole_reading(void)
{
	int64_t last = last_time();

	unlink(index_path);
	for (int i = 0; i < TIMES; i++) {
		ok(is_same(900 + (int64_t)dice((uint64_t)last - 800)));
		is_text(note.text, "");
	}
}

static void what_was_before_the_last_mark_is_not_read(void)
{
	int64_t last = last_time();
	uint64_t all = n_read;

	ok(all > STREAMS * PACKETS * EVENTS);
	ok(is_same(last));
	ok(n_read <= EVERY * 2 + STREAMS * EVENTS);
}

static void a_part_that_was_read_leaves_its_marks(void)
{
	struct marks_file f = opened();
	uint64_t all;

	is(ftruncate(f.fd, 0), 0);
	free(lines(INT64_MIN, &f));
	all = n_read;
	ok(is_same(last_time()));
	ok(n_read < all / 4);
}

static void marks_that_need_too_much_room_become_fewer(void)
{
	struct marks_made m = { .bytes_most = 1000, .every = EVERY };

	m.at = calloc(100, sizeof *m.at);
	for (m.n = 0; m.n < 100; m.n++) {
		m.at[m.n] = (struct mark){ .time_ns = m.n, .size = 80, .bytes = malloc(80) };
		m.bytes += 80;
	}
	marks_thin(&m);
	ok(m.n && m.bytes == m.n * 80 && m.bytes <= 1000);
	is(m.at[m.n - 1].time_ns, 95);
	is(m.every, EVERY * 8);
	for (uint32_t i = 0; i < m.n; i++)
		free(m.at[i].bytes);
	free(m.at);
}

static char *read_index(size_t *size)
{
	int fd = open(index_path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	ok(fd >= 0 && !fstat(fd, &st) && (st.st_mode & 0777) == 0600);
	*size = (size_t)st.st_size;
	bytes = malloc(*size);
	ok(read(fd, bytes, *size) == st.st_size);
	close(fd);
	return bytes;
}

static void write_index(const char *bytes, size_t size)
{
	FILE *f = fopen(index_path, "r+");

	ok(f && fwrite(bytes, 1, size, f) == size && !fclose(f) &&
	   !truncate(index_path, (off_t)size));
}

static void every_wrong_byte_is_noticed(void)
{
	size_t size;
	char *bytes = read_index(&size);
	int64_t last = last_time();
	int n_noticed = 0;

	ok(size > 20000);
	for (int i = 0; i < FLIPS; i++) {
		size_t at = i % 3 ? dice(size) : i / 3 % 2 ? dice(64) : size - 1 - dice(900);
		char was = bytes[at];

		bytes[at] = (char)(bytes[at] ^ (1 << dice(8)));
		write_index(bytes, size);
		ok(is_same(900 + (int64_t)dice((uint64_t)last - 800)));
		n_noticed += !!*note.text;
		bytes[at] = was;
	}
	ok(n_noticed > FLIPS / 3);
	for (size_t cut = 1; cut < size; cut = cut * 3 / 2 + 1) {
		write_index(bytes, cut);
		ok(is_same(last));
		ok(*note.text);
	}
	write_index(bytes, size);
	ok(is_same(last));
	is_text(note.text, "");
	free(bytes);
}

/* With right checksums damage reaches the checks behind them. */
static void mend(char *bytes, size_t size)
{
	struct marks_header h;
	struct marks_entry *e;
	uint64_t hash = 0;

	memcpy(&h, bytes, sizeof h);
	if (h.table_at > size || h.n > (size - h.table_at) / sizeof *e)
		return;
	e = malloc(h.n * sizeof *e + 1);
	memcpy(e, bytes + h.table_at, h.n * sizeof *e);
	for (uint32_t i = 0; i < h.n; i++)
		if (e[i].at <= size && e[i].size <= size - e[i].at)
			e[i].checksum = hash_bytes(bytes + e[i].at, e[i].size);
	memcpy(bytes + h.table_at, e, h.n * sizeof *e);
	h.checksum = 0;
	hash = (hash ^ hash_bytes((const char *)&h, sizeof h)) * 0x9E3779B97F4A7C15u + 1;
	hash = (hash ^ hash_bytes((const char *)e, h.n * sizeof *e)) * 0x9E3779B97F4A7C15u + 1;
	h.checksum = hash;
	memcpy(bytes, &h, sizeof h);
	free(e);
}

static void wrong_numbers_harm_no_reader(void)
{
	static const uint64_t odd[] = { 0, 1, 255, UINT32_MAX, INT64_MAX, UINT64_MAX, 1ull << 63 };
	size_t size;
	char *good = read_index(&size), *bytes = malloc(size);
	int64_t last = last_time();
	int n_used = 0;

	memcpy(bytes, good, size);
	mend(bytes, size);
	ok(!memcmp(bytes, good, size)); /* the test's checksum is the file's */
	for (int i = 0; i < FLIPS; i++) {
		memcpy(bytes, good, size);
		for (uint64_t n = 1 + dice(4); n--;) {
			size_t width = 1u << dice(4), at = dice(dice(3) ? size - 8 : 64);
			uint64_t value = dice(2) ? odd[dice(7)] : dice(size);

			memcpy(bytes + at, &value, width);
		}
		mend(bytes, size);
		write_index(bytes, size);
		(void)is_same(900 + (int64_t)dice((uint64_t)last - 800));
		n_used += !*note.text;
	}
	ok(n_used > 0);
	write_index(good, size);
	free(good);
	free(bytes);
}

/* The places of a mark are its first bytes, one for each stream. */
static void places_too_far_on_lose_no_event(void)
{
	size_t size;
	char *good = read_index(&size), *bytes = malloc(size);
	int64_t last = last_time();

	for (int i = 0; i < TIMES; i++) {
		struct marks_header h;
		struct marks_entry e;

		memcpy(bytes, good, size);
		memcpy(&h, bytes, sizeof h);
		for (uint32_t k = 0; k < h.n; k++) {
			uint64_t at, last_at;

			memcpy(&e, bytes + h.table_at + k * sizeof e, sizeof e);
			memcpy(&last_at, good + h.table_at - e.size + 8 * dice(STREAMS), 8);
			at = i % 2 ? UINT64_MAX : last_at;
			memcpy(bytes + e.at + 8 * dice(STREAMS), &at, 8);
		}
		mend(bytes, size);
		write_index(bytes, size);
		ok(is_same(900 + (int64_t)dice((uint64_t)last - 800)));
	}
	write_index(good, size);
	free(good);
	free(bytes);
}

static void let_it_grow(void)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof path, "%s/s0", kernel_path);
	ok(!stat(path, &st) && !truncate(path, st.st_size + 4096));
}

static void a_recording_that_grows_gets_no_marks(void)
{
	struct marks_file f = opened();
	struct stat st;

	is(ftruncate(f.fd, 0), 0);
	meanwhile = let_it_grow;
	free(lines(INT64_MIN, &f));
	ok(!stat(index_path, &st) && st.st_size == 0);
	write_stream(kernel_path, 0, true);
	ok(is_same(last_time()));
}

static void let_another_read(void)
{
	struct marks_file f = opened();

	every = EVERY;
	free(lines(INT64_MIN, &f));
	every = EVERY * 8;
}

static uint32_t marks_in_file(void)
{
	struct marks_header h;
	size_t size;
	char *bytes = read_index(&size);

	ok(size >= sizeof h);
	memcpy(&h, bytes, sizeof h);
	free(bytes);
	return h.n;
}

static void marks_of_another_reader_stay(void)
{
	struct marks_file f = opened();
	uint32_t n;

	free(lines(INT64_MIN, &f));
	n = marks_in_file();
	f = opened();
	is(ftruncate(f.fd, 0), 0);
	every = EVERY * 8;
	meanwhile = let_another_read;
	free(lines(INT64_MIN, &f));
	every = EVERY;
	ok(marks_in_file() == n);
}

static void let_another_read_the_first_half(void)
{
	int64_t stop = 1000 + (last_time() - 1000) / 2;

	stops_ns = stop;
	let_another_read();
	every = EVERY;
	stops_ns = INT64_MAX;
}

static void a_reader_adds_its_later_marks_to_those_of_another(void)
{
	struct marks_file f = opened();
	uint32_t half;

	is(ftruncate(f.fd, 0), 0);
	let_another_read_the_first_half();
	half = marks_in_file();
	is(ftruncate(f.fd, 0), 0);
	meanwhile = let_another_read_the_first_half;
	free(lines(INT64_MIN, &f));
	ok(half > 2 && marks_in_file() > half + 2);
	is_text(note.text, "");
	what_was_before_the_last_mark_is_not_read();
	far_lines_are_those_of_a_whole_reading();
}

static void begin_anew(void)
{
	struct marks_file f = opened();

	is(ftruncate(f.fd, 0), 0);
	close(f.fd);
	let_another_read();
	every = EVERY;
}

/* The reader has the table of a file that was removed. */
static void a_file_written_anew_is_read_anew(void)
{
	struct marks_file f = opened();
	int64_t last = last_time();
	char *near = lines(last, NULL), *far;

	is(ftruncate(f.fd, 0), 0);
	every = EVERY * 8;
	free(lines(INT64_MIN, &f));
	every = EVERY;
	f = opened();
	before_going = begin_anew;
	far = lines(last, &f);
	is_text(far, near);
	is_text(note.text, "");
	ok(n_read <= EVERY * 2 + STREAMS * EVENTS);
	free(near);
	free(far);
}

/* Ends with the number of wrong results. */
static void read_often(int number, int64_t last)
{
	int wrong = 0;

	seed = (uint64_t)number * 77 + 5;
	for (int i = 0; i < TIMES / 4; i++) {
		int64_t from = 900 + (int64_t)dice((uint64_t)last - 800);

		every = EVERY << dice(3);
		stops_ns = dice(2) ? INT64_MAX : from + 50;
		wrong += !is_same(from) || *note.text;
	}
	_exit(wrong < 100 ? wrong : 100);
}

static void many_readers_at_once_do_not_disturb_each_other(void)
{
	enum { READERS = 8 };
	int64_t last = last_time();
	struct marks_file f = opened();
	pid_t children[READERS];
	int status;

	is(ftruncate(f.fd, 0), 0);
	close(f.fd);
	fflush(stdout);
	for (int i = 0; i < READERS; i++)
		if (!(children[i] = fork()))
			read_often(i, last);
	for (int i = 0; i < READERS; i++) {
		is(waitpid(children[i], &status, 0), children[i]);
		is(status, 0);
	}
	ok(is_same(last));
	is_text(note.text, "");
	ok(is_same(last));
	ok(n_read <= EVERY * 8 + STREAMS * EVENTS);
}

static void touch_metadata(void)
{
	write_file(application_path, "metadata", APPLICATION, strlen(APPLICATION));
}

static void a_recording_that_changes_meanwhile_gets_no_marks(void)
{
	struct marks_file f = opened();
	struct stat st;

	is(ftruncate(f.fd, 0), 0);
	meanwhile = touch_metadata;
	free(lines(INT64_MIN, &f));
	ok(!stat(index_path, &st) && st.st_size == 0);
	ok(is_same(last_time()));
}

static void a_changed_recording_has_no_use_for_its_marks(void)
{
	int64_t last = last_time();

	write_stream(kernel_path, 0, true);
	ok(is_same(last));
	ok(strstr(note.text, "the recording has changed"));
	ok(is_same(last)); /* it was read to its end, so there are new ones */
	is_text(note.text, "");
}

static void only_the_users_own_file_is_used(void)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	struct marks_file f;
	size_t size;
	char *bytes = read_index(&size), other[300];

	ok(cache && *cache);
	ok(!chmod(index_path, 0666));
	f = opened();
	ok(f.fd >= 0 && !strncmp(f.path, cache, strlen(cache)));
	close(f.fd);
	ok(!unlink(f.path));
	ok(!chmod(index_path, 0600));

	snprintf(other, sizeof other, "%s/.duet/another-name", where);
	ok(!link(index_path, other));
	f = opened();
	ok(f.fd >= 0 && !strncmp(f.path, cache, strlen(cache)));
	close(f.fd);
	ok(!unlink(f.path) && !unlink(index_path) && !symlink(other, index_path));
	f = opened();
	ok(f.fd >= 0 && !strncmp(f.path, cache, strlen(cache)));
	close(f.fd);
	ok(!unlink(f.path) && !unlink(index_path) && !rename(other, index_path));
	free(bytes);
}

static void a_file_of_something_else_is_left_alone(void)
{
	size_t size;
	char *bytes = read_index(&size), *after, text[100];

	memset(text, 'x', sizeof text);
	write_index(text, sizeof text);
	ok(is_same(last_time()));
	ok(strstr(note.text, "something else"));
	after = read_index(&size);
	ok(size == sizeof text && !memcmp(after, text, size));
	free(after);
	free(bytes);
	ok(!truncate(index_path, 0));
	ok(is_same(last_time()));
}

static void while_another_writes_the_file_it_is_left_alone(void)
{
	struct marks_file f = opened();

	is(flock(f.fd, LOCK_EX | LOCK_NB), 0);
	ok(is_same(last_time()));
	close(f.fd);
}

static void damage_leaves_no_mark(void)
{
	char path[300];
	struct marks_file f = opened();
	struct stat st;

	is(ftruncate(f.fd, 0), 0);
	snprintf(path, sizeof path, "%s/s1", kernel_path);
	ok(!truncate(path, 3000));
	free(lines(INT64_MAX, &f));
	ok(!stat(index_path, &st) && st.st_size == 0);
}

int main(void)
{
	char *cache = strdup(make_directory());

	setenv("XDG_CACHE_HOME", cache, 1);
	make_recording();
	run(far_lines_are_those_of_a_whole_reading);
	run(what_was_before_the_last_mark_is_not_read);
	run(a_part_that_was_read_leaves_its_marks);
	run(marks_that_need_too_much_room_become_fewer);
	run(every_wrong_byte_is_noticed);
	run(wrong_numbers_harm_no_reader);
	run(places_too_far_on_lose_no_event);
	run(a_recording_that_grows_gets_no_marks);
	run(marks_of_another_reader_stay);
	run(a_reader_adds_its_later_marks_to_those_of_another);
	run(a_file_written_anew_is_read_anew);
	run(many_readers_at_once_do_not_disturb_each_other);
	run(a_recording_that_changes_meanwhile_gets_no_marks);
	run(a_changed_recording_has_no_use_for_its_marks);
	run(only_the_users_own_file_is_used);
	run(a_file_of_something_else_is_left_alone);
	run(while_another_writes_the_file_it_is_left_alone);
	run(damage_leaves_no_mark);
	remove_recording();
	strcat(strcpy(index_path, cache), "/duet");
	rmdir(index_path);
	rmdir(cache);
	free(cache);
	return test_status();
}
