/* SPDX-License-Identifier: MIT */
/*
 * model/ring.pml - the protocol of the ring, for the checker Spin (Holzmann, "The Spin Model Checker").
 *
 * Two writers with pids 1 and 2 on two CPUs, a collector, sudden death.  One step of a process here is
 * one access to shared memory there, or several that no other party can tell apart; the C function is
 * named beside it.  What runs on one CPU and is not alone there is preempted: a step of one writer on a
 * CPU sends the restartable sequence of another on the same CPU back (a signal handler is the same, with
 * fewer interleavings: it runs to its end).  A migration does so too.
 *
 * A chunk has CELLS cells, an event is two halves of a cell.  A state word is (state, owner, order),
 * always changed as one.  Simpler than in C: one place of the X path per CPU instead of four; a claim
 * is one step (its exchange fails if anything changed since the search); time and sizes are left out.
 *
 * -DFLIGHT: claims take the oldest FULL chunk, and a reader copies chunks instead of draining them.
 * -DX=0, 1, 2: no writer, the second, both use the X path.
 * -DBUG=n: mutants, each with one check or ordering taken out; ./run tells which and why.
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
#define QUICK 0 /* a pass is one step: more events can be tried */
#endif
#ifndef COPIES
#define COPIES 3 /* of the reader */
#endif
#ifndef ABORTS
#define ABORTS 4 /* sequences sent back in all: bounds what a scheduler may do */
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
#define WRITERS 2
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
byte place[CPUS] = NONE, holder[CPUS];
byte next_order = 1;

/* The machine. */
byte cpu[WRITERS];
bool armed[WRITERS], aborted[WRITERS], dead[WRITERS], done[WRITERS];
byte n_aborts;

/* What must hold in the end. */
bool recorded[WRITERS * EVENTS], refused[WRITERS * EVENTS], seen[WRITERS * EVENTS];
bool gone[WRITERS * EVENTS]; /* overwritten */

#define OTHER (1 - me)
#if BUG == 1
#define DISTURB skip
#else
#define DISTURB                                                                              \
	if                                                                                   \
	:: cpu[OTHER] == cpu[me] && armed[OTHER] && !aborted[OTHER] ->                       \
		aborted[OTHER] = true; n_aborts++                                            \
	:: else                                                                              \
	fi
#endif
/* A writer runs if it lives; to interrupt the other one it must still be allowed. */
#define MAY_RUN (!dead[me] && (n_aborts < ABORTS || cpu[OTHER] != cpu[me] || !armed[OTHER] || \
			       aborted[OTHER] || done[OTHER] || dead[OTHER]))
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

/* Someone takes a chunk from its readers: what was in it is overwritten, rightly or not. */
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

#define CLAIM(n)                                                                             \
	STEP(find(n);                                                                        \
	     if                                                                              \
	     :: n != NONE -> if :: state[n] == FULL -> overwrite(n) :: else fi;              \
		     state[n] = (BUG == 5 -> OWNED : BUSY); owner[n] = me + 1                \
	     :: else                                                                         \
	     fi)
#define RESET(n) STEP(rd[n] = 0; pos[n] = 0); STEP(state[n] = OWNED)

#define CLOSE(c)                                                                             \
	STEP(if                                                                              \
	     :: BUG == 4 || (state[c] == s && order[c] == o && owner[c] == w && s == OWNED) -> \
		     state[c] = FULL; NEW_ORDER(c)                                           \
	     :: else                                                                         \
	     fi)

