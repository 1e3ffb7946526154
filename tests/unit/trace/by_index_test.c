/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/by_index_test.c - packets listed by index/, and every way in which that is wrong.
 *
 * A trace of PACKETS packets is read with a right index; with each bit of each entry flipped; with
 * entries missing, repeated and joined; and with a file that was cut or grew.  Whole, from every
 * moment on and backward, the items are those that the headers alone give.
 */
#include <endian.h>

#include "abi/ctf.h"
#include "trace/stream/stream.h"
#include "unit/trace/make_trace.h"

enum { PACKETS = 8, EVENTS = 12, SECOND = 1000000000 };

#define META                                                                                       \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; };\n"      \
	"event { name = \"number\"; id = 1; stream_id = 0; fields := struct { u64 n; }; };\n"

static struct bytes file;
static struct abi_ctf_index_entry entries[PACKETS + 1];
static const char *directory;
static bool was_used; /* the index, to the end */
static uint32_t n_warned, n_found, n_refused;

static void put_entry(uint32_t i, size_t at, uint64_t begin, uint64_t discarded)
{
	entries[i] = (struct abi_ctf_index_entry){
		.offset = htobe64(at),
		.packet_bits = htobe64((file.n - at) * 8),
		.content_bits = htobe64((file.n - at) * 8),
		.begin_ns = htobe64(begin),
		.end_ns = htobe64(begin + SECOND),
		.discarded = htobe64(discarded),
		.sequence = htobe64(i),
	};
}

static void make(void)
{
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint64_t begin = (uint64_t)SECOND * (i + 1), discarded = i / 3 * 5;
		size_t at = begin_packet(&file, begin, i, discarded);

		for (uint32_t k = 0; k < EVENTS; k++) {
			put(&file, (uint32_t)(begin + k * (SECOND / EVENTS)), 4);
			put(&file, 1, 2);
			put(&file, i * EVENTS + k, 8);
		}
		end_packet(&file, at);
		put_entry(i, at, begin, discarded);
	}
}

static void write_index(const struct abi_ctf_index_entry *e, uint32_t n)
{
	struct abi_ctf_index_header h = { htobe32(ABI_CTF_INDEX_MAGIC), htobe32(1), htobe32(1),
					  htobe32(sizeof *e) };
	struct {
		struct abi_ctf_index_header h;
		struct abi_ctf_index_entry e[PACKETS + 1];
	} all = { .h = h };

	memcpy(all.e, e, n * sizeof *e);
	write_file(directory, "index/s0.idx", &all, sizeof h + n * sizeof *e);
}

static void on_warning(void *context, const char *text)
{
	(void)context;
	n_warned += strstr(text, "its index is wrong") != NULL;
}

static struct trace *open_it(bool reads_headers)
{
	const struct trace_options o = { .warn = on_warning, .reads_headers = reads_headers };
	struct trace *t;
	struct diag d;

	if (trace_open(&t, &directory, 1, &o, &d)) {
		fprintf(stderr, "%s\n", d.text);
		exit(1);
	}
	return t;
}

static void add_item(struct text *text, int item, const struct trace_event *e)
{
	if (item == TRACE_EVENT)
		add_event_text(text, e);
	else
		text_addf(text, "lost %" PRIu64 " %" PRIu64 "\n", e->lost_events, e->lost_packets);
}

enum way { WHOLE, SEEK, SKIP, BACKWARD, WAYS };

/* The items of the trace from @ns on (BACKWARD: before it); to be freed. */
static char *items(bool reads_headers, enum way way, int64_t ns)
{
	struct trace *t = open_it(reads_headers), *part;
	struct text text = { 0 };
	struct trace_event e;
	struct diag d;
	int item;

	if (trace_part(t, TRACE_ALL_STREAMS, on_warning, NULL, &part))
		exit(1);
	text_addf(&text, "from %" PRId64 " to %" PRId64 "\n", trace_stream(t, 0)->begin_ns,
		  trace_stream(t, 0)->end_ns);
	if (way == SKIP)
		trace_skip_to(part, ns, 0);
	else if (way != WHOLE)
		trace_seek(part, ns);
	while ((item = way == BACKWARD ? trace_previous(part, &e, &d) : trace_next(part, &e, &d)) >
	       0)
		add_item(&text, item, &e);
	was_used = trace_stream_file(part, 0)->is_by_index;
	trace_close(part);
	trace_close(t);
	return text.bytes;
}

