/* SPDX-License-Identifier: MIT */
/*
 * sim/programs.c - programs that write into the pools, and the ledger of their events: see sim.h.
 *
 * They use the real write paths.  A write may end by death before any instruction, or be
 * interrupted there: then other programs run, and the collector.  If the write was in the middle
 * of a restartable sequence it begins again, perhaps on another CPU.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/session.h"
#include "sim.h"

struct payload {
	uint32_t serial, number, check;
	char text[8000];
};

/* A write that is under way. */
struct writing {
	struct sim_program *program;
	struct pool *pool;
	uint32_t thread, id, serial, size;
	bool in_place, dies;
	struct payload payload;
};

static uint32_t check_of(uint32_t serial, uint32_t number)
{
	return (serial * 2654435761u) ^ (number * 40503u + 0x9e37u);
}

static char letter(uint32_t check, size_t i)
{
	return (char)('a' + (check + i * 7) % 26);
}

bool sim_check_event(uint32_t serial, uint32_t number, uint32_t check, const char *text,
		     size_t size)
{
	if (serial >= sim->n_events || check != check_of(serial, number) ||
	    sim->events[serial].number != number || sim->events[serial].size != size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (text[i] != letter(check, i))
			return false;
	return true;
}

/* ---------------------------------------------------------------- life and death */

struct sim_program *program_of(uint32_t pid)
{
	for (uint32_t i = 0; i < SIM_PROGRAMS; i++)
		if (sim->programs[i].state != SIM_GONE && sim->programs[i].pid == pid)
			return &sim->programs[i];
	return NULL;
}

void program_attach(struct sim_program *p, uint32_t host_pid)
{
	const struct abi_session_memory *session_memory =
		(const struct abi_session_memory *)sim_memory;

	for (uint32_t i = 0; i < sim->plan.n_channels; i++)
		if (pool_attach(&p->views[i], sim_memory + session_memory->channels[i].offset,
				session_memory->channels[i].size, host_pid)) {
			if (!sim->plan.liars)
				sim_fail("the pool of channel %u is not sound", i);
			p->state = SIM_GONE;
			return;
		}
	memset(p->ids, 0, sizeof p->ids);
	p->state = SIM_JOINED;
	p->writer = sim->n_writers;
	p->is_stalled = false;
	memset(p->is_busy, 0, sizeof p->is_busy);
	p->has_rseq = sim_draw(4);
	sim->n_writers += SIM_THREADS;
	sim->n_joins++;
	sim_show_time();
}

void program_die(struct sim_program *p)
{
	sim_log("program %u dies%s", p->pid, p->is_stalled ? " in the middle of an event" : "");
	if (p->state == SIM_ASKS)
		close(p->fd);
	p->state = SIM_GONE;
	p->is_stalled = false;
	sim->n_deaths++;
}

/* ---------------------------------------------------------------- events in the middle of a write */

static void others_run(void)
{
	uint32_t cpu = sim->cpu;

	sim_advance(1 + sim_draw_scaled(100000));
	for (uint32_t n = sim_draw(4); n; n--)
		programs_act();
	if (!sim->in_collector && sim_chance(400))
		drive_turn();
	sim->cpu = cpu;
}

static void in_the_middle(void *arg, ucontext_t *u)
{
	struct writing *w = arg;
	bool has_rseq = w->program->has_rseq;

	if (w->dies) {
		/* The thread is dead; an uncommitted event of its sequence does not exist. */
		sim_interrupt_rseq(u);
		program_die(w->program);
		step_out();
	}
	sim->n_preempted++;
	sim_interrupt_rseq(u);
	others_run();
	sim_set_cpu(sim_draw(2) ? sim->cpu : sim_draw_cpu(), has_rseq);
}

/* ---------------------------------------------------------------- writing */

static void end_event(uint32_t serial, bool is_written)
{
	struct sim_event *e = &sim->events[serial];

	e->status = is_written ? SIM_WRITTEN : SIM_REFUSED;
	sim->n_refused += !is_written;
	sim->n_unknown--;
	e->ended = ++sim->n_ended;
	if (is_written)
		sim->last_on[e->channel] = serial + 1;
}

static void write_event(void *arg)
{
	struct writing *w = arg;
	ring_context context = (uint64_t)(w->program->pid + w->thread) << 32 | w->program->pid;
	struct ring_open o;
	bool is_written;
	void *at;

	if (!w->in_place) {
		is_written = ring_write(w->pool, w->id, context, &w->payload, w->size);
	} else {
		at = ring_open(w->pool, &o, w->id, context, w->size + 32);
		is_written = at;
		if (at) {
			memcpy(at, &w->payload, w->size);
			ring_commit(w->pool, &o, w->size);
		}
	}
	step_pause(); /* the ledger's is not theirs to interrupt */
	end_event(w->serial, is_written);
}

static uint32_t draw_size(void)
{
	switch (sim_draw(24)) {
	case 0:
		return sim_draw(sim->plan.chunk_bytes / 2);
	case 1:
		return sim_draw(7800); /* more than a small chunk: refused */
	default:
		return sim_draw(60);
	}
}

static uint32_t class_of(struct sim_program *p, uint32_t channel)
{
	char schema[80];
	uint32_t i = sim_draw(SIM_CLASSES);

	if (!p->ids[channel][i]) {
		int n = snprintf(schema, sizeof schema,
				 "6 sim:event_%u u32 serial u32 number u32 check str text", i);

		p->ids[channel][i] = pool_schema(&p->views[channel], schema, (size_t)n);
	}
	return p->ids[channel][i];
}

static bool begin_event(struct writing *w, struct sim_program *p, uint32_t thread)
{
	uint32_t channel = sim_draw(sim->plan.n_channels), text = draw_size();
	uint32_t writer = p->writer + thread, number, check;

	if (sim->n_events == SIM_EVENTS || writer >= sizeof sim->numbers / sizeof *sim->numbers)
		return false;
	if (text > sizeof w->payload.text - 1)
		text = sizeof w->payload.text - 1;
	number = sim->numbers[writer]++;
	w->program = p;
	w->pool = &p->views[channel];
	w->thread = thread;
	w->id = class_of(p, channel);
	w->serial = sim->n_events++;
	w->size = 12 + text + 1;
	check = check_of(w->serial, number);
	w->payload.serial = w->serial;
	w->payload.number = number;
	w->payload.check = check;
	for (uint32_t i = 0; i < text; i++)
		w->payload.text[i] = letter(check, i);
	w->payload.text[text] = 0;
	sim->events[w->serial] = (struct sim_event){ .channel = (uint8_t)channel,
						     .writer = (uint16_t)writer,
						     .size = (uint16_t)text,
						     .number = number };
	sim->n_unknown++;
	return true;
}

/* Begins an event in place and stops there for long. */
static void stall(struct sim_program *p)
{
	struct writing w; /* it may wait for a chunk, while other programs stall */

	if (!begin_event(&w, p, 0))
		return;
	p->is_busy[0] = true;
	p->open_at = ring_open(w.pool, &p->open, w.id, (uint64_t)p->pid << 32 | p->pid, w.size);
	p->is_busy[0] = false;
	if (!p->open_at) {
		end_event(w.serial, false);
		return;
	}
	memcpy(p->open_at, &w.payload, w.size);
	p->is_stalled = true;
	p->open_in = w.pool;
	p->open_serial = w.serial;
}

static void go_on(struct sim_program *p)
{
	p->is_stalled = false;
	ring_commit(p->open_in, &p->open, sim->events[p->open_serial].size + 13);
	end_event(p->open_serial, true);
}

/* Overwrites memory that it may write to. */
static void lie(struct sim_program *p)
{
	struct pool *v = &p->views[sim_draw(sim->plan.n_channels)];
	uint64_t *words[] = {
		&v->states[sim_draw(v->n_chunks)],
		&pool_slot(v, sim_draw(v->n_slots))->chunk,
		&pool_slot(v, sim_draw(v->n_slots))->exclusive[sim_draw(ABI_EXCLUSIVE_PLACES)],
		&pool_slot(v, sim_draw(v->n_slots))->lost,
		(uint64_t *)pool_chunk_at(v, sim_draw(v->n_chunks)) + sim_draw(16),
		(uint64_t *)pool_chunk_at(v, sim_draw(v->n_chunks)) + sim_draw(512),
		(uint64_t *)&v->schemas[sim_draw(32)],
		(uint64_t *)v->shared + sim_draw(512)
	};
	uint32_t i = sim_draw(sizeof words / sizeof *words);
	uint64_t value = (uint64_t)sim_draw(UINT32_MAX) << 32 | sim_draw(UINT32_MAX);

	*words[i] = sim_draw(3)	  ? value
		    : sim_draw(2) ? *words[i] ^ 1ull << sim_draw(64)
				  : value & 7;
	sim_log("program %u lies", p->pid);
}

/* Thread @writer runs; one that was interrupted, and runs again, is another than the one before. */
static void run_thread(uint32_t writer)
{
	static uint32_t running;

	if (writer != running || !writer)
		sim_switch_thread();
	running = writer;
}

static void act(struct sim_program *p)
{
	/* One for each level of interruption, so that no payload changes while it is written. */
	static struct writing all[8];
	static uint32_t depth;
	struct writing *w = &all[depth];
	uint32_t thread = p->is_stalled ? 1 : sim_draw(SIM_THREADS), cpu = sim->cpu;
	int64_t n = -1;

	if (depth == 8 || p->is_busy[thread] || !begin_event(w, p, thread))
		return;
	w->in_place = !sim_draw(6);
	w->dies = !sim->quiet && sim_chance(sim->plan.deaths);
	if (w->dies || (!sim->quiet && sim_chance(sim->plan.preempts)))
		n = sim_draw_scaled(sim_draw(8) ? 128 : 1024); /* the common case is short */
	sim_set_cpu(sim_draw_cpu(), p->has_rseq);
	p->is_busy[thread] = true;
	run_thread(depth ? 0 : p->writer + thread + 1);
	depth++;
	step_run(n, write_event, in_the_middle, w);
	depth--;
	if (depth)
		run_thread(0);
	p->is_busy[thread] = false;
	sim_set_cpu(cpu, true);
}

/* Writes any number where a CPU's search begins: with several nodes, else the seeds would change. */
static void mislead(const struct sim_program *p)
{
	uint64_t random = (sim->seed << 32 | sim->n_events) * 0x9e3779b97f4a7c15u;
	const struct pool *pool = &p->views[sim->n_events % sim->plan.n_channels];

	if (p->state == SIM_JOINED && sim_count_nodes() > 1 && random >> 58 == 0)
		store(&pool_slot(pool, (uint32_t)(random >> 32) % pool->n_slots)->first,
		      (uint32_t)random);
}

static void do_something(struct sim_program *p)
{
	mislead(p);
	if (sim->plan.liars && sim_chance(30))
		lie(p);
	if (p->is_stalled && sim_chance(30))
		go_on(p);
	else if (!p->is_stalled && !p->is_busy[0] && sim_chance(15))
		stall(p);
	else if (!p->is_busy[0] && !p->is_busy[1] && sim_chance(sim->plan.deaths / 4))
		program_die(p);
	else
		act(p);
}

void programs_act(void)
{
	bool was_on = step_pause();
	struct sim_program *p = &sim->programs[sim_draw(SIM_PROGRAMS)];

	sim_advance(1 + sim_draw(500));
	if (p->state == SIM_JOINED && !sim->ending)
		do_something(p);
	step_go_on(was_on);
}

void programs_end(void)
{
	for (uint32_t i = 0; i < SIM_PROGRAMS; i++) {
		struct sim_program *p = &sim->programs[i];

		if (p->state == SIM_JOINED && p->is_stalled && sim_draw(2))
			go_on(p);
		else if (p->state != SIM_GONE && sim_draw(2))
			program_die(p);
	}
}
