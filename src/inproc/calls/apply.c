/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/apply.c - plans found for loaded objects, applied, and replaced.
 *
 * Each loaded file that is not ours has a target, with or without a plan, so that no plan is asked
 * for twice.  When the selection changes, sites keep their stubs and numbers: a number never changes
 * its meaning.  Only sites that have no stub yet get one, in a further target of the same file.
 */
#include "inproc/calls/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compose.h"
#include "base/runtime.h"
#include "inproc/calls/file.h"
#include "inproc/calls/unwinder.h"

enum { PATH_BYTES = 1024, PLAN_WAIT_S = 10 };

struct calls_session calls_session;

static struct target *targets;
static uint32_t n_targets;
static uint64_t changes_seen;
static uint64_t configured; /* the generation whose settings are in use */

/* ---------------------------------------------------------------- what is loaded */

struct seen {
	struct loaded o;
	bool is_known;
	char path[PATH_BYTES];
};

struct list {
	struct seen *at;
	uint32_t n;
};

static bool see(const struct loaded *o, void *arg)
{
	struct list *l = arg;

	if (!o->build_id_bytes || o->is_libduet)
		return true;
	l->at[l->n].o = *o;
	compose(l->at[l->n].path, PATH_BYTES, o->path, NULL);
	return ++l->n < ABI_CALLS_OBJECTS;
}

/* The program itself has no path in the loader's list. */
static void name_program(struct seen *s)
{
	ssize_t n;

	if (s->path[0])
		return;
	n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", s->path, PATH_BYTES - 1);
	s->path[n > 0 ? n : 0] = 0;
}

static bool is_of(const struct target *t, const struct loaded *o)
{
	return t->loaded.build_id_bytes == o->build_id_bytes &&
	       !memcmp(t->loaded.build_id, o->build_id, o->build_id_bytes);
}

static bool is_there(const struct target *t, const struct loaded *o)
{
	return t->is_loaded && t->loaded.bias == o->bias && is_of(t, o);
}

/* ---------------------------------------------------------------- plans */

static int open_plans(void)
{
	char path[512], name[ABI_NAME_BYTES + 8];
	int fd;

	compose(name, sizeof name, "calls-", calls_session.name, NULL);
	if (!runtime_file(path, sizeof path, name))
		return -ENAMETOOLONG;
	fd = runtime_dir_open_at(path, false);
	return fd;
}

