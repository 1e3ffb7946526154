/* SPDX-License-Identifier: MIT */
/*
 * ring/held.h - the chunks that this thread holds on the exclusive path, and those that it left.
 *
 * A signal handler that interrupts a writer may leave by siglongjmp(3), or by an exception: the
 * writer never gives its chunk back, and no other process can know.  So each thread keeps a short
 * list of the chunks it holds, each with an address inside the writer's frames.  Invariants:
 *
 *   (1) an event whose address lies in the frames of the running one is over: two live frames never
 *       share memory, whatever stacks, handlers and coroutines there are
 *   (2) the chunk of such an event, if its word and its place (or, for a new chunk, its state) are
 *       still as that event left them, is ours alone: it is given back, and the event counted as lost
 *   (3) a chunk is on the list only while it is held: it leaves the list before it is put back
 *
 * Depth alone decides nothing: an address below the stack pointer may belong to another stack, on
 * which the interrupted writer will go on.  So a chunk is found when the thread writes its next
 * large event at about the same depth, as a program in a loop does; until then it stays taken, and
 * at the end of the process the collector closes it.  So does the chunk if the jump comes in the few
 * instructions between taking and listing it, or after the commit: none of them touches the chunk's
 * memory, because a signal is most likely where a page fault ends.
 *
 * One thread and its handlers.  The list is this thread's own, so no memory order is needed; a
 * handler finds each entry whole or empty.
 */
#ifndef RING_HELD_H
#define RING_HELD_H

#include "ring/write.h"

/* held_add - list o->chunk from here on; @order: of this use of it, if it is in no place.  If the
 * list is full the entry that was made longest ago is dropped. */
void held_add(struct pool *p, const struct ring_open *o, uint64_t order);
/* held_begin - the event begins at @word of the chunk. */
void held_begin(const struct ring_open *o, uint64_t word);
/* held_remove - this thread is about to put the chunk back. */
void held_remove(const struct ring_open *o);
/* held_settle - give back the chunks of events that are over.  @live: as for ring_open_on_stack(). */
void held_settle(void *live);

#endif
