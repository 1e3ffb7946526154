/* SPDX-License-Identifier: MIT */
/* collect/drain/maps.c - see maps.h. */
#include "collect/drain/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "elf/symbols.h"

enum { IDS = 512 };

struct known { /* a file's build ID, by what the file is: asked for once */
	unsigned long inode;
	unsigned major, minor;
	char id[ELF_BUILD_ID_HEX];
};

struct process {
	pid_t pid;	   /* 0: none */
	uint64_t hash;	   /* of what was noted last */
	uint64_t pages;	   /* that it had mapped then, whatever for */
	bool is_finalized; /* so it was twice */
};

struct maps {
	FILE *file;
	bool of_tenant;
	size_t size; /* bytes written */
	struct process processes[MAPS_PROCESSES_MAX];
	unsigned next; /* to be replaced */
	struct known known[IDS];
};

static FILE *open_file(const char *path, const struct tenant *tenant)
{
	char file[PATH_MAX], label[TENANT_LABEL_BYTES];

	if (snprintf(file, sizeof file, "%s/.duet", path) >= PATH_MAX - 8 - TENANT_LABEL_BYTES)
		return NULL;
	mkdir(file, 0777);
	strcat(file, "/maps");
	if (tenant) {
		tenant_label(tenant, label);
		strcat(strcat(file, "-"), label);
	}
	return fopen(file, "a+e"); /* a successor of a collector that died goes on */
}

struct maps *maps_open(const char *path, const struct tenant *tenant)
{
	struct maps *m = calloc(1, sizeof *m);

	if (m) {
		m->of_tenant = tenant;
		m->file = open_file(path, tenant);
	}
	if (m && m->file)
		return m;
	free(m);
	return NULL;
}

void maps_close(struct maps *m)
{
	if (!m)
		return;
	fclose(m->file);
	free(m);
}

static const char *id_of(struct maps *m, const char *path, unsigned major, unsigned minor,
			 unsigned long inode)
{
	struct known *k = &m->known[(inode ^ minor * 31u) % IDS];

	if (k->inode != inode || k->major != major || k->minor != minor) {
		*k = (struct known){ .inode = inode, .major = major, .minor = minor };
		if (!elf_build_id(path, k->id) && m->of_tenant)
			k->inode = 0; /* its process may be gone: the next one is asked again */
	}
	return *k->id ? k->id : "-";
}

/* "begin-end r-xp offset major:minor inode   path" of /proc/PID/maps, if it is code of a file.  */
static void add_line(struct maps *m, struct text *t, pid_t pid, const char *line)
{
	uint64_t begin, end, offset;
	unsigned major, minor;
	unsigned long inode;
	char rights[8], file[64];
	const char *at;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %lu %n", &begin, &end,
		   rights, &offset, &major, &minor, &inode, &path) != 7 ||
	    rights[2] != 'x' || !path || !line[path])
		return;
	/* Of a tenant's program the file itself, not what lies at its path: that may be another one
	 * in our mount namespace, or anything that he has put there. */
	snprintf(file, sizeof file, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, begin,
		 end);
	at = m->of_tenant ? file : line + path;
	text_addf(t, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %s %s\n", begin, end, offset,
		  line[path] == '/' ? id_of(m, at, major, minor, inode) : "-", line + path);
}

/* First all of it, then what the files are: a program that ends soon is not there as long as that
 * takes. */
static void read_maps(struct maps *m, pid_t pid, struct text *t)
{
	char path[64], bytes[4096], *line, *rest;
	struct text all = { 0 };
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && all.size < MAPS_BYTES_MAX && (n = read(fd, bytes, sizeof bytes)) > 0)
		text_add(&all, bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	for (rest = all.failed ? NULL : all.bytes; (line = strsep(&rest, "\n"));)
		add_line(m, t, pid, line);
	text_fini(&all);
}

