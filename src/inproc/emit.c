/* SPDX-License-Identifier: MIT */
/*
 * inproc/emit.c - from an enabled site to the ring.
 *
 * The common case is a few checks and ring_write: the process was not forked, the session is the one
 * the enable word names, thread and class have their ids.  Everything else happens once, in prepare().
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/process.h"
#include "ring/write.h"

_Static_assert(sizeof(struct duet_i_open) >= sizeof(struct ring_open) + sizeof(void *),
	       "a site gives room for it");

/* The lowest-addressed byte that zero_bytes() marks. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_BYTE(zeros) (__builtin_ctzll(zeros) / 8)
#else
#error "duet: big-endian programs are not known yet"
#endif

struct open_event {
	struct pool *pool;
	struct ring_open ring;
};

static void count_lost(void)
{
	fetch_add(&process.control->lost, 1);
}

/* A recursive mutex must know who holds it: so libc knows our thread, and a filter may kill who asks the
 * kernel. */
static uint32_t own_tid(void)
{
#ifdef __GLIBC__
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	int tid = 0;

	if (!pthread_mutex_lock(&m)) {
		tid = m.__data.__owner;
		pthread_mutex_unlock(&m);
	}
	if (tid > 0)
		return (uint32_t)tid;
#endif
	return (uint32_t)syscall(SYS_gettid);
}

uint64_t thread_context_make(void)
{
	return process.pid | (uint64_t)own_tid() << 32;
}

/*
 * The class id of the site's event in the session's pool; 0 if the registry is full.  The text goes
 * from page to pool without a stop on the stack, which may be a signal handler's and small.
 */
static uint32_t register_class(struct session *s, const struct duet_i_site *site)
{
	const struct abi_control_event *e = &process.events[site->index];
	uint32_t size = load(&e->schema_size), at = load(&e->schema), id;

	if (size > ABI_SCHEMA_MAX_BYTES || at > ABI_CONTROL_TEXT_BYTES - size)
		return 0;
	id = pool_schema(&s->pool, process.text + at, size);
	store(&s->ids[site->index], (uint16_t)id);
	return id;
}

/* Whatever this thread, event or session still lacks.  Returns the class id, 0 if it cannot be. */
static __attribute__((noinline)) uint32_t prepare(const struct duet_i_site *site,
							struct session **session)
{
	uint32_t epoch = load(site->enabled), id = 0;
	int saved = errno;
	struct session *s;

	if (load_acquire(process.guard) == GUARD_FORKED)
		process_renew();
	if (!epoch) {
		errno = saved;
		return 0; /* disabled meanwhile */
	}
	if (load(process.guard) != GUARD_OK) {
		count_lost(); /* a fork caught in the middle, or one whose child may not join */
		errno = saved;
		return 0;
	}
	if (!thread_context)
		thread_context = thread_context_make();
	s = session_current(epoch);
	if (s) {
		id = load(&s->ids[site->index]);
		if (!id)
			id = register_class(s, site);
		*session = s;
	}
	if (!id)
		count_lost();
	errno = saved;
	return id;
}

static __attribute__((noinline, cold)) void emit_first(struct duet_i_site *site,
							const void *payload, uint32_t size)
{
	struct session *s;
	uint32_t id = prepare(site, &s);

	if (id)
		ring_write(&s->pool, id, thread_context, payload, size);
}

static void emit(struct duet_i_site *site, const void *payload, size_t size)
{
	struct session *s = load_acquire(&process.session);
	uint64_t context = thread_context;
	uint32_t id;

	if (likely(s && s->epoch == load(site->enabled) && load(process.guard) == GUARD_OK &&
		   context)) {
		id = load(&s->ids[site->index]);
		if (likely(id)) {
			ring_write(&s->pool, id, context, payload, (uint32_t)size);
			return;
		}
	}
	emit_first(site, payload, (uint32_t)size);
}

static void *open_large(struct duet_i_site *site, struct duet_i_open *o, size_t size)
{
	struct open_event e;
	struct session *s;
	uint32_t id = prepare(site, &s);
	void *at;

	if (!id)
		return NULL;
	e.pool = &s->pool;
	at = ring_open(e.pool, &e.ring, id, thread_context,
		       size > UINT32_MAX ? UINT32_MAX : (uint32_t)size);
	memcpy(o, &e, sizeof e);
	return at;
}

static void commit_large(struct duet_i_open *o, char *end)
{
	struct open_event e;
	char *begin;

	memcpy(&e, o, sizeof e);
	begin = (char *)e.ring.chunk + e.ring.position;
	ring_commit(e.pool, &e.ring, (uint32_t)(end - begin));
}

