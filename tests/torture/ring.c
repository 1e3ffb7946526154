/* SPDX-License-Identifier: MIT */
/*
 * torture/ring.c - many programs write into one pool, are interrupted, moved and killed, while
 * the collector's own drain reads it; then every event is accounted for.
 *
 * 	torture_ring [--seconds N] [--seed S] [--only WORD] [--lives N]
 *
 * Each plan below is run in rounds until its share of the time is over.  A round makes a pool and
 * starts writers: processes of several threads.  Timers interrupt them, up to three levels deep;
 * they are moved between CPUs; some handlers leave by siglongjmp; some processes are killed and
 * replaced.  The round drains all the time, and at the end compares trace and ledger: see
 * verify.h.
 *
 * In the plans with a block timeout the drain pauses, and writers wait for it.  Then nothing is
 * lost; or, if the block timeout is shorter than the pause, exactly the number that is counted.
 *
 * The suite gives it 20 seconds; `--seconds 7200` is the long form, `--only kills --lives 10000`
 * the long form for sudden death.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock/clock.h"
#include "one_channel.h"
#include "ledger.h"
#include "ring/rseq.h"
#include "test.h"
#include "verify.h"

enum { DEPTHS = 4, THREADS_MAX = 8, PROCESSES_MAX = 8 };
enum {
	ENOUGH_US = 20 * 1000 * 1000
}; /* patience that outlasts every pause, on a busy machine too */

struct plan {
	const char *name;
	bool overwrite;
	bool without_rseq;
	bool jumps; /* out of handlers */
	uint32_t n_chunks, chunk_shift;
	int n_processes, n_threads;
	int signal_us;	    /* a thread's timers; 0: none */
	int placed_percent; /* events by ring_open */
	int life_ms;	    /* killed then; 0: lives until its accounts are full */
	int lives;	    /* processes in all, at least n_processes */
	uint32_t limit;	    /* events per account */
	int share;	    /* of the time */
	/* of writers that find no chunk; from ENOUGH_US on nothing is lost */
	uint32_t block_timeout_us;
	int pause_us; /* of the drain, now and then, at most */
	bool is_coarse;
};

/* clang-format off */
static const struct plan plans[] = {
	{ "four chunks", false, false, true, 4, 12, 2, 2, 60, 10, 0, 2, 20000, 2, 0, 0 },
	{ "many chunks", false, false, true, 256, 16, 2, 3, 90, 10, 0, 2, 40000, 2, 0, 0 },
	{ "exclusive path", false, false, false, 16, 14, 3, 2, 50, 100, 0, 3, 20000, 2, 0, 0 },
	{ "without rseq", false, true, true, 16, 16, 2, 3, 80, 30, 0, 2, 20000, 2, 0, 0 },
	{ "killed in pairs", false, false, true, 16, 13, 4, 2, 70, 30, 40, 12, 20000, 3, 0, 0 },
	{ "coarse", false, false, true, 16, 13, 2, 3, 70, 5, 40, 12, 40000, 2, 0, 0, true },
	{ "kills", false, false, false, 64, 13, 2, 2, 100, 40, 8, 500, 30000, 0, 0, 0 },
	{ "flight recorder", true, false, true, 8, 13, 2, 2, 70, 20, 0, 2, 60000, 2, 0, 0 },
	{ "flight recorder, killed", true, false, true, 16, 14, 3, 2, 70, 30, 40, 9, 60000, 2, 0, 0 },
	/* More chunks than writers can hold at once: a writer that waits in a handler holds the
	 * chunk that it interrupted. */
	{ "patience", false, false, false, 64, 12, 2, 2, 150, 20, 0, 2, 5000, 2, ENOUGH_US, 20000 },
	{ "patience that ends", false, false, false, 64, 12, 2, 2, 150, 20, 0, 2, 5000, 1, 1000, 20000 },
};
/* clang-format on */

/* One round: the state that parent and children share, inherited by fork except for the pool. */
static struct {
	const struct plan *plan;
	int pool_fd;
	struct abi_pool shape;
	struct pool pool;
	struct ledger *ledger;
	uint64_t seed;
	int lives;
} round_;

/* ---------------------------------------------------------------- a writer */

