/* SPDX-License-Identifier: MIT */
/*
 * The paths of a profile lie in a file: where it can have no memory, the program does not end by
 * SIGBUS, and the last path takes the calls.
 */
#include "base/runtime.h"
#include "inproc/calls/hook/path.h"

#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

enum { PAGE = 4096 };

static struct abi_calls_thread *area;

/* A store into this page raises SIGBUS: it lies behind the end of its file. */
static void take_memory(void *page)
{
	int fd = memfd_create("nothing", MFD_CLOEXEC);

	ok(fd >= 0);
	ok(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == page);
	close(fd);
}

static void make_area(void)
{
	area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(area != MAP_FAILED);
}

static void paths_end_where_memory_ends(void)
{
	struct calls_self *s = calloc(1, sizeof *s);
	uint32_t n_first = 2 * PAGE / sizeof(struct abi_calls_path), most = 0, n_rest = 0;

	make_area();
	take_memory((char *)area->paths + 2 * PAGE - (uintptr_t)area->paths % PAGE);
	s->area = area;
	ok(path_begin(s));
	for (uint32_t function = 1; function < 2 * n_first; function++) {
		uint32_t node = path_make(s, function);

		n_rest += node == CALLS_PATH_REST;
		if (node != CALLS_PATH_REST && node > most)
			most = node;
		calls_count(&area->paths[node].calls, 1);
		is(path_make(s, function), node);
	}
	ok(most && most <= n_first);
	ok(n_rest >= n_first - 1);
	is(area->paths[CALLS_PATH_REST].calls, n_rest);
	munmap(area, sizeof *area);
	free(s);
}

static void without_room_for_the_first_there_is_no_profile(void)
{
	struct calls_self *s = calloc(1, sizeof *s);

	make_area();
	take_memory((char *)area->paths - (uintptr_t)area->paths % PAGE);
	s->area = area;
	ok(!path_begin(s));
	munmap(area, sizeof *area);
	free(s);
}

/* The last frames share a page with the first paths. */
static void frames_have_memory_to_their_last_byte(void)
{
	size_t bytes = offsetof(struct abi_calls_thread, paths);

	make_area();
	ok(runtime_reserve(area, bytes));
	take_memory((char *)area + (bytes - 1) / PAGE * PAGE);
	ok(!runtime_reserve(area, bytes));
	munmap(area, sizeof *area);
}

int main(void)
{
	run(frames_have_memory_to_their_last_byte);
	run(paths_end_where_memory_ends);
	run(without_room_for_the_first_there_is_no_profile);
	return test_status();
}
