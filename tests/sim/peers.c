/* SPDX-License-Identifier: MIT */
/*
 * sim/peers.c - the peers of the collector's socket: programs that attach, requests, crowds that
 * send nothing, partial messages, garbage.  The sockets are real.  The peer's pid is simulated in
 * world.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/runtime.h"
#include "sim.h"

enum {
	JOIN_TIMEOUT_NS = 1000000000, /* of a program that joins */
	/* Of a peer that waits, in rounds of the collector's loop.  Not in time: the collector
	 * does nothing while its host sleeps. */
	ANSWER_ROUNDS = 8,
};

struct peer {
	int fd; /* 0: none */
	bool wants_answer;
	uint32_t kills, comers, ended; /* until it came */
	uint64_t since_round;
	char request[160];
};
static struct peer peers[SIM_PEERS];
static const char flush_request[] = "{\"verb\":\"flush\"}";
static uint64_t n_rounds;

static int come(uint32_t pid)
{
	int dir = runtime_dir_open(false), fd;

	sim->who = pid;
	fd = dir < 0 ? dir : session_connect(dir, "sim");
	sim->who = 0;
	if (dir >= 0)
		close(dir);
	return fd;
}

/* ---------------------------------------------------------------- programs */

static void ask(struct sim_program *p)
{
	struct abi_attach q = { .magic = ABI_ATTACH_MAGIC,
				.version = ABI_SESSION_MEMORY_VERSION,
				.pid = p->pid };

	snprintf(q.program, sizeof q.program, "sim-%u", p->pid - SIM_FIRST_PID);
	p->fd = come(p->pid);
	if (p->fd < 0) {
		p->state = SIM_GONE;
		return;
	}
	p->state = SIM_ASKS;
	p->asked_ns = sim->now_ns;
	if (send(p->fd, &q, sizeof q, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof q)
		program_die(p);
}

static void new_program(void)
{
	uint32_t pid = SIM_FIRST_PID + sim_draw(SIM_PIDS);

	for (uint32_t i = 0; i < SIM_PROGRAMS && !program_of(pid); i++)
		if (sim->programs[i].state == SIM_GONE) {
			sim->programs[i].pid = pid;
			ask(&sim->programs[i]);
			return;
		}
}

static void hear_answer(struct sim_program *p)
{
	struct abi_attach_answer a;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = { &a, sizeof a };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	int fd = -1;

	if (n < 0 && errno == EAGAIN) {
		if (sim->now_ns - p->asked_ns > JOIN_TIMEOUT_NS)
			program_die(p); /* it continues without */
		return;
	}
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	close(p->fd);
	if (n != sizeof a || a.error || fd < 0) {
		p->state = SIM_GONE; /* its collector died; it asks again, as another one */
	} else if (a.host_pid != p->pid) {
		sim_fail("program %u joined as %u", p->pid, a.host_pid);
	} else {
		program_attach(p, a.host_pid);
	}
	if (fd >= 0)
		close(fd);
}

/* ---------------------------------------------------------------- requests */

static void say(struct peer *p, const char *text, size_t size)
{
	if (size && send(p->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		p->wants_answer = false;
}

static void request(struct peer *p)
{
	static const char *const verbs[] = {
		"{\"verb\":\"status\"}",
		"{\"verb\":\"status\",\"channel\":0}",
		"{\"verb\":\"enable\",\"pattern\":\"sim:event_%u\"}",
		"{\"verb\":\"enable\",\"pattern\":\"sim:event_%u\",\"filter\":\"number > %u\"}",
		"{\"verb\":\"disable\",\"pattern\":\"sim:event_%u\"}",
		"{\"verb\":\"snapshot\"}",
		"{\"verb\":\"snapshot\",\"last_ns\":%u000000}",
		"{\"verb\":\"snapshot\",\"max_size\":%u}",
		flush_request,
		flush_request,
		"{\"verb\":\"rotate\"}",
		"{\"verb\":\"no such\"}",
		"{\"verb\":\"stop\"}",
	};
	uint32_t n_verbs = sizeof verbs / sizeof *verbs,
		 i = sim_draw(n_verbs - (sim->plan.idle || sim_chance(950)));
	int n;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = snprintf(p->request, sizeof p->request, verbs[i], sim_draw(12), sim_draw(1000));
#pragma GCC diagnostic pop
	p->wants_answer = true;
	sim_log("asks %s", p->request);
	say(p, p->request, (size_t)n);
}

static void nonsense(struct peer *p)
{
	static char bytes[12000];
	size_t n = sim_draw(8) ? sim_draw(200) : sim_draw(sizeof bytes);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)sim_draw(256);
	if (n && sim_draw(2))
		bytes[0] = '{';
	say(p, bytes, n);
}

static void half(struct peer *p)
{
	const char text[] = "{\"verb\":\"status\"}";

	say(p, text, sim_draw(sizeof text - 1));
}

/* A peer that has connected; NULL: there are too many. */
static struct peer *new_peer(void)
{
	for (uint32_t i = 0; i < SIM_PEERS; i++) {
		struct peer *p = &peers[i];

		if (p->fd)
			continue;
		*p = (struct peer){ .fd = come(SIM_FIRST_PID + SIM_PIDS),
				    .since_round = n_rounds,
				    .kills = sim->n_kills,
				    .comers = sim->n_waiting,
				    .ended = sim->n_ended };
		if (p->fd >= 0)
			return p;
		p->fd = 0;
		return NULL;
	}
	return NULL;
}

static void one_peer(void)
{
	struct peer *p = new_peer();

	if (!p)
		return;
	if (sim_draw(1000) < sim->plan.requests)
		request(p);
	else if (sim_draw(3))
		sim_draw(2) ? half(p) : nonsense(p);
}

void peers_ask_flush(void)
{
	struct peer *p = new_peer();

	if (!p)
		return;
	sim_log("asks for a flush%s", collector.pass.is_open ? " in the middle of a pass" : "");
	sim->n_flushes_in_pass += collector.pass.is_open;
	strcpy(p->request, flush_request);
	p->wants_answer = true;
	say(p, flush_request, strlen(flush_request));
}

static void leave(struct peer *p)
{
	close(p->fd);
	p->fd = 0;
}

/* Returns a complete one; the rest that a dead collector left of another does not count. */
static void keep_snapshot(const char *answer)
{
	const char *at = strstr(answer, "/out/snapshot-");
	unsigned i;

	if (at && sscanf(at, "/out/snapshot-%u", &i) == 1 && i < sizeof sim->is_snapshot)
		sim->is_snapshot[i] = true;
	sim->n_snapshots++;
}

/* The collector died, a crowd came behind it, or it ends. */
static bool may_be_turned_away(const struct peer *p)
{
	return p->kills != sim->n_kills || sim->n_waiting - p->comers >= SESSION_CONNECTIONS ||
	       collector.stop;
}

static void read_answer(struct peer *p)
{
	char text[4096];
	ssize_t n = recv(p->fd, text, sizeof text - 1, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN) {
		if (p->wants_answer && n_rounds - p->since_round > ANSWER_ROUNDS &&
		    !sim->plan.liars) {
			sim_fail("no collector answered %s in %d rounds", p->request,
				 ANSWER_ROUNDS);
			leave(p);
		}
		return;
	}
	if (n <= 0 && p->wants_answer && !may_be_turned_away(p))
		sim_fail("no collector answered %s", p->request);
	if (n > 0 && p->wants_answer) {
		text[n] = 0;
		if (strncmp(text, "{\"ok\":", 6))
			sim_fail("%s was answered by %s", p->request, text);
		sim->n_answers++;
		if (strstr(p->request, "snapshot") && strstr(text, "\"ok\":true"))
			keep_snapshot(text);
		if (!strcmp(p->request, flush_request) && strstr(text, "\"ok\":true") &&
		    !sim->plan.liars)
			check_flushed(p->ended);
		sim_log("answer %s", text);
	}
	leave(p);
}

/* ---------------------------------------------------------------- all */

void peers_act(void)
{
	if (sim_chance(600)) {
		new_program();
	} else if (sim_chance(20)) {
		for (uint32_t n = sim_draw(100); n; n--)
			one_peer(); /* a crowd */
		new_program();	    /* and the one that comes after it */
	} else {
		one_peer();
	}
}

void peers_listen(void)
{
	n_rounds++;
	for (uint32_t i = 0; i < SIM_PROGRAMS; i++)
		if (sim->programs[i].state == SIM_ASKS)
			hear_answer(&sim->programs[i]);
	for (uint32_t i = 0; i < SIM_PEERS; i++) {
		if (peers[i].fd)
			read_answer(&peers[i]);
		if (peers[i].fd && sim_chance(5))
			leave(&peers[i]);
	}
}

void peers_begin(void)
{
	memset(peers, 0, sizeof peers);
	for (uint32_t n = 4 + sim_draw(SIM_PROGRAMS - 4); n; n--)
		new_program();
}

void peers_end(void)
{
	for (uint32_t i = 0; i < SIM_PEERS; i++)
		if (peers[i].fd)
			leave(&peers[i]);
	for (uint32_t i = 0; i < SIM_PROGRAMS; i++)
		if (sim->programs[i].state != SIM_GONE)
			program_die(&sim->programs[i]);
}
