/* SPDX-License-Identifier: MIT */
/*
 * net/tls.h - a connection that never waits: TLS 1.3, or plain between processes of one machine.
 *
 * TLS proves both sides to each other, by certificates of a common authority or by a key both have in
 * a file; there is no mode in which only one is known.  Built without OpenSSL, only plain exists.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct wire_keys { /* exactly one: psk; or cert, key and ca; or is_plain */
	const char *psk; /* file */
	const char *cert, *key, *ca; /* files, PEM */
	bool is_plain;
};

struct wire_context; /* keys, read and ready */
struct wire {
	int fd; /* owned; -1: none */
	void *ssl; /* NULL: plain */
	bool is_ready; /* the handshake is done */
	bool wants_write; /* to go on it waits for room to write, whatever was asked */
	bool is_server;
	const char *psk; /* lent, for what is told */
};

/* wire_context_open - read the keys.  -EINVAL if they do not belong together; -ENOTSUP without OpenSSL. */
int wire_context_open(struct wire_context **c, const struct wire_keys *keys, bool is_server, struct diag *d);
void wire_context_close(struct wire_context *c);
bool wire_is_plain(const struct wire_context *c);

/* wire_open - take over @fd, connected or connecting, non-blocking; @host is what the other side's
 * certificate must name (client).  On error @fd is closed. */
int wire_open(struct wire *w, struct wire_context *c, int fd, const char *host, struct diag *d);
void wire_close(struct wire *w); /* accepts one closed or {.fd = -1} */

/* wire_finish - say that nothing more is sent.  What comes may still be read from the socket. */
void wire_finish(struct wire *w);

/* wire_handshake - 0: done; -EAGAIN; -EKEYREJECTED: keys do not fit, for good; or -errno. */
int wire_handshake(struct wire *w, struct diag *d);

/* wire_read, wire_write - how many bytes, at least 1; -EAGAIN; -EPIPE at the end; -EKEYREJECTED; -errno. */
long wire_read(struct wire *w, void *to, size_t n, struct diag *d);
long wire_write(struct wire *w, const void *from, size_t n, struct diag *d);

/* Whether there are bytes to read that the socket no longer shows. */
bool wire_has_more(const struct wire *w);

#endif
