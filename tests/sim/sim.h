/* SPDX-License-Identifier: MIT */
/*
 * sim/sim.h - the collector under a seeded simulator: shared by its files.
 *
 * The real collector, the real write paths, real files and sockets run in one process and one
 * thread. Only the parts that are not repeatable are simulated: the clock, the CPUs, deaths,
 * errors of the disk, the order in which programs run.  All of it is drawn from one seed, so a
 * run is repeated by its number.
 *
 *	world.c      the calls of the collector: replaced at link time (-Wl,--wrap)
 * 	step.c       code interrupted, or ended, before its n-th instruction
 * 	programs.c   programs that write, stall and die; the ledger of their events
 * 	peers.c      the peers of the socket
 * 	drive.c      the collector: its turns, deaths and successors
 * 	check.c      compares the files with the ledger
 * 	run.c        one seed from beginning to end
 *
 * A collector that is to die does its turn in a forked child that does not return.  So memory
 * shared with it is as a killed collector leaves it, and private memory is unchanged.  For this
 * reason `struct sim`, which both change, is in shared memory.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "collect/collector.h"
#include "ring/pool.h"
#include "ring/write.h"

enum {
	SIM_EVENTS = 1 << 22, /* of one run, at most */
	SIM_PROGRAMS = 24,
	SIM_THREADS = 2,
	SIM_CHANNELS = 3,
	SIM_CLASSES = 12,
	SIM_CPUS = 4,
	SIM_MORE_CPUS = 3,
	SIM_PEERS = 128,
	SIM_FIRST_PID = 5000000, /* above Linux's, below ABI_HOLDER_UNKNOWN */
	SIM_PIDS = 40,		 /* few: they are used again */
};

/* UNKNOWN: its writer died in it.  Then it may be in the files, or be counted as lost, or neither.
 */
enum sim_status { SIM_UNKNOWN, SIM_WRITTEN, SIM_REFUSED };

struct sim_event {
	uint8_t status, channel;
	uint8_t seen; /* times, in the files */
	uint16_t writer;
	uint16_t size;	 /* of its text */
	uint32_t number; /* of its writer */
	uint32_t ended;	 /* as which of all; 0: it has not, or its writer died */
};

enum sim_program_state { SIM_GONE, SIM_ASKS, SIM_JOINED };

struct sim_program {
	enum sim_program_state state;
	uint32_t pid;
	int fd; /* while it asks */
	uint64_t asked_ns;
	uint32_t writer; /* number of its first thread */
	bool has_rseq, is_busy[SIM_THREADS];
	struct pool views[SIM_CHANNELS];
	uint32_t ids[SIM_CHANNELS][SIM_CLASSES];
	/* An event of thread 0 that was begun and is not ended. */
	bool is_stalled;
	struct ring_open open;
	struct pool *open_in;
	char *open_at;
	uint32_t open_serial;
};

struct sim_plan {
	uint64_t duration_ns;
	uint32_t n_cpus, n_channels;
	uint32_t chunk_bytes, chunks;
	bool overwrite[SIM_CHANNELS];
	bool coarse[SIM_CHANNELS]; /* its clock */
	uint32_t block_timeout_us;
	uint32_t load; /* events a second, about */
	uint32_t deaths, kills, preempts, disk, peers, jumps,
		requests;      /* of 1000: how likely at each chance */
	uint32_t slow;	       /* a write to the disk takes up to so many ns */
	uint32_t rotate_bytes; /* 0: in one piece */
	uint32_t more_cpus;    /* numbers from n_cpus on, unknown at the start */
	bool is_dense;	       /* bursts close several chunks of a CPU between two passes */
	bool plugs;	       /* CPUs come and go */
	bool idle;	       /* hours with bursts in between */
	bool liars;
	bool fails; /* the disk fails to the end */
};

enum sim_disk { SIM_DISK_GOOD, SIM_DISK_FULL, SIM_DISK_BROKEN };

