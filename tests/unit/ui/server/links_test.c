/* SPDX-License-Identifier: MIT */
/* unit/ui/server/links_test.c - connections closed when there are too many; requests cancelled. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ui/server/links.h"

enum { MOST = LINKS_KNOWN + LINKS_UNKNOWN + 8 };

static struct links links;
static int ours[MOST], theirs[MOST];

static void open_one(int i)
{
	int pair[2];

	is(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ours[i] = pair[0];
	theirs[i] = pair[1];
	ok(link_add(&links, ours[i]));
}

static void close_one(int i)
{
	link_remove(&links, ours[i]);
	close(ours[i]);
	close(theirs[i]);
}

static bool is_shut(int i)
{
	struct pollfd p = { .fd = theirs[i], .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void of_too_many_unknown_ones_the_oldest_is_closed(void)
{
	for (int i = 0; i < LINKS_UNKNOWN; i++)
		open_one(i);
	link_used(&links, ours[0]); /* it is known now: there is room for one more */
	open_one(LINKS_UNKNOWN);
	for (int i = 0; i <= LINKS_UNKNOWN; i++)
		ok(!is_shut(i));
	open_one(LINKS_UNKNOWN + 1);
	ok(!is_shut(0));
	ok(is_shut(1));
	ok(!is_shut(2));
	open_one(LINKS_UNKNOWN + 2);
	ok(is_shut(2));
	for (int i = 0; i < LINKS_UNKNOWN + 3; i++)
		close_one(i);
	is(links.n_known, 0);
	is(links.n_unknown, 0);
	is(links.end, 0);
}

static void of_too_many_known_ones_the_idlest_is_closed_that_does_not_work(void)
{
	uint32_t is_cancelled = 0;

	for (int i = 0; i < LINKS_KNOWN; i++) {
		open_one(i);
		link_used(&links, ours[i]);
	}
	link_works(&links, ours[0], &is_cancelled);
	link_used(&links, ours[1]); /* again */
	open_one(LINKS_KNOWN);
	link_used(&links, ours[LINKS_KNOWN]);
	ok(!is_shut(0) && !is_shut(1) && is_shut(2) && !is_shut(3));
	is(is_cancelled, 0);
	ok(links_are_busy(&links));
	link_works(&links, ours[0], NULL);
	ok(!links_are_busy(&links));
	for (int i = 0; i <= LINKS_KNOWN; i++)
		close_one(i);
}

static void what_nobody_waits_for_is_cancelled(void)
{
	uint32_t is_cancelled[3] = { 0 };
	uint32_t life;

	open_one(0);
	life = link_add(&links, ours[0]); /* the same descriptor, another connection */
	link_works(&links, ours[0], &is_cancelled[0]);
	link_gone(&links, ours[0], life - 1);
	is(is_cancelled[0], 0);
	link_gone(&links, ours[0], life);
	is(is_cancelled[0], 1);
	link_works(&links, ours[0], NULL);
	link_works(&links, ours[0], &is_cancelled[1]); /* it is gone already */
	is(is_cancelled[1], 1);
	close_one(0);
	open_one(0);
	link_works(&links, ours[0], &is_cancelled[2]);
	links_end(&links);
	is(is_cancelled[2], 1);
	close_one(0);
}

static void a_life_is_of_one_connection(void)
{
	uint32_t life;

	open_one(0);
	life = links.at[ours[0]].life;
	is(link_state(&links, ours[0], life), LINK_HEAD);
	link_set_state(&links, ours[0], LINK_HTTP);
	is(link_state(&links, ours[0], life), LINK_HTTP);
	is(link_state(&links, ours[0], life + 1), LINK_NONE);
	close_one(0);
	is(link_add(&links, LINKS_FDS), 0);
}

int main(void)
{
	links_init(&links);
	run(of_too_many_unknown_ones_the_oldest_is_closed);
	run(of_too_many_known_ones_the_idlest_is_closed_that_does_not_work);
	run(what_nobody_waits_for_is_cancelled);
	run(a_life_is_of_one_connection);
	return test_status();
}