static struct pool writer_pool;
static uint32_t writer_life;
static pid_t writer_tids[THREADS_MAX];

static __thread struct {
	uint64_t random;
	uint32_t index;
	volatile int depth;
	volatile bool in_place; /* from ring_open to ring_commit or ring_abandon: no jump */
	volatile bool may_jump;
	sigjmp_buf again;
} self;

static bool must_lose_nothing(void)
{
	return round_.plan->block_timeout_us >= ENOUGH_US;
}

static uint32_t own_key(void)
{
	return (writer_life * (uint32_t)round_.plan->n_threads + self.index) * DEPTHS +
	       (uint32_t)self.depth;
}

static enum ledger_status write_one(void)
{
	uint32_t r = ledger_random(&self.random), n = (r >> 8) % 100, kind = r % 100;
	enum ledger_form form = LEDGER_BODY;
	bool was_in_place = self.in_place;
	enum ledger_status s;

	if ((int)kind < round_.plan->placed_percent)
		form = (r >> 8) % 8 ? LEDGER_PLACED : LEDGER_ABANDONED;
	else if ((r >> 16) % 8 == 0)
		form = LEDGER_EMPTY;
	else if ((r >> 16) % 8 < 3)
		form = LEDGER_STAMP;
	else if ((r >> 16) % 8 < 6)
		form = (enum ledger_form)((int[]){ LEDGER_TEXT, LEDGER_WORDS, LEDGER_PREFIXED,
						   LEDGER_PREFIXED_TEXT })[(r >> 28) % 4];
	if ((r >> 20) % 64 == 0)
		n = ledger_random(&self.random) % (writer_pool.chunk_size / 3);
	if ((r >> 20) % 1024 == 1 && !must_lose_nothing())
		form = LEDGER_TOO_LARGE;
	self.in_place = was_in_place || form == LEDGER_PLACED || form == LEDGER_ABANDONED;
	s = ledger_write(round_.ledger, &writer_pool, own_key(), form, n);
	self.in_place = was_in_place;
	return s;
}

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	if (self.depth >= DEPTHS - 1)
		return;
	self.depth++;
	for (uint32_t i = 1 + ledger_random(&self.random) % 3; i; i--)
		write_one();
	self.depth--;
	errno = saved;
	if (self.may_jump && !self.in_place && !self.depth && ledger_random(&self.random) % 16 == 0)
		siglongjmp(self.again, 1);
}

static timer_t start_timer(int sig, long us)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	struct itimerspec t = { { 0, us * 1000 }, { 0, us * 1000 } };
	timer_t timer;

	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer) || timer_settime(timer, 0, &t, NULL))
		abort();
	return timer;
}

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void *write_many(void *index)
{
	const int us = round_.plan->signal_us;
	volatile timer_t a = NULL, b = NULL; /* sigsetjmp below */
	enum ledger_status s;

	self.index = (uint32_t)(uintptr_t)index;
	self.random = (round_.seed + own_key() + 1) * 0x9e3779b97f4a7c15ull;
	store(&writer_tids[self.index], (pid_t)syscall(SYS_gettid));
	if (us) {
		a = start_timer(SIGUSR1, us);
		b = start_timer(SIGUSR2, us + us / 3);
	}
	sigsetjmp(self.again, 1);
	self.depth = 0;
	/*
	 * A jump out of the exclusive path keeps a chunk from all others until the process ends.
	 * A flight recorder may then have one FULL chunk left.  A writer that claims it and dies
	 * empties it: then the newest event may be missing.
	 */
	self.may_jump = round_.plan->jumps && (rseq_offset || !round_.plan->overwrite);
	while ((s = write_one()) != LEDGER_UNKNOWN)
		if (s == LEDGER_REFUSED || ledger_random(&self.random) % 8192 == 0)
			usleep(ledger_random(&self.random) % 500);
	self.may_jump = false;
	block_signals();
	if (us) {
		timer_delete(a);
		timer_delete(b);
	}
	return NULL;
}

