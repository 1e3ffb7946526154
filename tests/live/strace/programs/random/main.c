/* SPDX-License-Identifier: MIT */
/*
 * Makes random system calls that harm nothing.
 *
 *	program DIRECTORY SEED N RECORD
 *
 * It works in DIRECTORY, which it must have for itself, prints "ready", and waits for a line.  Then
 * it makes N calls between two calls of umask(0123), and writes a struct record of each to RECORD.
 */
#include "random.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t state;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
uint64_t dice(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned below(unsigned n)
{
	return (unsigned)(dice() >> 33) % n;
}

static int64_t raw(uint64_t number, const uint64_t a[N_ARGUMENTS])
{
	register uint64_t r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4],
			      r9 __asm__("r9") = a[5];
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static struct record *map_records(const char *path, unsigned long n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)(n * sizeof(struct record)))) {
		perror(path);
		exit(2);
	}
	at = mmap(NULL, n * sizeof(struct record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return at;
}

static void one_call(struct record *r)
{
	const struct call *c = &calls[below(n_calls)];

	r->number = (uint64_t)c->number;
	arguments_make(c, r->arguments);
	if (arguments_must_close(&r->arguments[0]))
		r->number = SYS_close;
	for (int i = 0; i < N_ARGUMENTS; i++)
		r->n_before[i] = (uint8_t)arguments_seen(r->arguments[i], r->before[i]);
	r->result = raw(r->number, r->arguments);
	for (int i = 0; i < N_ARGUMENTS; i++)
		r->n_after[i] = (uint8_t)arguments_seen(r->arguments[i], r->after[i]);
	if (r->number != SYS_close && c->opens && r->result > 2)
		arguments_opened((uint64_t)r->result, c->opens == OPENS_WAITING);
}

/* Signals that end a program are ignored; no call of ours sends one to another process. */
static void ignore_signals(void)
{
	for (int s = 1; s <= SIGRTMAX; s++)
		if (s != SIGSEGV && s != SIGBUS && s != SIGILL && s != SIGFPE && s != SIGABRT &&
		    s != SIGTRAP)
			signal(s, SIG_IGN);
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 5 ? strtoul(argv[3], NULL, 0) : 0;
	struct record *r;
	char go;

	if (!n) {
		fprintf(stderr, "usage: random_calls DIRECTORY SEED N RECORD\n");
		return 2;
	}
	state = strtoull(argv[2], NULL, 0);
	r = map_records(argv[4], n);
	if (chdir(argv[1])) {
		perror(argv[1]);
		return 2;
	}
	ignore_signals();
	arguments_open();
	printf("ready\n");
	fflush(stdout);
	if (read(0, &go, 1) != 1)
		return 2;
	umask(0123);
	for (unsigned long i = 0; i < n; i++)
		one_call(&r[i]);
	umask(0123);
	return 0;
}
