/* SPDX-License-Identifier: MIT */
/*
 * torture/step.c - stops a writer at every instruction of an event, and interrupts it there.
 *
 * 	torture_step [--stride N] [--only WORD]
 *
 * The kernel does not let a debugger step through a restartable sequence: each step would abort
 * it.  So the writer uses an rseq area that the kernel does not know, and this program, the
 * tracer, does the kernel's part on it: an interruption sets the instruction pointer to the abort
 * address of the sequence.
 *
 * For each way of writing and each situation the writer is first stepped through once, and at
 * each instruction a copy of the pool is drained: every recorded event must be there, and the
 * event that is being written must appear once, at one instruction; an abandoned event must never
 * appear.  Then, for each kind of interruption, a new writer runs up to each instruction (with
 * --stride N: every N-th), is interrupted there, and lives on or dies.  Everything is drained and
 * compared with the ledger.  All instructions take minutes; the suite uses a stride.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "one_channel.h"
#include "ledger.h"
#include "step.h"
#include "test.h"
#include "verify.h"

#if !RSEQ_HAVE_SEQUENCES
int main(void)
{
	skip("no restartable sequences on this machine");
}
#else
#include <sys/user.h>

enum { CHUNKS = 8, CHUNK_SHIFT = 12, CPUS = 2 };

static const char *const situation_names[] = { "an open chunk",	   "the first event",
					       "5 s later",	   "20 minutes later",
					       "an old empty one", "a full chunk",
					       "nothing free",	   "the oldest is overwritten" };
_Static_assert(sizeof situation_names / sizeof *situation_names == FLIGHT_SITUATIONS,
	       "each has a name");
static const char *const interruption_names[] = { "a signal handler that writes",
						  "a signal that ends on another CPU",
						  "a signal handler that jumps out",
						  "a signal handler that forks",
						  "a migration",
						  "SIGKILL",
						  "another process writes",
						  "another thread writes",
						  "another process fills the pool",
						  "the collector closes idle chunks",
						  "aborted at every step" };
_Static_assert(sizeof interruption_names / sizeof *interruption_names == INTERRUPTIONS,
	       "each has a name");

struct control *control;
struct ledger *ledger;
static struct abi_pool shape;
static struct pool pool;  /* ours; a writer takes one of its own */
static bool is_coarse;	  /* the pool is */
static bool overwrite;	  /* the pool is a flight recorder's: read by snapshots */
static void *pool_copy;	  /* to be drained */
static void *pool_before; /* at the last check */
static char trace_path[440];
static struct verify_counts total;
static uint64_t n_trials, n_aborted, n_steps;

/* ---------------------------------------------------------------- the tracer */

static void reset(void)
{
	struct abi_pool *memory = pool.shared;

	memset(memory, 0, shape.size);
	shape.flags =
		(overwrite ? ABI_POOL_FLIGHT_RECORDER : 0) | (is_coarse ? ABI_POOL_COARSE : 0);
	pool_format(memory, &shape);
	if (pool_attach(&pool, memory, shape.size, (uint32_t)getpid()))
		abort();
	memset(ledger->accounts, 0, KEYS * sizeof *ledger->accounts);
	memset(ledger->status, 0, (size_t)KEYS * STEP_LIMIT);
	memset(control, 0, sizeof *control);
	fake_area = (struct rseq_area){ 0 };
}

static pid_t start_writer(enum situation s, const struct way *w)
{
	int status;
	pid_t pid;

	reset();
	fflush(stdout);
	pid = fork();
	if (!pid)
		be_writer(&pool, s, w);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP)
		skip("a child cannot be traced here");
	return pid;
}

/* One instruction.  False when the event is done. */
static bool step(pid_t pid)
{
	int status;

	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		verify_wrong(&total, "the writer ended while it was stepped");
		return false;
	}
	n_steps++;
	return load(&control->phase) < 2;
}

/* The kernel's part in an interruption: a sequence that is running continues at its abort
 * address. */
