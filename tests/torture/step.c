/* SPDX-License-Identifier: MIT */
/*
 * torture/step.c - a writer is stopped at every single instruction of an event, and there things
 *happen.
 *
 *	torture_step [--stride N] [--only WORD]
 *
 * The kernel does not let one step through a restartable sequence: each step would abort it.  So
 *the writer uses an area that the kernel does not know, and the tracer, this program, does the
 *kernel's part on it: what interrupts a sequence sets the instruction pointer to its abort address.
 *
 * For each way of writing and each situation the writer is first stepped through once, and at each
 * instruction a copy of the pool is drained: what was recorded must be there, and the event that is
 * being written must appear once, at one instruction.  Then, for each kind of interruption, a new
 *writer is run up to each instruction (with --stride N: every N-th), interrupted there, and lives
 *on or not; all is drained and held against the ledger.  All of it takes minutes; the suite takes a
 *stride.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "collect/drain.h"
#include "ledger.h"
#include "ring/rseq.h"
#include "test.h"
#include "verify.h"

#if !RSEQ_HAVE_SEQUENCES
int main(void)
{
	skip("no restartable sequences on this machine");
}
#else
#include <sys/user.h>

enum { CHUNKS = 8, CHUNK_SHIFT = 12, CPUS = 2, LIMIT = 4000 };
enum { KEY_WRITER, KEY_HANDLER, KEY_OTHER, KEYS };
#define SECOND_NS 1000000000ull

enum situation { PLAIN, FIRST, LONG_AGO, TOO_OLD, EMPTY_TOO_OLD, FULL_CHUNK, NOTHING_FREE };
static const char *const situation_names[] = { "an open chunk",	   "the first event",
					       "5 s later",	   "20 minutes later",
					       "an old empty one", "a full chunk",
					       "nothing free" };
enum { SITUATIONS = sizeof situation_names / sizeof *situation_names };

enum interruption { SIGNAL, SIGNAL_MOVES, MOVE, KILL, OTHER_WRITES, OTHER_FILLS, EACH_STEP };
static const char *const interruption_names[] = { "a signal whose handler writes",
						  "a signal that ends on another CPU",
						  "a migration",
						  "SIGKILL",
						  "another process writes",
						  "another process fills the pool",
						  "aborted at every step" };
enum { INTERRUPTIONS = sizeof interruption_names / sizeof *interruption_names };

static const struct way {
	const char *name;
	enum ledger_form form;
	uint32_t n;
} ways[] = { { "ring_write of a word", LEDGER_STAMP, 0 },
	     { "ring_write of 21 bytes", LEDGER_BODY, 5 },
	     { "ring_open, ring_commit", LEDGER_PLACED, 3 } };

/* Shared with the writer. */
struct control {
	struct rseq_area
		*area; /* the writer's; of the same address here, but not the same memory */
	int phase;     /* 1 from before the event on, 2 when it is done */
	enum interruption handler;
	int handled;
};

static struct control *control;
static struct ledger *ledger;
static struct abi_pool shape;
static struct pool pool;  /* ours; a writer takes one of its own */
static void *pool_copy;	  /* to be drained */
static void *pool_before; /* as it was at the last look */
static char trace_path[440];
static struct verify_counts total;
static uint64_t n_trials, n_aborted, n_steps;

static __thread struct rseq_area fake_area;

static void use_fake_area(void)
{
	rseq_offset = (char *)&fake_area - (char *)__builtin_thread_pointer();
	fake_area = (struct rseq_area){ 0 };
}

/* ---------------------------------------------------------------- the writer */

static void shift_clock(struct pool *p, int64_t ns)
{
	p->offset_ns += (uint64_t)ns;
	p->clock.offset_ns += (uint64_t)ns;
}

static struct abi_chunk *open_chunk(const struct pool *p, enum ledger_form form)
{
	struct abi_slot *s = pool_slot(p, fake_area.cpu_id);

	return pool_chunk(p, form == LEDGER_PLACED ? s->x[0] : s->chunk);
}

