/* SPDX-License-Identifier: MIT */
/*
 * net/send/sender.h - ships a recording to a relay while it is written, or later.
 *
 * The recorder writes into its directory as always; a process of its own sends what has come to be
 * there. So nothing that happens to the network, or to TLS, reaches the recorder, and nothing that
 * was recorded depends on either.  After a cut link the relay is asked for its sizes, and sending
 * goes on there.
 *
 * Beside a recorder the sender is two processes (base/supervise.h), forked before there is anything
 * that they should not inherit: a killed one is replaced, and asks the relay as after a cut link.
 * They end when everything is sent, or time has run out, after sender_end or after every process
 * that held the recorder's end of `control` has died.
 */
#ifndef NET_SEND_SENDER_H
#define NET_SEND_SENDER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/supervise.h"
#include "base/quota.h"
#include "net/endpoint.h"
#include "net/tls.h"

struct sender_options {
	const char *path; /* the recording */
	int dir; /* it, open; then the path is only told, and the recorder's rights may be others.
		    0: the path */
	/* Told once in each line of processes, when keys have been read and no file of the
	 * recording yet: what is not needed any more is given up.  Not 0: nothing is sent.  Or
	 * NULL. */
	int (*confine)(void *arg, struct diag *d);
	void *confine_arg;
	struct endpoint to;
	struct tls_keys keys;
	const char *session; /* names it on the relay, with the host's name and the date */
	bool frees;	     /* give acknowledged bytes back to the disk */
	int pack_level;	     /* what goes over the link is compressed: 1 .. 19; 0: not */
	uint64_t timeout_ns; /* at the end: how long in all, or, sending alone, without any progress
			      */
};

enum sender_state {
	SENDER_WAITS,	/* not yet connected */
	SENDER_SENDS,	/* connected, now or before */
	SENDER_REFUSED, /* keys do not fit, or the relay does not want it */
	SENDER_DONE,	/* everything is on the relay */
	SENDER_GAVE_UP, /* time ran out; text says what was last */
};

/* Shared by the sending processes and the recorder's.  `text`, `path` and numbers are whole once
 * the former have ended. */
struct sender_status {
	struct quota quota; /* of bytes not yet acknowledged */
	struct supervision supervision;
	uint32_t state;	       /* enum sender_state */
	uint32_t is_connected; /* now */
	uint32_t n_connections;
	uint32_t n_failures;	 /* attempts that came to nothing, and may do better later */
	uint32_t n_skipped;	 /* files with names that no relay takes */
	uint32_t n_trace_chunks; /* all pieces up to this number (docs/formats/trace.md) are on the
				    relay */
	uint64_t total, acknowledged;	    /* bytes */
	uint32_t version;		    /* of the protocol, that both speak; 0: not known yet */
	uint64_t read_bytes, carried_bytes; /* of files, as sent, more than once perhaps; what the
					       link carried of them */
	uint64_t gone_bytes;	     /* part of both: of files that nobody looks at any more */
	int64_t offset_ns, error_ns; /* of the relay's clock to ours; error 0: not known */
	char path[256];		     /* below the relay's output */
	char text[512];		     /* what was last wrong */

	/* What the recorder has said. */
	uint32_t has_begun, is_held, is_ending;
	uint64_t deadline_ns; /* for the end; monotonic */
};

/* sender_run - send the finished recording, in this process.  0 when all of it is there, else
 * -errno. */
int sender_run(const struct sender_options *o, struct sender_status *s, struct diag *d);

/* The same beside a recorder, as a process of its own. */
struct sender {
	pid_t pid;   /* of the group; 0: none */
	int control; /* any process that holds it may call what follows */
	uint64_t timeout_ns;
	struct sender_status *status; /* shared memory */
};

/* sender_fork - before there is anything a child should not inherit.  It waits for sender_begin. */
int sender_fork(struct sender *s, const struct sender_options *o, uint64_t spool_bytes,
		struct diag *d);
/* sender_begin - the recording's directory is there.  Waits up to @timeout_ms for what comes of it:
 * 0, also if there is no answer yet; -errno if the relay refuses. */
int sender_begin(struct sender *s, int timeout_ms, struct diag *d);
/* sender_lift - from now on the spool has no limit: what is in memory still goes there.  With
 * @holds nothing is sent before sender_end: what is written now may be taken back and written
 * again. */
void sender_lift(struct sender *s, bool holds);
/* sender_is_there - whether anybody sends still: they say nothing, there is only the end to be
 * read. */
static inline bool sender_is_there(const struct sender *s)
{
	struct pollfd p = { .fd = s->control, .events = POLLIN };

	return s->control >= 0 && (poll(&p, 1, 0) <= 0 || !p.revents);
}
/* sender_end - the recording is complete; waits until nobody sends any more.  Its state is the
 * last. */
enum sender_state sender_end(struct sender *s);
/* sender_fini - end a process that still runs; forget. */
void sender_fini(struct sender *s);

#endif
