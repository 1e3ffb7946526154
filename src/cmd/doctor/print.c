/* SPDX-License-Identifier: MIT */
/*
 * cmd/doctor/print.c - the answer of duet doctor as aligned lines, or as one object of JSON.
 *
 * Names and paths come from other processes: in lines they are printable, in JSON they are escaped.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json_line.h"
#include "cmd/doctor/doctor.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"

enum { VALUE_COLUMN = 30 };

static const char *text_of(const struct text *t)
{
	return t->bytes ? t->bytes : "";
}

/* An object of JSON as an element of the open array. */
static void add_object(struct doctor *d, struct text *object)
{
	text_addf(&d->json, "%s", d->has_checks ? "," : "");
	text_add(&d->json, text_of(object), object->size);
	d->has_checks = true;
	text_fini(object);
}

void doctor_array(struct doctor *d, const char *name)
{
	if (!d->is_json)
		return;
	text_addf(&d->json, "%s\"%s\":[", d->json.size ? "," : "{", name);
	d->has_checks = false;
}

void doctor_end_array(struct doctor *d)
{
	if (d->is_json)
		text_addf(&d->json, "]");
	d->has_checks = true;
}

/* ---------------------------------------------------------------- checks */

static const char *const level_names[] = {
	[FIND_FINE] = "fine", [FIND_NOTE] = "note", [FIND_FINDING] = "finding"
};

static void add_check(struct doctor *d, const struct find_check *c)
{
	struct text t = { 0 };

	json_line_add_text(&t, "group", c->group);
	json_line_add_text(&t, "name", c->name);
	json_line_add_text(&t, "level", level_names[c->level]);
	json_line_add_text(&t, "value", text_of(&c->value));
	if (c->remedy.size)
		json_line_add_text(&t, "remedy", text_of(&c->remedy));
	text_addf(&t, "}");
	add_object(d, &t);
}

