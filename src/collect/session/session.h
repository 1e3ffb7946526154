/* SPDX-License-Identifier: MIT */
/*
 * collect/session/session.h - what a collector offers to programs: channels, rules, and a socket to
 * join by.
 *
 * The pools of all channels lie in one anonymous shared memory (abi/session.h), sealed against
 * resizing.  Its descriptor is sent to each program of this user that asks.  The session file
 * informs programs that start; it is replaced atomically.  File and socket are removed with the
 * session; if the collector is killed, the next duet command removes them (programs_sweep).
 *
 * One thread.  Programs may connect, send anything, stall and die at any time.
 */
#ifndef COLLECT_SESSION_SESSION_H
#define COLLECT_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/session.h"
#include "abi/control.h"
#include "base/diag.h"
#include "collect/options/options.h"
#include "collect/session/tenant.h"
#include "collect/memory/memory.h"
#include "ring/pool.h"

enum {
	SESSION_QUEUE = 512,			 /* connected programs that are not accepted yet */
	SESSION_CONNECTIONS = 2 * SESSION_QUEUE, /* accepted, and not read yet */
};
enum { SESSION_REQUEST_BYTES = 8192 };

struct connection {
	int fd;		 /* -1: free */
	bool may_ask;	 /* it may send requests */
	bool has_sent;	 /* it has data to read */
	bool is_watched; /* the driver has it reported when more arrives */
	pid_t client;	 /* the process that connected */
	uint64_t since_ns;
	uint64_t round, order; /* place in the queue: collect/session/accept.c */
};

/* A pattern for running and future programs. */
struct session_rule {
	const char *pattern;  /* "!..." excludes; with a filter or channel: no "!" */
	const char *selector; /* conditions (rules/selector.h), or NULL: all programs */
	uint32_t channel;     /* the channel of matching events, without enabling them; or
			       * SESSION_ANY_CHANNEL */
	uint32_t filter;      /* number of session_add_filter; 0: none */
};
#define SESSION_ANY_CHANNEL UINT32_MAX

struct session {
	struct abi_session file;
	struct abi_session_memory *session_memory; /* the shared memory */
	uint64_t memory_size;
	uint32_t n_channels;
	struct session_channel channels[ABI_CHANNELS];
	struct pool pools[ABI_CHANNELS];
	struct pool_memory supplies[ABI_CHANNELS];
	bool has_trigger_pool; /* after those of the channels: pools[n_channels], for
				* collect/trigger/scan.h */
	struct abi_clock clock;
	uint32_t n_filters, filter_text_used;
	int memory_fd;
	int listen_fd;
	int dir;		       /* runtime directory */
	uid_t uid;		       /* its owner, who runs the programs */
	const struct tenant *tenant;   /* borrowed; NULL: this user */
	char asked_as[ABI_NAME_BYTES]; /* the name by which clients find it; differs from the
					* session's name for a tenant */
	int spare_fd;		       /* io_turn_away() */
	int client_fd, client_dir;     /* of a tenant: socket and directory for requests, in our own
					* runtime directory */
	struct connection connections[SESSION_CONNECTIONS];
	int n_places; /* of connections: from this one on all are free */
	uint64_t next_order, round;
	uint64_t session_slots_file; /* of session_slots_repair, collect/session/slots.h */
	uint32_t pid_namespace;	     /* ours; 0: unknown */
	uint32_t n_joined;
	bool is_growing;   /* session_grow_memory has more to do */
	bool begins_empty; /* see below */
	/* Called when a program joins, before it gets its answer and continues; or NULL. */
	void (*on_join)(void *arg, pid_t pid);
	void *on_join_arg;
};

/* Initial value; session_close accepts it without session_open. */
#define SESSION_NONE                                                                               \
	{                                                                                          \
		.memory_fd = -1, .listen_fd = -1, .dir = -1, .client_fd = -1, .client_dir = -1,    \
		.spare_fd = -1, .connections = {                                                   \
			[0 ... SESSION_CONNECTIONS - 1] = { .fd = -1 }                             \
		}                                                                                  \
	}

struct session_options {
	const char *name;  /* at most ABI_NAME_BYTES - 1, no slash */
	bool is_private;   /* only for programs that name it: rules/membership.h */
	bool has_calls;	   /* records calls of functions: collect/calls/calls.h */
	bool begins_empty; /* no event is enabled until a request does it */
	const struct session_channel *channels; /* the first takes events that no rule routes
						 * elsewhere */
	uint32_t n_channels;			/* 1..ABI_CHANNELS */
	uint32_t clock_kind;			/* ABI_CLOCK_...; 0: the best one */
	const struct abi_clock *clock;		/* of another session; NULL: a clock of its own */
	const struct tenant *tenant; /* records that tenant's programs; borrowed; NULL: this
				      * user's own */
};

