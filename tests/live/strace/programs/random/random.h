/* SPDX-License-Identifier: MIT */
/*
 * random.h - makes random system calls that harm nothing, and records them itself.
 *
 * What always holds:
 *
 *   (1) Calls that change files name relative paths without dots and slashes, below a directory of
 *       the program's own, or descriptors that it opened; never 0, 1, 2 or inherited ones.
 *   (2) No call waits: descriptors do not block, times are short.
 *   (3) No signal is sent, except number 0 to itself.  All that can be ignored are ignored.
 *   (4) Calls that configure the machine are not in the table, or have arguments that are refused.
 *   (5) The same seed gives the same calls.  Memory that they read and write has fixed addresses.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stdint.h>

enum { N_ARGUMENTS = 6, SEEN = 64 };
enum { FIRST_FD = 100, EPOLL_FD = 120, TIMER_FD = 121 }; /* own descriptors that stay open */

/* The arguments of a call and its result; a file of these is the program's own record. */
struct record {
	uint64_t number;
	uint64_t arguments[N_ARGUMENTS];
	int64_t result;
	/* The first bytes behind each argument, as far as they are the program's memory. */
	uint8_t before[N_ARGUMENTS][SEEN], after[N_ARGUMENTS][SEEN];
	uint8_t n_before[N_ARGUMENTS], n_after[N_ARGUMENTS];
	uint8_t unused[4];
};
_Static_assert(sizeof(struct record) == 64 + 12 * SEEN + 16, "the reader unpacks it");

/* A kind of argument: one letter of the table. */
typedef uint64_t argument_maker(void);

struct call {
	int number;
	const char *kinds;	   /* of its arguments: arguments.c */
	void (*tame)(uint64_t *a); /* changes arguments that could do harm, or that must fit */
	enum { OPENS_NOTHING, OPENS_ONE, OPENS_WAITING } opens; /* a descriptor; one that blocks */
};

extern const struct call calls[];
extern const unsigned n_calls;

/* main.c: the dice. */
uint64_t dice(void);
unsigned below(unsigned n);
#define ONE_OF(...)                                                                                \
	(((const uint64_t[]){                                                                      \
		__VA_ARGS__ })[below(sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))])

/* arguments.c */
void arguments_open(void); /* memory and files */
void arguments_make(const struct call *c, uint64_t a[N_ARGUMENTS]);
void arguments_opened(uint64_t fd, bool waits); /* a call returned it */
bool arguments_must_close(uint64_t *fd);	/* there are too many: the next call closes one */
unsigned arguments_seen(uint64_t address, uint8_t to[SEEN]); /* how many bytes are there */
uint64_t own_fd(void);
uint64_t any_memory(void);
uint64_t structure(const void *bytes, unsigned n); /* a place with a copy of them */
uint64_t path(void);
uint64_t address(void);
uint64_t own_pid(void);

#endif
