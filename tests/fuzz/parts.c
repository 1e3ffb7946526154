/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/parts.c - libFuzzer's entries to the other parsers: of data from recordings, programs
 * and peers.
 *
 * FUZZ names an entry of the table at the end.  The comment above each describes its input.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/schema.h"
#include "base/json_line.h"
#include "ctf/compressed/compressed.h"
#include "ctf/write/schema.h"
#include "ctf/write/recover.h"
#include "elf/program.h"
#include "elf/sites.h"
#include "elf/build_id.h"
#include "patch/patch.h"
#include "symbol/demangle.h"
#include "symbol/signature.h"
#include "filter/compile.h"
#include "filter/payload.h"
#include "net/message.h"
#include "trace/hosts.h"
#include "trace/symbols/kallsyms.h"
#include "trace/symbols/modules.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char directory[64];

static void clean(void)
{
	static const char *const names[] = { "file",
					     "metadata",
					     "s0",
					     "index/s0.idx",
					     "index",
					     ".duet/clock",
					     ".duet/clock-relay",
					     ".duet/kallsyms",
					     ".duet/maps",
					     ".duet" };
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, names[i]);
		remove(path);
	}
	rmdir(directory);
}

/* A file below the directory.  Returns its path, until the next call. */
static const char *put(const char *name, const uint8_t *bytes, size_t size)
{
	static char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	return path;
}

/* Memory of exactly its size, so that a sanitizer sees a read beyond it. */
static uint8_t *copied(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, bytes, size);
	return copy;
}

static char *text_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, bytes, size);
	text[size] = 0;
	return text;
}

/* NAME.zst: all frames, in pieces that go across them, and released frames once more. */
static void try_packed(const uint8_t *bytes, size_t size)
{
	enum { STEP = 70000, MOST = 32 << 20 };
	struct compressed_file *p;
	struct diag d = { "" };
	volatile uint64_t sum = 0;

	if (compressed_open(&p, bytes, size, &d))
		return;
	for (uint64_t at = 0; at < compressed_size(p) && at < MOST; at += STEP) {
		uint64_t got = compressed_need(p, at, STEP), left = compressed_size(p) - at;

		if (got > STEP || got > left)
			abort();
		for (uint64_t i = 0; i < got; i += 4096)
			sum += compressed_bytes(p)[at + i];
		if (got)
			sum += compressed_bytes(p)[at + got - 1];
		compressed_let_go(p, at / 2);
	}
	if (compressed_size(p))
		compressed_frame(p, 0);
	compressed_close(p);
}

static const char schema[] =
	"13 t:m u32 a str s i64 b i16[] v chr[5] c enum(i8:IDLE, BUSY, DONE = -7) e "
	"f32 r str t u8[3] p u16 last";

static bool no_context(const struct filter_source *s, uint32_t number, struct filter_value *v)
{
	(void)s;
	(void)v;
	return number > UINT32_MAX; /* there is none */
}

/* Code, of a schema, linked and run upon a payload. */
static void run_code(const uint8_t *code, size_t code_size, const char *words, size_t n_words,
		     const uint8_t *payload, size_t n_payload)
{
	const struct filter_source nothing = { no_context };
	static union {
		struct filter f;
		uint8_t bytes[FILTER_LINKED_BYTES_MAX];
	} linked;
	struct filter_problem problem;

	if (filter_payload_link(&linked.f, sizeof linked, code, code_size, words, n_words, ~0u,
				&problem))
		filter_run(&linked.f, payload, n_payload, &nothing);
}

/* An expression, NUL, a payload. */
static void try_filter(const uint8_t *bytes, size_t size)
{
	const uint8_t *nul = memchr(bytes, 0, size);
	size_t n = nul ? (size_t)(nul - bytes) : size;
	char *text = text_of(bytes, n);
	uint8_t *payload = copied(bytes + n, size - n);
	static struct filter_code code;
	struct diag d;

	if (!filter_compile(text, &code, &d))
		run_code(code.bytes, code.size, schema, sizeof schema - 1, payload, size - n);
	free(payload);
	free(text);
}