static void interrupt(pid_t pid)
{
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} * cs; /* of the same program: at the same address here */
	char *area = (char *)control->area;
	struct user_regs_struct r;

	cs = (void *)ptrace(PTRACE_PEEKDATA, pid, area + offsetof(struct rseq_area, rseq_cs), 0);
	if (!cs)
		return;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if (r.rip - cs->start < cs->length) {
		r.rip = cs->abort;
		ptrace(PTRACE_SETREGS, pid, 0, &r);
		n_aborted++;
	}
	ptrace(PTRACE_POKEDATA, pid, area + offsetof(struct rseq_area, rseq_cs), 0);
}

static void set_cpu(pid_t pid, uint32_t cpu)
{
	uint64_t both = (uint64_t)cpu << 32 | cpu;

	ptrace(PTRACE_POKEDATA, pid, control->area, both);
}

static void live_on(pid_t pid, int sig)
{
	int status = 0;

	ptrace(PTRACE_CONT, pid, 0, sig);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	if (status)
		verify_wrong(&total, "the writer ended with status %#x", (unsigned)status);
}

/* ---------------------------------------------------------------- the collector */

static struct streams *open_drain(struct pool *p)
{
	struct streams *d = NULL;
	struct diag diag;

	if (open_streams(&d, p, trace_path, &diag)) {
		printf("# %s\n", diag.text);
		exit(1);
	}
	return d;
}

/* All that @d finds, held against the ledger. */
static void drain_rest(struct streams *d)
{
	int err = overwrite ? streams_write_overwrite(d, NULL) : 0;

	for (int i = 0; i < 4 && err >= 0 && !overwrite; i++)
		err = streams_pass(d, true, NULL);
	if (err < 0 || streams_finish(d, 0, NULL))
		verify_wrong(&total, "the drain failed");
	streams_close(d);
	/* Some situations begin with chunks that are seconds old: there a coarse time has no bound. */
	verify_trace(&total, trace_path, ledger,
		     (struct verify_options){ .is_flight_recorder = overwrite,
					      .early_ns = is_coarse ? UINT64_MAX : 0 });
	verify_remove(trace_path);
}

/* The regular work of a collector; with a flight recorder, open and idle chunks are closed too. */
static void pass(struct streams *d)
{
	if (overwrite) {
		drain_rest(open_drain(&pool));
		return;
	}
	store(&pool.shared->exhausted, 1);
	streams_pass(d, true, NULL);
}

/* Whether the writer's last event is in the pool as it is now; all recorded ones must be. */
static bool is_in_copy(void)
{
	uint64_t seen = total.unknown_seen, events = total.events;
	struct pool copy;

	memcpy(pool_before, pool.shared, shape.size);
	memcpy(pool_copy, pool_before, shape.size);
	if (pool_attach(&copy, pool_copy, shape.size, (uint32_t)getpid()))
		abort();
	drain_rest(open_drain(&copy));
	if (total.unknown_seen != seen)
		return true;
	/* Its call has returned: then it is missed if it is not there, in a flight recorder as the
	 * newest. */
	if (overwrite)
		return load(&ledger->status[KEY_WRITER * STEP_LIMIT +
					    ledger->accounts[KEY_WRITER].attempted - 1]) ==
		       LEDGER_RECORDED;
	return total.events - events == ledger->accounts[KEY_WRITER].attempted;
}

/* Most instructions change nothing that others can see. */
static bool has_changed(struct ledger_account *a)
{
	bool same = !memcmp(pool_before, pool.shared, shape.size) &&
		    !memcmp(a, &ledger->accounts[KEY_WRITER], sizeof *a);

	*a = ledger->accounts[KEY_WRITER];
	return !same;
}

/* A writer that was not interrupted has given back every place, whether it committed or not. */
static void check_nobody_holds(void)
{
	for (uint32_t i = 0; i < pool.n_slots; i++)
		for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++)
			if (ABI_HOLDER_OF(load(&pool_slot(&pool, i)->exclusive[x])))
				verify_wrong(&total,
					     "place %d of slot %u is held, its holder has ended", x,
					     i);
}

