/* SPDX-License-Identifier: MIT */
/* net/send/connection.c - see connection.h. */
#include "net/send/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "net/compress.h"

#define MS 1000000ull
#define ROUND_PERIOD_NS (50 * MS) /* how often files are looked at */
#define TIME_PERIOD_NS (2000 * MS)
#define FIRST_TIMES_NS (100 * MS)
#define SILENCE_NS (30000 * MS)	 /* the relay answers at least each TIME_PERIOD_NS */
#define TROUBLE_NS (120000 * MS) /* unless its disk is full */
enum { FIRST_TIMES = 8 };

static uint64_t clock_ns_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t connection_now_ns(void)
{
	return clock_ns_of(CLOCK_MONOTONIC);
}

void connection_begin(struct connection *l, struct tls *w, struct spool *s,
		      struct sender_status *status, const struct message *hello)
{
	memset(l, 0, sizeof *l);
	l->tls = w;
	l->spool = s;
	l->status = status;
	l->hello = *hello;
	l->last_read_ns = connection_now_ns();
	spool_begin_connection(s);
	l->n_out = (uint32_t)message_write(hello, l->out);
}

/* ---------------------------------------------------------------- answers */

/* The exchange with the shortest way there and back tells most (Mills, RFC 5905, 8). */
static void note_offset(struct connection *l)
{
	const uint64_t *t = l->times;
	int64_t there = (int64_t)(t[1] - t[0]), back = (int64_t)(t[2] - t[3]),
		error = (there - back) / 2 + 1;

	if (error <= 0 || (l->status->error_ns && error >= l->status->error_ns))
		return;
	l->status->offset_ns = (there + back) / 2;
	l->status->error_ns = error;
}

static int on_timed(struct connection *l, const struct message *m, struct diag *d)
{
	if (!l->waits_for_time || m->timed[0] != l->times[0])
		return diag_fail(d, -EPROTO, "the relay answers what it was not asked");
	l->times[1] = m->timed[1];
	l->times[2] = m->timed[2];
	l->times[3] = clock_ns_of(CLOCK_REALTIME);
	l->waits_for_time = false;
	note_offset(l);
	return 0;
}

static int on_welcome(struct connection *l, const struct message *m, struct diag *d)
{
	if (l->version || !m->welcome.version || m->welcome.version > MESSAGE_VERSION)
		return diag_fail(
			d, -EACCES,
			"the relay speaks version %u of the protocol, this duet version %d",
			m->welcome.version, MESSAGE_VERSION);
	l->version = l->status->version = m->welcome.version;
	snprintf(l->status->path, sizeof l->status->path, "%s", m->welcome.path);
	l->status->n_connections++;
	store(&l->status->is_connected, 1);
	store_release(&l->status->state, SENDER_SENDS); /* path first: pairs with sender_begin */
	return 0;
}

static void on_trouble(struct connection *l, const struct message *m)
{
	l->is_in_trouble = *m->text;
	if (*m->text)
		snprintf(l->status->text, sizeof l->status->text, "the relay waits: %s", m->text);
}

static int on_message(struct connection *l, const struct message *m, struct diag *d)
{
	if (m->type == MESSAGE_REFUSED)
		return diag_fail(d, -EACCES, "the relay refuses: %s", m->text);
	if (!l->version && m->type != MESSAGE_WELCOME)
		return diag_fail(d, -EPROTO, "no relay answers there");
	switch (m->type) {
	case MESSAGE_WELCOME:
		return on_welcome(l, m, d);
	case MESSAGE_SIZE:
		l->has_progressed = true;
		return spool_size(l->spool, m->size.number, m->size.size, d);
	case MESSAGE_TIMED:
		return on_timed(l, m, d);
	case MESSAGE_TROUBLE:
		on_trouble(l, m);
		return 0;
	case MESSAGE_ENDED:
		l->has_ended = l->has_sent_end;
		return 0;
	default:
		return diag_fail(d, -EPROTO, "no relay answers there");
	}
}

static int read_answers(struct connection *l, struct diag *d)
{
	long n = tls_read(l->tls, l->in + l->n_in, sizeof l->in - l->n_in, d);
	uint32_t at = 0;
	int err = 0;

	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	l->last_read_ns = connection_now_ns();
	l->n_in += (uint32_t)n;
	while (!err) {
		struct message m;

		n = message_read(&m, l->in + at, l->n_in - at, MESSAGE_FIRST_MAX);
		if (n < 0)
			return diag_fail(d, -EPROTO, "no relay answers there");
		if (!n)
			break;
		at += (uint32_t)n;
		err = on_message(l, &m, d);
	}
	memmove(l->in, l->in + at, l->n_in - at);
	l->n_in -= at;
	return err ? err : 1;
}

/* ---------------------------------------------------------------- what to say next */

static void say(struct connection *l, const struct message *m)
{
	l->n_out = (uint32_t)message_write(m, l->out);
	l->out_at = 0;
}