/* The size of the code (u16), the code, a schema, NUL, a payload. */
static void try_code(const uint8_t *bytes, size_t size)
{
	size_t n = size < 2 ? 0 : bytes[0] | (size_t)bytes[1] << 8, n_words;
	uint8_t *code, *words, *payload;
	const uint8_t *nul;

	if (size < 2 || n > size - 2)
		return;
	code = copied(bytes + 2, n);
	bytes += 2 + n;
	size -= 2 + n;
	nul = memchr(bytes, 0, size);
	n_words = nul ? (size_t)(nul - bytes) : size;
	words = copied(bytes, n_words);
	payload = copied(bytes + n_words, size - n_words);
	run_code(code, n, (char *)words, n_words, payload, size - n_words);
	free(payload);
	free(words);
	free(code);
}

/* The registry, as programs write it. */
static void try_schema(const uint8_t *bytes, size_t size)
{
	char *words = (char *)copied(bytes, size), name[64];
	struct text t = { 0 };

	schema_to_tsdl(&t, words, size, 1, 2);
	schema_name(words, size, name, sizeof name);
	schema_is_sound((struct schema_text){ words, words + size });
	text_fini(&t);
	free(words);
}

static void try_kallsyms(const uint8_t *bytes, size_t size)
{
	const char *path = directory;
	struct kallsyms *k;
	volatile size_t sum = 0;

	put(".duet/kallsyms", bytes, size);
	k = kallsyms_open(&path, 1);
	for (uint64_t a = 1; k && a; a <<= 1) {
		const char *name = kallsyms_find(k, 0xffffffff00000000 ^ a);

		sum += name ? strlen(name) : 0;
	}
	kallsyms_close(k);
}

static void try_maps(const uint8_t *bytes, size_t size)
{
	const char *path = directory;
	struct module_location place;
	struct modules *m;
	struct diag d;
	volatile size_t sum = 0;

	put(".duet/maps", bytes, size);
	if (modules_open(&m, &path, 1, &d))
		return;
	for (uint64_t a = 1; a; a <<= 1)
		if (modules_find(m, (int64_t)(a & 15), a, a | 0x1000, &place))
			sum += strlen(place.path) + strlen(place.build_id);
	modules_close(m);
}

/* .duet/clock, NUL, .duet/clock-relay */
static void try_clock(const uint8_t *bytes, size_t size)
{
	const uint8_t *nul = memchr(bytes, 0, size);
	size_t n = nul ? (size_t)(nul - bytes) : size;
	struct hosts_shift shift;
	struct progress p;

	put(".duet/clock", bytes, n);
	put(".duet/clock-relay", bytes + n + !!nul, nul ? size - n - 1 : 0);
	progress_read(directory, &p);
	progress_find(directory);
	hosts_read(directory, 1600000000000000000, &shift);
}

static void saw(void *arg, const struct ctf_recovered *s)
{
	if (memchr(s->name, 0, sizeof s->name))
		++*(int *)arg;
}

/* The files of a killed collector: the size of an index (u16), the index, a stream. */
static void try_index(const uint8_t *bytes, size_t size)
{
	static const char metadata[] =
		"/* CTF 1.8 */\ntrace { major = 1; minor = 8; };\nevent { name = a; id";
	size_t n = size < 2 ? 0 : bytes[0] | (size_t)bytes[1] << 8;
	struct diag d;
	int seen = 0;

	if (size < 2 || n > size - 2)
		return;
	put("metadata", (const uint8_t *)metadata, sizeof metadata - 1);
	put("index/s0.idx", bytes + 2, n);
	put("s0", bytes + 2 + n, size - 2 - n);
	progress_index_end(directory, "s0");
	ctf_recover(directory, saw, &seen, &d);
}

/* A peer's bytes, message after message; before and after it is welcome. */
static void try_message(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = copied(bytes, size);
	struct message m;

	for (size_t at = 0; at < size;) {
		long n = message_read(&m, copy + at, size - at,
				      at ? MESSAGE_MAX : MESSAGE_FIRST_MAX);

		if (n <= 0)
			break;
		if (m.type == MESSAGE_FILE)
			message_is_path(m.file.name, true);
		at += (size_t)n;
	}
	free(copy);
}

