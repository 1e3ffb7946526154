/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/maps.c - read /proc/PID/maps of recorded processes and append their executable
 * mappings to .duet/maps.
 *
 * A mapping is written again only if the process's set of mappings has changed: its hash is
 * compared.
 */
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
#include "base/io.h"
#include "base/text.h"
#include "elf/build_id.h"

enum { IDS = 512, LOOKED = 4096 };

struct build_id { /* a file's build ID, cached by the file's identity */
	unsigned long inode;
	unsigned major, minor;
	char id[ELF_BUILD_ID_HEX];
};

struct process {
	pid_t pid;	/* 0: none */
	uint64_t hash;	/* of the mappings written last */
	uint64_t pages; /* mapped pages at that time, of any kind */
	bool is_stable; /* the last two checks found the same */
};

struct maps {
	FILE *file;
	bool of_tenant;
	size_t size; /* bytes written */
	struct process processes[MAPS_PROCESSES_MAX];
	unsigned next;	      /* slot to replace next */
	pid_t looked[LOOKED]; /* at by maps_follow(), by their numbers modulo LOOKED */
	struct build_id build_id[IDS];
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
	return fopen(file, "a+e"); /* a successor of a dead collector appends */
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
	struct build_id *k = &m->build_id[(inode ^ minor * 31u) % IDS];

	if (k->inode != inode || k->major != major || k->minor != minor) {
		*k = (struct build_id){ .inode = inode, .major = major, .minor = minor };
		if (!elf_build_id(path, k->id) && m->of_tenant)
			k->inode = 0; /* its process may be gone: the next one is read again */
	}
	return *k->id ? k->id : "-";
}

/*
 * Parses "begin-end r-xp offset major:minor inode   path" of /proc/PID/maps; keeps code of files, and
 * the stack.
 */
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
	    !path || !line[path] || (rights[2] != 'x' && strcmp(line + path, "[stack]") != 0))
		return;
	/*
	 * For a tenant's program, open the mapped file itself.  Its path may name another file in
	 * our mount namespace, or one that the tenant placed there.
	 */
	snprintf(file, sizeof file, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, begin,
		 end);
	at = m->of_tenant ? file : line + path;
	text_addf(t, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %s %s\n", begin, end, offset,
		  line[path] == '/' ? id_of(m, at, major, minor, inode) : "-", line + path);
}

/* Reads all lines first, and the files' build IDs after that: a short program may end meanwhile. */
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

/*
 * A mapping that comes or goes changes statm's size, which costs a tenth of reading all mappings.
 * Two equal checks are needed, because the first may have been in the middle of a dlopen.
 */
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
	if (pages == p->pages && p->is_stable)
		return false;
	p->is_stable = pages == p->pages;
	p->pages = pages;
	return *is_alive;
}

/* False if the process is gone. */
static bool write_mappings(struct maps *m, struct process *p, uint64_t at_ns)
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
	if (!write_mappings(m, p, at_ns))
		p->pid = 0;
	fflush(m->file);
}

static pid_t leader_of(pid_t tid)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	at = io_read_file(path, text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
	return at ? (pid_t)atoi(at + 6) : 0;
}

static bool is_known(const struct maps *m, pid_t pid)
{
	for (unsigned i = 0; i < MAPS_PROCESSES_MAX; i++)
		if (m->processes[i].pid == pid)
			return true;
	return false;
}

void maps_follow(struct maps *m, pid_t tid, uint64_t at_ns)
{
	pid_t leader;

	if (!m || tid <= 0 || m->looked[tid % LOOKED] == tid)
		return;
	m->looked[tid % LOOKED] = tid;
	leader = leader_of(tid);
	if (leader > 0 && !is_known(m, leader))
		maps_join(m, leader, at_ns);
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

static void check_process(struct maps *m, struct process *p, uint64_t at_ns)
{
	bool is_alive = true;

	if (p->pid && has_changed(p, &is_alive))
		is_alive = write_mappings(m, p, at_ns);
	if (!is_alive) {
		m->looked[p->pid % LOOKED] = 0;
		p->pid = 0;
	}
}

void maps_again(struct maps *m, uint64_t at_ns)
{
	if (!m)
		return;
	for (unsigned i = 0; i < MAPS_PROCESSES_MAX; i++)
		check_process(m, &m->processes[i], at_ns);
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
