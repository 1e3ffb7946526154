/* SPDX-License-Identifier: MIT */
/*
 * unit/format.c - the literal of a printf as directives.
 *
 * "%%" becomes text, so the text before a directive lies in the format's own memory.  A star takes
 * an argument of its own, before the value.
 */
#include "script/unit/format.h"

#include <errno.h>
#include <string.h>

struct parser {
	struct script_format *format;
	const char *at, *end;
	char *text; /* room for all texts, as long as the literal */
	struct diag *diag;
};

static void argument(struct parser *p, enum script_type type)
{
	p->format->arguments[p->format->n_arguments++] = type;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A width or precision; -1 if none is there. */
static int number_or_star(struct parser *p, int32_t *n)
{
	*n = -1;
	if (p->at < p->end && *p->at == '*') {
		p->at++;
		*n = -2;
		argument(p, SCRIPT_LONG);
		return 0;
	}
	while (p->at < p->end && is_digit(*p->at)) {
		*n = (*n < 0 ? 0 : *n) * 10 + (*p->at++ - '0');
		if (*n > SCRIPT_WIDTH_MAX)
			return diag_fail(p->diag, -EINVAL,
					 "a width or precision in a format is at most %d",
					 SCRIPT_WIDTH_MAX);
	}
	return 0;
}

static bool flag(struct script_directive *d, char c)
{
	switch (c) {
	case '-':
		d->minus = true;
		return true;
	case '+':
		d->plus = true;
		return true;
	case '0':
		d->zero = true;
		return true;
	case ' ':
		d->space = true;
		return true;
	case '#':
		d->hash = true;
		return true;
	}
	return false;
}

static int conversion(struct parser *p, struct script_directive *d)
{
	if (p->at < p->end && *p->at == 'l')
		p->at++; /* every number has 64 bits */
	if (p->at == p->end)
		return diag_fail(p->diag, -EINVAL, "the format ends within a directive");
	d->conversion = *p->at == 'i' ? 'd' : *p->at;
	switch (d->conversion) {
	case 'd':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'c':
	case 'p':
		argument(p, SCRIPT_LONG);
		break;
	case 's':
		argument(p, SCRIPT_STRING);
		break;
	case 'b':
		d->size = d->width < 0 ? 8 : d->width;
		if (d->width == -2 ||
		    (d->size != 1 && d->size != 2 && d->size != 4 && d->size != 8))
			return diag_fail(p->diag, -EINVAL, "%%b writes 1, 2, 4 or 8 bytes");
		argument(p, SCRIPT_LONG);
		break;
	case 'm':
	case 'M':
		argument(p, SCRIPT_LONG);
		break;
	default:
		return diag_fail(
			p->diag, -EINVAL,
			"unknown conversion `%%%c` in a format (d i u x X o c s p b m M %%)",
			*p->at);
	}
	p->at++;
	return 0;
}

static int directive(struct parser *p)
{
	struct script_directive *d = &p->format->directives[p->format->n];
	int err;

	while (p->at < p->end && flag(d, *p->at))
		p->at++;
	err = number_or_star(p, &d->width);
	d->precision = -1;
	if (!err && p->at < p->end && *p->at == '.') {
		p->at++;
		err = number_or_star(p, &d->precision);
		if (d->precision == -1)
			d->precision = 0;
	}
	if (!err)
		err = conversion(p, d);
	if (!err)
		p->format->n++;
	return err;
}

/* Moves the text up to the next directive to the texts; false: the literal ends. */
static bool text_before(struct parser *p)
{
	struct script_directive *d = &p->format->directives[p->format->n];

	*d = (struct script_directive){ .before = p->text, .width = -1, .precision = -1 };
	while (p->at < p->end) {
		if (*p->at == '%') {
			p->at++;
			if (p->at == p->end || *p->at != '%') {
				*p->text++ = 0;
				return true;
			}
		}
		*p->text++ = *p->at++;
		d->before_size++;
	}
	*p->text++ = 0;
	return false;
}

int script_format_parse(struct script_format *f, struct script_arena *a, const char *literal,
			size_t size, uint32_t *at, struct diag *d)
{
	struct parser p = { .format = f, .at = literal, .end = literal + size, .diag = d };
	size_t most = 1;
	int err = 0;

	for (size_t i = 0; i < size; i++)
		most += literal[i] == '%';
	*f = (struct script_format){
		.directives = script_allocate(a, most * sizeof *f->directives),
		.arguments = script_allocate(a, 3 * most),
	};
	p.text = script_allocate(a, size + most + 1);
	if (!f->directives || !f->arguments || !p.text)
		return -ENOMEM;
	while (!err && text_before(&p)) {
		*at = p.at - 1 - literal;
		err = directive(&p);
	}
	if (!err && f->directives[f->n].before_size)
		f->n++; /* text behind the last one */
	return err;
}
