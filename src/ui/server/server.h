/* SPDX-License-Identifier: MIT */
/*
 * ui/server/server.h - the timeline's server: the page and its interface over HTTP, for its user alone.
 *
 * The interface and its rules of access: docs/formats/ui.md.
 *
 * Invariants:
 *   (1) nothing is answered without the token's cookie (or a login) but the way to get it
 *   (2) beyond loopback there is only TLS with a password
 *   (3) a client that is slow, or many that are, delay no other; connections are bounded
 *   (4) every answer has the headers against scripts, frames and copies of recordings
 */
#ifndef UI_SERVER_SERVER_H
#define UI_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct ui_server_options {
	const char *const *paths; /* recordings, or names of sessions; lent */
	int n_paths;
	bool no_cache;
	uint64_t most_bytes; /* of the index; 0: its default */
	const char *self; /* this program's file, for exports and sessions, which run as commands */
	int port;	  /* 0: the kernel chooses */
	uint64_t idle_ns; /* ends so long after the last request; 0: never */
	const char *listen; /* a name or address of this machine; NULL: its loopback */
	/* beyond loopback a password is needed; without a certificate one is made */
	const char *password_file, *tls_cert, *tls_key; /* NULL: none */
};

struct ui_server;

/*
 * ui_server_open - listen, enter the sandbox and open the recordings.  Returns 0 or -errno, reason in
 * @d.  From here on this process may execute nothing, and write to indexes alone.  Call it while the
 * process has one thread.
 */
int ui_server_open(struct ui_server **s, const struct ui_server_options *o, struct diag *d);
/* ui_server_run - serve until ui_server_stop or the idle time.  Returns 0 or -errno. */
int ui_server_run(struct ui_server *s, struct diag *d);
/* ui_server_stop - end ui_server_run soon.  Async-signal-safe, from any thread. */
void ui_server_stop(struct ui_server *s);
void ui_server_close(struct ui_server *s); /* accepts NULL */

int ui_server_port(const struct ui_server *s);
/* ui_server_address - the address to open, with the token. */
const char *ui_server_address(const struct ui_server *s);
/* ui_server_browser_address - another one, for the arguments of a browser: other users may see them, so it
 * opens once, and only for a process of this user. */
const char *ui_server_browser_address(const struct ui_server *s);
/* ui_server_fingerprint - of the certificate that was made, SHA-256; "": none was. */
const char *ui_server_fingerprint(const struct ui_server *s);

#endif
