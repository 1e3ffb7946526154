/* SPDX-License-Identifier: MIT */
/*
 * ui/export/html_page.c - the files of the page as one: styles inside, modules in an import map.
 *
 * A module of a data: address has no directory, so `./x.js` would mean nothing there.  The names of
 * imported modules become names of the import map: "./x.js" in /timeline/y.js is "duet/timeline/x.js".
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ui/assets/assets.h"
#include "ui/export/internal.h"
#include "ui/query/answer.h"

static void add_base64(struct text *t, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char four[4];

	for (size_t i = 0; i < size; i += 3) {
		unsigned v = (unsigned)bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] << 8 : 0) |
			     (i + 2 < size ? bytes[i + 2] : 0);

		for (int k = 0; k < 4; k++)
			four[k] = digits[v >> (18 - 6 * k) & 63];
		if (i + 2 >= size)
			four[3] = '=';
		if (i + 1 >= size)
			four[2] = '=';
		text_add(t, four, 4);
	}
}

/* ---------------------------------------------------------------- modules */

/* "../x.js" in "/timeline/y.js" is "/x.js".  False: it leads out of the page. */
static bool resolve(const char *from, const char *name, size_t size, char path[PATH_MAX])
{
	size_t n = (size_t)(strrchr(from, '/') - from);

	while (size > 2 && name[0] == '.') {
		if (!strncmp(name, "./", 2)) {
			name += 2;
			size -= 2;
			continue;
		}
		if (size < 4 || strncmp(name, "../", 3) != 0 || !n)
			return false;
		while (n && from[--n] != '/')
			;
		name += 3;
		size -= 3;
	}
	return snprintf(path, PATH_MAX, "%.*s/%.*s", (int)n, from, (int)size, name) < PATH_MAX &&
	       ui_asset_find(path);
}

/* Whether the words before the quote at @quote import. */
static bool is_import(const char *begin, const char *quote)
{
	static const char *const words[] = { "from ", "import ", "import(" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(quote - begin) >= n && !memcmp(quote - n, words[i], n))
			return true;
	}
	return false;
}

static void add_renamed(struct text *t, const struct ui_asset *a)
{
	const char *begin = (const char *)a->bytes, *end = begin + a->size, *at = begin, *quote;
	char path[PATH_MAX];

	for (const char *p = begin; (quote = memchr(p, '"', (size_t)(end - p))); p = quote + 1) {
		const char *close = memchr(quote + 1, '"', (size_t)(end - quote - 1));

		if (!close || quote[1] != '.' || !is_import(begin, quote) ||
		    !resolve(a->path, quote + 1, (size_t)(close - quote - 1), path))
			continue;
		text_add(t, at, (size_t)(quote + 1 - at));
		add(t, "duet");
		add(t, path);
		at = close;
		quote = close;
	}
	text_add(t, at, (size_t)(end - at));
}

static bool is_module(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".js");
}

static void add_modules(struct text *t, const char *nonce)
{
	const char *separator = "";
	struct text module;

	text_addf(t, "<script type=\"importmap\" nonce=\"%s\">{\"imports\":{", nonce);
	for (int i = 0; i < ui_n_assets; i++) {
		if (!is_module(ui_assets[i].path))
			continue;
		module = (struct text){ 0 };
		add_renamed(&module, &ui_assets[i]);
		text_addf(t, "%s\n\"duet%s\":\"data:text/javascript;charset=utf-8;base64,",
			  separator, ui_assets[i].path);
		add_base64(t, (const unsigned char *)module.bytes, module.size);
		add(t, "\"");
		t->failed |= module.failed;
		text_fini(&module);
		separator = ",";
	}
	text_addf(t,
		  "}}</script>\n<script type=\"module\" nonce=\"%s\">import "
		  "\"duet/main.js\";</script>\n",
		  nonce);
}

/* ---------------------------------------------------------------- lines of index.html */

/* The value of href or src in a line that begins with @tag; NULL: another line. */
static const char *address_in(const char *line, size_t size, const char *tag, char path[128])
{
	const char *quote;
	size_t n = strlen(tag);

	if (size < n || memcmp(line, tag, n) != 0)
		return NULL;
	quote = memchr(line + n, '"', size - n);
	n = quote ? (size_t)(quote - line) - n : 0;
	if (!n || n >= 128)
		return NULL;
	memcpy(path, line + strlen(tag), n);
	path[n] = 0;
	return path;
}

static bool begins(const char *line, size_t size, const char *with)
{
	return size >= strlen(with) && !memcmp(line, with, strlen(with));
}

static void add_policy(struct text *t, const char *nonce)
{
	text_addf(t,
		  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		  "script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data: blob:; "
		  "base-uri 'none'; form-action 'none'\">\n"
		  "<meta name=\"referrer\" content=\"no-referrer\">\n",
		  nonce, nonce);
}

/* False: the line names a file that the page does not have. */
static bool add_line(struct text *t, const char *line, size_t size, const char *nonce)
{
	const struct ui_asset *a;
	char path[128];

	if (address_in(line, size, "<link rel=\"stylesheet\" href=\"", path)) {
		a = ui_asset_find(path);
		if (!a)
			return !strcmp(path, "/uplot.css"); /* built without charts */
		text_addf(t, "<style nonce=\"%s\">\n", nonce);
		text_add(t, (const char *)a->bytes, a->size);
		add(t, "</style>\n");
	} else if (address_in(line, size, "<script type=\"module\" src=\"", path)) {
		add_modules(t, nonce);
	} else {
		text_add(t, line, size);
		if (begins(line, size, "<meta charset="))
			add_policy(t, nonce);
	}
	return true;
}

int html_page(struct text *before, struct text *behind, const char *nonce, struct diag *d)
{
	const struct ui_asset *index = ui_asset_find("/");
	const char *line, *end;
	struct text *t = before;

	if (!index)
		return diag_fail(d, -ENOENT, "the page is not part of this program");
	line = (const char *)index->bytes;
	for (end = line + index->size; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t size = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);

		if (begins(line, size, "</body>")) {
			add(t, "<script type=\"application/json\" id=\"duet-data\">");
			t = behind;
			add(t, "</script>\n");
		}
		if (!add_line(t, line, size, nonce))
			return diag_fail(d, -ENOENT,
					 "the page names a file that it does not have: %.*s",
					 (int)size, line);
		line += size;
	}
	return 0;
}
