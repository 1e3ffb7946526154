/* SPDX-License-Identifier: MIT */
/* Connections at a session's sockets while a crowd connects. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/session/session.h"
#include "test.h"

#define STATUS "{\"verb\":\"status\"}"
#define SECOND 1000000000ull

static struct session session;

static void begin(void)
{
	static const struct session_channel channel = { .name = "ring", .bytes = 1 << 20 };
	const struct session_options o = { .name = "crowd", .channels = &channel, .n_channels = 1 };
	struct diag d = { "" };

	if (session_open(&session, &o, &d)) {
		fprintf(stderr, "%s\n", d.text);
		exit(1);
	}
}

static int come(void)
{
	return session_connect(session.dir, "crowd");
}

static void speak(int fd)
{
	is(send(fd, STATUS, strlen(STATUS), MSG_NOSIGNAL), (ssize_t)strlen(STATUS));
}

/* Accepts all waiting connections that fit; returns their number. */
static int let_in(uint64_t now_ns)
{
	int n = 0;

	while (session_accept(&session, now_ns) >= 0)
		n++;
	return n;
}

static bool reads_status(int connection)
{
	struct session_message m;

	if (session.connections[connection].fd < 0 ||
	    session_read_request(&session, connection, &m) != SESSION_ASKED)
		return false;
	close(m.fd);
	return !strcmp(m.text, STATUS);
}

static void a_sent_request_is_read_whatever_connects_after_it(void)
{
	int crowd[SESSION_CONNECTIONS + 100], honest, connection, n = 0;

	begin();
	honest = come();
	connection = session_accept(&session, 1);
	speak(honest);
	for (int i = 0; i < SESSION_CONNECTIONS + 100; i++) {
		crowd[i] = come();
		n += let_in(2);
	}
	is(n, SESSION_CONNECTIONS + 100);
	session_expire(&session, 10 * SECOND);
	ok(reads_status(connection));
	for (int i = 0; i < SESSION_CONNECTIONS + 100; i++)
		close(crowd[i]);
	close(honest);
	session_close(&session);
}

/* It grows between other work: neither the command's start nor a program's answer waits for all of it. */
static void the_pools_of_a_command_grow_from_its_start(void)
{
	static const struct session_channel channel = { .name = "ring" };
	const struct session_options o = {
		.name = "crowd", .is_private = true, .channels = &channel, .n_channels = 1
	};
	struct pool_memory_counts n;
	struct diag d = { "" };
	int steps = 0;

	is(session_open(&session, &o, &d), 0);
	pool_memory_count(&session.supplies[0], &n);
	ok(n.backed * (uint64_t)session.pools[0].chunk_size < 64 << 20);
	ok(session.is_growing);
	while (session.is_growing && steps++ < 1000)
		session_grow_memory(&session);
	ok(steps >= 10 && steps < 1000);
	pool_memory_count(&session.supplies[0], &n);
	ok(n.backed * (uint64_t)session.pools[0].chunk_size >= 64 << 20);
	session_close(&session);
}

/* No program joins it, unless a request enables an event later: then it grows like any other. */
static void the_pools_of_a_command_without_events_grow_when_a_program_joins(void)
{
	static const struct session_channel channel = { .name = "ring" };
	const struct session_options o = { .name = "crowd",
					   .is_private = true,
					   .begins_empty = true,
					   .channels = &channel,
					   .n_channels = 1 };
	struct pool_memory_counts n;
	struct diag d = { "" };

	is(session_open(&session, &o, &d), 0);
	pool_memory_count(&session.supplies[0], &n);
	ok(n.backed >= 4 && n.backed * (uint64_t)session.pools[0].chunk_size < 8 << 20);
	ok(!session.is_growing);
	while (session_grow_memory(&session))
		;
	pool_memory_count(&session.supplies[0], &n);
	ok(n.backed * (uint64_t)session.pools[0].chunk_size >= 64 << 20);
	session_close(&session);
}

static void the_next_connection_waits_while_all_have_unread_requests(void)
{
	int crowd[SESSION_CONNECTIONS + 1];

	begin();
	for (int i = 0; i < SESSION_CONNECTIONS; i++) {
		speak(crowd[i] = come());
		is(let_in(1), 1);
	}
	speak(crowd[SESSION_CONNECTIONS] = come());
	is(let_in(1), 0);
	for (int i = 0; i < SESSION_CONNECTIONS; i++)
		ok(reads_status(i));
	is(let_in(2), 1);
	ok(reads_status(0));
	for (int i = 0; i <= SESSION_CONNECTIONS; i++)
		close(crowd[i]);
	session_close(&session);
}

