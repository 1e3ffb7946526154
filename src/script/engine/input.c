/* SPDX-License-Identifier: MIT */
/*
 * script/engine/input.c - probes input.char and input.line: what is typed, or comes by a pipe.
 *
 * Live, input is an event of the moment in which it is read.  In a replay all of it comes right
 * after the begin: the recording does not say when it was typed.  A last line without an end of line
 * is a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "script/engine/internal.h"

static bool is_char(const struct script_probe *p)
{
	return p->point.family == FAMILY_INPUT && !strcmp(p->point.text, "char");
}

static bool is_line(const struct script_probe *p)
{
	return p->point.family == FAMILY_INPUT && !strcmp(p->point.text, "line");
}

void engine_input_open(struct script_engine *e)
{
	for (uint32_t i = 0; i < e->o.program->n_probes; i++) {
		e->input.wants_chars |= is_char(e->o.program->probes[i]);
		e->input.wants_lines |= is_line(e->o.program->probes[i]);
	}
	e->input.has_ended = !e->input.wants_chars && !e->input.wants_lines;
}

bool engine_input_is_open(const struct script_engine *e)
{
	return !e->input.has_ended;
}

static void run_probes(struct script_engine *e, bool (*wanted)(const struct script_probe *p),
		       const char *text, size_t size)
{
	const struct script_program *p = e->o.program;
	int64_t now = e->o.is_replay ? e->now_ns : engine_clock(e);

	for (uint32_t i = 0; i < p->n_probes && !e->is_exiting; i++)
		if (wanted(p->probes[i]))
			engine_run_own(e, p->probes[i], now, text, size);
}

static void end_line(struct script_engine *e)
{
	uint32_t size = e->input.size;

	e->input.size = 0;
	run_probes(e, is_line, e->input.line, size);
}

static void take_byte(struct script_engine *e, char c)
{
	if (e->input.wants_chars)
		run_probes(e, is_char, &c, 1);
	if (!e->input.wants_lines)
		return;
	if (c != '\n')
		e->input.line[e->input.size++] = c;
	if (c == '\n' || e->input.size == sizeof e->input.line)
		end_line(e);
}

void engine_input_take(struct script_engine *e)
{
	char bytes[512];
	ssize_t n = read(e->o.input, bytes, sizeof bytes);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (ssize_t i = 0; i < n && !e->is_exiting; i++)
		take_byte(e, bytes[i]);
	if (n > 0)
		return;
	e->input.has_ended = true;
	if (e->input.size && !e->is_exiting)
		end_line(e);
}
