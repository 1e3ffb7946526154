/* SPDX-License-Identifier: MIT */
/* torture/step_writer.c - the writer that is stepped: how it reaches its situation, and its
 * signal handlers. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "step.h"

#if RSEQ_HAVE_SEQUENCES

__thread struct rseq_area fake_area;
static struct pool own_pool;
static sigjmp_buf before_event;
static bool is_child;

const struct way step_ways[WAYS] = { { "ring_write of a word", LEDGER_STAMP, 0 },
				     { "ring_write of 21 bytes", LEDGER_BODY, 5 },
				     { "ring_try_words of 27 bytes", LEDGER_WORDS, 11 },
				     { "ring_try_text of 70 bytes", LEDGER_TEXT, 54 },
				     { "ring_try_prefixed of 59 bytes", LEDGER_PREFIXED, 43 },
				     { "ring_try_prefixed_text of 71", LEDGER_PREFIXED_TEXT, 55 },
				     { "ring_open, ring_commit", LEDGER_PLACED, 3 },
				     { "ring_open, ring_abandon", LEDGER_ABANDONED, 3 },
				     { "coarse: ring_write that reads", LEDGER_BODY, 5, 1 },
				     { "coarse: ring_write of 21 bytes", LEDGER_BODY, 5, 3 },
				     { "coarse: words of 27 bytes", LEDGER_WORDS, 11, 3 },
				     { "coarse: text of 70 bytes", LEDGER_TEXT, 54, 3 },
				     { "coarse: prefix, 59 bytes", LEDGER_PREFIXED, 43, 3 },
				     { "coarse: prefix, text of 71", LEDGER_PREFIXED_TEXT, 55,
				       3 } };

void use_fake_area(void)
{
	rseq_offset = (char *)&fake_area - (char *)__builtin_thread_pointer();
	fake_area = (struct rseq_area){ 0 };
}

/* ---------------------------------------------------------------- situations */

static void shift_clock(struct pool *p, int64_t ns)
{
	p->offset_ns += (uint64_t)ns;
	p->clock.offset_ns += (uint64_t)ns;
}

static struct abi_chunk *open_chunk(const struct pool *p, enum ledger_form form)
{
	struct abi_slot *s = pool_slot(p, fake_area.cpu_id);

	return pool_chunk(p, form == LEDGER_PLACED ? s->exclusive[0] : s->chunk);
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
	while (p->chunk_size - ABI_POS_OF(first->word) >= RING_HEADER_BYTES_MAX + size)
		ledger_write(ledger, p, key, w->form, w->n);
}

/* Fills every chunk of a flight recorder, so that the next claim takes a recorded one. */
static void fill_all(struct pool *p, const struct way *w)
{
	for (uint32_t i = 0; i < 4 * p->n_chunks; i++) {
		ledger_write(ledger, p, KEY_WRITER, LEDGER_BODY, 900);
		ledger_write(ledger, p, KEY_WRITER, LEDGER_PLACED, 1100);
	}
	fill_chunk(p, w, KEY_WRITER);
}

/* An empty open chunk of the rseq path: its writer died before it could. */
static void install_empty(struct pool *p)
{
	struct abi_chunk *c = pool_claim(p, 0);

	c->begin_ns = clock_now_ns(&p->clock);
	c->sequence = 0;
	c->cpu = fake_area.cpu_id;
	c->path = ABI_PATH_RSEQ;
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
		for (uint32_t i = 0; i < w->n_before + !w->n_before; i++)
			ledger_write(ledger, p, KEY_WRITER, w->form, w->n);
	shift_clock(p, ago);
	if (s == ALL_FULL)
		fill_all(p, w);
	while (s == NOTHING_FREE && pool_claim(p, 0))
		;
	p->shared->exhausted = 0; /* so that all of a claim is stepped through */
}

/* ---------------------------------------------------------------- handlers */

static void on_second_signal(int sig)
{
	(void)sig;
	ledger_write(ledger, &own_pool, KEY_DEEPER, LEDGER_PLACED, 20);
	ledger_write(ledger, &own_pool, KEY_DEEPER, LEDGER_STAMP, 0);
}

static void be_interrupted(void)
{
	raise(SIGUSR2);
}

/* Makes the shared memory at @at private from here on. */
static void make_private(void *at, size_t size)
{
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		_exit(3);
	memcpy(copy, at, size);
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED)
		_exit(4);
}

/* As libduet in a child of fork (sessions_leave): it continues the event in private memory. */
static void fork_and_go_on(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		is_child = true;
		make_private(control, sizeof *control);
		make_private(ledger, ledger->size);
		mmap(own_pool.shared, own_pool.shared->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		return;
	}
	control->child_failed = waitpid(pid, &status, 0) != pid || status;
}

static void on_signal(int sig)
{
	(void)sig;
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_STAMP, 0);
	ledger_in_place = be_interrupted; /* a handler in a handler, which holds a chunk */
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_PLACED, 40);
	ledger_in_place = NULL;
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_BODY, 40);
	ledger_write(ledger, &own_pool, KEY_HANDLER, LEDGER_PREFIXED, 37); /* changes the prefix */
	control->handled = true;
	if (control->handler == SIGNAL_MOVES)
		fake_area.cpu_id = fake_area.cpu_id_start = 1;
	else if (control->handler == SIGNAL_FORKS)
		fork_and_go_on();
	else if (control->handler == SIGNAL_JUMPS)
		siglongjmp(before_event, 1);
}

/* ---------------------------------------------------------------- its life */

static void stop(void)
{
	if (!is_child)
		__asm__ volatile("int3");
}

void be_writer(const struct pool *pool, enum situation s, const struct way *w)
{
	struct way before = *w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	sigaction(SIGUSR2, &(struct sigaction){ .sa_handler = on_second_signal }, NULL);
	own_pool = *pool;
	own_pool.owner = (uint32_t)getpid();
	use_fake_area();
	control->area = &fake_area;
	if (w->form == LEDGER_ABANDONED)
		before.form = LEDGER_PLACED; /* abandoned events fill no chunk */
	come_into(&own_pool, s, &before);
	if (!sigsetjmp(before_event, 1)) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop();
		store(&control->phase, 1);
		ledger_write(ledger, &own_pool, KEY_WRITER, w->form, w->n);
	}
	store(&control->phase, 2);
	stop();
	for (int i = 0; i < WAYS; i++) /* it continues */
		ledger_write(ledger, &own_pool, KEY_WRITER, step_ways[i].form, 9);
	_exit(0);
}

#endif
