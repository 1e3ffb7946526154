/* SPDX-License-Identifier: MIT */
/*
 * ui/server/access.h - which requests are answered: the token, the cookie, the server's names.
 *
 * A page of another site can make a browser send requests here, with any path; it can have a name of
 * its own resolve to 127.0.0.1 (DNS rebinding).  Against the first there is the cookie, which the
 * browser sends for our own pages alone, and Origin; against the second the list of Host names.
 */
#ifndef UI_SERVER_ACCESS_H
#define UI_SERVER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum { ACCESS_SECRET_BYTES = 33 }; /* 128 bits in hexadecimal, and NUL */

struct ui_access {
	char token[ACCESS_SECRET_BYTES];  /* in the address that the user opens */
	char ticket[ACCESS_SECRET_BYTES]; /* counts once, for this user alone; "": used */
	char cookie[ACCESS_SECRET_BYTES]; /* the browser gets it for the token */
	char cookie_name[24];		  /* has the port: cookies do not know ports */
	bool is_beyond;			  /* other machines reach it: TLS and a password */
	char names[2][256];		  /* then also of this machine; "": none */
};

/* access_open - new secrets.  Returns 0 or -errno. */
int access_open(struct ui_access *a, int port, struct diag *d);
/* access_is_equal - whether @text, of the request, is the secret.  Takes the same time for all texts;
 * @text may be NULL. */
bool access_is_equal(const char *secret, const char *text);
/* access_is_host - whether the value of the field Host names this machine's loopback; of a server that
 * other machines reach, one of its names, or @local, the numeric address that the client reached. */
bool access_is_host(const struct ui_access *a, const char *host, const char *local);
/* access_is_origin - whether @origin is the page that @host, which is allowed, has served. */
bool access_is_origin(const struct ui_access *a, const char *origin, const char *host);
/* access_is_site - whether the value of Sec-Fetch-Site, NULL if it was not sent, is of our own pages
 * or of the user. */
bool access_is_site(const char *site);

#endif
