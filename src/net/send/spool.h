/* SPDX-License-Identifier: MIT */
/*
 * net/send/spool.h - a recording on disk as its sender sees it: files that grow, and how far each
 * was sent.
 *
 * In each round every file has a target, chosen so that what has arrived is readable at any moment:
 * of a stream only packets that its index names; metadata as it was after these packets were
 * written. A round sends metadata first, then streams, then indexes; and of no stream more than
 * about 1 MiB, so that a long backlog goes side by side (net/send/scheduler.c).  Last come those
 * lines of .duet/clock, which say up to when everything is in the files, that are true where all
 * this arrives.
 *
 * The recorder may be killed at any time, and a successor then puts its files right
 * (ctf/write/recover.h): streams are cut to what indexes name, metadata to whole blocks, and a
 * trace without a packet is removed.  So nothing beyond that is sent while somebody appends; and of
 * each stream the last packet stays here, for it is compared with the buffers.
 *
 * What a relay has acknowledged of a stream may be given back to the disk (a hole): the rest can
 * still be sent, by another process too.  A piece is finished at the relay (docs/formats/trace.md)
 * when all else of it has arrived; from then on nobody here speaks of it any more, and it may be
 * removed there as well.
 *
 * One thread; the recorder appends meanwhile.
 */
#ifndef NET_SEND_SPOOL_H
#define NET_SEND_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/quota.h"
#include "net/message.h"

enum spool_kind { SPOOL_OTHER, SPOOL_STREAM, SPOOL_INDEX, SPOOL_CLOCK, SPOOL_FINISHED };

struct spool_file {
	char *name; /* below the recording */
	enum spool_kind kind;
	uint32_t partner; /* of an index: its stream; of a stream: its index; UINT32_MAX: none */
	uint64_t size;	  /* as last seen */
	uint64_t target;  /* of this round */
	uint64_t sent, acknowledged, freed;
	uint64_t returned; /* of its bytes, to the quota */
	uint64_t last;	   /* offset of the last packet that its index was seen to name */
	bool is_known;	   /* the relay has told its size */
	bool was_known;	   /* also on an earlier connection */
};

struct spool {
	int dir;
	struct spool_file *files;
	uint32_t n;
	uint32_t *slots; /* hash of names: a file's number + 1 */
	uint32_t n_slots;
	uint32_t n_announced, n_known; /* to the relay on this connection; by its answers */
	int phase;		       /* of the round */
	uint32_t cursor;
	bool is_final; /* nobody appends: everything goes, whatever indexes say */
	bool is_for_watcher;
	uint64_t from_ns; /* of the trace's clock: what was long before is not wanted; 0: all is */
	bool frees;
	bool cannot_free; /* the file system does not */
	struct quota *quota;
	uint64_t gone_bytes; /* of files that are not looked at any more: they have arrived, or were
				removed here */
	uint32_t n_arrived;  /* pieces up to this number have arrived */
	uint32_t n_skipped;  /* names no relay would take */
	int fd;		     /* the file read last */
	uint32_t fd_number;
	const char *path; /* lent, for what is told */
};

/* spool_open - the recording in directory @path, or @dir, if that is not 0.  With @frees, what is
 * acknowledged is given back.  Parts of other users in it (docs/design/tenants.md) are recordings
 * of their own, and not of this one. */
int spool_open(struct spool *s, const char *path, int dir, bool frees, struct quota *quota,
	       struct diag *d);

/* spool_open_for_watcher - the same to be read by one who follows it, from @from_ns on: with what
 * the relay knows of its clock. */
int spool_open_for_watcher(struct spool *s, const char *path, uint64_t from_ns, struct diag *d);
void spool_close(struct spool *s);

/* spool_identity - who this recording is: read from it, else @hello as it is with a fresh id, and
 * written into it.  -EBUSY if another process sends it. */
int spool_identity(struct spool *s, struct message *hello, int *lock, struct diag *d);

/* spool_begin_connection - a relay that may know other sizes. */
void spool_begin_connection(struct spool *s);

/* spool_round - look for files and set targets.  1 if there is something to send; 0; or -errno.
 * Files it finds wait until their sizes are known, and everything with them: metadata goes before
 * its packets. */
int spool_round(struct spool *s, struct diag *d);

/* spool_next - the next piece of this round, as a MESSAGE_DATA without bytes.  False: the round is
 * over, or waits for sizes. */
bool spool_next(struct spool *s, struct message *m);

/* spool_read - the bytes of @m into @to; they count as sent.  0 or -errno: -ENODATA if given back.
 */
int spool_read(struct spool *s, const struct message *m, uint8_t *to, struct diag *d);

/* spool_size - the relay has @size bytes of file @number.  -EPROTO if that cannot be. */
int spool_size(struct spool *s, uint32_t number, uint64_t size, struct diag *d);

bool spool_all_acknowledged(const struct spool *s);
uint64_t spool_bytes(const struct spool *s, bool acknowledged); /* else: all */

/* spool_trace_chunks - of a recording in pieces: all finished ones up to this number have arrived
 * in whole; 0: none. */
uint32_t spool_trace_chunks(struct spool *s);

/* spool_remove - the recording, once everything is elsewhere.  Its directory stays if something
 * else lies in it. */
void spool_remove(const char *path);

#endif
