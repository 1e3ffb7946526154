/* SPDX-License-Identifier: MIT */
/* trace/marks/marks.c - makes marks while a recording is read, and begins at one: see marks.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "trace/marks/internal.h"

enum { BYTES_LEAST = 1 << 20, BYTES_MOST = 64 << 20, PART = 32, NEAR_BYTES = 16 << 20 };

static uint64_t size_of(const struct trace *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		bytes += trace_stream(t, i)->size_bytes;
	return bytes;
}

int marks_open_every(struct marks *m, const struct marks_file *f, struct trace *t, struct names *n,
		     uint64_t every, struct diag *note)
{
	struct marks_made *made = calloc(1, sizeof *made);
	uint64_t part = size_of(t) / PART;
	const char *wrong;

	*m = (struct marks){ .left = every, .last_ns = INT64_MIN, .made = made };
	*note->text = 0;
	if (!made) {
		if (f->fd >= 0)
			close(f->fd);
		return -ENOMEM;
	}
	made->trace = t;
	made->names = n;
	made->file = *f;
	made->every = every;
	made->bytes_most = part < BYTES_LEAST ? BYTES_LEAST : part > BYTES_MOST ? BYTES_MOST : part;
	made->is_over = f->fd < 0 || !marks_identify(t, made->fingerprint);
	wrong = made->is_over ? NULL : marks_read_table(made);
	if (wrong)
		diag_fail(note, 0, "%.512s was not used: %s", f->path, wrong);
	m->left = made->is_over ? UINT64_MAX : made->every;
	return 0;
}

int marks_open(struct marks *m, const struct marks_file *f, struct trace *t, struct names *n,
	       struct diag *note)
{
	return marks_open_every(m, f, t, n, MARKS_EVERY, note);
}

void marks_forget(struct marks_made *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->at[i].bytes);
	m->n = 0;
	m->bytes = 0;
}

void marks_close(struct marks *m)
{
	struct marks_made *made = m->made;

	if (!made)
		return;
	if (made->has_new)
		marks_write(made);
	marks_forget(made);
	free(made->at);
	if (made->file.fd >= 0)
		close(made->file.fd);
	free(made);
	m->made = NULL;
}

/* ---------------------------------------------------------------- making */

void marks_thin(struct marks_made *m)
{
	while (m->bytes > m->bytes_most && m->n) {
		uint32_t n = 0;

		m->bytes = 0;
		for (uint32_t i = 0; i < m->n; i++)
			if (i % 2) {
				m->bytes += m->at[i].size;
				m->at[n++] = m->at[i];
			} else {
				free(m->at[i].bytes);
			}
		m->n = n;
		m->every *= 2;
	}
}

static bool has_room(struct marks_made *m)
{
	struct mark *bigger;

	if (m->n < m->n_rooms)
		return true;
	if (m->n >= MARKS_MOST)
		return false;
	bigger = reallocarray(m->at, m->n_rooms * 2 + 64, sizeof *bigger);
	if (!bigger)
		return false;
	m->at = bigger;
	m->n_rooms = m->n_rooms * 2 + 64;
	return true;
}

/* The places of all streams, then the names. */
static bool fill(const struct marks_made *m, struct mark *k)
{
	size_t n = trace_n_streams(m->trace) * sizeof(uint64_t);
	uint64_t *places = malloc(n + 1);
	struct text bytes = { 0 };
	bool is_sound = places && trace_places(m->trace, places);

	if (is_sound) {
		text_add(&bytes, (const char *)places, n);
		names_save(m->names, &bytes);
	}
	free(places);
	if (!is_sound || bytes.failed) {
		text_fini(&bytes);
		return false;
	}
	k->bytes = bytes.bytes;
	k->size = bytes.size;
	k->checksum = hash_bytes(bytes.bytes, bytes.size);
	return true;
}