/* A mapping that comes or goes changes its size: reading that costs a tenth of reading them all.
 * Two looks in which it is the same, since the first may have been in the middle of a dlopen. */
static bool has_changed(struct process *p, bool *is_alive)
{
	unsigned long long pages = 0;
	char path[64], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/statm", (int)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	*is_alive = sscanf(text, "%llu", &pages) == 1 && pages; /* a zombie has none */
	if (pages == p->pages && p->is_finalized)
		return false;
	p->is_finalized = pages == p->pages;
	p->pages = pages;
	return *is_alive;
}

/* False if it is gone. */
static bool note(struct maps *m, struct process *p, uint64_t at_ns)
{
	struct text t = { 0 };
	bool is_alive;
	uint64_t hash;

	read_maps(m, p->pid, &t);
	is_alive = t.size && !t.failed;
	hash = is_alive ? hash_bytes(t.bytes, t.size) : 0;
	if (is_alive && hash != p->hash && m->size + t.size < MAPS_BYTES_MAX) {
		fprintf(m->file, "process %d %" PRIu64 "\n%s", (int)p->pid, at_ns, t.bytes);
		m->size += t.size + 64;
		p->hash = hash;
	}
	text_fini(&t);
	return is_alive;
}

void maps_join(struct maps *m, pid_t pid, uint64_t at_ns)
{
	struct process *p = NULL;

	if (!m || pid <= 0)
		return;
	for (unsigned i = 0; i < MAPS_PROCESSES_MAX && !p; i++)
		if (!m->processes[i].pid || m->processes[i].pid == pid)
			p = &m->processes[i];
	if (!p)
		p = &m->processes[m->next++ % MAPS_PROCESSES_MAX];
	*p = (struct process){ .pid = pid };
	if (!note(m, p, at_ns))
		p->pid = 0;
	fflush(m->file);
}

void maps_add(struct maps *m, const struct kernel_mapped *g)
{
	struct text t = { 0 };

	if (!m || strchr(g->path, '\n'))
		return;
	text_addf(&t, "mapped %d %" PRIu64 " %" PRIx64 "-%" PRIx64 " %" PRIx64 " %s %s\n",
		  (int)g->pid, g->at_ns, g->begin, g->end, g->offset,
		  id_of(m, g->path, g->major, g->minor, g->inode), g->path);
	if (!t.failed && m->size + t.size < MAPS_BYTES_MAX) {
		fwrite(t.bytes, 1, t.size, m->file);
		m->size += t.size;
	}
	text_fini(&t);
}

static void look_again(struct maps *m, struct process *p, uint64_t at_ns)
{
	bool is_alive = true;

	if (p->pid && has_changed(p, &is_alive))
		is_alive = note(m, p, at_ns);
	if (!is_alive)
		p->pid = 0;
}

void maps_again(struct maps *m, uint64_t at_ns)
{
	if (!m)
		return;
	for (unsigned i = 0; i < MAPS_PROCESSES_MAX; i++)
		look_again(m, &m->processes[i], at_ns);
	fflush(m->file);
}

void maps_rotate(struct maps *m, const char *path, const struct tenant *tenant, uint64_t at_ns)
{
	FILE *file = m ? open_file(path, tenant) : NULL;

	if (!file)
		return;
	fclose(m->file);
	m->file = file;
	m->size = 0;
	for (unsigned i = 0; i < MAPS_PROCESSES_MAX; i++)
		m->processes[i].hash = m->processes[i].pages = 0;
	maps_again(m, at_ns);
}

void maps_copy(const struct maps *m, const char *path)
{
	struct maps *to = m ? maps_open(path, NULL) : NULL;
	char bytes[65536];
	off_t at = 0;
	ssize_t n;

	if (!to)
		return;
	while ((n = pread(fileno(m->file), bytes, sizeof bytes, at)) > 0 &&
	       fwrite(bytes, 1, (size_t)n, to->file) == (size_t)n)
		at += n;
	maps_close(to);
}
