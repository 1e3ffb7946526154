/* SPDX-License-Identifier: MIT */
/* ui/index/devices.c - rows of interrupts, disks and counters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/index/build.h"

enum { LANES = 8, MOST_IRQS = 512, MOST_DISKS = 256, MOST_COUNTERS = 1024 };

static int64_t add_row(struct builder *b, uint32_t host, enum group group, uint8_t kind,
		       const char *name)
{
	struct ui_row row = {
		.kind = kind, .name = name, .pid = -1, .tid = -1, .cpu = -1, .recording = host
	};
	int64_t parent = build_group(b, host, group);

	row.parent = (uint32_t)parent + 1;
	return parent < 0 ? parent : build_row(b, &row);
}

/* ---------------------------------------------------------------- interrupts */

static int irq_row(struct builder *b, uint32_t source, uint32_t host, struct irq_row **result)
{
	static const char *const kinds[] = { "irq", "softirq", "vector" };
	const struct irq_source *s = &wait_follow_known(b->f)->irqs.sources[source];
	char name[96];
	int64_t row;

	uint32_t i = host * MOST_IRQS + source;

	*result = NULL;
	if (source >= MOST_IRQS)
		return 0;
	if (pass_grow(&b->irq_rows, &b->n_irq_rows, i, sizeof *b->irq_rows))
		return -ENOMEM;
	*result = &b->irq_rows[i];
	if ((*result)->row)
		return 0;
	snprintf(name, sizeof name, s->kind == IRQ_HARD ? "%s %s %" PRId64 : "%s %s",
		 kinds[s->kind], s->name, s->number);
	row = add_row(b, host, GROUP_IRQS, UI_ROW_IRQ, name);
	if (row < 0)
		return (int)row;
	(*result)->row = (uint32_t)row + 1;
	return 0;
}

int build_irq(struct builder *b, const struct trace_event *e)
{
	const struct irq_stack_event *what = wait_follow_irq(b->f);
	const struct irq_source *sources = wait_follow_known(b->f)->irqs.sources;
	int64_t cpu, name;
	struct irq_row *r = NULL;
	int err;

	if (what->is != IRQS_END)
		return 0;
	cpu = pass_cpu(b->pass, e);
	if (cpu < 0 || cpu >= IRQ_CPUS)
		return cpu < 0 ? -ENOMEM : 0;
	err = irq_row(b, what->source, build_host_of(b, e), &r);
	if (!err && !r)
		return 0;
	if (!err)
		err = build_track(b, &r->track[cpu], r->row - 1, UI_TRACK_BUSY, (uint8_t)cpu);
	name = err ? err
		   : build_text(b, sources[what->source].name, strlen(sources[what->source].name));
	if (name < 0)
		return (int)name;
	err = write_add(b, &b->writers[r->track[cpu] - 1], what->begin_ns - b->x->status.begin_ns,
			b->now_ns, (uint32_t)name, 0);
	return err == -EFBIG ? 0 : err;
}

/* ---------------------------------------------------------------- disks */

static int disk_of(struct builder *b, uint64_t number, uint32_t host, struct disk **result)
{
	const char *known = devices_disk(&wait_follow_known(b->f)->machine, number);
	char name[DEVICES_NAME_MAX + 16];
	uint32_t i = 0;
	int64_t row;

	while (i < b->n_disks && b->disks[i].row &&
	       (b->disks[i].number != number || b->disks[i].host != host))
		i++;
	*result = NULL;
	if (i == MOST_DISKS)
		return 0;
	if (pass_grow(&b->disks, &b->n_disks, i, sizeof *b->disks))
		return -ENOMEM;
	*result = &b->disks[i];
	if ((*result)->row)
		return 0;
	(*result)->number = number;
	(*result)->host = host;
	for (int k = 0; k < LANES; k++)
		(*result)->since[k] = INT64_MIN;
	if (known)
		snprintf(name, sizeof name, "%s", known);
	else
		snprintf(name, sizeof name, "disk %" PRIu64 ":%" PRIu64, number >> 20,
			 number & 0xfffff);
	row = add_row(b, host, GROUP_DISKS, UI_ROW_DISK, name);
	if (row < 0)
		return (int)row;
	(*result)->row = (uint32_t)row + 1;
	return 0;
}