static bool say_time(struct connection *l, uint64_t now)
{
	struct message m = { .type = MESSAGE_TIME };

	if (now < l->time_due_ns || l->waits_for_time)
		return false;
	memcpy(m.time.t, l->times, sizeof l->times);
	memset(l->times, 0, sizeof l->times);
	l->times[0] = m.time.now = clock_ns_of(CLOCK_REALTIME);
	l->waits_for_time = true;
	l->time_due_ns = now + (l->n_times++ < FIRST_TIMES ? FIRST_TIMES_NS : TIME_PERIOD_NS);
	say(l, &m);
	return true;
}

static bool say_file(struct connection *l)
{
	struct message m = { .type = MESSAGE_FILE };

	if (l->spool->n_announced == l->spool->n)
		return false;
	m.file.number = l->spool->n_announced++;
	strcpy(m.file.name, l->spool->files[m.file.number].name);
	say(l, &m);
	return true;
}

/* In less room, if there is any. */
static void squeeze(const struct connection *l, struct message *m, uint8_t *bytes)
{
	uint8_t plain[MESSAGE_PAYLOAD];
	uint32_t n = m->data.n;

	if (!l->pack_level || l->version < 2)
		return;
	memcpy(plain, bytes, n);
	m->data.n = net_compress(bytes, n - 1, plain, n, l->pack_level);
	m->data.plain = n;
	if (m->data.n)
		return;
	memcpy(bytes, plain, n);
	m->data.n = n;
	m->data.plain = 0;
}

/* 1: said; 0: there is none; or -errno. */
static int say_data(struct connection *l, struct diag *d)
{
	struct message m;
	int err;

	if (!spool_next(l->spool, &m))
		return 0;
	err = spool_read(l->spool, &m, l->out + MESSAGE_DATA_HEAD, d);
	if (err)
		return err == -ENODATA ? -EACCES : err;
	l->status->read_bytes += m.data.n;
	squeeze(l, &m, l->out + MESSAGE_DATA_HEAD);
	l->status->carried_bytes += m.data.n;
	say(l, &m);
	l->n_out += m.data.n;
	return 1;
}

static bool say_end(struct connection *l)
{
	struct message m = { .type = MESSAGE_END };

	if (!l->is_asked_to_end || !spool_all_acknowledged(l->spool))
		return false;
	l->has_sent_end = true;
	say(l, &m);
	return true;
}

static void note_totals(struct connection *l)
{
	l->status->total = spool_bytes(l->spool, false);
	l->status->acknowledged = spool_bytes(l->spool, true);
	l->status->n_skipped = l->spool->n_skipped;
	l->status->gone_bytes = l->spool->gone_bytes;
	store_release(&l->status->n_trace_chunks, spool_trace_chunks(l->spool));
}

/* 1: said something; 0: nothing to say now; or -errno. */
static int say_next(struct connection *l, struct diag *d)
{
	uint64_t now = connection_now_ns();
	int said;

	if (!l->version || l->has_sent_end)
		return 0;
	if (say_time(l, now) || say_file(l))
		return 1;
	said = say_data(l, d);
	if (said || l->spool->n_known < l->spool->n ||
	    (now < l->round_due_ns && !l->is_asked_to_end))
		return said;
	if (load(&l->status->is_held) && !l->is_asked_to_end)
		return 0; /* what is written now may be taken back */
	l->spool->is_final = l->is_asked_to_end;
	said = spool_round(l->spool, d);
	note_totals(l);
	if (said < 0)
		return said;
	if (said || l->spool->n_announced < l->spool->n)
		return say_file(l) ? 1 : say_data(l, d);
	l->round_due_ns = now + ROUND_PERIOD_NS;
	return say_end(l);
}

static int write_out(struct connection *l, struct diag *d)
{
	while (l->out_at < l->n_out) {
		long n = tls_write(l->tls, l->out + l->out_at, l->n_out - l->out_at, d);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		l->out_at += (uint32_t)n;
	}
	return 1;
}

static int check_silence(const struct connection *l, struct diag *d)
{
	uint64_t silent = connection_now_ns() - l->last_read_ns;

	if (silent > (l->is_in_trouble ? TROUBLE_NS : SILENCE_NS))
		return diag_fail(d, -ETIMEDOUT, "nothing was heard from it for %d s",
				 (int)(silent / (1000 * MS)));
	return 0;
}

int connection_work(struct connection *l, struct diag *d)
{
	enum { MESSAGES_AT_ONCE = 64 };
	int err;

	if (!l->tls->is_ready) {
		err = tls_handshake(l->tls, d);
		if (err)
			return err == -EAGAIN ? check_silence(l, d) : err;
	}
	do
		err = read_answers(l, d);
	while (err > 0 && !l->has_ended);
	if (err < 0 || l->has_ended)
		return l->has_ended ? 1 : err;
	for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
		err = write_out(l, d);
		if (err > 0)
			err = say_next(l, d);
		if (err <= 0)
			break;
	}
	note_totals(l);
	return err < 0 ? err : check_silence(l, d);
}

short connection_waits_for(const struct connection *l, int *timeout_ms)
{
	bool has_more = l->out_at < l->n_out;

	*timeout_ms = (int)(ROUND_PERIOD_NS / MS);
	return (short)(POLLIN |
		       (l->tls->wants_write || (l->tls->is_ready && has_more) ? POLLOUT : 0));
}
