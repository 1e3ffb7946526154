/* SPDX-License-Identifier: MIT */
/*
 * model/ring.pml - the protocol of the ring, for the model checker Spin (Holzmann, "The Spin
 * Model Checker").
 *
 * Two threads with pids 1 and 2 on two CPUs, signal handlers, a collector (collector.pml), sudden
 * death. One step of a process here is one access to shared memory there, or several that no
 * other party can distinguish.  The name of the C function is beside it.  Code that shares a CPU
 * is preempted: a step of one writer on a CPU restarts the restartable sequence of another on the
 * same CPU.  A migration and a signal do the same.  A signal handler writes while the code below
 * it in the same thread stands still.
 *
 * A chunk has CELLS cells, an event is two halves of a cell.  A state word is (state, owner,
 * order), always changed as one.  Simpler than in C: one or two places of the exclusive path for
 * each CPU instead of four; a claim is one step (its exchange fails if anything changed since the
 * search); time and sizes are left out; all parties see memory in one order (weak.pml covers
 * other orders).
 *
 * -DFLIGHT: claims take the oldest FULL chunk, and a reader copies chunks instead of draining
 * them.
 *
 * -DX=0, 1, 2, 3: no writer, the second thread, both threads, the first and its handlers use the
 * exclusive path.
 *
 * -DSIGNALS=n: handlers in the first thread, each may interrupt the one before.
 *
 * -DJUMPS=n: so many events in all are left between their halves, on the exclusive path, and their
 * writer goes on with its next event: ring/held.h.  That one finds the chunk on its list and gives
 * it back, unless its word or its place has changed.
 *
 * -DBUG=n: mutants, each without one check or ordering; ./run lists them with reasons.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef X
#define X 0
#endif
#ifndef EVENTS
#define EVENTS 3 /* of each writer */
#endif
#ifndef MOVES
#define MOVES 1 /* migrations */
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef PASSES
#define PASSES 1 /* of the collector while writers live; three more follow */
#endif
#ifndef QUICK
#define QUICK 0 /* 1: reclaim and pass are one step, so that more events can be tried; 2: all but
		  the places of the exclusive path; 3: the pass is one */
#endif
#ifndef COPIES
#define COPIES 3 /* of the reader */
#endif
#ifndef ABORTS
#define ABORTS 4 /* restarted sequences in all: a limit on the scheduler */
#endif
#ifndef SIGNALS
#define SIGNALS 0
#endif
#ifndef JUMPS
#define JUMPS 0
#endif
#ifndef HANDLER_EVENTS
#define HANDLER_EVENTS 1
#endif
#ifndef PLACES
#define PLACES 1
#endif
#ifndef SAME
#define SAME 0 /* both begin on one CPU */
#endif
#define CHUNKS 3
#ifndef CELLS
#define CELLS 2
#endif
#ifndef RECLAIM
#define RECLAIM 1 /* also while writers live */
#endif
#define THREADS 2
#define WRITERS (THREADS + SIGNALS) /* 0 and 1: the threads; 2, 3: handlers in the first */
#define T(me)     ((me) == 1 -> 1 : 0)
#define BELOW(me) ((me) == 2 -> 0 : 2)
#define USES_X(me) (X == 2 || (X == 1 && (me) == 1) || (X == 3 && (me) != 1))
#define COLLECTOR 3 /* pid; its successor has the next */
#define CPUS 2
#define NONE 7

#define FREE 0
#define BUSY 1
#define OWNED 2
#define FULL 3

/* The pool: abi/pool.h. */
byte state[CHUNKS], owner[CHUNKS], order[CHUNKS];
byte pos[CHUNKS]; /* the commit word: events published */
byte rd[CHUNKS];
byte number[CHUNKS], cpu_of[CHUNKS];
bool is_x[CHUNKS];
byte lo[CHUNKS * CELLS], hi[CHUNKS * CELLS];
byte slot[CPUS] = NONE;
byte place[CPUS * PLACES] = NONE, holder[CPUS * PLACES];
byte next_order = 1;
bool exhausted;

/* The machine. */
byte cpu[THREADS];
byte top; /* the party that runs in the first thread */
bool armed[WRITERS], aborted[WRITERS], done[WRITERS];
bool dead[THREADS + 2]; /* by pid: also the collector and its successor */
byte n_aborts, n_jumps;

