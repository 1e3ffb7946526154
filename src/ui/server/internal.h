/* SPDX-License-Identifier: MIT */
/*
 * ui/server/internal.h - the server's parts and the threads that they run in.
 *
 *	thread   runs                                            waits for
 *	door     door.c: accepts, reads first heads, ends        epoll
 *	http     libmicrohttpd and handle.c: heads, answers      epoll
 *	workers  work.c: queries                                 calls of their lane
 *
 * A request is a `struct call`.  The http thread owns it, but while it is suspended: then a worker
 * does, until it resumes the connection.
 */
#ifndef UI_SERVER_INTERNAL_H
#define UI_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "ui/query/query.h"
#include "ui/server/access.h"
#include "ui/server/links.h"
#include "ui/server/login.h"
#include "ui/server/mhd.h"
#include "ui/server/server.h"
#include "ui/server/tls.h"

enum {
	CALL_PARAMS_MAX = 64,
	CALL_BODY_MAX = 1 << 20,
	LISTENERS_MAX = 8,
	LANE_THREADS_MAX = 3,
};

struct ui_asset;

struct call {
	struct ui_server *server;
	struct MHD_Connection *connection;
	int fd;
	enum { CALL_READS, CALL_WORKS, CALL_DONE } state;
	const struct ui_route *route;
	struct ui_query_params params[CALL_PARAMS_MAX];
	struct ui_request request;
	struct text body; /* of the request */
	uint32_t is_cancelled;
	struct ui_answer answer;
	const struct ui_asset *asset; /* the answer's body; NULL: answer.body */
	const char *location;	      /* of 302 and 303; NULL */
	const char *allow;	      /* of 405; NULL */
	bool sets_cookie;
	bool is_login;	     /* the body is a password */
	bool is_form;	     /* the answer asks for one */
	bool has_page;	     /* the answer's body is there already */
	bool is_last;	     /* the connection ends after it */
	struct shown *shown; /* while a worker answers it */
	struct call *next;   /* in its lane */
};

/* The recordings that are shown, with their index, as long as a query uses them. */
struct shown {
	struct ui_subject subject;
	char session[64]; /* "": none */
	const char **paths;
	_Atomic int n_users;
};

/* Calls that wait for the same threads. */
struct lane {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct call *first, **last;
	int n, most;
	bool ends;
	pthread_t threads[LANE_THREADS_MAX];
	int n_threads;
};

struct ui_server {
	struct ui_server_options o;
	struct ui_access access;
	struct login login;
	struct tls_identity identity;
	pthread_mutex_t shown_lock;
	struct shown *shown;
	struct MHD_Daemon *http;
	struct lane quick, slow;
	struct links links;
	int listeners[LISTENERS_MAX], n_listeners, port;
	int epoll, stop_event;
	int spare;			  /* a descriptor to give up when there are no more */
	_Atomic uint64_t last_request_ns; /* of the user's */
	char address[400], browser_address[400];
};

/* handle.c: called by libmicrohttpd. */
enum MHD_Result handle_request(void *server, struct MHD_Connection *c, const char *path,
			       const char *method, const char *version, const char *bytes,
			       size_t *n_bytes, void **call);
void handle_completed(void *server, struct MHD_Connection *c, void **call,
		      enum MHD_RequestTerminationCode why);
size_t handle_unescape(void *unused, struct MHD_Connection *c, char *text);
void handle_connection(void *server, struct MHD_Connection *c, void **unused,
		       enum MHD_ConnectionNotificationCode what);

/* entry.c */
/* entry_check - refuse the call (its status is not 200 then), let it in, or begin a login. */
void entry_check(struct call *call, const char *method, const char *path);
/* entry_login - answer a login, whose body is there. */
void entry_login(struct call *call);

/* peer.c: whether a process of this user, or of root, has the other end of @fd.  Of IPv4's loopback. */
bool peer_is_own(int fd);

/* shown.c */
/* shown_open - open @paths and show them from now on.  A name that is no file is a session; all of them
 * are if @are_sessions, whatever lies in the working directory. */
int shown_open(struct ui_server *s, const char *const *paths, int n, bool are_sessions,
	       struct diag *d);
/* shown_use - the recordings shown now; give them back by shown_release. */
struct shown *shown_use(struct ui_server *s);
void shown_release(struct shown *shown);

/* routes.c: the route of @path; NULL: there is none.  *@allowed: the methods of its routes. */
const struct ui_route *route_find(const char *method, const char *path, const char **allowed);

/* route_answer - answer the call by its route, in a worker. */
void route_answer(struct call *call);

/* answer.c: queue the call's answer with all headers. */
enum MHD_Result answer_send(struct call *call);
/* answer_refusal - a whole answer of @status, without a call.  Returns its length. */
size_t answer_refusal(int status, char *bytes, size_t size);

/* work.c */
int work_open(struct ui_server *s, struct diag *d);
/* work_add - have the call answered.  Returns false if too many wait. */
bool work_add(struct ui_server *s, struct call *call);
void work_close(struct ui_server *s);

/* listen.c */
/* listen_open - open the sockets, and set access.is_beyond and its names. */
int listen_open(struct ui_server *s, struct diag *d);
void listen_close(struct ui_server *s);

/* door.c */
int door_open(struct ui_server *s, struct diag *d);
int door_run(struct ui_server *s, struct diag *d);
void door_close(struct ui_server *s);

#endif