static uint64_t read_generation(int dir)
{
	int fd = (int)syscall(SYS_openat, dir, "generation",
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	struct abi_plans p = { .magic = 0 };
	ssize_t n = fd < 0 ? -1 : syscall(SYS_pread64, fd, &p, sizeof p, (off_t)0);

	if (fd >= 0)
		syscall(SYS_close, fd);
	return n == (ssize_t)sizeof p && p.magic == ABI_PLANS_MAGIC &&
			       p.epoch == calls_session.epoch
		       ? p.generation
		       : 0;
}

static int64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The plan of a file; head NULL: nothing of it is wanted, or it cannot be had. */
static struct plan find_plan(int dir, const struct seen *s, int64_t until_ns)
{
	struct plan p;
	int err = plan_open(&p, dir, s->o.build_id, s->o.build_id_bytes);

	if (err == -ENOENT && s->path[0] == '/' && coarse_ns() < until_ns &&
	    !request_plan(calls_session.name, &s->o, s->path, until_ns))
		plan_open(&p, dir, s->o.build_id, s->o.build_id_bytes);
	if (p.head && !p.head->n_sites)
		plan_close(&p);
	return p;
}

/* The settings of all plans of a generation are the same. */
static void configure(const struct abi_plan *h)
{
	if (configured == h->generation)
		return;
	configured = h->generation;
	store(&calls.shared->mode, h->mode);
	store(&calls.shared->threshold_ns, h->threshold_ns);
	calls_configure(h);
}

/* ---------------------------------------------------------------- targets */

/* A target that served the same plan before its file was unloaded. */
static struct target *find_unloaded(const struct loaded *o, const struct plan *p)
{
	for (uint32_t i = n_targets; i-- > 0;) {
		struct target *t = &targets[i];

		if (t->is_loaded || !is_of(t, o))
			continue;
		if (!p->head == !t->plan.head &&
		    (!p->head || p->head->generation == t->plan.head->generation))
			return t;
	}
	return NULL;
}

static struct target *add_target(const struct loaded *o, const char *path, const struct plan *p)
{
	struct target *t;

	if (n_targets == ABI_CALLS_OBJECTS)
		return NULL;
	t = &targets[n_targets];
	*t = (struct target){ .loaded = *o, .plan = *p, .is_loaded = true, .is_new = true };
	compose(t->path, sizeof t->path, path, NULL);
	n_targets++;
	return t;
}

/* Takes @p over. */
static void take(struct seen *s, struct plan *p)
{
	struct target *old = find_unloaded(&s->o, p), *t;

	unwinder_connect(&s->o);
	if (old) {
		struct loaded before = old->loaded;

		old->loaded = s->o;
		if (!p->head)
			old->is_loaded = true;
		if (!p->head || target_reload(old)) {
			old->is_new = true;
			plan_close(p);
			return;
		}
		old->loaded = before;
	}
	t = add_target(&s->o, s->path, p);
	if (!t || !p->head) {
		if (!t)
			plan_close(p);
		return;
	}
	configure(p->head);
	target_make(t);
}

static void forget_unloaded(const struct list *l)
{
	for (uint32_t i = 0; i < n_targets; i++) {
		bool found = false;

		for (uint32_t k = 0; k < l->n && !found; k++)
			found = is_there(&targets[i], &l->at[k].o);
		if (targets[i].is_loaded && !found)
			target_unloaded(&targets[i]);
	}
}

static bool is_known(const struct loaded *o)
{
	for (uint32_t i = 0; i < n_targets; i++)
		if (is_there(&targets[i], o))
			return true;
	return false;
}

void apply_objects(void)
{
	struct list l = { .at = target_memory(ABI_CALLS_OBJECTS * sizeof *l.at) };
	int64_t until_ns = coarse_ns() + PLAN_WAIT_S * 1000000000ll;
	int dir = open_plans();

	if (!targets)
		targets = target_memory(ABI_CALLS_OBJECTS * sizeof *targets);
	if (l.at && targets && dir >= 0) {
		if (!load(&calls.shared->generation))
			store(&calls.shared->generation, read_generation(dir));
		changes_seen = loaded_for_each(see, &l);
		forget_unloaded(&l);
		for (uint32_t i = 0; i < l.n; i++) {
			struct plan p;

			if (is_known(&l.at[i].o))
				continue;
			name_program(&l.at[i]);
			p = find_plan(dir, &l.at[i], until_ns);
			take(&l.at[i], &p);
		}
	}
	if (dir >= 0)
		syscall(SYS_close, dir);
	if (l.at)
		munmap(l.at, ABI_CALLS_OBJECTS * sizeof *l.at);
	for (uint32_t i = 0; i < n_targets; i++)
		unwind_register(&targets[i].unwind);
}

bool apply_changed(void)
{
	return loaded_changes() != changes_seen;
}

static void set_hooks(void)
{
	for (uint32_t i = 0; i < n_targets; i++)
		target_set_hooks(&targets[i], load(&calls.shared->mode), false);
}

uint32_t apply_patch(enum patch_how how)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_targets; i++) {
		n += target_patch(&targets[i], how) != 0;
		targets[i].is_new = false;
	}
	set_hooks();
	return n;
}

void apply_patch_new(void)
{
	for (uint32_t i = 0; i < n_targets; i++) {
		if (targets[i].is_new)
			target_patch(&targets[i], PATCH_QUIET);
		targets[i].is_new = false;
	}
	set_hooks();
}

struct target *apply_find(uint32_t function, uint32_t *site)
{
	for (uint32_t i = 0; i < n_targets; i++) {
		struct target *t = &targets[i];
		uint32_t first = t->has_number && t->arena ? target_object(t)->first : 0;

		if (first && function >= first && function - first < t->plan.head->n_sites) {
			*site = function - first;
			return t;
		}
	}
	return NULL;
}

/* ---------------------------------------------------------------- another selection */

