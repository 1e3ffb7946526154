/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/text.c - replace code under running threads, without a signal handler.
 *
 * The usual way puts a breakpoint first and needs a handler of SIGTRAP, which belongs to the
 * program.  Here a change of one byte is one store.  For five the first two bytes become a jump
 * over the next three:
 *
 *   (1) 2-byte store `eb 03`; every thread then runs the old instruction or the short jump
 *   (2) membarrier: no processor has bytes 2 to 4 in an old instruction; they are replaced
 *   (3) membarrier, then a 2-byte store of the new first two bytes
 *   (4) membarrier: when it returns, no thread runs the old code
 *
 * Several instructions come back, in place of a jump, by one store of the aligned word that holds all
 * five bytes: a thread runs the jump or, from its first byte on, the instructions.  The jump cannot
 * return under threads, which may then be behind the first instruction.
 *
 * A thread is never inside: old, middle and new are one instruction each, or its tail is never
 * reached.  A store of two bytes in an aligned word of eight is one for every processor's fetch.
 * Pages of the program's text are writable and executable for these microseconds: without `x` other
 * threads would fault.  Stubs are written through /proc/self/mem only.  While pages are open no
 * function of libc is called, as libc itself may be the text that changes.
 */
#include "inproc/calls/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096 };

static long call_kernel(long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	register uintptr_t fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

bool text_jump(uint8_t to[JUMP_BYTES], uintptr_t at, uintptr_t target)
{
	int64_t distance = (int64_t)(target - (at + JUMP_BYTES));

	if (distance != (int32_t)distance)
		return false;
	to[0] = 0xe9;
	for (int i = 0; i < 4; i++)
		to[1 + i] = (uint8_t)((uint64_t)distance >> 8 * i);
	return true;
}

static int protect(uintptr_t begin, uintptr_t end, int prot)
{
	begin &= ~(uintptr_t)(PAGE - 1);
	end = (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	return (int)call_kernel(SYS_mprotect, begin, end - begin, (uintptr_t)prot, 0);
}

static int protection(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
	       (flags & PF_X ? PROT_EXEC : 0);
}

/* memcpy is a function of libc, and might store a byte twice. */
static void set(uint8_t *at, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile uint8_t *)at)[i] = bytes[i];
}

bool text_can_sync(void)
{
	static int known; /* 0: not asked */

	if (!known)
		known = call_kernel(SYS_membarrier,
				    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0)
				? -1
				: 1;
	return known > 0;
}

static bool sync_core(void)
{
	return !call_kernel(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0);
}

/* One store for every processor: text_may_toggle. */
static void store_two(uint8_t *at, uint8_t first, uint8_t second)
{
	__asm__ volatile("movw %1, %0"
			 : "=m"(*(uint16_t *)at)
			 : "r"((uint16_t)(first | second << 8))
			 : "memory");
}

/* One store for every processor: text_is_in_word. */
static void store_word(uint8_t *at, const uint8_t *bytes, size_t n)
{
	uint64_t *word = (uint64_t *)((uintptr_t)at & ~(uintptr_t)7), value = *word;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)&value)[((uintptr_t)at & 7) + i] = bytes[i];
	__asm__ volatile("movq %1, %0" : "=m"(*word) : "r"(value) : "memory");
}

/* The first membarrier has succeeded in text_write; later ones fail for nothing else. */
static void write_live(const struct text_change *changes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!changes[i].is_jump)
			store_two(changes[i].at, 0xeb, JUMP_BYTES - 2);
	sync_core();
	for (uint32_t i = 0; i < n; i++)
		set(changes[i].at + 2, changes[i].to + 2, JUMP_BYTES - 2);
	sync_core();
	for (uint32_t i = 0; i < n; i++)
		store_two(changes[i].at, changes[i].to[0], changes[i].to[1]);
}

int text_memory_open(void)
{
	return (int)call_kernel(SYS_openat, (uintptr_t)AT_FDCWD, (uintptr_t) "/proc/self/mem",
				O_RDWR | O_CLOEXEC, 0);
}

bool text_poke(int memory, const void *at, const void *bytes, size_t n)
{
	return call_kernel(SYS_pwrite64, (uintptr_t)memory, (uintptr_t)bytes, n, (uintptr_t)at) ==
	       (long)n;
}

/* Where pages of a file may not become writable and executable: SELinux's execmod. */
static int write_through_memory(const struct text_change *changes, uint32_t n)
{
	int memory = text_memory_open(), err = 0;

	if (memory < 0)
		return memory;
	for (uint32_t i = 0; i < n && !err; i++)
		if (!text_poke(memory, changes[i].at, changes[i].to, changes[i].n))
			err = -EACCES;
	call_kernel(SYS_close, (uintptr_t)memory, 0, 0, 0);
	return err;
}

int text_write(const struct text_change *changes, uint32_t n, uint32_t flags, enum text_how how)
{
	uintptr_t begin, end;
	int err;

	if (!n)
		return 0;
	if (how != TEXT_QUIET && (!text_can_sync() || !sync_core()))
		return -ENOSYS;
	begin = (uintptr_t)changes[0].at;
	end = (uintptr_t)changes[n - 1].at + JUMP_BYTES;
	err = protect(begin, end, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (!err && how == TEXT_LIVE)
		write_live(changes, n);
	for (uint32_t i = 0; i < n && !err && how == TEXT_WORD; i++)
		store_word(changes[i].at, changes[i].to, changes[i].n);
	for (uint32_t i = 0; i < n && !err && (how == TEXT_QUIET || how == TEXT_BYTE); i++)
		set(changes[i].at, changes[i].to, changes[i].n);
	if (!err)
		protect(begin, end, protection(flags));
	else if (how == TEXT_QUIET || how == TEXT_BYTE)
		err = write_through_memory(changes, n);
	if (how != TEXT_QUIET)
		sync_core();
	return err;
}