static void step_through(enum situation s, const struct way *w)
{
	pid_t pid = start_writer(s, w);
	struct ledger_account a = ledger->accounts[KEY_WRITER];
	uint32_t before = a.attempted;
	bool was_there = false, goes_on;
	int appeared = 0;

	do {
		goes_on = step(pid);
		bool is_there = was_there;

		if (load(&ledger->accounts[KEY_WRITER].attempted) > before &&
		    (has_changed(&a) || !goes_on))
			is_there = is_in_copy();
		appeared += is_there && !was_there;
		if (was_there && !is_there)
			verify_wrong(&total, "the event disappeared");
		was_there = is_there;
	} while (goes_on);
	live_on(pid, 0);
	check_nobody_holds();
	if (appeared != (s != NOTHING_FREE && w->form != LEDGER_ABANDONED))
		verify_wrong(&total, "the event appeared %d times", appeared);
}

/* ---------------------------------------------------------------- interruptions */

static void other_writes(struct streams *d, bool fills)
{
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_STAMP, 0);
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_PLACED, 11);
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_BODY, 33);
	/* Around the pool twice, so that chunks come to a second life in the same slot. */
	for (int i = 0; fills && i < 60; i++) {
		ledger_write(ledger, &pool, KEY_OTHER, LEDGER_BODY, 900);
		ledger_write(ledger, &pool, KEY_OTHER, LEDGER_PLACED, 1100);
		if (i % 4 == 3)
			pass(d);
	}
}

static void interrupt_with(enum interruption what, pid_t pid, struct streams *d)
{
	int status;

	control->handler = what;
	if (what != KILL)
		interrupt(pid);
	switch (what) {
	case SIGNAL:
	case SIGNAL_MOVES:
	case SIGNAL_JUMPS:
	case SIGNAL_FORKS:
		live_on(pid, SIGUSR1);
		if (!control->handled)
			verify_wrong(&total, "the handler did not run");
		if (control->child_failed)
			verify_wrong(&total, "the forked child did not end well");
		return;
	case MOVE:
		set_cpu(pid, 1);
		break;
	case KILL:
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		other_writes(d, false);
		return;
	case OTHER_WRITES:
	case OTHER_FILLS:
		other_writes(d, what == OTHER_FILLS);
		break;
	case THREAD_WRITES:
		pool.owner = (uint32_t)pid;
		other_writes(d, false);
		pool.owner = (uint32_t)getpid();
		break;
	case COLLECTOR:
		pass(d);
		pass(d);
		break;
	case INTERRUPTIONS:
		break;
	case EACH_STEP:
		while (step(pid))
			interrupt(pid);
		break;
	}
	live_on(pid, 0);
}

/* No process writes any more: give back the chunks that come_into() took, and search for
 * leftovers. */
static void check_chunks(void)
{
	uint32_t in_use = 0, in_slots = 0;

	for (uint32_t i = 0; i < pool.n_chunks; i++)
		in_use += ABI_STATE_OF(pool.states[i]) != ABI_FREE &&
			  !(overwrite && ABI_STATE_OF(pool.states[i]) == ABI_FULL);
	for (uint32_t i = 0; i < pool.n_slots; i++) {
		in_slots += pool_slot(&pool, i)->chunk != 0;
		for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++)
			in_slots += pool_slot(&pool, i)->exclusive[x] != 0;
	}
	if (in_use != in_slots)
		verify_wrong(&total, "%u chunks in use, %u in slots", in_use, in_slots);
}

/* False if the event was done before the @k-th instruction. */
static bool try_at(int k, enum situation s, const struct way *w, enum interruption what)
{
	pid_t pid = start_writer(s, w);
	struct streams *d = overwrite ? NULL : open_drain(&pool);
	bool goes_on = true;

	for (int i = 0; i < k && goes_on; i++)
		goes_on = step(pid);
	if (goes_on)
		interrupt_with(what, pid, d);
	else
		live_on(pid, 0);
	drain_rest(overwrite ? open_drain(&pool) : d);
	check_chunks();
	n_trials++;
	return goes_on;
}

