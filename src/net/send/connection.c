/* SPDX-License-Identifier: MIT */
/*
 * net/send/connection.c - the state machine of a sender: hello, then files, data and times, then
 * end.
 *
 * One message is queued at a time.  The next is chosen after it has gone to the socket, so that a
 * time or a new file does not wait behind queued data.
 */
#include "net/send/connection.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "net/compress.h"

#define MS 1000000ull
#define ROUND_PERIOD_NS (50 * MS) /* how often files are scanned */
#define TIME_PERIOD_NS (2000 * MS)
#define FIRST_TIMES_NS (100 * MS)
#define SILENCE_NS (30000 * MS)	 /* the relay answers at least every TIME_PERIOD_NS */
#define TROUBLE_NS (120000 * MS) /* the same while the relay's disk is full */
enum { FIRST_TIMES = 8 };

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void connection_begin(struct connection *c, struct tls *t, struct spool *s,
		      struct sender_status *status, const struct message *hello)
{
	memset(c, 0, sizeof *c);
	c->tls = t;
	c->spool = s;
	c->status = status;
	c->hello = *hello;
	c->last_read_ns = monotonic_ns();
	spool_begin_connection(s);
	c->n_out = (uint32_t)message_write(hello, c->out);
}

/* ---------------------------------------------------------------- answers */

/* The exchange with the shortest round trip has the smallest error (Mills, RFC 5905, section 8).
 * Halves are added: the relay may have sent any number. */
static void note_offset(struct connection *c)
{
	const uint64_t *t = c->times;
	int64_t outbound = (int64_t)(t[1] - t[0]), inbound = (int64_t)(t[2] - t[3]),
		error = outbound / 2 - inbound / 2;

	error = error < INT64_MAX - 2 ? error + 2 : error; /* what both halves were cut by */
	if (error <= 0 || (c->status->error_ns && error >= c->status->error_ns))
		return;
	c->status->offset_ns = outbound / 2 + inbound / 2;
	c->status->error_ns = error;
}

static int on_timed(struct connection *c, const struct message *m, struct diag *d)
{
	if (!c->awaits_time || m->timed[0] != c->times[0])
		return diag_fail(d, -EPROTO, "the relay answered a request that was not sent");
	c->times[1] = m->timed[1];
	c->times[2] = m->timed[2];
	c->times[3] = wall_ns();
	c->awaits_time = false;
	note_offset(c);
	return 0;
}

/* HOST/NAME: it is shown to the user. */
static bool is_place(const char *path)
{
	const char *slash = strchr(path, '/');

	return slash && message_is_name(path, (size_t)(slash - path)) &&
	       message_is_name(slash + 1, strlen(slash + 1));
}

static int on_welcome(struct connection *c, const struct message *m, struct diag *d)
{
	if (c->version || !m->welcome.version || m->welcome.version > MESSAGE_VERSION)
		return diag_fail(d, -EACCES,
				 "the relay uses version %u of the protocol, this duet version %d",
				 m->welcome.version, MESSAGE_VERSION);
	if (!is_place(m->welcome.path))
		return diag_fail(d, -EACCES,
				 "the relay gives the recording no name of a directory");
	c->version = c->status->version = m->welcome.version;
	snprintf(c->status->path, sizeof c->status->path, "%s", m->welcome.path);
	c->status->n_connections++;
	store(&c->status->is_connected, 1);
	/* path first: pairs with the load in sender_begin() */
	store_release(&c->status->state, SENDER_SENDS);
	return 0;
}

static void on_trouble(struct connection *c, const struct message *m)
{
	c->is_in_trouble = *m->text;
	store(&c->status->relay_waits, *m->text != 0);
	if (*m->text)
		snprintf(c->status->text, sizeof c->status->text, "the relay waits: %s", m->text);
}

