/* SPDX-License-Identifier: MIT */
/*
 * model/weak.pml - the memory orders of the exclusive path, on CPUs where stores become visible
 * out of order (aarch64).
 *
 * One chunk of a flight recorder, FULL with two events of its first generation.  A claims it,
 * writes, and puts it into a place.  B takes it from there and continues.  A reader copies it, as
 * collect/drain/overwrite.c does (collect/drain/drain.c reads in the same order, without the
 * second check of the state).
 *
 * A store waits in its writer's buffer and leaves it at any time, also before older stores to
 * other words.  A release store leaves it only as the oldest.  An exchange waits for an empty
 * buffer (its release), and then owns the word: no other party exchanges it until the new value
 * is visible, but later stores of the writer may be visible before it.  LDAXR and STLXR behave
 * like this (Arm Architecture Reference Manual, B2.3).  A writer sees its own stores.  Loads are
 * in program order, except where a mutant lets them move ahead.
 *
 * -DBUG=n: mutants, each without one order; ./run lists them.
 */
#ifndef BUG
#define BUG 0
#endif
#define FULL  3
#define BUSY  1
#define OWNED 2
#define STATE 0
#define WORD  1
#define PLACE 2 /* 0: empty, 1: the chunk, not held, 2 and above: held */
#define BYTES 3 /* and 4: one event each; 1, 2 in the first generation, 11, 12 in the second */
#define WORDS 5
#define DEPTH 6

#define PLAIN   0
#define RELEASE 1

byte mem[WORDS];
bool owned[WORDS];
byte n[2];
byte at[2 * DEPTH], value[2 * DEPTH];
bool release[2 * DEPTH], exchanges[2 * DEPTH];

inline put(where, what, how, exchanging)
{
	d_step {
		assert(n[me] < DEPTH);
		at[me * DEPTH + n[me]] = where;
		value[me * DEPTH + n[me]] = what;
		release[me * DEPTH + n[me]] = how;
		exchanges[me * DEPTH + n[me]] = exchanging;
		n[me]++
	}
}
#define STORE(where, what, how) atomic { put(where, what, how, 0) }
#define FENCE n[me] == 0

/* @done: whether it was as expected */
#define EXCHANGE(where, expected, what, done)                                                \
	atomic {                                                                             \
		n[me] == 0 && !owned[where];                                                 \
		done = (mem[where] == expected);                                             \
		if                                                                           \
		:: done -> owned[where] = 1; put(where, what, RELEASE, 1)                    \
		:: else                                                                      \
		fi                                                                           \
	}

/* The newest own store, else the value that all see. */
inline fetch(where, v)
{
	d_step {
		v = mem[where];
		k = 0;
		do
		:: k < n[me] ->
			if :: at[me * DEPTH + k] == where -> v = value[me * DEPTH + k] :: else fi;
			k++
		:: else -> break
		od;
		k = 0
	}
}

#define OLDER(i, j) (j < i && at[who * DEPTH + j] == at[who * DEPTH + i])
#define MAY_LEAVE(i)                                                                         \
	(i < n[who] && (i == 0 || !release[who * DEPTH + i]) &&                              \
	 !OLDER(i, 0) && !OLDER(i, 1) && !OLDER(i, 2) && !OLDER(i, 3) && !OLDER(i, 4))

inline leave(i)
{
	mem[at[who * DEPTH + i]] = value[who * DEPTH + i];
	if :: exchanges[who * DEPTH + i] -> owned[at[who * DEPTH + i]] = 0 :: else fi;
	k = i;
	do
	:: k + 1 < n[who] ->
		at[who * DEPTH + k] = at[who * DEPTH + k + 1];
		value[who * DEPTH + k] = value[who * DEPTH + k + 1];
		release[who * DEPTH + k] = release[who * DEPTH + k + 1];
		exchanges[who * DEPTH + k] = exchanges[who * DEPTH + k + 1];
		k++
	:: else -> break
	od;
	n[who]--;
	at[who * DEPTH + n[who]] = 0; value[who * DEPTH + n[who]] = 0;
	release[who * DEPTH + n[who]] = 0; exchanges[who * DEPTH + n[who]] = 0;
	k = 0
}

proctype buffer(byte who)
{
	byte k;

end:	do
	:: d_step { MAY_LEAVE(0) -> leave(0) }
	:: d_step { MAY_LEAVE(1) -> leave(1) }
	:: d_step { MAY_LEAVE(2) -> leave(2) }
	:: d_step { MAY_LEAVE(3) -> leave(3) }
	:: d_step { MAY_LEAVE(4) -> leave(4) }
	:: d_step { MAY_LEAVE(5) -> leave(5) }
	od
}

/* ring_open .. ring_commit [A] */
#define WRITE                                                                                \
	assert(w < 2);                                                                       \
	STORE(BYTES + w, 11 + w, PLAIN);                                                     \
	STORE(WORD, w + 1, (BUG == 1 -> PLAIN : RELEASE))

/* pool_claim [C], then put_back() into an empty place */
proctype claimer(byte me)
{
	byte k, w;
	bool done;

	EXCHANGE(STATE, FULL, BUSY, done);
	assert(done);
#if BUG != 4
	FENCE;
#endif
	STORE(WORD, 0, RELEASE);
	STORE(STATE, OWNED, (BUG == 3 -> PLAIN : RELEASE));
	WRITE;
#if BUG == 2
	STORE(PLACE, 1, PLAIN)
#else
	EXCHANGE(PLACE, 0, 1, done)
#endif
}

/* take() .. put_back() [G] */
proctype taker(byte me)
{
	byte k, w;
	bool done;

#if BUG == 5
	fetch(WORD, w); /* before the exchange is done */
#endif
	EXCHANGE(PLACE, 1, 2 + me, done);
	if
	:: done ->
#if BUG != 5
		fetch(WORD, w);
#endif
		assert(w == 1); /* the stored value is seen */
		WRITE;
		STORE(PLACE, 1, (BUG == 2 -> PLAIN : RELEASE))
	:: else
	fi
}

#define OF_LIFE(v, i) (v == 1 + i || v == 11 + i)

/* copy_chunk(), collect/drain/overwrite.c */
proctype reader()
{
	byte s, again, w, a, b;

#if BUG == 6
	w = mem[WORD]; /* [B] before [D] */
	s = mem[STATE];
#else
	s = mem[STATE];
	w = mem[WORD];
#endif
#if BUG == 7
	again = mem[STATE];
#endif
	a = mem[BYTES];
	b = mem[BYTES + 1];
#if BUG == 8
	w = mem[WORD];
#endif
#if BUG != 7
	again = mem[STATE];
#endif
	if
	:: s == again && s == FULL -> assert(w < 1 || a == 1); assert(w < 2 || b == 2)
	:: s == again && s == OWNED -> assert(w < 1 || a == 11); assert(w < 2 || b == 12)
	:: else
	fi
}

init
{
	atomic {
		mem[STATE] = FULL; mem[WORD] = 2; mem[BYTES] = 1; mem[BYTES + 1] = 2;
		run claimer(0);
		run taker(1);
		run buffer(0);
		run buffer(1);
		run reader()
	}
}