/* Whether one of the 8 bytes is 0: Mycroft's test (1987). */
static inline uint64_t zero_bytes(uint64_t v)
{
	return (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
}

/*
 * Copies @s and its NUL to @p in one pass, so that a string which changes meanwhile still ends where
 * it is said to end.  See site.h for @end and @cut.
 *
 * Words are read from aligned addresses only: such a read never leaves the page of its first byte.
 */
__attribute__((no_sanitize("address"))) static char *copy_string(char *p, char *end, const char *s,
								 int *cut)
{
	typedef uint64_t __attribute__((may_alias)) word;
	char *begin = p;

	if (!s)
		s = "(null)";
	if ((uintptr_t)s % 8 && end - p >= 8) {
		unsigned before = (uintptr_t)s % 8;
		uint64_t v = *(const volatile word *)(s - before) >> 8 * before;
		uint64_t zeros = zero_bytes(v | ~0ull << 8 * (8 - before));

		memcpy(p, &v, 8); /* the last `before` bytes are written again */
		if (zeros)
			return p + FIRST_BYTE(zeros) + 1;
		s += 8 - before;
		p += 8 - before;
	}
	for (; end - p >= 8 && (uintptr_t)s % 8 == 0; s += 8, p += 8) {
		uint64_t v = *(const volatile word *)s, zeros = zero_bytes(v);

		memcpy(p, &v, 8);
		if (zeros)
			return p + FIRST_BYTE(zeros) + 1;
	}
	while (p < end)
		if (!(*p++ = *s++))
			return p;
	if (!*cut) {
		*cut = 1;
		return begin;
	}
	if (p > begin)
		p[-1] = 0;
	else
		*p++ = 0;
	return p;
}

/* One argument of a mark by its code: see mark.c. */
static char *pack_argument(char code, va_list *ap, char *p, char *end, int *cut)
{
	union {
		int32_t i;
		int64_t l;
		int16_t h;
		int8_t b;
		double d;
		const void *q;
	} v;
	size_t n = 0;

	switch (code) {
	case 's': {
		const char *s = va_arg(*ap, const char *);

		return copy_string(p, end, s, cut);
	}
	case 'i':
		v.i = va_arg(*ap, int);
		n = 4;
		break;
	case 'h':
		v.h = (int16_t)va_arg(*ap, int);
		n = 2;
		break;
	case 'b':
		v.b = (int8_t)va_arg(*ap, int);
		n = 1;
		break;
	case 'l':
		v.l = va_arg(*ap, int64_t);
		n = 8;
		break;
	case 'd':
		v.d = va_arg(*ap, double);
		n = 8;
		break;
	case 'D':
		v.d = (double)va_arg(*ap, long double);
		n = 8;
		break;
	case 'p':
		v.q = va_arg(*ap, const void *);
		n = sizeof v.q;
		break;
	}
	memcpy(p, &v, n);
	return p + n;
}

static char *pack_mark(const char *codes, va_list *ap, char *p, char *end, int *cut)
{
	for (; *codes; codes++)
		p = pack_argument(*codes, ap, p, end, cut);
	return p;
}

enum { MARK_SPACE = 512, MARK_FIELDS = 127, MARK_BEHIND = MARK_FIELDS * 8 };

static size_t mark_size(const char *codes, va_list *ap)
{
	char sink[8];
	size_t n = 0;
	int cut = 0;

	for (; *codes; codes++) {
		if (*codes != 's') {
			pack_argument(*codes, ap, sink, sink, &cut);
			n += 8;
			continue;
		}
		const char *s = va_arg(*ap, const char *);

		n += s ? strlen(s) + 1 : sizeof "(null)";
	}
	return n;
}

static void mark_large(struct duet_i_site *site, const char *codes, va_list *size_ap, va_list *ap)
{
	size_t n = mark_size(codes, size_ap);
	struct duet_i_open o;
	char *at = open_large(site, &o, n + MARK_BEHIND);
	int cut = 1;

	if (at)
		commit_large(&o, pack_mark(codes, ap, at, at + n, &cut));
}

/* Strings end within SPACE or are cut; up to 127 fixed fields of 8 bytes lie behind. */
static __attribute__((format(printf, 2, 3))) void mark(struct duet_i_site *site,
						       const char *format, ...)
{
	char payload[MARK_SPACE + MARK_BEHIND + 8], *end;
	const char *codes = site->data[1];
	va_list ap, again, once_more;
	int cut = 0;

	va_start(ap, format);
	va_copy(again, ap);
	va_copy(once_more, ap);
	end = pack_mark(codes, &ap, payload, payload + MARK_SPACE, &cut);
	if (likely(!cut))
		emit(site, payload, (size_t)(end - payload));
	else
		mark_large(site, codes, &again, &once_more);
	va_end(once_more);
	va_end(again);
	va_end(ap);
}

const struct duet_i_api duet_api = {
	.size = sizeof duet_api,
	.emit = emit,
	.open = open_large,
	.commit = commit_large,
	.mark = mark,
	.string = copy_string,
	.lost = count_lost,
};
