/* SPDX-License-Identifier: MIT */
/* library/number.c - functions on numbers, and numbers in words. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "script/library/internal.h"

enum { SHORT = 64 };

static uint64_t short_text(struct script_vm *vm, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static uint64_t short_text(struct script_vm *vm, const char *format, ...)
{
	char bytes[SHORT];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(bytes, sizeof bytes, format, ap);
	va_end(ap);
	return new_text(vm, bytes, n < SHORT ? (size_t)n : SHORT - 1);
}

HELP(library_min)
{
	UNUSED3, (void)vm;
	return (int64_t)r1 < (int64_t)r2 ? r1 : r2;
}

HELP(library_max)
{
	UNUSED3, (void)vm;
	return (int64_t)r1 > (int64_t)r2 ? r1 : r2;
}

HELP(library_abs)
{
	UNUSED2, (void)vm;
	return (int64_t)r1 < 0 ? -r1 : r1;
}

/* From 0 to @r1 - 1 (Marsaglia, "Xorshift RNGs", 2003). */
HELP(library_randint)
{
	struct library *l = library_of(vm);

	UNUSED2;
	if ((int64_t)r1 <= 0)
		return 0;
	if (!l->random && getrandom(&l->random, sizeof l->random, GRND_NONBLOCK) < 0)
		l->random = (uintptr_t)l;
	l->random |= !l->random;
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return (uint64_t)((unsigned __int128)l->random * r1 >> 64);
}

static const char *errno_name(int64_t number)
{
	return number > 0 && number < 4096 ? strerrorname_np((int)number) : NULL;
}

HELP(library_errno_str)
{
	int64_t number = (int64_t)((int64_t)r1 < 0 ? -r1 : r1);
	const char *name = errno_name(number);

	UNUSED2;
	return name && number ? new_text(vm, name, strlen(name))
			      : short_text(vm, "%" PRIi64, (int64_t)r1);
}

/* The result of a system call; @r1: 1 decimal, 2 hexadecimal, 3 octal. */
HELP(library_return_str)
{
	const char *name = (int64_t)r2 < 0 ? errno_name((int64_t)-r2) : NULL;

	UNUSED3;
	if (name)
		return short_text(vm, "%" PRIi64 " (%s)", (int64_t)r2, name);
	if (r1 == 2)
		return short_text(vm, "0x%" PRIx64, r2);
	if (r1 == 3)
		return short_text(vm, "0%" PRIo64, r2);
	return short_text(vm, "%" PRIi64, (int64_t)r2);
}

HELP(library_signal_str)
{
	const char *name = r1 && r1 < 32 ? sigabbrev_np((int)r1) : NULL;

	UNUSED2;
	if (r1 >= 32 && r1 <= 64)
		return short_text(vm, "SIGRT_%d", (int)r1 - 32);
	return name ? short_text(vm, "SIG%s", name) : short_text(vm, "%" PRIi64, (int64_t)r1);
}

static uint64_t bytes_text(struct script_vm *vm, uint64_t bytes)
{
	static const char units[] = " KMGTPE";
	uint64_t hundredths;
	int unit = 0, shift;

	while (unit < 6 && bytes >> 10 * unit >= 1024)
		unit++;
	if (!unit)
		return short_text(vm, "%" PRIu64, bytes);
	shift = 10 * unit;
	hundredths = (uint64_t)((unsigned __int128)bytes * 100 >> shift);
	return short_text(vm, "%" PRIu64 ".%02u%c", hundredths / 100, (unsigned)(hundredths % 100),
			  units[unit]);
}

HELP(library_bytes_to_string)
{
	UNUSED2;
	return bytes_text(vm, r1);
}

static uint64_t page_size(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > 0 ? (uint64_t)size : 4096;
}

HELP(library_pages_to_string)
{
	UNUSED2;
	return bytes_text(vm, r1 * page_size());
}

HELP(library_mem_page_size)
{
	UNUSED0;
	return page_size();
}

/* 1m2.345s: @digits behind the point. */
static uint64_t duration_text(struct script_vm *vm, int64_t time, uint64_t per_second, int digits)
{
	uint64_t magnitude = time < 0 ? -(uint64_t)time : (uint64_t)time;
	uint64_t seconds = magnitude / per_second;

	return short_text(vm, "%s%" PRIu64 "m%" PRIu64 ".%0*" PRIu64 "s", time < 0 ? "-" : "",
			  seconds / 60, seconds % 60, digits, magnitude % per_second);
}

HELP(library_msecs_to_string)
{
	UNUSED2;
	return duration_text(vm, (int64_t)r1, 1000, 3);
}

HELP(library_usecs_to_string)
{
	UNUSED2;
	return duration_text(vm, (int64_t)r1, 1000000, 6);
}

HELP(library_nsecs_to_string)
{
	UNUSED2;
	return duration_text(vm, (int64_t)r1, 1000000000, 9);
}

/* Times of processors are nanoseconds. */
HELP(library_cputime_to_msecs)
{
	UNUSED2, (void)vm;
	return (uint64_t)((int64_t)r1 / 1000000);
}

HELP(library_cputime_to_usecs)
{
	UNUSED2, (void)vm;
	return (uint64_t)((int64_t)r1 / 1000);
}

/* Numbers of devices as the kernel has them: 20 bits for the minor one. */
HELP(library_major_of)
{
	UNUSED2, (void)vm;
	return r1 >> 20 & 0xfff;
}

HELP(library_minor_of)
{
	UNUSED2, (void)vm;
	return r1 & 0xfffff;
}

HELP(library_mkdev)
{
	UNUSED3, (void)vm;
	return (r1 & 0xfff) << 20 | (r2 & 0xfffff);
}

HELP(library_htons)
{
	UNUSED2, (void)vm;
	return htons((uint16_t)r1);
}

HELP(library_htonl)
{
	UNUSED2, (void)vm;
	return htonl((uint32_t)r1);
}

HELP(library_htonll)
{
	UNUSED2, (void)vm;
	return htobe64(r1);
}

/* An address of IPv4 in the order of the network. */
HELP(library_ip_ntop)
{
	uint32_t address = ntohl((uint32_t)r1);

	UNUSED2;
	return short_text(vm, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
			  address & 255);
}
