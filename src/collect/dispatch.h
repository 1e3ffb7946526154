/* SPDX-License-Identifier: MIT */
/*
 * collect/dispatch.h - the requests that clients send to a running collector, by verb.
 *
 * 	snapshot          collect/drain/snapshot.h
 * 	enable, disable   events of running and future programs, with a filter and a channel
 * 	flush             write everything recorded before the request to the files
 * 	rotate            collect/rotate.h
 * 	stop              end the session; answered when the trace is complete, collect/request/stop.h
 * 	trigger, watch    collect/trigger/request.h
 * 	status            activity and memory of the session, or of one of its channels
 *
 * Only the collector changes its session: rules, filters and their numbers.  So concurrent commands
 * need no lock.  Specification: docs/formats/requests.md.
 *
 * One thread.
 */
#ifndef COLLECT_DISPATCH_H
#define COLLECT_DISPATCH_H

#include <stdint.h>

#include "collect/session/session.h"

struct collector;

/*
 * dispatch_request - carry out the request @m (SESSION_ASKED) and answer it.  Takes its
 * descriptors.
 */
void dispatch_request(struct collector *c, const struct session_message *m);

#endif
