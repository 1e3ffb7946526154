/* SPDX-License-Identifier: MIT */
/* net/relay/receiver.c - see receiver.h. */
#include "net/relay/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/compress.h"

enum { TIMES_AT_ONCE = 16, TIME_PERIOD_NS = 500000000 }; /* what goes into clock-relay */

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int receiver_init(struct receiver *i, int output, uint64_t most_bytes)
{
	*i = (struct receiver){ .output = output,
				.most_bytes = most_bytes,
				.store = { .dir = -1, .fd = -1 } };
	i->in = malloc(MESSAGE_FIRST_MAX);
	i->in_capacity = i->in ? MESSAGE_FIRST_MAX : 0;
	return i->in ? 0 : -ENOMEM;
}

void receiver_fini(struct receiver *i)
{
	store_close(&i->store);
	free(i->in);
	i->in = NULL;
}

/* Whether an answer of any kind fits, and with it the acknowledgement that is owed. */
static bool can_answer(const struct receiver *i)
{
	return i->n_out + 2 * MESSAGE_FIRST_MAX <= sizeof i->out;
}

uint8_t *receiver_room(struct receiver *i, size_t *n)
{
	*n = i->is_over || i->is_stalled || !can_answer(i) ? 0 : i->in_capacity - i->n_in;
	return i->in + i->n_in;
}

static void answer(struct receiver *i, const struct message *m)
{
	i->n_out += (uint32_t)message_write(m, i->out + i->n_out);
}

void receiver_refuse(struct receiver *i, const char *why)
{
	struct message m = { .type = MESSAGE_REFUSED };

	snprintf(m.text, sizeof m.text, "%.*s", MESSAGE_NAME, why);
	answer(i, &m);
	i->is_over = true;
	i->n_in = 0;
}

static void acknowledge(struct receiver *i)
{
	struct message m = { .type = MESSAGE_SIZE };

	if (!i->to_acknowledge)
		return;
	m.size.number = i->to_acknowledge - 1;
	m.size.size = i->store.files[m.size.number].size;
	i->to_acknowledge = 0;
	answer(i, &m);
}

/* The newest that both speak: who cannot decompress speaks the one in which nothing is compressed.
 */
static uint32_t version_with(uint32_t theirs)
{
	uint32_t ours = net_compress_is_supported() ? MESSAGE_VERSION : 1;

	return theirs < ours ? theirs : ours;
}

static enum receiver_event on_hello(struct receiver *i, const struct message *m)
{
	struct message w = { .type = MESSAGE_WELCOME };
	struct diag d = { "" };
	uint8_t *bigger;

	if (store_open(&i->store, i->output, m, i->most_bytes, i->is_watching, &d)) {
		receiver_refuse(i, d.text);
		return RECEIVER_NOTHING;
	}
	bigger = realloc(i->in, MESSAGE_MAX);
	if (!bigger) {
		receiver_refuse(i, "no memory");
		return RECEIVER_NOTHING;
	}
	i->in = bigger;
	i->in_capacity = MESSAGE_MAX;
	w.welcome.version = i->version = version_with(m->hello.version);
	strcpy(w.welcome.path, i->store.path);
	answer(i, &w);
	return RECEIVER_WELCOME;
}

static void on_file(struct receiver *i, const struct message *m)
{
	struct diag d = { "" };

	if (m->file.number != i->store.n_files)
		return receiver_refuse(i, "a file out of its turn");
	if (store_add(&i->store, m->file.name, &d))
		return receiver_refuse(i, d.text);
	if (i->store.files[m->file.number].size == MESSAGE_UNWANTED && i->version < 2)
		return receiver_refuse(i, "it has a piece that was received before, and removed: "
					  "its duet is too old to be told");
	acknowledge(i);
	i->to_acknowledge = m->file.number + 1;
}

static void set_stalled(struct receiver *i, bool is_stalled, const char *why)
{
	struct message m = { .type = MESSAGE_TROUBLE };

	if (i->is_stalled == is_stalled)
		return;
	i->is_stalled = is_stalled;
	snprintf(m.text, sizeof m.text, "%.*s", MESSAGE_NAME, why);
	answer(i, &m);
}

/* Whether the message is done with. */
static bool on_data(struct receiver *i, const struct message *m)
{
	uint8_t plain[MESSAGE_PAYLOAD]; /* made again should the disk be full in its middle: nobody
					   keeps it for each sender */
	const uint8_t *bytes = m->data.plain ? plain : m->data.bytes;
	uint32_t size = m->data.plain ? m->data.plain : m->data.n;
	struct diag d = { "" };
	long n;

	if (m->data.plain && !net_decompress(plain, size, m->data.bytes, m->data.n)) {
		receiver_refuse(i, "compressed bytes that are damaged");
		return true;
	}
	n = store_append(&i->store, m->data.number, m->data.offset + i->written, bytes + i->written,
			 size - i->written, &d);
	if (n < 0) {
		receiver_refuse(i, d.text);
		return true;
	}
	if (i->to_acknowledge != m->data.number + 1)
		acknowledge(i);
	i->to_acknowledge = m->data.number + 1;
	i->written += (uint32_t)n;
	if (i->written < size) {
		set_stalled(i, true, d.text);
		return false;
	}
	i->written = 0;
	set_stalled(i, false, "");
	return true;
}

