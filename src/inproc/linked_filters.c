/* SPDX-License-Identifier: MIT */
/*
 * inproc/linked_filters.c - the filters of a session, linked to the events of this program.
 *
 * Their byte code lies in the session memory (abi/session.h), where other programs may write: only
 * our own, verified copy runs.  Copies are never freed, because a thread may be running one.  Each
 * event has a list of them, the newest first, and each filter is in it once.  So whatever others
 * write to the control page, and however often rules change, the session's filters bound the
 * memory.
 */
#include <string.h>
#include <sys/mman.h>

#include "abi/ctf.h"
#include "base/atomic.h"
#include "filter/payload.h"
#include "inproc/context.h"
#include "inproc/page.h"
#include "ring/rseq.h"

enum { LINKED_BYTES = sizeof(struct linked_filter) + FILTER_LINKED_BYTES_MAX };

/* The values for a filter that are not in the payload. */
struct own_source {
	struct filter_source source;
	const void *ip;
	char text[ABI_CONTEXT_MAX_BYTES];
};

static const uint64_t context_of[FILTER_CONTEXTS] = {
	[FILTER_PROCNAME] = ABI_CONTEXT_BIT(ABI_CONTEXT_PROCNAME),
	[FILTER_PPID] = ABI_CONTEXT_BIT(ABI_CONTEXT_PPID),
	[FILTER_UID] = ABI_CONTEXT_BIT(ABI_CONTEXT_VUID),
	[FILTER_GID] = ABI_CONTEXT_BIT(ABI_CONTEXT_VGID),
};

static bool from_context(struct own_source *s, uint32_t which, struct filter_value *v)
{
	int32_t number;

	if (which >= FILTER_CONTEXTS || !context_of[which])
		return false;
	context_put(context_of[which], s->text, NULL, NULL);
	if (which == FILTER_PROCNAME) {
		v->text = s->text;
		v->more = strnlen(s->text, ABI_PROCNAME_BYTES);
		return true;
	}
	memcpy(&number, s->text, sizeof number);
	v->bits = which == FILTER_PPID ? (uint64_t)(int64_t)number : (uint32_t)number;
	v->more = which == FILTER_PPID && number < 0; /* users and groups have no sign */
	return true;
}

static bool get(const struct filter_source *source, uint32_t which, struct filter_value *v)
{
	struct own_source *s = (struct own_source *)source;
	uint32_t cpu;

	v->more = 0;
	switch (which) {
	case FILTER_VPID:
		v->bits = ABI_CTF_VPID(thread_context);
		return true;
	case FILTER_VTID:
		v->bits = ABI_CTF_VTID(thread_context);
		return true;
	case FILTER_IP:
		v->bits = (uintptr_t)s->ip;
		return s->ip;
	case FILTER_CPU_ID:
		if (!rseq_offset)
			return false;
		cpu = load(&rseq_self()->cpu_id);
		v->bits = cpu;
		return cpu <= INT32_MAX;
	}
	return from_context(s, which, v);
}

static bool link(struct linked_filter *l, const struct session *s, const struct duet_i_site *site)
{
	const struct abi_session_memory *session_memory = s->memory;
	const struct abi_session_filter *f = &session_memory->filters[l->number - 1];
	uint32_t size = load_acquire(&f->size), at = load(&f->offset),
		 schema_size; /* abi/session.h, (2) */
	const char *schema = page_schema(process.control, page_event(process.control, site->index),
					 &schema_size);

	return at <= ABI_FILTER_TEXT_BYTES && size <= ABI_FILTER_TEXT_BYTES - at && schema &&
	       filter_payload_link(&l->filter, FILTER_LINKED_BYTES_MAX, session_memory->text + at,
				   size, schema, schema_size, (1u << FILTER_CONTEXTS) - 1, NULL);
}

/* The filter linked to the site's event; NULL if there is no memory, or a sandbox forbids mapping
 * some. */
static const struct linked_filter *find(struct session *s, const struct duet_i_site *site,
					uint32_t number)
{
	struct linked_filter **newest = &s->filters[site->index], *have = load_acquire(newest),
			     *fresh;

	for (const struct linked_filter *l = have; l; l = l->before)
		if (l->number == number)
			return l;
	if (!number || number > ABI_FILTERS || process_is_sandboxed())
		return NULL;
	fresh = mmap(NULL, LINKED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (fresh == MAP_FAILED)
		return NULL;
	fresh->number = number;
	fresh->fits = link(fresh, s, site);
	fresh->reads_words = fresh->fits && filter_reads_words(&fresh->filter, site->fixed_size);
	if (fresh->fits && filter_make_direct(&fresh->direct, &fresh->filter, site->fixed_size))
		fresh->direct_number = number;
	fresh->before = have;
	if (compare_exchange(newest, &have, fresh)) /* release: all of it, then the pointer */
		return fresh;
	munmap(fresh, LINKED_BYTES); /* another thread, or a handler of ours, has linked one */
	return find(s, site, number);
}

bool filters_prepare(struct session *s, const struct duet_i_site *site, uint32_t number)
{
	const struct linked_filter *l = find(s, site, number);

	return l && l->fits;
}

bool filters_pass(struct session *s, const struct duet_i_site *site, uint32_t number,
		  const void *payload, size_t size, const void *ip)
{
	struct own_source source; /* few filters need `text`: it is not cleared */
	const struct linked_filter *l = find(s, site, number);

	source.source = (struct filter_source){ get };
	source.ip = ip;
	if (!l)
		count_lost(s->session_slot); /* without the filter it is unknown whether to
						record it */
	return l && l->fits && filter_run(&l->filter, payload, size, &source.source);
}

enum filters_answer filters_pass_words(struct session *s, const struct duet_i_site *site,
				       uint32_t number, const uint64_t *words, const char *text,
				       const void *ip)
{
	const struct linked_filter *l = load_acquire(&s->filters[site->index]);
	struct own_source source;

	if (unlikely(!l || l->number != number || (text && !l->reads_words)))
		return FILTERS_ASK;
	source.source = (struct filter_source){ get };
	source.ip = ip;
	return l->fits && filter_run_words(&l->filter, words, site->fixed_size, &source.source)
		       ? FILTERS_PASS
		       : FILTERS_REFUSE;
}
