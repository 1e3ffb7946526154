/* SPDX-License-Identifier: MIT */
/* kernel/bpf/bpf.c - makes the maps, loads and attaches the programs, and switches them.
 *
 * One map holds a ring per CPU, the other one the control block, both mapped here. See bpf.h. */
#include "capture/table.h"
#include "kernel/bpf/bpf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/io.h"
#include "kernel/bpf/internal.h"

/* The verifier does not accept larger offsets. */
#define RING_BYTES_MAX (256ull << 20)
enum { RING_BYTES_MIN = 65536, KEPT_PART = 16, KEPT_LEAST = RING_BYTES_MIN / 4 };

/* The CPUs that exist now, by number; events on a CPU that is switched on later count as lost. */
static int count_cpus(void)
{
	char text[1024], *last;

	if (io_read_file("/sys/devices/system/cpu/online", text, sizeof text) <= 0)
		return (int)sysconf(_SC_NPROCESSORS_CONF);
	for (last = text + strlen(text); last > text && strchr("0123456789\n", last[-1]); last--)
		;
	return atoi(last) + 1;
}

static int map_memory(int fd, size_t size, void **at, struct diag *d)
{
	*at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*at != MAP_FAILED)
		return 0;
	*at = NULL;
	return diag_errno(d, "cannot map a BPF map of %zu bytes", size);
}

static struct bpf_ring *ring_at(const struct kernel_bpf *b, int cpu)
{
	return (struct bpf_ring *)(b->rings + (size_t)cpu * b->ring_stride);
}

static int make_rings(struct kernel_bpf *b, uint64_t bytes, struct diag *d)
{
	void *rings;
	int err;

	b->plan.ring_size = RING_BYTES_MIN;
	while (b->plan.ring_size * 2ull <= bytes && b->plan.ring_size < RING_BYTES_MAX)
		b->plan.ring_size *= 2;
	assert(!(b->plan.ring_size & (b->plan.ring_size - 1)));
	b->n_cpus = count_cpus();
	b->ring_stride = sizeof(struct bpf_ring) + b->plan.ring_size + BPF_RING_SLACK;
	b->rings_size = b->ring_stride * (size_t)b->n_cpus;
	b->plan.rings =
		bpf_map_make("duet_rings", (uint32_t)b->ring_stride, (uint32_t)b->n_cpus, d);
	if (b->plan.rings < 0)
		return b->plan.rings;
	err = map_memory(b->plan.rings, b->rings_size, &rings, d);
	b->rings = rings;
	b->cpus = calloc((size_t)b->n_cpus, sizeof *b->cpus);
	b->out = malloc(BPF_PACKET_SIZE);
	if (!err && (!b->cpus || !b->out))
		err = diag_fail(d, -ENOMEM, "no memory to record by BPF");
	for (int i = 0; i < b->n_cpus && !err; i++)
		b->cpus[i] = (struct bpf_cpu){ .ring = ring_at(b, i),
					       .cpu = { .number = i,
							.prefix = "bpf",
							.pipe = -1,
							.stats = -1,
							.losses = &ring_at(b, i)->losses,
							.stream = { .fd = -1, .index = -1 } } };
	return err;
}

static int make_control(struct kernel_bpf *b, struct diag *d)
{
	void *control;
	int err;

	b->plan.control = bpf_map_make("duet_control", sizeof(struct bpf_control), 1, d);
	if (b->plan.control < 0)
		return b->plan.control;
	err = map_memory(b->plan.control, sizeof(struct bpf_control), &control, d);
	b->control = control;
	return err;
}

static void add_link(struct kernel_bpf *b, const struct bpf_link *link)
{
	pthread_mutex_lock(&b->lock);
	assert(b->n_links < BPF_LINKS_MAX); /* as many as kinds of programs */
	b->links[b->n_links++] = *link;
	pthread_mutex_unlock(&b->lock);
}

