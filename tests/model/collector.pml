/* SPDX-License-Identifier: MIT */
/* model/collector.pml - the collector's half of ring.pml: recovery, the drain, a flight recorder's reader. */

#if PLACES > 1
#define IN_PLACE(i) (place[0] == i || place[1] == i || place[2] == i || place[3] == i)
#else
#define IN_PLACE(i) (place[0] == i || place[1] == i)
#endif
#define IN_SLOT(i) (slot[0] == i || slot[1] == i || IN_PLACE(i))
#define DEAD(who) ((who) != 0 && dead[(who) - 1])

/* empty_places_of_the_dead() */
#define LEAVE_PLACE(u)                                                                       \
	d_step { if :: place[u] == i && holder[u] == j -> place[u] = NONE; holder[u] = 0     \
		 :: else fi }
#define EMPTY_PLACE(u)                                                                       \
	d_step { i = place[u]; j = holder[u] };                                              \
	if                                                                                   \
	:: i != NONE && DEAD(j) ->                                                           \
		if :: BUG == 18 -> LEAVE_PLACE(u) :: else fi;                                \
		d_step { if :: state[i] == OWNED -> owner[i] = j :: else fi };               \
		LEAVE_PLACE(u)                                                               \
	:: else                                                                              \
	fi;                                                                                  \
	d_step { i = 0; j = 0 }

/* ring_release(): take, then retire, as a writer would. */
#define RELEASE_PLACE(u)                                                                     \
	d_step {                                                                             \
		i = place[u];                                                                \
		if                                                                           \
		:: i != NONE && holder[u] == 0 -> holder[u] = (BUG == 21 -> 0 : me)          \
		:: else -> i = NONE                                                          \
		fi                                                                           \
	};                                                                                   \
	if                                                                                   \
	:: i != NONE ->                                                                      \
		d_step { if :: state[i] == OWNED -> owner[i] = me :: else fi };              \
		d_step { place[u] = NONE; holder[u] = 0 };                                   \
		d_step { v_state[0] = state[i]; v_order[0] = order[i]; j = owner[i] };       \
		d_step {                                                                     \
			if                                                                   \
			:: state[i] == v_state[0] && order[i] == v_order[0] &&               \
			   owner[i] == j && v_state[0] == OWNED -> state[i] = FULL; NEW_ORDER(i) \
			:: else                                                              \
			fi                                                                   \
		}                                                                            \
	:: else                                                                              \
	fi;                                                                                  \
	d_step { i = 0; j = 0; v_state[0] = 0; v_order[0] = 0 }

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
			:: !(v_state[0] == OWNED && s) && !u && (e == 0 || is_x[i]) && BUG != 17
			:: !(v_state[0] == OWNED && s) && !(!u && (e == 0 || is_x[i]) && BUG != 17) ->
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
#if PLACES > 1
	EMPTY_PLACE(2);
	EMPTY_PLACE(3);
#endif
#if QUICK == 2
	d_step { reclaim_chunk(0); reclaim_chunk(1); reclaim_chunk(2) };
#else
	reclaim_chunk(0);
	reclaim_chunk(1);
	reclaim_chunk(2);
#endif
	if
	:: exhausted ->
		RELEASE_PLACE(0);
		RELEASE_PLACE(1);
#if PLACES > 1
		RELEASE_PLACE(2);
		RELEASE_PLACE(3);
#endif
		exhausted = false
	:: else
	fi;
	i = 0
}

#ifdef FLIGHT
/* copy_chunk(): the state, the word, the bytes, the state again. */
proctype reader()
{
	byte i, j, u, e, s, o, p, k, copies;
	byte v_state[1], v_order[1];
	byte me = COLLECTOR;
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
	/* At rest: all that was not overwritten is there. */
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
/* drain_inspect(): the state, then word and header.  False states and empty chunks are nothing to read. */
inline session_info_read(i)
{
#if BUG == 20
	v_pos[i] = pos[i];
#endif
	d_step { v_state[i] = state[i]; v_order[i] = order[i]; v_owner[i] = owner[i] };
	d_step {
#if BUG != 20
		v_pos[i] = pos[i];
#endif
		 v_number[i] = number[i]; v_cpu[i] = cpu_of[i]; v_x[i] = is_x[i];
		if
		:: v_state[i] == FULL || (v_state[i] == OWNED && v_pos[i] > 0)
		:: else -> v_state[i] = FREE
		fi
	}
}

/* write_chunk(): every event complete, once.  The bytes below the word do not change: one step. */
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

/* free_chunk(), and (1) of drain.h: no party can write to it, all of it is in the file. */
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

/* write_cpu() */
inline write_cpu()
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
		:: s && v_state[i] == OWNED -> v_pos[i] = pos[i] /* check again */
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
	session_info_read(0);
	session_info_read(1);
	session_info_read(2);
	u = 0;
	write_cpu();
	u = 1;
	write_cpu();
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

byte next[CPUS]; /* read from the chunks by a successor */
bool looked; /* the end was seen */

proctype drain(byte me)
{
	byte i, j, u, e, s, passes;
	byte v_state[CHUNKS], v_order[CHUNKS], v_owner[CHUNKS]; /* struct seen, drain.c */
	byte v_pos[CHUNKS], v_number[CHUNKS], v_cpu[CHUNKS];
	bool v_x[CHUNKS];

	{
	if
	:: me == COLLECTOR || dead[COLLECTOR - 1]
	:: me != COLLECTOR && OVER && looked -> goto end
	fi;
	do
	:: passes < PASSES && !OVER && me == COLLECTOR ->
		passes++;
#if QUICK == 1
		d_step {
			reclaim();
			pass()
		}
#else
#if RECLAIM
		reclaim();
#endif
#if QUICK >= 2
		d_step { pass() }
#else
		pass()
#endif
#endif
	:: OVER -> break
	od;
	/* No other process runs any more: the rest can be one step. */
	skip;
	d_step { reclaim(); pass(); pass(); pass(); looked = true };
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
	};
end:	skip
	} unless { dead[me - 1] && !looked }
}
#endif
