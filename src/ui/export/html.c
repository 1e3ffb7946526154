/* SPDX-License-Identifier: MIT */
/* ui/export/html.c - puts page and data together: see html.h. */
#include "ui/export/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/atomic.h"
#include "base/io.h"
#include "ui/export/internal.h"

enum { NONCE_BYTES = 16 };

void html_escape(struct text *t, const char *bytes, size_t size)
{
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		const char *as = bytes[i] == '<'   ? "\\u003c"
				 : bytes[i] == '>' ? "\\u003e"
				 : bytes[i] == '&' ? "\\u0026"
						   : NULL;
		size_t n = 1;

		if (!as && size - i >= 3 && !memcmp(bytes + i, "\xe2\x80", 2) &&
		    (bytes[i + 2] == '\xa8' || bytes[i + 2] == '\xa9')) {
			as = bytes[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
			n = 3;
		}
		if (!as)
			continue;
		text_add(t, bytes + from, i - from);
		text_add(t, as, 6);
		i += n - 1;
		from = i + 1;
	}
	text_add(t, bytes + from, size - from);
}

static int wait_for_index(const struct ui_subject *s, const struct html_options *o, struct diag *d)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct ui_index_status status;

	for (;;) {
		ui_index_status(s->index, &status);
		if (status.is_done || s->is_live)
			return 0;
		if (o->is_cancelled && load(o->is_cancelled))
			return diag_fail(d, -ECANCELED, "the request was dropped");
		nanosleep(&pause, NULL);
	}
}

static int make_nonce(char nonce[2 * NONCE_BYTES + 1], struct diag *d)
{
	unsigned char bytes[NONCE_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return diag_errno(d, "no random numbers");
	for (int i = 0; i < NONCE_BYTES; i++)
		snprintf(nonce + 2 * (size_t)i, 3, "%02x", bytes[i]);
	return 0;
}

static int write_parts(int fd, struct text *const *parts, int n, struct html_result *result,
		       struct diag *d)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		if (parts[i]->failed)
			return diag_fail(d, -ENOMEM, "no memory for the page");
		err = io_write(fd, parts[i]->bytes, parts[i]->size);
		result->bytes += parts[i]->size;
	}
	return err ? diag_fail(d, err, "cannot write the page: %s", strerror(-err)) : 0;
}

int html_write(const struct ui_subject *s, const struct html_options *o, int fd,
	       struct html_result *result, struct diag *d)
{
	struct text before = { 0 }, behind = { 0 }, data = { 0 };
	struct text *const parts[] = { &before, &data, &behind };
	char nonce[2 * NONCE_BYTES + 1];
	int err;

	*result = (struct html_result){ 0 };
	err = wait_for_index(s, o, d);
	if (!err)
		err = make_nonce(nonce, d);
	if (!err)
		err = html_page(&before, &behind, nonce, d);
	if (!err && before.size + behind.size > o->size_bytes)
		err = diag_fail(d, -EFBIG, "the page alone has %zu bytes: allow more",
				before.size + behind.size);
	if (!err)
		err = html_data(s, o, &data, o->size_bytes - before.size - behind.size, result, d);
	if (!err)
		err = write_parts(fd, parts, 3, result, d);
	text_fini(&before);
	text_fini(&behind);
	text_fini(&data);
	return err;
}
