/* SPDX-License-Identifier: MIT */
/*
 * analysis/devices.c - collects disks and CPUs from the state dump. Lists are short, so they are
 * searched linearly.
 */
#include "analysis/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum role { ROLE_NONE, ROLE_DISK, ROLE_CPU };
enum { DEVICES_MAX = 4096 }; /* disks, and CPUs; entries beyond that are ignored */

static const struct event_table_kind kinds[] = {
	{ "lttng_statedump_block_device", ROLE_DISK, { "dev", "diskname" } },
	{ "lttng_statedump_cpu_topology",
	  ROLE_CPU,
	  { "cpu_id", "physical_id", "core_id", "model_name" } },
};

int devices_update(struct devices *m, const struct pass *r)
{
	struct event_table *plans = event_table_make(r, kinds, sizeof kinds / sizeof *kinds);

	if (!plans)
		return -ENOMEM;
	free(m->plans);
	m->plans = plans;
	return 0;
}

int devices_init(struct devices *m, const struct pass *r)
{
	*m = (struct devices){ 0 };
	return devices_update(m, r);
}

void devices_fini(struct devices *m)
{
	free(m->plans);
	free(m->disks);
	free(m->cpus);
	*m = (struct devices){ 0 };
}

static void take_text(char to[DEVICES_NAME_MAX], const struct trace_event *e,
		      const struct ctf_op *op)
{
	const char *text;
	size_t size;

	if (op && ctf_event_text(e->ctf, op, &text, &size))
		snprintf(to, DEVICES_NAME_MAX, "%.*s",
			 (int)(size < DEVICES_NAME_MAX ? size : DEVICES_NAME_MAX - 1), text);
}

static int on_disk(struct devices *m, const struct event_table *p, const struct trace_event *e)
{
	uint64_t number = (uint64_t)pass_number(e, p->field[0], -1);

	if (devices_disk(m, number) || m->n_disks == DEVICES_MAX)
		return 0;
	if (pass_grow(&m->disks, &m->n_disk_rooms, m->n_disks, sizeof *m->disks))
		return -ENOMEM;
	m->disks[m->n_disks].number = number;
	take_text(m->disks[m->n_disks].name, e, p->field[1]);
	m->n_disks++;
	return 0;
}

static int on_cpu(struct devices *m, const struct event_table *p, const struct trace_event *e)
{
	uint32_t number = (uint32_t)pass_number(e, p->field[0], -1);

	if (!*m->model)
		take_text(m->model, e, p->field[3]);
	if (devices_cpu(m, number) || m->n_cpus == DEVICES_MAX)
		return 0;
	if (pass_grow(&m->cpus, &m->n_cpu_rooms, m->n_cpus, sizeof *m->cpus))
		return -ENOMEM;
	m->cpus[m->n_cpus++] =
		(struct devices_cpu){ number, (uint32_t)pass_number(e, p->field[1], 0),
				      (uint32_t)pass_number(e, p->field[2], 0) };
	return 0;
}

int devices_on_event(struct devices *m, const struct trace_event *e)
{
	const struct event_table *p = &m->plans[trace_class_number(e)];

	switch (p->role) {
	case ROLE_DISK:
		return on_disk(m, p, e);
	case ROLE_CPU:
		return on_cpu(m, p, e);
	}
	return 0;
}

const char *devices_disk(const struct devices *m, uint64_t number)
{
	for (uint32_t i = 0; i < m->n_disks; i++)
		if (m->disks[i].number == number)
			return m->disks[i].name;
	return NULL;
}

const struct devices_cpu *devices_cpu(const struct devices *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].number == number)
			return &m->cpus[i];
	return NULL;
}

static uint32_t count_different(const struct devices *m, bool by_core)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < m->n_cpus; i++) {
		for (k = 0; k < i; k++)
			if (m->cpus[k].package == m->cpus[i].package &&
			    (!by_core || m->cpus[k].core == m->cpus[i].core))
				break;
		n += k == i;
	}
	return n;
}

uint32_t devices_cores(const struct devices *m)
{
	return count_different(m, true);
}

uint32_t devices_packages(const struct devices *m)
{
	return count_different(m, false);
}
