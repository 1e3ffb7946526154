/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/append.c - parses metadata while it is written: see ctf_meta_append().
 *
 * The parser stays open, with the names that it has seen, and gets the text that follows.  To
 * parse everything again would be less code.  But then every class would have a new address, and
 * all data that refers to it would be lost; and a recording that gets its classes one by one
 * would cost the square of their number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/decode/link.h"
#include "ctf/meta/tsdl.h"

static const char *skip_quoted(const char *at, const char *end)
{
	char quote = *at;

	for (at++; at < end && *at != quote; at++)
		if (*at == '\\')
			at++;
	return at;
}

static const char *skip_to(const char *at, const char *end, const char *end_text)
{
	size_t n = strlen(end_text);

	while (at < end && ((size_t)(end - at) < n || memcmp(at, end_text, n)))
		at++;
	return at < end ? at + n - 1 : end;
}

/* The size of the complete blocks: up to the last `;` outside of all braces. */
static size_t size_of_blocks(const char *text, size_t size)
{
	const char *end = text + size, *whole = text;
	int depth = 0;

	for (const char *at = text; at < end; at++) {
		if (*at == '"' || *at == '\'')
			at = skip_quoted(at, end);
		else if (*at == '/' && end - at > 1 && at[1] == '*')
			at = skip_to(at + 2, end, "*/");
		else if (*at == '/' && end - at > 1 && at[1] == '/')
			at = skip_to(at, end, "\n");
		else if (*at == '{')
			depth++;
		else if (*at == '}')
			depth--;
		else if (*at == ';' && depth <= 0)
			whole = at + 1;
	}
	return (size_t)(whole - text);
}

static bool is_plain_tsdl(const char *bytes, size_t size)
{
	static const char packet[2][4] = { { 0x57, 0x1d, (char)0xd1, 0x75 },
					   { 0x75, (char)0xd1, 0x1d, 0x57 } };

	return size >= 4 && *bytes != 0x1e && memcmp(bytes, packet[0], 4) &&
	       memcmp(bytes, packet[1], 4);
}

static int parse_blocks(struct ctf_meta *m, const char *path, const char *bytes, size_t size,
			struct diag *d)
{
	struct diag why = { "" };
	int err;

	if (!m->parser)
		m->parser = tsdl_open(m);
	if (!m->parser)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = tsdl_parse(m->parser, bytes, size, &why);
	m->n_read_bytes += size;
	if (!err && (!m->has_trace || !m->streams))
		return diag_fail(d, -EAGAIN, "%s: no trace and stream is described yet", path);
	if (!err)
		err = ctf_meta_link(m, &why);
	return err ? diag_fail(d, err, "%.400s: %.600s", path, why.text) : 1;
}

/* Reads the text after m->n_read_bytes.  A file that was compressed meanwhile contains the same
 * text. */
static int read_more(const struct ctf_meta *m, const char *path, char **bytes, size_t *size,
		     struct diag *d)
{
	int err = ctf_meta_read_file(path, m->n_read_bytes, bytes, size, d);
	size_t taken = (size_t)m->n_read_bytes;
	bool is_damaged;

	if (err != -ENOENT)
		return err;
	err = ctf_meta_text(path, bytes, size, &is_damaged, d);
	if (err)
		return err;
	*size = *size > taken ? *size - taken : 0;
	memmove(*bytes, *bytes + taken, *size);
	return 0;
}

int ctf_meta_append(struct ctf_meta *m, const char *path, struct diag *d)
{
	bool is_usable = m->has_trace && m->streams;
	char *bytes;
	size_t size, whole;
	int err;

	if (is_usable && !m->parser)
		return 0; /* other metadata is read once */
	err = read_more(m, path, &bytes, &size, d);
	if (err)
		return err;
	if (!m->n_read_bytes && size >= 4 && !is_plain_tsdl(bytes, size)) {
		free(bytes);
		err = ctf_meta_open(m, path, d);
		return err < 0 ? err : 1;
	}
	whole = size_of_blocks(bytes, size);
	if (whole)
		err = parse_blocks(m, path, bytes, whole, d);
	else if (!is_usable)
		err = diag_fail(d, -EAGAIN, "%s: no trace and stream is described yet", path);
	free(bytes);
	return err;
}
