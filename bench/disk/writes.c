/* SPDX-License-Identifier: MIT */
/*
 * bench/disk/writes.c - compare ways to write a packet from shared memory to a file.
 *
 * Packets are as the collector writes them: an 84-byte header of its own and N bytes in a shared
 * mapping (a memfd, as the pools have), to FILES files in turns.  The 72-byte index entry follows
 * each.
 *
 *   writev    two system calls a packet, as src/ctf/write/writer.c does
 *   one       the same with the header copied before the bytes: write and write
 *   uring     io_uring: writev and write of BATCH packets in one system call, then wait for all
 *   fixed     the same with memory and files registered: three writes, as the header is apart
 *   sqpoll    as fixed, with a kernel thread that reads the queue: no system call while it is awake
 *
 *   writes DIRECTORY KIND [BYTES [PACKETS [FILES [BATCH]]]]
 *
 * Prints: seconds, CPU seconds of this process (user, system), and those of the rest of the machine
 * (kernel threads).  It uses io_uring through system calls only, as its manual pages describe.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 84, ENTRY = 72, FILES_MAX = 64, POOL_BYTES = 64 << 20, QUEUE = 1024 };

static uint8_t *pool;
static uint8_t heads[QUEUE][HEAD], entry[ENTRY];
static struct iovec vectors[QUEUE][2];
static int files[FILES_MAX], indexes[FILES_MAX];
static uint64_t at[FILES_MAX], index_at[FILES_MAX];
static size_t bytes = 65536 - 128;
static unsigned n_packets = 40000, n_files = 4, batch = 32;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static const uint8_t *packet(unsigned i)
{
	return pool + (size_t)i * 65536 % POOL_BYTES + 128;
}

static void whole(ssize_t n, size_t wanted)
{
	if (n != (ssize_t)wanted)
		die("write");
}

static void run_writev(void)
{
	for (unsigned i = 0; i < n_packets; i++) {
		struct iovec v[2] = { { heads[0], HEAD }, { (void *)packet(i), bytes } };

		whole(writev(files[i % n_files], v, 2), HEAD + bytes);
		whole(write(indexes[i % n_files], entry, ENTRY), ENTRY);
	}
}

static void run_one(void)
{
	for (unsigned i = 0; i < n_packets; i++) {
		whole(write(files[i % n_files], packet(i) - HEAD, HEAD + bytes), HEAD + bytes);
		whole(write(indexes[i % n_files], entry, ENTRY), ENTRY);
	}
}

/* ---------------------------------------------------------------- io_uring */

struct ring {
	int fd;
	_Atomic uint32_t *sq_tail, *sq_flags, *cq_head, *cq_tail;
	uint32_t sq_mask, cq_mask, *sq_array;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	uint32_t tail;
	int fixed, sqpoll;
};

static void ring_open(struct ring *r)
{
	struct io_uring_params p = { .flags = r->sqpoll ? IORING_SETUP_SQPOLL
							: IORING_SETUP_SINGLE_ISSUER |
								  IORING_SETUP_DEFER_TASKRUN,
				     .sq_thread_idle = 100 };
	struct iovec memory[2] = { { pool, POOL_BYTES }, { heads, sizeof heads } };
	int all[2 * FILES_MAX];
	uint8_t *sq, *cq;

	r->fd = (int)syscall(SYS_io_uring_setup, QUEUE, &p);
	if (r->fd < 0)
		die("io_uring_setup");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof *r->sqes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || r->sqes == MAP_FAILED)
		die("mmap of the ring");
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_flags = (void *)(sq + p.sq_off.flags);
	r->sq_mask = *(uint32_t *)(sq + p.sq_off.ring_mask);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = *(uint32_t *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
	for (unsigned i = 0; i < n_files; i++) {
		all[2 * i] = files[i];
		all[2 * i + 1] = indexes[i];
	}
	if (!r->fixed)
		return;
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_BUFFERS, memory, 2))
		die("IORING_REGISTER_BUFFERS");
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, all, 2 * n_files))
		die("IORING_REGISTER_FILES");
}

static void add(struct ring *r, unsigned file, int is_index, const void *from, size_t size,
		uint64_t offset, int buffer)
{
	uint32_t i = r->tail++ & r->sq_mask;
	struct io_uring_sqe *e = &r->sqes[i];

	*e = (struct io_uring_sqe){ .opcode = r->fixed && buffer >= 0 ? IORING_OP_WRITE_FIXED
								      : IORING_OP_WRITE,
				    .fd = r->fixed   ? (int)(2 * file) + is_index
					  : is_index ? indexes[file]
						     : files[file],
				    .flags = r->fixed ? IOSQE_FIXED_FILE : 0,
				    .addr = (uintptr_t)from,
				    .len = (uint32_t)size,
				    .off = offset,
				    .buf_index = (uint16_t)(buffer > 0 ? buffer : 0),
				    .user_data = size };
	r->sq_array[i] = i;
}

