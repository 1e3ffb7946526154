/* SPDX-License-Identifier: MIT */
/* tame_files.c - arguments of calls on files, and of calls that wait. */
#include "tame.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

/* ---------------------------------------------------------------- files */

static void open_flags(uint64_t *flags)
{
	*flags |= O_NONBLOCK;
	if (below(2))
		*flags &= O_ACCMODE | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_TRUNC | O_APPEND |
			  O_DIRECTORY;
}

void tame_open(uint64_t *a)
{
	open_flags(&a[1]);
}

void tame_openat(uint64_t *a)
{
	open_flags(&a[2]);
}

void tame_openat2(uint64_t *a)
{
	uint64_t how[4] = { a[2] | O_NONBLOCK, below(3) ? 0 : a[4] & 0777,
			    below(3) ? 0 : 1ull << below(7), below(9) ? 0 : 5 };

	if (below(8))
		a[2] = structure(how, sizeof how);
	else
		a[2] = 1;
	a[3] = ONE_OF(24, 24, 24, 0, 32, 4097);
}

void tame_at_flags_3(uint64_t *a)
{
	if (below(2))
		a[3] = ONE_OF(0, 0, 0x100, 0x200, 0x400, 0x1000, 0x1100);
}

void tame_at_flags_4(uint64_t *a)
{
	if (below(2))
		a[4] = ONE_OF(0, 0, 0x100, 0x400, 0x1000, 0x1400);
}

void tame_statx(uint64_t *a)
{
	if (below(2)) {
		a[2] = ONE_OF(0, 0x100, 0x1000, 0x2000, 0x4000);
		a[3] = ONE_OF(0x7ff, 0xfff, 0x1fff, 2, 0);
	}
}

void tame_mknod(uint64_t *a)
{
	a[1] = (a[1] & 0777) | ONE_OF(S_IFREG, S_IFSOCK, 0);
}

void tame_mknodat(uint64_t *a)
{
	a[2] = (a[2] & 0777) | ONE_OF(S_IFREG, S_IFSOCK, 0);
}

void tame_owner(uint64_t *a)
{
	a[1] = ONE_OF(0, (uint64_t)-1, 0xffffffff, below(1000));
	a[2] = ONE_OF(0, (uint64_t)-1, 0xffffffff, below(1000));
}

void tame_fchownat(uint64_t *a)
{
	tame_owner(a + 1);
	if (below(2))
		a[4] = ONE_OF(0, 0x100, 0x1000);
}

