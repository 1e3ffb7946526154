/* SPDX-License-Identifier: MIT */
/*
 * inproc/process.c - the control page of this program, its events, and what fork does to them.
 */
#include "inproc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/pattern.h"
#include "base/runtime.h"
#include "base/schema.h"
#include "ring/rseq.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

struct process process;
__thread uint64_t thread_context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t mask_before; /* under the lock */

/* A signal handler that forks, or loads a library, must not find the lock held by who it interrupted.
 * What the kernel sends because of the instruction itself stays as it is. */
void process_lock(void)
{
	static const int synchronous[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	sigset_t block, before;

	sigfillset(&block);
	for (unsigned i = 0; i < sizeof synchronous / sizeof *synchronous; i++)
		sigdelset(&block, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	pthread_mutex_lock(&lock);
	mask_before = before;
}

void process_unlock(void)
{
	sigset_t before = mask_before;

	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static uint32_t seccomp_mode(void)
{
	long mode = syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);

	return mode < 0 ? 0 : (uint32_t)mode;
}

bool process_may_call(void)
{
	if (process.seccomp_at_start || !seccomp_mode())
		return true;
	store(&process.control->dormant, ABI_DORMANT_SECCOMP);
	return false;
}

static uint64_t boottime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Makes sure that writing there cannot end in SIGBUS on a full file system. */
static bool reserve(void *at, size_t size)
{
	uintptr_t begin = (uintptr_t)at & ~(uintptr_t)4095, end = (uintptr_t)at + size;

	return !madvise((void *)begin, end - begin, MADV_POPULATE_WRITE) || errno == EINVAL;
}

static void control_file_name(char name[32])
{
	snprintf(name, 32, "app-%d", (int)syscall(SYS_getpid));
}

/* What the page in the way counts as lost: nobody has told it yet. */
static uint64_t untold_losses(int dir, const char *name)
{
	int fd = (int)syscall(SYS_openat, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	uint64_t lost = 0;

	if (fd < 0)
		return 0;
	if (syscall(SYS_pread64, fd, &lost, sizeof lost, (off_t)offsetof(struct abi_control, lost)) !=
	    (ssize_t)sizeof lost)
		lost = 0;
	syscall(SYS_close, fd);
	return lost;
}

/* A page file left by the program that exec replaced, or by a namesake that is dead, is in the way. */
static int create_control_file(int dir, const char *name, uint64_t *lost)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = (int)syscall(SYS_openat, dir, name, flags, 0600);

	if (fd < 0 && errno == EEXIST) {
		*lost = untold_losses(dir, name);
		unlinkat(dir, name, 0);
		fd = (int)syscall(SYS_openat, dir, name, flags, 0600);
	}
	return fd;
}

/* `ulimit -f`: beyond it ftruncate does not just fail, it kills. */
static bool may_have_file(uint64_t size)
{
	struct rlimit limit;

	return !syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) && limit.rlim_cur >= size;
}

static struct abi_control *map_control_file(int fd)
{
	struct abi_control *c;

	if (syscall(SYS_ftruncate, fd, (off_t)ABI_CONTROL_BYTES))
		return NULL;
	c = mmap(NULL, ABI_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		return NULL;
	if (reserve(c, sizeof *c))
		return c;
	munmap(c, ABI_CONTROL_BYTES);
	return NULL;
}

/* NULL if that fails; then no file is left either. */
static struct abi_control *map_new_control(void)
{
	int dir = may_have_file(ABI_CONTROL_BYTES) ? runtime_dir_open(true) : -1, fd;
	struct abi_control *c = NULL;
	uint64_t lost = 0;
	char name[32];

	if (dir < 0)
		return NULL;
	control_file_name(name);
	fd = create_control_file(dir, name, &lost);
	if (fd >= 0) {
		c = map_control_file(fd);
		if (!c)
			unlinkat(dir, name, 0);
		syscall(SYS_close, fd);
	}
	syscall(SYS_close, dir);
	if (c)
		c->lost = lost;
	return c;
}

static void remove_control_file(void)
{
	char path[512], name[32];

	control_file_name(name);
	if (runtime_path(path, sizeof path, name))
		unlink(path);
}

/* Takes back what map_new_control made. */
static void drop_control(struct abi_control *c)
{
	remove_control_file();
	munmap(c, ABI_CONTROL_BYTES);
}

static void use_control(struct abi_control *c)
{
	process.events = (struct abi_control_event *)((char *)c + ABI_CONTROL_EVENTS_OFFSET);
	process.text = (char *)c + ABI_CONTROL_TEXT_OFFSET;
	process.control = c;
}

/* Before libc is initialised it does not know the name; the kernel does, in 15 characters. */
static void fill_program(char program[ABI_NAME_BYTES])
{
	snprintf(program, ABI_NAME_BYTES, "%s", program_invocation_short_name);
	if (!*program)
		syscall(SYS_prctl, PR_GET_NAME, program, 0, 0, 0);
}

static void fill_header(struct abi_control *c)
{
	c->version = ABI_CONTROL_VERSION;
	c->pid = (uint32_t)syscall(SYS_getpid);
	c->registered_ns = boottime_ns();
	fill_program(c->program);
	store_release(&c->magic, ABI_CONTROL_MAGIC);
}

/*
 * A forked child shares its parent's page until it records an event, or registers an object: most
 * children exec or end before, and a page of their own would double the price of fork.
 */
static void before_fork(void)
{
	process_lock();
}

static void after_fork(void)
{
	process_unlock();
}

static bool make_guard(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	if (madvise(page, 4096, MADV_WIPEONFORK)) {
		munmap(page, 4096);
		return false;
	}
	process.guard = page;
	store(process.guard, GUARD_OK);
	return true;
}

bool process_open(void)
{
	static bool tried;
	struct abi_control *c;

	if (tried)
		return process.control;
	tried = true;
	if (getauxval(AT_SECURE) || !make_guard())
		return false;
	c = map_new_control();
	if (!c)
		return false;
	rseq_init();
	process.seccomp_at_start = seccomp_mode();
	process.pid = (uint32_t)syscall(SYS_getpid);
	fill_header(c);
	use_control(c);
	pthread_atfork(before_fork, after_fork, after_fork);
	return true;
}

/* Copies events and texts of the page inherited from the parent into one of our own. */
static bool copy_events(struct abi_control *to, const struct abi_control *from)
{
	uint32_t n = load_acquire(&from->n_events), text = load(&from->text_used);
	const char *f = (const char *)from;
	char *t = (char *)to;

	if (n > ABI_EVENTS || text > ABI_CONTROL_TEXT_BYTES ||
	    !reserve(t + ABI_CONTROL_EVENTS_OFFSET, n * sizeof(struct abi_control_event)) ||
	    !reserve(t + ABI_CONTROL_TEXT_OFFSET, text))
		return false;
	memcpy(t + ABI_CONTROL_EVENTS_OFFSET, f + ABI_CONTROL_EVENTS_OFFSET,
	       n * sizeof(struct abi_control_event));
	memcpy(t + ABI_CONTROL_TEXT_OFFSET, f + ABI_CONTROL_TEXT_OFFSET, text);
	memcpy(to->session, from->session, sizeof to->session);
	to->text_used = text;
	to->n_refused = from->n_refused;
	store_release(&to->n_events, n);
	return true;
}

static void point_sites_to(struct abi_control_event *events)
{
	for (uint32_t i = 0; i < process.n_objects; i++)
		for (struct duet_i_site *s = process.objects[i].begin; s < process.objects[i].end; s++)
			if (s->data[0])
				__atomic_store_n(&s->enabled, &events[s->index].enabled,
						 __ATOMIC_RELEASE);
}

void process_renew(void)
{
	uint32_t forked = GUARD_FORKED;
	struct abi_control *old = process.control, *c;

	if (!old || !process_may_call() || !compare_exchange(process.guard, &forked, GUARD_BUSY))
		return;
	/* The pool must be joined anew: state words carry the parent's pid.  The old mapping stays:
	 * a signal may have interrupted a writer in it. */
	process.session = NULL;
	process.pid = (uint32_t)syscall(SYS_getpid);
	thread_context = process.pid | (uint64_t)(uint32_t)syscall(SYS_gettid) << 32;
	c = map_new_control();
	if (c && copy_events(c, old)) {
		fill_header(c);
		use_control(c);
		point_sites_to(process.events);
	} else if (c) {
		drop_control(c);
	}
	store_release(process.guard, GUARD_OK);
}

/* The event's line in the control page, added if it is new; -1 if there is no room. */
static int find_or_add_event(const char *schema, size_t size)
{
	struct abi_control *c = process.control;
	uint32_t n = load(&c->n_events), at = load(&c->text_used);

	/* Others may write to the page: nothing in it leads outside. */
	for (uint32_t i = 0; i < n && i < ABI_EVENTS; i++) {
		uint32_t text = load(&process.events[i].schema);

		if (process.events[i].schema_size == size && text <= ABI_CONTROL_TEXT_BYTES - size &&
		    !memcmp(process.text + text, schema, size))
			return (int)i;
	}
	if (n >= ABI_EVENTS || at > ABI_CONTROL_TEXT_BYTES - size ||
	    !reserve(&process.events[n], sizeof process.events[n]) ||
	    !reserve(process.text + at, size))
		return -1;
	memcpy(process.text + at, schema, size);
	process.events[n] = (struct abi_control_event){ .schema = at, .schema_size = (uint32_t)size };
	c->text_used = at + (uint32_t)size;
	store_release(&c->n_events, n + 1);
	return (int)n;
}

/* Codes of marks, for good; each once, however often a library is loaded. */
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

static char *keep_codes(const char *codes)
{
	static struct codes first, *last = &first;
	size_t n = strlen(codes) + 1;
	char *kept;

	for (struct codes *b = &first; b; b = b->next) {
		kept = find_codes(b, codes);
		if (kept)
			return kept;
	}
	if (n > sizeof last->text - last->used) {
		struct codes *more = mmap(NULL, sizeof *more, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more == MAP_FAILED)
			return NULL;
		last->next = more;
		last = more;
	}
	kept = memcpy(last->text + last->used, codes, n);
	last->used += (uint32_t)n;
	return kept;
}

/* "LEVEL CHANNEL:NAME TYPE FIELD ..." of a site; false if it cannot be recorded. */
static bool describe(struct duet_i_site *s, char *schema, size_t size)
{
	char codes[128], words[4096];
	int n;

	if (s->kind == DUET_I_TYPED) {
		n = snprintf(schema, size, "%u %s%s", s->level, s->name, s->schema);
		return n > 0 && (size_t)n < size &&
		       schema_is_sound((struct schema_text){ s->schema, s->schema + strlen(s->schema) });
	}
	if (s->kind != DUET_I_MARK ||
	    !mark_schema(s->schema, words, sizeof words, codes, sizeof codes))
		return false;
	s->data[1] = keep_codes(codes);
	if (!s->data[1])
		return false;
	n = snprintf(schema, size, "%u %s%s", s->level, s->name, words);
	return n > 0 && (size_t)n < size;
}

static bool rule_matches(const char *rule, const char *rule_end, const char *name)
{
	char channel[256];
	const char *colon = strchr(name, ':');

	if (!colon || (size_t)(colon - name) >= sizeof channel)
		return false;
	memcpy(channel, name, (size_t)(colon - name));
	channel[colon - name] = 0;
	return pattern_matches_event(rule, rule_end, channel, colon + 1);
}

/* Patterns between commas. */
static bool list_matches(const char *list, const char *name)
{
	while (*list) {
		const char *end = strchrnul(list, ',');

		if (rule_matches(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* What the environment asks for, from before main; the older names are UST's of 2010. */
static bool environment_wants(const char *name)
{
	const char *trace = secure_getenv("DUET_TRACE"), *events = secure_getenv("DUET_EVENTS");
	const char *old = secure_getenv("UST_TRACE"), *all = secure_getenv("UST_AUTOPROBE");

	if (trace && !strcmp(trace, "1"))
		return list_matches(events && *events ? events : "*", name);
	return old && !strcmp(old, "1") && all && !strcmp(all, "1");
}

/* The last rule that matches decides; one that begins with '!' excludes. */
static bool session_wants(const struct abi_session *s, const char *name)
{
	bool wanted = false;

	for (uint32_t i = 0; i < s->rules_size;) {
		const char *rule = s->rules + i, *end = memchr(rule, 0, s->rules_size - i);
		bool excludes = *rule == '!';

		if (!end)
			break;
		if (rule_matches(rule + excludes, end, name))
			wanted = !excludes;
		i += (uint32_t)(end - rule) + 1;
	}
	return wanted;
}

static void disable(struct duet_i_site *begin, struct duet_i_site *end, uint32_t epoch)
{
	for (struct duet_i_site *s = begin; s < end; s++) {
		uint32_t theirs = epoch;

		if (s->data[0])
			compare_exchange(&process.events[s->index].enabled, &theirs, 0);
	}
}

/*
 * What a session wants it gets a pool for at once, not with the first event: by then the program may
 * have locked itself up (seccomp, chroot, no descriptor left).
 */
static void enable_as_ruled(struct duet_i_site *begin, struct duet_i_site *end)
{
	struct abi_session s, again;
	bool any = false;

	if (session_read(session_name(), &s))
		return; /* nobody records */
	for (struct duet_i_site *site = begin; site < end; site++) {
		if (!site->data[0] || !(session_wants(&s, site->name) || environment_wants(site->name)))
			continue;
		if (strncmp(process.control->session, s.name, sizeof s.name))
			memcpy(process.control->session, s.name, sizeof s.name);
		store_release(&process.events[site->index].enabled, s.epoch);
		any = true;
	}
	/*
	 * [E] A collector that ends takes its file away, then switches off what it finds on.  What it
	 * did not find, because we were late, is ours to switch off: pairs with session_withdraw().
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (any && (session_read(session_name(), &again) || again.epoch != s.epoch))
		disable(begin, end, s.epoch);
	else if (any && session_join_early(s.epoch) && !thread_context)
		thread_context = thread_context_make();
}

static void register_site(struct duet_i_site *s)
{
	char schema[ABI_SCHEMA_MAX_BYTES];
	int i;

	if (s->data[0] || !describe(s, schema, sizeof schema))
		return;
	i = find_or_add_event(schema, strlen(schema));
	if (i < 0) {
		process.control->n_refused++;
		return;
	}
	s->index = (uint32_t)i;
	s->data[0] = s; /* known */
	__atomic_store_n(&s->enabled, &process.events[i].enabled, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) void duet_i_register(struct duet_i_site *begin,
							    struct duet_i_site *end,
							    const struct duet_i_api **api)
{
	process_lock();
	__atomic_store_n(api, &duet_api, __ATOMIC_RELEASE);
	if (process_open() && process.n_objects < OBJECTS) {
		process_renew();
		process.objects[process.n_objects++] = (struct object){ begin, end };
		for (struct duet_i_site *s = begin; s < end; s++)
			register_site(s);
		enable_as_ruled(begin, end);
	}
	process_unlock();
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

/* The page goes with the program, unless it has losses to tell: then the collector takes it away.
 * What was killed is swept up by the next duet command. */
static __attribute__((destructor)) void process_close(void)
{
	if (process.control && process.control->pid == (uint32_t)syscall(SYS_getpid) &&
	    !load(&process.control->lost))
		remove_control_file();
}
