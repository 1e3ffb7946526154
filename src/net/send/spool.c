/* SPDX-License-Identifier: MIT */
/* net/send/spool.c - the rounds of a spool: targets, the order of sending, acknowledgements. */
#include "net/send/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/write/public.h"
#include "net/send/scheduler.h"

enum {
	CLOCK_PHASE = 3, /* states how far the files of the phases before are complete */
	FINISHED_PHASE,
	PHASES,
	PAGE = 4096, /* the unit of holes */
};

void spool_begin_connection(struct spool *s)
{
	spool_forget(s);
	s->n_announced = s->n_known = 0;
	s->phase = PHASES;
	for (uint32_t i = 0; i < s->n; i++) {
		s->files[i].is_known = false;
		s->files[i].target = 0;
	}
}

/* ---------------------------------------------------------------- rounds */

int spool_open_number(struct spool *s, uint32_t number)
{
	assert(number < s->n);
	if (s->fd >= 0 && s->fd_number == number)
		return 0;
	if (s->fd >= 0)
		close(s->fd);
	/* Opened for writing as well, to punch holes. */
	s->fd = spool_open_below(s, s->files[number].name, s->frees ? O_RDWR : O_RDONLY);
	s->fd_number = number;
	return s->fd < 0 ? s->fd : 0;
}

static uint64_t size_now(struct spool *s, uint32_t number)
{
	struct stat st;

	return fstatat(s->dir, s->files[number].name, &st, AT_SYMLINK_NOFOLLOW) ||
			       !S_ISREG(st.st_mode)
		       ? 0
		       : (uint64_t)st.st_size;
}

static bool is_due(const struct spool_file *f)
{
	return f->sent < f->target;
}

/* Sends the bytes that no index names, for example a cut packet at the end, after everything else. */
static void target_all(struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (is_due(&s->files[i]))
			return;
	for (uint32_t i = 0; i < s->n; i++)
		s->files[i].target = s->files[i].size;
}

/* The order of writing by the recorder, and of sending. */
static const enum spool_kind order[PHASES] = { SPOOL_OTHER, SPOOL_STREAM, SPOOL_INDEX, SPOOL_CLOCK,
					       SPOOL_FINISHED };

/* Reads sizes in the reverse order: the earlier files then contain everything that the later ones
 * refer to.  Covers the phases from @first up to @end. */
static void note_sizes(struct spool *s, int first, int end)
{
	for (int k = end; k-- > first;)
		for (uint32_t i = 0; i < s->n; i++)
			if (s->files[i].kind == order[k])
				s->files[i].size = size_now(s, i);
}

/* Metadata is written in blocks.  If its writer is killed, its successor cuts it to whole blocks.
 */
static void target_other(struct spool *s, uint32_t number)
{
	struct spool_file *f = &s->files[number];

	if (s->is_final || !spool_is_metadata(f->name))
		f->target = f->size;
	else if (f->size > f->target && !spool_open_number(s, number))
		f->target = ctf_recover_metadata(s->fd, f->size);
}

static bool has_arrived(const struct spool_file *f)
{
	return f->is_known && f->acknowledged >= f->size;
}

/* Whether the rest of the trace chunk that the file @number finishes has arrived. */
static bool rest_has_arrived(const struct spool *s, uint32_t number)
{
	uint32_t trace_chunk = spool_trace_chunk_of(s->files[number].name);

	for (uint32_t i = 0; i < s->n; i++)
		if (i != number && spool_trace_chunk_of(s->files[i].name) == trace_chunk &&
		    !has_arrived(&s->files[i]))
			return false;
	return true;
}

/* Files up to @n existed before this round's scan: so the scan found everything of a trace chunk
 * that one of them finishes. */
static void target_finished(struct spool *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->files[i].kind == SPOOL_FINISHED && s->files[i].target < s->files[i].size &&
		    rest_has_arrived(s, i))
			s->files[i].target = s->files[i].size;
}

/* The bytes of a file that count in the quota. */
static uint64_t quota_bytes_of(const struct spool *s, const struct spool_file *f)
{
	if (f->kind != SPOOL_STREAM || spool_is_snapshot(f->name))
		return 0;
	if (s->frees && s->cannot_free)
		return f->size;
	return f->size > f->acknowledged ? f->size - f->acknowledged : 0;
}

static void correct_quota(struct spool *s, uint32_t n_begun)
{
	uint64_t held = 0;

	for (uint32_t i = 0; i < s->n; i++)
		held += quota_bytes_of(s, &s->files[i]);
	quota_correct(s->quota, n_begun, held);
}

int spool_round(struct spool *s, struct diag *d)
{
	uint32_t n_due = 0, n_before = s->n, n_begun;
	bool is_still;
	int err;

	n_begun = quota_observe(s->quota, &is_still);
	/* Clocks refer to all files, so their sizes are read before new files are searched for; a
	 * new clock waits for the next round. */
	note_sizes(s, CLOCK_PHASE, FINISHED_PHASE);
	err = spool_scan(s);
	if (err)
		return diag_fail(d, err, "%s: %s", s->path,
				 err == -EMFILE ? "more files than a relay takes" : strerror(-err));
	note_sizes(s, FINISHED_PHASE,
		   PHASES); /* written at once: without this file no trace chunk has arrived */
	note_sizes(s, 0, CLOCK_PHASE);
	if (is_still && s->n_known == s->n)
		correct_quota(s, n_begun);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->files[i].kind == SPOOL_OTHER)
			target_other(s, i);
	spool_schedule(s);
	target_finished(s, n_before);
	if (s->is_final && s->n_known == s->n)
		target_all(s);
	for (uint32_t i = 0; i < s->n; i++)
		n_due += is_due(&s->files[i]);
	s->phase = 0;
	s->cursor = 0;
	return n_due > 0;
}