void tame_fcntl(uint64_t *a)
{
	struct flock lock = { (short)below(5), (short)below(4), (off_t)below(200),
			      (off_t)below(100), 0 };
	struct {
		int type, pid;
	} owner = { (int)below(4), 0 };

	a[1] = ONE_OF(F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_GETOWN,
		      F_SETOWN, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX, F_OFD_GETLK,
		      F_OFD_SETLK, F_SETLEASE, F_GETLEASE, F_NOTIFY, F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
		      F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS, F_GET_RW_HINT, F_SET_RW_HINT, 17,
		      1023, 1041, 0x40000000);
	switch (a[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		a[2] = ONE_OF(0x7fffffff, (uint64_t)-1,
			      1 << 30); /* refused: they would not be closed */
		break;
	case F_SETFD:
		a[2] = below(3);
		break;
	case F_SETFL:
		a[2] |= O_NONBLOCK;
		break;
	case F_GETLK:
	case F_SETLK:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
		a[2] = below(6) ? structure(&lock, sizeof lock) : a[2] & 15;
		break;
	case F_SETOWN:
		a[2] = ONE_OF(0, own_pid());
		break;
	case F_SETSIG:
		a[2] = ONE_OF(0, 70, (uint64_t)-1);
		break;
	case F_SETOWN_EX:
		a[2] = below(4) ? structure(&owner, sizeof owner) : 1;
		break;
	case F_SETPIPE_SZ:
		a[2] = ONE_OF(4096, 65536, 0, (uint64_t)-1);
		break;
	case F_SETLEASE: /* else a truncate() would wait */
		a[2] = ONE_OF(2, 5, 70);
		break;
	case F_ADD_SEALS:
		a[2] = ONE_OF(0, 0x100, (uint64_t)-1);
		break;
	case F_GETOWN_EX:
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
		a[2] = any_memory();
		break;
	default:
		a[2] = ONE_OF(0, 1, 2, a[2]);
	}
}

void tame_ioctl(uint64_t *a)
{
	a[1] = ONE_OF(FIONREAD, TCGETS, TIOCGWINSZ, FIOCLEX, FIONCLEX,
		      0x80086601 /* FS_IOC_GETFLAGS */, SIOCGIFNAME, SIOCATMARK, TIOCGPGRP,
		      0x80081272 /* BLKGETSIZE64 */, 0xeeee0000 + below(65536), 0x5699);
	a[2] = any_memory();
}

void tame_flock(uint64_t *a)
{
	a[1] |= 4; /* LOCK_NB */
}

void tame_splice_4(uint64_t *a)
{
	a[3] |= 2; /* SPLICE_F_NONBLOCK */
	a[2] = below(200);
}

void tame_splice(uint64_t *a)
{
	a[1] = below(2) ? 0 : structure(&(uint64_t){ below(100) }, 8);
	a[3] = below(2) ? 0 : structure(&(uint64_t){ below(100) }, 8);
	a[4] = below(200);
	a[5] |= 2;
}

void tame_offsets(uint64_t *a)
{
	a[1] = below(2) ? 0 : structure(&(uint64_t){ below(100) }, 8);
	a[3] = below(2) ? 0 : structure(&(uint64_t){ below(100) }, 8);
	a[4] = below(500);
}

void tame_sendfile(uint64_t *a)
{
	a[2] = below(2) ? 0 : below(8) ? structure(&(uint64_t){ below(100) }, 8) : any_memory();
	a[3] = below(1000);
}

/* Files stay small. */
void tame_length(uint64_t *a)
{
	a[1] = ONE_OF(0, below(100000), (uint64_t)-1, 1ull << 63);
}

void tame_fallocate(uint64_t *a)
{
	a[1] = below(3) ? ONE_OF(0, 1, 3, 16) : a[1];
	a[2] = ONE_OF(0, below(100000), (uint64_t)-1);
	a[3] = ONE_OF(0, below(100000), (uint64_t)-1);
}

void tame_written_at(uint64_t *a)
{
	a[3] = ONE_OF(0, below(100000), (uint64_t)-1, 1ull << 63);
}

/* Their last argument is the upper half of the offset: unused on 64 bits. */
void tame_vector(uint64_t *a)
{
	a[2] = below(20) ? below(7) : ONE_OF(2000, (uint64_t)-1);
	a[3] = ONE_OF(0, below(100000), (uint64_t)-1);
	a[4] = below(3) ? 0 : a[4];
	a[5] = below(3) ? 0 : ONE_OF(1, 2, 4, 8, 16, a[5]);
}

void tame_xattr(uint64_t *a)
{
	static const char *const names[] = { "user.a", "user.bcd", "user.", "none", "" };
	static const unsigned sizes[] = { 7, 9, 6, 5, 1 };
	unsigned i = below(5);

	a[1] = below(8) ? structure(names[i], sizes[i]) : ONE_OF(0, 1);
	a[3] = below(10) ? below(100) : ONE_OF(65537, (uint64_t)-1);
}

/* ---------------------------------------------------------------- waiting */

static void polled(uint64_t *a)
{
	struct {
		int fd;
		short events, revents;
	} list[8];

	for (int i = 0; i < 8; i++) {
		list[i].fd = (int)(below(6) ? own_fd() : 950);
		list[i].events = (short)(below(2) ? below(8) : dice());
		list[i].revents = (short)(below(2) ? 0 : dice());
	}
	a[0] = below(10) ? structure(list, sizeof list) : any_memory();
	a[1] = below(20) ? below(9) : ONE_OF(100000, (uint64_t)-1);
}

void tame_poll(uint64_t *a)
{
	polled(a);
	a[2] = ONE_OF(0, 0, 1);
}

void tame_ppoll(uint64_t *a)
{
	polled(a);
	a[4] = ONE_OF(8, 8, 4, 0);
}

void tame_select(uint64_t *a)
{
	uint64_t sets[3][16] = { { 0 } }, t[2] = { 0, below(3) };

	for (int i = 0; i < 3; i++) {
		for (unsigned n = below(3); n; n--) {
			unsigned fd = 100 + below(28);

			sets[i][fd / 64] |= 1ull << fd % 64;
		}
		a[1 + i] = below(3) ? structure(sets[i], sizeof sets[i]) : ONE_OF(0, 0, 1);
	}
	a[0] = below(10) ? 100 + below(30) : ONE_OF(0, (uint64_t)-1, 5, 1024, 2000);
	a[4] = below(8) ? structure(t, sizeof t) : 1;
}

void tame_pselect6(uint64_t *a)
{
	uint64_t mask[2] = { structure(&(uint64_t){ dice() }, 8), ONE_OF(8, 8, 4) };

	tame_select(a);
	a[4] = below(8) ? structure((uint64_t[]){ 0, below(2000) }, 16) : 1;
	a[5] = below(2) ? 0 : below(4) ? structure(mask, 16) : any_memory();
}

void tame_epoll_ctl(uint64_t *a)
{
	a[1] = below(12) ? 1 + below(3) : a[1];
	a[2] = own_fd();
	a[0] = below(8) ? EPOLL_FD : own_fd();
}

void tame_epoll_wait(uint64_t *a)
{
	a[0] = below(4) ? EPOLL_FD : a[0];
	a[2] = ONE_OF(1, 4, 10, 0, (uint64_t)-1);
	a[3] = ONE_OF(0, 1);
	a[4] = below(2) ? 0 : a[4];
	a[5] = ONE_OF(8, 8, 4);
}

void tame_epoll_pwait2(uint64_t *a)
{
	uint64_t t[2] = { 0, below(2000) };

	tame_epoll_wait(a);
	a[3] = below(8) ? structure(t, sizeof t) : 1;
}

void tame_nanosleep(uint64_t *a)
{
	a[0] = a[0] ? a[0] : 1;
}

void tame_clock_nanosleep(uint64_t *a)
{
	a[0] = ONE_OF(0, 1, 7, 100, 77);
	a[1] = ONE_OF(0, 1, 0, 8);
}

/* A value that is not there, or no waiter. */
void tame_futex(uint64_t *a)
{
	a[0] = ONE_OF(structure(&(uint32_t){ 7 }, 4), any_memory());
	a[1] = ONE_OF(FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,
		      FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, 50, FUTEX_FD) |
	       ONE_OF(0, FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME);
	a[2] = ONE_OF(1, 2, 0x12345678);
	if ((a[1] & 127) == FUTEX_WAIT || (a[1] & 127) == FUTEX_WAIT_BITSET)
		a[3] = structure((uint64_t[]){ 0, below(2000) }, 16);
	else
		a[3] = below(4);
	a[4] = ONE_OF(any_memory(), structure(&(uint32_t){ 7 }, 4));
	a[5] = ONE_OF(0, 1, 0xffffffff, a[5]);
}

void tame_sigtimedwait(uint64_t *a)
{
	a[2] = structure((uint64_t[]){ 0, below(2000) }, 16);
	a[3] = ONE_OF(8, 8, 8, 4);
}
