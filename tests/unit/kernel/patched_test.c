/* SPDX-License-Identifier: MIT */
/* A probe is refused exactly where the code of a process is not that of its file, and no breakpoint of another probe. */
#include "kernel/probe/patched.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { PAGE = 4096, NOP_AT = 64, PUSH_AT = 128, END_AT = 2 * PAGE - 5 };

static char path[] = "/tmp/duet-patched-test-XXXXXX";
static uint8_t *code; /* the file's second page on, as ours and the child's */
static pid_t child;

static void begin(void)
{
	static const uint8_t nop[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	int fd = mkstemp(path);

	for (int i = 0; i < 3 * PAGE; i++)
		is(write(fd, &(char){ (char)(i * 7) }, 1), 1);
	is(pwrite(fd, nop, sizeof nop, PAGE + NOP_AT), sizeof nop);
	code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE);
	ok(code != MAP_FAILED);
	close(fd);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
}

/* The answer for probes at two places of the file; the process that it names, or 0. */
static pid_t named(uint64_t a, uint64_t b, pid_t pid)
{
	uint64_t offsets[] = { a, b };
	struct diag d = { "" };
	int named = 0, err = patched_check(path, offsets, 2, pid, "-u x:f", &d);
	const char *at = strstr(d.text, "process ");

	is(err, *d.text ? -EBUSY : 0);
	ok(!err || (at && sscanf(at, "process %d", &named) == 1 && strstr(d.text, "-u x:f: ")));
	return named;
}

/* Puts bytes into our copy of the code, as a tracer inside does. */
static void put(int at, const void *bytes, size_t n)
{
	is(mprotect(code, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	memcpy(code + at, bytes, n);
	is(mprotect(code, 2 * PAGE, PROT_READ | PROT_EXEC), 0);
}

static void equal_code_may_have_a_probe(void)
{
	is(named(PAGE + PUSH_AT, PAGE + NOP_AT, 0), 0);
	is(named(PAGE + END_AT, 0, 0), 0);
	is(named(3 * PAGE - 2, 1 << 20, 0), 0); /* at the end of the file, and behind it */
}

static void another_probe_is_no_obstacle(void)
{
	put(PUSH_AT, "\xcc", 1);
	put(NOP_AT, "\xe8\x01\x02\x03\x04", 5);
	is(named(PAGE + PUSH_AT, PAGE + NOP_AT, 0), 0);
	is(named(PAGE + PUSH_AT - 4, PAGE + PUSH_AT - 1, 0), 0); /* just before it */
}

static void a_jump_is_found_in_the_process_that_has_it(void)
{
	put(PUSH_AT, "\xe9\x01\x02\x03\x04", 5);
	is(named(PAGE + PUSH_AT, PAGE + NOP_AT, 0), getpid());
	is(named(PAGE + NOP_AT, PAGE + PUSH_AT, getpid()), getpid());
	is(named(PAGE + PUSH_AT, PAGE + NOP_AT, child), 0);
	is(named(PAGE + PUSH_AT + 5, PAGE + NOP_AT, 0), 0);
	/* The rest of the jump that a probe has been removed from, or a probe inside of it. */
	is(named(PAGE + PUSH_AT + 3, PAGE + NOP_AT, 0), getpid());
	put(PUSH_AT, &(char){ (char)((PAGE + PUSH_AT) * 7) }, 1);
	is(named(PAGE + PUSH_AT, PAGE + NOP_AT, 0), getpid());
}

static void a_patched_nop_is_no_call_of_the_kernels(void)
{
	put(NOP_AT, "\xa9\x01\x02\x03\x04", 5);
	is(named(PAGE + NOP_AT, 0, getpid()), getpid());
}

static void a_file_that_is_missing_is_an_error(void)
{
	struct diag d = { "" };
	uint64_t offset = 0;

	is(patched_check("/nonexistent", &offset, 1, 0, "-u x:f", &d), -ENOENT);
	ok(strstr(d.text, "/nonexistent"));
}

int main(void)
{
	begin();
	run(equal_code_may_have_a_probe);
	run(another_probe_is_no_obstacle);
	run(a_jump_is_found_in_the_process_that_has_it);
	run(a_patched_nop_is_no_call_of_the_kernels);
	run(a_file_that_is_missing_is_an_error);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
	return test_status();
}