/* Events until the one of @w will not fit any more. */
static void fill_chunk(struct pool *p, const struct way *w, uint32_t key)
{
	uint32_t size = w->form == LEDGER_STAMP	   ? 8
			: w->form == LEDGER_PLACED ? ledger_placed_size(w->n)
						   : (uint32_t)sizeof(struct ledger_body) + w->n;
	struct abi_chunk *first;

	ledger_write(ledger, p, key, w->form, w->n);
	first = open_chunk(p, w->form);
	while (p->chunk_size - ABI_POS_OF(first->word) >= RING_EXTENDED_BYTES + size)
		ledger_write(ledger, p, key, w->form, w->n);
}

/* An open chunk of the W path in which nothing was written: its writer died before it could. */
static void install_empty(struct pool *p)
{
	struct abi_chunk *c = pool_claim(p);

	c->begin_ns = clock_now_ns(&p->clock);
	c->sequence = 0;
	c->cpu = fake_area.cpu_id;
	c->path = ABI_PATH_W;
	pool_slot(p, fake_area.cpu_id)->chunk = pool_ref(p, c);
}

static void come_into(struct pool *p, enum situation s, const struct way *w)
{
	int64_t ago = s == LONG_AGO			   ? 5 * SECOND_NS
		      : s == TOO_OLD || s == EMPTY_TOO_OLD ? 1200 * SECOND_NS
							   : 0;

	shift_clock(p, -ago);
	if (s == EMPTY_TOO_OLD)
		install_empty(p);
	else if (s == FULL_CHUNK || s == NOTHING_FREE)
		fill_chunk(p, w, KEY_WRITER);
	else if (s != FIRST)
		ledger_write(ledger, p, KEY_WRITER, w->form, w->n);
	shift_clock(p, ago);
	while (s == NOTHING_FREE && pool_claim(p))
		;
	p->shared->exhausted = 0; /* so that all of a claim is stepped through */
}

static struct pool own_pool;

static void on_signal(int sig)
{
	(void)sig;
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_STAMP, 0);
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_PLACED, 40);
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_BODY, 40);
	if (control->handler == SIGNAL_MOVES)
		fake_area.cpu_id = fake_area.cpu_id_start = 1;
	control->handled = 1;
}

static void __attribute__((noreturn)) be_writer(enum situation s, const struct way *w)
{
	struct sigaction sa = { .sa_handler = on_signal };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &sa, NULL);
	own_pool = pool;
	own_pool.owner = (uint32_t)getpid();
	use_fake_area();
	control->area = &fake_area;
	come_into(&own_pool, s, w);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	__asm__ volatile("int3");
	store(&control->phase, 1);
	ledger_write(ledger, &own_pool, KEY_WRITER, w->form, w->n);
	store(&control->phase, 2);
	__asm__ volatile("int3");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) /* life goes on */
		ledger_write(ledger, &own_pool, KEY_WRITER, ways[i].form, 9);
	_exit(0);
}

/* ---------------------------------------------------------------- the tracer */

static void reset(void)
{
	memset(pool.shared, 0, shape.size);
	pool_format(pool.shared, &shape);
	memset(ledger->accounts, 0, KEYS * sizeof *ledger->accounts);
	memset(ledger->status, 0, (size_t)KEYS * LIMIT);
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
		be_writer(s, w);
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

/* What the kernel does when it interrupts: a sequence under way is sent to its abort address. */
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

static void drain_rest(struct drain *d)
{
	for (int i = 0; i < 4; i++)
		if (drain_pass(d, true, NULL) < 0)
			verify_wrong(&total, "the drain failed");
	if (drain_finish(d, 0, NULL))
		verify_wrong(&total, "the drain failed");
	drain_close(d);
	verify_trace(&total, trace_path, ledger, 0);
	verify_remove(trace_path);
}

static struct drain *open_drain(struct pool *p)
{
	struct drain *d = NULL;
	struct diag diag;

	if (drain_open(&d, p, trace_path, 0, &diag)) {
		printf("# %s\n", diag.text);
		exit(1);
	}
	return d;
}

/* Whether the writer's last event is in the pool as it is now; all recorded ones must be. */
static bool look_at_copy(void)
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
	/* Its call has returned, or it was not attempted: then the last attempted is not unknown.
	 */
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
			is_there = look_at_copy();
		appeared += is_there && !was_there;
		if (was_there && !is_there)
			verify_wrong(&total, "the event disappeared");
		was_there = is_there;
	} while (goes_on);
	live_on(pid, 0);
	if (appeared != (s != NOTHING_FREE))
		verify_wrong(&total, "the event appeared %d times", appeared);
}

