/* SPDX-License-Identifier: MIT */
/* analysis/devices.c - see devices.h. */
#include "analysis/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum role { ROLE_NONE, ROLE_DISK, ROLE_CPU };
enum { PARTS_MAX = 4096 }; /* of each kind: more no machine has */

static const struct plan_kind kinds[] = {
	{ "lttng_statedump_block_device", ROLE_DISK, { "dev", "diskname" } },
	{ "lttng_statedump_cpu_topology", ROLE_CPU, { "cpu_id", "physical_id", "core_id", "model_name" } },
};

int machine_init(struct machine *m, const struct run *r)
{
	*m = (struct machine){ .plans = plan_make(r, kinds, sizeof kinds / sizeof *kinds) };
	return m->plans ? 0 : -ENOMEM;
}

void machine_fini(struct machine *m)
{
	free(m->plans);
	free(m->disks);
	free(m->cpus);
	*m = (struct machine){ 0 };
}

static void take_text(char to[MACHINE_NAME], const struct trace_event *e, const struct ctf_op *op)
{
	const char *text;
	size_t size;

	if (op && ctf_event_text(e->ctf, op, &text, &size))
		snprintf(to, MACHINE_NAME, "%.*s", (int)(size < MACHINE_NAME ? size : MACHINE_NAME - 1), text);
}

static int see_disk(struct machine *m, const struct plan *p, const struct trace_event *e)
{
	uint64_t number = (uint64_t)run_number(e, p->field[0], -1);

	if (machine_disk(m, number) || m->n_disks == PARTS_MAX)
		return 0;
	if (run_grow(&m->disks, &m->n_disk_rooms, m->n_disks, sizeof *m->disks))
		return -ENOMEM;
	m->disks[m->n_disks].number = number;
	take_text(m->disks[m->n_disks].name, e, p->field[1]);
	m->n_disks++;
	return 0;
}

static int see_cpu(struct machine *m, const struct plan *p, const struct trace_event *e)
{
	uint32_t number = (uint32_t)run_number(e, p->field[0], -1);

	if (!*m->model)
		take_text(m->model, e, p->field[3]);
	if (machine_cpu(m, number) || m->n_cpus == PARTS_MAX)
		return 0;
	if (run_grow(&m->cpus, &m->n_cpu_rooms, m->n_cpus, sizeof *m->cpus))
		return -ENOMEM;
	m->cpus[m->n_cpus++] = (struct machine_cpu){ number, (uint32_t)run_number(e, p->field[1], 0),
						     (uint32_t)run_number(e, p->field[2], 0) };
	return 0;
}

int machine_see(struct machine *m, const struct trace_event *e)
{
	const struct plan *p = &m->plans[trace_class_number(e)];

	switch (p->role) {
	case ROLE_DISK:
		return see_disk(m, p, e);
	case ROLE_CPU:
		return see_cpu(m, p, e);
	}
	return 0;
}

const char *machine_disk(const struct machine *m, uint64_t number)
{
	for (uint32_t i = 0; i < m->n_disks; i++)
		if (m->disks[i].number == number)
			return m->disks[i].name;
	return NULL;
}

const struct machine_cpu *machine_cpu(const struct machine *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].number == number)
			return &m->cpus[i];
	return NULL;
}

static uint32_t count_different(const struct machine *m, bool by_core)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < m->n_cpus; i++) {
		for (k = 0; k < i; k++)
			if (m->cpus[k].package == m->cpus[i].package && (!by_core || m->cpus[k].core == m->cpus[i].core))
				break;
		n += k == i;
	}
	return n;
}

uint32_t machine_cores(const struct machine *m)
{
	return count_different(m, true);
}

uint32_t machine_packages(const struct machine *m)
{
	return count_different(m, false);
}