static void try_everywhere(enum situation s, const struct way *w, enum interruption what,
			   int stride)
{
	static int phase;
	uint64_t before = total.wrong;
	int k = stride > 1 ? phase++ % stride : 0;

	while (try_at(k, s, w, what) && what != EACH_STEP && total.wrong == before)
		k += stride;
	if (total.wrong != before)
		printf("# %s, %s: %s at instruction %d\n", w->name, situation_names[s],
		       interruption_names[what], k);
}

static void try_all(enum situation s, const struct way *w, int stride)
{
	uint64_t wrong = total.wrong, steps = n_steps, trials = n_trials, aborted = n_aborted;

	is_coarse = w->n_before;
	overwrite = s == ALL_FULL; /* the other situations are the same code there */
	if (s == EMPTY_TOO_OLD && (w->form == LEDGER_PLACED || w->form == LEDGER_ABANDONED))
		return; /* the exclusive path has no such chunks */
	step_through(s, w);
	if (total.wrong != wrong)
		printf("# %s, %s: while looking\n", w->name, situation_names[s]);
	steps = n_steps - steps;
	for (int i = 0; i < INTERRUPTIONS; i++)
		try_everywhere(s, w, (enum interruption)i, stride);
	test_n_failed += total.wrong != wrong;
	printf("%s %s, %s: %lu instructions, %lu interruptions, %lu of them in a sequence\n",
	       total.wrong == wrong ? "ok" : "not ok", w->name, situation_names[s], (long)steps,
	       (long)(n_trials - trials), (long)(n_aborted - aborted));
	fflush(stdout);
}

static void make_pool(void)
{
	void *memory;

	shape = pool_shape(&(struct pool_request){ .n_cpus = CPUS });
	shape.n_chunks = CHUNKS;
	shape.chunk_shift = CHUNK_SHIFT;
	shape.size = abi_pool_size(shape.n_slots, CHUNKS, CHUNK_SHIFT);
	if (clock_init_kind(&shape.clock, 0, NULL) || shape.clock.kind != ABI_CLOCK_TSC)
		skip("the write path needs the time stamp counter");
	shape.clock.offset_ns +=
		7200 * SECOND_NS; /* there is time before the start of the machine */
	memory = mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pool_copy = malloc(shape.size);
	pool_before = malloc(shape.size);
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ledger = ledger_open(KEYS, STEP_LIMIT);
	if (memory == MAP_FAILED || control == MAP_FAILED || !ledger || !pool_copy || !pool_before)
		abort();
	pool_format(memory, &shape);
	if (pool_attach(&pool, memory, shape.size, (uint32_t)getpid()))
		abort();
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "stride", required_argument, NULL, 's' },
						 { "only", required_argument, NULL, 'o' },
						 { NULL, 0, NULL, 0 } };
	const char *tmp = getenv("TMPDIR"), *only = NULL;
	char base[400];
	int stride = 1, o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 's')
			stride = atoi(optarg) > 0 ? atoi(optarg) : 1;
		else if (o == 'o')
			only = optarg;
		else
			return 2;
	}
	snprintf(base, sizeof base, "%s/duet-step-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(base))
		skip("no directory for traces");
	snprintf(trace_path, sizeof trace_path, "%s/trace", base);
	make_pool();
	use_fake_area();
	for (int i = 0; i < WAYS; i++)
		for (int s = 0; s < FLIGHT_SITUATIONS; s++)
			if (!only || strstr(step_ways[i].name, only) ||
			    strstr(situation_names[s], only))
				try_all((enum situation)s, &step_ways[i], stride);
	rmdir(base);
	printf("# %lu instructions stepped, %lu interruptions, %lu sequences sent back\n",
	       (long)n_steps, (long)n_trials, (long)n_aborted);
	ledger_close(ledger);
	free(pool_copy);
	free(pool_before);
	return test_status();
}
#endif