/* The conditions at the end. */
bool recorded[WRITERS * EVENTS], refused[WRITERS * EVENTS], seen[WRITERS * EVENTS];
bool gone[WRITERS * EVENTS]; /* overwritten */

#define OTHER ((me) == 1 -> top : 1)
#if BUG == 1
#define DISTURB skip
#else
#define DISTURB                                                                              \
	if                                                                                   \
	:: cpu[T(OTHER)] == cpu[T(me)] && armed[OTHER] && !aborted[OTHER] ->                       \
		aborted[OTHER] = true; n_aborts++                                            \
	:: else                                                                              \
	fi
#endif
/* A writer runs if it lives; to interrupt the other one it must still be allowed. */
#define MAY_RUN                                                                              \
	(!dead[T(me)] && (me == 1 || top == me) &&                                           \
	 (n_aborts < ABORTS || cpu[T(OTHER)] != cpu[T(me)] || !armed[OTHER] ||               \
	  aborted[OTHER] || done[OTHER] || dead[T(OTHER)]))
#define STEP(what) d_step { MAY_RUN -> DISTURB; what }
/* A step of a sequence: back to @label if it was interrupted. */
#define SEQUENCE(label, what)                                                                \
	atomic {                                                                             \
		MAY_RUN -> DISTURB;                                                          \
		if                                                                           \
		:: aborted[me] -> aborted[me] = false; armed[me] = false; goto label         \
		:: else -> what                                                              \
		fi                                                                           \
	}

#if BUG == 9
#define NEW_ORDER(c) skip /* not unique per life */
#else
#define NEW_ORDER(c) order[c] = next_order; next_order++
#endif

/* A writer takes a chunk from its readers: its events are overwritten, correctly or not. */
inline overwrite(c)
{
	k = 0;
	do
	:: k < pos[c] -> gone[lo[c * CELLS + k] - 1] = true; k++
	:: else -> break
	od;
	k = 0
}

/* pool_claim: find_chunk and the exchange. */
inline find(n)
{
	n = NONE; k = 0;
	do
	:: k == CHUNKS -> break
	:: k < CHUNKS && state[k] == FREE -> n = k; break
	:: k < CHUNKS && state[k] != FREE ->
#ifdef FLIGHT
		if
		:: state[k] == FULL && (n == NONE || order[k] < order[n]) -> n = k
		:: else
		fi;
#endif
		k++
	od;
	k = 0
}

#ifdef FLIGHT
#define MAY_CLAIM true
#define EXHAUST skip
#else
#define MAY_CLAIM (!exhausted)
#define EXHAUST exhausted = true
#endif
#define CLAIM(n)                                                                             \
	STEP(n = NONE; if :: MAY_CLAIM -> find(n) :: else fi;                                \
	     if                                                                              \
	     :: n != NONE -> if :: state[n] == FULL -> overwrite(n) :: else fi;              \
		     state[n] = (BUG == 5 -> OWNED : BUSY);                                  \
		     owner[n] = (BUG == 16 -> 0 : T(me) + 1)                                 \
	     :: else -> EXHAUST                                                              \
	     fi)
#define RESET(n)                                                                             \
	STEP(rd[n] = 0; pos[n] = 0);                                                         \
	STEP(state[n] = OWNED; owner[n] = T(me) + 1)

#define CLOSE(c)                                                                             \
	STEP(if                                                                              \
	     :: BUG == 4 || (state[c] == s && order[c] == o && owner[c] == w && s == OWNED) -> \
		     state[c] = FULL; NEW_ORDER(c)                                           \
	     :: else                                                                         \
	     fi)

#define LAST(me) ((me) < THREADS -> EVENTS : HANDLER_EVENTS)

/* The exchanges of the exclusive path with a place. */
#define TAKE(i)                                                                              \
	if                                                                                   \
	:: place[i] != NONE && (holder[i] == 0 || BUG == 10) ->                              \
		c = place[i]; holder[i] = T(me) + 1; y = i                                   \
	:: else                                                                              \
	fi
#define GIVE(i)                                                                              \
	if                                                                                   \
	:: place[i] == NONE -> place[i] = c; holder[i] = 0; y = i                            \
	:: else                                                                              \
	fi

