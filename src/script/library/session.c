/* SPDX-License-Identifier: MIT */
/* library/session.c - functions on the session: its end, messages, the terminal, the target. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "script/library/internal.h"

HELP(library_exit)
{
	UNUSED1;
	script_vm_exit(vm);
	return 0;
}

HELP(library_error)
{
	UNUSED2;
	script_raise(vm, "%s", string_of(r1)->bytes);
	return 0;
}

HELP(library_assert)
{
	UNUSED2;
	if (!r1)
		script_raise(vm, "assertion failed");
	return 0;
}

HELP(library_assert_text)
{
	UNUSED3;
	if (!r1)
		script_raise(vm, "%s", string_of(r2)->bytes);
	return 0;
}

static void write_message(struct script_vm *vm, const char *before, const struct script_string *s)
{
	const struct script_services *services = script_vm_services(vm);
	struct text *t = library_text(vm);

	text_add(t, before, strlen(before));
	text_add(t, s->bytes, s->size);
	text_add(t, "\n", 1);
	if (services->write_error && !t->failed)
		services->write_error(services->context, t->bytes, t->size);
}

HELP(library_warn)
{
	UNUSED2;
	write_message(vm, "WARNING: ", string_of(r1));
	return 0;
}

HELP(library_log)
{
	UNUSED2;
	write_message(vm, "", string_of(r1));
	return 0;
}

HELP(library_system)
{
	const struct script_services *s = script_vm_services(vm);

	UNUSED2;
	if (!s->system)
		script_raise(vm, "system() cannot run commands here");
	else if (s->system(s->context, string_of(r1)->bytes))
		script_raise(vm, "system() could not start `%s`", string_of(r1)->bytes);
	return 0;
}

HELP(library_refused)
{
	UNUSED1;
	script_raise(vm, "a script changes nothing in what it observes: "
			 "panic(), mdelay() and udelay() are refused");
	return 0;
}

static uint64_t write_text(struct script_vm *vm, const char *text)
{
	library_write(vm, text, strlen(text));
	return 0;
}

HELP(library_ansi_clear_screen)
{
	UNUSED1;
	return write_text(vm, "\033[1;1H\033[J");
}

static uint64_t write_numbers(struct script_vm *vm, char command, const int64_t *numbers, int n)
{
	struct text *t = library_text(vm);

	text_add(t, "\033[", 2);
	for (int i = 0; i < n; i++)
		text_addf(t, "%s%lld", i ? ";" : "", (long long)numbers[i]);
	text_add(t, &command, 1);
	library_write(vm, t->bytes, t->size);
	return 0;
}

HELP(library_ansi_set_color)
{
	UNUSED2;
	return write_numbers(vm, 'm', (int64_t[]){ (int64_t)r1 }, 1);
}

HELP(library_ansi_set_color2)
{
	UNUSED3;
	return write_numbers(vm, 'm', (int64_t[]){ (int64_t)r1, (int64_t)r2 }, 2);
}

/* The attribute first: 0 would take the colours back. */
HELP(library_ansi_set_color3)
{
	(void)r4, (void)r5;
	return write_numbers(vm, 'm', (int64_t[]){ (int64_t)r3, (int64_t)r1, (int64_t)r2 }, 3);
}

HELP(library_ansi_reset_color)
{
	UNUSED1;
	return write_text(vm, "\033[0;0m");
}

HELP(library_ansi_new_line)
{
	UNUSED1;
	return write_text(vm, "\n");
}

HELP(library_ansi_cursor_move)
{
	UNUSED3;
	return write_numbers(vm, 'H', (int64_t[]){ (int64_t)r2, (int64_t)r1 }, 2);
}

HELP(library_ansi_cursor_hide)
{
	UNUSED1;
	return write_text(vm, "\033[?25l");
}

HELP(library_ansi_cursor_show)
{
	UNUSED1;
	return write_text(vm, "\033[?25h");
}

HELP(library_ansi_cursor_save)
{
	UNUSED1;
	return write_text(vm, "\033[s");
}

HELP(library_ansi_cursor_restore)
{
	UNUSED1;
	return write_text(vm, "\033[u");
}

/* A setting of the session, in the scratch text. */
static bool setting(struct script_vm *vm, const char *name, struct text **value)
{
	const struct script_services *s = script_vm_services(vm);

	*value = library_text(vm);
	return s->setting && s->setting(s->context, name, *value) && (*value)->size;
}

static uint64_t setting_text(struct script_vm *vm, const char *name)
{
	struct text *value;

	if (!setting(vm, name, &value))
		return new_text(vm, "", 0);
	return new_text(vm, value->bytes, value->size);
}

static int64_t setting_number(struct script_vm *vm, const char *name, int64_t otherwise)
{
	struct text *value;

	return setting(vm, name, &value) ? strtoll(value->bytes, NULL, 10) : otherwise;
}

HELP(library_target)
{
	UNUSED1;
	return (uint64_t)setting_number(vm, "target", 0);
}

/* Whether @r1 is the target or one of its descendants, which the session knows. */
HELP(library_target_set_pid)
{
	char name[48];

	UNUSED2;
	snprintf(name, sizeof name, "target_set_pid:%lld", (long long)r1);
	return (uint64_t)setting_number(vm, name,
					r1 && (int64_t)r1 == setting_number(vm, "target", 0));
}

HELP(library_is_myproc)
{
	UNUSED1;
	return standard_long(vm, STANDARD_UID) == setting_number(vm, "uid", getuid());
}

HELP(library_stp_pid)
{
	UNUSED1;
	return (uint64_t)setting_number(vm, "stp_pid", getpid());
}

HELP(library_module_name)
{
	UNUSED1;
	return setting_text(vm, "module_name");
}

HELP(library_remote_id)
{
	UNUSED0;
	return UINT64_MAX;
}

HELP(library_remote_uri)
{
	UNUSED1;
	return new_text(vm, "", 0);
}

HELP(library_pn)
{
	UNUSED1;
	return of_string(script_vm_frame(vm)->standard[STANDARD_POINT].text);
}
