/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/confine.c - the sandbox of a script over recordings.
 *
 * The files that the script writes are opened first.  A script that runs commands of its user (system()), or
 * makes files for other processes (procfs probes), has no sandbox: its commands would be in it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "cmd/script/internal.h"
#include "sandbox/sandbox.h"

/* Whether a text has the word @name with a parenthesis behind it. */
static bool calls(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += n) {
		const char *end = at + n + strspn(at + n, " \t\n");

		if (*end == '(' &&
		    (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
			return true;
	}
	return false;
}

static const char *what_it_needs(const struct script_front *f, const struct script_options *o)
{
	for (uint32_t i = 0; i < f->sources.n; i++) {
		const char *text = f->sources.at[i].text;

		if (f->sources.at[i].is_library)
			continue;
		if (!o->runs_no_system && calls(text, "system"))
			return "system()";
		if (calls(text, "procfs"))
			return "procfs probes";
	}
	return NULL;
}

static bool is_one_file(const struct script_options *o)
{
	return o->output && (!o->file_bytes || o->is_flight_recorder);
}

int script_confine(const struct script_front *f, const struct script_options *o,
		   struct output_file *output)
{
	const char *need = what_it_needs(f, o);
	char of_output[4096], of_module[4096];
	struct reader r = { .verb = "script",
			    .rights = o->interprets ? 0u : (unsigned)SANDBOX_MAKES_CODE };
	struct diag d = { "" };
	int n = 0;

	if (!o->recordings.n)
		return 0;
	if (need) {
		if (o->is_verbose)
			print_err("duet script: without a sandbox: the script has %s\n", need);
		return 0;
	}
	if (o->pass == SCRIPT_PASS_RUN && is_one_file(o) && output_file_open(output, o->output, &d))
		return cmd_error("script", "-o: %s", d.text);
	if (o->output && !is_one_file(o))
		r.writes[n++] = reader_parent(o->output, of_output);
	if (o->module)
		r.writes[n++] = reader_parent(o->module, of_module);
	if (o->stores)
		r.writes[n++] = o->recordings.at[0];
	return reader_confine(&r);
}
