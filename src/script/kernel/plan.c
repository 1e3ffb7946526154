/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/plan.c - probes put into sections, and sections into sites.
 *
 * A capture is the fetches of all slots and cells that a handler needs, each once.  Two probes share
 * a section if they have the same handler and equal fetches; two sections share a site if they are
 * at the same place of the kernel.
 */
#include "script/kernel/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "script/kernel/emit.h"

uint32_t kernel_control_room(struct kernel_source *s, uint32_t bytes)
{
	uint32_t at = s->control_bytes;

	s->control_bytes += (bytes + 7) & ~7u;
	return at;
}

/* ---------------------------------------------------------------- cells that events have */

static const struct {
	enum script_standard which;
	const char *path; /* in struct task_struct */
} of_tasks[] = {
	{ STANDARD_PPID, "real_parent->tgid" },
	{ STANDARD_EUID, "cred->euid.val" },
	{ STANDARD_EGID, "cred->egid.val" },
	{ STANDARD_SESSION_ID, "signal->pids[3]->numbers[0].nr" },
	{ STANDARD_PGRP, "signal->pids[2]->numbers[0].nr" },
	{ STANDARD_PROCESS_NS, "group_leader->start_time" },
	{ STANDARD_PROCNAME, "group_leader->comm" },
	{ STANDARD_PARENT_NAME, "real_parent->comm" },
};

static const struct {
	enum script_standard which;
	struct kernel_fetch fetch;
} simple[] = {
	{ STANDARD_PID, { .base = FETCH_PID_TGID, .bytes = 8, .bit = 32, .bits = 32 } },
	{ STANDARD_TID, { .base = FETCH_PID_TGID, .bytes = 8, .bits = 32 } },
	{ STANDARD_UID, { .base = FETCH_UID_GID, .bytes = 8, .bits = 32 } },
	{ STANDARD_GID, { .base = FETCH_UID_GID, .bytes = 8, .bit = 32, .bits = 32 } },
	{ STANDARD_CPU, { .base = FETCH_CPU, .bytes = 4 } },
	{ STANDARD_CGROUP, { .base = FETCH_CGROUP, .bytes = 8 } },
	{ STANDARD_TASK, { .base = FETCH_TASK, .bytes = 8, .is_trusted = true } },
	{ STANDARD_EXECNAME, { .what = FETCH_COMM, .size = COMM_BYTES } },
	{ STANDARD_KERNEL_STACK, { .what = FETCH_STACK, .size = 8 * FETCH_STACK_MAX } },
};

int kernel_standard(struct script_kernel *k, enum script_standard which, struct kernel_fetch *f,
		    struct diag *d)
{
	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
		if (simple[i].which == which) {
			*f = simple[i].fetch;
			f->user_from = FETCH_NEVER_USER;
			return 0;
		}
	if (which == STANDARD_USER_STACK) {
		*f = (struct kernel_fetch){ .what = FETCH_STACK, .size = 8 * FETCH_STACK_MAX };
		return 0; /* user_from 0 */
	}
	for (size_t i = 0; i < sizeof of_tasks / sizeof *of_tasks; i++) {
		int err;

		if (of_tasks[i].which != which)
			continue;
		err = kernel_types(k, d);
		if (err)
			return err;
		*f = (struct kernel_fetch){ .base = FETCH_TASK,
					    .what = FETCH_LOAD,
					    .user_from = FETCH_NEVER_USER,
					    .is_trusted = true };
		err = kernel_follow_text(k, f, btf_find(&k->types, BTF_KIND_STRUCT, "task_struct"),
					 of_tasks[i].path, d);
		f->may_fault = false; /* such a pointer of a running thread is there */
		return err;
	}
	return -1;
}

/* ---------------------------------------------------------------- captures */

int kernel_capture_add(struct kernel_capture *c, const struct kernel_fetch *f)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!memcmp(&c->fetches[i], f, sizeof *f))
			return (int)i;
	if (c->n == FETCHES_MAX)
		return -1;
	memcpy(&c->fetches[c->n], f, sizeof *f);
	c->cell[c->n] = (uint16_t)c->n_cells;
	c->n_cells += fetch_cells(f);
	c->bytes += 8 * fetch_cells(f) + (fetch_is_long(f) ? f->size : 0);
	c->has_texts |= fetch_is_long(f);
	c->may_fault |= f->may_fault;
	return (int)c->n++;
}

static int too_many(const struct script_probe *p, struct diag *d)
{
	return diag_fail(d, -E2BIG,
			 "%s: the handler takes more values of an event than a record holds (%d)",
			 p->point.text, FETCHES_MAX);
}

static bool is_recorded(const struct kernel_value *v)
{
	return v && v->n_fetches == 1 && v->fetches[0].base == FETCH_RECORD;
}

