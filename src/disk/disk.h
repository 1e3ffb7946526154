/* SPDX-License-Identifier: MIT */
/*
 * disk/disk.h - how much of a file system one recording may have: a limit, a share, a floor.
 *
 *   limit    bytes on disk of this recording; a user asks for it
 *   floor    bytes of the file system that stay free, whoever takes the rest
 *   share    recordings with neighbours on the same file system (tenants, senders of a relay): none
 *            may have more than is free above the floor
 *
 * The share is the dynamic threshold of shared-memory switches (Choudhury and Hahne, 1998).  With n
 * greedy neighbours each gets 1/(n+1) of the room, and as much stays free.  So one that needs less is
 * never refused, and nobody has to know how many there are.
 *
 * A budget lies in memory that outlives its writer.  What always holds:
 *
 * (1) `used` is the bytes on disk at the last count, and the bytes taken since.  The writer counts the
 *     files themselves: the first time before it writes anything, then at intervals.  So a death at any
 *     instruction, of the writer or of an archiver, leaves no lasting error
 * (2) finished trace chunks are the archiver's: it publishes their bytes in one step, after they have
 *     changed.  The writer counts the trace chunks not published yet
 * (3) a packet is taken whole before it is written, or refused.  Reports of losses are refused only
 *     beyond the whole limit; events, below it (disk_margin)
 *
 * One writer process, with one thread; one archiver process.
 */
#ifndef DISK_DISK_H
#define DISK_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/diag.h"

/* Why something does not fit. */
enum disk_reason { DISK_FITS, DISK_LIMIT, DISK_SHARE, DISK_FLOOR, DISK_REASONS };

/* As a user writes it: a size, or a part of the file system. */
struct disk_size {
	uint64_t bytes;
	uint32_t permyriad; /* 1/10000 of the file system; 0: `bytes` */
	bool is_given;
};

struct disk_rule {
	uint64_t limit; /* 0: none */
	uint64_t floor; /* 0: none */
	bool shares;	/* it has neighbours */
	/* Not 0: the limit, or the floor, is this part of the file system, as large as it is now. */
	uint32_t limit_permyriad, floor_permyriad;
};

struct disk_archived {
	uint64_t bytes; /* of finished trace chunks up to `number` */
	uint64_t number;
};

struct disk_budget {
	struct disk_rule rule;
	uint64_t used;
	uint64_t room; /* free above the floor at the last look, less the bytes taken since */
	uint64_t look_again_at;		    /* `room` below which it is looked at again */
	uint64_t looked_ns, count_again_ns; /* of monotonic_ns */
	uint32_t reason;    /* why the last events did not fit; DISK_FITS: they did */
	uint32_t refused;   /* bit of each reason since disk_account() */
	uint64_t n_refused; /* packets */
	uint64_t lost_before, lost[DISK_REASONS]; /* events, by disk_account() */
	uint32_t n_removed; /* trace chunks that retention alone would have kept */
	struct disk_archived archived[2];
	uint32_t valid;	  /* index in `archived`; only its last bit counts */
	uint32_t counted; /* `valid` at the last count */
};

/* disk_reason_text - "the disk limit", ... */
const char *disk_reason_text(enum disk_reason r);

/*
 * disk_rule_begin - the rule for files below directory @path, which exists.
 *
 * @floor: not given: the smallest of 5 % of the file system, 1 GiB, and half of the free space.
 * Returns 0; -ENOSPC if a floor that was given is not free; or another -errno.
 */
int disk_rule_begin(struct disk_rule *r, const char *path, const struct disk_size *limit,
		    const struct disk_size *floor, struct diag *d);

/* disk_is_limited - whether the budget can refuse anything.  False for NULL. */
static inline bool disk_is_limited(const struct disk_budget *b)
{
	return b && (b->rule.limit || b->rule.floor || b->rule.shares);
}

/* disk_margin - events are refused that much below the limit: the rest is for reports of losses and
 * for small files. */
uint64_t disk_margin(uint64_t limit);

/* disk_blocks - bytes on disk that a file of @size bytes gets by @more bytes. */
static inline uint64_t disk_blocks(uint64_t size, uint64_t more)
{
	const uint64_t last = 4096 - 1;

	return ((size + more + last) & ~last) - ((size + last) & ~last);
}

/*
 * disk_take - before @bytes are written on the file system of descriptor @fd.
 *
 * @is_report: of losses, or another small thing that is written although events do not fit.  Returns
 * false if they do not fit; b->reason is why.  disk_untake: they were not written.  NULL has no limit.
 */
bool disk_take(struct disk_budget *b, int fd, uint64_t bytes, bool is_report);
/* disk_fits - whether disk_take() of events would succeed now.  A refusal is not counted. */
bool disk_fits(struct disk_budget *b, int fd, uint64_t bytes);
void disk_untake(struct disk_budget *b, uint64_t bytes);

/* disk_is_over - whether events do not fit now, and would if old trace chunks went. */
static inline bool disk_is_over(const struct disk_budget *b)
{
	uint32_t reason = b ? load(&b->reason) : DISK_FITS;

	return reason == DISK_LIMIT || reason == DISK_SHARE;
}

/* disk_limit_now - the bytes that the recording may have now: limit or share.  UINT64_MAX: no limit. */
uint64_t disk_limit_now(const struct disk_budget *b);

/*
 * disk_account - @lost events were lost so far, in all.
 *
 * Events lost since the last call count for the reason why packets were refused meanwhile, if any
 * were.
 */
void disk_account(struct disk_budget *b, uint64_t lost);

/* disk_most_lost - the reason for which most events were lost, as text. */
const char *disk_most_lost(const struct disk_budget *b);

/* ---------------------------------------------------------------- counting */

/* Whether the entry @name of the recording's directory is not counted. */
typedef bool disk_skips(const void *arg, const char *name);

/*
 * disk_tree_bytes - bytes on disk of all files below directory @path.
 *
 * @skips: asked for entries of @path itself; or NULL.  Links are not followed, except @path.
 */
uint64_t disk_tree_bytes(const char *path, disk_skips *skips, const void *arg);

/* disk_archived - the last that the archiver has published. */
struct disk_archived disk_archived(const struct disk_budget *b);
/* disk_publish - for the archiver: the finished trace chunks up to @number have @bytes. */
void disk_publish(struct disk_budget *b, uint64_t bytes, uint64_t number);

/*
 * disk_count - count the recording at @path, unless that was done just before.
 *
 * @skips: with a struct disk_archived: the files that the archiver counts.  @now_ns: 0: count in any case.
 */
void disk_count(struct disk_budget *b, const char *path, disk_skips *skips, uint64_t now_ns);

#endif
