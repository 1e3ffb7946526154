/* SPDX-License-Identifier: MIT */
/*
 * ui/server/login.h - the password of a server that other machines reach.
 *
 * Guesses are limited for all together, by a bucket: LOGIN_GUESSES at once, one more each
 * LOGIN_GUESS_NS.  The right password is refused too while the bucket is empty.
 */
#ifndef UI_SERVER_LOGIN_H
#define UI_SERVER_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum { LOGIN_LEAST = 8, LOGIN_MOST = 255, LOGIN_GUESSES = 10, LOGIN_BODY_MAX = 4096 };
#define LOGIN_GUESS_NS 3000000000ull

struct login {
	char password[LOGIN_MOST + 1]; /* zeros behind it; "": there is none */
	uint64_t full_ns;	       /* when the bucket is full again */
};

enum login_result { LOGIN_RIGHT, LOGIN_WRONG, LOGIN_LATER };

/* login_read - the password is the file's first line.  -EPERM if others may read the file. */
int login_read(struct login *l, const char *path, struct diag *d);
/* login_try - @body is a form's: password=..., percent-encoded; untrusted. */
enum login_result login_try(struct login *l, const char *body, size_t size, uint64_t now_ns);
/* login_page - the form, after an attempt of that result. */
const char *login_page(enum login_result before);

#endif