void marks_make(struct marks *m, int64_t time_ns)
{
	struct marks_made *made = m->made;
	struct mark k = { .time_ns = time_ns };

	m->left = made ? 1 : UINT64_MAX;
	if (!made || time_ns <= m->last_ns)
		return; /* all items of one time are on one side of a mark */
	if (made->n && time_ns <= made->at[made->n - 1].time_ns) {
		m->left = made->every; /* it is in the file */
		return;
	}
	if (!has_room(made) || !fill(made, &k)) {
		m->left = UINT64_MAX;
		return;
	}
	made->at[made->n++] = k;
	made->bytes += k.size;
	made->has_new = true;
	marks_thin(made);
	m->left = made->every;
	assert(m->left);
}

/* ---------------------------------------------------------------- going */

/* The last mark at @time_ns or before. */
static const struct mark *find(const struct marks_made *m, int64_t time_ns)
{
	uint32_t low = 0, high = m->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->at[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &m->at[low - 1] : NULL;
}

/* Nothing has changed if it returns false without -ENOMEM. */
static int go_to(struct marks_made *m, const struct mark *k, const char *bytes)
{
	size_t n = trace_n_streams(m->trace) * sizeof(uint64_t);
	uint64_t *places = malloc(n + 1);
	int err = places ? -EINVAL : -ENOMEM;

	if (places && k->size >= n) {
		memcpy(places, bytes, n);
		err = names_load(m->names, bytes + n, k->size - n);
		if (!err && !trace_resume(m->trace, k->time_ns, places))
			err = names_forget(m->names) ? -ENOMEM : -EINVAL;
	}
	free(places);
	return err;
}

/* The mark for @time_ns, and its bytes.  If another reader has written the file meanwhile, its table counts. */
static const struct mark *read_mark(struct marks_made *m, int64_t time_ns, char **bytes)
{
	enum { TRIES = 4 };
	bool has_changed = false;

	for (int i = 0; i < TRIES; i++) {
		const struct mark *k = find(m, time_ns);

		*bytes = k ? marks_read_mark(m, k, &has_changed) : NULL;
		if (!k || !has_changed)
			return k;
		marks_forget(m);
		if (marks_read_table(m))
			m->is_over = true; /* the recording has changed, too */
		if (m->is_over)
			break;
	}
	marks_forget(m);
	m->is_over = true;
	return NULL;
}

/* Bytes of all streams behind the places at the begin of a mark. */
static uint64_t bytes_behind(const struct trace *t, const char *places)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		uint64_t place, size = trace_stream(t, i)->size_bytes;

		memcpy(&place, places + i * sizeof place, sizeof place);
		bytes += place < size ? size - place : 0;
	}
	return bytes;
}

bool marks_are_near(const struct marks *m, int64_t time_ns)
{
	const struct marks_made *made = m->made;
	const struct mark *k = made->is_over ? NULL : find(made, time_ns);
	bool has_changed, are = false;
	char *bytes;

	if (!k || k + 1 < made->at + made->n)
		return k; /* the next one is behind @time_ns */
	bytes = marks_read_mark(made, k, &has_changed);
	if (bytes && k->size >= trace_n_streams(made->trace) * sizeof(uint64_t))
		are = bytes_behind(made->trace, bytes) <= NEAR_BYTES;
	free(bytes);
	return are;
}

void marks_pause(struct marks *m)
{
	m->left = UINT64_MAX;
}

void marks_begin_anew(struct marks *m)
{
	m->left = m->made->is_over ? UINT64_MAX : m->made->every;
	m->last_ns = INT64_MIN;
}

int marks_go(struct marks *m, int64_t time_ns, struct diag *note, struct diag *d)
{
	char *bytes = NULL;
	const struct mark *k = m->made->is_over ? NULL : read_mark(m->made, time_ns, &bytes);
	int err = bytes ? go_to(m->made, k, bytes) : -EINVAL;

	*note->text = 0;
	free(bytes);
	m->left = m->made->is_over ? UINT64_MAX : m->made->every;
	if (!k)
		return 0;
	if (err == -ENOMEM)
		return diag_fail(d, err, "no memory for names of threads");
	if (err) {
		diag_fail(note, 0, "%.512s was not used: a mark is damaged", m->made->file.path);
		marks_forget(m->made);
	}
	return 0;
}