/* @c: complete, or too long. */
static int attach(struct kernel_bpf *b, const char *tracepoint, struct bpf_code *c, struct diag *d)
{
	char name[BPF_OBJ_NAME_LEN];
	struct bpf_link link;
	int id = btf_tracepoint(&b->btf, tracepoint), err = bpf_code_end(c);

	if (id < 0)
		return diag_fail(d, id, "the kernel's BTF has no tracepoint %s", tracepoint);
	if (err)
		return diag_fail(d, -E2BIG, "the BPF program for %s is too long", tracepoint);
	snprintf(name, sizeof name, "duet_%.10s", tracepoint);
	err = bpf_attach(&link, name, c, id, d);
	if (!err)
		add_link(b, &link);
	return err;
}

/* Children first: none may be missed once its parent is followed. */
static int follow_children(struct kernel_bpf *b, struct diag *d)
{
	struct bpf_code *c = malloc(sizeof *c);
	int err;

	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for a BPF program");
	bpf_program_fork(c, &b->plan);
	err = attach(b, "sched_process_fork", c, d);
	bpf_program_free(c, &b->plan);
	if (!err)
		err = attach(b, "sched_process_free", c, d);
	free(c);
	return err;
}

static int setup(struct kernel_bpf *b, const struct kernel_bpf_options *o, struct diag *d)
{
	int err = btf_open(&b->btf, d);

	if (err)
		return err;
	bpf_plan_layout(&b->plan, &b->btf);
	if (o->captures_files)
		b->plan.has_files = bpf_file_layout(&b->plan.file);
	if (b->plan.task_pid < 0)
		return diag_fail(d, -ENOENT, "the kernel's BTF lacks task_struct.pid");
	err = make_control(b, d);
	if (!err)
		err = make_rings(b, o->ring_bytes, d);
	if (!err && o->follows)
		err = follow_children(b, d);
	b->n_following = b->n_links;
	return err;
}

int kernel_bpf_open(struct kernel_bpf **out, const struct kernel_bpf_options *o, struct diag *d)
{
	struct kernel_bpf *b = calloc(1, sizeof *b);
	int err;

	*out = NULL;
	if (!b)
		return diag_fail(d, -ENOMEM, "no memory to record by BPF");
	b->plan = (struct bpf_plan){ .rings = -1,
				     .control = -1,
				     .bit = 1,
				     .follows = o->follows,
				     .has_extra = o->captures_extra,
				     .has_environment = o->captures_environment };
	b->keeps_newest = o->keeps_newest;
	pthread_mutex_init(&b->lock, NULL);
	err = setup(b, o, d);
	if (err) {
		kernel_bpf_close(b);
		return err;
	}
	*out = b;
	return 0;
}

void kernel_bpf_keep_for_lives(struct kernel_bpf *b)
{
	if (!b)
		return;
	bpf_plan_lives(&b->plan, &b->btf);
	b->plan.ring_kept = b->plan.ring_size / KEPT_PART;
	if (b->plan.ring_kept < KEPT_LEAST)
		b->plan.ring_kept = KEPT_LEAST;
}

void kernel_bpf_clock(struct kernel_bpf *b, const struct abi_clock *clock)
{
	if (b)
		clock_track_begin(&b->control->follow, clock);
}

void kernel_bpf_close(struct kernel_bpf *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_links; i++)
		bpf_release(&b->links[i]);
	for (int i = 0; i < b->n_cpus && b->cpus; i++)
		kernel_cpu_close(&b->cpus[i].cpu);
	if (b->rings)
		munmap(b->rings, b->rings_size);
	if (b->control)
		munmap(b->control, sizeof *b->control);
	if (b->plan.rings >= 0)
		close(b->plan.rings);
	if (b->plan.control >= 0)
		close(b->plan.control);
	btf_close(&b->btf);
	free(b->cpus);
	free(b->out);
	free(b);
}

/* If the kernel refuses to undo it, the same memory is mapped again at its place. */
int kernel_bpf_hide(struct kernel_bpf *b, bool hides, struct diag *d)
{
	if (!b || !madvise(b->rings, b->rings_size, hides ? MADV_DONTFORK : MADV_DOFORK) || hides)
		return 0;
	if (mmap(b->rings, b->rings_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 b->plan.rings, 0) == MAP_FAILED)
		return diag_errno(d, "cannot map the BPF rings again");
	return 0;
}

