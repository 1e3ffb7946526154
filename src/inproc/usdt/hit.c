/* SPDX-License-Identifier: MIT */
/*
 * inproc/usdt/hit.c - a mark is hit: pack its operands and write the event.
 *
 * Compiled without vector registers (-mgeneral-regs-only), so that the common case has none to save.
 *
 * Whether an operand is text is said by the user, so its value may be no address.  A page is read
 * only after the kernel has read a byte of it for us: rt_sigprocmask() with an invalid `how` fails
 * with EFAULT if it cannot read the set, and with EINVAL if it can.  It has no effect, and programs
 * that sandbox themselves allow it.  (The idea is libunwind's and Abseil's.)  Constants of the
 * mark's own file, and the page of the stack, need no such question.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "inproc/emit.h"
#include "inproc/usdt/internal.h"

enum {
	PAGE = 4096,
	TEXT_MOST = 256,  /* bytes of one text, its NUL included */
	TEXTS_MOST = 768, /* of all texts of a hit */
	PAYLOAD = ABI_PLAN_OPERANDS_MAX * 8 + TEXTS_MOST,
};

struct packing {
	char *p;
	size_t text_left; /* bytes */
	const struct usdt_mark *mark;
	const struct usdt_registers *registers;
};

/* ---------------------------------------------------------------- values */

static uint64_t low_of_vector(unsigned reg)
{
	uint64_t v = 0;

	switch (reg) {
#define CASE(n)                                                                                    \
	case n:                                                                                    \
		__asm__ volatile("movq %%xmm" #n ", %0" : "=r"(v));                                \
		break;
		CASE(0)
		CASE(1)
		CASE(2)
		CASE(3)
		CASE(4)
		CASE(5)
		CASE(6)
		CASE(7)
		CASE(8)
		CASE(9)
		CASE(10)
		CASE(11)
		CASE(12)
		CASE(13)
		CASE(14)
		CASE(15)
#undef CASE
	}
	return v;
}

static uint64_t load_bytes(uintptr_t at, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t __attribute__((aligned(1))) *)at;
	case 4:
		return *(const volatile uint32_t __attribute__((aligned(1))) *)at;
	default:
		return *(const volatile uint64_t __attribute__((aligned(1))) *)at;
	}
}

/* The memory that the program itself names at its mark, so it is there. */
static uintptr_t address_of(const struct packing *k, const struct abi_plan_operand *o)
{
	uintptr_t at = (uintptr_t)o->value;

	if (o->reg == ABI_OPERAND_RIP)
		at += k->mark->bias;
	else if (o->reg < 16)
		at += k->registers->at[o->reg];
	if (o->index < 16)
		at += k->registers->at[o->index] << (o->scale & 3);
	return at;
}

/* Its low bytes are the operand's. */
static uint64_t value_of(const struct packing *k, const struct abi_plan_operand *o)
{
	switch (o->place) {
	case ABI_OPERAND_REGISTER:
		return k->registers->at[o->reg & 15] >> (o->is_high ? 8 : 0);
	case ABI_OPERAND_MEMORY:
		return load_bytes(address_of(k, o), o->bytes);
	case ABI_OPERAND_VECTOR:
		return low_of_vector(o->reg);
	default:
		return (uint64_t)o->value;
	}
}

/* ---------------------------------------------------------------- text */

static bool is_readable(const struct packing *k, uintptr_t at)
{
	register uint64_t set_bytes __asm__("r10") = 8;
	long result;

	if ((at >= k->mark->low && at < k->mark->high) ||
	    at / PAGE == k->registers->at[USDT_RSP] / PAGE)
		return true;
	at &= ~(uintptr_t)7;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_rt_sigprocmask), "D"(-1), "S"(at), "d"(0), "r"(set_bytes)
			 : "rcx", "r11", "memory");
	return result == -EINVAL;
}

static void put_text(struct packing *k, const char *s, size_t most)
{
	while (most > 1 && *s) {
		*k->p++ = *s++;
		most--;
	}
	*k->p++ = 0;
}

/* The string at @at, cut after TEXT_MOST bytes. */
static void put_text_at(struct packing *k, uintptr_t at)
{
	size_t most = k->text_left < TEXT_MOST ? k->text_left : TEXT_MOST;
	char *begin = k->p;
	char c = 1;

	if (!most) {
		*k->p++ = 0;
		return;
	}
	if (!at)
		put_text(k, "(null)", most);
	else if (!is_readable(k, at))
		put_text(k, "(fault)", most);
	while (k->p == begin || k->p[-1]) {
		if (k->p > begin && at % PAGE == 0 && !is_readable(k, at))
			c = 0;
		else
			c = (size_t)(k->p - begin) + 1 < most ? *(const volatile char *)at++ : 0;
		*k->p++ = c;
	}
	k->text_left -= (size_t)(k->p - begin);
}

/* ---------------------------------------------------------------- the event */

static void put_value(struct packing *k, const struct abi_plan_operand *o)
{
	uint64_t v = value_of(k, o);

	if (o->is_text) {
		put_text_at(k, v);
		return;
	}
	__builtin_memcpy(k->p, &v, sizeof v); /* bytes behind it are overwritten */
	k->p += o->bytes;
}

void usdt_hit(const struct usdt_mark *m, const struct usdt_registers *r)
{
	union {
		uint64_t aligned;
		char bytes[PAYLOAD + sizeof(uint64_t)];
	} payload;
	struct packing k = { payload.bytes, TEXTS_MOST, m, r };
	struct fast_destination to;
	uint64_t size;

	if (!load(m->event->enabled))
		return;
	for (uint32_t i = 0; i < m->n_operands; i++)
		put_value(&k, &m->operands[i]);
	size = (uint64_t)(k.p - payload.bytes);
	to = fast_destination(m->event);
	if (unlikely(!to.pool || !ring_may_restart(to.pool, (uint32_t)size) ||
		     ring_try(to.pool, to.id, to.context, payload.bytes, size) != RING_DONE))
		usdt_slowly(m, payload.bytes, (uint32_t)size);
}
