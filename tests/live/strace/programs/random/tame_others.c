/* SPDX-License-Identifier: MIT */
/* tame_others.c - arguments of calls on sockets, memory, processes and times. */
#include "tame.h"

#include <sys/socket.h>
#include <unistd.h>

/* ---------------------------------------------------------------- sockets */

void tame_socket(uint64_t *a)
{
	a[0] = ONE_OF(1, 2, 10, 16, 99, (uint64_t)-1);
	a[1] = ONE_OF(1, 2, 5, 77) | ONE_OF(0, 0x800, 0x80000, 0x80800) | 0x800;
	a[2] = ONE_OF(0, 0, 6, 17, 0x10000);
	if (a[0] == 16)
		a[1] = 1; /* refused: a message could change the network */
}

void tame_socketpair(uint64_t *a)
{
	tame_socket(a);
	a[0] = ONE_OF(1, 2);
	a[3] = ONE_OF(0, 1, 0xffffffff); /* refused: the two would not be closed */
}

/* Longer than a name, so that no name of a file is made. */
void tame_bind(uint64_t *a)
{
	a[2] = ONE_OF(0, 1, 2, 16, 111, 128, 129, (uint64_t)-1);
}

void tame_connect(uint64_t *a)
{
	a[2] = ONE_OF(0, 1, 2, 3, 5, 16, 28, 110, 128, 129, (uint64_t)-1);
}

void tame_lengths_2(uint64_t *a)
{
	a[2] = below(6) ? structure(
				  &(uint32_t){ (uint32_t)ONE_OF(0, 2, 16, 110, 128, (uint64_t)-1) },
				  4)
			: any_memory();
}

void tame_accept(uint64_t *a)
{
	tame_lengths_2(a);
	a[3] |= 0x800;
	if (below(2))
		a[3] = 0x800;
}

void tame_sendto(uint64_t *a)
{
	a[2] = below(12) ? below(200) : ONE_OF(1 << 20, (uint64_t)-1);
	a[3] |= 0x4040;		/* MSG_DONTWAIT | MSG_NOSIGNAL */
	a[3] &= ~0x20000000ull; /* MSG_FASTOPEN */
	if (below(3))
		a[3] = 0x4040;
	a[5] = ONE_OF(0, 2, 16, 28, 110, 128, (uint64_t)-1);
	if (below(2))
		a[4] = 0;
}

void tame_recvfrom(uint64_t *a)
{
	a[2] = below(200);
	a[3] |= 0x40;
	if (below(3))
		a[3] = ONE_OF(0x40, 0x42, 0x60);
	a[5] = structure(&(uint32_t){ (uint32_t)ONE_OF(0, 16, 110, 128) }, 4);
}

static uint64_t header(void)
{
	uint64_t parts[4] = { structure("some bytes to send", 19), below(19), structure("more", 5),
			      below(6) };
	uint64_t h[7] = { 0 };

	if (below(4))
		h[2] = below(4) ? structure(parts, sizeof parts) : any_memory();
	h[3] = h[2] ? below(3) : 0;
	if (!below(3)) {
		h[0] = address();
		h[1] = ONE_OF(0, 2, 16, 110, 0xffffffff) | (below(4) ? 0 : 0xffffffff00000000);
	}
	h[6] = below(3) ? 0 : below(16);
	return below(10) ? structure(h, sizeof h) : any_memory();
}

void tame_message(uint64_t *a)
{
	a[1] = header();
	a[2] = below(3) ? 0x4040 : (a[2] | 0x4040) & ~0x20000000ull;
}

void tame_setsockopt(uint64_t *a)
{
	a[1] = below(4) ? SOL_SOCKET : ONE_OF(6, 77, (uint64_t)-1);
	a[2] = a[1] == 6 ? ONE_OF(1, 2, 3, 4, 5, 6, 12, 18)
			 : ONE_OF(2, 3, 4, 7, 8, 9, 13, 15, 20, 21, 26, 36, 47, 999);
	a[3] = below(4) && a[2] != 26
		       ? structure((uint64_t[]){ dice() >> below(64), below(1000000) }, 16)
		       : ONE_OF(0, 1);
	a[4] = ONE_OF(4, 4, 8, 16, 0, 3, (uint64_t)-1);
}

