/* SPDX-License-Identifier: MIT */
/* cmd/finding.c - print and count what was asked for and not found: cmd/finding.h. */
#include "cmd/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "cmd/cmd.h"

static unsigned n_findings;

void cmd_finding(const char *verb, const char *format, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	cmd_error(verb, "%s", text);
	n_findings++;
}

int cmd_findings_status(bool is_strict, int status)
{
	return status || !is_strict || !n_findings ? status : 1;
}
