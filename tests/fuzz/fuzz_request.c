/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_request.c - libFuzzer's entry to requests of browsers and others: FUZZ=request.
 *
 * The first byte chooses.  A head that is refused or whole at some length stays so with more bytes.  A
 * body: names and values are texts.  A login: no body is the password.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ui/server/head.h"
#include "ui/server/login.h"
#include "ui/sessions/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

static void head(const char *bytes, size_t size)
{
	int before = HEAD_IS_PART;

	for (size_t n = 0; n <= size; n += 1 + n / 8) {
		char *part =
			malloc(n ? n : 1); /* of exactly that size: nothing behind it is read */
		int status;

		must(part);
		memcpy(part, bytes, n);
		status = head_check(part, n);
		must(before == HEAD_IS_PART ||
		     (status != HEAD_IS_PART &&
		      (status == HEAD_IS_WHOLE) == (before == HEAD_IS_WHOLE)));
		before = status;
		free(part);
	}
}

static void must_be_text(const char *text)
{
	for (size_t left = strlen(text), n; left; left -= n, text += n) {
		n = text_utf8_length(text, left);
		must(n);
	}
}

static void body(const char *bytes, size_t size)
{
	struct diag d = { "" };
	struct body b;

	if (body_parse(&b, bytes, size, &d))
		must(*d.text);
	must(b.n <= BODY_PAIRS_MAX);
	for (int i = 0; i < b.n; i++) {
		must_be_text(b.pairs[i].name);
		must_be_text(b.pairs[i].value);
	}
	body_fini(&b);
}

static void login(const char *bytes, size_t size)
{
	struct login l = { .password = "\x01 is in no input of these \xff" };

	for (int i = 0; i < LOGIN_GUESSES; i++)
		must(login_try(&l, bytes, size, 1) == LOGIN_WRONG);
	must(login_try(&l, bytes, size, 1) == LOGIN_LATER);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *rest = size ? malloc(size) : NULL;

	if (!rest)
		return 0;
	memcpy(rest, bytes + 1, size - 1);
	switch (*bytes % 3) {
	case 0:
		head(rest, size - 1);
		break;
	case 1:
		body(rest, size - 1);
		break;
	default:
		login(rest, size - 1);
	}
	free(rest);
	return 0;
}
