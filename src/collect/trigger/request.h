/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/request.h - the requests `trigger` and `watch`: docs/formats/requests.md.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_REQUEST_H
#define COLLECT_TRIGGER_REQUEST_H

#include <stdbool.h>

#include "collect/trigger/watch.h"
#include "base/json_line.h"

/*
 * trigger_add - arm one more trigger and inform the programs.  Returns its number, or -errno.
 *
 * @number: as for triggers_add.
 */
int trigger_add(struct trigger_watch *w, const char *text, uint32_t number, struct diag *d);

/*
 * trigger_request - answer the request on @fd.
 *
 * watch_request - the same; true: it took @fd.
 */
void trigger_request(struct trigger_watch *w, const struct json_line *l, int fd);
bool watch_request(struct trigger_watch *w, int fd);

#endif