proctype writer(byte me)
{
	byte event, c = NONE, n = NONE, p, b, s, o, w, u, k;

	cpu[me] = (SAME -> 0 : me);
	{
	do
	:: event == EVENTS -> break
	:: event < EVENTS && (X == 2 || (X == 1 && me == 1)) -> goto exclusive
	:: event < EVENTS && !(X == 2 || (X == 1 && me == 1)) ->
try: skip; /* ring_try.  Until the commit nothing it reads can change without an abort. */
		STEP(armed[me] = true; aborted[me] = false; u = cpu[me]; c = slot[u];
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

look: skip; /* look(), write.c: outside of a sequence, anything may happen in between. */
		STEP(u = cpu[me]; c = slot[u]);
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
			 :: cpu[me] != u || slot[u] != c ||
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

exclusive: skip; /* take() */
		STEP(u = cpu[me]; c = NONE;
		     if
		     :: place[u] != NONE && (holder[u] == 0 || BUG == 10) ->
			     c = place[u]; holder[u] = me + 1
		     :: else
		     fi);
		n = (c == NONE -> 0 : 1); /* whether it is in a place */
		if
		:: c != NONE && pos[c] == CELLS ->
			/* retire() */
#if BUG != 12
			STEP(if :: state[c] == OWNED -> owner[c] = me + 1 :: else fi);
#endif
			STEP(place[u] = NONE; holder[u] = 0);
			STEP(s = state[c]; o = order[c]; w = owner[c]);
			CLOSE(c);
			c = NONE; n = 0
		:: else
		fi;
		if
		:: c == NONE ->
			CLAIM(c);
			if
			:: c == NONE ->
				n = NONE;
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
		STEP(assert(p < CELLS); lo[c * CELLS + p] = me * EVENTS + event + 1);
		STEP(hi[c * CELLS + p] = me * EVENTS + event + 1);
		STEP(pos[c] = p + 1; recorded[me * EVENTS + event] = true);
		/* give() */
		if
		:: n == 1 -> STEP(holder[u] = 0)
		:: n == 0 ->
			STEP(s = state[c]; o = order[c]; w = owner[c];
			     if
			     :: place[u] == NONE -> place[u] = c; holder[u] = 0; n = 1
			     :: else
			     fi);
			if
			:: n == 0 -> CLOSE(c)
			:: else
			fi
		fi;
		n = NONE;

next:		atomic { event++; c = NONE; p = 0; b = 0; s = 0; o = 0; w = 0; u = 0 }
	od;
	/* pool_unclaim() */
	if
	:: n != NONE -> STEP(NEW_ORDER(n); state[n] = FREE; owner[n] = 0)
	:: else
	fi;
	STEP(done[me] = true)
	} unless { dead[me] }
}

/* The scheduler in a bad mood, and SIGKILL. */
#define GONE(me) (done[me] || dead[me])
#define MOVE(me)                                                                             \
	atomic {                                                                             \
		moves < MOVES && !GONE(me) ->                                                \
		cpu[me] = 1 - cpu[me]; aborted[me] = armed[me]; moves++                      \
	}

proctype fate()
{
	byte moves, deaths;

	do
	:: MOVE(0)
	:: MOVE(1)
	:: atomic { deaths < DEATHS && !GONE(0) -> dead[0] = true; armed[0] = false; deaths++ }
	:: atomic { deaths < DEATHS && !GONE(1) -> dead[1] = true; armed[1] = false; deaths++ }
	:: atomic { moves == MOVES && deaths == DEATHS -> break }
	:: atomic { GONE(0) && GONE(1) -> break }
	od
}

#define OVER (GONE(0) && GONE(1))

#define IN_SLOT(i) (slot[0] == i || slot[1] == i || place[0] == i || place[1] == i)
#define DEAD(who) ((who) != 0 && dead[(who) - 1])

/* empty_places_of_the_dead() */
#define EMPTY_PLACE(u)                                                                       \
	d_step { i = place[u]; j = holder[u] };                                              \
	if                                                                                   \
	:: i != NONE && DEAD(j) ->                                                           \
		d_step { if :: state[i] == OWNED -> owner[i] = j :: else fi };               \
		d_step { if :: place[u] == i && holder[u] == j -> place[u] = NONE; holder[u] = 0 \
			 :: else fi }                                                        \
	:: else                                                                              \
	fi

/* reclaim_chunk().  u: whether its owner is dead, e: its word, s: whether it is in a slot */
inline reclaim_chunk(i)
{
	d_step { v_state[0] = state[i]; v_order[0] = order[i]; j = owner[i] };
	if
	:: v_state[0] == BUSY || v_state[0] == OWNED ->
#if BUG == 3
		s = IN_SLOT(i); /* asked before death */
		u = DEAD(j);
		e = (v_state[0] == BUSY -> 0 : pos[i]);
#else
		u = DEAD(j);
		e = (v_state[0] == BUSY -> 0 : pos[i]);
		s = (BUG != 11 && IN_SLOT(i));
#endif
		d_step {
			if
			:: v_state[0] == OWNED && s
			:: !(v_state[0] == OWNED && s) && !u && (e == 0 || is_x[i])
			:: else ->
				if
				:: BUG == 8 || (state[i] == v_state[0] && order[i] == v_order[0] &&
						owner[i] == j) ->
					assert(!IN_SLOT(i));
					NEW_ORDER(i);
					if
					:: e == 0 -> state[i] = FREE; owner[i] = 0
					:: else -> state[i] = FULL
					fi
				:: else
				fi
			fi
		}
	:: else
	fi;
	d_step { s = 0; u = 0; e = 0; j = 0; v_state[0] = 0; v_order[0] = 0 }
}

inline reclaim()
{
	EMPTY_PLACE(0);
	EMPTY_PLACE(1);
	reclaim_chunk(0);
	reclaim_chunk(1);
	reclaim_chunk(2);
	i = 0
}

#ifdef FLIGHT
/* copy_chunk(): the state, the word, the bytes, the state again. */
proctype reader()
{
	byte i, j, u, e, s, o, p, k, copies;
	byte v_state[1], v_order[1];
	byte a[CELLS], b[CELLS];

#if DEATHS > 0
	reclaim(); /* drain_reclaim() */
#endif
	do
	:: copies == COPIES -> break
	:: copies < COPIES ->
		copies++;
		if :: i = 0 :: i = 1 :: i = 2 fi;
		atomic { s = state[i]; o = order[i] };
		if
		:: s == OWNED || s == FULL ->
			p = pos[i]; k = 0;
			do
			:: k < p -> a[k] = lo[i * CELLS + k]; b[k] = hi[i * CELLS + k]; k++
			:: else -> break
			od;
			atomic {
				if
				:: BUG == 7 || (state[i] == s && order[i] == o) ->
					k = 0;
					do
					:: k < p ->
						assert(a[k] != 0 && a[k] == b[k] && recorded[a[k] - 1]);
						assert(k == 0 || a[k] != a[k - 1]);
						k++
					:: else -> break
					od
				:: else
				fi
			}
		:: else
		fi;
		atomic { s = 0; o = 0; p = 0; k = 0; i = 0; a[0] = 0; b[0] = 0;
#if CELLS > 1
			 a[1] = 0; b[1] = 0
#endif
		}
	od;
	OVER;
	/* At rest: whatever is not overwritten is there. */
	atomic {
		do
		:: i < CHUNKS && (state[i] == OWNED || state[i] == FULL) ->
			k = 0;
			do
			:: k < pos[i] ->
				s = lo[i * CELLS + k];
				assert(s != 0 && s == hi[i * CELLS + k] && !seen[s - 1]);
				seen[s - 1] = true; k++
			:: else -> break
			od;
			i++
		:: i < CHUNKS && !(state[i] == OWNED || state[i] == FULL) -> i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < WRITERS * EVENTS ->
			assert(!recorded[i] || seen[i] || gone[i]); i++
		:: else -> break
		od
	}
}
#else
/* look_at(): the state, then word and header.  False states and empty chunks are nothing to read. */
inline look_at(i)
{
	d_step { v_state[i] = state[i]; v_order[i] = order[i]; v_owner[i] = owner[i] };
	d_step {
		v_pos[i] = pos[i]; v_number[i] = number[i]; v_cpu[i] = cpu_of[i]; v_x[i] = is_x[i];
		if
		:: v_state[i] == FULL || (v_state[i] == OWNED && v_pos[i] > 0)
		:: else -> v_state[i] = FREE
		fi
	}
}

/* write_once(): every event whole, once.  What lies below the word does not change: one step. */
#define WRITE(i)                                                                             \
	d_step {                                                                             \
		do                                                                           \
		:: rd[i] < v_pos[i] ->                                                       \
			e = lo[i * CELLS + rd[i]];                                           \
			assert(e != 0 && e == hi[i * CELLS + rd[i]]);                        \
			assert(!seen[e - 1]);                                                \
			seen[e - 1] = true; rd[i]++                                          \
		:: else -> break                                                             \
		od;                                                                          \
		e = 0                                                                        \
	}

/* free_chunk(), and (1) of drain.h: nobody can write to it, all of it is in the file. */
#define RELEASE(i)                                                                           \
	d_step {                                                                             \
		if                                                                           \
		:: state[i] == v_state[i] && order[i] == v_order[i] && owner[i] == v_owner[i] -> \
			assert(!IN_SLOT(i));                                                 \
			NEW_ORDER(i); state[i] = FREE; owner[i] = 0                          \
		:: else                                                                      \
		fi;                                                                          \
		v_state[i] = FREE                                                            \
	}

#define IS_W(i, u, n) (v_state[i] != FREE && !v_x[i] && v_cpu[i] == u && v_number[i] == (n))
#define IS_LATE(i, u)                                                                        \
	(v_state[i] != FREE && !v_x[i] && v_cpu[i] == u && v_number[i] < next[u] && v_pos[i] == rd[i])
#define FIND(i, what)                                                                        \
	if                                                                                   \
	:: what(0) -> i = 0                                                                  \
	:: !what(0) && what(1) -> i = 1                                                      \
	:: !what(0) && !what(1) && what(2) -> i = 2                                          \
	:: else -> i = NONE                                                                  \
	fi
#define LATE(c)  IS_LATE(c, u)
#define NEXT(c)  IS_W(c, u, next[u])
#define AFTER(c) IS_W(c, u, next[u] + 1)

/* drain_cpu() */
inline drain_cpu()
{
	do
	:: d_step { FIND(i, LATE) };
		if
		:: i != NONE -> RELEASE(i)
		:: else -> break
		fi
	od;
	do
	:: d_step {
			FIND(i, NEXT);
			FIND(j, AFTER);
			s = (i != NONE && (v_state[i] == FULL || j != NONE))
		};
		if
		:: i == NONE -> break
		:: else
		fi;
#if BUG != 6
		if
		:: s && v_state[i] == OWNED -> v_pos[i] = pos[i] /* look again */
		:: else
		fi;
#endif
		WRITE(i);
		if
		:: s -> RELEASE(i); next[u]++
		:: else -> break
		fi
	od
}

/* drain_exclusive() */
#define DRAIN_X(i)                                                                           \
	if                                                                                   \
	:: v_state[i] != FREE && v_x[i] ->                                                   \
		WRITE(i);                                                                    \
		if                                                                           \
		:: v_state[i] == FULL -> RELEASE(i)                                          \
		:: else                                                                      \
		fi                                                                           \
	:: else                                                                              \
	fi

/* drain_pass(), partial */
inline pass()
{
	look_at(0);
	look_at(1);
	look_at(2);
	u = 0;
	drain_cpu();
	u = 1;
	drain_cpu();
	DRAIN_X(0);
	DRAIN_X(1);
	DRAIN_X(2);
	d_step {
		u = 0; i = 0; j = 0; s = 0;
		v_state[0] = 0; v_state[1] = 0; v_state[2] = 0;
		v_order[0] = 0; v_order[1] = 0; v_order[2] = 0;
		v_owner[0] = 0; v_owner[1] = 0; v_owner[2] = 0;
		v_pos[0] = 0; v_pos[1] = 0; v_pos[2] = 0;
		v_number[0] = 0; v_number[1] = 0; v_number[2] = 0;
		v_cpu[0] = 0; v_cpu[1] = 0; v_cpu[2] = 0;
		v_x[0] = 0; v_x[1] = 0; v_x[2] = 0
	}
}

proctype drain()
{
	byte i, j, u, e, s, passes, next[CPUS];
	byte v_state[CHUNKS], v_order[CHUNKS], v_owner[CHUNKS]; /* struct seen, drain.c */
	byte v_pos[CHUNKS], v_number[CHUNKS], v_cpu[CHUNKS];
	bool v_x[CHUNKS];

	do
	:: passes < PASSES && !OVER ->
		passes++;
#if QUICK
		d_step {
			reclaim();
			pass()
		}
#else
#if RECLAIM
		reclaim();
#endif
		pass()
#endif
	:: OVER -> break
	od;
	/* Nobody else runs any more: the rest need not be cut into steps. */
	skip;
	d_step { reclaim(); pass(); pass(); pass() };
	skip;
	/* At rest: all recorded is in the file, nothing else is, and nothing is left over. */
	atomic {
		i = 0;
		do
		:: i < WRITERS * EVENTS ->
			assert(!recorded[i] || seen[i]);
			assert(recorded[i] || !seen[i]);
			assert(!(recorded[i] && refused[i])); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < CHUNKS -> assert(state[i] == FREE || IN_SLOT(i)); i++
		:: else -> break
		od
	}
}
#endif

init
{
	atomic {
		run writer(0);
		run writer(1);
		run fate();
#ifdef FLIGHT
		run reader()
#else
		run drain()
#endif
	}
}
