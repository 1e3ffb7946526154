/* SPDX-License-Identifier: MIT */
/* analysis/names/thread_stacks.c - see thread_stacks.h.  The stacks of a process do not overlap. */
#include "analysis/names/thread_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass.h"

enum { TID_BEFORE_LIST = 16, LIST_BYTES = 24, STACKS_MAX = 1 << 20 };

void thread_stacks_fini(struct thread_stacks *s)
{
	free(s->at);
	*s = (struct thread_stacks){ 0 };
}

/* The first stack behind (@process, @address). */
static uint32_t behind(const struct thread_stacks *s, uint32_t process, uint64_t address)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct thread_stack *at = &s->at[middle];

		if (at->process < process || (at->process == process && at->begin <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thread_stack *find(const struct thread_stacks *s, uint32_t process, uint64_t address)
{
	uint32_t i = behind(s, process, address);

	return i && s->at[i - 1].process == process && address < s->at[i - 1].end ? &s->at[i - 1]
										  : NULL;
}

const struct thread_stack *thread_stacks_find(const struct thread_stacks *s, uint32_t process,
					      uint64_t address)
{
	return find(s, process, address);
}

bool thread_stacks_is_end(const struct thread_stack *s, uint64_t address)
{
	return s->robust_list && address == s->robust_list - TID_BEFORE_LIST;
}

void thread_stacks_unmapped(struct thread_stacks *s, uint32_t process, uint64_t begin,
			    uint64_t size)
{
	uint64_t end = size <= UINT64_MAX - begin ? begin + size : UINT64_MAX;
	uint32_t first = behind(s, process, begin), last;

	if (first && s->at[first - 1].process == process && s->at[first - 1].end > begin)
		first--;
	for (last = first;
	     last < s->n && s->at[last].process == process && s->at[last].begin < end;)
		last++;
	if (first == last)
		return;
	memmove(&s->at[first], &s->at[last], (s->n - last) * sizeof *s->at);
	s->n -= last - first;
}

static int add(struct thread_stacks *s, const struct thread_stack *one)
{
	uint32_t i;

	thread_stacks_unmapped(s, one->process, one->begin, one->end - one->begin);
	i = behind(s, one->process, one->begin);
	if (s->n == STACKS_MAX)
		return 0;
	if (pass_grow(&s->at, &s->n_rooms, s->n, sizeof *s->at))
		return -ENOMEM;
	memmove(&s->at[i + 1], &s->at[i], (s->n - i) * sizeof *s->at);
	s->at[i] = *one;
	s->n++;
	return 0;
}

int thread_stacks_mapped(struct thread_stacks *s, uint32_t process, uint64_t begin, uint64_t size)
{
	if (!size || size > UINT64_MAX - begin)
		return 0;
	return add(s, &(struct thread_stack){ process, 0, begin, begin + size, 0 });
}

int thread_stacks_entered(struct thread_stacks *s, uint32_t process, uint32_t thread, uint64_t list)
{
	struct thread_stack *at = find(s, process, list);

	if (list < TID_BEFORE_LIST || list > UINT64_MAX - LIST_BYTES)
		return 0;
	if (!at) /* it was mapped before the recording: only its end is known */
		return add(s, &(struct thread_stack){ process, thread, list - TID_BEFORE_LIST,
						      list + LIST_BYTES, list });
	at->thread = thread;
	at->robust_list = list;
	return 0;
}
