/* SPDX-License-Identifier: MIT */
/*
 * collect/session.h - what a collector offers to programs: a pool, rules, and a door.
 *
 * The pool is anonymous shared memory, allocated in full and sealed against changing its size; its
 * descriptor goes to every program of this user that asks.  The session file tells programs that start
 * who records and what; it is replaced as a whole.  Both names vanish with the session; if the collector
 * is killed, the next duet command sweeps them up (apps_sweep).
 *
 * One thread.  Programs may come, ask, lie, stall and die at any time.
 */
#ifndef COLLECT_SESSION_H
#define COLLECT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/control.h"
#include "base/diag.h"
#include "ring/pool.h"

enum { SESSION_DOORS = 64 }; /* programs between connecting and asking */
enum { SESSION_REQUEST_BYTES = 8192 };

struct door {
	int fd; /* -1: free */
	uint64_t since_ns;
};

struct session {
	struct abi_session file;
	struct pool pool;
	void *memory;
	uint64_t memory_size;
	int pool_fd;
	int listen_fd;
	int dir; /* runtime directory */
	struct door doors[SESSION_DOORS];
	uint32_t n_joined;
};

struct session_options {
	const char *name; /* at most ABI_NAME_BYTES - 1, no slash */
	uint64_t pool_bytes; /* 0: 64 MiB */
	bool flight_recorder;
	uint32_t clock_kind; /* ABI_CLOCK_...; 0: the best one */
	const char *const *rules; /* patterns for programs that start from now on */
	int n_rules;
};

/* session_open - create pool and socket.  -EEXIST if a live collector has the name.  Programs learn of
 * the session by session_publish: call it when their questions will be answered at once. */
int session_open(struct session *s, const struct session_options *o, struct diag *d);
/* session_withdraw - programs that start from now on find no session; those that have joined go on.
 * Then apps_release: pairs with [E], enable_as_ruled(), inproc/process.c. */
void session_withdraw(struct session *s);
/* session_close - take the names away and give the memory back, also where programs still map it. */
void session_close(struct session *s);

/* session_add_rule - one more pattern (or "!pattern") for programs that start later. */
int session_add_rule(struct abi_session *file, const char *rule, struct diag *d);
/* session_publish - replace session-<name> in the directory @dir. */
int session_publish(int dir, const struct abi_session *file, struct diag *d);
/* session_find - read the file of session @name.  -ENOENT if there is none. */
int session_find(int dir, const char *name, struct abi_session *file, struct diag *d);
/* session_connect - a connection to its collector, or -errno. */
int session_connect(const char *name);
/* session_is_live - whether its collector still answers. */
bool session_is_live(const char *name);

/* session_accept - listen_fd is readable: let them in.  Returns the door's index, or -1. */
int session_accept(struct session *s, uint64_t now_ns);

enum session_event {
	SESSION_NOTHING,
	SESSION_JOINED, /* message.join is complete */
	SESSION_ASKED, /* message.text is a control request; the caller answers on, and closes, fd and passed */
};

struct session_message {
	union {
		struct abi_join join;
		char text[SESSION_REQUEST_BYTES]; /* terminated */
	};
	int fd; /* the connection */
	int passed; /* a descriptor that came with it, or -1 */
};

/* session_hear - door @i is readable: hand the pool to a program that joins, or take a request over.  In
 * either case the door is free again. */
enum session_event session_hear(struct session *s, int i, struct session_message *m);
/* session_expire - close doors that said nothing for a second. */
void session_expire(struct session *s, uint64_t now_ns);

#endif
