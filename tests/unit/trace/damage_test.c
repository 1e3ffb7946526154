/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/damage_test.c - a trace damaged in 2000 ways: no crash, no hang, no endless memory.
 *
 * trace_damage_test [TRACE [ROUNDS]]: TRACE is a directory with a metadata file; without it one made here
 * is used.  The seed is fixed; a failure comes again.  Meant for a build with sanitizers, and of
 * use without.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "unit/trace/make_trace.h"
#include "trace/filter/match.h"

enum { FILES_MAX = 8, FILE_BYTES = 1 << 18, SECONDS_MAX = 20, RSS_MAX_KIB = 1 << 20 };

struct file {
	char name[64];
	size_t size;
	uint8_t *bytes;
};

static struct file files[FILES_MAX];
static int n_files;
static uint64_t seed = 20240607;
static long n_rounds = 2000;

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? seed % below : 0;
}

static void load_trace(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[512];

	while (d && (e = readdir(d)) && n_files < FILES_MAX) {
		struct file *f = &files[n_files];
		FILE *in;

		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR || strlen(e->d_name) >= sizeof f->name ||
		    !(in = fopen(name, "r")))
			continue;
		strcpy(f->name, e->d_name);
		f->bytes = malloc(FILE_BYTES);
		f->size = f->bytes ? fread(f->bytes, 1, FILE_BYTES, in) : 0;
		fclose(in);
		n_files += f->size > 0;
	}
	if (d)
		closedir(d);
}

static void change(uint8_t *b, size_t *size)
{
	static const uint64_t edges[] = {
		0, 1, 0xff, 0x7fffffff, UINT64_MAX, 1ull << 63, 1ull << 32
	};
	size_t at = draw(*size), n = 1 + draw(16);

	if (!*size)
		return;
	n = n < *size - at ? n : *size - at;
	switch (draw(7)) {
	case 0:
		b[at] ^= (uint8_t)(1 << draw(8));
		break;
	case 1:
		b[at] = (uint8_t)draw(256);
		break;
	case 2:
		memset(b + at, draw(2) ? 0xff : 0, n);
		break;
	case 3:
		*size = at;
		break;
	case 4: /* a piece goes */
		memmove(b + at, b + at + n, *size - at - n);
		*size -= n;
		break;
	case 5: /* a piece of elsewhere comes */
		memmove(b + at, b + draw(*size - n + 1), n);
		break;
	case 6:
		memcpy(b + at, &edges[draw(7)], n < 8 ? n : 8);
		break;
	}
}

/* Bytes of headers are few among those of events: half of the changes go to the first bytes. */
static void damage(const struct file *f, const char *directory)
{
	uint8_t *copy = malloc(f->size);
	size_t size = f->size, head = size < 200 ? size : 200;

	if (!copy)
		exit(1);
	memcpy(copy, f->bytes, size);
	for (uint64_t n = 1 + draw(4); n && size; n--) {
		if (draw(2) && size == f->size && strcmp(f->name, "metadata"))
			copy[draw(head)] ^= (uint8_t)(1 << draw(8));
		else
			change(copy, &size);
	}
	write_file(directory, f->name, copy, size);
	free(copy);
}

static const char *const filters[] = {
	"x != 3 && s ~ \"*text\"",
	"v[1] >= 0 || e == \"B\" || w == 4 || st[1].a == \"a\"",
	"st[0].b + y[1].x[0] + n > 0 && $cpu_id >= 0",
};
enum { FILTERS = sizeof filters / sizeof *filters };
static long n_matched;

/* Damaged metadata may have none of the fields: then there is no filter. */
static void open_filters(struct match *m[FILTERS], struct names **names, const struct trace *t)
{
	for (int i = 0; i < FILTERS; i++)
		match_open(&m[i], t, filters[i], NULL, NULL);
	if (names_open(names, t, NULL))
		exit(1);
}