/* ---------------------------------------------------------------- interruptions */

static void other_writes(struct drain *d, bool fills)
{
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_STAMP, 0);
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_PLACED, 11);
	ledger_write(ledger, &pool, KEY_OTHER, LEDGER_BODY, 33);
	/* Around the pool twice, so that chunks come to a second life in the same slot. */
	for (int i = 0; fills && i < 60; i++) {
		ledger_write(ledger, &pool, KEY_OTHER, LEDGER_BODY, 900);
		ledger_write(ledger, &pool, KEY_OTHER, LEDGER_PLACED, 1100);
		if (i % 4 == 3)
			drain_pass(d, true, NULL);
	}
}

static void interrupt_with(enum interruption what, pid_t pid, struct drain *d)
{
	int status;

	control->handler = what;
	if (what != KILL)
		interrupt(pid);
	switch (what) {
	case SIGNAL:
	case SIGNAL_MOVES:
		live_on(pid, SIGUSR1);
		if (!control->handled)
			verify_wrong(&total, "the handler did not run");
		return;
	case MOVE:
		set_cpu(pid, 1);
		break;
	case KILL:
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return;
	case OTHER_WRITES:
	case OTHER_FILLS:
		other_writes(d, what == OTHER_FILLS);
		break;
	case EACH_STEP:
		while (step(pid))
			interrupt(pid);
		break;
	}
	live_on(pid, 0);
}

/* Nobody writes any more: give back what come_into() took, and look for what is left over. */
static void check_chunks(void)
{
	uint32_t in_use = 0, in_slots = 0;

	for (uint32_t i = 0; i < pool.n_chunks; i++)
		in_use += ABI_STATE_OF(pool.states[i]) != ABI_FREE;
	for (uint32_t i = 0; i < pool.n_slots; i++) {
		in_slots += pool_slot(&pool, i)->chunk != 0;
		for (int x = 0; x < ABI_X_SLOTS; x++)
			in_slots += pool_slot(&pool, i)->x[x] != 0;
	}
	if (in_use != in_slots)
		verify_wrong(&total, "%u chunks in use, %u in slots", in_use, in_slots);
}

/* False if the event was done before the @k-th instruction. */
static bool try_at(int k, enum situation s, const struct way *w, enum interruption what)
{
	pid_t pid = start_writer(s, w);
	struct drain *d = open_drain(&pool);
	bool goes_on = true;

	for (int i = 0; i < k && goes_on; i++)
		goes_on = step(pid);
	if (goes_on)
		interrupt_with(what, pid, d);
	else
		live_on(pid, 0);
	drain_rest(d);
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

	if (s == EMPTY_TOO_OLD && w->form == LEDGER_PLACED)
		return; /* the X path has no such chunks */
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

	shape = pool_shape(0, CPUS, false);
	shape.n_chunks = CHUNKS;
	shape.chunk_shift = CHUNK_SHIFT;
	shape.size = abi_pool_size(shape.n_slots, CHUNKS, CHUNK_SHIFT);
	if (clock_init(&shape.clock, NULL) || shape.clock.kind != ABI_CLOCK_TSC)
		skip("the write path needs the time stamp counter");
	shape.clock.offset_ns +=
		7200 * SECOND_NS; /* there is time before the start of the machine */
	memory = mmap(NULL, shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pool_copy = malloc(shape.size);
	pool_before = malloc(shape.size);
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ledger = ledger_open(KEYS, LIMIT);
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
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (int s = 0; s < SITUATIONS; s++)
			if (!only || strstr(ways[i].name, only) || strstr(situation_names[s], only))
				try_all((enum situation)s, &ways[i], stride);
	rmdir(base);
	printf("# %lu instructions stepped, %lu interruptions, %lu sequences sent back\n",
	       (long)n_steps, (long)n_trials, (long)n_aborted);
	ledger_close(ledger);
	free(pool_copy);
	free(pool_before);
	return test_status();
}
#endif
