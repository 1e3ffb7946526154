/* SPDX-License-Identifier: MIT */
/*
 * ui/item/rank.c - the place of an interval among all of its kind and name: see internal.h.
 *
 * All tracks of the kind are read, up to a limit of work.  The durations of the names that were asked for
 * last are kept, for as long as no interval was added.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "analysis/public.h"
#include "ui/item/internal.h"

enum { ENTRIES_AT_ONCE = 1024, ENTRIES_MOST = 100000000, RANKS_KEPT = 8 };

struct rank {
	struct samples durations;
	uint32_t name;
	uint8_t kind;
	bool is_part;
	uint64_t n_entries; /* of all tracks of the kind, when they were read */
	uint64_t used;	    /* the larger, the later */
};

struct ranks {
	pthread_mutex_t lock;
	struct rank at[RANKS_KEPT];
	uint64_t used;
};

static const char ranks_key;

static void *ranks_make(void *context)
{
	struct ranks *r = calloc(1, sizeof *r);

	(void)context;
	if (r)
		pthread_mutex_init(&r->lock, NULL);
	return r;
}

static void ranks_destroy(void *kept)
{
	struct ranks *r = kept;

	for (int i = 0; i < RANKS_KEPT; i++)
		samples_fini(&r->at[i].durations);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---------------------------------------------------------------- reading */

static bool has_rank(uint8_t kind)
{
	return kind == UI_TRACK_SPANS || kind == UI_TRACK_SYSCALLS || kind == UI_TRACK_CALLS ||
	       kind == UI_TRACK_BUSY;
}

/* 0; -ECANCELED; -ENOMEM */
static int read_track(const struct item *i, struct rank *r, uint32_t track)
{
	struct ui_interval v[ENTRIES_AT_ONCE];
	uint32_t at = 0, got = ENTRIES_AT_ONCE;
	int err = 0;

	for (; got == ENTRIES_AT_ONCE && !err; at += got) {
		if (ui_is_cancelled(i->q))
			return -ECANCELED;
		got = ui_track_read(i->x, track, at, v, ENTRIES_AT_ONCE);
		for (uint32_t k = 0; k < got && !err; k++)
			if (v[k].what == r->name && !v[k].is_open && !v[k].is_cut)
				err = samples_add(&r->durations,
						  (uint64_t)(v[k].end_ns - v[k].begin_ns));
	}
	return err;
}

static int read_all(const struct item *i, struct rank *r)
{
	struct ui_track_info info;
	uint64_t n = 0;
	int err = 0;

	for (uint32_t k = 0; !err && ui_track_info(i->x, k, &info); k++) {
		if (info.kind != r->kind)
			continue;
		r->is_part |= n >= ENTRIES_MOST;
		if (r->is_part)
			break;
		n += ui_track_n(i->x, k);
		err = read_track(i, r, k);
	}
	return err;
}

static uint64_t count_entries(const struct item *i)
{
	struct ui_track_info info;
	uint64_t n = 0;

	for (uint32_t k = 0; ui_track_info(i->x, k, &info); k++)
		n += info.kind == i->info.kind ? ui_track_n(i->x, k) : 0;
	return n;
}

static bool is_of(const struct rank *r, const struct item *i)
{
	return r->used && r->kind == i->info.kind && r->name == i->v.what;
}

/* That of the item's kind and name; if there is none, the one that was not used for longest. */
static struct rank *find_rank(struct ranks *ranks, const struct item *i)
{
	struct rank *oldest = &ranks->at[0];

	for (int k = 0; k < RANKS_KEPT; k++) {
		if (is_of(&ranks->at[k], i))
			return &ranks->at[k];
		if (ranks->at[k].used < oldest->used)
			oldest = &ranks->at[k];
	}
	return oldest;
}

/* The rank of the item's like, read if it is not kept.  NULL: cancelled, or no memory. */
static struct rank *rank_of(const struct item *i, struct ranks *ranks)
{
	struct rank *r = find_rank(ranks, i);
	uint64_t n_entries = count_entries(i);

	if (!is_of(r, i) || r->n_entries != n_entries) {
		samples_fini(&r->durations);
		*r = (struct rank){ .kind = i->info.kind,
				    .name = i->v.what,
				    .n_entries = n_entries };
		if (read_all(i, r)) {
			samples_fini(&r->durations);
			*r = (struct rank){ 0 };
			return NULL;
		}
	}
	r->used = ++ranks->used;
	return r;
}

/* ---------------------------------------------------------------- the answer */

static uint64_t count_longer(struct rank *r, uint64_t own)
{
	uint64_t cursor = 0, value, n, sum = 0;

	while (samples_next(&r->durations, &cursor, &value, &n))
		sum += value > own ? n : 0;
	return sum;
}

static void add_rank(struct item *i, struct rank *r)
{
	struct text *t = i->t;

	ui_add_key(t, "rank");
	add(t, "{");
	ui_add_member(t, "n",
		      (int64_t)count_longer(r, (uint64_t)(i->v.end_ns - i->v.begin_ns)) + 1);
	ui_add_member(t, "of", (int64_t)r->durations.n);
	ui_add_member(t, "p50", (int64_t)samples_percentile(&r->durations, 50));
	ui_add_member(t, "p99", (int64_t)samples_percentile(&r->durations, 99));
	ui_add_member(t, "least", (int64_t)r->durations.min);
	ui_add_member(t, "greatest", (int64_t)r->durations.max);
	if (!samples_are_exact(&r->durations))
		add(t, ",\"rounded\":true");
	if (r->is_part)
		add(t, ",\"part\":true");
	add(t, "}");
}

void item_add_rank(struct item *i)
{
	struct ranks *ranks;
	struct rank *r;

	if (!has_rank(i->info.kind) || i->v.is_open || i->v.is_cut)
		return;
	ranks = ui_index_keep(i->x, &ranks_key, ranks_make, NULL, ranks_destroy);
	if (!ranks)
		return;
	pthread_mutex_lock(&ranks->lock);
	r = rank_of(i, ranks);
	if (r && r->durations.n)
		add_rank(i, r);
	pthread_mutex_unlock(&ranks->lock);
}
