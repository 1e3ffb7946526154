/* SPDX-License-Identifier: MIT */
/*
 * analysis/devices.h - names of disks and the topology of CPUs, for the numbers in events of the
 * kernel.
 *
 * They come from the state dump, which may follow the first events: use them after the last event.
 * If recordings of several machines are read as one, the first entry for a number counts.
 */
#ifndef ANALYSIS_DEVICES_H
#define ANALYSIS_DEVICES_H

#include "analysis/event_table.h"

enum { DEVICES_NAME_MAX = 64 };

struct devices_disk {
	uint64_t number; /* major << 20 | minor */
	char name[DEVICES_NAME_MAX];
};

struct devices_cpu {
	uint32_t number, package, core;
};

struct devices {
	struct event_table *plans;
	struct devices_disk *disks;
	struct devices_cpu *cpus;
	uint32_t n_disks, n_disk_rooms, n_cpus, n_cpu_rooms;
	char model[DEVICES_NAME_MAX]; /* the model of the CPUs; "": not recorded */
};

int devices_init(struct devices *m, const struct pass *r);
/* devices_update - after trace_refresh(): add new classes.  0 or -ENOMEM. */
int devices_update(struct devices *m, const struct pass *r);
void devices_fini(struct devices *m);

/* devices_on_event - feed every event, also those before the range.  Returns 0 or -ENOMEM. */
int devices_on_event(struct devices *m, const struct trace_event *e);

/* devices_disk - the name of the device @number; NULL: not recorded. */
const char *devices_disk(const struct devices *m, uint64_t number);
/* devices_cpu - the CPU @number; NULL: not recorded. */
const struct devices_cpu *devices_cpu(const struct devices *m, uint32_t number);
/* devices_cores, devices_packages - the number of different cores, and of different packages. */
uint32_t devices_cores(const struct devices *m);
uint32_t devices_packages(const struct devices *m);

#endif