/* Compares all ways of reading with what the headers give.  Returns whether the index was used. */
static bool agrees(void)
{
	bool is_used = true;

	for (enum way way = WHOLE; way < WAYS; way++)
		for (int64_t ns = SECOND / 2; ns < (PACKETS + 2ll) * SECOND;
		     ns += SECOND * 3ll / 4) {
			char *right = items(true, way, ns), *found;

			ok(!was_used);
			found = items(false, way, ns);
			is_used &= was_used;
			if (strcmp(right, found))
				fprintf(stderr, "way %d, from %" PRId64 ":\n%s\ninstead of\n%s\n",
					way, ns, found, right);
			ok(!strcmp(right, found));
			free(right);
			free(found);
			if (way == WHOLE)
				break;
		}
	return is_used;
}

static void try(const struct abi_ctf_index_entry *e, uint32_t n)
{
	uint32_t before = n_warned;

	write_index(e, n);
	if (agrees())
		return;
	n_found += n_warned > before;
	n_refused += n_warned == before;
}

/* Numbers that headers have too: a flipped bit of them is found. */
static bool is_compared(size_t byte)
{
	return byte < offsetof(struct abi_ctf_index_entry, content_bits) ||
	       (byte >= offsetof(struct abi_ctf_index_entry, end_ns) &&
		byte < offsetof(struct abi_ctf_index_entry, stream_id));
}

static void a_right_index_is_used(void)
{
	write_index(entries, PACKETS);
	ok(agrees());
	ok(!n_warned);
}

static void every_flipped_bit_of_an_entry_is_found_or_has_no_effect(void)
{
	for (uint32_t bit = 0; bit < sizeof *entries * 8; bit += 7)
		for (uint32_t i = 0; i < PACKETS; i += 1 + bit % 3) {
			struct abi_ctf_index_entry bad[PACKETS];
			uint32_t before = n_found + n_refused;

			memcpy(bad, entries, sizeof bad);
			((uint8_t *)&bad[i])[bit / 8] ^= (uint8_t)(1 << bit % 8);
			try(bad, PACKETS);
			if (is_compared(bit / 8))
				ok(n_found + n_refused > before);
		}
	ok(n_found > 20 && n_refused > 20);
}

static uint32_t n_packets(void)
{
	struct trace *t = open_it(false);
	uint32_t n = trace_stream(t, 0)->n_packets;

	trace_close(t);
	return n;
}

static void two_packets_named_as_one_are_refused(void)
{
	struct abi_ctf_index_entry bad[PACKETS];
	uint32_t before = n_refused;

	memcpy(bad, entries, sizeof bad);
	bad[3].packet_bits = htobe64(be64toh(bad[3].packet_bits) + be64toh(bad[4].packet_bits));
	bad[3].content_bits = bad[3].packet_bits;
	bad[3].end_ns = bad[4].end_ns;
	memmove(&bad[4], &bad[5], sizeof *bad * 3);
	for (uint32_t i = 4; i < PACKETS - 1; i++)
		bad[i].sequence = htobe64(i);
	try(bad, PACKETS - 1);
	ok(n_refused > before);
	is(n_packets(), PACKETS); /* before any of them is opened */
}

static void an_index_of_another_size_is_not_used(void)
{
	struct abi_ctf_index_entry bad[PACKETS + 1];
	uint32_t before = n_refused;

	memcpy(bad, entries, sizeof bad);
	bad[PACKETS] = bad[PACKETS - 1];
	for (uint32_t n = 0; n <= PACKETS + 1; n++)
		if (n != PACKETS)
			try(bad, n);
	ok(n_refused == before + PACKETS + 1);
}

static void a_file_that_was_cut_is_read_by_its_headers(void)
{
	write_file(directory, "s0", file.at, file.n - 100);
	try(entries, PACKETS);
	write_file(directory, "s0", file.at, file.n);
}

/* The damage is that of the packet, and the index is not blamed. */
static void a_damaged_header_is_reported_as_without_an_index(void)
{
	uint32_t before = n_warned;
	struct bytes bad = file;

	write_index(entries, PACKETS);
	memset(bad.at + be64toh(entries[4].offset), 0, 24);
	write_file(directory, "s0", bad.at, bad.n);
	ok(!agrees());
	ok(n_warned == before);
	write_file(directory, "s0", file.at, file.n);
}

int main(void)
{
	char path[256];

	make();
	directory = make_directory();
	snprintf(path, sizeof path, "%s/index", directory);
	if (mkdir(path, 0700))
		return 1;
	write_file(directory, "metadata", META, strlen(META));
	write_file(directory, "s0", file.at, file.n);
	run(a_right_index_is_used);
	run(every_flipped_bit_of_an_entry_is_found_or_has_no_effect);
	run(two_packets_named_as_one_are_refused);
	run(an_index_of_another_size_is_not_used);
	run(a_file_that_was_cut_is_read_by_its_headers);
	run(a_damaged_header_is_reported_as_without_an_index);
	unlink(strcat(strcpy(path, directory), "/index/s0.idx"));
	rmdir(strcat(strcpy(path, directory), "/index"));
	remove_directory(directory);
	return test_status();
}
