/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/kallsyms.c - parses .duet/kallsyms and searches it by address.
 *
 * The file is read as one text; the names of functions are pointers into it.  A list of pointers to
 * copies would cost one allocation for each of some 200 000 functions.
 */
#include "trace/symbols/kallsyms.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 64 << 20, FUNCTION_BYTES_MAX = 1 << 20 };

struct function {
	uint64_t address;
	const char *name; /* points into `text` */
};

struct kallsyms {
	const char *const *paths;
	int n_paths;
	bool is_read;
	char *text;
	struct function *functions; /* by address */
	size_t n;
};

struct kallsyms *kallsyms_open(const char *const *paths, int n)
{
	struct kallsyms *k = calloc(1, sizeof *k);

	if (k) {
		k->paths = paths;
		k->n_paths = n;
	}
	return k;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->functions);
	free(k->text);
	free(k);
}

/* Returns the whole file, ended by NUL; NULL if there is none, or no memory for it. */
static char *read_file(const char *recording)
{
	char path[PATH_MAX], *text;
	struct stat st;
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof path, "%s/.duet/kallsyms", recording) >= (int)sizeof path)
		return NULL;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= BYTES_MAX
		       ? malloc((size_t)st.st_size + 1)
		       : NULL;
	if (text)
		n = pread(fd, text, (size_t)st.st_size, 0);
	close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	return text;
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name
		       ? -1
		       /* of one address the later line wins: the module that was loaded last */
		       : x->name > y->name;
}

/* "ADDRESS NAME": the newline was replaced by NUL. */
static void parse_line(struct kallsyms *k, char *line)
{
	char *name;
	uint64_t address = strtoull(line, &name, 16);

	if (address && *name == ' ' && name[1])
		k->functions[k->n++] = (struct function){ address, name + 1 };
}

static void read_functions(struct kallsyms *k)
{
	size_t n = 1;
	char *line, *end;

	k->is_read = true;
	for (int i = 0; i < k->n_paths && !k->text; i++)
		k->text = read_file(k->paths[i]);
	for (const char *c = k->text; c && *c; c++)
		n += *c == '\n';
	k->functions = k->text ? malloc(n * sizeof *k->functions) : NULL;
	for (line = k->text; k->functions && line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		parse_line(k, line);
	}
	if (k->n)
		qsort(k->functions, k->n, sizeof *k->functions, by_address);
}

const char *kallsyms_find_in(struct kallsyms *k, uint64_t address, uint64_t *begin, uint64_t *end)
{
	size_t low = 0, high;

	if (!k->is_read)
		read_functions(k);
	high = k->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - k->functions[low - 1].address >= FUNCTION_BYTES_MAX)
		return NULL;
	*begin = k->functions[low - 1].address;
	*end = low < k->n ? k->functions[low].address : 0;
	return k->functions[low - 1].name;
}

const char *kallsyms_find(struct kallsyms *k, uint64_t address)
{
	uint64_t begin, end;

	return kallsyms_find_in(k, address, &begin, &end);
}
