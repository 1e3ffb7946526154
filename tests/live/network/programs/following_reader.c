/* SPDX-License-Identifier: MIT */
/* reader DIRECTORY: follows a recording there with libduet-read alone; each event of ours as a
 * line, and at the end how many there were, and how many came late. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <duet/read.h>

/* Prints the difference. */
static int is_same(const struct duet_read_class *first, const struct duet_read_class *c)
{
	const char *last = c->n_fields ? c->fields[c->n_fields - 1].name : "(none)";

	if (first == c && !strcmp(last, "text"))
		return 1;
	fprintf(stderr, "id %u of %s, then id %u of %s: %u and %u fields, the last is %s; %s\n",
		first->id, first->trace, c->id, c->trace, first->n_fields, c->n_fields, last,
		c->error ? c->error : "no error");
	return 0;
}

int main(int argc, char **argv)
{
	struct duet_read_options o = { .size = sizeof o, .follows = 1 };
	const char *path = argc > 1 ? argv[1] : ".";
	const struct duet_read_class *first = NULL;
	struct duet_read_value thread, n;
	struct duet_read_item item;
	char why[DUET_READ_WHY];
	struct duet_read *r, *part;
	uint64_t events = 0;
	int64_t last_ns = 0;
	int got;

	if (duet_read_open(&r, &path, 1, &o, why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (duet_read_previous(r, &item) != -EINVAL || duet_read_part(r, 0, &part) != -EINVAL)
		return 2;
	do {
		while ((got = duet_read_next(r, &item)) > 0) {
			const struct duet_read_class *c =
				duet_read_class_info(r, item.class_number);

			if (item.time_ns < last_ns)
				return 3;
			last_ns = item.time_ns;
			if (item.kind != DUET_READ_EVENT || strcmp(c->name, "follow:number"))
				continue;
			first = first ? first : c;
			if (!is_same(first, c)) /* lent data stays valid */
				return 4;
			duet_read_get(r, (uint32_t)duet_read_find(r, item.class_number, "thread"),
				      &thread);
			duet_read_get(r, (uint32_t)duet_read_find(r, item.class_number, "n"), &n);
			printf("thread = %" PRId64 ", n = %" PRIu64 "\n", thread.as.i, n.as.u);
			events++;
		}
		fflush(stdout);
		got = got ? got : duet_read_wait(r, 20);
	} while (got > 0 || got == -ETIMEDOUT);
	printf("%" PRIu64 " events, %" PRIu64 " late\n", events, duet_read_n_late(r));
	if (got)
		fprintf(stderr, "%s\n", duet_read_why(r));
	duet_read_close(r);
	return got ? 5 : 0;
}
