/* SPDX-License-Identifier: MIT */
/* ui/server/login.c - the password file, guesses, and a form without a script. */
#include "ui/server/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static int take_line(struct login *l, const char *path, const char *text, struct diag *d)
{
	size_t n = strcspn(text, "\r\n");

	if (n < LOGIN_LEAST || n > LOGIN_MOST)
		return diag_fail(d, -EINVAL,
				 "%s: its first line, the password, must have %d to %d bytes", path,
				 LOGIN_LEAST, LOGIN_MOST);
	memcpy(l->password, text, n);
	return 0;
}

int login_read(struct login *l, const char *path, struct diag *d)
{
	char text[1024] = "";
	struct stat st;
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	*l = (struct login){ .full_ns = 0 };
	if (fd < 0 || fstat(fd, &st))
		err = diag_errno(d, "cannot read the password file %s", path);
	else if (st.st_mode & 077)
		err = diag_fail(d, -EPERM, "%s: others may read this password file: chmod 600 %s",
				path, path);
	else if (io_read(fd, text, sizeof text - 1) < 0)
		err = diag_errno(d, "cannot read the password file %s", path);
	else
		err = take_line(l, path, text, d);
	if (fd >= 0)
		close(fd);
	explicit_bzero(text, sizeof text);
	return err;
}

/* ---------------------------------------------------------------- a guess */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value after "password=", decoded; false if there is none, or it is too long. */
static bool decode(const char *body, size_t size, char guess[LOGIN_MOST + 1])
{
	static const char name[] = "password=";
	const size_t skip = sizeof name - 1;
	size_t n = 0;

	memset(guess, 0, LOGIN_MOST + 1);
	if (size < skip || memcmp(body, name, skip))
		return false;
	for (size_t i = skip; i < size && body[i] != '&'; i++) {
		char c = body[i] == '+' ? ' ' : body[i];

		if (n == LOGIN_MOST)
			return false;
		if (c == '%' && i + 2 < size && digit(body[i + 1]) >= 0 &&
		    digit(body[i + 2]) >= 0) {
			c = (char)(digit(body[i + 1]) << 4 | digit(body[i + 2]));
			i += 2;
		}
		if (!c)
			return false;
		guess[n++] = c;
	}
	return true;
}

/* All bytes of both, so the time says nothing about either. */
static bool is_same(const char *a, const char *b)
{
	unsigned char differs = 0;

	for (int i = 0; i <= LOGIN_MOST; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

enum login_result login_try(struct login *l, const char *body, size_t size, uint64_t now_ns)
{
	char guess[LOGIN_MOST + 1];
	bool is_right;

	if (l->full_ns < now_ns)
		l->full_ns = now_ns;
	if (l->full_ns - now_ns > (LOGIN_GUESSES - 1) * LOGIN_GUESS_NS)
		return LOGIN_LATER;
	is_right = decode(body, size, guess);
	is_right = is_same(guess, l->password) && is_right && *l->password;
	explicit_bzero(guess, sizeof guess);
	if (is_right)
		return LOGIN_RIGHT;
	l->full_ns += LOGIN_GUESS_NS;
	return LOGIN_WRONG;
}

#define PAGE(note)                                                                                 \
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>duet ui</title>"          \
	"<h1>duet ui</h1>" note "<form method=\"post\" action=\"/login\"><label>Password "         \
	"<input type=\"password\" name=\"password\" autocomplete=\"current-password\" autofocus "  \
	"required></label> <button>Open</button></form></html>\n"

const char *login_page(enum login_result before)
{
	switch (before) {
	case LOGIN_WRONG:
		return PAGE("<p role=\"alert\">This is not the password.</p>");
	case LOGIN_LATER:
		return PAGE("<p role=\"alert\">Too many wrong passwords: try again in some "
			    "seconds.</p>");
	default:
		return PAGE("<p>The password is in the file that --password-file names.</p>");
	}
}
