/* SPDX-License-Identifier: MIT */
/* Makes system calls whose counts are too large, too small, or of more bits than the kernel looks at;
 * whose memory ends early; and those that return more than they write. */
#include <limits.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static char secret[64] = "SECRET-SECRET-SECRET-SECRET-SECRET-SECRET-SECRET-";
static char *last; /* 4096 bytes; what follows cannot be read */

static void results_beyond_the_buffer(const char *file)
{
	char message[] = "0123456789 twenty-eight bytes", value[] = "value";
	int pair[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	send(pair[0], message, 28, 0);
	recv(pair[1], secret, 0, MSG_PEEK | MSG_TRUNC);
	recv(pair[1], secret, 4, MSG_PEEK | MSG_TRUNC);
	recv(pair[1], secret, 4, MSG_TRUNC);
	memcpy(secret, "SECRET", 6);
	setxattr(file, "user.duet", value, 5, 0);
	getxattr(file, "user.duet", secret, 0);
	getxattr(file, "user.duet", secret, 3);
	getxattr(file, "user.duet", secret, 5);
	listxattr(file, secret, 0);
	syscall(SYS_getgroups, 0, secret);
	syscall(SYS_getgroups, 1L << 32, secret);
	close(pair[0]);
	close(pair[1]);
}

/* Buffers that are larger than what the calls move into them. */
static void results_below_the_buffers(void)
{
	char four[] = "0123", empty[64] = "", hidden[64];
	struct iovec all[2] = { { secret, 2 }, { secret + 16, 40 } }, own = { secret, 40 };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = all, .msg_iovlen = 2 } } };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int pair[2];

	memcpy(hidden, secret, sizeof hidden);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	for (int i = 0; i < 4; i++)
		send(pair[0], four, 4, 0);
	syscall(SYS_readv, pair[1], all, 2);
	memcpy(secret, hidden, sizeof secret);
	syscall(SYS_recvmsg, pair[1], m, 0);
	memcpy(secret, hidden, sizeof secret);
	m[0].msg_hdr.msg_name = secret + 24;
	m[0].msg_hdr.msg_namelen = 30;
	m[1] = m[0];
	syscall(SYS_recvmmsg, pair[1], m, 2, MSG_DONTWAIT, NULL);
	memcpy(secret, hidden, sizeof secret);
	own.iov_len = 4;
	all[0] = (struct iovec){ four, 2 };
	syscall(SYS_process_vm_readv, getpid(), all, 2, &own, 1, 0);
	syscall(SYS_readv, -1, all, 2);
	/* A name that is longer than its room, which ends with its memory. */
	memcpy(address.sun_path, "\0duet-a-long-name-of-a-socket", 29);
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		pair[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
	}
	bind(pair[0], (struct sockaddr *)&address, 31);
	bind(pair[1], (struct sockaddr *)&address, 2);
	m[0].msg_hdr.msg_namelen = sizeof address;
	getsockname(pair[1], (struct sockaddr *)&address, &m[0].msg_hdr.msg_namelen);
	sendto(pair[0], four, 4, 0, (struct sockaddr *)&address, m[0].msg_hdr.msg_namelen);
	m[0] = (struct mmsghdr){ .msg_hdr = { .msg_name = last + 4096 - 12,
					      .msg_namelen = 12,
					      .msg_iov = &(struct iovec){ empty, 64 },
					      .msg_iovlen = 1 } };
	syscall(SYS_recvmsg, pair[1], m, MSG_DONTWAIT);
	memcpy(secret, hidden, sizeof secret);
	close(pair[0]);
	close(pair[1]);
}

static void counts_of_many_bits(void)
{
	char text[] = "abc";
	struct iovec data = { text, 3 }, *v = (struct iovec *)(last + 4096) - 1;
	struct mmsghdr *m = (struct mmsghdr *)(last + 4096) - 2;
	struct iocb b = { .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = 1 };
	struct iocb **blocks = (struct iocb **)(last + 4096) - 2;
	int pair[2];

	*v = data;
	syscall(SYS_writev, -1, v, 0x80000000L);
	syscall(SYS_writev, -1, v, (1L << 32) + 1);
	syscall(SYS_writev, -1, v, -1L);
	for (int i = 0; i < 2; i++)
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &data, .msg_iovlen = 1 } };
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	syscall(SYS_sendmmsg, pair[0], m, 0x80000000L, MSG_OOB);
	syscall(SYS_sendmmsg, pair[0], m, (1L << 32) + 1, 0);
	syscall(SYS_recvmmsg, pair[1], m, 0x80000000L, MSG_DONTWAIT, NULL);
	blocks[0] = blocks[1] = &b;
	syscall(SYS_io_submit, 1L, 1L << 32, blocks);
	syscall(SYS_io_submit, 1L, (1L << 32) + 1, blocks);
	syscall(SYS_io_submit, 1L, -1L, blocks);
	memset(last, 0, 4096);
	last[0] = 5;
	syscall(SYS_sched_setaffinity, -1, 0x80000000L, last);
	syscall(SYS_sched_setaffinity, -1, (1L << 32) + 8, last);
	close(pair[0]);
	close(pair[1]);
}

