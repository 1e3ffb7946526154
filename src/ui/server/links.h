/* SPDX-License-Identifier: MIT */
/*
 * ui/server/links.h - the table of connections: state, age, and the request being answered.
 *
 * A connection is unknown until it has sent the cookie.  Unknown ones are few and short-lived: at most
 * LINKS_UNKNOWN, each LINK_UNKNOWN_NS; beyond that the oldest is closed.  So any number of slow
 * clients takes neither a descriptor nor a moment from the user's pages.
 *
 * The door and libmicrohttpd's thread use this; each function locks.  Only the owner of a descriptor
 * closes it: the door until it hands it on, then libmicrohttpd.  The other shuts it down.
 */
#ifndef UI_SERVER_LINKS_H
#define UI_SERVER_LINKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	LINKS_FDS = 4096, /* descriptors from here on are refused */
	LINKS_UNKNOWN = 128,
	LINKS_KNOWN = 256,
};
#define LINK_UNKNOWN_NS 10000000000ull
#define LINK_DRAIN_NS 2000000000ull

enum link_state {
	LINK_NONE,
	LINK_HEAD,  /* at the door: its first head is not whole */
	LINK_DRAIN, /* at the door: refused; further bytes are read and dropped */
	LINK_HTTP,  /* libmicrohttpd's */
};

struct link {
	uint8_t state;
	bool is_known;		/* it has sent the cookie */
	bool is_gone;		/* the other side has closed it */
	bool is_evicted;	/* shut down here; its owner has not closed it yet */
	uint32_t life;		/* of this descriptor; never 0 */
	uint64_t since_ns;	/* when it came; known: when it was last used */
	uint32_t *is_cancelled; /* of the request that a worker answers; NULL */
};

struct links {
	pthread_mutex_t lock;
	struct link at[LINKS_FDS];
	int n_unknown, n_known, end; /* all are below `end` */
};

void links_init(struct links *l);
/* link_add - a new connection, at the door.  Returns its life; 0 if the descriptor is too high.
 * Closes the oldest unknown one if there are too many. */
uint32_t link_add(struct links *l, int fd);
/* link_state - the state of @fd, if it still is the connection of @life. */
enum link_state link_state(struct links *l, int fd, uint32_t life);
void link_set_state(struct links *l, int fd, enum link_state state);
/* link_remove - forget it; its owner calls this before it closes it. */
void link_remove(struct links *l, int fd);
/* link_used - it has sent the cookie, now. */
void link_used(struct links *l, int fd);
/* link_works - a worker answers its request; *@is_cancelled becomes 1 when the client has gone.
 * NULL: it has been answered. */
void link_works(struct links *l, int fd, uint32_t *is_cancelled);
/* link_gone - the other side has closed it. */
void link_gone(struct links *l, int fd, uint32_t life);
/* links_check - shut down connections that have been unknown for too long. */
void links_check(struct links *l);
/* links_end - cancel all requests. */
void links_end(struct links *l);
/* links_are_busy - whether a request is being answered. */
bool links_are_busy(struct links *l);

#endif
