/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/structs_files.c - formats what stat() and statx() return: see structs.h. */
#include <inttypes.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* The time, its date, and the part below a second. */
static void add_file_time(struct text *t, const char *name, int64_t seconds, uint32_t ns)
{
	text_addf(t, ", %s=%" PRId64, name, seconds);
	call_date(t, " /* ", seconds, ns, 9, " */");
	text_addf(t, ", %s_nsec=%" PRIu32, name, ns);
}

void call_stat_add(struct text *t, const struct call_memory *m)
{
	static const char *const times[] = { "st_atime", "st_mtime", "st_ctime" };
	uint32_t mode = u32(m, 24);
	bool is_whole = call_style()->is_whole && m->size >= 120;

	add(t, "{");
	if (is_whole) {
		add(t, "st_dev=");
		call_device(t, u64(m, 0));
		text_addf(t, ", st_ino=%" PRIu64 ", ", u64(m, 8));
	}
	add(t, "st_mode=");
	call_mode(t, mode);
	if (is_whole)
		text_addf(t,
			  ", st_nlink=%" PRIu64 ", st_uid=%" PRIu32 ", st_gid=%" PRIu32
			  ", st_blksize=%" PRId64 ", st_blocks=%" PRId64,
			  u64(m, 16), u32(m, 28), u32(m, 32), (int64_t)u64(m, 56),
			  (int64_t)u64(m, 64));
	if (is_device(mode)) {
		add(t, ", st_rdev=");
		call_device(t, u64(m, 40));
	} else {
		text_addf(t, ", st_size=%" PRId64, (int64_t)u64(m, 48));
	}
	for (size_t i = 0; is_whole && i < sizeof times / sizeof *times; i++)
		add_file_time(t, times[i], (int64_t)u64(m, 72 + 16 * i),
			      (uint32_t)u64(m, 80 + 16 * i));
	add(t, is_whole ? "}" : ", ...}");
}

static void add_statx_mask(struct text *t, uint32_t mask)
{
	call_flags(t, call_names_statx_all, mask);
}

static void add_statx_times(struct text *t, const struct call_memory *m)
{
	static const struct {
		const char *name;
		uint8_t at;
		uint32_t bit;
	} times[] = { { "stx_atime", 64, STATX_ATIME },
		      { "stx_btime", 80, STATX_BTIME },
		      { "stx_ctime", 96, STATX_CTIME },
		      { "stx_mtime", 112, STATX_MTIME } };

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		if (!(u32(m, 0) & times[i].bit))
			continue;
		text_addf(t, ", %s={tv_sec=%" PRId64 ", tv_nsec=%" PRIu32 "}", times[i].name,
			  (int64_t)u64(m, times[i].at), u32(m, times[i].at + 8));
		call_date(t, " /* ", (int64_t)u64(m, times[i].at), u32(m, times[i].at + 8), 9,
			  " */");
	}
}

void call_statx_add(struct text *t, const struct call_memory *m)
{
	bool is_whole = call_style()->is_whole && m->size >= 152;

	add(t, "{stx_mask=");
	add_statx_mask(t, u32(m, 0));
	if (is_whole)
		text_addf(t, ", stx_blksize=%" PRIu32, u32(m, 4));
	add(t, ", stx_attributes=");
	call_flags(t, call_names_statx_attribute, u64(m, 8));
	if (is_whole)
		text_addf(t, ", stx_nlink=%" PRIu32 ", stx_uid=%" PRIu32 ", stx_gid=%" PRIu32,
			  u32(m, 16), u32(m, 20), u32(m, 24));
	add(t, ", stx_mode=");
	call_mode(t, u16(m, 28));
	if (is_whole)
		text_addf(t, ", stx_ino=%" PRIu64, u64(m, 32));
	text_addf(t, ", stx_size=%" PRIu64, u64(m, 40));
	if (!is_whole)
		return add(t, ", ...}");
	text_addf(t, ", stx_blocks=%" PRIu64 ", stx_attributes_mask=", u64(m, 48));
	call_flags(t, call_names_statx_attribute, u64(m, 56));
	add_statx_times(t, m);
	text_addf(t,
		  ", stx_rdev_major=%" PRIu32 ", stx_rdev_minor=%" PRIu32 ", stx_dev_major=%" PRIu32
		  ", stx_dev_minor=%" PRIu32 ", stx_mnt_id=%#" PRIx64 "}",
		  u32(m, 128), u32(m, 132), u32(m, 136), u32(m, 140), u64(m, 144));
}
