/* SPDX-License-Identifier: MIT */
/*
 * net/send/spool.h - the sender's view of a recording on disk: files that grow, and how far each
 * was sent.
 *
 * In each round every file has a target, chosen so that the relay's copy is readable at any
 * moment: of a stream only packets that its index names, and the metadata as it was after these
 * packets were written.  A round sends metadata first, then streams, then indexes.  It sends at
 * most about 1 MiB of each stream, so that a long backlog advances in all streams together
 * (net/send/scheduler.c).  Last come the lines of .duet/clock that are true for everything sent
 * so far: they state until when the files are complete.
 *
 * The recorder may be killed at any time.  Its successor then repairs the files
 * (ctf/write/recover.h): it cuts streams to the packets that indexes name, cuts metadata to whole
 * blocks, and removes a trace without a packet.  So nothing beyond these limits is sent while a
 * recorder appends.  The last packets of each stream, as many as one write may have added, stay on disk
 * here, because the successor compares them with the buffers.
 *
 * The bytes of a stream that a relay has acknowledged may be given back to the disk (a hole).
 * The rest can still be sent, by another process too.  A trace chunk is finished at the relay
 * (docs/formats/trace.md) when all its other files have arrived.  From then on this sender does
 * not announce it any more, and it may be removed at the relay as well.
 *
 * One thread; the recorder appends meanwhile.
 */
#ifndef NET_SEND_SPOOL_H
#define NET_SEND_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/quota.h"
#include "ctf/write/public.h"
#include "net/message.h"

enum spool_kind { SPOOL_OTHER, SPOOL_STREAM, SPOOL_INDEX, SPOOL_CLOCK, SPOOL_FINISHED };

struct spool_file {
	char *name; /* below the recording */
	enum spool_kind kind;
	uint32_t partner; /* of an index: its stream; of a stream: its index; UINT32_MAX: none */
	uint64_t size;	  /* as last seen */
	uint64_t target;  /* of this round */
	uint64_t sent, acknowledged, freed;
	uint64_t returned;  /* bytes given back to the quota */
	uint64_t ever_sent; /* by this process, on any connection */
	/* offsets of the last packets that the index named, the newest last; 0: fewer were seen */
	uint64_t last[CTF_PACKETS_MOST];
	bool is_known;	/* the relay has reported its size */
	bool was_known; /* the same, on this or an earlier connection */
};

struct spool {
	int dir;
	struct spool_file *files;
	uint32_t n;
	uint32_t *slots; /* hash of names: a file's number + 1 */
	uint32_t n_slots;
	/* on this connection: announced to the relay; sizes reported by it */
	uint32_t n_announced, n_known;
	int phase; /* of the round */
	uint32_t cursor;
	bool is_final; /* the recording is complete: everything is sent, with or without an index */
	bool is_for_follower;
	uint64_t from_ns; /* by the trace's clock; much older data is not sent; 0: all is */
	bool frees;
	bool cannot_free; /* the file system has no holes */
	struct quota *quota;
	/* of files that are not tracked any more: they have arrived, or were removed here */
	uint64_t forgotten_bytes;
	uint32_t n_arrived;  /* trace chunks up to this number have arrived */
	uint32_t n_skipped;  /* files with names that no relay accepts */
	uint32_t n_unwanted; /* files that the relay did not want, before all of them was sent */
	/* no process sent this recording before: a relay cannot have more than this one sent */
	bool is_fresh;
	int fd; /* of the file that was read last */
	uint32_t fd_number;
	const char *path; /* lent, for messages */
};

/* spool_open - open the recording in directory @path, or in @dir if that is not 0.  With @frees,
 * acknowledged bytes are given back to the disk.  Directories of other tenants in it
 * (docs/design/tenants.md) are recordings of their own, and are skipped. */
int spool_open(struct spool *s, const char *path, int dir, bool frees, struct quota *quota,
	       struct diag *d);

/* spool_open_for_follower - the same for a follower, from @from_ns on, with the relay's
 * measurement of its clock. */
int spool_open_for_follower(struct spool *s, const char *path, uint64_t from_ns, struct diag *d);
void spool_close(struct spool *s);

/* spool_identity - the identity of this recording: read from its directory, else @hello with a
 * new id, which is written there.  -EBUSY if another process sends it. */
int spool_identity(struct spool *s, struct message *hello, int *lock, struct diag *d);

/* spool_begin_connection - start over with a relay that may report other sizes. */
void spool_begin_connection(struct spool *s);

/* spool_round - scan for files and set targets.  1 if there is something to send; 0; or -errno.
 * While the relay has not reported the size of a new file, nothing is sent: metadata goes before
 * its packets. */
int spool_round(struct spool *s, struct diag *d);

/* spool_next - the next part of this round, as a MESSAGE_DATA without bytes.  False: the round is
 * over, or waits for sizes. */
bool spool_next(struct spool *s, struct message *m);

/* spool_read - read the bytes of @m into @to, and count them as sent.  0 or -errno: -ENODATA if
 * they were given back to the disk. */
int spool_read(struct spool *s, const struct message *m, uint8_t *to, struct diag *d);

/* spool_size - the relay reports @size bytes of file @number.  -EPROTO if that is impossible: more
 * than the file has, or than was sent; fewer than before. */
int spool_size(struct spool *s, uint32_t number, uint64_t size, struct diag *d);

/* spool_progress - a number that grows as the relay takes files and bytes, over all connections. */
uint64_t spool_progress(const struct spool *s);
bool spool_all_acknowledged(const struct spool *s);
uint64_t spool_bytes(const struct spool *s, bool acknowledged); /* false: of all bytes */

/* spool_trace_chunks - in a recording with trace chunks: all finished ones up to this number have
 * arrived completely; 0: none. */
uint32_t spool_trace_chunks(struct spool *s);

/* spool_remove - remove the recording, once the relay has everything.  Its directory stays if it
 * contains other files. */
void spool_remove(const char *path);

#endif
