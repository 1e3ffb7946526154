/* SPDX-License-Identifier: MIT */
/*
 * net/message.h - the messages between a sender and a relay, byte for byte.
 *
 * A message is a header of 8 bytes (u32 size of the whole message, u8 type, three zeros) and the
 * body of its type.  Integers are little-endian.  docs/formats/relay.md specifies the protocol.
 * Nothing here touches a socket or a file: bytes become a struct, or a struct becomes bytes.
 */
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAGIC "duet\r\n\x1a\n" /* the first 8 bytes of the body of MESSAGE_HELLO */
/* Version 1 has no compressed MESSAGE_DATA; in 3 MESSAGE_TROUBLE may come before MESSAGE_WELCOME. */
#define MESSAGE_VERSION 3
#define MESSAGE_VERSION_EARLY_TROUBLE 3
#define MESSAGE_FROM_NOW UINT64_MAX
#define MESSAGE_UNWANTED                                                                           \
	UINT64_MAX /* as a size: the file counts as arrived; for senders of version 2 */

enum {
	MESSAGE_HEAD = 8,
	MESSAGE_DATA_HEAD = 24,	   /* header, number, zeros, offset */
	MESSAGE_PAYLOAD = 1 << 16, /* most bytes of a file in one message */
	MESSAGE_MAX = MESSAGE_DATA_HEAD + MESSAGE_PAYLOAD,
	MESSAGE_FIRST_MAX = 512, /* most bytes of a message before MESSAGE_WELCOME */
	MESSAGE_NAME = 200,	 /* most bytes of a file's name */
	MESSAGE_TEXT = 64,	 /* most bytes of a host's, session's or date's name */
	MESSAGE_ID = 16,
	MESSAGE_FILES = 16384, /* most files of one recording */
};

enum message_type {
	MESSAGE_HELLO = 1, /* sender: its identity and that of its recording */
	MESSAGE_WELCOME,   /* relay: the directory of the recording */
	MESSAGE_FILE,	   /* sender: from now on @number means the file @name */
	MESSAGE_SIZE,	   /* relay: the bytes of a file that it has written */
	MESSAGE_DATA,	   /* sender: the next bytes of a file */
	MESSAGE_TIME,	   /* sender: its clock, and the four times of the exchange before */
	MESSAGE_TIMED,	   /* relay: the sender's clock, and its own */
	MESSAGE_END,	   /* sender: everything was sent */
	MESSAGE_ENDED,	   /* relay: everything was written */
	MESSAGE_TROUBLE,   /* relay: why it does not read; empty: it reads again */
	MESSAGE_REFUSED,   /* relay: why it closes the connection */
	MESSAGE_WATCH,	   /* follower, instead of HELLO: the recording that it wants */
	MESSAGE_LISTED,	   /* relay: a recording that matches */
	MESSAGE_TYPES,
};

struct message {
	enum message_type type;
	union {
		struct {
			uint32_t version;	/* the newest that the sender supports */
			uint8_t id[MESSAGE_ID]; /* random, drawn once for each recording */
			char host[MESSAGE_TEXT + 1], session[MESSAGE_TEXT + 1],
				date[MESSAGE_TEXT + 1];
		} hello;
		struct {
			uint32_t version;	     /* of all messages that follow */
			char path[MESSAGE_NAME + 1]; /* below the relay's output */
		} welcome;
		struct {
			uint32_t number;
			char name[MESSAGE_NAME + 1];
		} file;
		struct {
			uint32_t number;
			uint64_t size;
		} size;
		struct {
			uint32_t number;
			uint64_t offset;
			/* size of the bytes before compression (net/compress.h); 0: not
			 * compressed */
			uint32_t plain;
			/* point into the buffer that the message was read from */
			const uint8_t *bytes;
			uint32_t n;
		} data;
		struct {
			/* sender, relay, relay, sender; ns since 1970; zeros: no exchange yet */
			uint64_t t[4];
			uint64_t now; /* the sender's clock */
		} time;
		uint64_t timed[3];
		struct {
			uint32_t version;
			/* by the trace's clock; or MESSAGE_FROM_NOW; 0: everything */
			uint64_t from_ns;
			char wanted[MESSAGE_NAME + 1];
		} watch;
		struct {
			uint32_t grows; /* 1: it is being recorded; 0: it has ended */
			/* by the trace's clock: the relay has everything up to here; 0: not known
			 */
			uint64_t known_ns;
			char path[MESSAGE_NAME + 1]; /* below the relay's output */
		} listed;
		char text[MESSAGE_NAME + 1]; /* TROUBLE, REFUSED */
	};
};

/*
 * message_read - decode the message that begins at @bytes.
 *
 * @most: the largest message that is allowed here, in bytes.
 *
 * Returns its size; 0 if more than @n bytes are needed; -EPROTO if these bytes begin no valid
 * message.
 */
long message_read(struct message *m, const uint8_t *bytes, size_t n, size_t most);

/* message_write - encode @m; of MESSAGE_DATA only the first MESSAGE_DATA_HEAD bytes, without the
 * payload. Returns the number of bytes written; @to has room for MESSAGE_FIRST_MAX. */
size_t message_write(const struct message *m, uint8_t *to);

/* Whether a name is allowed as the name of a file or directory on the relay: letters, digits and
 * . _ - + @, not beginning with . - + or @. */
bool message_is_name(const char *name, size_t n);
/* message_name - copy @from, and replace each character that message_is_name() refuses. */
void message_name(char to[MESSAGE_TEXT + 1], const char *from);
/* message_is_path - whether a path is allowed for a file: names or .duet, joined by '/', and no
 * file that a relay or a sender writes itself.  @of_relay: the path comes from a relay to a
 * follower, so the relay's own clock-relay is allowed. */
bool message_is_path(const char *path, bool of_relay);

#endif
