/* SPDX-License-Identifier: MIT */
/*
 * syntax/message.c - messages with the source line and a caret, and the nearest names.
 *
 * A line of a source may hold anything: controls are shown as blanks, and of a long line only the
 * part around the place.
 */
#include "script/syntax/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SHOWN = 96, ERRORS_MOST = 20 };

static void show_position(struct script_messages *m, struct script_place place)
{
	uint32_t line, column;

	script_place_line(m->sources, place, &line, &column);
	text_addf(&m->text, "at %s:%u:%u\n", m->sources->at[place.source].name, line, column);
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool continues_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void add_visible(struct text *t, const char *from, const char *end)
{
	for (; from < end; from++)
		text_add(t, is_control(*from) ? " " : from, 1);
}

/* The part of a line that is shown. */
struct shown {
	const char *begin, *end;
	bool is_cut; /* at the begin */
};

static struct shown choose_part(const char *text, const char *last, const char *at)
{
	struct shown s = { .begin = at, .end = at };

	while (s.begin > text && s.begin[-1] != '\n')
		s.begin--;
	while (s.end < last && *s.end != '\n')
		s.end++;
	while (s.begin < at && (*s.begin == ' ' || *s.begin == '\t'))
		s.begin++;
	if (at - s.begin > LINE_SHOWN * 2 / 3) {
		s.is_cut = true;
		for (s.begin = at - LINE_SHOWN / 2; s.begin < at && continues_character(*s.begin);)
			s.begin++;
	}
	if (s.end - s.begin > LINE_SHOWN)
		for (s.end = s.begin + LINE_SHOWN; s.end > at && continues_character(*s.end);)
			s.end--;
	return s;
}

/* The line without its indentation, and a caret below the place. */
static void show_line(struct script_messages *m, struct script_place place)
{
	const struct script_source *source = m->sources->at + place.source;
	const char *text = source->text, *last = text + source->size;
	const char *at = place.at < source->size ? text + place.at : last;
	struct shown s = choose_part(text, last, at);

	if (s.begin == s.end)
		return;
	text_addf(&m->text, "    %s", s.is_cut ? "..." : "");
	add_visible(&m->text, s.begin, s.end);
	text_addf(&m->text, "\n    %s", s.is_cut ? "   " : "");
	for (const char *c = s.begin; c < at; c++)
		if (!continues_character(*c))
			text_addf(&m->text, " ");
	text_addf(&m->text, "^\n");
}

static bool is_known(const struct script_messages *m, struct script_place place)
{
	return m->sources && place.source < m->sources->n;
}

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static uint64_t add_to_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3;
	return hash;
}

static bool was_seen(struct script_messages *m, struct script_place place, const char *kind,
		     const char *what)
{
	uint64_t hash = add_to_hash(0xcbf29ce484222325, kind, strlen(kind));
	enum { N = sizeof m->seen / sizeof *m->seen };

	hash = add_to_hash(hash, what, strlen(what));
	hash = add_to_hash(hash, &place.source, sizeof place.source);
	hash = add_to_hash(hash, &place.at, sizeof place.at) | 1;
	for (unsigned i = 0; i < N; i++)
		if (m->seen[i] == hash)
			return true;
	memmove(m->seen + 1, m->seen, sizeof m->seen - sizeof *m->seen);
	m->seen[0] = hash;
	return false;
}

static void add_message(struct script_messages *m, struct script_place place, const char *kind,
			const char *what)
{
	m->is_silent = was_seen(m, place, kind, what);
	if (m->is_silent) {
		m->n_repeated++;
		return;
	}
	text_addf(&m->text, "%s: %s\n", kind, what);
	if (!is_known(m, place))
		return;
	text_addf(&m->text, " ");
	show_position(m, place);
	show_line(m, place);
}

int script_error(struct script_messages *m, struct script_place place, const char *kind,
		 const char *format, ...)
{
	char what[1024];
	va_list ap;

	if (!m)
		return -EINVAL;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	if (!m->n_errors++) {
		m->first_place = place;
		snprintf(m->first, sizeof m->first, "%.*s", (int)sizeof m->first - 1, what);
	}
	if (m->n_errors > (m->most_errors ? m->most_errors : ERRORS_MOST))
		m->is_silent = true;
	else
		add_message(m, place, kind, what);
	return -EINVAL;
}

int script_warning(struct script_messages *m, struct script_place place, const char *format, ...)
{
	char what[1024];
	va_list ap;

	if (!m)
		return 0;
	m->is_silent = m->hides_warnings && !m->warnings_are_errors;
	if (m->is_silent)
		return 0;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	add_message(m, place, "warning", what);
	if (m->is_silent)
		return 0;
	if (m->warnings_are_errors)
		m->n_errors++;
	else
		m->n_warnings++;
	return 0;
}

void script_note(struct script_messages *m, struct script_place place, const char *format, ...)
{
	char what[1024];
	va_list ap;

	if (!m || m->is_silent)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	text_addf(&m->text, " %s", what);
	if (!is_known(m, place)) {
		text_addf(&m->text, "\n");
		return;
	}
	text_addf(&m->text, " ");
	show_position(m, place);
	show_line(m, place);
}

void script_messages_end(struct script_messages *m)
{
	uint32_t most = m->most_errors ? m->most_errors : ERRORS_MOST;

	if (m->n_errors > most)
		text_addf(&m->text, "%u more error%s not shown\n", m->n_errors - most,
			  m->n_errors - most == 1 ? " is" : "s are");
	if (m->n_repeated)
		text_addf(&m->text, "%u repeated message%s not shown\n", m->n_repeated,
			  m->n_repeated == 1 ? " is" : "s are");
}
