/* SPDX-License-Identifier: MIT */
/* kernel/probe/uprobe.c - makes probes in programs: finds the file, its functions and its markers.
 *
 * Several symbols may name one function; it gets one probe. */
#include "kernel/probe/uprobe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/pattern.h"
#include "elf/probe_points.h"
#include "symbol/each.h"
#include "kernel/probe/fetch.h"
#include "kernel/probe/kprobe.h"
#include "kernel/probe/patched.h"

/* One request, parsed. */
struct probe_request {
	const struct kernel_uprobe *probe;
	char path[PATH_MAX];
	char target[512]; /* a pattern of functions, or "provider:name" */
	const char *rest; /* arguments, or their names */
	bool is_return;
};

/* State while the symbols of a file are read. */
struct making {
	struct kernel_probes *probes;
	const struct probe_request *request;
	struct diag *d;
	uint64_t offsets[KERNEL_PROBES_MAX]; /* of the request: a function may have several names */
	int n_offsets;
};

/* ---------------------------------------------------------------- files */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool look_in(const char *directories, const char *name, char *path, size_t size)
{
	for (const char *p = directories; *p;) {
		size_t n = strcspn(p, ":");

		if (n && (size_t)snprintf(path, size, "%.*s/%s", (int)n, p, name) < size &&
		    is_file(path))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

bool kernel_uprobe_file(const char *name, char *path, size_t size)
{
	static const char libraries[] =
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
		"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	const char *commands = getenv("PATH");
	char found[PATH_MAX], *real;

	if (strchr(name, '/')) {
		if ((size_t)snprintf(found, sizeof found, "%s", name) >= sizeof found ||
		    !is_file(found))
			return false;
	} else if (!look_in(commands ? commands : "", name, found, sizeof found) &&
		   !look_in(libraries, name, found, sizeof found)) {
		return false;
	}
	real = realpath(found, NULL);
	if (!real || strlen(real) >= size) {
		free(real);
		return false;
	}
	strcpy(path, real);
	free(real);
	return true;
}

/* ---------------------------------------------------------------- parsing requests */

/* A function's name may have several words: "place(int) const". */
static size_t target_size(const char *p)
{
	size_t n = kernel_probe_word(p);

	for (;;) {
		size_t blank = n + strspn(p + n, " \t"), next = kernel_probe_word(p + blank);

		if (!next || memchr(p + blank, '=', next))
			return n;
		n = blank + next;
	}
}

static int read_request(struct probe_request *w, const struct kernel_uprobe *probe, struct diag *d)
{
	const char *option = kernel_probe_option(probe->kind), *colon = strchr(probe->text, ':');
	static const char mark[] = "%return";
	char file[PATH_MAX];
	size_t size;

	*w = (struct probe_request){ .probe = probe };
	size = colon ? probe->kind == KERNEL_USDT ? strcspn(colon + 1, " \t,")
						  : target_size(colon + 1)
		     : 0;
	if (!size || colon == probe->text || (size_t)(colon - probe->text) >= sizeof file ||
	    size >= sizeof w->target)
		return diag_fail(d, -EINVAL, "%s %s: %s expected", option, probe->text,
				 probe->kind == KERNEL_USDT ? "FILE:PROVIDER:NAME"
							    : "FILE:FUNCTION");
	memcpy(w->target, colon + 1, size);
	w->rest = colon + 1 + size;
	if (probe->kind == KERNEL_USDT && !strchr(w->target, ':'))
		return diag_fail(d, -EINVAL, "%s %s: FILE:PROVIDER:NAME expected", option,
				 probe->text);
	if (probe->kind != KERNEL_USDT && size > sizeof mark - 1 &&
	    !strcmp(w->target + size - (sizeof mark - 1), mark)) {
		w->target[size - (sizeof mark - 1)] = 0;
		w->is_return = true;
	}
	snprintf(file, sizeof file, "%.*s", (int)(colon - probe->text), probe->text);
	if (!kernel_uprobe_file(file, w->path, sizeof w->path))
		return diag_fail(d, -ENOENT, "%s %s: there is no file %s%s", option, probe->text,
				 file, strchr(file, '/') ? "" : ", as a command or as a library");
	if (strpbrk(w->path, " \t\n"))
		return diag_fail(d, -EINVAL,
				 "%s: the kernel cannot probe a file with a blank in its path",
				 w->path);
	return 0;
}

/* @semaphore: 0 means none. */
static int add_probe(struct making *g, const char *kind, const char *name, size_t name_size,
		     uint64_t offset, uint64_t semaphore, const char *fetch)
{
	char place[PATH_MAX + 64];
	int n = snprintf(place, sizeof place, "%s:0x%" PRIx64, g->request->path, offset);

	if (semaphore)
		snprintf(place + n, sizeof place - (size_t)n, "(0x%" PRIx64 ")", semaphore);
	return kernel_probe_add(g->probes, g->request->is_return ? "r" : "p", kind, name, name_size,
				place, fetch);
}

/* ---------------------------------------------------------------- functions */

struct functions {
	struct making *making;
	const char *fetch;
};

static bool is_known(const struct making *g, uint64_t offset)
{
	for (int i = 0; i < g->n_offsets; i++)
		if (g->offsets[i] == offset)
			return true;
	return false;
}

static int try_function(void *arg, const struct each_function *e)
{
	struct functions *f = arg;
	const struct probe_request *w = f->making->request;
	const char *shown = e->written ? e->written : e->name;

	/* foo.cold and the like are parts of functions and rarely called. */
	if (!each_function_is(e, w->target) || (strchr(e->name, '.') && !strchr(w->target, '.')) ||
	    is_known(f->making, e->offset))
		return 0;
	if (f->making->n_offsets == KERNEL_PROBES_MAX)
		return diag_fail(f->making->d, -E2BIG, "-u %s: more than %d functions",
				 w->probe->text, KERNEL_PROBES_MAX);
	f->making->offsets[f->making->n_offsets++] = e->offset;
	return add_probe(f->making, w->is_return ? "uretprobe" : "uprobe", shown,
			 e->written ? strcspn(shown, "(") : strlen(shown), e->offset, 0, f->fetch);
}

static int add_functions(struct making *g)
{
	struct functions f = { .making = g };
	struct text fetch = { 0 };
	int err = kernel_probe_fetch(g->request->rest, false, &fetch, g->d);

	f.fetch = fetch.size ? fetch.bytes : "";
	if (!err)
		err = each_function(g->request->path, try_function, &f, g->d);
	if (!err && !g->n_offsets)
		err = diag_fail(g->d, -ENOENT, "-u %s: %s has no function %s: duet list -u %s",
				g->request->probe->text, g->request->path, g->request->target,
				g->request->path);
	text_fini(&fetch);
	return err;
}

/* ---------------------------------------------------------------- markers */

static int try_marker(void *arg, const struct elf_marker *m)
{
	struct making *g = arg;
	char both[512];
	struct text fetch = { 0 };
	int n = snprintf(both, sizeof both, "%s:%s", m->provider, m->name), err;

	if (n >= (int)sizeof both ||
	    !pattern_glob(g->request->target, g->request->target + strlen(g->request->target), both,
			  both + n))
		return 0;
	err = kernel_fetch_operands(m->arguments, g->request->rest,
				    !strpbrk(g->request->target, "*?"), &fetch, g->d);
	if (err >= 0) {
		if (g->n_offsets < KERNEL_PROBES_MAX)
			g->offsets[g->n_offsets++] = m->offset;
		g->probes->n_left_out += err;
		err = fetch.failed ? -ENOMEM
				   : add_probe(g, "usdt", both, (size_t)n, m->offset, m->semaphore,
					       fetch.size ? fetch.bytes : "");
	}
	text_fini(&fetch);
	return err;
}

static int add_markers(struct making *g)
{
	int err = elf_markers(g->request->path, try_marker, g, g->d);

	if (!err && g->probes->selection->n_events == g->probes->first)
		err = diag_fail(g->d, -ENOENT,
				"--usdt %s: %s has no marker %s: duet list --usdt %s",
				g->request->probe->text, g->request->path, g->request->target,
				g->request->path);
	return err;
}

/* ---------------------------------------------------------------- all */

static void report_left_out(const struct kernel_probes *p, struct diag *d)
{
	char arguments[128] = "", functions[400] = "";

	if (p->n_left_out)
		snprintf(arguments, sizeof arguments,
			 "%d argument%s of USDT markers the kernel cannot fetch: left out (duet "
			 "list --usdt FILE)",
			 p->n_left_out, p->n_left_out == 1 ? "" : "s");
	if (p->n_refused)
		snprintf(functions, sizeof functions,
			 "%d function%s that the kernel cannot probe by name: left out (%.300s%s)",
			 p->n_refused, p->n_refused == 1 ? "" : "s",
			 p->refused.size ? p->refused.bytes : "",
			 p->n_refused > KERNEL_REFUSED_NAMED ? ", ..." : "");
	if (*arguments || *functions)
		diag_fail(d, 0, "%s%s%s", arguments, *arguments && *functions ? "\n  " : "",
			  functions);
}

/* Nothing is enabled yet: no process has a breakpoint. */
static int check_processes(struct making *g)
{
	const struct kernel_uprobe *p = g->request->probe;
	char text[400];

	snprintf(text, sizeof text, "%s %s", kernel_probe_option(p->kind), p->text);
	return patched_check(g->request->path, g->offsets, (size_t)g->n_offsets, 0, text, g->d);
}

int kernel_uprobes_make(int root, const char *instance, const struct kernel_uprobe *probe, int n,
			struct kernel_selection *s, struct diag *d)
{
	struct probe_request *w = malloc(sizeof *w);
	struct kernel_probes probes;
	struct making g = { .probes = &probes, .request = w, .d = d };
	int err = w ? 0 : diag_fail(d, -ENOMEM, "no memory for probes");

	kernel_probes_begin(&probes, root, instance, s, d);
	for (int i = 0; i < n && !err; i++) {
		kernel_probes_next(&probes, &probe[i]);
		if (probe[i].kind >= KERNEL_KPROBE) {
			err = kernel_kprobe_make(&probes);
			continue;
		}
		g.n_offsets = 0;
		err = read_request(w, &probe[i], d);
		if (!err)
			err = probe[i].kind == KERNEL_USDT ? add_markers(&g) : add_functions(&g);
		if (!err)
			err = check_processes(&g);
	}
	if (!err)
		report_left_out(&probes, d);
	kernel_probes_fini(&probes);
	free(w);
	return err;
}
