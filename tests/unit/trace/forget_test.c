/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/forget_test.c - a reader that follows a session through hundreds of small trace chunks
 * returns each event once, with its name, and needs no more memory and descriptors for the last chunks than
 * for the first ones.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>

#include "trace/names.h"
#include "unit/trace/make_trace.h"

enum { CHUNKS = 400, KEPT = 4, STREAMS = 3, CLASSES = 12 };
#define MS 1000000ull

static const char *path;
static int clock_file;

static void name_of(char to[256], unsigned number, const char *inside)
{
	snprintf(to, 256, "%s/piece-%06u%s", path, number, inside);
}

/* Each trace chunk gives its classes other ids, and names its thread anew. */
static char *metadata_of(unsigned number)
{
	struct text t = { 0 };

	text_addf(&t, "%s", HEAD("le"));
	text_addf(&t, "env { domain = \"ust\"; hostname = \"h%u\"; };\n", number % 2);
	text_addf(&t,
		  "stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; "
		  "event.context := struct { i32 vpid; i32 vtid; }; };\n");
	for (unsigned i = 0; i < CLASSES; i++)
		text_addf(&t,
			  "event { name = \"shop:order%u\"; id = %u; stream_id = 0; "
			  "fields := struct { u32 n; }; };\n",
			  i, (i + number) % CLASSES);
	text_addf(&t, "event { name = \"lttng_ust_statedump:procname\"; id = 99; stream_id = 0; "
		      "fields := struct { string procname; i32 pid; }; };\n");
	return t.bytes;
}

static uint64_t time_of(unsigned number)
{
	return number * 2 * MS;
}

static void put_event(struct bytes *b, uint64_t now, unsigned id)
{
	put(b, now, 4);
	put(b, id, 2);
	put(b, 7, 4);
	put(b, 7, 4);
}

static void make_stream(const char *directory, unsigned number, unsigned stream)
{
	static struct bytes b;
	uint64_t now = time_of(number) + stream * 100;
	char name[16];
	size_t at;

	b.n = 0;
	at = begin_packet(&b, now, 0, 0);
	if (!stream && number % 8 == 0) { /* this name holds until the next one */
		put_event(&b, now, 99);
		snprintf(name, sizeof name, "name-%u", number);
		put_text(&b, name);
		put(&b, 7, 4);
	}
	put_event(&b, now + 10, (1 + number) % CLASSES);
	put(&b, number, 4);
	put_at(&b, at + 24 + 8, now + 20, 8);
	end_packet(&b, at);
	snprintf(name, sizeof name, "s%u", stream);
	write_file(directory, name, b.at, b.n);
}

static void make_clock(unsigned number)
{
	char directory[256];

	name_of(directory, number, "/.duet");
	mkdir(directory, 0700);
	write_file(directory, "clock", "1 2 3 4 5 end\n", 14);
}

static void make(unsigned number, bool has_clock)
{
	char directory[256], *metadata = metadata_of(number);

	name_of(directory, number, "");
	mkdir(directory, 0700);
	if (has_clock)
		make_clock(number);
	name_of(directory, number, "/ust");
	mkdir(directory, 0700);
	for (unsigned i = 0; i < STREAMS; i++)
		make_stream(directory, number, i);
	write_file(directory, "metadata", metadata, strlen(metadata));
	free(metadata);
}

static void destroy(unsigned number)
{
	char file[256];

	name_of(file, number, "/.duet/clock");
	unlink(file);
	name_of(file, number, "/.duet");
	rmdir(file);
	name_of(file, number, "/ust");
	remove_directory(file);
	name_of(file, number, "");
	ok(!rmdir(file));
}

static void write_progress(unsigned number, uint64_t more_ns)
{
	char line[128];
	int size = snprintf(line, sizeof line, "1 2 3 4 5 %llu\n",
			    (unsigned long long)(time_of(number) + more_ns + 20 * MS));

	is(write(clock_file, line, (size_t)size), size);
}

static void begin(void)
{
	const struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char file[256];

	path = make_directory();
	snprintf(file, sizeof file, "%s/.duet", path);
	mkdir(file, 0700);
	snprintf(file, sizeof file, "%s/.duet/clock", path);
	clock_file = open(file, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	is(fcntl(clock_file, F_OFD_SETLK, &lock), 0);
	write_progress(0, MS);
}

static void end(void)
{
	char file[256];

	close(clock_file);
	snprintf(file, sizeof file, "%s/.duet/clock", path);
	unlink(file);
	snprintf(file, sizeof file, "%s/.duet", path);
	rmdir(file);
	ok(!rmdir(path));
}

static unsigned count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static size_t count_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0; /* freed memory is kept: what is forgotten is counted instead */
#else
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
}