/* ---------------------------------------------------------------- recording */

/* Each program that records gets the next bit. */
static struct bpf_plan next_plan(struct kernel_bpf *b)
{
	struct bpf_plan p;

	pthread_mutex_lock(&b->lock);
	p = b->plan;
	b->plan.bit <<= 1;
	pthread_mutex_unlock(&b->lock);
	return p;
}

int kernel_bpf_calls(struct kernel_bpf *b, bool is_entry, const struct kernel_format *f,
		     const struct kernel_bpf_filter *filters, int n_filters, uint32_t *bit,
		     struct diag *d)
{
	struct bpf_code *c = malloc(sizeof *c);
	struct bpf_plan p = next_plan(b);
	int err;

	*bit = 0;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for a BPF program");
	err = is_entry ? bpf_program_sys_enter(c, &p, f->id, filters, n_filters)
		       : bpf_program_sys_exit(c, &p, f->id, filters, n_filters);
	if (!err)
		err = attach(b, is_entry ? "sys_enter" : "sys_exit", c, d);
	*bit = err ? 0 : p.bit;
	free(c);
	return err;
}

void kernel_bpf_filter(struct kernel_bpf *b, bool is_entry, int nr, int filter)
{
	assert(nr >= 0 && nr <= KERNEL_SYSCALLS_MAX && filter >= 0 && filter <= BPF_CALL_FILTERS);
	b->control->calls[nr] |= (uint64_t)filter
				 << (is_entry ? BPF_CALL_ENTRY_FILTER : BPF_CALL_FILTER);
}

/* An incomplete structure, list or buffer is shown up to its readable end; a text or an address that
 * the call cannot read is shown as its address. */
static bool is_useful_in_part(const struct abi_capture *c)
{
	if (c->kind == ABI_CAPTURE_ADDRESS)
		return c->is_at_exit;
	if (c->kind == ABI_CAPTURE_BUFFER)
		return true;
	return c->kind == ABI_CAPTURE_OPTION || c->kind == ABI_CAPTURE_TYPED ||
	       (c->size && c->kind != ABI_CAPTURE_TEXT);
}

static uint64_t word_of(const struct abi_capture *c, uint32_t buffer_bytes)
{
	uint64_t most = c->size					? c->size
			: buffer_bytes < ABI_CAPTURE_BUFFER_MAX ? buffer_bytes
								: ABI_CAPTURE_BUFFER_MAX;

	return c->argument | (uint64_t)c->how << BPF_CAPTURE_HOW |
	       (uint64_t)c->size_argument << BPF_CAPTURE_SIZE | most << BPF_CAPTURE_MOST |
	       (uint64_t)c->unit << BPF_CAPTURE_UNIT | (uint64_t)c->moved << BPF_CAPTURE_MOVED |
	       (c->is_int ? BPF_CAPTURE_IS_INT : 0) |
	       (c->is_of_failures ? BPF_CAPTURE_OF_FAILURES : 0) |
	       (is_useful_in_part(c) ? BPF_CAPTURE_PART : 0) |
	       (c->is_command ? BPF_CAPTURE_IS_COMMAND : 0) |
	       (c->is_behind ? BPF_CAPTURE_IS_BEHIND : 0) |
	       (c->size_width ? BPF_CAPTURE_IS_COUNTED : 0);
}

static uint64_t second_word_of(const struct abi_capture *c, int field)
{
	return c->when | (uint64_t)c->at << BPF_CAPTURE_AT |
	       (uint64_t)c->size_at << BPF_CAPTURE_COUNT_AT |
	       (uint64_t)(c->size_width ? c->size_width - 1 : 0) << BPF_CAPTURE_WIDTH |
	       (uint64_t)field << BPF_CAPTURE_FIELD |
	       (uint64_t)c->when_argument << BPF_CAPTURE_WHEN |
	       (uint64_t)c->room_argument << BPF_CAPTURE_ROOM;
}