/* Prints @text in the rest of a line, and below it at the same column. */
static void print_folded(const char *text)
{
	int columns = terminal_width(), width = columns > 60 ? columns - VALUE_COLUMN : INT_MAX;

	while ((int)strlen(text) > width) {
		int n = width;

		while (n > width / 2 && text[n] != ' ')
			n--;
		n = text[n] == ' ' ? n : width;
		while (n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--; /* no character is divided */
		print_out("%.*s\n%*s", n, text, VALUE_COLUMN, "");
		text += n;
		text += strspn(text, " ");
	}
	print_out("%s\n", text);
}

static void print_row(const char *level, const char *name, const struct text *value,
		      const struct text *remedy)
{
	print_out("  %-4s  %-*s  ", level, VALUE_COLUMN - 10, name);
	print_folded(text_of(value));
	if (!remedy->size)
		return;
	print_out("%*s-> ", VALUE_COLUMN - 3, "");
	print_folded(text_of(remedy));
}

/* Each check is "  ok  name  value", with the remedy on a line of its own below the value. */
void doctor_check(void *doctor, const struct find_check *c)
{
	static const char *const shown[] = {
		[FIND_FINE] = "ok", [FIND_NOTE] = "note", [FIND_FINDING] = "FIX"
	};
	struct doctor *d = doctor;

	d->n_findings += c->level == FIND_FINDING;
	if (d->is_json) {
		add_check(d, c);
		return;
	}
	if (strcmp(c->group, "program") != 0 && (!d->group || strcmp(d->group, c->group) != 0))
		print_out(d->group ? "\n%s\n" : "%s\n", c->group);
	d->group = c->group;
	print_row(shown[c->level], c->name, &c->value, &c->remedy);
}

/* ---------------------------------------------------------------- programs */

static void add_process(struct text *t, const struct find_process *p)
{
	json_line_add_number(t, "pid", (uint64_t)p->pid);
	json_line_add_text(t, "name", p->name);
	json_line_add_text(t, "file", p->file);
	if (p->uid != (uid_t)-1)
		json_line_add_number(t, "uid", p->uid);
	json_line_add_text(t, "state", find_state_name(p->state));
	json_line_add_number(t, "sites", p->program.n_sites);
	json_line_add_number(t, "events", p->n_events);
	json_line_add_number(t, "usdt_marks", p->program.n_marks);
	json_line_add_number(t, "lttng_tracepoints", p->program.n_lttng);
	if (*p->library)
		json_line_add_text(t, "libduet", p->library);
	if (*p->directory)
		json_line_add_text(t, "runtime_directory", p->directory);
	if (*p->container)
		json_line_add_text(t, "container", p->container);
}

static void add_process_words(struct doctor *d, const struct find_process *p, struct text *why,
			      struct text *remedy)
{
	struct text t = { 0 };

	add_process(&t, p);
	json_line_add_text(&t, "why", text_of(why));
	if (remedy->size)
		json_line_add_text(&t, "remedy", text_of(remedy));
	text_addf(&t, "}");
	add_object(d, &t);
}

void doctor_process(struct doctor *d, const struct find_process *p)
{
	struct text why = { 0 }, remedy = { 0 };
	char name[4 * sizeof p->name], label[sizeof name + 16];
	/* Those of others are recorded by other options. */
	bool is_finding = p->state != FIND_RECORDABLE && p->state != FIND_OTHER_USER &&
			  p->state != FIND_CONTAINER && p->state != FIND_OTHER_DIRECTORY &&
			  p->state != FIND_ONLY_LTTNG;

	find_process_words(p, d->by, &why, &remedy);
	text_printable(name, sizeof name, p->name);
	d->n_findings += is_finding;
	if (d->is_json) {
		add_process_words(d, p, &why, &remedy);
	} else {
		if (!d->group || strcmp(d->group, "programs") != 0)
			print_out(d->group ? "\nprograms\n" : "programs\n");
		d->group = "programs";
		snprintf(label, sizeof label, "%d %s", (int)p->pid, name);
		print_row(p->state == FIND_RECORDABLE ? "ok"
			  : is_finding		      ? "FIX"
						      : "note",
			  label, &why, &remedy);
	}
	text_fini(&why);
	text_fini(&remedy);
}

static void begin_program(struct doctor *d, struct text *t)
{
	text_addf(&d->json, "%s", d->has_checks ? "," : "");
	text_add(&d->json, text_of(t), t->size);
	text_addf(&d->json, ",\"checks\":[");
	d->has_checks = false;
	text_fini(t);
}

void doctor_begin_process(struct doctor *d, const struct find_process *p)
{
	char name[4 * sizeof p->name], file[4096];
	struct text t = { 0 };

	if (d->is_json) {
		add_process(&t, p);
		begin_program(d, &t);
		return;
	}
	text_printable(name, sizeof name, p->name);
	text_printable(file, sizeof file, p->file);
	print_out(d->group ? "\nprocess %d %s" : "process %d %s", (int)p->pid, name);
	print_out(*file ? "  (%s)\n" : "\n", file);
	d->group = "program";
}

void doctor_begin_file(struct doctor *d, const struct find_file *f)
{
	char file[4096];
	struct text t = { 0 };

	if (d->is_json) {
		json_line_add_text(&t, "file", f->path);
		json_line_add_text(&t, "state", find_state_name(f->state));
		json_line_add_number(&t, "sites", f->program.n_sites);
		json_line_add_number(&t, "usdt_marks", f->program.n_marks);
		json_line_add_number(&t, "lttng_tracepoints", f->program.n_lttng);
		begin_program(d, &t);
		return;
	}
	text_printable(file, sizeof file, f->path);
	print_out(d->group ? "\n%s\n" : "%s\n", file);
	d->group = "program";
}

void doctor_end_program(struct doctor *d)
{
	if (d->is_json)
		text_addf(&d->json, "]}");
	d->has_checks = true;
}
