/* SPDX-License-Identifier: MIT */
/* kernel/kallsyms.c - see kallsyms.h. */
#include "kernel/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "ADDRESS TYPE NAME" and perhaps "\t[MODULE]".  Its function as we write it, or an empty line. */
static bool copy_line(FILE *to, const char *line)
{
	uint64_t address;
	char type;
	int name = 0;

	if (sscanf(line, "%" SCNx64 " %c %n", &address, &type, &name) != 2 || !name || !strchr("tTwW", type) || !address)
		return false;
	fprintf(to, "%" PRIx64 " ", address);
	for (const char *c = line + name; *c && *c != '\n'; c++)
		fputc(*c == '\t' ? ' ' : *c, to);
	fputc('\n', to);
	return true;
}

int kernel_kallsyms_write(const char *path, struct diag *d)
{
	FILE *from = fopen("/proc/kallsyms", "re"), *to;
	size_t capacity = 0, n = 0;
	char *line = NULL;
	int err = 0;

	if (!from)
		return diag_errno(d, "cannot read /proc/kallsyms");
	to = fopen(path, "we");
	if (!to) {
		err = diag_errno(d, "cannot write %s", path);
		fclose(from);
		return err;
	}
	while (getline(&line, &capacity, from) > 0)
		n += copy_line(to, line);
	if (ferror(from) || ferror(to))
		err = diag_fail(d, -EIO, "cannot write %s", path);
	if (fclose(to) && !err)
		err = diag_errno(d, "cannot write %s", path);
	if (!n && !err)
		err = diag_fail(d, -EPERM, "the kernel's functions will be shown as addresses: /proc/kallsyms hides "
				"them (kernel.kptr_restrict)");
	if (err)
		unlink(path);
	free(line);
	fclose(from);
	return err;
}
