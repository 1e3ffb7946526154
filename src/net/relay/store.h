/* SPDX-License-Identifier: MIT */
/*
 * net/relay/store.h - a recording on the relay's disk: files that only grow.
 *
 *	OUTPUT/HOST/SESSION-DATE[-N]/          as on the host that recorded it
 *	OUTPUT/HOST/SESSION-DATE[-N]/.duet/relay         which recording it is; whether it is
 *complete OUTPUT/HOST/SESSION-DATE[-N]/.duet/clock-relay   the host's clock beside ours
 *	OUTPUT/HOST/SESSION-DATE[-N]/.duet/relay-removed pieces up to this number were here, and
 *removed
 *
 * All names come from the network.  They are checked (message_is_path) and then walked component by
 * component without following a link, from an open directory: what lies outside cannot be reached,
 * also not by one who can write in the output directory.  What is no regular file with one name is
 *not written to.
 *
 * One thread.
 */
#ifndef NET_RELAY_STORE_H
#define NET_RELAY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "net/message.h"

enum { STORE_FILES = 16384 };

struct store_file {
	char *name;
	uint64_t size; /* MESSAGE_UNWANTED: of a piece that was removed here */
};

struct store {
	int dir; /* of the recording, locked: nobody removes it; -1: none */
	struct store_file *files;
	uint32_t n_files;
	uint64_t bytes, most_bytes; /* 0: no limit */
	int fd;			    /* the file written to last */
	uint32_t fd_number;
	uint32_t n_removed; /* pieces up to this number were removed here */
	bool is_copy;	    /* of a relay's: files may begin later, and clock-relay is among them */
	bool has_ended;
	bool was_there;		     /* when it was opened: it goes on */
	char path[MESSAGE_NAME + 1]; /* below the output */
};

/* store_open - the recording that @m, a MESSAGE_HELLO, names, below the directory @output; made if
 * it is new.  Returns 0 or -errno. */
int store_open(struct store *s, int output, const struct message *m, uint64_t most_bytes,
	       bool is_copy, struct diag *d);
void store_close(struct store *s);

/* store_add - the next file, by the name @name; it may exist.  Returns 0 or -errno. */
int store_add(struct store *s, const char *name, struct diag *d);

/*
 * store_append - @n bytes to file @number, which must be @offset bytes long; in a copy also an
 * empty one.
 *
 * Returns how many were written, fewer than @n when the disk is full (errno tells: ENOSPC, EDQUOT);
 * or -errno: -EPROTO if the offset is another, -EFBIG beyond the limit.
 */
long store_append(struct store *s, uint32_t number, uint64_t offset, const uint8_t *bytes,
		  uint32_t n, struct diag *d);

/* store_trim - in a copy that is followed: give back the beginnings of indexes and clocks, of which
 * only the ends are read (base/progress.h).  Returns how many bytes of the disk the copy takes. */
uint64_t store_trim(struct store *s);

/* store_time - note @t: sent and received by the host's clock ([0], [3]), by ours ([1], [2]). */
int store_time(struct store *s, const uint64_t t[4]);

/* store_end - note that it is complete. */
int store_end(struct store *s, struct diag *d);

#endif
