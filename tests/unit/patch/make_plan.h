/* SPDX-License-Identifier: MIT */
/* tests/unit/patch/make_plan.h - a plan made for a test, read back, and checked as libduet does. */
#ifndef TESTS_UNIT_PATCH_MAKE_PLAN_H
#define TESTS_UNIT_PATCH_MAKE_PLAN_H

#include <fcntl.h>
#include <unistd.h>

#include "patch/patch.h"
#include "test.h"

static char plan_dir_path[] = "/tmp/duet-plan-XXXXXX";
static int plan_dir = -1;

static inline void plan_dir_make(void)
{
	ok(mkdtemp(plan_dir_path) != NULL);
	plan_dir = open(plan_dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(plan_dir >= 0);
}

static inline void plan_dir_remove(void)
{
	close(plan_dir);
	is(rmdir(plan_dir_path), 0);
}

/* The plan of @f in the directory, which is removed from there; NULL: there is none. */
static inline struct abi_plan *plan_take(const struct patch_file *f)
{
	int fd = openat(plan_dir, patch_build_id(f), O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	struct abi_plan *p = size >= (off_t)sizeof *p ? malloc((size_t)size) : NULL;

	if (p) {
		is(pread(fd, p, (size_t)size, 0), size);
		is(p->magic, ABI_PLAN_MAGIC);
		is(p->size_bytes, size);
	}
	if (fd >= 0) {
		close(fd);
		unlinkat(plan_dir, patch_build_id(f), 0);
	}
	return p;
}

static inline const struct abi_plan_site *plan_sites(const struct abi_plan *p)
{
	return (const struct abi_plan_site *)((const char *)p + p->sites);
}

static inline const struct abi_plan_fixup *plan_fixups(const struct abi_plan *p)
{
	return (const struct abi_plan_fixup *)((const char *)p + p->fixups);
}

static inline const struct abi_plan_operand *plan_operands(const struct abi_plan *p)
{
	return (const struct abi_plan_operand *)((const char *)p + p->operands);
}

static inline const char *plan_text(const struct abi_plan *p, uint32_t at)
{
	return (const char *)p + p->text + at;
}

static inline const uint8_t *plan_code(const struct abi_plan *p, const struct abi_plan_site *s)
{
	return (const uint8_t *)p + p->code + s->code;
}

static inline const struct abi_plan_site *plan_find(const struct abi_plan *p, const char *name)
{
	for (uint32_t i = 0; p && i < p->n_sites; i++)
		if (!strcmp(plan_text(p, plan_sites(p)[i].name), name))
			return &plan_sites(p)[i];
	return NULL;
}

/* Everything in the plan lies within it, in order. */
static inline void plan_check(const struct abi_plan *p)
{
	uint64_t end = 0;

	ok(p->sites + (uint64_t)p->n_sites * sizeof(struct abi_plan_site) <= p->size_bytes);
	ok(p->fixups + (uint64_t)p->n_fixups * sizeof(struct abi_plan_fixup) <= p->size_bytes);
	ok(p->operands + (uint64_t)p->n_operands * sizeof(struct abi_plan_operand) <=
	   p->size_bytes);
	ok((uint64_t)p->code + p->code_bytes <= p->size_bytes);
	ok((uint64_t)p->text + p->text_bytes == p->size_bytes);
	for (uint32_t i = 0; i < p->n_sites; i++) {
		const struct abi_plan_site *s = &plan_sites(p)[i];

		if (s->address < end || s->window < (s->kind == ABI_SITE_ISLAND ? 2 : 5) ||
		    s->window > ABI_PLAN_WINDOW_MAX || s->name >= p->text_bytes ||
		    s->schema >= p->text_bytes || s->code + s->code_bytes > p->code_bytes ||
		    s->fixup + s->n_fixups > p->n_fixups ||
		    s->operand + s->n_operands > p->n_operands || s->lead > s->code_bytes)
			ok(!"a site is within the plan, and behind the one before");
		end = s->address + s->window;
	}
}

#endif