static void add_vector(struct ring *r, unsigned file, const struct iovec *v, uint64_t offset)
{
	uint32_t i = r->tail++ & r->sq_mask;

	r->sqes[i] = (struct io_uring_sqe){ .opcode = IORING_OP_WRITEV,
					    .fd = files[file],
					    .addr = (uintptr_t)v,
					    .len = 2,
					    .off = offset,
					    .user_data = v[0].iov_len + v[1].iov_len };
	r->sq_array[i] = i;
}

static void submit(struct ring *r, unsigned n)
{
	unsigned flags = IORING_ENTER_GETEVENTS, got = 0;

	atomic_store_explicit(r->sq_tail, r->tail, memory_order_release);
	if (r->sqpoll) {
		atomic_thread_fence(memory_order_seq_cst);
		flags |= atomic_load(r->sq_flags) & IORING_SQ_NEED_WAKEUP ? IORING_ENTER_SQ_WAKEUP
									  : 0;
	}
	if (syscall(SYS_io_uring_enter, r->fd, r->sqpoll ? 0 : n, n, flags, NULL, 0) < 0)
		die("io_uring_enter");
	while (got < n) {
		uint32_t head = atomic_load(r->cq_head);

		if (head == atomic_load_explicit(r->cq_tail, memory_order_acquire)) {
			syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
			continue;
		}
		if (r->cqes[head & r->cq_mask].res != (int)r->cqes[head & r->cq_mask].user_data) {
			errno = -r->cqes[head & r->cq_mask].res;
			die("a write");
		}
		atomic_store_explicit(r->cq_head, head + 1, memory_order_release);
		got++;
	}
}

/* The header is apart: the pool has no room for it, and a registered buffer cannot have several
 * pieces. */
static void run_ring(int fixed, int sqpoll)
{
	struct ring r = { .fixed = fixed, .sqpoll = sqpoll };

	ring_open(&r);
	for (unsigned i = 0; i < n_packets;) {
		unsigned n = 0;

		for (unsigned k = 0; k < batch && i < n_packets; i++, k++, n += fixed ? 3 : 2) {
			unsigned f = i % n_files;

			vectors[k][0] = (struct iovec){ heads[k], HEAD };
			vectors[k][1] = (struct iovec){ (void *)packet(i), bytes };
			if (fixed)
				add(&r, f, 0, heads[k], HEAD, at[f], 1);
			if (fixed)
				add(&r, f, 0, packet(i), bytes, at[f] + HEAD, 0);
			else
				add_vector(&r, f, vectors[k], at[f]);
			add(&r, f, 1, entry, ENTRY, index_at[f], -1);
			at[f] += HEAD + bytes;
			index_at[f] += ENTRY;
		}
		submit(&r, n);
	}
}

/* ---------------------------------------------------------------- */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Busy seconds of all CPUs. */
static double machine(void)
{
	unsigned long long user, nice, system, idle, io, irq, soft;
	FILE *f = fopen("/proc/stat", "re");

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
			 &io, &irq, &soft) != 7)
		die("/proc/stat");
	fclose(f);
	return (double)(user + nice + system + irq + soft) / (double)sysconf(_SC_CLK_TCK);
}

static void open_files(const char *directory)
{
	char path[4096];

	for (unsigned i = 0; i < n_files; i++) {
		snprintf(path, sizeof path, "%s/stream-%u", directory, i);
		files[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		snprintf(path, sizeof path, "%s/index-%u", directory, i);
		indexes[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (files[i] < 0 || indexes[i] < 0)
			die(path);
	}
}

static void make_pool(void)
{
	int fd = memfd_create("pool", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, POOL_BYTES))
		die("memfd_create");
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < POOL_BYTES; i++)
		pool[i] = (uint8_t)(i * 2654435761u >> 13);
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage before, after;
	const char *kind = argc > 2 ? argv[2] : "";
	double busy;

	if (argc < 3)
		return fprintf(stderr, "usage: writes DIRECTORY writev|one|uring|fixed|sqpoll "
				       "[BYTES [PACKETS [FILES [BATCH]]]]\n"),
		       2;
	bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : bytes;
	n_packets = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : n_packets;
	n_files = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : n_files;
	batch = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : batch;
	if (!bytes || bytes > 65536 - 128 || !n_files || n_files > FILES_MAX || !batch ||
	    3 * batch > QUEUE)
		return fprintf(stderr, "writes: that is too much, or nothing\n"), 2;
	make_pool();
	open_files(argv[1]);
	busy = machine();
	getrusage(RUSAGE_SELF, &before);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!strcmp(kind, "writev"))
		run_writev();
	else if (!strcmp(kind, "one"))
		run_one();
	else
		run_ring(strcmp(kind, "uring") != 0, !strcmp(kind, "sqpoll"));
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &after);
	printf("%.3f %.3f %.3f %.2f\n",
	       (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
	       seconds(after.ru_utime) - seconds(before.ru_utime),
	       seconds(after.ru_stime) - seconds(before.ru_stime), machine() - busy);
	return 0;
}
