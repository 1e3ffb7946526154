/* SPDX-License-Identifier: MIT */
/*
 * net/tls.h - a connection that never waits: TLS 1.3, or plain between processes of one machine.
 *
 * TLS authenticates both sides, by certificates of a common authority or by a key that both have
 * in a file.  There is no mode that authenticates only one side.  Without OpenSSL only plain
 * connections exist.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct tls_keys {		     /* exactly one of: psk; cert, key and ca; is_plain */
	const char *psk;	     /* file */
	const char *cert, *key, *ca; /* files, PEM */
	bool is_plain;
};

struct tls_context; /* the keys, read and ready to use */
struct tls {
	int fd;		  /* owned; -1: none */
	void *ssl;	  /* NULL: plain */
	bool is_ready;	  /* the handshake is done */
	bool wants_write; /* TLS needs to write before it can go on, also with a read */
	bool is_server;
	const char *psk; /* lent, for messages */
};

/* tls_context_open - read the keys.  Returns -EINVAL if they do not belong together; -ENOTSUP
 * without OpenSSL. */
int tls_context_open(struct tls_context **c, const struct tls_keys *keys, bool is_server,
		     struct diag *d);
void tls_context_close(struct tls_context *c);
bool tls_is_plain(const struct tls_context *c);

/* tls_open - take over @fd, connected or connecting, non-blocking.  @host is the name that the
 * server's certificate must have (client only).  On error @fd is closed. */
int tls_open(struct tls *w, struct tls_context *c, int fd, const char *host, struct diag *d);
void tls_close(struct tls *w); /* accepts a closed one, or {.fd = -1} */

/* tls_finish - shut down the sending direction.  The other direction can still be read. */
void tls_finish(struct tls *w);

/* tls_handshake - 0: done; -EAGAIN; -EKEYREJECTED: the keys do not match, and a retry is useless;
 * or -errno. */
int tls_handshake(struct tls *w, struct diag *d);

/* tls_read, tls_write - return the number of bytes, at least 1; -EAGAIN; -EPIPE at the end;
 * -EKEYREJECTED; -errno. */
long tls_read(struct tls *w, void *to, size_t n, struct diag *d);
long tls_write(struct tls *w, const void *from, size_t n, struct diag *d);

/* Whether TLS holds bytes that were read from the socket, and that poll(2) no longer shows. */
bool tls_has_more(const struct tls *w);

#endif
