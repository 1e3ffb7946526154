/* SPDX-License-Identifier: MIT */
/*
 * inproc/own_probes.h - the process's own probes: duet/probe.h.
 *
 * They have a session slot of their own in each enable word, which no other process writes.
 */
#ifndef INPROC_OWN_PROBES_H
#define INPROC_OWN_PROBES_H

#include "inproc/process.h"

/* probes_call - call the probes of the event of @site.  Any thread or signal handler. */
void probes_call(const struct duet_i_site *site, const void *payload, size_t size,
		 const void *ip) HIDDEN;
/* probes_register - line @index has a new event.  Under process_lock. */
void probes_register(uint32_t index, const char *name) HIDDEN;
/* probes_forked - in a child with a copy of its parent's page: set the enable bytes again. */
void probes_forked(void) HIDDEN;
/* Around fork(3), inside process_lock. */
void probes_lock(void) HIDDEN;
void probes_unlock(void) HIDDEN;

/* Members of duet_i_api. */
int probe_attach(const char *pattern, void (*probe)(const struct duet_probe_event *, void *),
		 void *arg) HIDDEN;
int probe_detach(int probe) HIDDEN;
int probe_field(const struct duet_probe_event *event, const char *name,
		struct duet_probe_value *value) HIDDEN;
uint64_t probe_missed(void) HIDDEN;

#endif
