/* SPDX-License-Identifier: MIT */
/* ui/index/hosts.c - rows of hosts, if there are several, and the groups below them. */
#include <errno.h>
#include <string.h>

#include "ui/index/build.h"

enum { MOST_HOSTS = 4096 };

/* Sources of one host name are one host, as for threads. */
static int add_source(struct builder *b, uint32_t source)
{
	const char *name = trace_source(b->trace, source)->hostname;
	uint32_t i = 0;

	while (i < b->n_hosts && strcmp(b->hosts[i].name, name) != 0)
		i++;
	if (i == MOST_HOSTS)
		i = 0;
	if (pass_grow(&b->host_of, &b->n_host_of, source, sizeof *b->host_of) ||
	    pass_grow(&b->hosts, &b->n_host_rooms, i, sizeof *b->hosts))
		return -ENOMEM;
	if (i == b->n_hosts)
		b->hosts[b->n_hosts++].name = name;
	b->host_of[source] = i;
	return 0;
}

/* Rows that were made while there was one host come below it. */
static int add_rows(struct builder *b)
{
	struct ui_index *x = b->x;

	for (uint32_t i = 0; i < b->n_hosts; i++) {
		const char *name = *b->hosts[i].name ? b->hosts[i].name : "(no host name)";
		const struct ui_row row = { .kind = UI_ROW_HOST,
					    .name = name,
					    .pid = -1,
					    .tid = -1,
					    .cpu = -1,
					    .recording = i };
		int64_t number = b->hosts[i].row ? 0 : build_row(b, &row);

		if (number < 0)
			return (int)number;
		if (!b->hosts[i].row)
			b->hosts[i].row = (uint32_t)number + 1;
	}
	pthread_rwlock_wrlock(&x->lock);
	for (uint32_t i = 0; i < x->n_rows; i++)
		if (!x->rows[i].public.parent && x->rows[i].public.kind != UI_ROW_HOST)
			x->rows[i].public.parent = b->hosts[x->rows[i].public.recording].row;
	pthread_rwlock_unlock(&x->lock);
	return 0;
}

int build_hosts(struct builder *b)
{
	uint32_t n = b->n_hosts;
	int err = 0;

	for (; b->n_sources < trace_n_sources(b->trace) && !err; b->n_sources++)
		err = add_source(b, b->n_sources);
	return err || b->n_hosts == n || b->n_hosts < 2 ? err : add_rows(b);
}

uint32_t build_top(const struct builder *b, uint32_t host)
{
	return b->hosts[host].row;
}

int64_t build_group(struct builder *b, uint32_t host, enum group group)
{
	static const char *const names[] = { "CPUs", "Interrupts", "Disks", "Counters" };
	const struct ui_row row = { .kind = UI_ROW_GROUP,
				    .name = names[group],
				    .parent = build_top(b, host),
				    .pid = -1,
				    .tid = -1,
				    .cpu = -1,
				    .recording = host };
	uint32_t *known = &b->hosts[host].groups[group];
	int64_t number = *known ? *known - 1 : build_row(b, &row);

	if (number >= 0)
		*known = (uint32_t)number + 1;
	return number;
}
