/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz.c - libFuzzer's door to the readers: see README.md beside it.
 *
 * FUZZ=metadata: the input is a metadata file, TSDL (plain or packets) or CTF 2.
 * FUZZ=trace: up to the first NUL, metadata; then a stream file.  Every field is read, forward and
 * backward.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char directory[64];

static void clean(void)
{
	char name[128];

	snprintf(name, sizeof name, "%s/metadata", directory);
	unlink(name);
	snprintf(name, sizeof name, "%s/s0", directory);
	unlink(name);
	rmdir(directory);
}

static void put(const char *name, const uint8_t *bytes, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void read_fields(const struct trace_event *e)
{
	struct ctf_column columns[CTF_COLUMNS_MAX];
	struct ctf_value v;
	struct ctf_walk w;
	volatile uint64_t sum = 0;
	enum ctf_found f;

	ctf_event_columns(e->ctf, columns);
	ctf_walk_event(&w, e->ctf, CTF_CONTEXT);
	while ((f = ctf_walk_next(&w, &v)) != CTF_WALK_END)
		if (f == CTF_TEXT && v.size)
			sum += (uint8_t)v.text[v.size - 1];
}

/* As many by batches and steps in turns as by steps alone. */
static uint64_t count_rows(struct trace *t)
{
	struct ctf_row rows[100];
	struct trace_event e;
	uint64_t count = 0;
	struct diag d;
	uint32_t n;

	trace_seek(t, INT64_MIN);
	do
		while ((n = trace_batch(t, rows, 1 + count % 100)) > 0)
			count += n;
	while (trace_next(t, &e, &d) > 0 && ++count);
	return count;
}

static void read_all(const char *path)
{
	uint64_t forward = 0, backward = 0;
	struct trace_event e;
	struct trace *t;
	struct diag d;
	int item;

	if (trace_open(&t, &path, 1, NULL, &d))
		return;
	while ((item = trace_next(t, &e, &d)) > 0) {
		forward++;
		if (item == TRACE_EVENT)
			read_fields(&e);
	}
	while (trace_previous(t, &e, &d) > 0)
		backward++;
	if (forward != backward || forward != count_rows(t))
		abort();
	trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *which = getenv("FUZZ");
	const uint8_t *nul = memchr(bytes, 0, size);
	size_t n = nul ? (size_t)(nul - bytes) : size;

	if (!directory[0]) {
		snprintf(directory, sizeof directory, "/dev/shm/duet-fuzz-XXXXXX");
		if (!mkdtemp(directory))
			abort();
		atexit(clean);
	}
	if (which && !strcmp(which, "metadata")) {
		put("metadata", bytes, size);
	} else {
		put("metadata", bytes, n);
		put("s0", bytes + n + !!nul, nul ? size - n - 1 : 0);
	}
	read_all(directory);
	return 0;
}
