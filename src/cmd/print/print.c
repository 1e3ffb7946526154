/* SPDX-License-Identifier: MIT */
/*
 * cmd/print/print.c - formats with escaped strings, and writes to standard output and error.
 *
 * Conversions are formatted one by one, so that each %s is escaped and the text of the format is
 * not.  A filter behind the formatting could not distinguish our newline from one in a name.
 */
#include "cmd/print/print.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/pager.h"

enum length { LENGTH_INT, LENGTH_LONG, LENGTH_LLONG, LENGTH_SIZE };

/* One conversion of a format: %-*.*lld */
struct conversion {
	char flags[8];
	int width;     /* 0: none */
	int precision; /* -1: none */
	enum length length;
	char letter;
};

/* The number at *@p, or the next argument for a star. */
static int take_number(const char **p, va_list *ap)
{
	int n = 0;

	if (**p == '*') {
		++*p;
		return va_arg(*ap, int);
	}
	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n * 10 + (**p - '0');
	return n;
}

static enum length take_length(const char **p)
{
	enum length length = LENGTH_INT;

	for (;; ++*p)
		if (**p == 'l')
			length = length == LENGTH_LONG ? LENGTH_LLONG : LENGTH_LONG;
		else if (**p == 'j')
			length = LENGTH_LLONG;
		else if (**p == 'z' || **p == 't')
			length = LENGTH_SIZE;
		else if (**p != 'h')
			return length;
}

/* @p: behind the percent sign.  Returns the first byte behind the conversion. */
static const char *take_conversion(struct conversion *c, const char *p, va_list *ap)
{
	size_t n = strspn(p, "-+ #0'");

	assert(n < sizeof c->flags - 1);
	*c = (struct conversion){ .precision = -1 };
	memcpy(c->flags, p, n);
	p += n;
	c->width = take_number(&p, ap);
	if (c->width < 0) { /* as printf(): a flag - and a width */
		c->flags[n] = '-';
		c->width = -c->width;
	}
	if (*p == '.') {
		p++;
		c->precision = take_number(&p, ap);
	}
	c->length = take_length(&p);
	c->letter = *p;
	assert(c->letter && strchr("diouxXeEfFgGcsp%", c->letter));
	return p + 1;
}

static void pad(struct text *t, int n)
{
	for (; n > 0; n--)
		text_add(t, " ", 1);
}

/* Characters, each a column. */
static int width_of(const char *s, size_t n)
{
	int width = 0;

	for (size_t i = 0; i < n; i++)
		width += ((unsigned char)s[i] & 0xc0) != 0x80;
	return width;
}

static void add_string(struct text *t, const struct conversion *c, const char *s)
{
	bool is_left = strchr(c->flags, '-');
	struct text shown = { 0 };
	int room;

	s = s ? s : "(null)";
	text_add_printable(&shown, s,
			   c->precision < 0 ? strlen(s) : strnlen(s, (size_t)c->precision));
	room = c->width - width_of(shown.bytes, shown.size);
	if (!is_left)
		pad(t, room);
	text_add(t, shown.bytes ? shown.bytes : "", shown.size);
	if (is_left)
		pad(t, room);
	t->failed |= shown.failed;
	text_fini(&shown);
}

static void add_character(struct text *t, const struct conversion *c, char character)
{
	const char s[2] = { character };

	if (character == '\n' || character == '\t')
		text_add(t, s, 1);
	else
		add_string(t, c, s);
}

