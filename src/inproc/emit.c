/* SPDX-License-Identifier: MIT */
/*
 * inproc/emit.c - from an enabled site to the ring.
 *
 * The common case is a few checks and ring_write: the process is not a fresh fork, the enable word
 * names one session only, the site remembers that session, and thread and class have their ids.
 * Payloads in registers begin in registers/registers.c.  emit_slow() does the rest: it reads each byte
 * of the word.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "inproc/context.h"
#include "inproc/emit.h"
#include "inproc/page.h"
#include "inproc/own_probes.h"

_Static_assert(offsetof(struct abi_control_event, enabled) == 0,
	       "a site's enable word is where its event's line begins");

/*
 * An event being written in place, in the first session that has room for it; the others get a copy
 * at the end.  It lies in the site's struct duet_i_open.
 */
struct open_event {
	struct pool *pool;
	struct ring_open ring; /* payload_offset: in the chunk, after the contexts */
	struct session *session;
	struct duet_i_site *site;
	const void *ip, *frame;
	uint64_t others; /* the bytes of its enable word still to be served */
};

/* For probes alone an event has memory of its own, and no pool. */
static size_t own_size(const struct open_event *e)
{
	return e->pool ? 0 : e->ring.since_ns;
}

_Static_assert(sizeof(struct duet_i_open) >= sizeof(struct open_event), "a site gives room for it");

void count_lost(uint32_t session_slot)
{
	fetch_add(&process.control->session_slots[session_slot].lost, 1);
}

/* An event of an unknown site: counted for all sessions that use this process. */
static void count_lost_by_all(void)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (load(&process.control->session_slots[i].epoch))
			count_lost(i);
}

/* A recursive mutex has to know its owner.  So libc knows our thread id, while a filter may kill a
 * thread that asks the kernel. */
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
	return ABI_CTF_IDS(process.pid, own_tid());
}

enum { MOST_BEHIND_CONTEXTS = 1024 }; /* bytes of payload that are copied on the stack */

/* The destination of an event, once all of it exists. */
struct target {
	struct session *session;
	struct channel *channel;
	uint32_t id;	     /* of its class */
	uint32_t filter;     /* 0: none */
	bool is_for_trigger; /* by a trigger */
};

/*
 * The class id of the site's event in the channel's pool; 0 if the registry is full.  The text is
 * copied from page to pool directly, without a buffer on the stack, which may be a signal handler's
 * and small.
 */
static uint32_t register_class(struct channel *c, const struct duet_i_site *site)
{
	uint32_t size, id;
	const char *schema =
		page_schema(process.control, page_event(process.control, site->index), &size);

	if (!schema)
		return 0;
	id = pool_schema(&c->pool, schema, size);
	store(&c->ids[site->index], (uint16_t)id);
	if (!c->contexts)
		store(&c->plain[site->index], (uint16_t)id);
	return id;
}

/* False if the registry of the channel is full. */
static bool set_channel(struct target *t, struct channel *c, const struct duet_i_site *site)
{
	t->channel = c;
	t->id = load(&c->ids[site->index]);
	if (!t->id)
		t->id = register_class(c, site);
	return t->id;
}

/* The first session slot in an enable word that is not 0; and the word without it. */
static uint32_t first_session_slot(uint64_t word)
{
	return (uint32_t)__builtin_ctzll(word) / 8;
}

static uint64_t without(uint64_t word, uint32_t session_slot)
{
	return word & ~ABI_ENABLES(UINT8_MAX, session_slot);
}

/* For fast_destination().  Written only when it changes, because threads share it. */
static void remember(struct duet_i_site *site, struct session *s)
{
	if (load(&site->data[SITE_SESSION]) != s)
		store_release(&site->data[SITE_SESSION], s); /* a whole session, then the pointer */
}

/* The destination for the session in @session_slot.  False if it does not want the event, or cannot
 * have it. */
static bool find_target(struct target *t, uint64_t word, uint32_t session_slot,
			struct duet_i_site *site)
{
	const struct abi_control *c = process.control;
	uint64_t epoch = load(&c->session_slots[session_slot].epoch);
	uint16_t routing = load(&page_event(process.control, site->index)->routing[session_slot]);
	struct session *s;

	if (session_slot == ABI_OWN_SESSION_SLOT ||
	    ABI_GENERATION(epoch) != ABI_ENABLED(word, session_slot))
		return false; /* abi/control.h, (3) */
	s = session_current(session_slot, epoch);
	if (!s || ABI_ROUTING_CHANNEL(routing) >= s->n_channels) {
		count_lost(session_slot);
		return false;
	}
	t->session = s;
	t->filter = ABI_ROUTING_FILTER(routing);
	t->is_for_trigger = routing & ABI_ROUTING_TRIGGER;
	if (!set_channel(t, &s->channels[ABI_ROUTING_CHANNEL(routing)], site)) {
		store(&process.control->loss, ABI_LOSS_CLASSES);
		count_lost(session_slot);
	} else if (s->word == word)
		remember(site, s);
	return t->id;
}

