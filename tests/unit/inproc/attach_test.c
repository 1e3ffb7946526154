/* SPDX-License-Identifier: MIT */
/*
 * How long a program waits for a collector that does not answer: attach.c with a socket on which no
 * process accepts.
 *
 * The clock is simulated, and so is waiting: a wait for an answer ends at once, as if its whole
 * timeout had passed.
 */
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "inproc/context.h"
#include "inproc/process.h"
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
	if (runtime_file(path, sizeof path, "sock-slow"))
		unlink(path);
	rmdir(directory);
	return test_status();
}
