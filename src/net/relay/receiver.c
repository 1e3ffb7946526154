/* SPDX-License-Identifier: MIT */
/* net/relay/receiver.c - the state machine of one sender: hello, files, data, times, end. */
#include "net/relay/receiver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/compress.h"

enum { RETRIES_A_REPORT = 20 }; /* so that the peer knows that we still wait */
enum { FIRST_TIMES = 16, TIME_PERIOD_NS = 500000000 }; /* limits for clock-relay */

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int receiver_init(struct receiver *r, int output, uint64_t most_bytes)
{
	*r = (struct receiver){ .output = output,
				.most_bytes = most_bytes,
				.store = { .dir = -1, .fd = -1 } };
	r->in = malloc(MESSAGE_FIRST_MAX);
	r->in_capacity = r->in ? MESSAGE_FIRST_MAX : 0;
	return r->in ? 0 : -ENOMEM;
}

void receiver_fini(struct receiver *r)
{
	store_close(&r->store);
	free(r->in);
	r->in = NULL;
}

/* Whether any answer fits, together with the acknowledgement that is due. */
static bool can_answer(const struct receiver *r)
{
	return r->n_out + 2 * MESSAGE_FIRST_MAX <= sizeof r->out;
}

uint8_t *receiver_room(struct receiver *r, size_t *n)
{
	*n = r->is_over || r->is_stalled || !can_answer(r) ? 0 : r->in_capacity - r->n_in;
	return r->in + r->n_in;
}

static void answer(struct receiver *r, const struct message *m)
{
	assert(r->n_out + MESSAGE_FIRST_MAX <= sizeof r->out);
	r->n_out += (uint32_t)message_write(m, r->out + r->n_out);
}

void receiver_refuse(struct receiver *r, const char *why)
{
	struct message m = { .type = MESSAGE_REFUSED };

	snprintf(m.text, sizeof m.text, "%.*s", MESSAGE_NAME, why);
	snprintf(r->why, sizeof r->why, "%s", m.text);
	answer(r, &m);
	r->is_over = true;
	r->n_in = 0;
}

static void acknowledge(struct receiver *r)
{
	struct message m = { .type = MESSAGE_SIZE };

	if (!r->to_acknowledge)
		return;
	m.size.number = r->to_acknowledge - 1;
	assert(m.size.number < r->store.n_files);
	m.size.size = r->store.files[m.size.number].size;
	r->to_acknowledge = 0;
	answer(r, &m);
}

/* The newest version that both support.  Without libzstd this is version 1, which has no
 * compression. */
static uint32_t version_with(uint32_t theirs)
{
	uint32_t ours = net_compress_is_supported() ? MESSAGE_VERSION : 1;

	return theirs < ours ? theirs : ours;
}

static void set_stalled(struct receiver *r, bool is_stalled, const char *why)
{
	struct message m = { .type = MESSAGE_TROUBLE };

	if (r->is_stalled == is_stalled)
		return;
	r->is_stalled = is_stalled;
	r->n_retries = 0;
	snprintf(m.text, sizeof m.text, "%.*s", MESSAGE_NAME, why);
	snprintf(r->why, sizeof r->why, "%s", m.text);
	answer(r, &m);
}

/* Whether @err only means that there is no room now.  Then the message stays, and is tried again. */
static bool waits_for_room(struct receiver *r, int err, const struct diag *d)
{
	if (err != -ENOSPC && err != -EDQUOT)
		return false;
	set_stalled(r, true, d->text);
	return true;
}

/*
 * Without room for the recording's directory: a sender that does not expect a report before
 * MESSAGE_WELCOME is left without an answer, and comes again.  A refusal would end it.
 */
static bool hello_waits(struct receiver *r, const struct message *m, int err, const struct diag *d)
{
	if (m->hello.version >= MESSAGE_VERSION_EARLY_TROUBLE)
		return waits_for_room(r, err, d);
	if (err != -ENOSPC && err != -EDQUOT)
		return false;
	snprintf(r->why, sizeof r->why, "%.*s", MESSAGE_NAME, d->text);
	r->is_over = true;
	r->n_in = 0;
	return true;
}