static int on_message(struct connection *c, const struct message *m, struct diag *d)
{
	if (m->type == MESSAGE_REFUSED)
		return diag_fail(d, -EACCES, "the relay refuses: %s", m->text);
	if (!c->version && m->type != MESSAGE_WELCOME && m->type != MESSAGE_TROUBLE)
		return diag_fail(d, -EPROTO, "the peer is not a duet relay");
	switch (m->type) {
	case MESSAGE_WELCOME:
		return on_welcome(c, m, d);
	case MESSAGE_SIZE:
		c->has_progressed = true;
		return spool_size(c->spool, m->size.number, m->size.size, d);
	case MESSAGE_TIMED:
		return on_timed(c, m, d);
	case MESSAGE_TROUBLE:
		on_trouble(c, m);
		return 0;
	case MESSAGE_ENDED:
		c->has_ended = c->end_is_sent;
		return 0;
	default:
		return diag_fail(d, -EPROTO, "the peer is not a duet relay");
	}
}

static int read_answers(struct connection *c, struct diag *d)
{
	long n = tls_read(c->tls, c->in + c->n_in, sizeof c->in - c->n_in, d);
	uint32_t at = 0;
	int err = 0;

	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	c->last_read_ns = monotonic_ns();
	c->n_in += (uint32_t)n;
	while (!err) {
		struct message m;

		n = message_read(&m, c->in + at, c->n_in - at, MESSAGE_FIRST_MAX);
		if (n < 0)
			return diag_fail(d, -EPROTO, "the peer is not a duet relay");
		if (!n)
			break;
		at += (uint32_t)n;
		err = on_message(c, &m, d);
	}
	memmove(c->in, c->in + at, c->n_in - at);
	c->n_in -= at;
	return err ? err : 1;
}

/* ---------------------------------------------------------------- the next message */

static void queue(struct connection *c, const struct message *m)
{
	assert(c->out_at == c->n_out); /* one message at a time */
	c->n_out = (uint32_t)message_write(m, c->out);
	c->out_at = 0;
}

static bool queue_time(struct connection *c, uint64_t now)
{
	struct message m = { .type = MESSAGE_TIME };

	if (now < c->time_due_ns || c->awaits_time)
		return false;
	c->has_reported_times |= c->times[3] != 0;
	memcpy(m.time.t, c->times, sizeof c->times);
	memset(c->times, 0, sizeof c->times);
	c->times[0] = m.time.now = wall_ns();
	c->awaits_time = true;
	c->time_due_ns = now + (c->n_times++ < FIRST_TIMES ? FIRST_TIMES_NS : TIME_PERIOD_NS);
	queue(c, &m);
	return true;
}

static bool queue_file(struct connection *c)
{
	struct message m = { .type = MESSAGE_FILE };

	if (c->spool->n_announced == c->spool->n)
		return false;
	m.file.number = c->spool->n_announced++;
	assert(c->spool->n_announced <= c->spool->n);
	strcpy(m.file.name, c->spool->files[m.file.number].name);
	queue(c, &m);
	return true;
}

/* Compresses the payload, and leaves it as it is if it does not become smaller. */
static void compress_data(const struct connection *c, struct message *m, uint8_t *bytes)
{
	uint8_t plain[MESSAGE_PAYLOAD];
	uint32_t n = m->data.n;

	if (!c->compression_level || c->version < 2)
		return;
	memcpy(plain, bytes, n);
	m->data.n = net_compress(bytes, n - 1, plain, n, c->compression_level);
	m->data.plain = n;
	if (m->data.n)
		return;
	memcpy(bytes, plain, n);
	m->data.n = n;
	m->data.plain = 0;
}

/* 1: a message is queued; 0: there is no data; or -errno. */
static int queue_data(struct connection *c, struct diag *d)
{
	struct message m;
	int err;

	if (!spool_next(c->spool, &m))
		return 0;
	err = spool_read(c->spool, &m, c->out + MESSAGE_DATA_HEAD, d);
	if (err)
		return err == -ENODATA ? -EACCES : err;
	c->status->read_bytes += m.data.n;
	compress_data(c, &m, c->out + MESSAGE_DATA_HEAD);
	c->status->carried_bytes += m.data.n;
	queue(c, &m);
	c->n_out += m.data.n;
	assert(c->n_out <= sizeof c->out);
	return 1;
}