/* Prepares this thread and process to record.  Returns the site's enable word; 0 if nothing can be
 * recorded. */
static __attribute__((noinline)) uint64_t prepare(const struct duet_i_site *site)
{
	uint64_t word;

	if (load_acquire(process.guard) == GUARD_FORKED)
		process_renew();
	word = load(site->enabled);
	if (load(process.guard) != GUARD_OK) {
		/* Interrupted in the middle of a fork, or a child that may not attach. */
		for (; word; word = without(word, first_session_slot(word)))
			count_lost(first_session_slot(word));
		return 0;
	}
	if (!thread_context)
		thread_context = thread_context_make();
	return word;
}

/* Contexts are made in a buffer: a chunk's bytes are written once. */
static void *open_with_contexts(const struct target *t, struct ring_open *o, void *live,
				uint32_t size, const void *ip, const void *frame)
{
	uint64_t contexts = t->channel->contexts;
	char values[ABI_CONTEXT_MAX_BYTES], *at;
	uint32_t n = contexts ? (uint32_t)(context_put(contexts, values, ip, frame) - values) : 0;

	at = ring_open_on_stack(&t->channel->pool, o, live, t->id, thread_context,
				size > UINT32_MAX - n ? UINT32_MAX : size + n);
	return at ? mempcpy(at, values, n) : NULL;
}

static void write_with_contexts(const struct target *t, const void *payload, uint32_t size,
				const void *ip, const void *frame)
{
	char event[ABI_CONTEXT_MAX_BYTES + MOST_BEHIND_CONTEXTS + 8], *p;
	struct ring_open o;

	if (size <= MOST_BEHIND_CONTEXTS) {
		p = context_put(t->channel->contexts, event, ip, frame);
		p = mempcpy(p, payload, size);
		ring_write(&t->channel->pool, t->id, thread_context, event, (uint32_t)(p - event));
		return;
	}
	p = open_with_contexts(t, &o, &o, size, ip, frame);
	if (p) {
		p = mempcpy(p, payload, size);
		ring_commit(&t->channel->pool, &o, (uint32_t)(p - ((char *)o.chunk + o.position)));
	}
}

static void write_to(const struct target *t, const void *payload, uint32_t size, const void *ip,
		     const void *frame)
{
	if (t->channel->contexts)
		write_with_contexts(t, payload, size, ip, frame);
	else
		ring_write(&t->channel->pool, t->id, thread_context, payload, size);
}

/* The channel that triggers read.  False if there is none, or no room for the class. */
static bool set_trigger_channel(struct target *t, struct session *s, const struct duet_i_site *site)
{
	return s->trigger_channel && set_channel(t, &s->channels[s->trigger_channel], site);
}

/* Writes the event for the session in @session_slot, or calls the process's probes. */
static void emit_to(uint64_t word, uint32_t session_slot, struct duet_i_site *site,
		    const void *payload, uint32_t size, const void *ip, const void *frame)
{
	struct target t;

	if (session_slot == ABI_OWN_SESSION_SLOT)
		return probes_call(site, payload, size, ip);
	if (!find_target(&t, word, session_slot, site) ||
	    (t.filter && !filters_pass(t.session, site, t.filter, payload, size, ip)))
		return;
	write_to(&t, payload, size, ip, frame);
	/* The copy for triggers comes second: a snapshot that a trigger takes then contains the
	 * event itself. */
	if (t.is_for_trigger && set_trigger_channel(&t, t.session, site))
		write_to(&t, payload, size, ip, frame);
}

/* All but the common case.  @frame: context_put's; NULL: ours. */
void emit_slow(struct duet_i_site *site, const void *payload, uint32_t size, const void *ip,
	       const void *frame)
{
	int saved = errno;
	uint64_t word = prepare(site);

	if (!frame)
		frame = __builtin_frame_address(0);
	for (uint64_t left = word; left; left = without(left, first_session_slot(left)))
		emit_to(word, first_session_slot(left), site, payload, size, ip, frame);
	errno = saved;
}

static void emit(struct duet_i_site *site, const void *payload, size_t size, const void *ip)
{
	if (!emit_fast(site, payload, size))
		emit_slow(site, payload, (uint32_t)size, ip, NULL);
}

/* Begins the event in place, in the channel of the session in @session_slot.  @live: the site's
 * struct duet_i_open, which lives until the event is over. */
static char *open_for(struct open_event *e, void *live, uint64_t word, uint32_t session_slot,
		      size_t size)
{
	struct target t;

	if (!find_target(&t, word, session_slot, e->site))
		return NULL;
	e->session = t.session;
	e->pool = &t.channel->pool;
	return open_with_contexts(&t, &e->ring, live,
				  size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, e->ip, e->frame);
}

