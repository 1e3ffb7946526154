/* SPDX-License-Identifier: MIT */
/* disk/disk.c - a budget of bytes on disk: taken, counted, refused. */
#include "disk/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/monotonic.h"

#define LOOK_NS 20000000u    /* how long a look at the file system holds */
#define COUNT_NS 1000000000u /* between two counts, at least */
#define FLOOR_MOST (1ull << 30)
#define MARGIN_MOST (1ull << 20)
enum {
	FLOOR_PERMYRIAD = 500,
	LOOK_SHARE = 8,	  /* or until that part of the room is taken */
	COUNT_SHARE = 50, /* counting takes at most that part of the time */
	MARGIN_SHARE = 16,
	DEPTH_MAX = 32,
};

const char *disk_reason_text(enum disk_reason r)
{
	static const char *const texts[DISK_REASONS] = {
		[DISK_FITS] = "",
		[DISK_LIMIT] = "disk limit (--disk)",
		[DISK_SHARE] = "disk share (as much as others leave free)",
		[DISK_FLOOR] = "disk free floor (--disk-free)",
	};

	return r < DISK_REASONS ? texts[r] : "";
}

/* ---------------------------------------------------------------- the rule */

static uint64_t part_of(uint64_t whole, uint32_t permyriad)
{
	return whole / 10000 * permyriad + whole % 10000 * permyriad / 10000;
}

static uint64_t size_of(const struct disk_size *s, uint64_t whole)
{
	return s->permyriad ? part_of(whole, s->permyriad) : s->bytes;
}

static uint64_t default_floor(uint64_t whole, uint64_t free)
{
	uint64_t floor = part_of(whole, FLOOR_PERMYRIAD);

	floor = floor < FLOOR_MOST ? floor : FLOOR_MOST;
	return floor < free / 2 ? floor : free / 2;
}

int disk_rule_begin(struct disk_rule *r, const char *path, const struct disk_size *limit,
		    const struct disk_size *floor, struct diag *d)
{
	uint64_t whole, free;
	struct statvfs v;

	if (statvfs(path, &v))
		return diag_errno(d, "cannot read how much of the file system of %s is free", path);
	whole = (uint64_t)v.f_blocks * v.f_frsize;
	free = (uint64_t)v.f_bavail * v.f_frsize;
	r->limit = size_of(limit, whole);
	r->limit_permyriad = limit->permyriad;
	r->floor_permyriad = floor->permyriad;
	r->floor = floor->is_given ? size_of(floor, whole) : default_floor(whole, free);
	if (floor->is_given && r->floor && free <= r->floor)
		return diag_fail(d, -ENOSPC,
				 "%s: %llu MiB of its file system are free, and --disk-free keeps "
				 "%llu MiB free: give another directory, or a lower --disk-free",
				 path, (unsigned long long)(free >> 20),
				 (unsigned long long)(r->floor >> 20));
	return 0;
}

/* ---------------------------------------------------------------- taking */

uint64_t disk_margin(uint64_t limit)
{
	return limit / MARGIN_SHARE < MARGIN_MOST ? limit / MARGIN_SHARE : MARGIN_MOST;
}

/* A file system may grow, or shrink, while it is used. */
static void follow_size(struct disk_rule *r, uint64_t whole)
{
	if (r->limit_permyriad)
		store(&r->limit, part_of(whole, r->limit_permyriad));
	if (r->floor_permyriad)
		store(&r->floor, part_of(whole, r->floor_permyriad));
}

static void look(struct disk_budget *b, int fd)
{
	uint64_t now_ns, free;
	struct statvfs v;

	if (!b->rule.floor && !b->rule.shares && !b->rule.limit_permyriad) {
		store(&b->room, UINT64_MAX);
		return;
	}
	now_ns = monotonic_ns();
	if (b->looked_ns && now_ns - b->looked_ns < LOOK_NS && b->room > b->look_again_at)
		return;
	if (fstatvfs(fd, &v)) { /* it cannot be known: writing shows it */
		store(&b->room, UINT64_MAX);
		return;
	}
	follow_size(&b->rule, (uint64_t)v.f_blocks * v.f_frsize);
	free = (uint64_t)v.f_bavail * v.f_frsize;
	store(&b->room, free > b->rule.floor ? free - b->rule.floor : 0);
	b->look_again_at = b->room - b->room / LOOK_SHARE;
	b->looked_ns = now_ns;
}

static enum disk_reason why_not(const struct disk_budget *b, uint64_t bytes, bool is_report)
{
	uint64_t limit = b->rule.limit;

	if (limit && !is_report)
		limit -= disk_margin(limit);
	if (limit && (bytes > limit || b->used > limit - bytes))
		return DISK_LIMIT;
	if (is_report || b->room == UINT64_MAX)
		return DISK_FITS;
	if (!b->room || bytes > b->room)
		return DISK_FLOOR;
	return b->rule.shares && b->used + bytes > b->room - bytes ? DISK_SHARE : DISK_FITS;
}

