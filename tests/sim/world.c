/* SPDX-License-Identifier: MIT */
/*
 * sim/world.c - simulates the calls of the collector: see sim.h.
 *
 * Linked with -Wl,--wrap: each call of these names from the tree's libraries comes here.  A call
 * also gives other programs time to run, as if the collector were in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "clock/clock.h"
#include "collect/memory/memory.h"
#include "ring/rseq.h"
#include "sim.h"

/* ---------------------------------------------------------------- time */

/*
 * A clock without ticks: mult is 0, and the offset is the time.  So the copy of the clock that
 * each party has gives the time at which its code runs, also to the write path, which reads the
 * counter itself.
 */
static void set_view(struct pool *p)
{
	p->offset_ns = p->clock.offset_ns = sim->now_ns;
}

void sim_show_time(void)
{
	collector.session.clock.offset_ns = sim->now_ns;
	if (collector.bounds)
		collector.bounds->clock.offset_ns = sim->now_ns;
	for (uint32_t i = 0; i < collector.session.n_channels; i++)
		set_view(&collector.session.pools[i]);
	for (uint32_t p = 0; p < SIM_PROGRAMS; p++)
		for (uint32_t i = 0;
		     i < sim->plan.n_channels && sim->programs[p].state == SIM_JOINED; i++)
			set_view(&sim->programs[p].views[i]);
}

void sim_advance(uint64_t ns)
{
	sim->now_ns += ns;
	sim_show_time();
}

int __wrap_clock_init_kind(struct abi_clock *c, uint32_t kind, struct diag *d);
int __wrap_clock_init_kind(struct abi_clock *c, uint32_t kind, struct diag *d)
{
	(void)kind;
	(void)d;
	*c = (struct abi_clock){ .kind = ABI_CLOCK_TSC, .mult = 0, .offset_ns = sim->now_ns };
	return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	/* Only the monotonic clock stands still while the host sleeps. */
	uint64_t ns = id == CLOCK_MONOTONIC ? sim->now_ns - sim->slept_ns : sim->now_ns;

	t->tv_sec = (time_t)(ns / 1000000000u) + (id == CLOCK_REALTIME ? 1700000000 : 0);
	t->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

/* ---------------------------------------------------------------- processors */

static struct rseq_area area;

void sim_set_cpu(uint32_t cpu, bool has_rseq)
{
	sim->cpu = cpu;
	area.cpu_id = area.cpu_id_start = has_rseq ? cpu : UINT32_MAX;
}

/* Another thread runs: each has an area of its own, which the kernel clears when it waits. */
void sim_switch_thread(void)
{
	area.rseq_cs = 0;
}

void sim_interrupt_rseq(ucontext_t *u)
{
#if defined __x86_64__
	const struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} *cs = (const void *)area.rseq_cs;
	uint64_t at = (uint64_t)u->uc_mcontext.gregs[REG_RIP];

	if (cs && at - cs->start < cs->length)
		u->uc_mcontext.gregs[REG_RIP] = (greg_t)cs->abort;
#else
	(void)u;
#endif
	area.rseq_cs = 0;
}

void sim_world_init(void)
{
	rseq_offset = (char *)&area - (char *)__builtin_thread_pointer();
	rseq_knows_cpu = 0;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF ? (long)sim->plan.n_cpus : __real_sysconf(name);
}

/* A program that waits for room. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	bool was_on;

	if (number == SYS_mbind)
		return 0; /* also where it is forbidden: the run is the same */
	if (number != SYS_nanosleep)
		return __real_syscall(number, a, b, c, d, e, f);
	was_on = step_pause();
	sim_advance(200000);
	if (!sim->in_collector && sim_chance(500))
		drive_turn();
	step_go_on(was_on);
	return 0;
}

/* ---------------------------------------------------------------- a call of the collector's */

/* True if it dies here. */
static bool call(void)
{
	if (!sim->in_collector)
		return false;
	if (sim->event_at_call >= 0 && !sim->event_at_call--) {
		if (sim->event_after < 0 && sim->dies)
			return true;
		if (sim->event_after >= 0)
			step_arm(sim->event_after);
	}
	if (!sim->quiet && sim_chance(20)) {
		sim_advance(sim_draw_scaled(5000000));
		for (uint32_t n = sim_draw(4); n; n--)
			programs_act();
	}
	return false;
}

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal)
{
	bool was_on = step_pause();
	int result = 0;

	if (pid < SIM_FIRST_PID)
		result = __real_kill(pid, signal);
	else if (!program_of((uint32_t)pid)) {
		errno = ESRCH;
		result = -1;
	}
	step_go_on(was_on);
	return result;
}

/* ---------------------------------------------------------------- disk */

