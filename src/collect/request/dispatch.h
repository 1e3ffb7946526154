/* SPDX-License-Identifier: MIT */
/*
 * collect/request/dispatch.h - the requests that clients send to a running collector, by verb.
 *
 * 	snapshot          collect/drain/snapshot.h
 * 	enable, disable   events of running and future programs, with a filter and a channel
 * 	flush             write everything recorded before the request to the files
 * 	rotate            collect/chunks/rotate.h
 * 	stop              end the session; answered when the trace is complete, collect/request/stop.h
 * 	trigger, watch    collect/trigger/request.h
 * 	status            activity and memory of the session, or of one of its channels
 *
 * Only the collector changes its session: rules, filters and their numbers.  So concurrent commands
 * need no lock.  Specification: docs/formats/requests.md.
 *
 * One thread.
 */
#ifndef COLLECT_REQUEST_DISPATCH_H
#define COLLECT_REQUEST_DISPATCH_H

#include <stdint.h>

#include "collect/session/filters.h"
#include "collect/session/session.h"
#include "collect/drain/snapshot.h"
#include "collect/request/stop.h"
#include "collect/drain/streams.h"
#include "kernel/kernel.h"

struct collector;

/* What requests are about; all lent. */
struct requests {
	struct collector *collector; /* for collect/chunks/rotate.h, collect/trigger/request.h */
	struct session *session;
	struct filters *filters;
	struct snapshot_maker *snapshot;
	struct streams *streams;
	struct kernel *kernel;	 /* NULL: not recorded */
	bool kernel_in_memory;	 /* it is a flight recorder: nobody polls */
	const char *path;	 /* of the recording */
	pid_t pid;		 /* of the collector, or its keeper */
	uint64_t begin_ns;	 /* session time */
	uint64_t lost_outside;	 /* by programs that never joined, and are gone */
	uint32_t n_incarnations; /* collectors so far; 0: there is no keeper */
	const char *trouble;	 /* what first went wrong, or "" */
	struct stopping *stopping;
	bool *stop; /* set: the collector ends, and then answers */
};

/*
 * dispatch_request - carry out the request @m (SESSION_ASKED) and answer it.  Takes its
 * descriptors.
 */
void dispatch_request(const struct requests *r, const struct session_message *m);

#endif
