/* SPDX-License-Identifier: MIT */
/* collect/seats.c - see seats.h. */
#include "collect/seats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/tenant.h"

/* What lies there may be anything, a FIFO that nobody writes to among them. */
static int open_seats(int dir, int flags)
{
	struct rights before = owner_begin(dir);
	int fd = openat(dir, "seats", flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	owner_end(before);
	return fd;
}

static bool read_seats(int fd, struct abi_seats *s)
{
	if (pread(fd, s, sizeof *s, 0) != (ssize_t)sizeof *s || s->magic != ABI_SEATS_MAGIC ||
	    s->version != ABI_SEATS_VERSION) {
		memset(s, 0, sizeof *s);
		return false;
	}
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		s->at[i].session[ABI_NAME_BYTES - 1] = 0;
	return true;
}

void seats_read(int dir, struct abi_seats *s)
{
	int fd = open_seats(dir, O_RDONLY);

	memset(s, 0, sizeof *s);
	if (fd < 0)
		return;
	read_seats(fd, s);
	close(fd);
}

static off_t offset_of(uint32_t seat)
{
	return (off_t)(offsetof(struct abi_seats, at) + seat * sizeof(struct abi_seat));
}

static int write_at(int fd, off_t at, const void *bytes, size_t n)
{
	ssize_t done = pwrite(fd, bytes, n, at);

	return done == (ssize_t)n ? 0 : done < 0 ? -errno : -ENOSPC;
}

/* The generation follows the last one's, so that what that one left behind is not taken for ours. */
static int draw_epoch(uint64_t last, uint64_t *epoch)
{
	uint32_t any;

	do
		if (getrandom(&any, sizeof any, 0) != sizeof any)
			return -EIO;
	while (!any);
	*epoch = (uint64_t)any << 8 | (ABI_GENERATION(last) % UINT8_MAX + 1u);
	return 0;
}

static int take(int fd, struct abi_session *f, const struct abi_seats *s)
{
	char name[ABI_NAME_BYTES] = { 0 };
	uint32_t i = 0;
	int err;

	while (i < ABI_SESSIONS && !ABI_EPOCH_IS_NONE(s->at[i].epoch))
		i++;
	if (i == ABI_SESSIONS)
		return -EBUSY;
	snprintf(name, sizeof name, "%s", f->name);
	err = draw_epoch(s->at[i].epoch, &f->epoch);
	/* The name first: whoever finds an epoch finds the name that belongs to it. */
	if (!err)
		err = write_at(fd, offset_of(i) + (off_t)offsetof(struct abi_seat, session), name, sizeof name);
	if (!err)
		err = write_at(fd, offset_of(i), &f->epoch, sizeof f->epoch);
	f->seat = i;
	return err;
}

/* A file that is new, or in place of what was none.  The descriptor, or -errno. */
static int make_seats(int dir, struct abi_seats *s)
{
	int fd, err;

	s->magic = ABI_SEATS_MAGIC;
	s->version = ABI_SEATS_VERSION;
	unlinkat(dir, "seats", 0);
	fd = open_seats(dir, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0600); /* a strange umask */
	err = write_at(fd, 0, s, sizeof *s);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int seats_take(int dir, struct abi_session *f, struct diag *d)
{
	int fd = open_seats(dir, O_RDWR), err;
	struct abi_seats s = { 0 };

	if (fd < 0 || !read_seats(fd, &s)) {
		if (fd >= 0)
			close(fd);
		fd = make_seats(dir, &s);
	}
	err = fd < 0 ? fd : take(fd, f, &s);
	if (fd >= 0)
		close(fd);
	if (err == -EBUSY)
		return diag_fail(d, err, "%d sessions record already (duet status); end one of them first",
				 ABI_SESSIONS);
	return err ? diag_fail(d, err, "cannot write the file of sessions, seats: %s", strerror(-err)) : 0;
}

void seats_leave(int dir, uint32_t seat, uint64_t epoch)
{
	int fd = seat < ABI_SESSIONS ? open_seats(dir, O_RDWR) : -1;
	uint64_t none = ABI_GENERATION(epoch);
	struct abi_seats s;

	if (fd < 0)
		return;
	if (read_seats(fd, &s) && s.at[seat].epoch == epoch)
		write_at(fd, offset_of(seat), &none, sizeof none);
	close(fd);
}