/* Moves the threads about, as a scheduler in a bad mood would, and sends a third kind of signal. */
static void *move_threads(void *stop)
{
	uint64_t random = round_.seed * 77 + writer_life + 1;
	int n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	block_signals();
	while (!load((bool *)stop)) {
		uint32_t r = ledger_random(&random);
		pid_t tid = load(&writer_tids[r % (uint32_t)round_.plan->n_threads]);
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET((r >> 4) % (uint32_t)n_cpus, &cpus);
		if (tid)
			sched_setaffinity(tid, sizeof cpus, &cpus);
		if (tid && (r >> 12) % 4 == 0 && round_.plan->signal_us)
			syscall(SYS_tgkill, getpid(), tid, SIGRTMIN);
		usleep((r >> 16) % 200);
	}
	return NULL;
}

static void map_pool(void)
{
	void *memory = mmap(NULL, round_.shape.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    round_.pool_fd, 0);

	if (memory == MAP_FAILED ||
	    pool_attach(&writer_pool, memory, round_.shape.size, (uint32_t)getpid()))
		abort();
}

static void __attribute__((noreturn)) be_writer(int life)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS_MAX], mover;
	bool stop = false;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	writer_life = (uint32_t)life;
	map_pool();
	if (round_.plan->without_rseq)
		rseq_offset = 0;
	sigaction(SIGUSR1, &sa, NULL); /* each masks itself alone: they nest */
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGRTMIN, &sa, NULL);
	for (int i = 0; i < round_.plan->n_threads; i++)
		pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)i);
	pthread_create(&mover, NULL, move_threads, &stop);
	block_signals();
	for (int i = 0; i < round_.plan->n_threads; i++)
		pthread_join(threads[i], NULL);
	store(&stop, true);
	pthread_join(mover, NULL);
	_exit(0);
}

/* ---------------------------------------------------------------- the writers' lives */

struct crew {
	pid_t pid[PROCESSES_MAX];
	uint64_t end_ns[PROCESSES_MAX];
	int generation, alive;
};

static void start_life(struct crew *k, int i, uint64_t *random)
{
	uint32_t ms = (uint32_t)round_.plan->life_ms;

	k->pid[i] = 0;
	if (k->generation == round_.lives)
		return;
	fflush(stdout);
	k->pid[i] = fork();
	if (!k->pid[i])
		be_writer(k->generation);
	if (k->pid[i] < 0)
		abort();
	k->end_ns[i] =
		ms ? monotonic_ns() + ledger_random(random) % (2 * ms * 1000000u) : UINT64_MAX;
	k->generation++;
	k->alive++;
}

