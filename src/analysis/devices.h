/* SPDX-License-Identifier: MIT */
/*
 * analysis/devices.h - what the numbers in events of the kernel mean on the machine: its disks, its CPUs.
 *
 * From the state dump of a recording, which may begin after the first events: ask at the end.  Of several machines that
 * are read as one the first that told of a number is believed.
 */
#ifndef ANALYSIS_DEVICES_H
#define ANALYSIS_DEVICES_H

#include "analysis/event_table.h"

enum { MACHINE_NAME = 64 };

struct machine_disk {
	uint64_t number; /* major << 20 | minor */
	char name[MACHINE_NAME];
};

struct machine_cpu {
	uint32_t number, package, core;
};

struct machine {
	struct plan *plans;
	struct machine_disk *disks;
	struct machine_cpu *cpus;
	uint32_t n_disks, n_disk_rooms, n_cpus, n_cpu_rooms;
	char model[MACHINE_NAME]; /* of its CPUs; "": not told */
};

int machine_init(struct machine *m, const struct run *r);
void machine_fini(struct machine *m);

/* machine_see - feed every event, also those before the range.  Returns 0 or -ENOMEM. */
int machine_see(struct machine *m, const struct trace_event *e);

/* machine_disk - what the device @number is called; NULL: not told. */
const char *machine_disk(const struct machine *m, uint64_t number);
/* machine_cpu - NULL: not told. */
const struct machine_cpu *machine_cpu(const struct machine *m, uint32_t number);
/* machine_cores - how many different cores there are; packages: of these. */
uint32_t machine_cores(const struct machine *m);
uint32_t machine_packages(const struct machine *m);

#endif
