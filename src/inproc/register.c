/* SPDX-License-Identifier: MIT */
/*
 * inproc/register.c - add an object's sites to the control page, and enable those that sessions
 * want.
 *
 * Memory of a session is mapped here and not with the first event, because a program may sandbox
 * itself in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rules/membership.h"
#include "rules/rules.h"
#include "base/runtime.h"
#include "base/schema.h"
#include "inproc/page.h"
#include "inproc/own_probes.h"

/* Codes of marks, never freed; equal codes are stored once, however often a library is loaded. */
struct codes {
	struct codes *next;
	uint32_t used;
	char text[4096 - sizeof(void *) - sizeof(uint32_t)];
};

static char *find_codes(struct codes *block, const char *codes)
{
	for (char *p = block->text; p < block->text + block->used; p += strlen(p) + 1)
		if (!strcmp(p, codes))
			return p;
	return NULL;
}

static char *store_codes(const char *codes)
{
	static struct codes *first, **end = &first;
	size_t n = strlen(codes) + 1;
	struct codes *last = NULL;
	char *stored;

	for (struct codes *b = first; b; last = b, b = b->next) {
		stored = find_codes(b, codes);
		if (stored)
			return stored;
	}
	if (!last || n > sizeof last->text - last->used) {
		last = mmap(NULL, sizeof *last, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (last == MAP_FAILED)
			return NULL;
		*end = last;
		end = &last->next;
	}
	stored = memcpy(last->text + last->used, codes, n);
	last->used += (uint32_t)n;
	return stored;
}

/* "LEVEL CHANNEL:NAME TYPE FIELD ...".  False if it does not fit. */
static bool describe(const struct duet_i_site *s, const char *fields, char *schema, size_t size)
{
	char digits[DECIMAL_BYTES];

	return compose(schema, size, decimal(digits, s->level), " ", s->name, fields, NULL);
}

/* The same for a mark, whose fields come from its format; false also if it cannot be recorded. */
static bool describe_mark(struct duet_i_site *s, char *schema, size_t size)
{
	char codes[1025], words[4096]; /* the plan; 127 fields, some with a precision */

	if (s->kind != DUET_I_MARK ||
	    !mark_schema(s->schema, words, sizeof words, codes + 1, sizeof codes - 1))
		return false;
	*codes = mark_plan(codes + 1, &s->fixed_size);
	s->data[SITE_CODES] = store_codes(codes);
	return s->data[SITE_CODES] && describe(s, words, schema, size);
}

/* A list of patterns between commas. */
static bool list_matches(const char *list, const char *name)
{
	while (*list) {
		const char *end = strchrnul(list, ',');

		if (rules_pattern_matches(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* The environment's request before main; the older names are UST's of 2010. */
static bool environment_wants(const char *name)
{
	const char *trace = secure_getenv("DUET_TRACE"), *events = secure_getenv("DUET_EVENTS");
	const char *old = secure_getenv("UST_TRACE"), *all = secure_getenv("UST_AUTOPROBE");

	if (trace && !strcmp(trace, "1"))
		return list_matches(events && *events ? events : "*", name);
	return old && !strcmp(old, "1") && all && !strcmp(all, "1");
}

/* Events that only the environment requests go to the last session that it names, else to
 * "default". */
static bool is_for_environment(const char *session)
{
	const char *last = strrchr(process.sessions_named, '+');

	last = last ? last + 1 : process.sessions_named;
	return !strcmp(session, *last ? last : "default");
}

/* The byte of the session slot in the event's enable word. */
static uint8_t *enabled_byte(uint32_t event, uint32_t session_slot)
{
	return (uint8_t *)&page_event(process.control, event)->enabled + session_slot;
}

static void disable(struct duet_i_site *begin, struct duet_i_site *end, const struct abi_session *s)
{
	for (struct duet_i_site *site = begin; site < end; site++) {
		uint8_t generation = ABI_GENERATION(s->epoch);

		if (site->data[SITE_KNOWN])
			compare_exchange(enabled_byte(site->index, s->session_slot), &generation,
					 0);
	}
}

/* Enables the events that rules or environment select.  Returns whether there is any. */
static bool enable_wanted(struct duet_i_site *begin, struct duet_i_site *end,
			  const struct abi_session *s)
{
	bool any = false, for_environment = is_for_environment(s->name);
	struct self self;

	selector_of_self(&self, selector_letters(s->rules, s->rules_size));
	for (struct duet_i_site *site = begin; site < end; site++) {
		struct rules_verdict v;

		if (!site->data[SITE_KNOWN])
			continue;
		v = rules_judge(s->rules, s->rules_size, site->name, site->level, &self.selector);
		if (!v.wanted && !(for_environment && environment_wants(site->name)))
			continue;
		if (!any)
			store(&process.control->session_slots[s->session_slot].epoch, s->epoch);
		store(&page_event(process.control, site->index)->routing[s->session_slot],
		      v.routing);
		store_release(enabled_byte(site->index, s->session_slot), ABI_GENERATION(s->epoch));
		any = true;
	}
	return any;
}

/* Does the work that may be forbidden at the first event. */
static void prepare_early(struct duet_i_site *begin, struct duet_i_site *end,
			  struct session *session)
{
	if (!session)
		return;
	if (!thread_context)
		thread_context = thread_context_make();
	for (struct duet_i_site *site = begin; site < end; site++) {
		const struct abi_control_event *e = page_event(process.control, site->index);
		uint32_t filter =
			site->data[SITE_KNOWN]
				? ABI_ROUTING_FILTER(load(&e->routing[session->session_slot]))
				: 0;

		if (filter && ABI_ENABLED(load(&e->enabled), session->session_slot))
			filters_prepare(session, site, filter);
	}
}

static bool has_calls; /* a session does */

/* Whether the only rule of the session is the one for all events. */
static bool asks_for_all(const struct abi_session *s)
{
	return s->rules_size == sizeof "+*" && !memcmp(s->rules, "+*", sizeof "+*");
}

/* Whether no rule has conditions on programs, which take system calls to test, or a filter: a collector
 * compares filters with the control page as soon as a program requests the memory. */
static bool has_plain_rules(const struct abi_session *s)
{
	const char *p = s->rules, *all = p + s->rules_size;

	for (; p < all; p += strnlen(p, (size_t)(all - p)) + 1)
		if (*p != '+' && *p != '!' && *p != '@')
			return false;
	return true;
}

/*
 * Enables events for the session @name, and maps its memory at once.  At the first event it may be
 * too late: seccomp, chroot, no descriptor left.  False if the session ended meanwhile.
 */
static bool enable_for(const char *name, int dir, struct duet_i_site *begin,
		       struct duet_i_site *end)
{
	struct session_file f;
	bool any, current = true;

	if (session_read(&f, dir, name))
		return true; /* it begins or ends: it does not record */
	has_calls |= f.session->has_calls;
	if (!has_plain_rules(f.session))
		session_expect_none(f.session->epoch); /* it has got them since */
	any = member_of(process.sessions_named, f.session->name, f.session->is_private);
	process.has_patterns |= any && !asks_for_all(f.session);
	any = any && enable_wanted(begin, end, f.session);
	/*
	 * [E] A collector that ends removes its file, then disables the events that it finds
	 * enabled.  If we were too late for it to find ours, we disable them: pairs with
	 * session_withdraw().
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (any && !session_is_current(&f, dir)) {
		disable(begin, end, f.session);
		current = false;
	} else if (any) {
		prepare_early(begin, end, session_attach_early(f.session));
	}
	session_release(&f);
	return current;
}

enum { SITES_EXPECTED = 8 }; /* of a program with thousands all would take longer than a request */

/* Whether the session will record one of the first sites. */
static bool will_record(const struct abi_session *s, const struct object *o)
{
	const struct selector any = { .name = "", .host = "", .cgroup = "" };

	if (!member_of(process.sessions_named, s->name, s->is_private) || !has_plain_rules(s))
		return false;
	for (struct duet_i_site *i = o->begin; i < o->end && i < o->begin + SITES_EXPECTED; i++)
		if (rules_judge(s->rules, s->rules_size, i->name, i->level, &any).wanted)
			return true;
	return false;
}

static bool expect(int dir, const char *name, const struct object *o)
{
	struct session_file f;
	bool will;

	if (session_read(&f, dir, name))
		return false;
	will = will_record(f.session, o);
	if (will)
		session_request_early(f.session);
	session_release(&f);
	return will;
}

void session_expect(int dir, const struct object *o)
{
	struct abi_session_slots s;

	if (runtime_session_slots(&s, dir))
		for (uint32_t i = 0; i < ABI_SESSIONS; i++)
			if (!ABI_EPOCH_IS_NONE(s.at[i].epoch) && expect(dir, s.at[i].session, o))
				return;
}

/* Does so for all sessions.  False if one has ended meanwhile: another may have its slot. */
static bool enable_for_all(int dir, struct duet_i_site *begin, struct duet_i_site *end)
{
	struct abi_session_slots session_slots;
	bool current = true;

	if (!runtime_session_slots(&session_slots, dir))
		return true;
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (!ABI_EPOCH_IS_NONE(session_slots.at[i].epoch))
			current &= enable_for(session_slots.at[i].session, dir, begin, end);
	return current;
}

/* Attaches the session @name, whatever it wants of this program now.  -EAGAIN: it does not answer. */
static int prepare_for(const char *name, uint32_t session_slot, uint64_t epoch, int dir,
		       bool no_clock)
{
	struct session_file f;
	struct session *s;
	int done = 0;

	if (session_read(&f, dir, name))
		return 0; /* it begins or ends */
	if (member_of(process.sessions_named, f.session->name, f.session->is_private)) {
		s = process.sessions[session_slot];
		if (!s || s->epoch != epoch)
			s = session_attach_now(f.session);
		done = s ? 1 : -EAGAIN;
		if (s && no_clock)
			session_stop_clock(s);
		for (uint32_t i = 0; s && i < process.n_objects; i++)
			prepare_early(process.objects[i].begin, process.objects[i].end, s);
	}
	session_release(&f);
	return done;
}

static int prepare_for_all(int dir, bool no_clock)
{
	struct abi_session_slots session_slots;
	int n = 0, err = 0;

	if (!runtime_session_slots(&session_slots, dir))
		return 0;
	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		uint64_t epoch = session_slots.at[i].epoch;
		int done = ABI_EPOCH_IS_NONE(epoch) ? 0
						    : prepare_for(session_slots.at[i].session, i,
								  epoch, dir, no_clock);

		if (done < 0)
			err = done;
		else
			n += done;
	}
	return err ? err : n;
}

int sessions_prepare(unsigned flags)
{
	bool no_clock = flags & 1;
	int dir = -1, result = -ENODEV;

	if (flags & ~1u)
		return -EINVAL;
	if (no_clock && !getauxval(AT_SYSINFO_EHDR))
		return -ENOTSUP; /* reading a clock is a system call here */
	process_lock();
	process.is_prepared = false;
	if (process_open(&dir, NULL)) {
		process_renew();
		if (!thread_context)
			thread_context = thread_context_make();
		result = prepare_for_all(dir, no_clock);
		process.is_without_clock |= no_clock;
		store(&process.control->is_prepared, process.is_without_clock);
		process.is_prepared = true;
	}
	if (dir >= 0)
		syscall(SYS_close, dir);
	process_unlock();
	return result;
}

/* Under process_lock. */
static void enable_by_rules(int dir, struct duet_i_site *begin, struct duet_i_site *end)
{
	enum { MOST_TIMES = 8 };

	for (int i = 0; i < MOST_TIMES && !enable_for_all(dir, begin, end); i++)
		;
}

static void add_site(struct duet_i_site *s, const char *schema)
{
	int i = page_add_event(process.control, schema, strlen(schema));

	if (i < 0) {
		process.control->n_refused++;
		return;
	}
	s->index = (uint32_t)i;
	s->data[SITE_KNOWN] = s;
	probes_register(s->index, s->name);
	__atomic_store_n(&s->enabled, &page_event(process.control, s->index)->enabled,
			 __ATOMIC_RELEASE);
}

/* Not inlined: few programs need so much stack, and it would cost the others pages of memory. */
static __attribute__((noinline)) void register_at_length(struct duet_i_site *s)
{
	char schema[ABI_SCHEMA_MAX_BYTES];

	if (s->kind == DUET_I_TYPED ? describe(s, s->schema, schema, sizeof schema)
				    : describe_mark(s, schema, sizeof schema))
		add_site(s, schema);
}

static void register_site(struct duet_i_site *s)
{
	bool typed = s->kind == DUET_I_TYPED;
	char schema[512];

	if (s->data[SITE_KNOWN] || (typed && !schema_is_sound((struct schema_text){
						     s->schema, s->schema + strlen(s->schema) })))
		return;
	if (typed && describe(s, s->schema, schema, sizeof schema))
		add_site(s, schema);
	else
		register_at_length(s);
}

/* The first few have a place; for more of them a larger array is mapped. */
static bool add_object(struct duet_i_site *begin, struct duet_i_site *end)
{
	struct object *more;

	if (!process.objects) {
		process.objects = process.few;
		process.room = sizeof process.few / sizeof *process.few;
	}
	if (process.n_objects == process.room) {
		if (process.room == OBJECTS)
			return false;
		more = mmap(NULL, OBJECTS * sizeof *more, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (more == MAP_FAILED)
			return false;
		process.objects = memcpy(more, process.few, sizeof process.few);
		process.room = OBJECTS;
	}
	process.objects[process.n_objects++] = (struct object){ begin, end };
	return true;
}

static void register_object(int dir, struct duet_i_site *begin, struct duet_i_site *end)
{
	process_renew();
	if (!add_object(begin, end)) {
		process.control->n_refused += (uint32_t)(end - begin);
		return;
	}
	for (struct duet_i_site *s = begin; s < end; s++)
		register_site(s);
	enable_by_rules(dir, begin, end);
}

__attribute__((visibility("default"))) void
duet_i_register(struct duet_i_site *begin, struct duet_i_site *end, const struct duet_i_api **api)
{
	const struct object o = { begin, end };
	int dir = -1;

	process_lock();
	__atomic_store_n(api, &duet_api, __ATOMIC_RELEASE);
	/* An object without a site needs only the functions: duet/context.h. */
	if (begin < end && process_open(&dir, &o))
		register_object(dir, begin, end);
	session_expect_none(0);
	if (dir >= 0)
		syscall(SYS_close, dir);
	process_unlock();
	if (has_calls && calls_wanted)
		calls_wanted();
}

__attribute__((visibility("default"))) void duet_i_unregister(struct duet_i_site *begin,
							      struct duet_i_site *end)
{
	(void)end;
	process_lock();
	for (uint32_t i = 0; i < process.n_objects; i++)
		if (process.objects[i].begin == begin) {
			process.objects[i] = process.objects[--process.n_objects];
			break;
		}
	process_unlock();
}