static void tend(struct crew *k, struct verify_counts *c, uint64_t *random)
{
	for (int i = 0; i < round_.plan->n_processes; i++) {
		bool is_over = k->pid[i] && monotonic_ns() > k->end_ns[i];
		int status = 0;

		if (is_over)
			kill(k->pid[i], SIGKILL);
		if (!k->pid[i] || waitpid(k->pid[i], &status, is_over ? 0 : WNOHANG) <= 0)
			continue;
		if (status && !(is_over && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
			verify_wrong(c, "a writer ended with status %#x", (unsigned)status);
		k->alive--;
		start_life(k, i, random);
	}
}

/* ---------------------------------------------------------------- the collector */

static void remember_failure(struct verify_counts *c, int err, const struct diag *d)
{
	if (err < 0)
		verify_wrong(c, "the drain failed: %s", d->text);
}

static void describe_forms(struct pool *p)
{
	static const char text[] = "13 torture:any x8 byte";

	pool_schema(p, text, sizeof text - 1); /* metadata is not tested here */
}

static struct streams *open_drain(struct verify_counts *c, const char *path)
{
	struct streams *drain = NULL;
	struct diag d = { "" };

	remember_failure(c, open_streams(&drain, &round_.pool, path, &d), &d);
	return drain;
}

static void snapshot(struct verify_counts *c, const char *path, const struct ledger *l)
{
	struct streams *drain = open_drain(c, path);
	struct diag d = { "" };

	if (!drain)
		return;
	remember_failure(c, streams_write_overwrite(drain, &d), &d);
	if (l)
		remember_failure(c, streams_finish(drain, 0, &d), &d);
	streams_close(drain);
	verify_trace(c, path, l, (struct verify_options){ .is_flight_recorder = true });
	verify_remove(path);
}

/* No process writes any more: a chunk that is not free must be in a slot. */
static void check_nothing_is_left(struct verify_counts *c)
{
	const struct pool *p = &round_.pool;
	uint32_t in_use = 0, in_slots = 0;

	for (uint32_t i = 0; i < p->n_chunks; i++)
		in_use += ABI_STATE_OF(load(&p->states[i])) != ABI_FREE;
	for (uint32_t i = 0; i < p->n_slots; i++) {
		struct abi_slot *s = pool_slot(p, i);

		in_slots += load(&s->chunk) != 0;
		for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++)
			in_slots += load(&s->exclusive[x]) != 0;
	}
	if (in_use != in_slots)
		verify_wrong(c, "%u chunks in use, %u in slots, all writers gone", in_use,
			     in_slots);
}

static uint64_t waited; /* writers, of all rounds of a plan */

static void check_losses(struct verify_counts *c, const struct verify_counts *before)
{
	uint64_t refused = c->refused - before->refused, unknown = c->unknown - before->unknown,
		 lost = c->discarded - before->discarded;

	if (lost < refused || lost > refused + unknown)
		verify_wrong(c, "%lu events were refused, %lu counted as lost (%lu unknown)",
			     (long)refused, (long)lost, (long)unknown);
	if (must_lose_nothing() && lost)
		verify_wrong(c, "%lu events were lost, though their writers had patience",
			     (long)lost);
	if (round_.plan->block_timeout_us && !load(&round_.pool.shared->waited))
		verify_wrong(c, "no writer had to wait: nothing was tried");
	waited += load(&round_.pool.shared->waited);
}

/* The drain, as if its disk or its CPU were busy. */
static void pause_now_and_then(uint64_t *random)
{
	uint32_t us = (uint32_t)round_.plan->pause_us;

	if (us && ledger_random(random) % 4 == 0)
		usleep(ledger_random(random) % us);
}

static void drain_discarding(struct verify_counts *c, const char *path, struct crew *k,
			     uint64_t *random)
{
	struct streams *drain = open_drain(c, path);
	struct verify_counts before = *c;
	struct diag d = { "" };

	while (drain && k->alive) {
		remember_failure(c, streams_pass(drain, ledger_random(random) % 3 == 0, &d), &d);
		usleep(ledger_random(random) % 2000);
		pause_now_and_then(random);
		tend(k, c, random);
	}
	for (int i = 0; drain && i < 8; i++) /* as the recorder does at its end */
		remember_failure(c, streams_pass(drain, true, &d), &d);
	if (drain)
		remember_failure(c, streams_finish(drain, 0, &d), &d);
	streams_close(drain);
	check_nothing_is_left(c);
	verify_trace(c, path, round_.ledger,
		     (struct verify_options){ .early_ns = round_.plan->is_coarse ? VERIFY_EARLY_NS
										 : 0 });
	check_losses(c, &before);
	verify_remove(path);
}

static void drain_flying(struct verify_counts *c, const char *path, struct crew *k,
			 uint64_t *random)
{
	while (k->alive) {
		snapshot(c, path, NULL);
		usleep(ledger_random(random) % 4000);
		tend(k, c, random);
	}
	snapshot(c, path, round_.ledger);
}

/* ---------------------------------------------------------------- rounds */

static void make_pool(const struct abi_clock *clock)
{
	const struct plan *plan = round_.plan;
	struct abi_pool s = pool_shape(
		&(struct pool_request){ .n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
					.flight_recorder = plan->overwrite,
					.block_timeout_us = plan->block_timeout_us,
					.is_coarse = plan->is_coarse });
	void *memory;

	s.n_chunks = plan->n_chunks;
	s.chunk_shift = plan->chunk_shift;
	s.size = abi_pool_size(s.n_slots, s.n_chunks, s.chunk_shift);
	s.clock = *clock;
	round_.shape = s;
	round_.pool_fd = memfd_create("torture", MFD_CLOEXEC);
	if (round_.pool_fd < 0 || ftruncate(round_.pool_fd, (off_t)s.size))
		abort();
	memory = mmap(NULL, s.size, PROT_READ | PROT_WRITE, MAP_SHARED, round_.pool_fd, 0);
	if (memory == MAP_FAILED)
		abort();
	pool_format(memory, &s);
	if (pool_attach(&round_.pool, memory, s.size, (uint32_t)getpid()))
		abort();
	describe_forms(&round_.pool);
}

static void run_round(const struct plan *plan, const struct abi_clock *clock, uint64_t seed,
		      int lives, struct verify_counts *c)
{
	const char *tmp = getenv("TMPDIR");
	struct crew k = { .generation = 0 };
	uint64_t random = (seed + 1) * 0xd1342543de82ef95ull;
	char base[400], path[440];

	round_.plan = plan;
	round_.seed = seed;
	round_.lives = lives;
	round_.ledger = ledger_open((uint32_t)(lives * plan->n_threads * DEPTHS), plan->limit);
	snprintf(base, sizeof base, "%s/duet-torture-XXXXXX", tmp ? tmp : "/tmp");
	if (!round_.ledger || !mkdtemp(base))
		abort();
	snprintf(path, sizeof path, "%s/trace", base);
	make_pool(clock);
	for (int i = 0; i < plan->n_processes; i++)
		start_life(&k, i, &random);
	if (plan->overwrite)
		drain_flying(c, path, &k, &random);
	else
		drain_discarding(c, path, &k, &random);
	munmap(round_.pool.shared, round_.shape.size);
	close(round_.pool_fd);
	ledger_close(round_.ledger);
	rmdir(base);
}

static void run_plan(const struct plan *plan, const struct abi_clock *clock, uint64_t seed,
		     double seconds, int lives)
{
	uint64_t begin_ns = monotonic_ns();
	struct verify_counts c = { 0 };
	int rounds = 0;

	waited = 0;
	lives = plan->share || !lives ? plan->lives : lives;
	do {
		uint64_t before = c.wrong;

		run_round(plan, clock, seed + (uint64_t)rounds++, lives, &c);
		if (c.wrong != before)
			printf("# in round %d of \"%s\", seed %lu\n", rounds, plan->name,
			       (unsigned long)seed + (unsigned long)rounds - 1);
	} while ((double)(monotonic_ns() - begin_ns) < seconds * 1e9 && c.wrong < 100);
	test_n_failed += c.wrong != 0;
	printf("%s %s: %d rounds, %.1f s, %lu events (%lu extended) in %lu packets of %lu streams; "
	       "recorded %lu, refused %lu, given up %lu, waited for %lu, overwritten %lu, cut off "
	       "%lu, seen %lu; early by at most %lu us; wrong "
	       "%lu\n",
	       c.wrong ? "not ok" : "ok", plan->name, rounds,
	       (double)(monotonic_ns() - begin_ns) / 1e9, (long)c.events, (long)c.extended,
	       (long)c.packets, (long)c.streams, (long)c.recorded, (long)c.refused,
	       (long)c.given_up, (long)waited, (long)c.missing, (long)c.unknown,
	       (long)c.unknown_seen, (long)c.early_ns / 1000, (long)c.wrong);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'e' },
		{ "only", required_argument, NULL, 'o' },
		{ "lives", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t seed = monotonic_ns();
	const char *only = NULL;
	double seconds = 12;
	int shares = 0, lives = 0, o;
	struct abi_clock clock;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 's')
			seconds = atof(optarg);
		else if (o == 'e')
			seed = strtoull(optarg, NULL, 0);
		else if (o == 'o')
			only = optarg;
		else if (o == 'l')
			lives = atoi(optarg);
		else
			return 2;
	}
	rseq_init();
	if (clock_init_kind(&clock, 0, NULL))
		skip("no clock");
	if (!rseq_offset || clock.kind != ABI_CLOCK_TSC)
		printf("# no restartable sequences here: the exclusive path alone is tried\n");
	printf("# seed %lu\n", (unsigned long)seed);
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
		shares += only && !strstr(plans[i].name, only) ? 0 : plans[i].share;
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
		if (!only || strstr(plans[i].name, only))
			run_plan(&plans[i], &clock, seed,
				 seconds * plans[i].share / (shares ? shares : 1), lives);
	return test_status();
}