static void run_filters(struct match *m[FILTERS], struct names *names, const struct trace_event *e)
{
	struct thread_identity who;

	names_on_event(names, e, &who);
	for (int i = 0; i < FILTERS; i++)
		if (m[i])
			n_matched += match_event(m[i], e, &who);
}

static void close_filters(struct match *m[FILTERS], struct names *names)
{
	for (int i = 0; i < FILTERS; i++)
		match_close(m[i]);
	names_close(names);
}

/* Reads everything, every field, as a program that shows it would. */
static void read_all(const char *path)
{
	struct trace_event e;
	struct trace *t;
	struct diag d;
	struct text text = { 0 };
	struct match *m[FILTERS];
	struct names *names;
	int item;

	if (trace_open(&t, &path, 1, NULL, &d))
		return;
	open_filters(m, &names, t);
	while ((item = trace_next(t, &e, &d)) > 0) {
		if (item == TRACE_EVENT) {
			add_event_text(&text, &e);
			run_filters(m, names, &e);
		}
		if (text.bytes && strstr(text.bytes, "but cells differ"))
			exit(1);
		text_fini(&text);
	}
	close_filters(m, names);
	trace_close(t);
}

static void no_damage_crashes_or_hangs_a_reader(void)
{
	const char *path = make_directory();
	struct rusage usage;
	char name[1024];

	for (long i = 0; i < n_rounds; i++) {
		const struct file *victim = &files[draw((uint64_t)n_files)];

		for (int f = 0; f < n_files; f++)
			write_file(path, files[f].name, files[f].bytes, files[f].size);
		damage(victim, path);
		if (i % 200 == 0)
			printf("# round %ld\n", i);
		alarm(SECONDS_MAX);
		read_all(path);
	}
	alarm(0);
	for (int f = 0; f < n_files; f++) {
		snprintf(name, sizeof name, "%.500s/%s", path, files[f].name);
		unlink(name);
	}
	rmdir(path);
	getrusage(RUSAGE_SELF, &usage);
	ok(usage.ru_maxrss < RSS_MAX_KIB);
	printf("# filters matched %ld times\n", n_matched);
}

static const char metadata[] = COMPACT
	"event { name = \"one\"; id = 0; stream_id = 0; fields := struct { u8 _x; string _s; }; "
	"};\n"
	"event { name = \"two\"; id = 1; stream_id = 0; fields := struct { u16 __v_length;"
	"i32 _v[ __v_length ]; struct { string a; u5 b; } _st[2]; enum : u8 { A, B = 1 ... 9 } _e;"
	"variant <_e> { u64 A; string B; } _w; u8 _n; struct { u8 m; u8 x[m]; } _y[ _n ]; }; };\n";

static void put_events(struct bytes *b)
{
	for (uint64_t i = 0; i < 20; i++) {
		put(b, 0 | (1000 + i * 10) << 5, 4);
		put(b, i, 1);
		put_text(b, "some text");
		put(b, 1 | (1005 + i * 10) << 5, 4);
		put(b, 2, 2);
		put(b, i, 4);
		put(b, i * i, 4);
		put_text(b, "a");
		put(b, 3, 1);
		put_text(b, "b");
		put(b, 4, 1);
		put(b, 1, 1);
		put_text(b, "chosen");
		put(b, 2, 1);
		put(b, 1 | 7 << 8 | 0 << 16, 3);
	}
}

static void make(void)
{
	static struct bytes b;

	for (uint64_t i = 0; i < 3; i++) {
		size_t at = begin_packet(&b, 1000 + i, i, i);

		put_events(&b);
		end_packet(&b, at);
	}
	n_files = 2;
	files[0] = (struct file){ "metadata", strlen(metadata), (uint8_t *)metadata };
	files[1] = (struct file){ "s0", b.n, b.at };
}

int main(int argc, char **argv)
{
	if (argc > 1)
		load_trace(argv[1]);
	else
		make();
	if (argc > 2)
		n_rounds = atol(argv[2]);
	if (!n_files)
		skip("no trace there");
	run(no_damage_crashes_or_hangs_a_reader);
	return test_status();
}