/* If one value is only in the record of the format, all must come from there. */
static void take_recorded(struct script_kernel *k, const struct script_probe *p)
{
	bool has_recorded = false;

	for (uint32_t i = 0; i < p->handler->n_slots; i++)
		has_recorded |= is_recorded(p->slots[i].data);
	for (uint32_t i = 0; has_recorded && i < p->handler->n_slots; i++) {
		const struct kernel_value *v = p->slots[i].data;
		struct script_world_value other;

		if (v && v->name && !is_recorded(v) &&
		    !kernel_trace_recorded(k, kernel_point_of(&p->point), v->name, &other) &&
		    other.type == p->handler->slots[i].type)
			p->slots[i].data = other.data;
	}
}

static int capture_slots(struct script_kernel *k, struct kernel_capture *c,
			 const struct script_probe *p, struct diag *d)
{
	uint32_t n = 0;

	take_recorded(k, p);
	for (uint32_t i = 0; i < p->handler->n_slots; i++) {
		const struct kernel_value *v = p->slots[i].data;

		c->slot[i] = (uint8_t)n;
		for (uint32_t j = 0; v && j < v->n_fetches; j++) {
			int number = kernel_capture_add(c, &v->fetches[j]);

			if (number < 0 || n == sizeof c->map)
				return too_many(p, d);
			c->map[n++] = (uint8_t)number;
		}
	}
	return 0;
}

/* A sample has the registers of what it interrupted: its address, and in the lowest bit of the code
 * segment (its privilege: 0 or 3) whether that is a program's. */
static bool sample_cell(const struct script_probe *p, enum script_standard which,
			struct kernel_fetch *f)
{
	int at = which == STANDARD_ADDRESS   ? (int)offsetof(struct user_regs_struct, rip)
		 : which == STANDARD_IS_USER ? (int)offsetof(struct user_regs_struct, cs)
					     : -1;

	if (at < 0 || kernel_point_of(&p->point)->kind != KIND_PERF)
		return false;
	*f = (struct kernel_fetch){ .base = FETCH_REGISTER,
				    .at = (typeof(f->at))at,
				    .bytes = 8,
				    .bits = which == STANDARD_IS_USER,
				    .user_from = FETCH_NEVER_USER };
	return true;
}

static int capture_cells(struct script_kernel *k, struct kernel_capture *c,
			 const struct script_probe *p, struct diag *d)
{
	for (uint64_t needs = p->handler->needs; needs; needs &= needs - 1) {
		enum script_standard which = (enum script_standard)__builtin_ctzll(needs);
		struct kernel_fetch f;
		int number, err = which >= STANDARD_N	      ? -1
				  : sample_cell(p, which, &f) ? 0
							      : kernel_standard(k, which, &f, d);

		if (err == -1) /* it is no value of the kernel's */
			continue;
		number = err ? -1 : kernel_capture_add(c, &f);
		if (number < 0)
			return err ? err : too_many(p, d);
		c->standard[which] = (uint8_t)(number + 1);
	}
	return 0;
}

static int capture(struct script_kernel *k, struct kernel_capture *c, const struct script_probe *p,
		   struct diag *d)
{
	int err;

	memset(c, 0, sizeof *c);
	c->bytes = RECORD_CELLS;
	err = capture_slots(k, c, p, d);
	err = err ? err : capture_cells(k, c, p, d);
	c->bytes = (c->bytes + 7) & ~7u;
	if (!err && c->bytes > RING_RECORD_MAX)
		return too_many(p, d);
	return err;
}

/* ---------------------------------------------------------------- leaves */

int kernel_leaf(const struct kernel_section *s, const struct script_expr *x)
{
	const struct kernel_capture *c = &s->capture;
	bool is_cell = x->kind == EXPR_CALL && x->builtin && !x->function &&
		       x->builtin->standard >= 0 && x->builtin->standard < STANDARD_N &&
		       !x->builtin->is_site;

	if (is_cell)
		return (int)c->standard[x->builtin->standard] - 1;
	if (x->slot < 0 || (uint32_t)x->slot >= s->handler->n_slots)
		return -1;
	return s->slot_fetch[x->slot];
}

/* ---------------------------------------------------------------- sections and sites */

static bool is_classic(const struct kernel_capture *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->fetches[i].base == FETCH_RECORD)
			return true;
	return false;
}

static int check_mix(const struct kernel_capture *c, const struct script_probe *p, struct diag *d)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->fetches[i].base == FETCH_ARGUMENT && is_classic(c))
			return diag_fail(
				d, -EINVAL,
				"%s: a handler uses either the arguments of the tracepoint "
				"or fields that only its format has, not both",
				p->point.text);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_site(const struct kernel_site *site, const struct kernel_point *p, bool classic)
{
	const struct kernel_point *q = site->point;

	if (q->kind != p->kind || q->is_return != p->is_return || site->is_classic != classic)
		return false;
	switch (p->kind) {
	case KIND_CALL:
		return site->n < SITE_SECTIONS_MAX;
	case KIND_TRACE:
		return same_text(q->name, p->name) && same_text(q->program, p->program) &&
		       q->pid == p->pid && q->is_leader_only == p->is_leader_only;
	case KIND_PERF:
		return q->perf_type == p->perf_type && q->config == p->config &&
		       q->period == p->period && q->is_frequency == p->is_frequency &&
		       q->address == p->address && q->breakpoint == p->breakpoint &&
		       q->length == p->length && q->pid == p->pid;
	case KIND_USER:
		return same_text(q->path, p->path) && q->pid == p->pid &&
		       !q->semaphore == !p->semaphore;
	default:
		return same_text(q->name, p->name);
	}
}

