/* SPDX-License-Identifier: MIT */
/*
 * analysis/devices.h - what the numbers in events of the kernel mean on the machine: its disks, its
 * CPUs.
 *
 * From the state dump of a recording, which may begin after the first events: ask at the end.  Of
 * several machines that are read as one the first that told of a number is believed.
 */
#ifndef ANALYSIS_DEVICES_H
#define ANALYSIS_DEVICES_H

#include "analysis/event_table.h"

enum { MACHINE_NAME = 64 };

struct devices_disk {
	uint64_t number; /* major << 20 | minor */
	char name[MACHINE_NAME];
};

struct devices_cpu {
	uint32_t number, package, core;
};

struct devices {
	struct event_table *plans;
	struct devices_disk *disks;
	struct devices_cpu *cpus;
	uint32_t n_disks, n_disk_rooms, n_cpus, n_cpu_rooms;
	char model[MACHINE_NAME]; /* of its CPUs; "": not told */
};

int devices_init(struct devices *m, const struct pass *r);
void devices_fini(struct devices *m);

/* devices_on_event - feed every event, also those before the range.  Returns 0 or -ENOMEM. */
int devices_on_event(struct devices *m, const struct trace_event *e);

/* devices_disk - what the device @number is called; NULL: not told. */
const char *devices_disk(const struct devices *m, uint64_t number);
/* devices_cpu - NULL: not told. */
const struct devices_cpu *devices_cpu(const struct devices *m, uint32_t number);
/* devices_cores - how many different cores there are; packages: of these. */
uint32_t devices_cores(const struct devices *m);
uint32_t devices_packages(const struct devices *m);

#endif