void tame_getsockopt(uint64_t *a)
{
	a[1] = ONE_OF(SOL_SOCKET, SOL_SOCKET, 6, 0, 41, 17, 77);
	a[2] = below(50);
	a[4] = below(6) ? structure(&(uint32_t){ (uint32_t)ONE_OF(0, 1, 2, 4, 8, 12, 16, 64,
								  (uint64_t)-1) },
				    4)
			: any_memory();
}

/* ---------------------------------------------------------------- memory */

void tame_mmap(uint64_t *a)
{
	a[2] &= 0x1f;
	a[3] = 0x10 | ONE_OF(1, 2, 3, 0, 0x20, 0x22, 0x22) |
	       (below(3) ? 0 : ONE_OF(0x100, 0x4000, 0x8000, 0x20000));
	a[0] &= ~4095ull;
	a[4] = below(2) ? (uint64_t)-1 : a[4];
	a[5] = ONE_OF(0, 0, 4096, 17);
}

void tame_mremap(uint64_t *a)
{
	a[3] = ONE_OF(0, 0, 8, 2); /* it may not move elsewhere */
	a[2] = a[3] ? a[2] : ONE_OF(0, 1, 4096);
	a[1] = a[3] ? a[1] : ONE_OF(4096, 8192);
}

void tame_madvise(uint64_t *a)
{
	a[2] = ONE_OF(0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 23, 1000,
		      (uint64_t)-1);
}

void tame_mlockall(uint64_t *a)
{
	a[0] = ONE_OF(0, 8, 4, 0x80, (uint64_t)-1);
}

/* ---------------------------------------------------------------- processes, signals, times */

void tame_kill(uint64_t *a)
{
	a[0] = ONE_OF(own_pid(), own_pid(), 0x7ffffffe);
	a[1] = ONE_OF(0, 0, 65, 1000, (uint64_t)-1);
}

void tame_tgkill(uint64_t *a)
{
	a[0] = ONE_OF(own_pid(), 0x7ffffffe, (uint64_t)-1);
	tame_kill(a + 1);
}

void tame_queue(uint64_t *a)
{
	a[0] = 0x7ffffffe;
	a[1] = ONE_OF(0, 65, 200);
}

void tame_sigaction(uint64_t *a)
{
	struct {
		uint64_t handler, flags, restorer, mask;
	} act = { ONE_OF(0, 1, 0x401000), dice() >> below(64), dice() >> below(64),
		  dice() >> below(64) };

	a[0] = ONE_OF(40, 41, 42, 9, 0, 65, (uint64_t)-1);
	a[1] = below(3) ? structure(&act, sizeof act) : ONE_OF(0, 0, 1);
	a[3] = ONE_OF(8, 8, 8, 4);
}

void tame_sigprocmask(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 2, 2, 3, (uint64_t)-1);
	a[3] = ONE_OF(8, 8, 8, 8, 4);
}

void tame_set_size_1(uint64_t *a)
{
	a[1] = ONE_OF(8, 8, 4, 16);
}

void tame_signalfd4(uint64_t *a)
{
	a[2] = ONE_OF(8, 8, 4);
	a[3] |= 0x800;
	if (below(2))
		a[3] = 0x800;
}

void tame_sigaltstack(uint64_t *a)
{
	struct {
		uint64_t sp;
		int flags, unused;
		uint64_t size;
	} s = { any_memory(), 2, 0, below(100) };

	a[0] = below(2) ? 0 : below(5) ? structure(&s, sizeof s) : 1;
}

void tame_wait(uint64_t *a)
{
	a[2] |= 1; /* WNOHANG; there are no children anyway */
}

void tame_waitid(uint64_t *a)
{
	a[3] |= 1;
}