/* held_settle(), ring_give_back() */
#if JUMPS == 0
#define SETTLE skip
#else
#if BUG == 24
#define PUBLISH pos[held] = held_p + 1; held_p++
#else
#define PUBLISH skip
#endif
#define SETTLE                                                                               \
	if                                                                                   \
	:: held != NONE ->                                                                   \
		STEP(PUBLISH;                                                                \
		     if                                                                      \
		     :: held_y != NONE && place[held_y] == held && pos[held] == held_p &&    \
			holder[held_y] == T(me) + 1 -> holder[held_y] = 0                    \
		     :: held_y == NONE && state[held] == OWNED &&                            \
			owner[held] == T(me) + 1 && (pos[held] == 0 || BUG == 24) ->         \
			state[held] = FREE; owner[held] = 0; NEW_ORDER(held)                 \
		     :: else -> assert(false) /* no other party may touch it */              \
		     fi;                                                                     \
		     held = NONE; held_y = NONE)                                             \
	:: else                                                                              \
	fi
#endif

proctype writer(byte me)
{
	byte event, c = NONE, n = NONE, p, b, s, o, w, u, k, y = NONE;
#if JUMPS > 0
	byte held = NONE, held_y = NONE, held_p;
#endif

	{
#if SIGNALS > 0
	if
	:: me >= THREADS ->
		/* A signal comes at any time, or never. */
		if
		:: atomic { top == BELOW(me) && !done[BELOW(me)] && !dead[0] ->
			top = me; aborted[BELOW(me)] = armed[BELOW(me)] }
		:: atomic { done[BELOW(me)] -> done[me] = true; goto end }
		fi
	:: else
	fi;
#endif
	do
	:: event == LAST(me) -> break
	:: event < LAST(me) && USES_X(me) -> goto exclusive
	:: event < LAST(me) && !USES_X(me) ->
try: skip; /* ring_try.  Until the commit nothing it reads can change without an abort. */
		STEP(armed[me] = true; aborted[me] = false; u = cpu[T(me)]; c = slot[u];
		     p = (c == NONE -> CELLS : pos[c]));
		if
		:: p == CELLS -> STEP(armed[me] = false; aborted[me] = false); goto look
		:: else
		fi;
#if BUG == 2
		SEQUENCE(try, pos[c] = p + 1; recorded[me * EVENTS + event] = true);
#endif
		SEQUENCE(try, lo[c * CELLS + p] = me * EVENTS + event + 1);
		SEQUENCE(try, hi[c * CELLS + p] = me * EVENTS + event + 1);
#if BUG == 2
		STEP(armed[me] = false; aborted[me] = false);
#else
		SEQUENCE(try, pos[c] = p + 1; recorded[me * EVENTS + event] = true;
			 armed[me] = false);
#endif
		goto next;

look: skip; /* look(), write.c: outside of a sequence, so any step of others may come in between. */
		STEP(u = cpu[T(me)]; c = slot[u]);
		if
		:: c != NONE ->
			STEP(s = state[c]; o = order[c]; w = owner[c]);
			STEP(p = pos[c]);
			STEP(b = number[c]) /* for begin_ns: another in each life */
		:: else -> p = CELLS
		fi;
		if
		:: p < CELLS -> goto try
		:: else
		fi;
		/* replace() */
		if
		:: n == NONE ->
			CLAIM(n);
			if
			:: n == NONE ->
				STEP(refused[me * EVENTS + event] = true);
				goto next
			:: else
			fi;
			RESET(n)
		:: else
		fi;
		STEP(number[n] = (c == NONE -> 0 : number[c] + 1); cpu_of[n] = u; is_x[n] = false);
		/* set(), the sequence that installs it */
		STEP(armed[me] = true; aborted[me] = false);
		SEQUENCE(look, if
			 :: (cpu[T(me)] != u && BUG != 23) || (slot[u] != c && BUG != 22) ||
			    (c != NONE && (pos[c] != p || (number[c] != b && BUG != 13))) ->
				armed[me] = false; goto look
			 :: else
			 fi);
		SEQUENCE(look, slot[u] = n; armed[me] = false);
		n = NONE;
		/* pool_close() */
		if
		:: c != NONE -> CLOSE(c)
		:: else
		fi;
		goto try;

exclusive: skip;
		SETTLE;
		/* take_any(): y is the place */
		STEP(u = cpu[T(me)]; c = NONE; y = NONE; TAKE(u * PLACES));
#if PLACES > 1
		if
		:: c == NONE -> STEP(TAKE(u * PLACES + 1))
		:: else
		fi;
#endif
		if
		:: c != NONE && pos[c] == CELLS ->
			/* retire() */
#if BUG == 19
			STEP(s = state[c]; o = order[c]; w = owner[c]);
			CLOSE(c);
#endif
#if BUG != 12
			STEP(if :: state[c] == OWNED -> owner[c] = T(me) + 1 :: else fi);
#endif
			STEP(place[y] = NONE; holder[y] = 0);
			STEP(s = state[c]; o = order[c]; w = owner[c]);
			CLOSE(c);
			c = NONE; y = NONE
		:: else
		fi;
		if
		:: c == NONE -> /* fresh() */
			CLAIM(c);
			if
			:: c == NONE ->
				STEP(refused[me * EVENTS + event] = true);
				goto next
			:: else
			fi;
			RESET(c);
			STEP(is_x[c] = true; cpu_of[c] = u)
		:: else
		fi;
		/* ring_open .. ring_commit */
		p = pos[c];
#if BUG == 14
		STEP(pos[c] = p + 1; recorded[me * EVENTS + event] = true);
#endif
#if BUG == 15
		if :: y != NONE -> STEP(holder[y] = 0) :: else fi;
#endif
		STEP(assert(p < CELLS); lo[c * CELLS + p] = me * EVENTS + event + 1);
#if JUMPS > 0
		if
		:: atomic { n_jumps < JUMPS -> n_jumps++; held = c; held_y = y; held_p = p;
			refused[me * EVENTS + event] = true; goto next }
#if BUG == 25
		/* Believed to be over, while it goes on. */
		:: atomic { n_jumps < JUMPS && y != NONE -> n_jumps++; holder[y] = 0 }
#endif
		:: true
		fi;
#endif
		STEP(hi[c * CELLS + p] = me * EVENTS + event + 1);
		STEP(pos[c] = p + 1; recorded[me * EVENTS + event] = true);
		/* put_back() */
		if
		:: y != NONE -> STEP(holder[y] = 0)
		:: else ->
			STEP(s = state[c]; o = order[c]; w = owner[c]; GIVE(u * PLACES));
#if PLACES > 1
			if
			:: y == NONE -> STEP(GIVE(u * PLACES + 1))
			:: else
			fi;
#endif
			if
			:: y == NONE -> CLOSE(c)
			:: else
			fi
		fi;

next:		atomic { event++; c = NONE; y = NONE; p = 0; b = 0; s = 0; o = 0; w = 0; u = 0 }
	od;
	SETTLE; /* by a last event, which is left out */
	/* pool_unclaim() */
	if
	:: n != NONE -> STEP(NEW_ORDER(n); state[n] = FREE; owner[n] = 0)
	:: else
	fi;
	STEP(done[me] = true; if :: me >= THREADS -> top = BELOW(me) :: else fi);
end:	skip
	} unless { dead[T(me)] }
}

