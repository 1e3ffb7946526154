/* SPDX-License-Identifier: MIT */
/*
 * ui/server/tls.h - the server's certificate: the user's, or one made for this run.
 *
 * A certificate that is made is signed by itself; its fingerprint, printed beside the address, is how
 * the user knows it again.
 */
#ifndef UI_SERVER_TLS_H
#define UI_SERVER_TLS_H

#include "base/diag.h"

enum { TLS_FINGERPRINT_BYTES = 3 * 32 };

struct tls_identity {
	char *cert, *key; /* PEM; owned */
	char fingerprint
		[TLS_FINGERPRINT_BYTES]; /* SHA-256, of a certificate that was made; or "" */
};

/* tls_identity_read - the PEM files of the user. */
int tls_identity_read(struct tls_identity *t, const char *cert, const char *key, struct diag *d);
/* tls_identity_make - a certificate for this machine under @name, a host name or an address. */
int tls_identity_make(struct tls_identity *t, const char *name, struct diag *d);
void tls_identity_fini(struct tls_identity *t);

#endif