bool spool_next(struct spool *s, struct message *m)
{
	if (s->n_known < s->n)
		return false;
	for (; s->phase < PHASES; s->phase++, s->cursor = 0)
		for (; s->cursor < s->n; s->cursor++) {
			const struct spool_file *f = &s->files[s->cursor];
			uint64_t left =
				f->is_known && f->sent < f->target ? f->target - f->sent : 0;

			if (f->kind != order[s->phase] || !left)
				continue;
			*m = (struct message){ .type = MESSAGE_DATA };
			m->data.number = s->cursor;
			m->data.offset = f->sent;
			m->data.n = left < MESSAGE_PAYLOAD ? (uint32_t)left : MESSAGE_PAYLOAD;
			return true;
		}
	return false;
}

int spool_read(struct spool *s, const struct message *m, uint8_t *to, struct diag *d)
{
	struct spool_file *f = &s->files[m->data.number];
	int err = spool_open_number(s, m->data.number);
	ssize_t n;

	assert(m->data.number < s->n && m->data.offset == f->sent);
	assert(m->data.n && m->data.n <= f->target - f->sent);
	/* A hole means that the bytes were given back: the relay had them once. */
	if (!err && f->kind == SPOOL_STREAM &&
	    (m->data.offset < f->freed ||
	     lseek(s->fd, (off_t)m->data.offset, SEEK_DATA) > (off_t)m->data.offset))
		return diag_fail(d, -ENODATA,
				 "%s/%s: the relay has %llu bytes; it had more, which are no "
				 "longer here: they are lost",
				 s->path, f->name, (unsigned long long)m->data.offset);
	n = err ? err : pread(s->fd, to, m->data.n, (off_t)m->data.offset);
	if (n != (ssize_t)m->data.n)
		return diag_fail(d, n < 0 && !err ? -errno : -EIO, "cannot read %s/%s", s->path,
				 f->name);
	f->sent += m->data.n;
	if (f->ever_sent < f->sent)
		f->ever_sent = f->sent;
	return 0;
}

/* ---------------------------------------------------------------- acknowledged */

static void give_back(struct spool *s, uint32_t number)
{
	struct spool_file *f = &s->files[number];
	uint64_t until = f->acknowledged < f->last[0] ? f->acknowledged : f->last[0];

	if (f->kind != SPOOL_STREAM || spool_is_snapshot(f->name))
		return;
	until -= until % PAGE;
	if (s->frees && !s->cannot_free && until > f->freed && !spool_open_number(s, number)) {
		if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)f->freed,
			      (off_t)(until - f->freed)))
			s->cannot_free = errno == EOPNOTSUPP || errno == ENOSYS;
		else
			f->freed = until;
	}
	if (s->frees && s->cannot_free)
		return; /* it still occupies the disk */
	if (f->acknowledged > f->returned) {
		quota_give_back(s->quota, f->acknowledged - f->returned);
		f->returned = f->acknowledged;
	}
}

int spool_size(struct spool *s, uint32_t number, uint64_t size, struct diag *d)
{
	struct spool_file *f;

	if (number >= s->n_announced)
		return diag_fail(d, -EPROTO, "the relay names a file that was not announced");
	f = &s->files[number];
	if (size == MESSAGE_UNWANTED && !f->is_known && spool_trace_chunk_of(f->name)) {
		size = size_now(s, number);
		s->n_unwanted += s->is_fresh && f->ever_sent < size;
	} else if (s->is_fresh && size > f->ever_sent) {
		return diag_fail(d, -EPROTO,
				 "%s/%s: the relay acknowledges bytes that were not sent", s->path,
				 f->name);
	}
	if (size > (f->is_known ? f->sent : size_now(s, number)))
		return diag_fail(d, -EPROTO, "%s/%s: the relay has more bytes than the file",
				 s->path, f->name);
	if (f->is_known && size < f->acknowledged)
		return diag_fail(d, -EPROTO, "%s/%s: the relay reports fewer bytes than before",
				 s->path, f->name);
	if (!f->is_known) {
		f->sent = size;
		s->n_known++;
	}
	if (!f->was_known)
		f->returned = size; /* perhaps by the sender before: correct_quota() corrects it */
	f->was_known = f->is_known = true;
	f->acknowledged = size;
	assert(f->acknowledged <= f->sent && s->n_known <= s->n_announced);
	give_back(s, number);
	return 0;
}

uint64_t spool_progress(const struct spool *s)
{
	uint64_t progress = s->forgotten_bytes;

	for (uint32_t i = 0; i < s->n; i++)
		progress += s->files[i].acknowledged + s->files[i].was_known;
	return progress;
}

bool spool_all_acknowledged(const struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!has_arrived(&s->files[i]))
			return false;
	return s->n > 0;
}

uint32_t spool_trace_chunks(struct spool *s)
{
	uint32_t finished = 0, missing = UINT32_MAX, n;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct spool_file *f = &s->files[i];

		n = spool_trace_chunk_of(f->name);
		if (!n)
			continue;
		if (!has_arrived(f) && n < missing)
			missing = n;
		if (f->kind == SPOOL_FINISHED && n > finished)
			finished = n;
	}
	finished = finished < missing ? finished : missing - 1;
	if (finished > s->n_arrived)
		s->n_arrived = finished;
	return s->n_arrived;
}

uint64_t spool_bytes(const struct spool *s, bool acknowledged)
{
	uint64_t bytes = s->forgotten_bytes;

	for (uint32_t i = 0; i < s->n; i++)
		bytes += acknowledged ? s->files[i].acknowledged : s->files[i].size;
	return bytes;
}
