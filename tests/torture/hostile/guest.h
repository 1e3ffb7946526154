/* SPDX-License-Identifier: MIT */
/* torture/hostile/guest.h - for programs that attach to a session without libduet.  One thread. */
#ifndef TORTURE_HOSTILE_GUEST_H
#define TORTURE_HOSTILE_GUEST_H

#include <stddef.h>
#include <stdint.h>

extern const char *guest_directory; /* the runtime directory */
extern uint64_t guest_seed;
extern const char *guest_name; /* of the program, for guest_join; NULL: any bytes */

/* Seconds, of the monotonic clock. */
double guest_now(void);

/* A random number, and @n random bytes at @p; from guest_seed. */
uint64_t guest_any(void);
void guest_fill(void *p, size_t n);

/* A connection to the user's collector, or to root's for this user; nonblocking, or -1. */
int guest_connection(void);

/* The session memory, *size bytes, as any program of the user gets it; -1: refused. */
int guest_join(uint64_t *size);

#endif
