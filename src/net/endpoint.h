/* SPDX-License-Identifier: MIT */
/* net/endpoint.h - parsing of HOST[:PORT], and sockets that connect or listen there. */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <stdbool.h>

#include "base/diag.h"

#define ENDPOINT_PORT "5346"

struct endpoint {
	char host[256]; /* "": all addresses of this machine */
	char port[32];
};

/* endpoint_parse - parse HOST, HOST:PORT, :PORT, [ADDRESS]:PORT, or an IPv6 address.  0 or
 * -EINVAL. */
int endpoint_parse(struct endpoint *p, const char *text, struct diag *d);

/*
 * endpoint_connect - return a connected, non-blocking socket, or -errno.
 *
 * Tries each address of the host, @timeout_ms each.  @stop is a descriptor that ends the wait
 * with -ECANCELED when it becomes readable, or -1.  With @only_here an address outside this
 * machine's loopback is -EACCES.  Name resolution may take as long as the resolver does.
 */
int endpoint_connect(const struct endpoint *p, bool only_here, int timeout_ms, int stop,
		     struct diag *d);

/* endpoint_listen - open up to @most listening, non-blocking sockets, into @fds.  Returns how
 * many, or -errno. */
int endpoint_listen(const struct endpoint *p, bool only_here, int *fds, int most, struct diag *d);

#endif
