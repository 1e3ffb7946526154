/* SPDX-License-Identifier: MIT */
/*
 * net/tls.h - a connection that never waits: TLS 1.3, or plain between processes of one machine.
 *
 * TLS proves both sides to each other, by certificates of a common authority or by a key both have
 * in a file; there is no mode in which only one is known.  Built without OpenSSL, only plain
 * exists.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct tls_keys {		     /* exactly one: psk; or cert, key and ca; or is_plain */
	const char *psk;	     /* file */
	const char *cert, *key, *ca; /* files, PEM */
	bool is_plain;
};

struct tls_context; /* keys, read and ready */
struct tls {
	int fd;		  /* owned; -1: none */
	void *ssl;	  /* NULL: plain */
	bool is_ready;	  /* the handshake is done */
	bool wants_write; /* to go on it waits for room to write, whatever was asked */
	bool is_server;
	const char *psk; /* lent, for what is told */
};

/* tls_context_open - read the keys.  -EINVAL if they do not belong together; -ENOTSUP without
 * OpenSSL. */
int tls_context_open(struct tls_context **c, const struct tls_keys *keys, bool is_server,
		     struct diag *d);
void tls_context_close(struct tls_context *c);
bool tls_is_plain(const struct tls_context *c);

/* tls_open - take over @fd, connected or connecting, non-blocking; @host is what the other side's
 * certificate must name (client).  On error @fd is closed. */
int tls_open(struct tls *w, struct tls_context *c, int fd, const char *host, struct diag *d);
void tls_close(struct tls *w); /* accepts one closed or {.fd = -1} */

/* tls_finish - say that nothing more is sent.  What comes may still be read from the socket. */
void tls_finish(struct tls *w);

/* tls_handshake - 0: done; -EAGAIN; -EKEYREJECTED: keys do not fit, for good; or -errno. */
int tls_handshake(struct tls *w, struct diag *d);

/* tls_read, tls_write - how many bytes, at least 1; -EAGAIN; -EPIPE at the end; -EKEYREJECTED;
 * -errno. */
long tls_read(struct tls *w, void *to, size_t n, struct diag *d);
long tls_write(struct tls *w, const void *from, size_t n, struct diag *d);

/* Whether there are bytes to read that the socket no longer shows. */
bool tls_has_more(const struct tls *w);

#endif
