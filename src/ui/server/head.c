/* SPDX-License-Identifier: MIT */
/* ui/server/head.c - lines of a head: each ends with CR LF, has no control character, no folding. */
#include "ui/server/head.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS = 9 };

static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_length(const char *at, size_t n)
{
	size_t i = 0;

	while (i < n && is_token(at[i]))
		i++;
	return i;
}

/* "GET /path?query HTTP/1.1" */
static int check_request_line(const char *at, size_t n)
{
	static const char http[] = " HTTP/1.";
	size_t method = token_length(at, n), i = method + 1;

	if (!method || method > 16 || n - method < 2 || at[method] != ' ')
		return 400;
	while (i < n && at[i] > ' ' && at[i] < 127)
		i++;
	if (n - i > 6 && !memcmp(at + i, " HTTP/", 6) && at[i + 6] != '1')
		return 505;
	if (n - i != sizeof http || memcmp(at + i, http, sizeof http - 1) ||
	    (at[n - 1] != '0' && at[n - 1] != '1'))
		return 400;
	return at[method + 1] == '/' ? HEAD_IS_WHOLE : 400;
}

/* The value of Content-Length: a number; 413 if it is one that no body may have. */
static int check_length(const char *at, size_t n)
{
	size_t digits = 0;

	while (n && *at == ' ')
		at++, n--;
	while (digits < n && at[digits] >= '0' && at[digits] <= '9')
		digits++;
	if (!n || digits < n)
		return 400;
	return n > LENGTH_DIGITS ? 413 : HEAD_IS_WHOLE;
}

/* "Name: value" */
static int check_field(const char *at, size_t n)
{
	static const char length[] = "Content-Length:";
	size_t i = token_length(at, n);

	if (!i || i == n || at[i] != ':')
		return 400;
	for (i++; i < n; i++)
		if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 127)
			return 400;
	i = sizeof length - 1;
	return n >= i && !strncasecmp(at, length, i) ? check_length(at + i, n - i) : HEAD_IS_WHOLE;
}

int head_check(const char *bytes, size_t size)
{
	size_t at = 0, most = size < HEAD_MAX ? size : HEAD_MAX;
	const char *end;

	while ((end = memchr(bytes + at, '\n', most - at))) {
		size_t n = (size_t)(end - bytes) - at;
		int status;

		if (!n || end[-1] != '\r')
			return 400;
		if (n == 1 && at)
			return HEAD_IS_WHOLE;
		status = at ? check_field(bytes + at, n - 1) : check_request_line(bytes, n - 1);
		if (status != HEAD_IS_WHOLE)
			return status;
		at += n + 1;
	}
	if (most == HEAD_MAX)
		return 431;
	return memchr(bytes + at, 0, most - at) ? 400 : HEAD_IS_PART;
}
