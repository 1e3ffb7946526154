/* SPDX-License-Identifier: MIT */
/* cmd/view/view.h - shared by `duet view` and `duet live`. */
#ifndef CMD_VIEW_VIEW_H
#define CMD_VIEW_VIEW_H

#include <stdbool.h>

#define VIEW_HELP                                                                                  \
	"  -e PATTERN   only events like this: shop:*, sched_*, malloc (may be repeated)\n"        \
	"  -f EXPR      only events for which this is true: 'size > 4096 && name ~ \"tmp*\"' "     \
	"(duet-filter(7))\n"                                                                       \
	"  --from T     from this time on: HH:MM:SS[.n], YYYY-MM-DD HH:MM:SS[.n], seconds since\n" \
	"               1970, or +2.5s (ms, us, ns, m, h): after the beginning; with --to: "       \
	"after --from\n"                                                                           \
	"  --to T       up to this time\n"                                                         \
	"  --limit N    at most N events\n"                                                        \
	"  --state      also the dump of processes and files at the start, which is for "          \
	"programs\n"                                                                               \
	"  --json       one JSON object per line, with the state dump\n"                           \
	"  --csv        comma-separated values, as duet export csv; a column per field if -e "     \
	"names one event\n"                                                                        \
	"  --time FORM  clock (the default), date, utc, epoch, relative (to the first line)\n"     \
	"  --columns C  of time,delta,host,cpu,thread,event,fields\n"                              \
	"  --color WHEN auto (the default), always, never\n"

/* view_takes_value - whether option @arg is followed by its value.  `duet live` needs it to
 * separate options from arguments. */
bool view_takes_value(const char *arg);

/* A hook of view_follow(), called once per round.  @starves: no event was read since the round
 * before.  Returns 0; or -errno with the reason in @d, which ends following. */
struct trace;
struct diag;
struct reader;
struct view_hook {
	const struct reader *reader; /* its sandbox; NULL: that of all readers */
	int (*on_round)(void *context, const struct trace *t, bool starves, struct diag *d);
	void *context;
};

/*
 * view_follow - print the events of recordings @paths while they are written, until they end.
 *
 * @is_from_now: skip events that were recorded before.  @hook: may be NULL.  @argc, @argv: options
 * of `duet view`; argv[0] is skipped.  Returns the exit status.
 */
int view_follow(const char *verb, const char *const *paths, int n, bool is_from_now,
		const struct view_hook *hook, int argc, char **argv);

#endif
