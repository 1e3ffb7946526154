/* SPDX-License-Identifier: MIT */
/* kernel/uprobe.c - see uprobe.h. */
#include "kernel/uprobe.h"

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

#include "base/pattern.h"
#include "elf/probes.h"
#include "kernel/fetch.h"
#include "kernel/tracefs.h"

enum { PROBES_MAX = 512, REMOVE_TRIES = 50 };

static const char events_file[] = "uprobe_events";
static const char prefix[] = "duet_";

/* One wish taken apart. */
struct wish {
	const struct kernel_uprobe *wanted;
	char path[PATH_MAX];
	char what[512]; /* a function's pattern, or "provider:name" */
	const char *rest; /* arguments, or their names */
	bool is_return;
};

/* On the way through a file. */
struct making {
	int root;
	const char *group;
	struct kernel_selection *selection;
	const struct wish *wish;
	int first; /* of this wish's events in the selection */
	int n_left_out;
	struct diag *d;
};

bool kernel_uprobe_is_ours(const char *system)
{
	return !strncmp(system, prefix, sizeof prefix - 1);
}

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

		if (n && (size_t)snprintf(path, size, "%.*s/%s", (int)n, p, name) < size && is_file(path))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

bool kernel_uprobe_file(const char *name, char *path, size_t size)
{
	static const char libraries[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
					"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	const char *commands = getenv("PATH");
	char found[PATH_MAX], *real;

	if (strchr(name, '/')) {
		if ((size_t)snprintf(found, sizeof found, "%s", name) >= sizeof found || !is_file(found))
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

/* ---------------------------------------------------------------- what is wished for */

/* Up to a blank that no parenthesis encloses. */
static size_t word_size(const char *p)
{
	size_t n = 0;

	for (int depth = 0; p[n] && (!isspace((unsigned char)p[n]) || depth > 0); n++)
		depth += (p[n] == '(' || p[n] == '<') - (p[n] == ')' || p[n] == '>');
	return n;
}

/* A function's name may have further words: "place(int) const". */
static size_t what_size(const char *p)
{
	size_t n = word_size(p);

	for (;;) {
		size_t blank = n + strspn(p + n, " \t"), next = word_size(p + blank);

		if (!next || memchr(p + blank, '=', next))
			return n;
		n = blank + next;
	}
}

static int read_wish(struct wish *w, const struct kernel_uprobe *wanted, struct diag *d)
{
	const char *option = wanted->is_usdt ? "--usdt" : "-u", *colon = strchr(wanted->text, ':');
	static const char mark[] = "%return";
	char file[PATH_MAX];
	size_t size;

	*w = (struct wish){ .wanted = wanted };
	size = colon ? wanted->is_usdt ? strcspn(colon + 1, " \t,") : what_size(colon + 1) : 0;
	if (!size || colon == wanted->text || (size_t)(colon - wanted->text) >= sizeof file || size >= sizeof w->what)
		return diag_fail(d, -EINVAL, "%s %s: %s expected", option, wanted->text,
				 wanted->is_usdt ? "FILE:PROVIDER:NAME" : "FILE:FUNCTION");
	memcpy(w->what, colon + 1, size);
	w->rest = colon + 1 + size;
	if (wanted->is_usdt && !strchr(w->what, ':'))
		return diag_fail(d, -EINVAL, "%s %s: FILE:PROVIDER:NAME expected", option, wanted->text);
	if (!wanted->is_usdt && size > sizeof mark - 1 && !strcmp(w->what + size - (sizeof mark - 1), mark)) {
		w->what[size - (sizeof mark - 1)] = 0;
		w->is_return = true;
	}
	snprintf(file, sizeof file, "%.*s", (int)(colon - wanted->text), wanted->text);
	if (!kernel_uprobe_file(file, w->path, sizeof w->path))
		return diag_fail(d, -ENOENT, "%s %s: there is no file %s%s", option, wanted->text, file,
				 strchr(file, '/') ? "" : ", as a command or as a library");
	if (strpbrk(w->path, " \t\n"))
		return diag_fail(d, -EINVAL, "%s: the kernel sets no probe in a file with a blank in its path", w->path);
	return 0;
}

/* ---------------------------------------------------------------- one probe */

/* What the kernel said last against a probe: its log is everybody's, so this is a hint. */
static void add_reason(const struct making *g, char *why, size_t size)
{
	static const char mark[] = "error: ";
	char *log, *last = NULL;

	snprintf(why, size, "is it an expression that it knows?");
	if (kernel_tracefs_read(g->root, "error_log", &log) < 0)
		return;
	for (char *p = log; (p = strstr(p, mark)); p += sizeof mark - 1)
		last = p + sizeof mark - 1;
	if (last)
		snprintf(why, size, "%.*s", (int)strcspn(last, "\n"), last);
	free(log);
}

/* "usdt_shop_order": what is no letter or digit becomes one underscore. */
static void make_name(char *to, size_t size, const char *kind, const char *name, size_t name_size)
{
	size_t n = (size_t)snprintf(to, size, "%s_", kind);

	for (size_t i = 0; i < name_size && n + 1 < size; i++)
		if (isalnum((unsigned char)name[i]) || name[i] == '_')
			to[n++] = name[i];
		else if (to[n - 1] != '_')
			to[n++] = '_';
	while (n > 1 && to[n - 1] == '_')
		n--;
	to[n] = 0;
}

/* Whether another probe, of another wish, has the name. */
static bool is_taken(const struct making *g, const char *name)
{
	for (int i = 0; i < g->first; i++)
		if (!strcmp(g->selection->events[i].name, name))
			return true;
	return false;
}

/* @semaphore: 0: none.  @fetch: what to record. */
static int add_probe(struct making *g, const char *name, uint64_t offset, uint64_t semaphore, const char *fetch)
{
	struct kernel_candidate c = { .system = g->group, .nr = -1 };
	char event[32], shown[96], why[160];
	struct text line = { 0 };
	int err;

	if (g->selection->n_events >= PROBES_MAX)
		return diag_fail(g->d, -E2BIG, "more than %d probes: name fewer functions", PROBES_MAX);
	snprintf(event, sizeof event, "p%d", g->selection->n_events);
	snprintf(shown, sizeof shown, "%s", name);
	for (int i = 2; is_taken(g, shown); i++)
		snprintf(shown, sizeof shown, "%.80s_%d", name, i);
	text_addf(&line, "%c:%s/%s %s:0x%" PRIx64, g->wish->is_return ? 'r' : 'p', g->group, event, g->wish->path, offset);
	if (semaphore)
		text_addf(&line, "(0x%" PRIx64 ")", semaphore);
	text_addf(&line, "%s\n", fetch);
	err = line.failed ? -ENOMEM : kernel_tracefs_write(g->root, events_file, line.bytes);
	text_fini(&line);
	if (err) {
		add_reason(g, why, sizeof why);
		return diag_fail(g->d, err, "%s %s: the kernel refuses it: %s", g->wish->wanted->is_usdt ? "--usdt" : "-u",
				 g->wish->wanted->text, err == -EINVAL ? why : strerror(-err));
	}
	c.event = event;
	c.name = shown;
	return kernel_selection_add(g->selection, &c, g->wish->wanted->filter);
}

/* ---------------------------------------------------------------- functions */

struct functions {
	struct making *making;
	const char *fetch;
	uint64_t *offsets; /* of those that have a probe: functions have several names */
	int n;
};

static bool is_known(const struct functions *f, uint64_t offset)
{
	for (int i = 0; i < f->n; i++)
		if (f->offsets[i] == offset)
			return true;
	return false;
}

static int try_function(void *arg, const struct elf_function *e)
{
	struct functions *f = arg;
	const struct wish *w = f->making->wish;
	const char *shown = e->written ? e->written : e->name;
	char name[96];

	/* foo.cold and its like are parts of functions, and mostly no places that are called. */
	if (!elf_function_is(e, w->what) || (strchr(e->name, '.') && !strchr(w->what, '.')) || is_known(f, e->offset))
		return 0;
	if (f->n == PROBES_MAX)
		return diag_fail(f->making->d, -E2BIG, "-u %s: more than %d functions", w->wanted->text, PROBES_MAX);
	f->offsets[f->n++] = e->offset;
	make_name(name, sizeof name, w->is_return ? "uretprobe" : "uprobe", shown, e->written ? strcspn(shown, "(") : strlen(shown));
	return add_probe(f->making, name, e->offset, 0, f->fetch);
}

static int add_functions(struct making *g)
{
	struct functions f = { .making = g };
	struct text fetch = { 0 };
	int err = 0;

	for (const char *p = g->wish->rest; !err && *(p += strspn(p, " \t"));) {
		size_t size = word_size(p);

		err = kernel_fetch_argument(p, size, &fetch, g->d);
		p += size;
	}
	f.fetch = fetch.size ? fetch.bytes : "";
	f.offsets = malloc(PROBES_MAX * sizeof *f.offsets);
	if (!err && (fetch.failed || !f.offsets))
		err = diag_fail(g->d, -ENOMEM, "no memory for probes");
	if (!err)
		err = elf_functions(g->wish->path, try_function, &f, g->d);
	if (!err && !f.n)
		err = diag_fail(g->d, -ENOENT, "-u %s: %s has no function %s: duet list -u %s", g->wish->wanted->text,
				g->wish->path, g->wish->what, g->wish->path);
	free(f.offsets);
	text_fini(&fetch);
	return err;
}

/* ---------------------------------------------------------------- markers */

static int try_marker(void *arg, const struct elf_marker *m)
{
	struct making *g = arg;
	char both[512], name[96];
	struct text fetch = { 0 };
	int n = snprintf(both, sizeof both, "%s:%s", m->provider, m->name), err;

	if (n >= (int)sizeof both || !pattern_glob(g->wish->what, g->wish->what + strlen(g->wish->what), both, both + n))
		return 0;
	err = kernel_fetch_operands(m->arguments, g->wish->rest, !strpbrk(g->wish->what, "*?"), &fetch, g->d);
	if (err >= 0) {
		g->n_left_out += err;
		make_name(name, sizeof name, "usdt", both, (size_t)n);
		err = fetch.failed ? -ENOMEM : add_probe(g, name, m->offset, m->semaphore, fetch.size ? fetch.bytes : "");
	}
	text_fini(&fetch);
	return err;
}

static int add_markers(struct making *g)
{
	int err = elf_markers(g->wish->path, try_marker, g, g->d);

	if (!err && g->selection->n_events == g->first)
		err = diag_fail(g->d, -ENOENT, "--usdt %s: %s has no marker %s: duet list --usdt %s", g->wish->wanted->text,
				g->wish->path, g->wish->what, g->wish->path);
	return err;
}

/* ---------------------------------------------------------------- all */

/* "instances/duet-1-2-0": the group duet_1_2_0. */
static void group_of(const char *instance, char group[64])
{
	const char *name = strrchr(instance, '/');

	snprintf(group, 64, "%s", name ? name + 1 : instance);
	for (char *p = group; *p; p++)
		*p = *p == '-' ? '_' : *p;
}

int kernel_uprobes_make(int root, const char *instance, const struct kernel_uprobe *wanted, int n,
			struct kernel_selection *s, struct diag *d)
{
	struct wish *w = malloc(sizeof *w);
	char group[64];
	struct making g = { .root = root, .group = group, .selection = s, .wish = w, .d = d };
	int err = w ? 0 : diag_fail(d, -ENOMEM, "no memory for probes");

	group_of(instance, group);
	for (int i = 0; i < n && !err; i++) {
		g.first = s->n_events;
		err = read_wish(w, &wanted[i], d);
		if (!err)
			err = wanted[i].is_usdt ? add_markers(&g) : add_functions(&g);
	}
	if (!err && g.n_left_out)
		diag_fail(d, 0, "%d argument%s of USDT markers the kernel cannot fetch: left out (duet list --usdt FILE)",
			  g.n_left_out, g.n_left_out == 1 ? "" : "s");
	free(w);
	return err;
}

/* Calls @visit with "group" and "event" of each line that is ours. */
static void each_of_ours(int root, bool (*is_wanted)(void *arg, const char *group), void *arg)
{
	char *text, group[64], event[64], line[160];

	if (kernel_tracefs_read(root, events_file, &text) < 0)
		return;
	for (char *p = text, *end; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		if (sscanf(p, "%*[pr]:%63[^/ \n]/%63[^ \n]", group, event) != 2 || !kernel_uprobe_is_ours(group) ||
		    !is_wanted(arg, group))
			continue;
		snprintf(line, sizeof line, "-:%s/%s\n", group, event);
		for (int i = 0; i < REMOVE_TRIES && kernel_tracefs_write(root, events_file, line) == -EBUSY; i++)
			usleep(2000); /* someone looks at it */
	}
	free(text);
}

static bool is_this(void *arg, const char *group)
{
	return !strcmp(arg, group);
}

void kernel_uprobes_remove(int root, const char *instance)
{
	char group[64];

	group_of(instance, group);
	each_of_ours(root, is_this, group);
}

static bool is_stale(void *arg, const char *group)
{
	char path[96] = "instances/";
	size_t n = strlen(path);

	snprintf(path + n, sizeof path - n, "%s", group);
	for (char *p = path + n; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return kernel_instance_is_stale(path + n) && faccessat(*(int *)arg, path, F_OK, 0);
}

void kernel_uprobes_reap(int root)
{
	each_of_ours(root, is_stale, &root);
}