void kernel_bpf_call(struct kernel_bpf *b, bool is_entry, int nr, unsigned texts,
		     const struct abi_captures *also, uint32_t buffer_bytes)
{
	uint64_t call = is_entry ? BPF_CALL_ENTRY : BPF_CALL_EXIT | (texts ? BPF_CALL_LATE : 0);
	int shift = BPF_CALL_TEXTS, n = 0;

	assert(nr >= 0 && nr <= KERNEL_SYSCALLS_MAX && (!also || also->n <= ABI_CAPTURES_MAX));
	for (int i = 0; also && i < also->n; i++) {
		struct bpf_capture *to = &b->control->captures[nr][!is_entry][i];

		if (also->at[i]->how == ABI_CAPTURE_OPENED && !b->plan.has_files)
			continue; /* they are last */
		to->what = word_of(also->at[i], buffer_bytes);
		to->more = second_word_of(also->at[i], capture_place(also, i));
		if (also->at[i]->commands) { /* then of all captures of the call the same */
			b->control->commands[nr] = also->at[i]->commands;
			call |= BPF_CALL_COMMANDS;
		}
		n++;
	}
	if (n)
		call |= is_entry ? BPF_CALL_CAPTURES : BPF_CALL_EXIT_CAPTURES;
	call |= (uint64_t)n << (is_entry ? BPF_CALL_N_CAPTURES : BPF_CALL_N_EXIT_CAPTURES);
	for (unsigned i = 0; texts >> i; i++) /* the same for an exit */
		if (texts >> i & 1) {
			call |= (uint64_t)(i + 1) << shift;
			shift += 8;
		}
	assert(shift <= BPF_CALL_TEXTS + 8 * KERNEL_SYSCALL_TEXTS);
	b->control->calls[nr] |= call;
}

bool kernel_bpf_is_life(const char *system, const char *event)
{
	return bpf_has_life(system, event);
}

bool kernel_bpf_can(const char *system, const char *event, bool captures_extra)
{
	return bpf_has_event(system, event) || bpf_has_life(system, event) ||
	       (captures_extra && bpf_has_signal(system, event));
}

static int program_event(const struct bpf_plan *p, struct bpf_code *c, const char *system,
			 const struct kernel_format *f, const char *filter)
{
	if (bpf_has_event(system, f->name))
		return bpf_program_event(c, p, f, filter);
	if (!filter && p->has_extra && bpf_has_signal(system, f->name))
		return bpf_program_signal(c, p, f);
	if (!filter && p->has_lives && bpf_has_life(system, f->name))
		return bpf_program_life(c, p, f);
	return -EOPNOTSUPP;
}

int kernel_bpf_event(struct kernel_bpf *b, const char *system, const struct kernel_format *f,
		     const char *filter, uint32_t *bit, struct diag *d)
{
	struct bpf_code *c = malloc(sizeof *c);
	int err;

	*bit = 0;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for a BPF program");
	err = program_event(&b->plan, c, system, f, filter);
	if (!err)
		err = attach(b, f->name, c, d);
	if (!err)
		*bit = next_plan(b).bit;
	free(c);
	return err;
}

bool kernel_bpf_has_events(const struct kernel_bpf *b)
{
	return b->n_links > b->n_following;
}

void kernel_bpf_add_thread(struct kernel_bpf *b, pid_t tid)
{
	if (b && tid > 0 && tid < BPF_PIDS_MAX)
		__atomic_fetch_or(&b->control->pids[tid / 64], 1ull << tid % 64, __ATOMIC_SEQ_CST);
}

void kernel_bpf_each_thread(const struct kernel_bpf *b, void (*each)(void *arg, pid_t tid),
			    void *arg)
{
	for (int i = 0; b && i < BPF_PIDS_MAX / 64; i++)
		for (uint64_t bits = load(&b->control->pids[i]); bits; bits &= bits - 1)
			each(arg, i * 64 + __builtin_ctzll(bits));
}

void kernel_bpf_switch(struct kernel_bpf *b, uint32_t bits)
{
	if (!b)
		return;
	btf_close(&b->btf); /* all programs are loaded */
	store(&b->control->is_on, bits);
}

void kernel_bpf_stop(struct kernel_bpf *b)
{
	if (!b)
		return;
	store(&b->control->is_on, 0);
	for (int i = 0; i < b->n_links; i++)
		bpf_detach(&b->links[i]);
}