/* The site at @address, or NULL. */
static const struct abi_plan_site *find_site(const struct plan *p, uint64_t address,
					     uint32_t *index)
{
	uint32_t low = 0, high = p->head ? p->head->n_sites : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->sites[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	*index = low;
	return p->head && low < p->head->n_sites && p->sites[low].address == address
		       ? &p->sites[low]
		       : NULL;
}

static bool is_patched(uint8_t state)
{
	return state == SITE_ON || state == SITE_OFF || state == SITE_BYPASSED;
}

static void note_states(const struct target *t, const uint8_t *which, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < t->plan.head->n_sites; i++)
		if (which[i] && load(target_function_state(t, i)) == from)
			store(target_function_state(t, i), to);
}

/* Switches the sites of @t that are patched: on if the plan @p still wants them, else off.  A
 * function that the governor has elided stays off. */
static void switch_by(struct target *t, const struct plan *p)
{
	uint32_t n = t->plan.head->n_sites, at;
	uint8_t *on = target_memory(2 * (size_t)n), *off = on + n;

	if (!on)
		return;
	for (uint32_t i = 0; i < n; i++) {
		bool wanted = find_site(p, t->plan.sites[i].address, &at);

		on[i] = wanted && is_patched(t->states[i]) &&
			load(target_function_state(t, i)) != ABI_FUNCTION_ELIDED;
		off[i] = !wanted && is_patched(t->states[i]);
		if (!wanted && (t->states[i] == SITE_WAITS))
			t->states[i] = SITE_REFUSED;
	}
	target_switch(t, off, false);
	target_switch(t, on, true);
	note_states(t, off, ABI_FUNCTION_ON, ABI_FUNCTION_OFF);
	note_states(t, on, ABI_FUNCTION_OFF, ABI_FUNCTION_ON);
	munmap(on, 2 * (size_t)n);
}

/* Sites of @t that an older target of the same file has patched. */
static void leave_to_older(struct target *t)
{
	uint32_t at;

	for (uint32_t i = 0; t->arena && i < t->plan.head->n_sites; i++)
		for (const struct target *o = targets; o < t; o++)
			if (is_there(o, &t->loaded) && o->arena &&
			    find_site(&o->plan, t->plan.sites[i].address, &at) &&
			    is_patched(o->states[at]))
				t->states[i] = SITE_ELSEWHERE;
}

/* Whether the plan has a site that no target of the file has patched or tried to. */
static bool has_new_sites(const struct plan *p, const struct loaded *o)
{
	for (uint32_t i = 0; p->head && i < p->head->n_sites; i++) {
		bool found = false;
		uint32_t at;

		for (uint32_t k = 0; k < n_targets && !found; k++)
			found = is_there(&targets[k], o) && targets[k].arena &&
				find_site(&targets[k].plan, p->sites[i].address, &at) &&
				targets[k].states[at] != SITE_UNPATCHED;
		if (!found)
			return true;
	}
	return false;
}

static bool is_first_of(uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (is_there(&targets[k], &targets[i].loaded))
			return false;
	return targets[i].is_loaded;
}

static void replace_plan(const struct loaded *o, const char *path, int dir)
{
	struct plan p;
	struct target *t;

	plan_open(&p, dir, o->build_id, o->build_id_bytes);
	if (p.head)
		configure(p.head);
	for (uint32_t k = 0; k < n_targets; k++)
		if (is_there(&targets[k], o) && targets[k].arena)
			switch_by(&targets[k], &p);
	t = has_new_sites(&p, o) ? add_target(o, path, &p) : NULL;
	if (!t) {
		plan_close(&p);
		return;
	}
	if (!target_make(t))
		return;
	leave_to_older(t);
	/* The unwinder cannot be asked in a hook: without it an exception would end the program here. */
	if (unwind_has_unwinder())
		target_wait(t);
	else
		target_patch(t, PATCH_LIVE);
}

void apply_generation(void)
{
	uint64_t wanted = load(&calls.shared->wanted);
	uint32_t n = n_targets;
	int dir = open_plans();

	if (dir < 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (is_first_of(i)) {
			const struct loaded o = targets[i].loaded;

			replace_plan(&o, targets[i].path, dir);
		}
	store(&calls.shared->generation, wanted);
	syscall(SYS_close, dir);
	set_hooks();
}

void apply_stop(void)
{
	for (uint32_t i = 0; i < n_targets; i++)
		target_switch(&targets[i], NULL, false);
}

bool apply_restore(void)
{
	bool done = true;

	for (uint32_t i = 0; i < n_targets; i++)
		done &= target_restore(&targets[i]);
	if (done)
		n_targets = 0;
	configured = 0;
	return done;
}
