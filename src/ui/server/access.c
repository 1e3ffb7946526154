/* SPDX-License-Identifier: MIT */
/* ui/server/access.c - secrets and names: checked as text, without a connection. */
#include "ui/server/access.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static int make_secret(char *secret, struct diag *d)
{
	unsigned char bits[16];

	if (getrandom(bits, sizeof bits, 0) != sizeof bits)
		return diag_errno(d, "cannot make a token: no random numbers");
	for (size_t i = 0; i < sizeof bits; i++)
		snprintf(secret + 2 * i, 3, "%02x", bits[i]);
	return 0;
}

int access_open(struct ui_access *a, int port, struct diag *d)
{
	int err = make_secret(a->token, d);

	snprintf(a->cookie_name, sizeof a->cookie_name, "duet-%d", port);
	if (!err)
		err = make_secret(a->ticket, d);
	return err ? err : make_secret(a->cookie, d);
}

bool access_is_equal(const char *secret, const char *text)
{
	size_t n = text ? strnlen(text, ACCESS_SECRET_BYTES) : 0;
	unsigned char differs = n != ACCESS_SECRET_BYTES - 1;

	for (size_t i = 0; i < ACCESS_SECRET_BYTES - 1; i++)
		differs |= (unsigned char)(secret[i] ^ (i < n ? text[i] : 0));
	return !differs;
}

/* The length of the port at @text, with its colon; -1 if it is something else. */
static int port_length(const char *text)
{
	int n = 1;

	if (!*text)
		return 0;
	while (isdigit((unsigned char)text[n]))
		n++;
	return *text == ':' && n > 1 && n <= 6 && !text[n] ? n : -1;
}

static bool is_name(const char *host, const char *name)
{
	size_t n = strlen(name);

	return n && !strncasecmp(host, name, n) && port_length(host + n) >= 0;
}

static bool is_address(const char *host, const char *address)
{
	char name[80];

	snprintf(name, sizeof name, strchr(address, ':') ? "[%s]" : "%s", address);
	return is_name(host, name);
}

bool access_is_host(const struct ui_access *a, const char *host, const char *local)
{
	if (!host)
		return false;
	if (is_name(host, "localhost") || is_name(host, "127.0.0.1") || is_name(host, "[::1]"))
		return true;
	return a->is_beyond && (is_name(host, a->names[0]) || is_name(host, a->names[1]) ||
				(local && is_address(host, local)));
}

bool access_is_origin(const struct ui_access *a, const char *origin, const char *host)
{
	const char *scheme = a->is_beyond ? "https://" : "http://";
	size_t n = strlen(scheme);

	return !strncasecmp(origin, scheme, n) && !strcasecmp(origin + n, host);
}

bool access_is_site(const char *site)
{
	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
}