/* A request takes the first free lane; more than LANES at once are not drawn. */
static int on_block(struct builder *b, const struct built_class *c, const struct trace_event *e)
{
	int64_t number = pass_number(e, c->field[0], 0), sector = pass_number(e, c->field[1], -1);
	bool issues = c->is == CLASS_BLOCK_ISSUE;
	struct disk *d;
	int64_t name;
	int err = disk_of(b, (uint64_t)number, build_host_of(b, e), &d), lane = 0;

	if (err || !d)
		return err;
	while (lane < LANES &&
	       (issues ? d->since[lane] != INT64_MIN
		       : d->since[lane] == INT64_MIN || d->sector[lane] != (uint64_t)sector))
		lane++;
	if (lane == LANES)
		return 0;
	if (issues) {
		d->since[lane] = b->now_ns;
		d->sector[lane] = (uint64_t)sector;
		return 0;
	}
	name = build_text(b, "request", 7);
	err = name < 0 ? (int)name
		       : build_track(b, &d->lanes[lane], d->row - 1, UI_TRACK_BUSY, (uint8_t)lane);
	if (!err)
		err = write_add(b, &b->writers[d->lanes[lane] - 1], d->since[lane], b->now_ns,
				(uint32_t)name, 0);
	d->since[lane] = INT64_MIN;
	return err == -EFBIG ? 0 : err;
}

/* ---------------------------------------------------------------- counters */

static void name_counter(const struct builder *b, const struct built_class *c, int64_t key,
			 char *name, size_t size)
{
	const struct thread *process =
		c->is == CLASS_LEVEL ? threads_at(b->pass->threads, (uint32_t)key) : NULL;

	if (c->is == CLASS_TALLY)
		snprintf(name, size, "%s", c->text + strlen("counter_"));
	else if (process)
		snprintf(name, size, "%s %s (%.*s %d)", c->text, c->field[0]->name,
			 process->name_size, process->name,
			 process->pid < 0 ? process->tid : process->pid);
	else
		snprintf(name, size, "%s %" PRId64, c->text, key);
}

/* The counter of @class and @key, made if needed; NULL: there are too many. */
static int counter_of(struct builder *b, uint32_t class, int64_t key, uint32_t host,
		      struct counter **result)
{
	const struct built_class *c = &b->classes[class];
	char name[192];
	uint32_t i = 0;
	int64_t row;

	while (i < b->n_counters && b->counters[i].track &&
	       (b->counters[i].class != class || b->counters[i].key != key ||
		b->counters[i].host != host))
		i++;
	*result = NULL;
	if (i == MOST_COUNTERS)
		return 0;
	if (pass_grow(&b->counters, &b->n_counters, i, sizeof *b->counters))
		return -ENOMEM;
	*result = &b->counters[i];
	if ((*result)->track)
		return 0;
	name_counter(b, c, key, name, sizeof name);
	row = add_row(b, host, GROUP_COUNTERS, UI_ROW_COUNTER, name);
	if (row < 0)
		return (int)row;
	(*result)->class = class;
	(*result)->host = host;
	(*result)->key = key;
	return build_track(b, &(*result)->track, (uint32_t)row, UI_TRACK_COUNTER, 0);
}

static int on_counter(struct builder *b, const struct built_class *c, const struct trace_event *e,
		      uint32_t thread)
{
	int64_t value = pass_number(e, c->field[0], 0), key = pass_number(e, c->field[1], -1);
	struct counter *counter;
	int err;

	if (c->is == CLASS_LEVEL)
		key = threads_process(b->pass->threads, thread);
	if (key < 0 && c->is == CLASS_LEVEL)
		return (int)key;
	err = counter_of(b, trace_class_number(e), key, build_host_of(b, e), &counter);
	if (err || !counter)
		return err;
	counter->value = c->is == CLASS_TALLY ? counter->value + value : value;
	err = write_add(b, &b->writers[counter->track - 1], b->now_ns, b->now_ns, 0,
			counter->value);
	return err == -EFBIG ? 0 : err;
}

int build_device(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	const struct built_class *c = &b->classes[trace_class_number(e)];

	switch (c->is) {
	case CLASS_BLOCK_ISSUE:
	case CLASS_BLOCK_COMPLETE:
		return on_block(b, c, e);
	case CLASS_COUNTER:
	case CLASS_TALLY:
	case CLASS_LEVEL:
		return on_counter(b, c, e, thread);
	}
	return 0;
}
