/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/symbols.c - names of addresses of the running kernel and of running programs.
 *
 * The kernel's functions are read at the first question, by way of a file as recordings have it.  The
 * mappings of a process are read when a record with an address of it arrives, while it most likely
 * still runs, and again if an address is in none of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "kernel/statedump/kallsyms.h"
#include "script/engine/symbols.h"
#include "script/kernel/live.h"

enum { PROCESSES = 256 /* the newest; a power of two */, MAPPINGS_MOST = 4096, TRIES = 8 };

struct mapping {
	uint64_t begin, end, offset;
	char *path;
};

struct process {
	int64_t pid;
	struct mapping *at;
	uint32_t n, n_tries;
};

struct kernel_symbols {
	struct kallsyms *kernel;
	struct symbols *files;
	struct process processes[PROCESSES];
};

/* ---------------------------------------------------------------- processes */

static void forget(struct process *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->at[i].path);
	free(p->at);
	*p = (struct process){ 0 };
}

static void add_mapping(struct process *p, const char *line)
{
	struct mapping m = { 0 }, *more;
	char rights[8];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m.begin, &m.end,
		   rights, &m.offset, &at) < 4 ||
	    !at || line[at] != '/' || !strchr(rights, 'x'))
		return;
	more = realloc(p->at, (p->n + 1) * sizeof *more);
	if (!more)
		return;
	p->at = more;
	m.path = strndup(line + at, strcspn(line + at, "\n"));
	if (m.path)
		more[p->n++] = m;
}

static void read_mappings(struct process *p, int64_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return; /* it is gone: what is known of it stays */
	forget(p);
	p->pid = pid;
	while (p->n < MAPPINGS_MOST && getline(&line, &room, f) > 0)
		add_mapping(p, line);
	free(line);
	fclose(f);
}

static struct process *process_of(struct kernel_source *s, int64_t pid)
{
	struct process *p;

	if (!s->symbols)
		s->symbols = calloc(1, sizeof *s->symbols);
	if (!s->symbols || pid <= 0)
		return NULL;
	p = &s->symbols->processes[pid & (PROCESSES - 1)];
	if (p->pid != pid)
		read_mappings(p, pid);
	return p->pid == pid ? p : NULL;
}

static const struct mapping *mapping_of(const struct process *p, uint64_t address)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (address >= p->at[i].begin && address < p->at[i].end)
			return &p->at[i];
	return NULL;
}

void kernel_symbols_note(struct kernel_source *s, int64_t pid)
{
	process_of(s, pid);
}

/* ---------------------------------------------------------------- names */

static void user_symbol(struct kernel_source *s, int64_t pid, uint64_t address, char what,
			struct text *to)
{
	struct process *p = process_of(s, pid);
	const struct mapping *m = p ? mapping_of(p, address) : NULL;

	if (p && !m && p->n_tries < TRIES) {
		uint32_t n_tries = p->n_tries + 1;

		read_mappings(p, pid);
		p->n_tries = n_tries;
		m = mapping_of(p, address);
	}
	if (!m)
		return;
	if (!s->symbols->files)
		s->symbols->files = symbols_open();
	if (s->symbols->files)
		symbol_add_user(to, s->symbols->files, m->path, "",
				m->offset + (address - m->begin), what);
}

/* The kernel's functions as a recording has them: written, read and removed. */
static struct kallsyms *read_kernel(void)
{
	char directory[] = "/tmp/duet-script-XXXXXX", inner[64], file[96];
	const char *paths[] = { directory };
	struct kallsyms *k = NULL;

	if (!mkdtemp(directory))
		return NULL;
	snprintf(inner, sizeof inner, "%s/.duet", directory);
	snprintf(file, sizeof file, "%s/kallsyms", inner);
	if (!mkdir(inner, 0700) && !kernel_kallsyms_write(file, NULL))
		k = kallsyms_open(paths, 1);
	if (k)
		kallsyms_find(k, 1); /* reads it */
	unlink(file);
	rmdir(inner);
	rmdir(directory);
	return k;
}

static void kernel_symbol(struct kernel_source *s, uint64_t address, char what, struct text *to)
{
	if (!s->symbols)
		s->symbols = calloc(1, sizeof *s->symbols);
	if (s->symbols && !s->symbols->kernel)
		s->symbols->kernel = read_kernel();
	if (s->symbols && s->symbols->kernel)
		symbol_add_kernel(to, s->symbols->kernel, address, what);
}

void kernel_symbol_text(struct script_source_of *source, int64_t pid, uint64_t address, char what,
			struct text *to)
{
	struct kernel_source *s = (struct kernel_source *)source;

	if (pid)
		user_symbol(s, pid, address, what, to);
	else
		kernel_symbol(s, address, what, to);
}

void kernel_symbols_free(struct kernel_symbols *y)
{
	if (!y)
		return;
	for (uint32_t i = 0; i < PROCESSES; i++)
		forget(&y->processes[i]);
	kallsyms_close(y->kernel);
	symbols_close(y->files);
	free(y);
}
