/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/processes.c - the processes that recorded calls: one for each calls file, and one
 * for batches without.
 *
 * A process id may be used again, and a process may execute another program.  So a batch belongs to
 * the program with its pid that registered last before it.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/calls/internal.h"

/* The directory DIR of a source: the nearest above it with a directory .duet. */
static bool root_of(const struct trace_source *s, char root[PATH_MAX])
{
	char path[PATH_MAX + 8];
	struct stat st;

	if (snprintf(root, PATH_MAX, "%s", s->path) >= PATH_MAX)
		return false;
	for (int up = 0; up < 6; up++) {
		char *slash;

		snprintf(path, sizeof path, "%s/.duet", root);
		if (!stat(path, &st) && S_ISDIR(st.st_mode))
			return true;
		slash = strrchr(root, '/');
		if (!slash || slash == root)
			return false;
		*slash = 0;
	}
	return false;
}

/* Added to times of a source's clock; 0 if it has no streams. */
static int64_t epoch_of(const struct trace *t, const struct trace_source *source)
{
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		if (trace_stream(t, i)->source == source)
			return (int64_t)trace_stream_file((struct trace *)t, i)->base_ns;
	return 0;
}

/* The source that stands for a root: the first of programs, else any. */
static const struct trace_source *source_of_root(const struct fcalls *c, const uint32_t *roots,
						 uint32_t root)
{
	const struct trace_source *any = NULL;

	for (uint32_t i = trace_n_sources(c->trace); i--;) {
		const struct trace_source *s = trace_source(c->trace, i);

		if (roots[i] == root &&
		    (!any || s->domain != TRACE_KERNEL || any->domain == TRACE_KERNEL))
			any = s;
	}
	return any;
}

static int add_process(struct fcalls *c, const struct process *one)
{
	if (pass_grow(&c->processes, &c->n_process_rooms, c->n_processes, sizeof *c->processes))
		return -ENOMEM;
	c->processes[c->n_processes++] = *one;
	return 0;
}

static void read_head_of(struct process *p)
{
	const struct abi_calls *head = p->file->head;

	snprintf(p->program, sizeof p->program, "%.*s", (int)sizeof head->program, head->program);
	p->public.pid = head->pid;
	p->public.has_file = true;
	p->public.mode = head->mode;
	p->public.threshold_ns = head->threshold_ns;
	p->public.hook_ns_x256 =
		(uint64_t)((unsigned __int128)head->hook_ticks * head->clock.mult >> 32);
	p->public.lost = head->lost;
	p->public.n_objects = p->file->n_objects;
	for (uint32_t i = 0; i < p->file->n_objects; i++) {
		p->public.n_patched += p->file->objects[i].n_patched;
		p->public.n_refused += p->file->objects[i].n_refused;
	}
}

/* A process for each calls file. */
static int add_files(struct fcalls *c, const uint32_t *roots)
{
	for (uint32_t i = 0; i < c->files.n_files; i++) {
		struct process p = { .file = &c->files.files[i] };

		p.source = source_of_root(c, roots, p.file->root);
		assert(p.source);
		p.epoch_ns = epoch_of(c->trace, p.source);
		read_head_of(&p);
		p.public.source = p.source->number;
		if (add_process(c, &p))
			return -ENOMEM;
	}
	return 0;
}

int processes_find(struct fcalls *c)
{
	uint32_t n = trace_n_sources(c->trace);
	uint32_t *roots = malloc((n + (size_t)1) * sizeof *roots);
	char root[PATH_MAX];
	int err = roots ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		roots[i] = UINT32_MAX;
		if (!root_of(trace_source(c->trace, i), root))
			continue;
		err = calls_files_add(&c->files, root);
		for (uint32_t k = 0; k < c->files.n_roots && !err; k++)
			if (!strcmp(c->files.roots[k], root))
				roots[i] = k;
	}
	if (!err)
		err = calls_files_link(&c->files);
	if (!err)
		err = add_files(c, roots);
	c->losses.n_without_file = c->files.n_refused;
	c->losses.n_without_plan = c->files.n_without_plan;
	free(roots);
	return err;
}

/* The program that had process id @ref->pid then: the last one registered before. */
int processes_set(struct fcalls *c, struct batch_ref *ref)
{
	const struct trace_source *source = trace_source(c->trace, ref->process);
	uint64_t best_ns = 0;
	uint32_t best = UINT32_MAX;
	struct process p = { .source = source };

	for (uint32_t i = 0; i < c->n_processes; i++) {
		const struct process *q = &c->processes[i];
		uint64_t at_ns = q->file ? q->file->head->registered_ns : 0;

		if (q->public.pid != ref->pid || strcmp(q->source->hostname, source->hostname) ||
		    (int64_t)(at_ns + (uint64_t)q->epoch_ns) > ref->base_ns ||
		    at_ns > INT64_MAX / 2)
			continue;
		if (best == UINT32_MAX || at_ns >= best_ns) {
			best = i;
			best_ns = at_ns;
		}
	}
	ref->process = best;
	if (best != UINT32_MAX)
		return 0;
	p.public.pid = ref->pid;
	p.public.source = source->number;
	ref->process = c->n_processes;
	c->losses.n_without_file++;
	return add_process(c, &p);
}