void tame_prctl(uint64_t *a)
{
	a[0] = ONE_OF(2, 3, 7, 11, 15, 16, 21, 23, 25, 27, 30, 34, 37, 39, 40, 42, 47, 52, 999);
	if (a[0] == 15)
		a[1] = structure("a name that is too long", 24);
	else if (a[0] != 2 && a[0] != 11 && a[0] != 16 && a[0] != 25 && a[0] != 37 && a[0] != 40)
		a[1] = below(50);
	else
		a[1] = any_memory();
	if (a[0] == 16) /* it writes 16 bytes */
		a[1] = structure("0123456789012345", 17);
}

void tame_prlimit(uint64_t *a)
{
	a[0] = ONE_OF(0, 0, own_pid(), (uint64_t)-1);
	a[1] = below(3) ? below(17) : a[1];
	a[2] = ONE_OF(0, 0, 0, 1);
}

void tame_nothing_first(uint64_t *a)
{
	a[0] = ONE_OF(0, 1);
}

void tame_itimer(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 2, 3, (uint64_t)-1);
	a[1] = below(3) ? structure((uint64_t[]){ 0, below(1000000), below(100), below(1000001) },
				    32)
			: ONE_OF(0, 1);
}

void tame_timer_create(uint64_t *a)
{
	int event[16] = { 0, 0, (int)ONE_OF(34, 0, 70), (int)ONE_OF(1, 1, 77) };

	a[0] = ONE_OF(0, 1, 7, 99, 20);
	a[1] = structure(event, sizeof event);
	a[2] = ONE_OF(0, 1); /* it cannot return the number, and makes none */
}

void tame_timerfd(uint64_t *a)
{
	a[0] = below(4) ? TIMER_FD : a[0];
	a[1] = ONE_OF(0, 1, 2, 3, a[1]);
	a[2] = below(6) ? structure((uint64_t[]){ 0, below(1000), below(10), below(1000001) }, 32)
			: any_memory();
}

void tame_timerfd_create(uint64_t *a)
{
	a[1] = below(3) ? 0x800 : a[1] | 0x800;
}

void tame_clock(uint64_t *a)
{
	a[0] = below(4) ? below(12) : ONE_OF((uint64_t)-6, (uint64_t)-2, 17, 0x7fffffff);
}

void tame_same_ids(uint64_t *a)
{
	for (int i = 0; i < 3; i++)
		a[i] = ONE_OF((uint64_t)-1, 0xffffffff);
}

void tame_one_id(uint64_t *a)
{
	a[0] = ONE_OF((uint64_t)-1, 0, 0xffffffff);
}

void tame_pipe2(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 0xffffffffffff0000); /* refused: the two would not be closed */
}

void tame_nonblocking_1(uint64_t *a)
{
	a[1] |= 0x800;
}

void tame_nonblocking_0(uint64_t *a)
{
	a[0] = below(3) ? 0x800 : a[0] | 0x800;
}

void tame_getrandom(uint64_t *a)
{
	a[1] = below(200);
	a[2] = below(3) ? ONE_OF(0, 1, 4) : a[2] | 1;
}

void tame_clone(uint64_t *a)
{
	a[0] = ONE_OF(0x800, 0x10000, 0x10800, 0x20200) | below(256); /* refused */
}

void tame_clone3(uint64_t *a)
{
	a[0] = below(2) ? structure((uint64_t[11]){ 0x10000, any_memory(), 0, 0, 17, 0, 0, 0 }, 88)
			: ONE_OF(0, 1);
	a[1] = ONE_OF(64, 80, 88, 0, 7);
}

void tame_msgget(uint64_t *a)
{
	tame_nobody(a);
	a[1] &= ~01000ull; /* IPC_CREAT */
}

void tame_unshare(uint64_t *a)
{
	a[0] = ONE_OF(1, 2, 0x1000000 | 1);
}

void tame_syslog(uint64_t *a)
{
	a[0] = ONE_OF(9, 10, 11, 50);
}

