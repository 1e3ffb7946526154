/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/heap_sites.c - resolves return addresses to frames once, and keeps sums for each
 * call site.
 */
#include "analysis/names/heap_sites.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/callstack.h"
#include "analysis/index.h"
#include "analysis/pass.h"
#include "base/text.h"
#include "symbol/symbol.h"
#include "trace/symbols/public.h"

enum kind { KIND_PROGRAM, KIND_LIBC, KIND_ALLOCATOR };

struct frame_info {
	struct heap_frame frame;
	enum kind kind;
};

struct class
{
	bool has_stack;
	enum ctf_scope scope;
	const struct ctf_op *ip; /* if there is no call stack */
};

struct heap_sites {
	struct modules *modules;
	struct symbols *symbols;
	struct class *classes; /* by class number */
	bool has_any;
	struct index addresses; /* (mapping, address, pid if there is no mapping); user: frame
				 * index + 1 */
	struct index in_files; /* (file, offset, build ID), or (address, pid): frame index; user: it
			   * is filled */
	struct frame_info *frames;
	uint32_t n_frames;
	struct index numbers; /* (asks, asks_for): site */
	struct heap_site *sites;
	uint32_t n_site_rooms;
};

static const uint32_t NO_MAPPING = UINT32_MAX;

static void plan(struct heap_sites *s, struct trace *t, const char *events)
{
	for (uint32_t i = 0; i < trace_n_sources(t); i++)
		for (const struct ctf_event_class *c = trace_source(t, i)->meta->events; c;
		     c = c->next) {
			struct class *class = &s->classes[c->number];

			if (strncmp(c->name, events, strlen(events)) != 0)
				continue;
			class->has_stack = callstack_find(c, &class->scope);
			class->ip = ctf_class_find(c, CTF_CONTEXT, "ip");
			s->has_any |= class->has_stack || class->ip;
		}
}

int heap_sites_open(struct heap_sites **result, struct trace *t, const char *events,
		    const char *const *paths, int n_paths, struct diag *d)
{
	struct heap_sites *s = calloc(1, sizeof *s);

	*result = s;
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for call sites");
	s->symbols = symbols_open();
	s->classes = calloc(trace_n_classes(t) + (size_t)1, sizeof *s->classes);
	if (!s->symbols || !s->classes || modules_open(&s->modules, paths, n_paths, d)) {
		heap_sites_close(s);
		*result = NULL;
		return diag_fail(d, -ENOMEM, "no memory for call sites");
	}
	plan(s, t, events);
	return 0;
}

void heap_sites_close(struct heap_sites *s)
{
	if (!s)
		return;
	modules_close(s->modules);
	symbols_close(s->symbols);
	index_fini(&s->addresses);
	index_fini(&s->in_files);
	index_fini(&s->numbers);
	free(s->sites);
	free(s->frames);
	free(s->classes);
	free(s);
}

bool heap_sites_any(const struct heap_sites *s)
{
	return s->has_any;
}

/* ---------------------------------------------------------------- frames */

