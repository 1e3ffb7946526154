/* SPDX-License-Identifier: MIT */
/*
 * collect/session/session.h - what a collector offers to programs: channels, rules, and a door.
 *
 * The channels' pools lie in one piece of anonymous shared memory (abi/session.h), sealed against
 * changing its size; its descriptor goes to every program of this user that asks.  The session file
 * tells programs that start who records and what; it is replaced as a whole.  Both names vanish
 * with the session; if the collector is killed, the next duet command sweeps them up
 * (programs_sweep).
 *
 * One thread.  Programs may come, ask, lie, stall and die at any time.
 */
#ifndef COLLECT_SESSION_SESSION_H
#define COLLECT_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/session.h"
#include "abi/control.h"
#include "base/diag.h"
#include "collect/tenant/tenant.h"
#include "collect/session/memory.h"
#include "ring/pool.h"

enum {
	SESSION_QUEUE = 512, /* programs that are connected, and not let in yet */
	SESSION_CONNECTIONS = 2 * SESSION_QUEUE, /* between that and being heard */
};
enum { SESSION_REQUEST_BYTES = 8192 };

struct connection {
	int fd;	       /* -1: free */
	bool may_ask;  /* a request may come through it */
	bool has_sent; /* something is to be heard */
	pid_t client;  /* who connected */
	uint64_t since_ns;
	uint64_t round, order; /* in which that is: collect/session/accept.c */
};

struct session_channel {
	char name[ABI_CHANNEL_NAME_BYTES];
	uint64_t bytes;		   /* of all its chunks, at most; 0: a default */
	uint32_t chunk_bytes;	   /* 4 KiB..1 MiB, a power of two; 0: 64 KiB */
	uint32_t block_timeout_us; /* how long a program waits for room before an event is lost; 0:
				      it does not */
	bool flight_recorder;
	uint64_t contexts; /* abi/context.h */
};

/* A pattern for programs that start from now on, or already run. */
struct session_rule {
	const char *pattern;  /* "!..." excludes; with a filter or channel: no "!" */
	const char *selector; /* conditions (rules/selector.h), or NULL: for all */
	uint32_t channel; /* SESSION_ANY_CHANNEL, or what it matches goes there, and no more is said
			   */
	uint32_t filter;  /* number of session_add_filter; 0: none */
};
#define SESSION_ANY_CHANNEL UINT32_MAX

struct session {
	struct abi_session file;
	struct abi_session_memory *session_memory; /* the memory */
	uint64_t memory_size;
	uint32_t n_channels;
	struct session_channel channels[ABI_CHANNELS];
	struct pool pools[ABI_CHANNELS];
	struct pool_memory supplies[ABI_CHANNELS];
	bool has_trigger_pool; /* behind those of the channels: pools[n_channels], for
				  collect/trigger/scan.h */
	struct abi_clock clock;
	uint32_t n_filters, filter_text_used;
	int memory_fd;
	int listen_fd;
	int dir;		       /* runtime directory */
	uid_t uid;		       /* whose it is: the programs */
	const struct tenant *tenant;   /* lent; NULL: this user himself */
	char asked_as[ABI_NAME_BYTES]; /* what we are asked about it as; a tenant's session has
					  another name */
	int client_fd, client_dir; /* of a tenant: where requests come instead, in our own runtime
				      directory */
	struct connection connections[SESSION_CONNECTIONS];
	uint64_t n_sent_bytes, round;
	uint64_t session_slots_file; /* collect/session/slots.h: session_slots_repair */
	uint32_t pid_namespace;	     /* ours; 0: not known */
	uint32_t n_joined;
	/* Told of a program that joins, before it gets its answer and goes on; or NULL. */
	void (*on_join)(void *arg, pid_t pid);
	void *on_join_arg;
};

/* What session_close takes without session_open. */
#define SESSION_NONE                                                                               \
	{                                                                                          \
		.memory_fd = -1, .listen_fd = -1, .dir = -1, .client_fd = -1, .client_dir = -1,    \
		.connections = {                                                                   \
			[0 ... SESSION_CONNECTIONS - 1] = { .fd = -1 }                             \
		}                                                                                  \
	}

struct session_options {
	const char *name; /* at most ABI_NAME_BYTES - 1, no slash */
	bool is_private;  /* for programs alone that name it: rules/membership.h */
	const struct session_channel *channels; /* the first takes what no rule gives to another */
	uint32_t n_channels;			/* 1..ABI_CHANNELS */
	uint32_t clock_kind;			/* ABI_CLOCK_...; 0: the best one */
	const struct abi_clock
		*clock;		     /* another session's, to record by; NULL: a clock of its own */
	const struct tenant *tenant; /* whose programs, lent; NULL: this user's own */
};