void tame_membarrier(uint64_t *a)
{
	a[0] = ONE_OF(0, 1 << 20, (uint64_t)-1);
}

void tame_keyctl(uint64_t *a)
{
	a[0] = ONE_OF(6, 11, 99); /* describe, read */
	a[1] = ONE_OF((uint64_t)-3, 0, 1, 0x7fffffff);
}

void tame_bpf(uint64_t *a)
{
	a[0] = ONE_OF(1, 2, 3, 4, 6, 7, 99);
	a[1] = structure((uint64_t[]){ 0xffffffff, any_memory(), any_memory(), 0, 0, 0, 0, 0 }, 64);
	a[2] = ONE_OF(0, 8, 16, 32, 64);
}

void tame_self_memory(uint64_t *a)
{
	a[0] = ONE_OF(own_pid(), 0x7ffffffe);
	a[2] = below(6);
	a[4] = below(6);
	a[5] = ONE_OF(0, 0, 1);
}

void tame_move(uint64_t *a)
{
	a[0] = 0x7ffffffe;
	a[1] = below(10);
}

void tame_policy(uint64_t *a)
{
	a[0] = ONE_OF(0, 99);
	a[1] = 0;
}

void tame_rseq(uint64_t *a)
{
	a[1] = ONE_OF(0, 5, 31);
}

void tame_robust(uint64_t *a)
{
	a[1] = ONE_OF(0, 23, 1000);
}

void tame_handle(uint64_t *a)
{
	a[2] = below(5) ? structure((uint32_t[40]){ (uint32_t)ONE_OF(0, 8, 128, 129) }, 160)
			: any_memory();
	a[4] = below(3) ? ONE_OF(0, 0x400, 0x1000) : a[4];
}

void tame_capget(uint64_t *a)
{
	a[0] = below(5) ? structure((uint32_t[]){ (uint32_t)ONE_OF(0x20080522, 0x20071026,
								   0x19980330, 0),
						  0 },
				    8)
			: any_memory();
}

void tame_landlock(uint64_t *a)
{
	a[0] = ONE_OF(0, 1);
	a[1] = ONE_OF(0, 8);
	a[2] = ONE_OF(1, 1, 8);
}

void tame_seccomp(uint64_t *a)
{
	a[0] = ONE_OF(2, 99);
	a[2] = below(3)
		       ? structure(&(uint32_t){ (uint32_t)ONE_OF(0x7fff0000, 0x50000, 0x12340000) },
				   4)
		       : 1;
}

void tame_ptrace(uint64_t *a)
{
	a[0] = ONE_OF(1, 2, 7, 12, 0x4200, 0x4204, 99);
	a[1] = ONE_OF(0x7ffffffe, 0x7fffffff);
}

void tame_priority(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 2, 3, (uint64_t)-1);
	a[1] = ONE_OF(0, own_pid(), 0x7ffffffe);
}

void tame_fadvise(uint64_t *a)
{
	a[3] = below(3) ? below(7) : a[3];
}

void tame_umask(uint64_t *a)
{
	a[0] = ONE_OF(022, 077, 0, 07777, 0xffffffffffffffff);
}

void tame_sched_pid(uint64_t *a)
{
	a[0] = ONE_OF(0, own_pid(), 0x7ffffffe, (uint64_t)-1);
}

void tame_nobody(uint64_t *a)
{
	a[0] = ONE_OF(0x7ffffffe, (uint64_t)-1);
}

void tame_alarm(uint64_t *a)
{
	a[0] = ONE_OF(0, 0, 3, 1000);
}

void tame_read(uint64_t *a)
{
	a[2] = below(20) ? below(200) : ONE_OF(5000, 0x7fffffff, (uint64_t)-1);
}

void tame_brk(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 4096);
}

void tame_memfd(uint64_t *a)
{
	a[1] = below(2) ? ONE_OF(0, 1, 2, 3) : a[1] & ~4ull; /* no huge pages */
}