static void *grow(void *old, uint32_t n, uint32_t *n_rooms, size_t size)
{
	uint32_t rooms = *n_rooms ? 2 * *n_rooms : 8;
	void *more;

	if (n < *n_rooms)
		return old;
	more = realloc(old, rooms * size);
	if (more)
		*n_rooms = rooms;
	return more;
}

/* Functions of programs share a program only if the handler is the same: it is attached to all. */
static bool same_section(const struct kernel_site *site, const struct script_probe *p,
			 const struct kernel_capture *c)
{
	return site->n == 1 && site->sections[0]->handler == p->handler &&
	       !memcmp(&site->sections[0]->capture, c, sizeof *c);
}

static struct kernel_site *site_of(struct kernel_source *s, const struct script_probe *probe,
				   const struct kernel_capture *c)
{
	const struct kernel_point *p = kernel_point_of(&probe->point);
	struct kernel_site *site, **more;
	bool classic = is_classic(c);

	for (uint32_t i = 0; i < s->n_sites; i++)
		if (same_site(s->sites[i], p, classic) &&
		    (p->kind != KIND_USER || same_section(s->sites[i], probe, c)))
			return s->sites[i];
	more = grow(s->sites, s->n_sites, &s->n_site_rooms, sizeof *s->sites);
	site = more ? calloc(1, sizeof *site) : NULL;
	if (more)
		s->sites = more;
	if (!site)
		return NULL;
	*site = (struct kernel_site){ .point = p, .is_classic = classic, .program = -1 };
	if (p->kind == KIND_CALL)
		site->masks_at = kernel_control_room(s, 8 * CALL_TABLE);
	s->sites[s->n_sites++] = site;
	return site;
}

static void find_slots(struct kernel_section *section, const struct script_probe *p)
{
	for (uint32_t i = 0; i < section->handler->n_slots; i++) {
		const struct kernel_value *v = p->slots[i].data;

		section->slot_fetch[i] = -1;
		if (v && v->n_fetches == 1 && (v->form == FORM_NUMBER || v->form == FORM_TEXT) &&
		    !v->constant)
			section->slot_fetch[i] = section->capture.map[section->capture.slot[i]];
		if (v && v->form == FORM_CONSTANT)
			section->slot_name[i] = SLOT_OF_PROBE;
		if (v && v->form == FORM_CALL_NAME)
			section->slot_name[i] = SLOT_OF_CALL;
	}
}

static struct kernel_section *section_of(struct kernel_source *s, struct kernel_site *site,
					 const struct script_probe *p,
					 const struct kernel_capture *c)
{
	struct kernel_section *section, **more;
	bool shares = site->point->kind == KIND_CALL || site->point->kind == KIND_USER;

	for (uint32_t i = 0; shares && i < site->n; i++)
		if (site->sections[i]->handler == p->handler &&
		    !memcmp(&site->sections[i]->capture, c, sizeof *c))
			return site->sections[i];
	more = grow(site->sections, site->n, &site->n_rooms, sizeof *site->sections);
	section = more ? calloc(1, sizeof *section) : NULL;
	if (more)
		site->sections = more;
	if (!section)
		return NULL;
	section->handler = p->handler;
	section->capture = *c;
	find_slots(section, p);
	if (site->point->kind == KIND_CALL)
		section->table_at = kernel_control_room(s, 2 * CALL_TABLE);
	site->sections[site->n++] = section;
	return section;
}

int kernel_plan_probe(struct kernel_source *s, uint32_t i, struct diag *d)
{
	const struct script_probe *p = s->probes[i];
	struct kernel_capture *c = malloc(sizeof *c);
	struct kernel_section *section = NULL;
	struct kernel_site *site;
	uint32_t *more;
	int err = c ? capture(s->k, c, p, d) : -ENOMEM;

	err = err ? err : check_mix(c, p, d);
	if (!err) {
		site = site_of(s, p, c);
		section = site ? section_of(s, site, p, c) : NULL;
		more = section ? grow(section->probes, section->n_probes, &section->n_rooms,
				      sizeof *section->probes)
			       : NULL;
		if (more) {
			section->probes = more;
			section->probes[section->n_probes++] = i;
			s->of[i] = section;
		} else {
			err = diag_fail(d, -ENOMEM, "no memory for probes");
		}
	}
	free(c);
	return err;
}