bool disk_fits(struct disk_budget *b, int fd, uint64_t bytes)
{
	if (!disk_is_limited(b))
		return true;
	look(b, fd);
	return why_not(b, bytes, false) == DISK_FITS;
}

bool disk_take(struct disk_budget *b, int fd, uint64_t bytes, bool is_report)
{
	enum disk_reason reason;

	if (!disk_is_limited(b))
		return true;
	look(b, fd);
	reason = why_not(b, bytes, is_report);
	if (!is_report || reason)
		store(&b->reason, reason);
	if (reason) {
		b->refused |= 1u << reason;
		store(&b->n_refused, b->n_refused + 1);
		return false;
	}
	store(&b->used, b->used + bytes);
	if (b->room != UINT64_MAX)
		store(&b->room, b->room > bytes ? b->room - bytes : 0);
	return true;
}

void disk_untake(struct disk_budget *b, uint64_t bytes)
{
	if (disk_is_limited(b))
		store(&b->used, b->used > bytes ? b->used - bytes : 0);
}

uint64_t disk_limit_now(const struct disk_budget *b)
{
	uint64_t limit, used, room;

	if (!disk_is_limited(b))
		return UINT64_MAX;
	limit = load(&b->rule.limit);
	limit = limit ? limit : UINT64_MAX;
	used = load(&b->used);
	room = load(&b->room);
	if (!b->rule.shares || !b->looked_ns || room == UINT64_MAX)
		return limit;
	return used / 2 + room / 2 < limit ? used / 2 + room / 2 : limit;
}

void disk_account(struct disk_budget *b, uint64_t lost)
{
	uint64_t more = lost > b->lost_before ? lost - b->lost_before : 0;

	for (int r = DISK_REASONS; --r > DISK_FITS;)
		if (b->refused & 1u << r) {
			store(&b->lost[r], b->lost[r] + more);
			break;
		}
	b->lost_before = lost;
	b->refused = load(&b->reason) ? 1u << load(&b->reason) : 0; /* it goes on */
}

const char *disk_most_lost(const struct disk_budget *b)
{
	int most = DISK_FITS;

	for (int r = DISK_FITS + 1; r < DISK_REASONS; r++)
		if (load(&b->lost[r]) > load(&b->lost[most]))
			most = r;
	return disk_reason_text((enum disk_reason)most);
}

/* ---------------------------------------------------------------- counting */

static uint64_t blocks_of(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Closes @fd. */
static uint64_t bytes_below(int fd, disk_skips *skips, const void *arg, int depth)
{
	DIR *list = fdopendir(fd);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;
	int below;

	if (!list) {
		close(fd);
		return 0;
	}
	while ((e = readdir(list))) {
		if (is_dots(e->d_name) || (skips && skips(arg, e->d_name)) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		bytes += blocks_of(&st);
		if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
			continue;
		below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			bytes += bytes_below(below, NULL, NULL, depth + 1);
	}
	closedir(list);
	return bytes;
}

uint64_t disk_tree_bytes(const char *path, disk_skips *skips, const void *arg)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? 0 : bytes_below(fd, skips, arg, 0);
}

struct disk_archived disk_archived(const struct disk_budget *b)
{
	uint32_t valid;
	struct disk_archived a;

	do {
		valid = load_acquire(&b->valid); /* pairs with disk_publish */
		a = b->archived[valid & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (load(&b->valid) != valid); /* replaced twice while it was read */
	return a;
}

void disk_publish(struct disk_budget *b, uint64_t bytes, uint64_t number)
{
	uint32_t next = load(&b->valid) + 1;

	b->archived[next & 1] = (struct disk_archived){ bytes, number };
	store_release(&b->valid, next); /* after them */
}

void disk_count(struct disk_budget *b, const char *path, disk_skips *skips, uint64_t now_ns)
{
	struct disk_archived a;
	uint64_t begin_ns, took_ns;

	if (!b->rule.limit && !b->rule.shares)
		return;
	/* At once if something does not fit and the archiver has made room. */
	if (now_ns && now_ns < b->count_again_ns && (!b->reason || load(&b->valid) == b->counted))
		return;
	begin_ns = monotonic_ns();
	b->counted = load(&b->valid);
	a = disk_archived(b); /* first: a trace chunk that it publishes meanwhile is counted here */
	store(&b->used, a.bytes + disk_tree_bytes(path, skips, &a));
	took_ns = (monotonic_ns() - begin_ns) * COUNT_SHARE;
	b->count_again_ns = begin_ns + (took_ns > COUNT_NS ? took_ns : COUNT_NS);
}
