/* SPDX-License-Identifier: MIT */
/* kernel/statedump/kallsyms.c - copies the functions in /proc/kallsyms into a recording. */
#include "kernel/statedump/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"

/* Parses "ADDRESS TYPE NAME", perhaps with "\t[MODULE]". If it is a function, writes its line. */
static bool copy_line(FILE *to, const char *line)
{
	uint64_t address;
	char type;
	int name = 0;

	if (sscanf(line, "%" SCNx64 " %c %n", &address, &type, &name) != 2 || !name ||
	    !strchr("tTwW", type) || !address)
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
		err = diag_fail(
			d, -EPERM,
			"the kernel's functions will be shown as addresses: /proc/kallsyms hides "
			"them (kernel.kptr_restrict)");
	if (err)
		unlink(path);
	free(line);
	fclose(from);
	return err;
}

/* ---------------------------------------------------------------- later modules */

/* Parses "NAME SIZE USERS DEPENDENCIES STATE ADDRESS ..." into a line "[NAME] ADDRESS" for each. */
static int list_modules(struct text *t)
{
	FILE *from = fopen("/proc/modules", "re");
	char *line = NULL, name[128], address[32];
	size_t capacity = 0;

	if (!from)
		return -errno;
	while (getline(&line, &capacity, from) > 0)
		if (sscanf(line, "%127s %*s %*s %*s %*s %31s", name, address) == 2)
			text_addf(t, "[%s] %s\n", name, address);
	free(line);
	fclose(from);
	return t->failed ? -ENOMEM : 0;
}

/* Whether @lines contains the line that begins at @line. */
static bool has_line(const char *lines, const char *line)
{
	size_t size = strcspn(line, "\n");

	for (const char *p = lines; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == size && !memcmp(p, line, size))
			return true;
	return false;
}

/* The modules in @now that are not in @before, each as "[NAME]" and a blank. */
static void find_new(const char *now, const char *before, struct text *t)
{
	for (const char *p = now; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!has_line(before, p))
			text_add(t, p, strcspn(p, " ") + 1);
}

/* Whether a line of /proc/kallsyms belongs to one of @modules. */
static bool is_of(const char *line, const char *modules)
{
	const char *module = strstr(line, "\t[");
	char word[160];

	if (!module || snprintf(word, sizeof word, "%.*s ", (int)strcspn(module + 1, "\n"),
				module + 1) >= (int)sizeof word)
		return false;
	return strstr(modules, word);
}

/* Appends all lines with one write: a reader never sees a partial line, even if this process is
 * killed. */
static int append(const char *path, const char *modules)
{
	FILE *from = fopen("/proc/kallsyms", "re"), *to;
	char *line = NULL, *text = NULL;
	size_t capacity = 0, size = 0;
	int fd, err = 0;

	if (!from)
		return -errno;
	to = open_memstream(&text, &size);
	while (to && getline(&line, &capacity, from) > 0)
		if (is_of(line, modules))
			copy_line(to, line);
	if (!to || fclose(to))
		err = -ENOMEM;
	free(line);
	fclose(from);
	fd = err ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0) {
		err = io_write(fd, text, size);
		close(fd);
	}
	free(text);
	return err;
}

int kernel_kallsyms_again(const char *path, char **modules)
{
	struct text now = { 0 }, come = { 0 };
	int err = list_modules(&now);

	if (!err && path && !(now.bytes && *modules && !strcmp(now.bytes, *modules)))
		find_new(now.bytes, *modules, &come);
	if (!err && come.failed)
		err = -ENOMEM;
	if (!err && come.size)
		err = append(path, come.bytes);
	text_fini(&come);
	if (err) {
		text_fini(&now);
		return err; /* retry at the next call */
	}
	free(*modules);
	*modules = now.bytes;
	return 0;
}
