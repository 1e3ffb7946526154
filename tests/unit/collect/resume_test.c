/* SPDX-License-Identifier: MIT */
/* unit/collect/resume_test.c - which packets in the files prove that a chunk was written. */
#include "collect/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "collect/drain/files.h"
#include "ctf/write/writer.h"
#include "test.h"

enum { CPUS = 2, BYTES = 100 };

static char directory[] = "/tmp/duet-resume-XXXXXX";
static char events[BYTES] = "events";
static struct session session;
static struct abi_clock test_clock;

/* A trace of the first collector: one packet with our bytes in the file @name. */
static void write_file(const char *name)
{
	char path[512];
	struct ctf_writer_options o = { .path = path, .domain = "ust", .clock = &test_clock };
	struct iovec body = { events, BYTES };
	struct ctf_packet p = { .begin_ns = 1, .end_ns = 5, .n_body = 1, .body = &body };
	struct ctf_writer w;
	struct ctf_stream s;

	is(files_application_path(path, sizeof path, directory, NULL, 1, NULL), 0);
	is(ctf_writer_open(&w, &o, NULL), 0);
	is(ctf_stream_open(&s, &w, name, NULL), 0);
	is(ctf_stream_append(&s, &p, NULL), 0);
	ctf_stream_close(&s);
	ctf_writer_close(&w);
}

/* A chunk with the same bytes, all of them pending. */
static struct abi_chunk *claim(uint32_t path, uint32_t cpu)
{
	struct abi_chunk *c = pool_claim(&session.pools[0], 0);

	memcpy(c + 1, events, BYTES);
	c->path = path;
	c->cpu = cpu;
	c->word = ABI_WORD(5, sizeof *c + BYTES);
	c->pending = sizeof *c + BYTES;
	return c;
}

static bool is_found(uint32_t path, uint32_t cpu, const char *file)
{
	struct pool *p = &session.pools[0];
	struct handover *handover = handover_memory();
	struct bounds *bounds = bounds_open(&test_clock, 1, CPUS, getuid());
	struct abi_chunk *c = claim(path, cpu);
	bool is_found;

	write_file(file);
	is(resume_files(&session, handover, bounds, directory, 2, NULL), 0);
	is_found = c->read == sizeof *c + BYTES;
	is(c->read, is_found ? sizeof *c + BYTES : sizeof *c);
	is(c->pending, 0);
	pool_unclaim(p, c);
	bounds_close(bounds);
	handover_forget(handover);
	files_remove(directory);
	return is_found;
}

static void a_chunk_of_a_cpu_is_found_in_the_file_of_that_cpu_alone(void)
{
	ok(is_found(ABI_PATH_RSEQ, 1, "cpu_1"));
	ok(!is_found(ABI_PATH_RSEQ, 1, "cpu_0"));
	ok(!is_found(ABI_PATH_EXCLUSIVE, 1, "cpu_1"));
	ok(!is_found(ABI_PATH_RSEQ, 7, "cpu_7")); /* there is no such CPU */
}

/* A late chunk of a CPU is put there too. */
static void any_chunk_is_found_in_a_file_of_no_cpu(void)
{
	ok(is_found(ABI_PATH_EXCLUSIVE, ABI_CPU_UNKNOWN, "lane_0"));
	ok(is_found(ABI_PATH_RSEQ, 1, "lane_3"));
	ok(is_found(ABI_PATH_RSEQ, 7, "lane_3"));
}

int main(void)
{
	struct abi_pool shape = pool_shape(&(struct pool_request){ .n_cpus = CPUS });
	void *memory = aligned_alloc(4096, shape.size);

	if (clock_init_kind(&test_clock, 0, NULL) || !mkdtemp(directory))
		skip("no clock, or no temporary directory");
	memset(memory, 0, shape.size);
	shape.clock = test_clock;
	pool_format(memory, &shape);
	is(pool_attach(&session.pools[0], memory, shape.size, (uint32_t)getpid()), 0);
	session.n_channels = 1;
	run(a_chunk_of_a_cpu_is_found_in_the_file_of_that_cpu_alone);
	run(any_chunk_is_found_in_a_file_of_no_cpu);
	io_remove_tree(directory);
	free(memory);
	return test_status();
}