/* Whether the message is done with. */
static bool on_hello(struct receiver *r, const struct message *m, enum receiver_event *e)
{
	struct message w = { .type = MESSAGE_WELCOME };
	struct diag d = { "" };
	uint8_t *bigger;
	int err = store_open(&r->store, r->output, m, r->most_bytes, r->is_follower, &d);

	if (err) {
		store_close(&r->store);
		if (hello_waits(r, m, err, &d))
			return r->is_over;
		receiver_refuse(r, d.text);
		return true;
	}
	bigger = realloc(r->in, MESSAGE_MAX);
	if (!bigger) {
		receiver_refuse(r, "no memory");
		return true;
	}
	set_stalled(r, false, "");
	r->in = bigger;
	r->in_capacity = MESSAGE_MAX;
	w.welcome.version = r->version = version_with(m->hello.version);
	strcpy(w.welcome.path, r->store.path);
	answer(r, &w);
	*e = RECEIVER_WELCOME;
	return true;
}

/* Whether the message is done with. */
static bool on_file(struct receiver *r, const struct message *m)
{
	struct diag d = { "" };
	int err = 0;

	if (m->file.number != r->store.n_files)
		receiver_refuse(r, "a file number out of order");
	else if ((err = store_add(&r->store, m->file.name, &d)) && waits_for_room(r, err, &d))
		return false;
	else if (err)
		receiver_refuse(r, d.text);
	else if (r->store.files[m->file.number].size == MESSAGE_UNWANTED && r->version < 2)
		receiver_refuse(r, "a trace chunk was received before and removed here: the "
				   "sender needs a newer duet to skip it");
	if (r->is_over)
		return true;
	set_stalled(r, false, "");
	acknowledge(r);
	r->to_acknowledge = m->file.number + 1;
	return true;
}

/* Whether the message is done with. */
static bool on_data(struct receiver *r, const struct message *m)
{
	/* decompressed again if the disk fills up in its middle, so that no client needs this
	 * buffer between turns */
	uint8_t plain[MESSAGE_PAYLOAD];
	const uint8_t *bytes = m->data.plain ? plain : m->data.bytes;
	uint32_t size = m->data.plain ? m->data.plain : m->data.n;
	struct diag d = { "" };
	long n;

	if (m->data.plain && !net_decompress(plain, size, m->data.bytes, m->data.n)) {
		receiver_refuse(r, "damaged compressed bytes");
		return true;
	}
	n = store_append(&r->store, m->data.number, m->data.offset + r->written, bytes + r->written,
			 size - r->written, &d);
	if (n < 0) {
		receiver_refuse(r, d.text);
		return true;
	}
	if (r->to_acknowledge != m->data.number + 1)
		acknowledge(r);
	r->to_acknowledge = m->data.number + 1;
	r->written += (uint32_t)n;
	assert(r->written <= size);
	if (r->written < size) {
		set_stalled(r, true, d.text);
		return false;
	}
	r->written = 0;
	set_stalled(r, false, "");
	return true;
}

static bool is_worth_noting(struct receiver *r, const struct message *m)
{
	for (int k = 0; k < 4; k++)
		if (!m->time.t[k] || m->time.t[k] > INT64_MAX)
			return false;
	if (r->n_times < FIRST_TIMES)
		r->n_times++;
	else if (r->received_ns - r->time_written_ns < TIME_PERIOD_NS)
		return false;
	r->time_written_ns = r->received_ns;
	return true;
}

/* A failed write of a time does not damage the recording: the next one may succeed. */
static void on_time(struct receiver *r, const struct message *m)
{
	struct message a = { .type = MESSAGE_TIMED, .timed = { m->time.now, r->received_ns } };

	if (!r->is_follower && is_worth_noting(r, m))
		(void)store_time(&r->store, m->time.t);
	a.timed[2] = wall_ns();
	answer(r, &a);
}

