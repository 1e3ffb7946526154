/* SPDX-License-Identifier: MIT */
/*
 * bench/reading/read.c - read all events of a recording in order: `read step|touch TRACE`.
 *
 * `step` reads times only; `touch` adds up every value of every field, and the size of texts, so
 * that all is decoded.  Prints the number of events and the sum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

/* Computing the size has read every byte. */
static uint64_t bytes_of(const char *text, size_t size)
{
	return size + (size ? (unsigned char)*text : 0);
}

static uint64_t touch_by_walk(const struct ctf_event *e)
{
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;
	uint64_t sum = 0;

	ctf_walk_event(&w, e, CTF_CONTEXT);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		if (found == CTF_TEXT)
			sum += bytes_of(v.text, v.size);
		else if (found != CTF_OPEN && found != CTF_CLOSE && found != CTF_CLOSE_ARRAY)
			sum += v.u;
	}
	return sum;
}

/* A column's value or, if it is text, its bytes. */
static uint64_t touch(const struct ctf_event *e)
{
	const struct ctf_program *p = e->class->program;
	struct ctf_column columns[CTF_COLUMNS_MAX];
	uint64_t sum = 0;

	if (!ctf_event_columns(e, columns))
		return touch_by_walk(e);
	for (uint32_t i = 0; i < p->n_columns; i++)
		sum += p->columns[i]->code == OP_NUMBER
			       ? columns[i].u
			       : bytes_of(columns[i].text, columns[i].size);
	return sum;
}

int main(int argc, char **argv)
{
	bool touches = argc == 3 && !strcmp(argv[1], "touch");
	const char *path = argv[argc - 1];
	uint64_t n = 0, sum = 0;
	struct trace_event e;
	struct trace *t;
	struct diag d;
	int item;

	if (argc != 3 || trace_open(&t, &path, 1, NULL, &d)) {
		fprintf(stderr, "read: %s\n", argc == 3 ? d.text : "usage: read step|touch TRACE");
		return 2;
	}
	while ((item = trace_next(t, &e, &d)) > 0) {
		if (item != TRACE_EVENT)
			continue;
		n++;
		sum += (uint64_t)e.time_ns;
		if (touches)
			sum += touch(e.ctf);
	}
	printf("%" PRIu64 " %" PRIu64 "\n", n, sum);
	trace_close(t);
	return 0;
}