/* Behind a gap, the bound stays; at the end it shrinks, and the free places are used again. */
static void each_turn_looks_only_at_places_that_were_used(void)
{
	int peers[3];

	begin();
	for (int i = 0; i < 3; i++) {
		speak(peers[i] = come());
		is(let_in(1), 1);
	}
	is(session.n_places, 3);
	session_close_connection(&session, 1);
	session_expire(&session, 2);
	is(session.n_places, 3);
	is(session_next(&session), 0);
	ok(reads_status(2));
	session_expire(&session, 2);
	is(session.n_places, 1);
	close(peers[1]);
	speak(peers[1] = come());
	is(let_in(3), 1);
	is(session.n_places, 2);
	ok(reads_status(0));
	is(session_next(&session), 1);
	ok(reads_status(1));
	session_expire(&session, 4);
	is(session.n_places, 0);
	is(session_next(&session), -1);
	for (int i = 0; i < 3; i++)
		close(peers[i]);
	session_close(&session);
}

static void a_silent_connection_is_closed_after_a_second(void)
{
	int silent, connection;

	begin();
	silent = come();
	connection = session_accept(&session, SECOND);
	session_expire(&session, SECOND + SECOND / 2);
	ok(session.connections[connection].fd >= 0);
	session_expire(&session, 3 * SECOND);
	is(session.connections[connection].fd, -1);
	close(silent);
	session_close(&session);
}

/* Requests of another process that has ended: they stay in the queue. */
static void crowd_of(int n)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		while (n-- > 0)
			if (send(come(), STATUS, strlen(STATUS), MSG_NOSIGNAL) < 0)
				_exit(1);
		_exit(0);
	}
	is(waitpid(pid, &status, 0), pid);
	is(status, 0);
}

static bool next_is_heard(void)
{
	int connection = session_next(&session);

	return connection >= 0 && reads_status(connection);
}

static void between_two_requests_of_one_there_is_one_of_each_other(void)
{
	enum { CROWD = 100, HONEST = 3 };
	int honest[HONEST];

	begin();
	crowd_of(CROWD);
	crowd_of(CROWD);
	is(let_in(1), 2 * CROWD);
	for (int i = 0; i < 20; i++)
		ok(next_is_heard());
	for (int i = 0; i < HONEST; i++)
		speak(honest[i] = come());
	is(let_in(2), HONEST);
	for (int i = 0; i < HONEST; i++) {
		char byte;

		for (int n = 0; n < 3 && recv(honest[i], &byte, 1, MSG_DONTWAIT) < 0; n++)
			ok(next_is_heard()); /* one of each crowd, and the honest one */
		is(recv(honest[i], &byte, 1, MSG_DONTWAIT), 0); /* reads_status has closed it */
		close(honest[i]);
	}
	for (int i = 0; i < 2 * CROWD - 20; i++) /* and no request is forgotten */
		next_is_heard();
	is(session_next(&session), -1);
	session_close(&session);
}

static void a_silent_connection_has_no_turn_until_it_sends(void)
{
	int silent, other;

	begin();
	silent = come();
	is(let_in(1), 1);
	ok(!next_is_heard());
	is(session_next(&session), -1);
	speak(silent);
	speak(other = come());
	is(let_in(2), 1);
	session_readable(&session, 0);
	ok(next_is_heard());
	ok(next_is_heard());
	is(session_next(&session), -1);
	close(silent);
	close(other);
	session_close(&session);
}

static void rule(struct abi_session *f, const char *pattern, uint32_t channel, uint32_t filter)
{
	const struct session_rule r = { .pattern = pattern, .channel = channel, .filter = filter };
	struct diag d = { "" };

	is(session_add_rule(f, &r, &d), 0);
}

/* @expected: the rules, each ended by a comma. */
static bool says(const struct abi_session *f, const char *expected)
{
	char text[sizeof f->rules + 1] = { 0 };

	for (uint32_t i = 0; i < f->rules_size; i++)
		text[i] = f->rules[i] ? f->rules[i] : ',';
	if (strcmp(text, expected))
		fprintf(stderr, "%s\n", text);
	return !strcmp(text, expected);
}

