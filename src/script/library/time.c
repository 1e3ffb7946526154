/* SPDX-License-Identifier: MIT */
/* library/time.c - clocks of the event, and times in words. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "script/library/internal.h"

enum { TICKS_A_SECOND = 250 /* where the kernel's own number is not known */ };

/* Towards minus infinity, so that no time before the Epoch jumps. */
static uint64_t floor_div(int64_t time, int64_t unit)
{
	return (uint64_t)(time / unit - (time % unit < 0));
}

static uint64_t wall(struct script_vm *vm, int64_t unit)
{
	return floor_div(standard_long(vm, STANDARD_TIME_NS), unit);
}

static uint64_t monotonic(struct script_vm *vm, int64_t unit)
{
	return floor_div(standard_long(vm, STANDARD_MONOTONIC_NS), unit);
}

HELP(library_gettimeofday_us)
{
	UNUSED1;
	return wall(vm, 1000);
}

HELP(library_gettimeofday_ms)
{
	UNUSED1;
	return wall(vm, 1000000);
}

HELP(library_gettimeofday_s)
{
	UNUSED1;
	return wall(vm, 1000000000);
}

HELP(library_local_clock_ns)
{
	UNUSED1;
	return monotonic(vm, 1);
}

HELP(library_local_clock_us)
{
	UNUSED1;
	return monotonic(vm, 1000);
}

HELP(library_local_clock_ms)
{
	UNUSED1;
	return monotonic(vm, 1000000);
}

HELP(library_local_clock_s)
{
	UNUSED1;
	return monotonic(vm, 1000000000);
}

static int64_t ticks_a_second(struct script_vm *vm)
{
	const struct script_services *s = script_vm_services(vm);
	struct text *t = library_text(vm);
	int64_t hz;

	if (!s->setting || !s->setting(s->context, "hz", t) || !t->size)
		return TICKS_A_SECOND;
	hz = strtoll(t->bytes, NULL, 10);
	return hz > 0 && hz <= 1000000000 ? hz : TICKS_A_SECOND;
}

HELP(library_hz)
{
	UNUSED1;
	return (uint64_t)ticks_a_second(vm);
}

HELP(library_jiffies)
{
	UNUSED1;
	return monotonic(vm, 1000000000 / ticks_a_second(vm));
}

/* "Mon Nov 23 05:00:00 2026", whatever the locale. */
static uint64_t calendar(struct script_vm *vm, const struct tm *tm, const char *zone)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct text *t = library_text(vm);

	text_addf(t, "%.3s %.3s %2d %02d:%02d:%02d %d%s%s", days + 3 * tm->tm_wday,
		  months + 3 * tm->tm_mon, tm->tm_mday, tm->tm_hour, tm->tm_min, tm->tm_sec,
		  1900 + tm->tm_year, *zone ? " " : "", zone);
	return new_text(vm, t->bytes, t->size);
}

static uint64_t in_utc(struct script_vm *vm, int64_t seconds)
{
	struct tm tm;
	time_t time = seconds;

	if (!gmtime_r(&time, &tm))
		return new_text(vm, "", 0);
	return calendar(vm, &tm, "");
}

HELP(library_ctime_of)
{
	UNUSED2;
	return in_utc(vm, (int64_t)r1);
}

HELP(library_ctime_now)
{
	UNUSED1;
	return in_utc(vm, (int64_t)wall(vm, 1000000000));
}

static bool local_time(int64_t seconds, struct tm *tm)
{
	time_t time = seconds;

	return localtime_r(&time, tm);
}

HELP(library_tz_ctime)
{
	struct tm tm;

	UNUSED2;
	if (!local_time((int64_t)r1, &tm))
		return new_text(vm, "", 0);
	return calendar(vm, &tm, tm.tm_zone ? tm.tm_zone : "");
}

/* Seconds west of Greenwich, at the time of the event. */
HELP(library_tz_gmtoff)
{
	struct tm tm;

	UNUSED1;
	if (!local_time((int64_t)wall(vm, 1000000000), &tm))
		return 0;
	return (uint64_t)-tm.tm_gmtoff;
}

HELP(library_tz_name)
{
	struct tm tm;

	UNUSED1;
	if (!local_time((int64_t)wall(vm, 1000000000), &tm) || !tm.tm_zone)
		return new_text(vm, "", 0);
	return new_text(vm, tm.tm_zone, strlen(tm.tm_zone));
}
