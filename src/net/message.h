/* SPDX-License-Identifier: MIT */
/*
 * net/message.h - what a sender and a relay say to each other, byte for byte.
 *
 * A message is a header of 8 bytes - u32 size of all of it, u8 type, three zeros - and what the
 * type calls for; integers are little-endian.  docs/formats/relay.md specifies it.  Nothing here
 * touches a socket or a file: bytes in, a struct out, or the other way.
 */
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAGIC "duet\r\n\x1a\n" /* the first 8 bytes of MESSAGE_HELLO */
#define MESSAGE_VERSION 2	       /* 1: no DATA is compressed */
#define MESSAGE_FROM_NOW UINT64_MAX
#define MESSAGE_UNWANTED                                                                           \
	UINT64_MAX /* as a size: the file counts as arrived; to senders of version 2 */

enum {
	MESSAGE_HEAD = 8,
	MESSAGE_DATA_HEAD = 24,	   /* header, number, zeros, offset */
	MESSAGE_PAYLOAD = 1 << 16, /* bytes of a file in one message, at most */
	MESSAGE_MAX = MESSAGE_DATA_HEAD + MESSAGE_PAYLOAD,
	MESSAGE_FIRST_MAX = 512, /* before a peer is welcome */
	MESSAGE_NAME = 200,	 /* bytes of a file's name, at most */
	MESSAGE_TEXT = 64,	 /* of a host's, session's and date's */
	MESSAGE_ID = 16,
};

enum message_type {
	MESSAGE_HELLO = 1, /* sender: who I am, what I send */
	MESSAGE_WELCOME,   /* relay: where it goes */
	MESSAGE_FILE,	   /* sender: from now on @number is the file @name */
	MESSAGE_SIZE,	   /* relay: so many bytes of it are here */
	MESSAGE_DATA,	   /* sender: the next bytes of a file */
	MESSAGE_TIME,	   /* sender: my clock; and the last answer's four times */
	MESSAGE_TIMED,	   /* relay: your clock, and mine */
	MESSAGE_END,	   /* sender: that was all */
	MESSAGE_ENDED,	   /* relay: all is here */
	MESSAGE_TROUBLE,   /* relay: why I do not go on; empty: I do again */
	MESSAGE_REFUSED,   /* relay: why I close */
	MESSAGE_WATCH,	   /* watcher, instead of HELLO: what I want to follow */
	MESSAGE_LISTED,	   /* relay: a recording that fits */
	MESSAGE_TYPES,
};

struct message {
	enum message_type type;
	union {
		struct {
			uint32_t version;	/* the newest it speaks */
			uint8_t id[MESSAGE_ID]; /* of the recording, drawn once */
			char host[MESSAGE_TEXT + 1], session[MESSAGE_TEXT + 1],
				date[MESSAGE_TEXT + 1];
		} hello;
		struct {
			uint32_t version;	     /* that both speak from here on */
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
			uint32_t plain; /* the bytes are compressed (net/compress.h), from so many;
					   0: they are as in the file */
			const uint8_t *bytes; /* lent: they lie where the message was read */
			uint32_t n;
		} data;
		struct {
			uint64_t t[4]; /* sender, relay, relay, sender; ns since 1970; zeros: none
					  yet */
			uint64_t now;  /* sender */
		} time;
		uint64_t timed[3];
		struct {
			uint32_t version;
			uint64_t from_ns; /* of the trace's clock: MESSAGE_FROM_NOW, 0: all */
			char wanted[MESSAGE_NAME + 1];
		} watch;
		struct {
			uint32_t grows;	   /* 1; 0: it has ended */
			uint64_t known_ns; /* of the trace's clock: up to when the relay has all; 0:
					      not known */
			char path[MESSAGE_NAME + 1]; /* below the relay's output */
		} listed;
		char text[MESSAGE_NAME + 1]; /* TROUBLE, REFUSED */
	};
};

/*
 * message_read - the message that begins at @bytes.
 *
 * @most: bytes a message may have here.
 *
 * Returns its size; 0 if more than @n bytes are needed; -EPROTO if no message begins like this.
 */
long message_read(struct message *m, const uint8_t *bytes, size_t n, size_t most);

/* message_write - @m as bytes, of MESSAGE_DATA the first MESSAGE_DATA_HEAD (the payload follows).
 * Returns how many; @to has room for MESSAGE_FIRST_MAX. */
size_t message_write(const struct message *m, uint8_t *to);

/* Whether a name may become a file's or directory's on the relay: letters, digits and . _ - + @,
 * not beginning with . - + or @. */
bool message_is_name(const char *name, size_t n);
/* message_name - @from, in which may be what no relay takes, as a name. */
void message_name(char to[MESSAGE_TEXT + 1], const char *from);
/* Whether a file's path may: names, or .duet, joined by '/'; nothing that a relay or a sender
 * writes itself; but
 * @of_relay: from one who has it from a relay, that one's clock-relay. */
bool message_is_path(const char *path, bool of_relay);

#endif