/*
 * session_open - create channels and socket, and take a session slot.
 *
 * -EEXIST if a live collector has the name, -EBUSY if all slots are taken.  Programs find the
 * session after session_publish: call it when their messages will be answered at once.
 */
int session_open(struct session *s, const struct session_options *o, struct diag *d);
/* session_announce - list a tenant's session among ours; call it when it records. */
int session_announce(const struct session *s, struct diag *d);
/*
 * session_withdraw - programs that start from now on find no session; joined ones continue.
 *
 * programs_release follows: pairs with [E], enable_for(), inproc/register.c.
 */
void session_withdraw(struct session *s);
/* session_close - remove the names and free the memory, also where programs still map it. */
void session_close(struct session *s);

/*
 * session_add_rule - add a rule for programs that start later, effective once published.
 *
 * It replaces older rules on the same pattern.  Adding an existing rule that no later one
 * contradicts changes nothing.
 */
int session_add_rule(struct abi_session *file, const struct session_rule *r, struct diag *d);
/*
 * session_add_trigger_rule - a trigger waits for events that match @pattern and pass @filter; see
 * rules/rules.h.
 *
 * session_drop_trigger_rules - remove all such rules.
 */
int session_add_trigger_rule(struct abi_session *file, const char *pattern, uint32_t filter,
			     struct diag *d);
void session_drop_trigger_rules(struct abi_session *file);
/* session_pause_rules - record only what triggers wait for; or end that. */
int session_pause_rules(struct abi_session *file, bool pause, struct diag *d);
/*
 * session_add_filter - give a filter's byte code (filter/filter.h) to all programs.  Returns its
 * number, from 1, or -errno.
 */
int session_add_filter(struct session *s, const void *code, size_t size, struct diag *d);
/* session_recount - read filters and memory again as an earlier collector left them. */
void session_recount(struct session *s);
/*
 * session_adjust_memory - allocate the memory that the pools need now; with @rest, once a second,
 * release what they no longer need.
 */
void session_adjust_memory(struct session *s, bool rest);
/* session_grow_memory - a step towards the memory that pools have once a program has joined. Returns
 * whether more are needed: `is_growing`. */
bool session_grow_memory(struct session *s);
/* session_publish - replace session-<name> in the directory @dir. */
int session_publish(int dir, const struct abi_session *file, struct diag *d);
/*
 * session_change - publish @fresh, a copy of s->file with other rules, and store it.  Writes
 * nothing if the rules are equal.
 */
int session_change(struct session *s, const struct abi_session *fresh, struct diag *d);
/* session_find - read the file of session @name.  -ENOENT if there is none. */
int session_find(int dir, const char *name, struct abi_session *file, struct diag *d);
/* session_connect - a connection to its collector, or -errno. */
int session_connect(int dir, const char *name);
/* session_is_live - whether its collector still accepts connections. */
bool session_is_live(int dir, const char *name);

/*
 * session_accept - listen_fd or client_fd is readable: accept one connection.
 *
 * Returns its index; -1: none is waiting, or all slots have connections with unread data.
 */
int session_accept(struct session *s, uint64_t now_ns);

/*
 * session_readable - connection @i is readable.
 *
 * session_next - the connection to read next, in fair order; -1: none.
 *
 * session_turn_ended - for session_read_request.
 */
void session_readable(struct session *s, int i);
int session_next(const struct session *s);
void session_turn_ended(struct session *s, int i);

enum session_event {
	SESSION_NOTHING,
	SESSION_JOINED,	    /* message.join is complete */
	SESSION_WANTS_PLAN, /* message.plan is complete; the caller answers on fd and closes it */
	SESSION_ASKED, /* message.text is a control request; the caller answers on fd and closes
			 * fd and passed */
};

struct session_message {
	union {
		struct abi_attach join;
		struct abi_plan_request plan;
		char text[SESSION_REQUEST_BYTES]; /* terminated */
	};
	pid_t pid;  /* its sender, in our pid namespace */
	int fd;	    /* the connection */
	int passed; /* a descriptor passed with it, or -1 */
};

/*
 * session_read_request - read from connection @i: send the memory to a program that joins, or hand
 * a request over.  In either case the slot is free again.
 */
enum session_event session_read_request(struct session *s, int i, struct session_message *m);
/* session_is_findable - whether its runtime directory still exists. */
bool session_is_findable(const struct session *s);
/* session_close_connection - close connection @i, which is open. */
void session_close_connection(struct session *s, int i);
/* session_close_connections - close all connections; clients may connect again. */
void session_close_connections(struct session *s);
/* session_expire - close connections that sent nothing for a second. */
void session_expire(struct session *s, uint64_t now_ns);

#endif
