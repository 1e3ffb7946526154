/* SPDX-License-Identifier: MIT */
/* collect/session/slots.c - read, take, release and repair session slots in the file `seats`. */
#include "collect/session/slots.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/session/session.h"
#include "collect/session/tenant.h"

/* The file may be anything, including a FIFO without a writer. */
static int open_session_slots(int dir, int flags)
{
	struct rights before = owner_begin(dir);
	int fd = openat(dir, "seats", flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	owner_end(before);
	return fd;
}

static bool read_session_slots(int fd, struct abi_session_slots *s)
{
	if (pread(fd, s, sizeof *s, 0) != (ssize_t)sizeof *s ||
	    s->magic != ABI_SESSION_SLOTS_MAGIC || s->version != ABI_SESSION_SLOTS_VERSION) {
		memset(s, 0, sizeof *s);
		return false;
	}
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		s->at[i].session[ABI_NAME_BYTES - 1] = 0;
	return true;
}

void session_slots_read(int dir, struct abi_session_slots *s)
{
	int fd = open_session_slots(dir, O_RDONLY);

	memset(s, 0, sizeof *s);
	if (fd < 0)
		return;
	read_session_slots(fd, s);
	close(fd);
}

static off_t offset_of(uint32_t session_slot)
{
	assert(session_slot < ABI_SESSIONS);
	return (off_t)(offsetof(struct abi_session_slots, at) +
		       session_slot * sizeof(struct abi_session_slot));
}

static int write_at(int fd, off_t at, const void *bytes, size_t n)
{
	ssize_t done = pwrite(fd, bytes, n, at);

	return done == (ssize_t)n ? 0 : done < 0 ? -errno : -ENOSPC;
}

/*
 * Advances the generation, so that events enabled by the slot's previous session do not count as
 * ours.
 */
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

/* Writes the name first: a reader that finds an epoch finds its name, too. */
static int write_line(int fd, uint32_t session_slot, const char *session, uint64_t epoch)
{
	char name[ABI_NAME_BYTES] = { 0 };
	int err;

	snprintf(name, sizeof name, "%s", session);
	err = write_at(fd,
		       offset_of(session_slot) + (off_t)offsetof(struct abi_session_slot, session),
		       name, sizeof name);
	return err ? err : write_at(fd, offset_of(session_slot), &epoch, sizeof epoch);
}

static int take_free_slot(int fd, struct abi_session *f, const struct abi_session_slots *s)
{
	uint32_t i = 0;
	int err;

	while (i < ABI_SESSIONS && !ABI_EPOCH_IS_NONE(s->at[i].epoch))
		i++;
	if (i == ABI_SESSIONS)
		return -EBUSY;
	err = draw_epoch(s->at[i].epoch, &f->epoch);
	if (!err)
		err = write_line(fd, i, f->name, f->epoch);
	f->session_slot = i;
	return err;
}

/* Restores the slots of live sessions when the file was lost. */
static void find_live_sessions(int dir, struct abi_session_slots *s)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct abi_session f;
	struct dirent *e;

	if (!list && fd >= 0)
		close(fd);
	while (list && (e = readdir(list))) {
		/*
		 * For a tenant's session, the file in our directory names a slot in the tenant's
		 * directory: skip it.
		 */
		if (strncmp(e->d_name, "session-", 8) || strchr(e->d_name, '@') ||
		    session_find(dir, e->d_name + 8, &f, NULL) || !session_is_live(dir, f.name))
			continue;
		s->at[f.session_slot].epoch = f.epoch;
		memcpy(s->at[f.session_slot].session, f.name, sizeof f.name);
	}
	if (list)
		closedir(list);
}

/* Creates the file, or replaces an invalid one.  Returns a descriptor, or -errno. */
static int make_session_slots(int dir, struct abi_session_slots *s)
{
	int fd, err;

	*s = (struct abi_session_slots){ .magic = ABI_SESSION_SLOTS_MAGIC,
					 .version = ABI_SESSION_SLOTS_VERSION };
	find_live_sessions(dir, s);
	unlinkat(dir, "seats", 0);
	fd = open_session_slots(dir, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0600); /* independent of the umask */
	err = write_at(fd, 0, s, sizeof *s);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int session_slots_take(int dir, struct abi_session *f, struct diag *d)
{
	int fd = open_session_slots(dir, O_RDWR), err;
	struct abi_session_slots s = { 0 };

	if (fd < 0 || !read_session_slots(fd, &s)) {
		if (fd >= 0)
			close(fd);
		fd = make_session_slots(dir, &s);
	}
	err = fd < 0 ? fd : take_free_slot(fd, f, &s);
	if (fd >= 0)
		close(fd);
	if (err == -EBUSY)
		return diag_fail(d, err,
				 "%d sessions record already (duet status); end one of them first",
				 ABI_SESSIONS);
	return err ? diag_fail(d, err, "cannot write seats, the file of session slots: %s",
			       strerror(-err))
		   : 0;
}

static bool is_announced(const struct abi_session_slots *s, const struct abi_session *f)
{
	return s->at[f->session_slot].epoch == f->epoch;
}

/* The directory is locked. */
static int repair(int dir, const struct abi_session *f)
{
	int fd = open_session_slots(dir, O_RDWR), err = 0;
	struct abi_session_slots s;

	if (fd < 0 || !read_session_slots(fd, &s)) {
		if (fd >= 0)
			close(fd);
		fd = make_session_slots(dir, &s);
	}
	if (fd < 0)
		return fd;
	if (is_announced(&s, f))
		err = 0;
	else if (!ABI_EPOCH_IS_NONE(s.at[f->session_slot].epoch))
		err = -EBUSY;
	else
		err = write_line(fd, f->session_slot, f->name, f->epoch);
	close(fd);
	return err;
}

static int repair_locked(int dir, const struct abi_session *f)
{
	int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (lock < 0)
		return -errno;
	err = flock(lock, LOCK_EX | LOCK_NB) ? -EAGAIN : repair(dir, f);
	close(lock);
	return err;
}

int session_slots_repair(int dir, const struct abi_session *f, uint64_t *file)
{
	uint64_t before = *file;
	struct abi_session_slots s;
	struct stat st;
	int err = 0;

	if (f->session_slot >= ABI_SESSIONS)
		return -EINVAL;
	session_slots_read(dir, &s);
	if (!is_announced(&s, f))
		err = repair_locked(dir, f);
	if (err || fstatat(dir, "seats", &st, AT_SYMLINK_NOFOLLOW))
		return err;
	*file = st.st_ino;
	return before && before != *file;
}

void session_slots_leave(int dir, uint32_t session_slot, uint64_t epoch)
{
	int fd = session_slot < ABI_SESSIONS ? open_session_slots(dir, O_RDWR) : -1;
	uint64_t none = ABI_GENERATION(epoch);
	struct abi_session_slots s;

	if (fd < 0)
		return;
	if (read_session_slots(fd, &s) && s.at[session_slot].epoch == epoch)
		write_at(fd, offset_of(session_slot), &none, sizeof none);
	close(fd);
}