static void an_uncontradicted_rule_stays_in_its_place(void)
{
	struct abi_session f = { .rules_size = 0 };

	rule(&f, "a:*", SESSION_ANY_CHANNEL, 0);
	rule(&f, "b:*", SESSION_ANY_CHANNEL, 0);
	rule(&f, "c:*", 1, 0);
	rule(&f, "a:*", SESSION_ANY_CHANNEL, 0);
	ok(says(&f, "+a:*,+b:*,@1 c:*,"));
	rule(&f, "b:*", SESSION_ANY_CHANNEL, 0);
	rule(&f, "c:*", 1, 0);
	ok(says(&f, "+a:*,+b:*,@1 c:*,"));
}

static void a_rule_contradicted_since_moves_to_the_end(void)
{
	struct abi_session f = { .rules_size = 0 };

	rule(&f, "a:*", SESSION_ANY_CHANNEL, 0);
	rule(&f, "!a:x", SESSION_ANY_CHANNEL, 0);
	rule(&f, "a:*", SESSION_ANY_CHANNEL, 0);
	ok(says(&f, "!a:x,+a:*,"));
	rule(&f, "a:x", SESSION_ANY_CHANNEL, 7);
	rule(&f, "a:*", SESSION_ANY_CHANNEL, 0);
	ok(says(&f, "?7 a:x,+a:*,"));
	rule(&f, "a:x", SESSION_ANY_CHANNEL, 8);
	ok(says(&f, "+a:*,?8 a:x,"));
	rule(&f, "a:*", 1, 0);
	rule(&f, "*:x", 2, 0);
	rule(&f, "a:*", 1, 0);
	ok(says(&f, "+a:*,?8 a:x,@2 *:x,@1 a:*,"));
	rule(&f, "!a:*", SESSION_ANY_CHANNEL, 0);
	ok(says(&f, "?8 a:x,@2 *:x,@1 a:*,!a:*,"));
}

static ino_t session_file(void)
{
	struct stat st;

	is(fstatat(session.dir, "session-crowd", &st, 0), 0);
	return st.st_ino;
}

static void the_file_is_written_only_for_rules_that_are_new(void)
{
	struct abi_session fresh;
	struct diag d = { "" };
	ino_t first;

	begin();
	is(session_publish(session.dir, &session.file, &d), 0);
	fresh = session.file;
	rule(&fresh, "a:*", SESSION_ANY_CHANNEL, 0);
	is(session_change(&session, &fresh, &d), 0);
	first = session_file();
	for (int i = 0; i < 100; i++) {
		rule(&fresh, "a:*", SESSION_ANY_CHANNEL, 0);
		is(session_change(&session, &fresh, &d), 0);
	}
	is(session_file(), first);
	rule(&fresh, "!a:x", SESSION_ANY_CHANNEL, 0);
	is(session_change(&session, &fresh, &d), 0);
	ok(session_file() != first);
	ok(says(&session.file, "+a:*,!a:x,"));
	session_close(&session);
}

int main(void)
{
	char directory[] = "/tmp/duet-session-XXXXXX";
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 1;
	files.rlim_cur = files.rlim_max; /* both ends of all connections are ours */
	setrlimit(RLIMIT_NOFILE, &files);
	if (!mkdtemp(directory) || setenv("DUET_RUNTIME_DIR", directory, 1))
		return 1;
	run(a_sent_request_is_read_whatever_connects_after_it);
	run(the_pools_of_a_command_grow_from_its_start);
	run(the_pools_of_a_command_without_events_grow_when_a_program_joins);
	run(the_next_connection_waits_while_all_have_unread_requests);
	run(each_turn_looks_only_at_places_that_were_used);
	run(a_silent_connection_is_closed_after_a_second);
	run(between_two_requests_of_one_there_is_one_of_each_other);
	run(a_silent_connection_has_no_turn_until_it_sends);
	run(an_uncontradicted_rule_stays_in_its_place);
	run(a_rule_contradicted_since_moves_to_the_end);
	run(the_file_is_written_only_for_rules_that_are_new);
	if (chdir(directory) || unlink("seats") || rmdir(directory))
		perror(directory);
	return test_status();
}