/* The scheduler in a bad mood, and SIGKILL. */
#define GONE(t) (done[t] || dead[t])
#define RUNS(t) ((t) == 1 -> 1 : top)
#define MOVE(t)                                                                              \
	atomic {                                                                             \
		moves < MOVES && !GONE(t) ->                                                 \
		cpu[t] = 1 - cpu[t]; aborted[RUNS(t)] = armed[RUNS(t)]; moves++              \
	}
#define DIE(t)                                                                               \
	atomic {                                                                             \
		deaths < DEATHS && !GONE(t) -> dead[t] = true; armed[RUNS(t)] = false; deaths++ \
	}

proctype fate()
{
	byte moves, deaths;

	do
	:: MOVE(0)
	:: MOVE(1)
	:: DIE(0)
	:: DIE(1)
#ifdef COLLECTOR_DIES
	:: atomic { !dead[COLLECTOR - 1] -> dead[COLLECTOR - 1] = true }
#endif
	:: atomic { moves == MOVES && deaths == DEATHS -> break }
	:: atomic { GONE(0) && GONE(1) -> break }
	od
}

#define OVER (GONE(0) && GONE(1))

#include "collector.pml"

init
{
	atomic {
		cpu[1] = (SAME -> 0 : 1);
		run writer(0);
		run writer(1);
#if SIGNALS > 0
		run writer(2);
#endif
#if SIGNALS > 1
		run writer(3);
#endif
		run fate();
#ifdef FLIGHT
		run reader()
#else
		run drain(COLLECTOR);
#ifdef COLLECTOR_DIES
		run drain(COLLECTOR + 1)
#endif
#endif
	}
}
