/* SPDX-License-Identifier: MIT */
/* Requests of one turn share one walk over all programs.  They give the same result as requests
 * one by one, and are answered after the walk. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "collect/request/enable.h"
#include "test.h"

enum { N_EVENTS = 3 };
static const char *const schemas[N_EVENTS] = { "13 a:x", "13 a:y", "13 b:x" };

static struct session session;
static struct filters filters;
static struct enable_batch batch;
static int page_fd; /* of a program: we are it */
static void *mapped;
static char page_name[ABI_PAGE_NAME_BYTES];
static int n_walks;

int __real_programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg);
int __wrap_programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg);

int __wrap_programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg)
{
	n_walks++;
	return __real_programs_each(dir, pid, visit, arg);
}

static void make_page(void)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct abi_control page = { .magic = ABI_CONTROL_MAGIC,
				    .version = ABI_CONTROL_VERSION,
				    .n_events = N_EVENTS };
	struct timespec t;
	uint32_t at = offsetof(struct abi_control, text);

	clock_gettime(CLOCK_BOOTTIME, &t);
	page.registered_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	page.pid = (uint32_t)getpid();
	for (int i = 0; i < N_EVENTS; i++) {
		page.events[i].schema = at;
		page.events[i].schema_size = (uint32_t)strlen(schemas[i]);
		memcpy((char *)&page + at, schemas[i], strlen(schemas[i]));
		at += page.events[i].schema_size;
	}
	snprintf(page_name, sizeof page_name, "app-%d-%u", (int)getpid(), runtime_self().proc);
	page_fd = openat(session.dir, page_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	is(write(page_fd, &page, sizeof page), (ssize_t)sizeof page);
	is(fcntl(page_fd, F_OFD_SETLK, &whole), 0);
	mapped = mmap(NULL, sizeof page, PROT_READ, MAP_SHARED, page_fd, 0);
	ok(mapped != MAP_FAILED);
}

static void begin(void)
{
	static const struct session_channel channel = { .name = "ring", .bytes = 1 << 20 };
	const struct session_options o = { .name = "switches",
					   .channels = &channel,
					   .n_channels = 1 };
	struct diag d = { "" };

	session = (struct session)SESSION_NONE;
	filters = (struct filters){ 0 };
	batch = (struct enable_batch){ .session = &session, .filters = &filters };
	if (session_open(&session, &o, &d)) {
		fprintf(stderr, "%s\n", d.text);
		exit(1);
	}
	make_page();
}

static void end(void)
{
	munmap(mapped, sizeof(struct abi_control));
	close(page_fd);
	unlinkat(session.dir, page_name, 0);
	session_close(&session);
}

/* Sends a request; returns the socket that receives the answer. */
static int ask(bool enable, const char *members)
{
	struct json_line line;
	char text[256];
	int fds[2];

	snprintf(text, sizeof text, "{%s}", members);
	is(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	is(json_line_parse(&line, text, strlen(text)), 0);
	if (!enable_request_read(&batch, &line, enable, fds[0]))
		close(fds[0]);
	return fds[1];
}

static bool is_answered(int fd, const char *answer)
{
	char text[1024];
	ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = 0;
	if (n > 0 && !strstr(text, answer))
		fprintf(stderr, "%s\n", text);
	return n > 0 && strstr(text, answer);
}

static bool is_on(int event)
{
	struct abi_control page;

	is(pread(page_fd, &page, sizeof page, 0), (ssize_t)sizeof page);
	return ABI_ENABLED(page.events[event].enabled, session.file.session_slot) ==
	       ABI_GENERATION(session.file.epoch);
}

static void a_crowd_of_requests_costs_one_walk(void)
{
	int crowd[SWITCHES_ASKERS];

	begin();
	n_walks = 0;
	for (int i = 0; i < SWITCHES_ASKERS; i++)
		crowd[i] = ask(true, i % 2 ? "\"pattern\":\"a:*\"" : "\"pattern\":\"b:*\"");
	is(n_walks, 0);
	ok(!is_answered(crowd[0], ""));
	enable_flush_batch(&batch);
	is(n_walks, 1);
	for (int i = 0; i < SWITCHES_ASKERS; i++) {
		ok(is_answered(crowd[i], i % 2 ? "\"events\":2,\"programs\":1"
					       : "\"events\":1,\"programs\":1"));
		close(crowd[i]);
	}
	ok(is_on(0) && is_on(1) && is_on(2));
	enable_flush_batch(&batch);
	is(n_walks, 1);
	end();
}

static void a_full_batch_is_done_before_more_requests_are_taken(void)
{
	enum { CROWD = 3 * PROGRAMS_REQUESTS };
	int crowd[CROWD];
	char members[64];

	begin();
	n_walks = 0;
	for (int i = 0; i < CROWD; i++) {
		snprintf(members, sizeof members, "\"pattern\":\"a:x%d\"", i);
		crowd[i] = ask(true, members);
	}
	is(n_walks, 2);
	enable_flush_batch(&batch);
	is(n_walks, 3);
	for (int i = 0; i < CROWD; i++) {
		ok(is_answered(crowd[i], "\"events\":0"));
		close(crowd[i]);
	}
	end();
}

static void the_later_request_decides(void)
{
	int asked[5];

	begin();
	asked[0] = ask(true, "\"pattern\":\"a:*\"");
	asked[1] = ask(false, "\"pattern\":\"a:x\"");
	asked[2] = ask(false, "\"pattern\":\"b:*\"");
	asked[3] = ask(true, "\"pattern\":\"*:x\"");
	asked[4] = ask(false, "\"pattern\":\"a:x\"");
	n_walks = 0;
	enable_flush_batch(&batch);
	is(n_walks, 1);
	ok(!is_on(0) && is_on(1) && is_on(2));
	for (int i = 0; i < 5; i++) {
		ok(is_answered(asked[i], i == 0 || i == 3 ? "\"events\":2" : "\"events\":1"));
		close(asked[i]);
	}
	end();
}

static void a_request_to_one_program_comes_after_earlier_requests(void)
{
	char members[64];
	int all, one;

	begin();
	snprintf(members, sizeof members, "\"pattern\":\"a:x\",\"pid\":%d", (int)getpid());
	all = ask(true, "\"pattern\":\"a:*\"");
	one = ask(false, members);
	ok(is_answered(all, "\"events\":2"));
	ok(is_answered(one, "\"events\":1"));
	close(all);
	close(one);
	ok(!is_on(0) && is_on(1));
	end();
}

static void malformed_requests_are_refused_at_once(void)
{
	int fd;

	begin();
	fd = ask(true, "\"pattern\":\"!a:*\"");
	ok(is_answered(fd, "\"ok\":false"));
	close(fd);
	n_walks = 0;
	enable_flush_batch(&batch);
	is(n_walks, 0);
	end();
}

int main(void)
{
	char directory[] = "/tmp/duet-switches-XXXXXX";

	if (!mkdtemp(directory) || setenv("DUET_RUNTIME_DIR", directory, 1))
		return 1;
	run(a_crowd_of_requests_costs_one_walk);
	run(a_full_batch_is_done_before_more_requests_are_taken);
	run(the_later_request_decides);
	run(a_request_to_one_program_comes_after_earlier_requests);
	run(malformed_requests_are_refused_at_once);
	if (chdir(directory) || unlink("seats") || rmdir(directory))
		perror(directory);
	return test_status();
}