static bool is_disk(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

static int disk_error(void)
{
	if (sim->now_ns >= sim->disk_until_ns)
		sim->disk = SIM_DISK_GOOD;
	if (sim->disk == SIM_DISK_GOOD && !sim->quiet && sim_chance(sim->plan.disk)) {
		sim->disk = sim_draw(3) ? SIM_DISK_FULL : SIM_DISK_BROKEN;
		sim->disk_until_ns = sim->now_ns + sim_draw_scaled(2000000000);
		sim_log("disk: %s for %llu ms", sim->disk == SIM_DISK_FULL ? "full" : "broken",
			(unsigned long long)(sim->disk_until_ns - sim->now_ns) / 1000000);
	}
	sim->n_failed_writes += sim->disk != SIM_DISK_GOOD;
	return sim->disk == SIM_DISK_FULL ? ENOSPC : sim->disk == SIM_DISK_BROKEN ? EIO : 0;
}

ssize_t __real_writev(int fd, const struct iovec *v, int n);
ssize_t __wrap_writev(int fd, const struct iovec *v, int n);

/* The first @bytes of it. */
static ssize_t write_some(int fd, const struct iovec *v, int n, size_t bytes)
{
	struct iovec part[16];
	int k = 0;

	for (; k < n && k < 16 && bytes; k++) {
		part[k] = v[k];
		if (part[k].iov_len > bytes)
			part[k].iov_len = bytes;
		bytes -= part[k].iov_len;
	}
	return k ? __real_writev(fd, part, k) : 0;
}

static ssize_t disk_write(int fd, const struct iovec *v, int n)
{
	size_t size = 0, some;
	int error = 0;

	for (int i = 0; i < n; i++)
		size += v[i].iov_len;
	some = size;
	if (size > 1 && !sim->quiet && sim_chance(sim->plan.disk * 4))
		some = 1 + sim_draw((uint32_t)size - 1);
	if (call()) {
		if (sim_draw(3)) /* it had come that far */
			write_some(fd, v, n, sim_draw(2) ? size : sim_draw((uint32_t)size + 1));
		_exit(SIM_KILLED);
	}
	if (sim->plan.slow && !sim->quiet)
		sim_advance(sim_draw_scaled(sim->plan.slow));
	if (!sim->quiet && sim_chance(10)) {
		errno = EINTR;
		return -1;
	}
	error = disk_error();
	if (error) {
		errno = error;
		return -1;
	}
	return write_some(fd, v, n, some);
}

ssize_t __wrap_writev(int fd, const struct iovec *v, int n)
{
	bool was_on = step_pause();
	ssize_t done =
		sim->in_collector && is_disk(fd) ? disk_write(fd, v, n) : __real_writev(fd, v, n);
	int saved = errno;

	step_go_on(was_on);
	errno = saved;
	return done;
}

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
	bool was_on = step_pause();
	int fd = -1, error = 0;
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (call())
		_exit(SIM_KILLED);
	if (sim->in_collector && flags & O_CREAT)
		error = disk_error();
	if (!error)
		fd = __real_openat(dir, name, flags, mode);
	else
		errno = error;
	error = errno;
	step_go_on(was_on);
	errno = error;
	return fd;
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
	bool was_on = step_pause();
	int result;

	if (call())
		_exit(SIM_KILLED);
	result = __real_ftruncate(fd, size);
	step_go_on(was_on);
	return result;
}

/* ---------------------------------------------------------------- sockets */

int __real_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags)
{
	bool was_on = step_pause();
	int got = __real_accept4(fd, a, size, flags), saved = errno;

	if (got >= 0) {
		uint32_t i = sim->n_let_in++ % 4096;

		sim->pid_of_fd[got % 4096] = sim->waiting[i];
	}
	if (call())
		_exit(SIM_KILLED);
	step_go_on(was_on);
	errno = saved;
	return got;
}

/* An accepted peer is identified by its position. */
int __real_connect(int fd, const struct sockaddr *a, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t size)
{
	int result = __real_connect(fd, a, size);

	if (!result)
		sim->waiting[sim->n_waiting++ % 4096] = sim->who ? sim->who : (uint32_t)getpid();
	return result;
}

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int result = __real_getsockopt(fd, level, name, value, size);

	if (!result && level == SOL_SOCKET && name == SO_PEERCRED)
		((struct ucred *)value)->pid = (pid_t)sim->pid_of_fd[fd % 4096];
	return result;
}

/* ---------------------------------------------------------------- the rest */

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
	(void)flags;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)sim_draw(256);
	return (ssize_t)size;
}

/* A third of the seeds have two to four memory nodes. */
uint32_t sim_count_nodes(void)
{
	return sim->seed % 3 ? 1 : 2 + (uint32_t)(sim->seed / 3 % 3);
}

void __wrap_nodes_read(struct nodes *nodes, const char *directory);
void __wrap_nodes_read(struct nodes *nodes, const char *directory)
{
	(void)directory;
	*nodes = (struct nodes){ .n = sim_count_nodes() };
	for (uint32_t i = 0; i < ABI_CPUS_MAX; i++)
		nodes->of_cpu[i] = (uint8_t)((i + sim->seed) % nodes->n);
}

/* Pools begin small, so that they grow and shrink. */
int __real_pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d);
int __wrap_pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d);
int __wrap_pool_memory_begin(struct pool_memory *s, uint32_t n_least, struct diag *d)
{
	uint32_t least = 4 * sim->plan.n_cpus;

	return __real_pool_memory_begin(s, n_least == UINT32_MAX ? n_least : least, d);
}
