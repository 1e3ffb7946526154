/* SPDX-License-Identifier: MIT */
/*
 * net/send/sender.h - sends a recording to a relay, while it is written or later.
 *
 * The recorder writes into its directory as without a relay.  A process of its own reads the
 * directory and sends it.  So no fault of the network or of TLS reaches the recorder, and the
 * recording does not depend on either.  After a cut link the sender asks the relay for its sizes,
 * and continues there.
 *
 * Beside a recorder the sender is two processes (base/supervise.h), forked before anything exists
 * that they should not inherit.  If one is killed, the other replaces it, and continues as after
 * a cut link.  Both end when everything is sent or the time limit has passed, after sender_end()
 * or after the death of every process that held the recorder's end of `control`.
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
	const char *path; /* path of the recording */
	/* the same, open; then the path is only for messages, and the sender may have other
	 * rights than the recorder.  0: open the path */
	int dir;
	/* Called once in each line of processes, after the keys and before any file of the
	 * recording was read, to drop privileges.  If it fails nothing is sent.  May be NULL. */
	int (*confine)(void *arg, struct diag *d);
	void *confine_arg;
	struct endpoint to;
	struct tls_keys keys;
	/* names the recording on the relay, with the host's name and the date */
	const char *session;
	bool frees;	       /* give acknowledged bytes back to the disk */
	int compression_level; /* compression on the link: 1 .. 19; 0: none */
	uint64_t timeout_ns;   /* at the end: for everything; in sender_run(): without progress */
};

enum sender_state {
	SENDER_WAITS,	/* not yet connected */
	SENDER_SENDS,	/* connected, now or before */
	SENDER_REFUSED, /* the keys do not match, or the relay refuses the recording */
	SENDER_DONE,	/* the relay has everything */
	SENDER_GAVE_UP, /* the time limit passed; `text` has the last error */
};

/* Shared memory of the sending processes and the recorder.  `text`, `path` and the 64-bit numbers
 * are consistent once the sending processes have ended. */
struct sender_status {
	struct quota quota; /* of bytes not yet acknowledged */
	struct supervision supervision;
	uint32_t state;	       /* enum sender_state */
	uint32_t is_connected; /* now */
	uint32_t relay_waits;  /* now, for room on its disk: `text` */
	uint32_t n_connections;
	uint32_t n_failures; /* failed attempts that may succeed later */
	uint32_t n_skipped;  /* files with names that no relay accepts, or that it did not want */
	/* all trace chunks up to this number (docs/formats/trace.md) are on the relay */
	uint32_t n_trace_chunks;
	uint64_t total, acknowledged; /* bytes */
	uint32_t version;	      /* of the protocol in use; 0: not known yet */
	/* bytes of files that were sent, repeated ones included; bytes that the link carried for
	 * them */
	uint64_t read_bytes, carried_bytes;
	/* part of total and acknowledged: files that are not tracked any more */
	uint64_t forgotten_bytes;
	int64_t offset_ns, error_ns; /* the relay's clock minus the local one; error 0: not known */
	char path[256];		     /* below the relay's output directory */
	char text[512];		     /* the last error */

	/* Written by the recorder. */
	uint32_t has_begun, is_held, is_ending;
	uint64_t deadline_ns; /* for the end; monotonic */
};

/* sender_run - send the finished recording, in this process.  0 when the relay has all of it,
 * else -errno. */
int sender_run(const struct sender_options *o, struct sender_status *s, struct diag *d);

/* The sender beside a recorder, as processes of its own. */
struct sender {
	pid_t pid;   /* of the process group; 0: none */
	int control; /* any process that holds it may call the functions below */
	uint64_t timeout_ns;
	struct sender_status *status; /* shared memory */
};

/* sender_fork - fork the sender, before anything exists that a child should not inherit.  It
 * waits for sender_begin(). */
int sender_fork(struct sender *s, const struct sender_options *o, uint64_t spool_bytes,
		struct diag *d);
/* sender_begin - start sending: the recording's directory exists.  Waits up to @timeout_ms for
 * the result: 0, also without an answer yet; -errno if the relay refuses. */
int sender_begin(struct sender *s, int timeout_ms, struct diag *d);
/* sender_lift - remove the limit of the spool, so that the data still in memory can be written
 * there.  With @holds the sender reads nothing more before sender_end(): the recorder may cut and
 * rewrite what it writes now. */
void sender_lift(struct sender *s, bool holds);
/* sender_is_there - whether a sending process is alive.  The processes never write to `control`,
 * so that it becomes readable only at its end. */
static inline bool sender_is_there(const struct sender *s)
{
	struct pollfd p = { .fd = s->control, .events = POLLIN };

	return s->control >= 0 && (poll(&p, 1, 0) <= 0 || !p.revents);
}
/* sender_end - the recording is complete: wait until the sending processes have ended.  Returns
 * the last state. */
enum sender_state sender_end(struct sender *s);
/* sender_fini - kill the sending processes if they still run, and release everything. */
void sender_fini(struct sender *s);

#endif
