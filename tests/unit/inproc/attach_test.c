/* SPDX-License-Identifier: MIT */
/*
 * How long a program waits for a collector that does not answer: attach.c with a socket on which no
 * process accepts.
 *
 * The clock is simulated, and so is waiting: a wait for an answer ends at once, as if its whole
 * timeout had passed.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "inproc/context.h"
#include "inproc/page.h"
#include "test.h"

enum { SESSION_SLOT = 2, MS = 1000000 };

struct process process;
static struct abi_control page;
static struct abi_session session = { .session_slot = SESSION_SLOT, .epoch = 77, .name = "slow" };
static char directory[] = "/tmp/duet-join-test-XXXXXX";
static int64_t now_ns = 5000000000;
static long waited_us;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ now_ns / 1000000000, now_ns % 1000000000 };
	return 0;
}

/* The kernel's clock without the vDSO. */
long __real_syscall(long n, ...);
long __wrap_syscall(long n, ...);
long __wrap_syscall(long n, ...)
{
	long a[6];
	va_list list;

	va_start(list, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (n == SYS_clock_gettime)
		return __wrap_clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
	return __real_syscall(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	const struct timeval at_once = { .tv_usec = 1 }, *limit = value;

	if (name != SO_RCVTIMEO)
		return __real_setsockopt(fd, level, name, value, size);
	waited_us = limit->tv_sec * 1000000 + limit->tv_usec;
	now_ns += waited_us * 1000;
	return __real_setsockopt(fd, level, name, &at_once, sizeof at_once);
}

/* ---------------------------------------------------------------- the rest of libduet */

bool runtime_file(char *path, size_t size, const char *name)
{
	return snprintf(path, size, "%s/%s", directory, name) < (int)size;
}

bool runtime_session_slots(struct abi_session_slots *s, int dir)
{
	(void)dir;
	memset(s, 0, sizeof *s);
	s->at[SESSION_SLOT].epoch = session.epoch;
	strcpy(s->at[SESSION_SLOT].session, session.name);
	return true;
}

bool process_may_call(void)
{
	return true;
}

bool process_is_sandboxed(void)
{
	return false;
}

bool process_has_clock(void)
{
	return true;
}

void page_program(char program[ABI_NAME_BYTES])
{
	strcpy(program, "early");
}

void context_prepare(uint64_t contexts)
{
	(void)contexts;
}

/* ---------------------------------------------------------------- waiting */

static int listen_silently(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	runtime_file(a.sun_path, sizeof a.sun_path, "sock-slow");
	unlink(a.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 64))
		exit(3);
	return fd;
}

/* The time waited for the present session; 0: no request was sent. */
static long registers(void)
{
	waited_us = 0;
	ok(!session_attach_early(&session));
	return waited_us;
}

static long has_an_event(void)
{
	waited_us = 0;
	ok(!session_current(SESSION_SLOT, session.epoch));
	return waited_us;
}

static void an_absent_collector_is_neither_waited_for_nor_counted_as_slow(void)
{
	int fd;

	session.epoch++;
	is(registers(), 0);
	is(has_an_event(), 0);
	fd = listen_silently();
	now_ns += 990 * MS;
	is(has_an_event(), 0);
	now_ns += 20 * MS;
	is(has_an_event(), 1000000);
	close(fd);
}

static void a_slow_collector_is_waited_for_at_registration_and_first_event(void)
{
	int fd = listen_silently();

	session.epoch++;
	is(registers(), 250000);
	is(registers(), 0);
	is(has_an_event(), 1000000);
	is(has_an_event(), 0);
	close(fd);
}

static void a_silent_collector_takes_a_fifth_of_the_time(void)
{
	int fd = listen_silently();

	session.epoch++;
	is(has_an_event(), 1000000);
	for (int i = 0; i < 3; i++) {
		now_ns += 990 * MS;
		is(has_an_event(), 0);
		is(registers(), 0);
		now_ns += 20 * MS;
		is(has_an_event(), 250000);
	}
	close(fd);
}

static void the_next_session_in_the_slot_gets_a_new_wait(void)
{
	int fd = listen_silently();

	session.epoch++;
	is(has_an_event(), 1000000);
	session.epoch++;
	is(has_an_event(), 1000000);
	close(fd);
}

static void a_child_with_an_inherited_mapping_waits_less(void)
{
	static struct session parents; /* of an older session: it cannot be used */
	int fd = listen_silently();

	session.epoch++;
	process.inherited[SESSION_SLOT] = &parents;
	is(has_an_event(), 250000);
	process.inherited[SESSION_SLOT] = NULL;
	close(fd);
}

/* ---------------------------------------------------------------- before the page exists */

static int accept_request(int listener, struct abi_attach *q)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	memset(q, 0, sizeof *q);
	is(recv(fd, q, sizeof *q, 0), (long)sizeof *q);
	return fd;
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

static int n_waiting(int listener)
{
	int n = 0;

	for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0; n++)
		close(fd);
	return n;
}