static bool begins_with_one(const char *text, const char *const *beginnings, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		if (!strncmp(text, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}
#define BEGINS_WITH_ONE(text, of) begins_with_one(text, of, sizeof(of) / sizeof *(of))

static enum kind kind_of(const struct heap_frame *f)
{
	static const char *const allocators[] = { "libduet-libc.so", "libduet.so",  "liblttng-ust",
						  "libjemalloc",     "libtcmalloc", "libmimalloc" };
	static const char *const libcs[] = { "libc.so",	  "libc-2.",   "ld-",	    "libstdc++.so",
					     "libc++.so", "libc.musl", "libpthread" };
	static const char *const functions[] = { "_Znw", "_Zna" }; /* operator new, new[] */
	const char *slash = f->path ? strrchr(f->path, '/') : NULL,
		   *file = slash ? slash + 1 : f->path;

	if (BEGINS_WITH_ONE(file, allocators) || BEGINS_WITH_ONE(f->function, functions))
		return KIND_ALLOCATOR;
	return BEGINS_WITH_ONE(file, libcs) ? KIND_LIBC : KIND_PROGRAM;
}

static int fill(struct heap_sites *s, uint32_t i, const struct module_location *at,
		uint64_t address)
{
	struct frame_info *p;

	if (pass_grow(&s->frames, &s->n_frames, i, sizeof *s->frames))
		return -ENOMEM;
	p = &s->frames[i];
	p->frame = (struct heap_frame){ .address = address };
	if (at) {
		p->frame.path = at->path;
		p->frame.build_id = at->build_id;
		p->frame.function = symbols_locate(s->symbols, at->path, at->build_id, at->offset,
						   &p->frame.into, &p->frame.address);
		p->frame.into += p->frame.function !=
				 NULL; /* the last byte of the call is known, the return address
				        * is one more */
	}
	p->kind = kind_of(&p->frame);
	if (p->frame.function)
		p->frame.function = symbol_written(s->symbols, p->frame.function);
	return 0;
}

/* The frame index of a return address, or -ENOMEM. */
static int64_t frame_of(struct heap_sites *s, int64_t pid, uint64_t clock, uint64_t address)
{
	uint64_t call =
		address - (address != 0); /* the return address may be in the next function */
	struct module_location at = { .number = NO_MAPPING };
	bool is_known = modules_find(s->modules, pid, clock, call, &at);
	int64_t known = index_find(&s->addresses, at.number, address, is_known ? 0 : (uint64_t)pid,
				   true),
		i;

	if (known < 0)
		return known;
	if (s->addresses.at[known].user)
		return s->addresses.at[known].user - 1;
	i = is_known ? index_find(&s->in_files, hash_bytes(at.path, strlen(at.path)), at.offset,
				  hash_bytes(at.build_id, strlen(at.build_id)), true)
		     : index_find(&s->in_files, address, (uint64_t)pid, UINT64_MAX, true);
	if (i < 0)
		return i;
	if (!s->in_files.at[i].user && fill(s, (uint32_t)i, is_known ? &at : NULL, call))
		return -ENOMEM;
	s->in_files.at[i].user = true;
	s->addresses.at[known].user = (uint32_t)i + 1;
	return i;
}

/* ---------------------------------------------------------------- sites */

static int64_t site_of(struct heap_sites *s, int64_t asks, int64_t asks_for)
{
	int64_t i =
		index_find(&s->numbers, (uint64_t)(asks + 1), (uint64_t)(asks_for + 1), 0, true);

	if (i < 0 || pass_grow(&s->sites, &s->n_site_rooms, (uint32_t)i, sizeof *s->sites))
		return -ENOMEM;
	s->sites[i].asks = (uint32_t)(asks + 1);
	s->sites[i].asks_for = (uint32_t)(asks_for + 1);
	return i;
}

int64_t heap_sites_of(struct heap_sites *s, const struct trace_event *e, int64_t pid)
{
	const struct class *c = &s->classes[trace_class_number(e)];
	uint64_t addresses[CALLSTACK_FRAMES_MAX];
	int64_t asks = -1, asks_for = -1, frame_info;
	enum kind kind = KIND_ALLOCATOR;
	int n = 0;

	if (c->has_stack) {
		n = callstack_read(e, c->scope, addresses);
	} else if (c->ip) {
		addresses[0] = (uint64_t)pass_number(e, c->ip, 0);
		n = addresses[0] != 0;
	}
	for (int i = 0; i < n && kind != KIND_PROGRAM; i++) {
		if (addresses[i] >> 63) /* of the kernel */
			continue;
		frame_info = frame_of(s, pid, e->clock, addresses[i]);
		if (frame_info < 0)
			return frame_info;
		kind = s->frames[frame_info].kind;
		if (asks < 0 || s->frames[asks].kind == KIND_ALLOCATOR)
			asks = frame_info; /* if all frames belong to allocators, the outermost one
				       * counts */
		else if (kind == KIND_PROGRAM)
			asks_for = frame_info;
	}
	return site_of(s, asks, asks_for);
}

bool heap_sites_has(const struct heap_sites *s, uint32_t site)
{
	const struct heap_site *h = &s->sites[site];
	uint32_t frame = h->asks_for ? h->asks_for : h->asks;

	return frame && s->frames[frame - 1].frame.path;
}

void heap_sites_give(struct heap_sites *s, uint32_t site, uint64_t bytes, int64_t now_ns)
{
	struct heap_site *h = &s->sites[site];

	h->n_given++;
	h->given_bytes += bytes;
	h->n_live++;
	h->live_bytes += bytes;
	if (h->live_bytes > h->peak_bytes) {
		h->peak_bytes = h->live_bytes;
		h->peak_ns = now_ns;
	}
}

void heap_sites_take(struct heap_sites *s, uint32_t site, uint64_t bytes)
{
	assert(site < s->numbers.n && s->sites[site].n_live);
	s->sites[site].n_live--;
	s->sites[site].live_bytes -= bytes;
}

static int most_live_first(const void *a, const void *b)
{
	const struct heap_site *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->given_bytes != y->given_bytes)
		return x->given_bytes < y->given_bytes ? 1 : -1;
	return x->asks != y->asks	   ? (x->asks < y->asks ? -1 : 1)
	       : x->asks_for < y->asks_for ? -1
					   : 1;
}

const struct heap_site *heap_sites_sort(struct heap_sites *s, uint32_t *n)
{
	*n = s->numbers.n;
	if (*n)
		qsort(s->sites, *n, sizeof *s->sites, most_live_first);
	return s->sites;
}

const struct heap_frame *heap_sites_frame(const struct heap_sites *s, uint32_t number)
{
	assert(number && number <= s->n_frames);
	return &s->frames[number - 1].frame;
}

/* ---------------------------------------------------------------- words */

const char *heap_sites_line(struct heap_sites *s, const struct heap_frame *f,
			    char buffer[LINE_BYTES])
{
	*buffer = 0;
	return f->path ? lines_of(s->symbols, f->path, f->build_id, f->address, buffer) : buffer;
}

/* The function that the source calls from, though it may be inlined; NULL: unknown. */
static const char *innermost(struct heap_sites *s, const struct heap_frame *f)
{
	const struct symbol_frame *frames;
	struct symbol_file *file =
		f->path && *f->path == '/' ? symbols_file(s->symbols, f->path, f->build_id) : NULL;
	unsigned n = file && symbol_has_dwarf(file) ? symbol_frames(file, f->address, &frames) : 0;

	return n && frames[0].name ? symbol_written(s->symbols, frames[0].name) : NULL;
}

void heap_sites_words(struct heap_sites *s, uint32_t site, struct text *t)
{
	const struct heap_site *h = &s->sites[site];
	const struct heap_frame *f = h->asks ? &s->frames[h->asks - 1].frame : NULL;
	char line[LINE_BYTES];
	const char *inlined;

	if (h->asks_for) /* the frame asks for the C library's function, as strdup() */
		f = &s->frames[h->asks_for - 1].frame;
	if (!f) {
		text_addf(t, "?");
		return;
	}
	inlined = innermost(s, f);
	if (inlined || f->function)
		text_addf(t, "%.200s", inlined ? inlined : f->function);
	else
		text_addf(t, "0x%" PRIx64, f->address);
	if (*heap_sites_line(s, f, line))
		text_addf(t, " at %s", line);
	else if (f->function && f->into)
		text_addf(t, "+0x%" PRIx64, f->into);
}