struct sim {
	uint64_t seed, random;
	struct sim_plan plan;
	/* Time. */
	uint64_t now_ns, slept_ns;
	/* The disk. */
	enum sim_disk disk;
	uint64_t disk_until_ns;
	uint64_t n_failed_writes;
	/* The party that runs. */
	uint32_t in_collector; /* depth */
	bool quiet;	       /* no failure is simulated now */
	bool ending;	       /* programs record no more */
	int64_t event_at_call; /* calls to the world until the collector dies or is interrupted; -1:
				  it is not */
	int64_t event_after;   /* or so many instructions after that call; -1: in it */
	bool dies;
	uint32_t cpu;
	/* CPUs that run now, a bit each, if some come and go; drawn apart from all else, so that
	 * the other seeds stay as they are. */
	uint32_t online, cpu_random, n_plugged, n_beyond;
	/* Programs. */
	struct sim_program programs[SIM_PROGRAMS];
	uint32_t n_writers;
	uint32_t n_events, n_refused, n_unknown, n_ended;
	uint32_t numbers[1 << 16];	/* of each writer, so far */
	uint32_t last_on[SIM_CHANNELS]; /* last serial written there */
	/* Connections that wait for accept, in order: their peers. */
	uint32_t who; /* connects now; 0: the collector itself */
	uint32_t waiting[4096], n_waiting, n_let_in;
	uint32_t pid_of_fd[4096];
	/* Statistics of the run. */
	uint32_t n_passes, n_kills, n_takeovers, n_preempted, n_deaths, n_joins, n_answers,
		n_snapshots, n_flushes, n_flushes_in_pass;
	uint32_t n_events_looked; /* their number when the result of a flush was last checked */
	bool is_snapshot[512];	  /* whole, by number */
	uint64_t digest;
	bool failed;
	struct sim_event events[];
};
extern struct sim *sim;
extern bool sim_verbose;
extern bool sim_asks_babeltrace; /* reads each recording as well */
extern char sim_directory[256];	 /* of the run: "run" and "out" in it */

/* A failure of the run: printed once, with the command that repeats it. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---------------------------------------------------------------- chance: run.c */

uint32_t sim_draw(uint32_t n); /* 0 ... n - 1 */
bool sim_chance(uint32_t per_mille);
/* From 1 to @most, small ones as likely as large ones by powers of two. */
uint32_t sim_draw_scaled(uint32_t most);
/* The CPU that a program runs on next.  Sometimes one goes or comes before. */
uint32_t sim_draw_cpu(void);

/* ---------------------------------------------------------------- world.c */

void sim_advance(uint64_t ns);
/* Views and the collector's clocks show the time. */
void sim_show_time(void);
uint32_t sim_count_nodes(void);
void sim_set_cpu(uint32_t cpu, bool has_rseq);
/* As the kernel at an interruption of a thread: the current sequence begins again. */
void sim_interrupt_rseq(ucontext_t *u);
void sim_switch_thread(void);
void sim_world_init(void);
enum { SIM_KILLED = 42 }; /* exit status of a collector that died as planned */

/* ---------------------------------------------------------------- step.c */

/*
 * step_run - call work(arg); before its @n-th instruction call then(arg, u), which may come back
 * or step_out.  @n < 0: never, unless step_arm is called.  May be nested.  Returns false if it was
 * left by step_out.
 */
bool step_run(int64_t n, void (*work)(void *arg), void (*then)(void *arg, ucontext_t *u),
	      void *arg);
_Noreturn void step_out(void);
/* step_arm - count from the next step_go_on: between both. */
void step_arm(int64_t n);
/* Not here: between these instructions do not count. */
bool step_pause(void);
void step_go_on(bool was_on);
void step_init(void);

/* ---------------------------------------------------------------- programs.c */

/* One thing that one program does. */
void programs_act(void);
void program_attach(struct sim_program *p, uint32_t host_pid);
void program_die(struct sim_program *p);
struct sim_program *program_of(uint32_t pid); /* that lives; or NULL */
/* A stalled program continues, or dies. */
void programs_end(void);
bool sim_check_event(uint32_t serial, uint32_t number, uint32_t check, const char *text,
		     size_t size);

/* ---------------------------------------------------------------- peers.c */

void peers_begin(void);
void peers_act(void);	 /* a peer arrives: a program, a request, a crowd */
void peers_listen(void); /* they read their answers */
void peers_ask_flush(void);
void peers_end(void);

/* ---------------------------------------------------------------- drive.c */

extern struct collector collector;
extern char *sim_memory; /* of the session, mapped once more for all programs */
bool drive_begin(void);
void drive_turn(void);	/* the timer */
void drive_work(void);	/* nothing else to do */
void drive_serve(void); /* connections that wait at the socket */
bool drive_end(void);	/* the recording is over */
void drive_remove(void);

/* ---------------------------------------------------------------- check.c */

void check_recording(const struct recorder_result *r, bool all_written);
/* check_flushed - after a flush that was asked for when @ended events had: these are in the files.
 */
void check_flushed(uint32_t ended);

#endif
