/* SPDX-License-Identifier: MIT */
/*
 * net/relay/store.h - a recording on the relay's disk: files that only grow.
 *
 * 	OUTPUT/HOST/SESSION-DATE[-N]/                     as on the host that recorded it
 * 	OUTPUT/HOST/SESSION-DATE[-N]/.duet/relay          the id of the recording; whether it is complete
 * 	OUTPUT/HOST/SESSION-DATE[-N]/.duet/clock-relay    the host's clock beside the relay's
 * 	OUTPUT/HOST/SESSION-DATE[-N]/.duet/relay-removed  trace chunks up to this number were removed
 *
 * All names come from the network.  They are checked (message_is_path), and then opened component
 * by component from an open directory, without following a link.  So nothing outside the
 * recording can be reached, even by a user with access to the output directory.  A file that is
 * not regular, or has a second name, is not written to.
 *
 * One thread.
 */
#ifndef NET_RELAY_STORE_H
#define NET_RELAY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "net/message.h"

struct store_file {
	char *name;
	uint64_t size; /* MESSAGE_UNWANTED: in a trace chunk that was removed here */
};

struct store {
	int dir; /* of the recording, locked against removal; -1: none */
	struct store_file *files;
	uint32_t n_files;
	uint64_t bytes, most_bytes; /* 0: no limit */
	struct share *share;	    /* of its host; lent; NULL: no limit */
	int fd;			    /* of the file that was written last */
	uint32_t fd_number;
	uint32_t n_removed; /* trace chunks up to this number were removed here */
	/* a follower's copy: files may begin at a later offset, and clock-relay is among them */
	bool is_copy;
	bool has_ended;
	bool existed;		     /* the recording existed when it was opened */
	char path[MESSAGE_NAME + 1]; /* below the output directory */
};

/* store_open - open the recording that @m, a MESSAGE_HELLO, names below the directory @output;
 * create it if it is new.  Returns 0 or -errno. */
int store_open(struct store *s, int output, const struct message *m, uint64_t most_bytes,
	       bool is_copy, struct diag *d);
void store_close(struct store *s);

/* store_add - open the next file, named @name; it may exist.  Returns 0 or -errno. */
int store_add(struct store *s, const char *name, struct diag *d);

/*
 * store_append - append @n bytes to file @number, which must be @offset bytes long; in a copy it
 * may also be empty.
 *
 * Returns how many were written, fewer than @n if the disk is full or the host beyond its share (errno
 * is ENOSPC or EDQUOT, and @d has the reason);
 * or -errno: -EPROTO if the offset differs, -EFBIG beyond the limit.
 */
long store_append(struct store *s, uint32_t number, uint64_t offset, const uint8_t *bytes,
		  uint32_t n, struct diag *d);

/* store_trim - in a follower's copy: give the beginnings of indexes and clocks back to the disk,
 * because only their ends are read (base/progress.h).  Returns the bytes that the copy occupies
 * on disk. */
uint64_t store_trim(struct store *s);

/* store_time - write the times @t: sent and received by the host's clock ([0], [3]), by the
 * relay's ([1], [2]). */
int store_time(struct store *s, const uint64_t t[4]);

/* store_end - mark the recording as complete. */
int store_end(struct store *s, struct diag *d);

#endif
