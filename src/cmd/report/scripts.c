/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/scripts.c - the tables that scripts left in a recording: .duet/scripts/NAME.json.
 *
 * A line is {"table":"x","columns":["process",...],"rows":[["sshd",812],...]}; a plot has "plot"
 * instead.  The files are untrusted: a line of another form is reported, and skipped.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"
#include "ctf/meta/meta.h"

enum { COLUMNS_MAX = 64, NAME_BYTES = 200 };

struct reading {
	const char *p, *end;
	bool is_bad;
};

static void skip_blanks(struct reading *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
		r->p++;
}

static bool take(struct reading *r, char c)
{
	skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void expect(struct reading *r, char c)
{
	r->is_bad |= !take(r, c);
}

/* \n, \", \u001f ... */
static void add_escaped(struct reading *r, struct text *to)
{
	static const char from[] = "bfnrt", is[] = "\b\f\n\r\t";
	char c = r->p < r->end ? *r->p++ : 0, digits[5] = "";
	const char *known = c ? strchr(from, c) : NULL;

	if (c == 'u' && r->end - r->p >= 4) {
		memcpy(digits, r->p, 4);
		r->p += 4;
		c = (char)strtol(digits, NULL, 16);
	} else if (known) {
		c = is[known - from];
	}
	text_add(to, &c, 1);
}

static void take_string(struct reading *r, struct text *to)
{
	to->size = 0;
	text_add(to, "", 0);
	expect(r, '"');
	while (!r->is_bad && r->p < r->end && *r->p != '"') {
		if (*r->p++ == '\\')
			add_escaped(r, to);
		else
			text_add(to, r->p - 1, 1);
	}
	expect(r, '"');
}

/* A cell of a column of @kind: a string or a number. */
static void take_cell(struct reading *r, struct table *t, enum cell_kind kind, struct text *scratch)
{
	const char *begin;
	char *end;
	long long n;

	skip_blanks(r);
	begin = r->p;
	if (kind == CELL_TEXT && r->p < r->end && *r->p == '"') {
		take_string(r, scratch);
		table_text(t, scratch->bytes ? scratch->bytes : "");
		return;
	}
	n = strtoll(begin, &end, 10); /* the file's text ends with a NUL */
	r->is_bad |= end == begin || end > r->end;
	r->p = end;
	scratch->size = 0;
	text_addf(scratch, "%lld", n);
	if (kind == CELL_TEXT)
		table_text(t, scratch->bytes ? scratch->bytes : "");
	else
		table_number(t, n);
}

static void take_row(struct reading *r, struct table *t, struct text *scratch)
{
	int n = 0;

	expect(r, '[');
	do {
		if (n < t->n_columns)
			take_cell(r, t, t->columns[n].kind, scratch);
		n++;
	} while (!r->is_bad && take(r, ','));
	expect(r, ']');
	r->is_bad |= n != t->n_columns;
}

/* Whether the values of column @i are numbers: in the first row, which begins at @r. */
static bool is_number(struct reading r, int i)
{
	struct text scratch = { 0 };
	bool is = false;

	expect(&r, '[');
	for (int k = 0; k <= i && !r.is_bad; k++) {
		skip_blanks(&r);
		is = r.p < r.end && (isdigit((unsigned char)*r.p) || *r.p == '-');
		if (is)
			r.p += strspn(r.p, "-0123456789");
		else
			take_string(&r, &scratch);
		take(&r, ',');
	}
	text_fini(&scratch);
	return is;
}

struct result {
	struct text title, scratch;
	struct column columns[COLUMNS_MAX];
	char names[COLUMNS_MAX][NAME_BYTES];
	struct table table;
};

static void take_columns(struct reading *r, struct result *x)
{
	expect(r, '[');
	do {
		char *name = x->names[x->table.n_columns];

		take_string(r, &x->scratch);
		if (r->is_bad || x->table.n_columns == COLUMNS_MAX - 1) {
			r->is_bad = true;
			return;
		}
		snprintf(name, NAME_BYTES, "%s", x->scratch.bytes);
		x->columns[x->table.n_columns++] = (struct column){ name, name, CELL_TEXT };
	} while (take(r, ','));
	expect(r, ']');
}

static void expect_key(struct reading *r, const char *key, struct text *scratch)
{
	take_string(r, scratch);
	r->is_bad |= !scratch->bytes || strcmp(scratch->bytes, key) != 0;
	expect(r, ':');
}

static bool take_line(struct reading *r, struct result *x)
{
	expect(r, '{');
	take_string(r, &x->scratch);
	expect(r, ':');
	take_string(r, &x->title);
	expect(r, ',');
	expect_key(r, "columns", &x->scratch);
	take_columns(r, x);
	expect(r, ',');
	expect_key(r, "rows", &x->scratch);
	expect(r, '[');
	x->table.columns = x->columns;
	for (int i = 0; i < x->table.n_columns && !r->is_bad; i++)
		x->columns[i].kind = is_number(*r, i) ? CELL_COUNT : CELL_TEXT;
	while (!r->is_bad && !take(r, ']')) {
		take_row(r, &x->table, &x->scratch);
		take(r, ',');
	}
	expect(r, '}');
	return !r->is_bad;
}

/* ---------------------------------------------------------------- files */

static void show_line(struct page *p, const struct report *report, const char *script,
		      const char *line, size_t size)
{
	struct reading r = { line, line + size, false };
	struct result x = { .table.n_columns = 0 };
	char heading[512];

	if (take_line(&r, &x)) {
		snprintf(heading, sizeof heading, "%s: %s", script,
			 x.title.bytes ? x.title.bytes : "");
		page_table(p, heading, heading, &x.table, report->limit);
	} else {
		table_empty(&x.table);
		cmd_error("report", "a table of script %s is damaged, and left out", script);
	}
	text_fini(&x.title);
	text_fini(&x.scratch);
}

static void show_file(struct page *p, const struct report *report, const char *dir,
		      const char *name)
{
	char path[PATH_MAX], script[NAME_BYTES];
	char *bytes = NULL;
	size_t size, n;

	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path ||
	    ctf_meta_read_file(path, 0, &bytes, &size, NULL))
		return;
	snprintf(script, sizeof script, "%.*s", (int)strlen(name) - 5, name);
	bytes = realloc(bytes, size + 1);
	for (const char *line = bytes; line && line < bytes + size; line += n + 1) {
		bytes[size] = 0;
		n = strcspn(line, "\n");
		if (n)
			show_line(p, report, script, line, n);
	}
	free(bytes);
}

static int is_result(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && e->d_name[0] != '.' && !strcmp(e->d_name + n - 5, ".json");
}

int report_scripts(const struct report *r)
{
	struct page p;
	int n_found = 0, status = page_open(&p, "report", r->is_json);

	if (status)
		return status;
	for (int i = 0; i < r->n_paths; i++) {
		struct dirent **list = NULL;
		char dir[PATH_MAX];
		int n;

		snprintf(dir, sizeof dir, "%s/.duet/scripts", r->paths[i]);
		n = scandir(dir, &list, is_result, alphasort);
		for (int k = 0; k < n; k++) {
			show_file(&p, r, dir, list[k]->d_name);
			free(list[k]);
		}
		free(list);
		n_found += n > 0 ? n : 0;
	}
	status = page_close(&p);
	return !n_found && !status
		       ? cmd_error("report",
				   "no script has left its tables in this recording\n"
				   "  `duet script --store` and `duet script --save DIR` keep them")
		       : status;
}