/* A request to a collector. */
static void try_control(const uint8_t *bytes, size_t size)
{
	char *text = (char *)copied(bytes, size), value[64];
	struct json_line l;
	uint64_t number;

	if (!json_line_parse(&l, text, size)) {
		json_line_text(&l, "verb", value, sizeof value);
		json_line_number(&l, "last_ns", &number);
		json_line_is_true(&l, "ok");
	}
	free(text);
}

static void on_site(void *arg, const struct elf_site *s)
{
	*(size_t *)arg += strlen(s->name) + strlen(s->schema);
}

/* Names, lines, inlined calls and signatures of the first functions. */
static void try_symbols(struct symbols *symbols, const char *path)
{
	struct symbol_file *f = symbols_file(symbols, path, "");
	const struct symbol_function *functions;
	const struct symbol_frame *frames;
	size_t n = symbol_functions(f, &functions);
	struct signature g;
	struct diag d;

	symbol_frames(f, 0x1000, &frames);
	for (size_t i = 0; i < n && i < 8; i++) {
		symbol_is(f, &functions[i], "*x*");
		symbol_source_is(f, functions[i].begin, "*.c");
		symbol_frames(f, functions[i].begin + 9, &frames);
		signature_of(f, functions[i].begin, &g, &d);
	}
}

/* A declaration that a user gives, and a linker's name. */
static void try_signature(const uint8_t *bytes, size_t size)
{
	char *text = text_of(bytes, size), to[4096];
	struct signature g;
	struct diag d;

	signature_parse(text, &g, &d);
	demangle(text, to, sizeof to);
	free(text);
}

/* A program or library: its trace sites, its build ID, which function lies where. */
static void try_elf(const uint8_t *bytes, size_t size)
{
	const char *path = put("file", bytes, size);
	struct symbols *symbols = symbols_open();
	char hex[ELF_BUILD_ID_HEX];
	struct diag d;
	struct elf_program program;
	size_t sum = 0;
	int fd;

	elf_sites(path, on_site, &sum, &d);
	fd = elf_program_open(path, &d);
	if (fd >= 0 && !elf_program_read(&program, fd, &d))
		sum += program.n_sites + program.n_marks + strlen(program.mark) +
		       strlen(program.runpath);
	if (fd >= 0)
		close(fd);
	elf_build_id(path, hex);
	symbols_find(symbols, path, "", 0x40);
	try_symbols(symbols, path);
	symbols_close(symbols);
}

/* A program or library: its functions and marks, and a plan for all of them. */
static void try_patch(const uint8_t *bytes, size_t size)
{
	static const char *const all[] = { "*:*" };
	static const struct patch_wanted_mark marks[] = { { "*:*:*", "a:str b" } };
	const struct patch_request r = {
		.patterns = all, .n_patterns = 1, .marks = marks, .n_marks = 1
	};
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct patch_file *f;
	struct diag d;

	if (!patch_open(&f, put("file", bytes, size), NULL, &d)) {
		patch_make_plan(f, &r, dir, NULL, &d);
		unlinkat(dir, patch_build_id(f), 0);
		patch_close(f);
	}
	close(dir);
}

static const struct {
	const char *name;
	void (*try)(const uint8_t *bytes, size_t size);
} connections[] = {
	{ "packed", try_packed },   { "filter", try_filter },	  { "code", try_code },
	{ "schema", try_schema },   { "kallsyms", try_kallsyms }, { "maps", try_maps },
	{ "clock", try_clock },	    { "index", try_index },	  { "message", try_message },
	{ "control", try_control }, { "elf", try_elf },		  { "signature", try_signature },
	{ "patch", try_patch },
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*try)(const uint8_t *bytes, size_t size);
	const char *which = getenv("FUZZ");
	char path[128];

	for (size_t i = 0; !try && which && i < sizeof connections / sizeof *connections; i++)
		if (!strcmp(connections[i].name, which))
			try = connections[i].try;
	if (!try)
		abort();
	if (!directory[0]) {
		snprintf(directory, sizeof directory, "/dev/shm/duet-fuzz-XXXXXX");
		if (!mkdtemp(directory))
			abort();
		snprintf(path, sizeof path, "%s/.duet", directory);
		mkdir(path, 0700);
		snprintf(path, sizeof path, "%s/index", directory);
		mkdir(path, 0700);
		atexit(clean);
	}
	try(bytes, size);
	return 0;
}
