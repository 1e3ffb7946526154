/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/lifecycle.h - calls that the collector makes for its triggers when it opens,
 * starts, resumes, passes and closes (collect/collector.h).
 *
 * A session that has a trigger with the action start begins paused.
 */
#ifndef COLLECT_TRIGGER_LIFECYCLE_H
#define COLLECT_TRIGGER_LIFECYCLE_H

#include "collect/trigger/watch.h"

/* trigger_watch_open - in collector_open, when the kernel is open. */
int trigger_watch_open(struct trigger_watch *w, struct diag *d);
/* trigger_watch_add_options - after it, in the main collector: arm the triggers of the options. */
int trigger_watch_add_options(struct trigger_watch *w, struct diag *d);
/* trigger_watch_start - in collector_start, after events of running programs were enabled. */
int trigger_watch_start(struct trigger_watch *w, struct diag *d);
/* trigger_watch_resume - in collector_resume: arm the predecessor's triggers. */
int trigger_watch_resume(struct trigger_watch *w, struct diag *d);
/* trigger_watch_pass - in a pass: check conditions that no event reports. */
void trigger_watch_pass(struct trigger_watch *w);
/* trigger_watch_step - each period_ms: check conditions on events and on time. */
void trigger_watch_step(struct trigger_watch *w);
/* trigger_watch_go_on - call it after anything that a firing may wait for, or that may fire one. */
void trigger_watch_go_on(struct trigger_watch *w);
void trigger_watch_close(struct trigger_watch *w);

#endif