static void registration_waits_for_the_request_that_was_sent_before_the_page(void)
{
	int listener = listen_silently(), fd;
	struct abi_attach q;

	session.epoch++;
	process.control = NULL;
	process.pid = 4711;
	session_request_early(&session);
	fd = accept_request(listener, &q);
	is(q.pid, 4711);
	ok(!strcmp(q.program, "early"));
	process.control = &page;
	now_ns += 50 * MS;
	is(registers(), 200000);
	ok(is_closed(fd));
	fcntl(listener, F_SETFL, O_NONBLOCK);
	is(n_waiting(listener), 0);
	is(registers(), 0); /* it has timed out, as any other */
	close(fd);
	close(listener);
}

static void the_request_is_not_taken_for_one_of_another_session(void)
{
	int listener = listen_silently(), fd;
	struct abi_attach q;

	session.epoch++;
	session_request_early(&session);
	session.epoch++;
	is(registers(), 250000);
	fd = accept_request(listener, &q);
	ok(!is_closed(fd));
	session_expect_none(session.epoch); /* has filters: the other's request stays */
	ok(!is_closed(fd));
	session_expect_none(0);
	ok(is_closed(fd));
	session_expect_none(0);
	fcntl(listener, F_SETFL, O_NONBLOCK);
	is(n_waiting(listener), 1); /* of the registration */
	close(fd);
	close(listener);
}

static void an_event_does_not_take_the_request_of_the_registration(void)
{
	int listener = listen_silently(), fd;
	struct abi_attach q;

	session.epoch++;
	session_request_early(&session);
	fd = accept_request(listener, &q);
	is(has_an_event(), 1000000); /* any thread or handler; the request belongs to one */
	ok(!is_closed(fd));
	session_expect_none(0);
	close(fd);
	close(listener);
}

static void a_name_that_leads_elsewhere_is_not_asked(void)
{
	int listener;

	strcpy(session.name, "../slow");
	session.epoch++;
	session_request_early(&session);
	is(registers(), 0);
	session_expect_none(0);
	strcpy(session.name, "slow");
	listener = listen_silently();
	fcntl(listener, F_SETFL, O_NONBLOCK);
	is(n_waiting(listener), 0);
	close(listener);
}

int main(void)
{
	char path[64];

	process.control = &page;
	if (!mkdtemp(directory))
		return 3;
	run(an_absent_collector_is_neither_waited_for_nor_counted_as_slow);
	run(a_slow_collector_is_waited_for_at_registration_and_first_event);
	run(a_silent_collector_takes_a_fifth_of_the_time);
	run(the_next_session_in_the_slot_gets_a_new_wait);
	run(a_child_with_an_inherited_mapping_waits_less);
	run(registration_waits_for_the_request_that_was_sent_before_the_page);
	run(the_request_is_not_taken_for_one_of_another_session);
	run(an_event_does_not_take_the_request_of_the_registration);
	run(a_name_that_leads_elsewhere_is_not_asked);
	if (runtime_file(path, sizeof path, "sock-slow"))
		unlink(path);
	rmdir(directory);
	return test_status();
}
