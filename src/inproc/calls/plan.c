/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/plan.c - open a plan and check it.
 *
 * The directory is the user's own and closed to others, yet every offset, size and number is
 * checked once, before use: a plan of another version or a torn file must not harm the program.  A
 * plan is replaced by rename, so the file that is mapped does not change.
 */
#include "inproc/calls/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether @n items of @each bytes at @offset lie in the file, behind its head. */
static bool table_fits(size_t size, uint32_t offset, uint32_t n, size_t each)
{
	uint64_t end = (uint64_t)offset + (uint64_t)n * each;

	return !n || (offset >= sizeof(struct abi_plan) && offset % (each < 8 ? 1 : 8) == 0 &&
		      end <= size);
}

static bool head_is_sound(const struct abi_plan *h, size_t size)
{
	return h->magic == ABI_PLAN_MAGIC && h->version == ABI_PLAN_VERSION &&
	       h->size_bytes == size && h->build_id_bytes <= ABI_BUILD_ID_BYTES &&
	       h->mode <= ABI_CALLS_PROFILE && h->n_sites <= ABI_PLAN_SITES &&
	       table_fits(size, h->sites, h->n_sites, sizeof(struct abi_plan_site)) &&
	       table_fits(size, h->fixups, h->n_fixups, sizeof(struct abi_plan_fixup)) &&
	       table_fits(size, h->operands, h->n_operands, sizeof(struct abi_plan_operand)) &&
	       table_fits(size, h->code, h->code_bytes, 1) &&
	       table_fits(size, h->text, h->text_bytes, 1);
}

static bool fixups_are_sound(const struct plan *p, const struct abi_plan_site *s)
{
	const struct abi_plan_fixup *f = p->fixups + s->fixup;

	for (uint32_t i = 0; i < s->n_fixups; i++)
		if (f[i].at + 4u > f[i].end || f[i].end > s->code_bytes)
			return false;
	return true;
}

static bool operands_are_sound(const struct plan *p, const struct abi_plan_site *s)
{
	const struct abi_plan_operand *o = p->operands + s->operand;

	for (uint32_t i = 0; i < s->n_operands; i++) {
		bool memory = o[i].place == ABI_OPERAND_MEMORY;
		bool sized =
			o[i].bytes == 1 || o[i].bytes == 2 || o[i].bytes == 4 || o[i].bytes == 8;

		if (o[i].place < ABI_OPERAND_CONSTANT || o[i].place > ABI_OPERAND_VECTOR || !sized)
			return false;
		if (!memory && o[i].place != ABI_OPERAND_CONSTANT && o[i].reg > 15)
			return false;
		if (memory &&
		    ((o[i].reg > 15 && o[i].reg != ABI_OPERAND_NONE &&
		      o[i].reg != ABI_OPERAND_RIP) ||
		     (o[i].index > 15 && o[i].index != ABI_OPERAND_NONE) || o[i].scale > 3))
			return false;
	}
	return true;
}

static bool displaces(const struct abi_plan_site *s)
{
	return s->kind == ABI_SITE_PROLOGUE || s->kind == ABI_SITE_MARK ||
	       s->kind == ABI_SITE_ISLAND;
}

/* @n items from @first on, of @of. */
static bool range_fits(uint32_t first, uint32_t n, uint32_t of)
{
	return (uint64_t)first + n <= of;
}

static bool window_is_sound(const struct abi_plan_site *s)
{
	if (s->kind == ABI_SITE_ISLAND)
		return s->window >= 2 && s->window <= ABI_PLAN_ISLAND_AT && s->address >= 128;
	return s->kind >= ABI_SITE_NOP5 && s->kind <= ABI_SITE_MARK && s->window >= 5 &&
	       s->window <= ABI_PLAN_WINDOW_MAX;
}

static bool site_is_sound(const struct plan *p, const struct abi_plan_site *s)
{
	const struct abi_plan *h = p->head;

	return window_is_sound(s) && s->name < h->text_bytes && s->schema < h->text_bytes &&
	       range_fits(s->code, s->code_bytes, h->code_bytes) &&
	       range_fits(s->fixup, s->n_fixups, h->n_fixups) &&
	       range_fits(s->operand, s->n_operands, h->n_operands) &&
	       s->n_operands <= ABI_PLAN_OPERANDS_MAX && (s->code_bytes || !displaces(s)) &&
	       s->address <= INT64_MAX && fixups_are_sound(p, s) && operands_are_sound(p, s);
}

bool plan_check(struct plan *p, const void *bytes, size_t size)
{
	const struct abi_plan *h = bytes;
	uint64_t end = 0;

	*p = (struct plan){ .head = NULL };
	if (size < sizeof *h || size > ABI_PLAN_MOST_BYTES || !head_is_sound(h, size))
		return false;
	*p = (struct plan){
		.head = h,
		.sites = (const void *)((const char *)bytes + h->sites),
		.fixups = (const void *)((const char *)bytes + h->fixups),
		.operands = (const void *)((const char *)bytes + h->operands),
		.code = (const uint8_t *)bytes + h->code,
		.text = (const char *)bytes + h->text,
		.size = size,
	};
	if (!h->text_bytes || p->text[h->text_bytes - 1] || h->path >= h->text_bytes)
		return false;
	for (uint32_t i = 0; i < h->n_sites; i++) {
		if (!site_is_sound(p, &p->sites[i]) || p->sites[i].address < end)
			return false;
		end = p->sites[i].address + p->sites[i].window;
	}
	return true;
}

void plan_name(char *name, const uint8_t *build_id, uint32_t build_id_bytes)
{
	uint32_t n = build_id_bytes < ABI_BUILD_ID_BYTES ? build_id_bytes : ABI_BUILD_ID_BYTES;

	for (uint32_t i = 0; i < n; i++) {
		*name++ = "0123456789abcdef"[build_id[i] >> 4];
		*name++ = "0123456789abcdef"[build_id[i] & 15];
	}
	*name = 0;
}

static int map_file(int fd, void **bytes, size_t *size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022))
		return -EPERM;
	if (st.st_size < (off_t)sizeof(struct abi_plan) || st.st_size > ABI_PLAN_MOST_BYTES)
		return -EPROTO;
	*size = (size_t)st.st_size;
	*bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	return *bytes == MAP_FAILED ? -errno : 0;
}

int plan_open(struct plan *p, int dir, const uint8_t *build_id, uint32_t build_id_bytes)
{
	char name[PLAN_NAME_BYTES];
	void *bytes;
	size_t size = 0;
	int fd, err;

	*p = (struct plan){ .head = NULL };
	plan_name(name, build_id, build_id_bytes);
	fd = (int)syscall(SYS_openat, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = map_file(fd, &bytes, &size);
	syscall(SYS_close, fd);
	if (err)
		return err;
	if (plan_check(p, bytes, size) && p->head->build_id_bytes == build_id_bytes &&
	    !memcmp(p->head->build_id, build_id, build_id_bytes))
		return 0;
	munmap(bytes, size);
	p->head = NULL;
	return -EPROTO;
}

void plan_close(struct plan *p)
{
	if (p->head)
		munmap((void *)(uintptr_t)p->head, p->size);
	*p = (struct plan){ .head = NULL };
}