/* For probes alone the event lies in memory that is unmapped after they ran. */
static char *open_for_probes(struct open_event *e, size_t size)
{
	void *memory = process_is_sandboxed() ? MAP_FAILED
					      : mmap(NULL, size, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		count_lost(ABI_OWN_SESSION_SLOT);
		return NULL;
	}
	e->pool = NULL;
	e->ring = (struct ring_open){ .chunk = memory, .since_ns = size };
	e->others = ABI_ENABLES(UINT8_MAX, ABI_OWN_SESSION_SLOT);
	return memory;
}

void *emit_open(struct duet_i_site *site, struct duet_i_open *o, size_t size, const void *ip,
		const void *frame)
{
	struct open_event e = { .site = site, .ip = ip, .frame = frame };
	int saved = errno;
	uint64_t word = prepare(site);
	char *payload = NULL;

	for (e.others = word; e.others && !payload;) {
		uint32_t session_slot = first_session_slot(e.others);

		e.others = without(e.others, session_slot);
		payload = session_slot == ABI_OWN_SESSION_SLOT
				  ? open_for_probes(&e, size)
				  : open_for(&e, o, word, session_slot, size);
		if (session_slot == ABI_OWN_SESSION_SLOT)
			break; /* the last one */
	}
	errno = saved;
	if (!payload)
		return NULL;
	e.ring.payload_offset = (uint32_t)(payload - (char *)e.ring.chunk);
	memcpy(o, &e, sizeof e);
	return payload;
}

static void *open_large(struct duet_i_site *site, struct duet_i_open *o, size_t size,
			const void *ip)
{
	return emit_open(site, o, size, ip, __builtin_frame_address(0));
}

/* Whether the event passes the filter of the session that keeps it; checked when all of it is
 * there. */
static bool is_wanted(const struct open_event *e, const void *payload, size_t size)
{
	uint16_t routing = load(
		&page_event(process.control, e->site->index)->routing[e->session->session_slot]);
	uint32_t filter = ABI_ROUTING_FILTER(routing);

	return !filter || filters_pass(e->session, e->site, filter, payload, size, e->ip);
}

/* Writes the copy for triggers without publishing it.  False if no trigger uses the event, or there
 * is no room. */
static bool open_for_triggers(const struct open_event *e, const char *payload, size_t size,
			      struct target *t, struct ring_open *o, char **end)
{
	uint16_t routing = load(
		&page_event(process.control, e->site->index)->routing[e->session->session_slot]);
	char *p;

	if (!(routing & ABI_ROUTING_TRIGGER) || !set_trigger_channel(t, e->session, e->site))
		return false;
	p = open_with_contexts(t, o, o, (uint32_t)size, e->ip, e->frame);
	if (p)
		*end = mempcpy(p, payload, size);
	return p;
}

/* Publishes the event first, then the copy for triggers: as in emit_to(). */
static void commit_both(struct open_event *e, const char *payload, char *end)
{
	char *begin = (char *)e->ring.chunk + e->ring.position, *copy_end;
	struct ring_open copy;
	struct target t;
	bool has_copy =
		open_for_triggers(e, payload, (size_t)(end - payload), &t, &copy, &copy_end);

	ring_commit(e->pool, &e->ring, (uint32_t)(end - begin));
	if (has_copy)
		ring_commit(&t.channel->pool, &copy,
			    (uint32_t)(copy_end - ((char *)copy.chunk + copy.position)));
}

void emit_commit(struct duet_i_open *o, char *end)
{
	int saved = errno;
	struct open_event e;
	char *payload;
	size_t size;

	memcpy(&e, o, sizeof e);
	payload = (char *)e.ring.chunk + e.ring.payload_offset;
	size = (size_t)(end - payload);
	for (uint64_t left = e.others; left; left = without(left, first_session_slot(left)))
		emit_to(e.others, first_session_slot(left), e.site, payload, (uint32_t)size, e.ip,
			e.frame);
	if (own_size(&e))
		munmap(payload, own_size(&e));
	else if (is_wanted(&e, payload, size))
		commit_both(&e, payload, end);
	else
		ring_abandon(e.pool, &e.ring);
	errno = saved;
}

const struct duet_i_api duet_api = {
	.size = sizeof duet_api,
	.emit = emit,
	.open = open_large,
	.commit = emit_commit,
	.mark = mark_emit,
	.string = text_copy,
	.lost = count_lost_by_all,
	.context_set = context_set,
	.context_refresh = context_forget,
	.words = emit_words,
	.text = emit_text,
	.probe_attach = probe_attach,
	.probe_detach = probe_detach,
	.probe_field = probe_field,
	.probe_missed = probe_missed,
	.prepare = sessions_prepare,
};