static bool is_worth_noting(struct receiver *i, const struct message *m)
{
	for (int k = 0; k < 4; k++)
		if (!m->time.t[k] || m->time.t[k] > INT64_MAX)
			return false;
	if (i->n_times < TIMES_AT_ONCE)
		i->n_times++;
	else if (i->took_ns - i->time_noted_ns < TIME_PERIOD_NS)
		return false;
	i->time_noted_ns = i->took_ns;
	return true;
}

/* A time that cannot be noted makes no recording worse: the next one may be. */
static void on_time(struct receiver *i, const struct message *m)
{
	struct message a = { .type = MESSAGE_TIMED, .timed = { m->time.now, i->took_ns } };

	if (!i->is_watching && is_worth_noting(i, m))
		(void)store_time(&i->store, m->time.t);
	a.timed[2] = wall_ns();
	answer(i, &a);
}

static void on_end(struct receiver *i)
{
	struct message m = { .type = MESSAGE_ENDED };
	struct diag d = { "" };

	acknowledge(i);
	if (store_end(&i->store, &d))
		return receiver_refuse(i, d.text);
	answer(i, &m);
	i->is_over = true;
}

/* What is said before a HELLO where somebody watches: see docs/formats/relay.md. */
static enum receiver_event on_watching(struct receiver *i, const struct message *m)
{
	if (m->type == MESSAGE_HELLO || i->is_watching != (m->type != MESSAGE_WATCH))
		return RECEIVER_NOTHING;
	i->said = *m;
	switch (m->type) {
	case MESSAGE_WATCH:
		return RECEIVER_WATCHER;
	case MESSAGE_LISTED:
		return RECEIVER_LISTED;
	case MESSAGE_END:
	case MESSAGE_REFUSED:
		i->is_over = true;
		return m->type == MESSAGE_END ? RECEIVER_NO_MORE : RECEIVER_REFUSED;
	default:
		return RECEIVER_NOTHING;
	}
}

/* Whether the message is done with. */
static bool handle(struct receiver *i, const struct message *m, enum receiver_event *e)
{
	bool is_first = i->store.dir < 0;

	if (is_first && (*e = on_watching(i, m)))
		return true;
	if (is_first != (m->type == MESSAGE_HELLO)) {
		receiver_refuse(i, is_first ? "a hello is expected first" : "a second hello");
		return true;
	}
	switch (m->type) {
	case MESSAGE_HELLO:
		*e = on_hello(i, m);
		return true;
	case MESSAGE_FILE:
		on_file(i, m);
		return true;
	case MESSAGE_DATA:
		return on_data(i, m);
	case MESSAGE_TIME:
		on_time(i, m);
		return true;
	case MESSAGE_END:
		on_end(i);
		return true;
	default:
		receiver_refuse(i, "not for a relay");
		return true;
	}
}

static enum receiver_event work(struct receiver *i)
{
	enum receiver_event e = RECEIVER_NOTHING;
	uint32_t at = 0;

	while (!i->is_over && !e && can_answer(i)) {
		struct message m;
		long n = message_read(&m, i->in + at, i->n_in - at,
				      i->store.dir < 0 ? MESSAGE_FIRST_MAX : MESSAGE_MAX);

		if (n < 0)
			receiver_refuse(i, "not the protocol of a relay");
		if (n <= 0 || !handle(i, &m, &e))
			break;
		at += (uint32_t)n;
	}
	if (i->n_in) {
		memmove(i->in, i->in + at, i->n_in - at);
		i->n_in -= at;
	}
	if (!i->is_over)
		acknowledge(i);
	return e;
}

enum receiver_event receiver_took(struct receiver *i, size_t n)
{
	if (n)
		i->took_ns = wall_ns();
	i->n_in += (uint32_t)n;
	return i->is_stalled ? RECEIVER_NOTHING : work(i);
}

void receiver_sent(struct receiver *i, size_t n)
{
	memmove(i->out, i->out + n, i->n_out - n);
	i->n_out -= (uint32_t)n;
}

void receiver_trouble(struct receiver *i, const char *why)
{
	struct message m = { .type = MESSAGE_TROUBLE };

	snprintf(m.text, sizeof m.text, "%s", why);
	if (can_answer(i))
		answer(i, &m);
}

void receiver_retry(struct receiver *i)
{
	if (i->is_stalled && can_answer(i))
		work(i);
}