/* The format of @c alone, with the length modifier @length. */
static void make_format(char to[48], const struct conversion *c, const char *length)
{
	char width[16] = "", precision[16] = "";

	if (c->width)
		snprintf(width, sizeof width, "%d", c->width);
	if (c->precision >= 0)
		snprintf(precision, sizeof precision, ".%d", c->precision);
	snprintf(to, 48, "%%%s%s%s%s%c", c->flags, width, precision, length, c->letter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void add_integer(struct text *t, const struct conversion *c, va_list *ap)
{
	bool is_signed = c->letter == 'd' || c->letter == 'i';
	char format[48];
	uintmax_t v;

	switch (c->length) {
	case LENGTH_INT:
		v = is_signed ? (uintmax_t)va_arg(*ap, int) : va_arg(*ap, unsigned);
		break;
	case LENGTH_LONG:
		v = is_signed ? (uintmax_t)va_arg(*ap, long) : va_arg(*ap, unsigned long);
		break;
	case LENGTH_SIZE:
		v = is_signed ? (uintmax_t)va_arg(*ap, ssize_t) : va_arg(*ap, size_t);
		break;
	default:
		v = is_signed ? (uintmax_t)va_arg(*ap, long long) : va_arg(*ap, unsigned long long);
	}
	make_format(format, c, "j");
	text_addf(t, format, v);
}

static void add_conversion(struct text *t, const struct conversion *c, va_list *ap)
{
	char format[48];

	switch (c->letter) {
	case '%':
		text_add(t, "%", 1);
		break;
	case 's':
		add_string(t, c, va_arg(*ap, const char *));
		break;
	case 'c':
		add_character(t, c, (char)va_arg(*ap, int));
		break;
	case 'p':
		make_format(format, c, "");
		text_addf(t, format, va_arg(*ap, void *));
		break;
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		add_integer(t, c, ap);
		break;
	default:
		make_format(format, c, "");
		text_addf(t, format, va_arg(*ap, double));
	}
}

#pragma GCC diagnostic pop

static void add_format(struct text *t, const char *format, va_list *ap)
{
	struct conversion c;

	while (*format) {
		size_t n = strcspn(format, "%");

		text_add(t, format, n);
		format += n;
		if (!*format)
			break;
		format = take_conversion(&c, format + 1, ap);
		add_conversion(t, &c, ap);
	}
}

/* ---------------------------------------------------------------- streams */

static void put(FILE *to, struct text *t)
{
	if (t->size)
		fwrite(t->bytes, 1, t->size, to);
	if (t->failed)
		fputs("duet: no memory\n", stderr);
	text_fini(t);
}

void print_out(const char *format, ...)
{
	struct text t = { 0 };
	va_list ap;

	va_start(ap, format);
	add_format(&t, format, &ap);
	va_end(ap);
	put(stdout, &t);
}

void print_err(const char *format, ...)
{
	struct text t = { 0 };
	va_list ap;

	va_start(ap, format);
	add_format(&t, format, &ap);
	va_end(ap);
	put(stderr, &t);
}

int print_own(const char *text)
{
	fputs(text, stdout);
	return 0;
}

int print_own_err(const char *text)
{
	fputs(text, stderr);
	return 0;
}

static void put_shown(FILE *to, const char *text, size_t size, enum text_keep keep)
{
	struct text t = { 0 };

	text_add_shown(&t, text, size, keep);
	put(to, &t);
}

void print_lines(const char *text, size_t size)
{
	put_shown(stdout, text, size, TEXT_KEEP_LINES);
}

void print_lines_err(const char *text, size_t size)
{
	put_shown(stderr, text, size, TEXT_KEEP_LINES);
}

void print_message(const char *verb, const char *text)
{
	struct text t = { 0 };

	if (verb)
		text_addf(&t, "duet %s: ", verb);
	else
		text_addf(&t, "duet: ");
	text_add_shown(&t, text, strlen(text), TEXT_KEEP_INDENTED);
	text_add(&t, "\n", 1);
	put(stderr, &t);
}

void print_reason(const char *text)
{
	put_shown(stdout, text, strlen(text), TEXT_KEEP_INDENTED);
}

void print_reason_err(const char *text)
{
	put_shown(stderr, text, strlen(text), TEXT_KEEP_INDENTED);
}

void print_data(const char *text, size_t size)
{
	if (terminal_is_shown_to())
		print_lines(text, size);
	else
		fwrite(text, 1, size, stdout);
}

int print_flush(void)
{
	struct stat st;

	if (fflush(stdout))
		return errno ? -errno : -EIO;
	/* An earlier write failed.  For a reader that went away that is no failure. */
	return ferror(stdout) && !fstat(STDOUT_FILENO, &st) && !S_ISFIFO(st.st_mode) &&
			       !S_ISSOCK(st.st_mode)
		       ? -EIO
		       : 0;
}

void print_close(void)
{
	fflush(stdout);
	close(STDOUT_FILENO);
	clearerr(stdout);
}