/* The events of one trace chunk, with the name that counts then. */
static void read_chunk(struct trace *t, struct names *names, unsigned number)
{
	struct thread_identity w;
	struct trace_event e;
	struct diag d = { "" };
	unsigned n = 0;
	char name[32];
	int64_t of;

	snprintf(name, sizeof name, "name-%u", number & ~7u);
	while (trace_next(t, &e, &d) == TRACE_EVENT) {
		names_on_event(names, &e, &w);
		ok(trace_class_number(&e) < trace_n_classes(t));
		ok(e.stream->number < trace_n_streams(t));
		ok(e.stream->source->number < trace_n_sources(t));
		if (strcmp(e.ctf->class->name, "shop:order1"))
			continue;
		of = -1;
		ctf_event_number(e.ctf, ctf_class_find(e.ctf->class, CTF_PAYLOAD, "n"), &of);
		is(of, number);
		n++;
		if (number % 2 == 0)
			ok(w.size == strlen(name) && !memcmp(w.name, name, w.size));
	}
	is(n, STREAMS);
}

struct use {
	size_t bytes;
	uint32_t sources, streams, classes;
	unsigned descriptors;
};

static struct use use_of(const struct trace *t)
{
	return (struct use){ count_bytes(), trace_n_sources(t), trace_n_streams(t),
			     trace_n_classes(t), count_descriptors() };
}

static void most(struct use *a, struct use b)
{
	a->bytes = b.bytes > a->bytes ? b.bytes : a->bytes;
	a->sources = b.sources > a->sources ? b.sources : a->sources;
	a->streams = b.streams > a->streams ? b.streams : a->streams;
	a->classes = b.classes > a->classes ? b.classes : a->classes;
	a->descriptors = b.descriptors > a->descriptors ? b.descriptors : a->descriptors;
}

/* A chunk that the reader finds before its clock file is there. */
static void make_and_find(struct trace *t, struct names *names, unsigned number)
{
	struct trace_event e;
	struct diag d = { "" };

	make(number, false);
	write_progress(number, MS / 2);
	is(trace_refresh(t, &d), 1);
	is(names_update(names, t, &d), 0);
	is(trace_next(t, &e, &d), TRACE_END);
	make_clock(number);
}

/* Follows all chunks; the first half may use as much as the second.  The clock file of each @late-th one comes
 * after the reader has found it; 0: of none. */
static void follow(bool keeps_all, unsigned late)
{
	const struct trace_options o = { .follows = true };
	struct use half[2] = { { 0 } };
	struct diag d = { "" };
	struct names *names = NULL;
	struct trace *t = NULL;
	int n_forgotten = 0;

	begin();
	make(0, true);
	is(trace_open(&t, &path, 1, &o, &d), 0);
	is(names_open(&names, t, &d), 0);
	for (unsigned i = 0; i < CHUNKS; i++) {
		const uint32_t *was;

		if (i && late && i % late == 0)
			make_and_find(t, names, i);
		else if (i)
			make(i, true);
		write_progress(i, MS);
		is(trace_refresh(t, &d), 1);
		was = trace_forget(t);
		n_forgotten += was != NULL;
		is(was ? names_renumber(names, t, was, &d) : names_update(names, t, &d), 0);
		read_chunk(t, names, i);
		if (i >= KEPT && !keeps_all)
			destroy(i - KEPT);
		most(&half[i >= CHUNKS / 2], use_of(t));
	}
	ok(n_forgotten >= CHUNKS / 200);
	ok(half[1].bytes <= half[0].bytes + half[0].bytes / 8);
	ok(half[1].sources <= half[0].sources && half[1].sources < CHUNKS / 4);
	ok(half[1].streams <= half[0].streams);
	ok(half[1].classes <= half[0].classes);
	is(half[1].descriptors, half[0].descriptors);
	is(trace_following(t)->n_late, 0);
	is(trace_following(t)->n_gone, 0);
	is(trace_n_damages(t), 0);
	names_close(names);
	trace_close(t);
	for (unsigned i = keeps_all ? 0 : CHUNKS - KEPT; i < CHUNKS; i++)
		destroy(i);
	end();
}

static void chunks_that_were_read_are_forgotten(void)
{
	follow(false, 0);
}

static void chunks_that_are_found_before_their_clocks_are_forgotten_too(void)
{
	follow(false, 3);
}

static void forgotten_chunks_are_not_read_again(void)
{
	follow(true, 0);
}

int main(void)
{
	run(chunks_that_were_read_are_forgotten);
	run(chunks_that_are_found_before_their_clocks_are_forgotten_too);
	run(forgotten_chunks_are_not_read_again);
	return test_status();
}