/* session_open - create channels and socket, take a seat.  -EEXIST if a live collector has the
 * name, -EBUSY if all seats are taken.  Programs learn of the session by session_publish: call it
 * when their questions will be answered at once. */
int session_open(struct session *s, const struct session_options *o, struct diag *d);
/* session_announce - a tenant's session records: it is to be seen among ours. */
int session_announce(const struct session *s, struct diag *d);
/* session_withdraw - programs that start from now on find no session; those that have joined go on.
 * Then programs_release: pairs with [E], enable_as_ruled(), inproc/process.c. */
void session_withdraw(struct session *s);
/* session_close - take the names away and give the memory back, also where programs still map it.
 */
void session_close(struct session *s);

/* session_add_rule - one more, for programs that start later, once it is published.  What was said
 * of the same pattern goes; a rule that is there, and that no later one contradicts, changes
 * nothing. */
int session_add_rule(struct abi_session *file, const struct session_rule *r, struct diag *d);
/* session_add_trigger_rule - a trigger waits for what @pattern means, through @filter; see
 * rules/rules.h. session_drop_trigger_rules - none does. */
int session_add_trigger_rule(struct abi_session *file, const char *pattern, uint32_t filter,
			     struct diag *d);
void session_drop_trigger_rules(struct abi_session *file);
/* session_pause_rules - nothing more is wanted but by triggers; or again what was. */
int session_pause_rules(struct abi_session *file, bool pause, struct diag *d);
/* session_add_filter - a filter's byte code (filter/filter.h) for all programs; its number, 1.., or
 * -errno. */
int session_add_filter(struct session *s, const void *code, size_t size, struct diag *d);
/* session_recount - after another process has collected: filters and memory are as it left them. */
void session_recount(struct session *s);
/* session_adjust_memory - give the pools the memory they need now; @rest, once a second, takes back
 * what they do not need any more. */
void session_adjust_memory(struct session *s, bool rest);
/* session_publish - replace session-<name> in the directory @dir. */
int session_publish(int dir, const struct abi_session *file, struct diag *d);
/* session_change - publish @fresh, a copy of s->file with other rules, and keep it; if they are the
 * same, nothing is written. */
int session_change(struct session *s, const struct abi_session *fresh, struct diag *d);
/* session_find - read the file of session @name.  -ENOENT if there is none. */
int session_find(int dir, const char *name, struct abi_session *file, struct diag *d);
/* session_connect - a connection to its collector, or -errno. */
int session_connect(int dir, const char *name);
/* session_is_live - whether its collector still answers. */
bool session_is_live(int dir, const char *name);

/* session_accept - listen_fd, or client_fd, is readable: let one in.  Returns the door's index; -1:
 * nobody is there, or all doors have somebody who is to be heard first. */
int session_accept(struct session *s, uint64_t now_ns);

/* session_readable - something came through door @i.
 * session_next - the door that is to be heard now, so that nobody waits for two messages of one
 * other; -1: none. session_turn_ended - for session_read_request. */
void session_readable(struct session *s, int i);
int session_next(const struct session *s);
void session_turn_ended(struct session *s, int i);

enum session_event {
	SESSION_NOTHING,
	SESSION_JOINED, /* message.join is complete */
	SESSION_ASKED,	/* message.text is a control request; the caller answers on, and closes, fd
			   and passed */
};

struct session_message {
	union {
		struct abi_attach join;
		char text[SESSION_REQUEST_BYTES]; /* terminated */
	};
	pid_t pid;  /* whose message it is, as we see it */
	int fd;	    /* the connection */
	int passed; /* a descriptor that came with it, or -1 */
};

/* session_read_request - it is door @i's turn: hand the pool to a program that joins, or take a
 * request over.  In either case the door is free again. */
enum session_event session_read_request(struct session *s, int i, struct session_message *m);
/* session_is_findable - whether its runtime directory is still there. */
bool session_is_findable(const struct session *s);
/* session_close_connection - turn away who stands at door @i, where somebody does. */
void session_close_connection(struct session *s, int i);
/* session_close_connections - turn away who stands there; they may come again. */
void session_close_connections(struct session *s);
/* session_expire - close doors that said nothing for a second. */
void session_expire(struct session *s, uint64_t now_ns);

#endif