/* Whether the message is done with. */
static bool on_end(struct receiver *r)
{
	struct message m = { .type = MESSAGE_ENDED };
	struct diag d = { "" };
	int err;

	acknowledge(r);
	err = store_end(&r->store, &d);
	if (err && waits_for_room(r, err, &d))
		return false;
	if (err) {
		receiver_refuse(r, d.text);
		return true;
	}
	set_stalled(r, false, "");
	answer(r, &m);
	r->is_over = true;
	return true;
}

/* Messages before HELLO between a relay and a follower: see docs/formats/relay.md. */
static enum receiver_event on_follow_message(struct receiver *r, const struct message *m)
{
	if (m->type == MESSAGE_HELLO || r->is_follower != (m->type != MESSAGE_WATCH))
		return RECEIVER_NOTHING;
	r->message = *m;
	switch (m->type) {
	case MESSAGE_WATCH:
		return RECEIVER_FOLLOWER;
	case MESSAGE_LISTED:
		return RECEIVER_LISTED;
	case MESSAGE_END:
	case MESSAGE_REFUSED:
		r->is_over = true;
		return m->type == MESSAGE_END ? RECEIVER_NO_MORE : RECEIVER_REFUSED;
	default:
		return RECEIVER_NOTHING;
	}
}

/* Whether the message is done with. */
static bool handle(struct receiver *r, const struct message *m, enum receiver_event *e)
{
	bool is_first = r->store.dir < 0;

	if (is_first && (*e = on_follow_message(r, m)))
		return true;
	if (is_first != (m->type == MESSAGE_HELLO)) {
		receiver_refuse(r, is_first ? "a hello is expected first" : "a second hello");
		return true;
	}
	switch (m->type) {
	case MESSAGE_HELLO:
		return on_hello(r, m, e);
	case MESSAGE_FILE:
		return on_file(r, m);
	case MESSAGE_DATA:
		return on_data(r, m);
	case MESSAGE_TIME:
		on_time(r, m);
		return true;
	case MESSAGE_END:
		return on_end(r);
	default:
		receiver_refuse(r, "not a message for a relay");
		return true;
	}
}

static enum receiver_event process(struct receiver *r)
{
	enum receiver_event e = RECEIVER_NOTHING;
	uint32_t at = 0;

	while (!r->is_over && !e && can_answer(r)) {
		struct message m;
		long n = message_read(&m, r->in + at, r->n_in - at,
				      r->store.dir < 0 ? MESSAGE_FIRST_MAX : MESSAGE_MAX);

		if (n < 0)
			receiver_refuse(r, "not the protocol of a duet relay");
		if (n <= 0 || !handle(r, &m, &e))
			break;
		at += (uint32_t)n;
	}
	if (r->n_in) {
		memmove(r->in, r->in + at, r->n_in - at);
		r->n_in -= at;
	}
	if (!r->is_over)
		acknowledge(r);
	return e;
}

enum receiver_event receiver_process(struct receiver *r, size_t n)
{
	assert(n <= r->in_capacity - r->n_in); /* receiver_room() */
	if (n)
		r->received_ns = wall_ns();
	r->n_in += (uint32_t)n;
	return r->is_stalled ? RECEIVER_NOTHING : process(r);
}

void receiver_sent(struct receiver *r, size_t n)
{
	assert(n <= r->n_out);
	memmove(r->out, r->out + n, r->n_out - n);
	r->n_out -= (uint32_t)n;
}

void receiver_trouble(struct receiver *r, const char *why)
{
	struct message m = { .type = MESSAGE_TROUBLE };

	snprintf(m.text, sizeof m.text, "%s", why);
	if (can_answer(r))
		answer(r, &m);
}

enum receiver_event receiver_retry(struct receiver *r)
{
	enum receiver_event e = RECEIVER_NOTHING;

	if (r->is_stalled && can_answer(r))
		e = process(r);
	if (r->is_stalled && ++r->n_retries % RETRIES_A_REPORT == 0)
		receiver_trouble(r, r->why);
	return e;
}
