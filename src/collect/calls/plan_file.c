/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/plan_file.c - the plan of one file, in the planner.
 *
 * A file without wanted functions gets a plan without sites: no program asks for it again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/calls/plan_cache.h"
#include "collect/calls/planner.h"
#include "elf/build_id.h"
#include "rules/nearest.h"

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int check_file(const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return diag_errno(d, "cannot plan %.200s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = diag_fail(d, -ENOEXEC, "%.200s is no regular file", path);
	else if (st.st_size > PLANNER_FILE_MOST)
		err = diag_fail(d, -EFBIG, "%.200s is larger than 1 GiB: it is not planned", path);
	close(fd);
	return err;
}

/* ---------------------------------------------------------------- a plan without sites */

static uint32_t parse_build_id(const char *hex, uint8_t id[ABI_BUILD_ID_BYTES])
{
	uint32_t n = 0;
	unsigned byte;

	for (; n < ABI_BUILD_ID_BYTES && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		id[n] = (uint8_t)byte;
	return n;
}

static int write_empty_plan(struct planner *p, const char *build_id, const char *path)
{
	uint32_t text = (uint32_t)strlen(path) + 2;
	struct abi_plan plan = { .magic = ABI_PLAN_MAGIC,
				 .version = ABI_PLAN_VERSION,
				 .size_bytes = (uint32_t)sizeof plan + text,
				 .generation = p->selection.generation,
				 .mode = p->selection.mode,
				 .text_bytes = text,
				 .text = sizeof plan,
				 .path = 1 };
	const char *fresh = ".empty";
	int fd, err;

	plan.sites = plan.fixups = plan.operands = plan.code = sizeof plan;
	plan.build_id_bytes = parse_build_id(build_id, plan.build_id);
	fd = openat(p->calls->plans, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : io_write(fd, &plan, sizeof plan);
	if (!err)
		err = io_write(fd, "", 1);
	if (!err)
		err = io_write(fd, path, strlen(path) + 1);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(p->calls->plans, fresh, p->calls->plans, build_id))
		err = -errno;
	return err;
}

static bool has_plan(const struct planner *p, const char *build_id)
{
	return !faccessat(p->calls->plans, build_id, F_OK, 0);
}

/* ---------------------------------------------------------------- matches of patterns */

static void find_nearest(struct calls_pattern *to, const char *pattern, const struct patch_file *f)
{
	const struct patch_function *functions;
	uint32_t n = patch_functions(f, &functions);
	const char *colon = strchr(pattern, ':');
	struct nearest best = { colon ? colon + 1 : pattern };

	for (uint32_t i = 0; i < n && !strpbrk(best.wanted, "*?["); i++)
		nearest_try(&best, functions[i].name);
	if (*best.best)
		snprintf(to->nearest, sizeof to->nearest, "%s", best.best);
}

static void find_reason(struct calls_pattern *to, const struct patch_count *n)
{
	enum patch_reason most = PATCH_PATCHABLE;

	for (int i = PATCH_PATCHABLE + 1; i < PATCH_REASONS; i++)
		if (n->refused[i] && (!most || n->refused[i] > n->refused[most]))
			most = (enum patch_reason)i;
	if (most)
		snprintf(to->reason, sizeof to->reason, "%s", patch_reason_text(most));
}

static struct calls_pattern *found_of(struct calls_found *f, const char *pattern)
{
	struct calls_pattern *p;

	for (uint32_t i = 0; i < f->n_patterns; i++)
		if (!strncmp(f->patterns[i].text, pattern, sizeof f->patterns[i].text - 1))
			return &f->patterns[i];
	if (f->n_patterns == CALLS_PATTERNS)
		return NULL;
	p = &f->patterns[f->n_patterns];
	*p = (struct calls_pattern){ .files = 0 };
	snprintf(p->text, sizeof p->text, "%s", pattern);
	f->n_patterns++;
	return p;
}

void planner_list_patterns(struct planner *p)
{
	p->calls->found->n_patterns = 0;
	for (uint32_t i = 0; i < p->selection.n_patterns; i++)
		if (*p->selection.patterns[i] != '!')
			found_of(p->calls->found, p->selection.patterns[i]);
}

/* The patterns that name the file: their counts are its own. */
static bool names_file(const char *pattern, const char *path, const char *soname)
{
	return *pattern != '!' && patch_file_is(pattern, path, soname);
}

/* @f: NULL: each pattern that names the file has matched something of it. */
static void count_found(struct planner *p, const char *path, const char *soname,
			const struct patch_file *f, const struct patch_count *counts)
{
	const struct selection *s = &p->selection;

	for (uint32_t i = 0; i < s->n_patterns + s->n_within; i++) {
		const char *pattern =
			i < s->n_patterns ? s->patterns[i] : s->within[i - s->n_patterns];
		struct calls_pattern *found;

		if (!names_file(pattern, path, soname) ||
		    !(found = found_of(p->calls->found, pattern)))
			continue;
		found->files++;
		found->matched += counts[i].matched;
		found->patched += counts[i].patched;
		find_reason(found, &counts[i]);
		if (f && !counts[i].matched && !*found->nearest)
			find_nearest(found, pattern, f);
	}
}

/* ---------------------------------------------------------------- the plan */

/*
 * Programs have applied the plan that is replaced now, and their functions are numbered by it.  It
 * stays as <build ID>-<generation>, for the recording.
 */
static void set_aside(const struct planner *p, const char *build_id)
{
	char name[2 * ABI_BUILD_ID_BYTES + 24];
	struct abi_plan plan = { .magic = 0 };
	int fd = io_open_file(p->calls->plans, build_id);

	if (fd < 0)
		return;
	if (pread(fd, &plan, sizeof plan, 0) == (ssize_t)sizeof plan && plan.n_sites) {
		snprintf(name, sizeof name, "%.*s-%llu", 2 * ABI_BUILD_ID_BYTES, build_id,
			 (unsigned long long)plan.generation);
		linkat(p->calls->plans, build_id, p->calls->plans, name, 0);
	}
	close(fd);
}

/* Functions whose arguments were wanted in vain: nothing is left out silently. */
static void report_arguments(struct planner *p, const char *path, const struct patch_count *counts)
{
	uint32_t n = 0;
	struct diag d;

	for (uint32_t i = 0; i < p->selection.n_patterns; i++)
		n += *p->selection.patterns[i] == '!' ? 0 : counts[i].without_arguments;
	if (!n)
		return;
	diag_fail(&d, 0,
		  "--graph-args: of %u functions of %.100s the arguments are not recorded: there "
		  "is no "
		  "debug information about them, or they take structs by value",
		  n, last_component(path));
	planner_trouble(p, &d);
}

static struct patch_count *new_counts(const struct patch_request *r, uint32_t *n)
{
	*n = r->n_patterns + r->n_within + r->n_marks + 1;
	return calloc(*n, sizeof(struct patch_count));
}

static int make_plan(struct planner *p, const struct patch_file *f, bool is_counted, struct diag *d)
{
	struct patch_request r = selection_request(&p->selection);
	uint32_t n_counts;
	struct patch_count *counts = new_counts(&r, &n_counts);
	int n = counts ? patch_make_plan(f, &r, p->calls->plans, counts, d)
		       : diag_fail(d, -ENOMEM, "no memory");

	if (n >= 0 && is_counted) {
		count_found(p, patch_path(f), patch_soname(f), f, counts);
		report_arguments(p, patch_path(f), counts);
	}
	if (n > 0 && !p->calls->o->tenant)
		plan_cache_put(&p->selection, patch_path(f), patch_build_id(f), p->calls->plans,
			       counts, n_counts, patch_soname(f), n);
	free(counts);
	return n;
}

/* A pattern of this file that matched nothing is reported with the nearest names, which a cached
 * plan does not have. */
static bool all_matched(const struct selection *s, const char *path, const char *soname,
			const struct patch_count *counts)
{
	for (uint32_t i = 0; i < s->n_patterns + s->n_within; i++)
		if (!counts[i].matched &&
		    names_file(i < s->n_patterns ? s->patterns[i] : s->within[i - s->n_patterns],
			       path, soname))
			return false;
	return true;
}

/* Takes the plan from the cache.  Returns its sites, or 0. */
static int take_cached(struct planner *p, const char *path, const char *build_id, bool fresh)
{
	struct patch_request r = selection_request(&p->selection);
	char id[ELF_BUILD_ID_HEX] = "", soname[PLAN_CACHE_SONAME];
	uint32_t n_counts;
	struct patch_count *counts;
	bool is_known;
	int n = 0;

	if (p->calls->o->tenant || !elf_build_id(path, id))
		return 0;
	id[2 * ABI_BUILD_ID_BYTES] = 0;
	is_known = has_plan(p, id);
	if ((build_id && strncmp(build_id, id, strlen(build_id)) != 0) || is_known || fresh)
		return 0; /* planning reports it, or sets the older plan aside */
	counts = new_counts(&r, &n_counts);
	if (counts)
		n = plan_cache_take(&p->selection, path, id, p->calls->plans, counts, n_counts,
				    soname);
	if (n && !all_matched(&p->selection, path, soname, counts)) {
		unlinkat(p->calls->plans, id, 0);
		n = 0;
	}
	if (n) {
		count_found(p, path, soname, NULL, counts);
		report_arguments(p, path, counts);
		p->n_plans++;
	}
	free(counts);
	return n;
}

static int plan_open_file(struct planner *p, struct patch_file *f, const char *build_id, bool fresh,
			  struct diag *d)
{
	const char *id = patch_build_id(f);
	bool is_known = has_plan(p, id);
	int n;

	if (build_id && strncmp(build_id, id, strlen(build_id)) != 0)
		return diag_fail(d, -ESTALE,
				 "%.200s is not the file that the program has loaded: it was "
				 "replaced",
				 patch_path(f));
	if (is_known && !fresh)
		return 0;
	if (is_known)
		set_aside(p, id);
	n = make_plan(p, f, !is_known || fresh, d);
	if (!n && !has_plan(p, id))
		n = write_empty_plan(p, id, patch_path(f));
	p->n_plans += !is_known;
	return n;
}

/* The name of the file alone decides that nothing of it is wanted.  @build_id: NULL: unknown. */
static int plan_unwanted(struct planner *p, const char *path, const char *build_id)
{
	char id[ELF_BUILD_ID_HEX] = "";

	/* A program names path and build ID: an empty plan under another file's ID would hide that
	 * file from all programs of the session. */
	if (!elf_build_id(path, id) || (build_id && strncmp(build_id, id, strlen(build_id)) != 0))
		return build_id ? -ESTALE : 0;
	id[2 * ABI_BUILD_ID_BYTES] = 0;
	build_id = id;
	if (has_plan(p, build_id))
		return 0;
	p->n_plans++;
	return write_empty_plan(p, build_id, path);
}

bool planner_wants(const struct planner *p, const char *path)
{
	return selection_has_file(&p->selection, last_component(path), "");
}

int planner_plan_file(struct planner *p, const char *path, const char *build_id, bool fresh,
		      struct diag *d)
{
	struct patch_file *f;
	int err, n;

	if (build_id && !fresh && has_plan(p, build_id))
		return 0;
	if (p->n_plans >= PLANNER_PLANS)
		return diag_fail(d, -ENOSPC, "%.200s: the session has %d plans already", path,
				 PLANNER_PLANS);
	if (!planner_wants(p, path) && !fresh)
		return plan_unwanted(p, path, build_id);
	err = check_file(path, d);
	if (!err && (n = take_cached(p, path, build_id, fresh)))
		return n;
	if (!err)
		err = patch_open(&f, path, NULL, d);
	if (err == -ENODATA)
		return err; /* it can have no plan */
	if (err)
		return build_id && err != -ENOENT ? plan_unwanted(p, path, build_id) : err;
	err = plan_open_file(p, f, build_id, fresh, d);
	patch_close(f);
	return err;
}
