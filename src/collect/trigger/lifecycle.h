/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/lifecycle.h - triggers in a collector's life: collect/collector.h.
 *
 * A session with a trigger that starts recording begins paused.
 */
#ifndef COLLECT_TRIGGER_LIFECYCLE_H
#define COLLECT_TRIGGER_LIFECYCLE_H

#include "collect/collector.h"

/* trigger_watch_open - in collector_open: the triggers of the options. */
int trigger_watch_open(struct collector *c, struct diag *d);
/* trigger_watch_start - in collector_start, when events of running programs are enabled. */
int trigger_watch_start(struct collector *c, struct diag *d);
/* trigger_watch_resume - in collector_resume: those that the one before us had. */
int trigger_watch_resume(struct collector *c, struct diag *d);
/* trigger_watch_pass - in a pass: for what is not told by events; @lost in all. */
void trigger_watch_pass(struct collector *c);
/* trigger_watch_go_on - something was done that a firing may have waited for, or has made one. */
void trigger_watch_go_on(struct collector *c);
void trigger_watch_close(struct collector *c);

#endif