static bool queue_end(struct connection *c)
{
	struct message m = { .type = MESSAGE_END };

	assert(!c->end_is_sent);
	if (!c->is_asked_to_end || !spool_all_acknowledged(c->spool))
		return false;
	/* The relay learns the times of an exchange with the next one.  A recording that is shorter
	 * than that would have none, so its last message before the end brings them. */
	if (!c->has_reported_times) {
		c->time_due_ns = 0;
		return queue_time(c, monotonic_ns());
	}
	c->end_is_sent = true;
	queue(c, &m);
	return true;
}

static void note_totals(struct connection *c)
{
	c->status->total = spool_bytes(c->spool, false);
	c->status->acknowledged = spool_bytes(c->spool, true);
	c->status->n_skipped = c->spool->n_skipped + c->spool->n_unwanted;
	c->status->forgotten_bytes = c->spool->forgotten_bytes;
	store_release(&c->status->n_trace_chunks, spool_trace_chunks(c->spool));
}

/* 1: a message is queued; 0: nothing to send now; or -errno. */
static int queue_next(struct connection *c, struct diag *d)
{
	uint64_t now = monotonic_ns();
	int result;

	if (!c->version || c->end_is_sent)
		return 0;
	if (queue_time(c, now) || queue_file(c))
		return 1;
	result = queue_data(c, d);
	if (result || c->spool->n_known < c->spool->n ||
	    (now < c->round_due_ns && !c->is_asked_to_end))
		return result;
	if (load(&c->status->is_held) && !c->is_asked_to_end)
		return 0; /* the recorder may still cut what it writes now */
	c->spool->is_final = c->is_asked_to_end;
	result = spool_round(c->spool, d);
	note_totals(c);
	if (result < 0)
		return result;
	if (result || c->spool->n_announced < c->spool->n)
		return queue_file(c) ? 1 : queue_data(c, d);
	c->round_due_ns = now + ROUND_PERIOD_NS;
	return queue_end(c);
}

static int write_out(struct connection *c, struct diag *d)
{
	while (c->out_at < c->n_out) {
		long n = tls_write(c->tls, c->out + c->out_at, c->n_out - c->out_at, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		c->out_at += (uint32_t)n;
	}
	return 1;
}

static int check_silence(const struct connection *c, struct diag *d)
{
	uint64_t silent = monotonic_ns() - c->last_read_ns;

	if (silent > (c->is_in_trouble ? TROUBLE_NS : SILENCE_NS))
		return diag_fail(d, -ETIMEDOUT, "nothing was received from it for %d s",
				 (int)(silent / (1000 * MS)));
	return 0;
}

int connection_work(struct connection *c, struct diag *d)
{
	enum { MESSAGES_AT_ONCE = 64, READS_AT_ONCE = 64 };
	int err;

	if (!c->tls->is_ready) {
		err = tls_handshake(c->tls, d);
		if (err)
			return err == -EAGAIN ? check_silence(c, d) : err;
	}
	/* A relay that sends without an end does not keep us here. */
	err = 1;
	for (int i = 0; i < READS_AT_ONCE && err > 0 && !c->has_ended; i++)
		err = read_answers(c, d);
	if (err < 0 || c->has_ended)
		return c->has_ended ? 1 : err;
	for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
		err = write_out(c, d);
		if (err > 0)
			err = queue_next(c, d);
		if (err <= 0)
			break;
	}
	note_totals(c);
	return err < 0 ? err : check_silence(c, d);
}

short connection_waits_for(const struct connection *c, int *timeout_ms)
{
	bool has_more = c->out_at < c->n_out;

	*timeout_ms = (int)(ROUND_PERIOD_NS / MS);
	return (short)(POLLIN |
		       (c->tls->wants_write || (c->tls->is_ready && has_more) ? POLLOUT : 0));
}