static void lists_that_are_cut(void)
{
	enum { MANY = 40 };
	struct pollfd many[MANY], *end = (struct pollfd *)(last + 4096) - 1;
	struct epoll_event events[MANY];
	int fds[MANY], set = epoll_create1(0);

	for (int i = 0; i < MANY; i++) {
		fds[i] = eventfd(1, 0);
		many[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		epoll_ctl(set, EPOLL_CTL_ADD, fds[i],
			  &(struct epoll_event){ .events = EPOLLIN, .data.u64 = (uint64_t)i });
	}
	poll(many, MANY, 0);
	poll(many, 3, 0);
	*end = many[0];
	syscall(SYS_poll, end, 2, 0);
	epoll_wait(set, events, MANY, 0);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	close(set);
}

static void environments(void)
{
	static char *variables[1000];
	char *argv[] = { "no", NULL };
	char **end = (char **)(last + 4096) - 1;

	for (int i = 0; i < 999; i++)
		variables[i] = "V=1";
	syscall(SYS_execve, "/no", argv, variables);
	variables[512] = NULL;
	syscall(SYS_execve, "/no", argv, variables);
	variables[511] = NULL;
	syscall(SYS_execve, "/no", argv, variables);
	syscall(SYS_execve, "/no", argv, 2L);
	*end = "V=1";
	syscall(SYS_execve, "/no", argv, end);
	*end = NULL;
	syscall(SYS_execve, "/no", argv, end);
}

/* Texts that cannot be read, and lists that have no end, no text, and many of them. */
static void arguments(void)
{
	static char *many[41];
	char **end = (char **)(last + 4096) - 4;

	memcpy(end, (char *[]){ "a", (char *)-1L, "b", (char *)-2L }, sizeof(char *[4]));
	syscall(SYS_execve, "/no", end, NULL);
	end[3] = NULL;
	syscall(SYS_execve, "/no", end, NULL);
	syscall(SYS_execve, "/no", end + 3, NULL);
	syscall(SYS_execve, "/no", 2L, NULL);
	for (int i = 0; i < 40; i++)
		many[i] = "text";
	syscall(SYS_execve, "/no", many, NULL);
}

static void lengths_of_many_bits(void)
{
	uint32_t attributes[32] = { 1, UINT32_MAX };
	uint64_t registers[32];
	struct iovec set = { registers, (1ull << 32) + 16 };
	int child = (int)syscall(SYS_fork);

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		syscall(SYS_kill, getpid(), 19);
		_exit(0);
	}
	syscall(SYS_wait4, child, NULL, 2, NULL);
	syscall(SYS_ptrace, (long)PTRACE_GETREGSET, child, 1L, &set);
	syscall(SYS_ptrace, 0x10000000cL, child, 0L, registers);
	syscall(SYS_ptrace, (long)PTRACE_CONT, child, 0L, 0L);
	syscall(SYS_wait4, child, NULL, 0, NULL);
	syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0L);
}

/* mq_open ignores them, and strace shows them as a number. */
static void flags_of_a_new_queue(void)
{
	long attributes[8] = { 0xfff, 2, 64 };

	syscall(SYS_mq_open, "no/queue", 0x40 | 2, 0600L, attributes);
	syscall(SYS_mq_getsetattr, -1, attributes, NULL);
}

static void names_of_no_length(void)
{
	char text[] = "abc";
	struct iovec data = { text, 3 };
	struct msghdr m = {
		.msg_name = secret, .msg_namelen = UINT32_MAX, .msg_iov = &data, .msg_iovlen = 1
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	syscall(SYS_sendmsg, fd, &m, 0);
	close(fd);
}

/* The kernel looks at no more descriptors than the process has places for, here less than 2048. */
static void sets_of_descriptors(void)
{
	enum { TABLE = 2048, FAR = 17000 };
	static uint64_t bits[(1 << 20) / 64 + 64], *end; /* strace reads so many */
	struct rlimit r;
	struct timespec t = { 0 };
	int fd = eventfd(1, 0);

	memset(bits, 0, sizeof bits);
	bits[0] = 1u << fd;
	syscall(SYS_select, fd + 1, bits, bits + 64, NULL, &t);
	syscall(SYS_select, 1025, bits, NULL, bits + 64, &t);
	syscall(SYS_select, INT_MAX, bits, bits + 64, NULL, &t);
	syscall(SYS_select, (1L << 32) + fd, bits, NULL, NULL, &t);
	syscall(SYS_select, -1, bits, NULL, NULL, &t);
	end = (uint64_t *)(last + 4096) - 1;
	*end = bits[0] = 1u << fd;
	syscall(SYS_select, 64, end, NULL, NULL, &t);
	syscall(SYS_select, 65, end, NULL, NULL, &t);
	memcpy(bits + 1, secret, sizeof secret);
	syscall(SYS_pselect6, fd + 1, bits, NULL, NULL, &t, NULL);
	memset(bits + 1, 0, sizeof secret);
	memcpy(bits + TABLE / 64, secret, sizeof secret);
	syscall(SYS_pselect6, 2 * TABLE, bits, NULL, NULL, &t, NULL);
	memset(bits + TABLE / 64, 0, sizeof secret);
	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	if (dup2(fd, FAR) == FAR)
		syscall(SYS_pselect6, FAR + 1, bits, NULL, NULL, &t, NULL);
	close(FAR);
	close(fd);
}

int main(int argc, char **argv)
{
	last = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || last == MAP_FAILED || munmap(last + 4096, 4096))
		return 2;
	results_beyond_the_buffer(argv[1]);
	results_below_the_buffers();
	counts_of_many_bits();
	lists_that_are_cut();
	environments();
	arguments();
	lengths_of_many_bits();
	names_of_no_length();
	flags_of_a_new_queue();
	sets_of_descriptors();
	return 0;
}
