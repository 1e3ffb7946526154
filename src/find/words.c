/* SPDX-License-Identifier: MIT */
/*
 * find/words.c - the states in words: why a program is not recorded, and what to do.
 *
 * Each text is one printable line.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abi/control.h"
#include "find/internal.h"

static const char *const names[N_FIND_STATES] = {
	[FIND_RECORDABLE] = "recordable",
	[FIND_NOT_THERE] = "not-there",
	[FIND_ZOMBIE] = "zombie",
	[FIND_IS_THREAD] = "thread",
	[FIND_IS_KERNEL] = "kernel-thread",
	[FIND_HIDDEN] = "hidden",
	[FIND_OTHER_PROCESSOR] = "other-processor",
	[FIND_NO_SITES] = "no-sites",
	[FIND_ONLY_MARKS] = "only-usdt",
	[FIND_ONLY_LTTNG] = "only-lttng-ust",
	[FIND_STATIC] = "static",
	[FIND_OTHER_LIBC] = "other-libc",
	[FIND_NO_LIBRARY] = "no-library",
	[FIND_LIBRARY_IS_NEW] = "library-is-new",
	[FIND_SECURE] = "secure",
	[FIND_FILE_LIMIT] = "file-limit",
	[FIND_BAD_DIRECTORY] = "bad-directory",
	[FIND_NO_PAGE] = "no-page",
	[FIND_PAGE_REMOVED] = "page-removed",
	[FIND_OTHER_LAYOUT] = "other-layout",
	[FIND_OTHER_USER] = "other-user",
	[FIND_CONTAINER] = "container",
	[FIND_OTHER_DIRECTORY] = "other-directory",
	[FIND_SANDBOXED] = "sandboxed",
	[FIND_NO_CLOCK] = "no-clock",
};

const char *find_state_name(enum find_state state)
{
	assert(state < N_FIND_STATES && names[state]);
	return names[state];
}

/* The two lines of an answer. */
struct lines {
	struct text *why, *remedy;
};

static void add(struct text *t, const char *text)
{
	text_add_printable(t, text, strlen(text));
}

/* "1 trace site", "2 trace sites". */
static void add_count(struct text *t, uint32_t n, const char *noun)
{
	text_addf(t, "%" PRIu32 " %s%s", n, noun, n == 1 ? "" : "s");
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *find_command_name(const char *path)
{
	const char *name = base_of(path), *list = getenv("PATH");
	char place[PATH_MAX];
	struct stat its, found;

	if (name == path || stat(path, &its))
		return path;
	for (const char *p = list ? list : "/usr/bin:/bin"; p;) {
		const char *end = strchrnul(p, ':');

		snprintf(place, sizeof place, "%.*s/%s", (int)(end - p), p, name);
		if (end > p && !stat(place, &found))
			return found.st_ino == its.st_ino && found.st_dev == its.st_dev ? name
											: path;
		p = *end ? end + 1 : NULL;
	}
	return path;
}

/* ---------------------------------------------------------------- without sites */

/* A program as the remedies need it. */
struct subject {
	const char *file;  /* for -u and --graph */
	const char *marks; /* the file that has marks */
	const struct elf_program *program;
	pid_t pid; /* 0: a file */
	bool loads_calls;
	const struct find_by *by;
};

static void add_record(struct text *t, const struct subject *s)
{
	if (s->pid)
		text_addf(t, "duet record -p %d", (int)s->pid);
	else
		text_addf(t, "duet record");
}

/* Those that need nothing of the program. */
static void add_what_works(struct text *t, const struct subject *s)
{
	const char *name = find_command_name(s->file);

	if (s->program->has_symbols && s->loads_calls) {
		text_addf(t, "--graph '");
		add(t, name);
		text_addf(t, ":*' records its functions, ");
	}
	text_addf(t, "-u ");
	add(t, name);
	text_addf(t, s->program->has_symbols
			     ? ":FUNCTION one of them"
			     : ":FUNCTION records an exported function (it is stripped)");
	if (!s->by->records_kernel)
		text_addf(t, ", -k the kernel's work for it");
}

static void say_no_sites(const struct lines *l, const struct subject *s)
{
	text_addf(l->why, s->pid ? "has no trace sites (it is not instrumented)"
				 : "has no trace sites of its own (it is not instrumented)");
	add_what_works(l->remedy, s);
}

static void say_marks(const struct lines *l, const struct subject *s)
{
	text_addf(l->why, "has no trace sites, but ");
	add_count(l->why, s->program->n_marks, "USDT mark");
	if (strcmp(s->marks, s->file) != 0) {
		text_addf(l->why, " in ");
		add(l->why, base_of(s->marks));
	}
	add_record(l->remedy, s);
	text_addf(l->remedy, " --usdt ");
	add(l->remedy, find_command_name(s->marks));
	text_addf(l->remedy, ":");
	add(l->remedy, s->program->mark);
	if (s->program->n_marks > 1) {
		text_addf(l->remedy, " records the first, duet list --usdt ");
		add(l->remedy, find_command_name(s->marks));
		text_addf(l->remedy, " lists all; ");
	} else {
		text_addf(l->remedy, " records it; ");
	}
	add_what_works(l->remedy, s);
}

static void say_lttng(const struct lines *l, const struct subject *s)
{
	text_addf(l->why, "is made for LTTng-UST");
	if (s->program->n_lttng) {
		text_addf(l->why, " (");
		add_count(l->why, s->program->n_lttng, "tracepoint");
		text_addf(l->why, ")");
	}
	text_addf(l->why, ", and has no trace sites of duet");
	text_addf(l->remedy, "build it with <duet/duet.h> (man 3 duet); as it is, ");
	add_what_works(l->remedy, s);
}

/* ---------------------------------------------------------------- without libduet */

static void add_restart(struct text *t, pid_t pid)
{
	text_addf(t, pid ? "then restart it" : "then start it");
}

/* How the loader comes to find our libduet. */
static void say_how_to_find(struct text *t, const struct find_by *by, pid_t pid,
			    const struct find_loader *l, bool is_contained)
{
	char dir[PATH_MAX], given[PATH_MAX];

	if (is_contained) {
		text_addf(t, "install libduet0 in its container, ");
	} else if (!by->library) {
		text_addf(t, "install libduet0, ");
	} else if (l->is_named) {
		text_addf(t, "correct DUET_LIBRARY, ");
	} else {
		snprintf(given, sizeof given, "%.*s",
			 (int)(strrchr(by->library, '/') - by->library), by->library);
		if (!realpath(given, dir))
			snprintf(dir, sizeof dir, "%s", given);
		if (find_loader_is_configured(dir)) {
			text_addf(t, "run ldconfig as root, ");
		} else {
			text_addf(t, "set LD_LIBRARY_PATH=");
			add(t, dir);
			text_addf(t, ", or put that directory into /etc/ld.so.conf.d/duet.conf "
				     "and run ldconfig, ");
		}
	}
	add_restart(t, pid);
}

static void say_no_library(const struct lines *l, const struct subject *s, const struct find_by *by,
			   const struct find_loader *loader, bool is_contained)
{
	text_addf(l->why, "has ");
	add_count(l->why, s->program->n_sites, "trace site");
	text_addf(l->why, ", but %s no libduet.so.0 (looked in ",
		  s->pid ? "loaded" : "its loader finds");
	text_add(l->why, loader->looked.bytes ? loader->looked.bytes : "", loader->looked.size);
	text_addf(l->why, ")");
	say_how_to_find(l->remedy, by, s->pid, loader, is_contained);
	if (!s->pid && by->library)
		text_addf(l->remedy, "; `duet record -- COMMAND` passes it libduet itself");
}

static void say_static(const struct lines *l, const struct subject *s)
{
	text_addf(l->why, "has ");
	add_count(l->why, s->program->n_sites, "trace site");
	text_addf(l->why, ", but is linked statically, and so loads no libduet");
	text_addf(l->remedy, "link it dynamically; as it is, ");
	add_what_works(l->remedy, s);
}

static void say_other_libc(const struct lines *l, const struct subject *s)
{
	text_addf(l->why, "has ");
	add_count(l->why, s->program->n_sites, "trace site");
	text_addf(l->why, ", but its C library is musl, and libduet needs glibc");
	text_addf(l->remedy, "build it for glibc; as it is, ");
	add_what_works(l->remedy, s);
}

/* ---------------------------------------------------------------- without a page of ours */

static void say_bad_directory(const struct lines *l, const struct find_process *p)
{
	text_addf(l->why, "has libduet, but its runtime directory ");
	add(l->why, p->directory);
	text_addf(l->why, " cannot be used (%s)", p->why);
	text_addf(l->remedy,
		  "make that directory its user's own, mode 0700, or start it and duet with "
		  "DUET_RUNTIME_DIR set to another one");
}

static void say_other_user(const struct lines *l, const struct find_process *p,
			   const struct find_by *by)
{
	text_addf(l->why, "belongs to another user (uid %u)", (unsigned)p->uid);
	text_addf(l->remedy,
		  "%sduet record -p %d records it, --all-users --uid %u all of that user's",
		  by->uid ? "run duet as that user, or as root: " : "", (int)p->pid,
		  (unsigned)p->uid);
}

static void say_container(const struct lines *l, const struct find_process *p,
			  const struct find_by *by)
{
	text_addf(l->why, "runs in container ");
	add(l->why, p->container);
	text_addf(l->why, ", with a /dev/shm of its own");
	text_addf(l->remedy, "%sduet record -p %d records it, --containers --container ",
		  by->uid ? "run duet in the container, or as root outside: " : "", (int)p->pid);
	add(l->remedy, p->container);
	text_addf(l->remedy, " all of it");
}

static void say_other_directory(const struct lines *l, const struct find_process *p,
				const struct find_by *by)
{
	text_addf(l->why, "uses the runtime directory ");
	add(l->why, p->directory);
	text_addf(l->why, ", duet uses ");
	add(l->why, by->directory);
	text_addf(l->remedy, "run duet with DUET_RUNTIME_DIR=");
	add(l->remedy, p->directory);
}

static void say_other_layout(const struct lines *l, const struct find_process *p)
{
	text_addf(l->why,
		  "has a libduet of another version (layout %" PRIu32 " of the control page, "
		  "duet's is %u; ",
		  p->layout, ABI_CONTROL_VERSION);
	add(l->why, p->library);
	text_addf(l->why, p->library_is_removed ? ", replaced since)" : ")");
	text_addf(l->remedy,
		  p->library_is_removed
			  ? "restart it: then it loads the libduet of now"
			  : "use the duet of that version, or install ours and restart it");
}

static void say_hidden(const struct lines *l, const struct find_process *p,
		       const struct find_by *by)
{
	if (p->uid != by->uid && p->uid != (uid_t)-1) {
		text_addf(l->why, "belongs to another user (uid %u), and /proc does not show it",
			  (unsigned)p->uid);
		text_addf(l->remedy, "run duet as that user, or as root: duet record -p %d",
			  (int)p->pid);
	} else {
		text_addf(l->why, "is not shown by /proc (it is set-user-ID, or hides itself by "
				  "PR_SET_DUMPABLE)");
		text_addf(l->remedy, by->uid ? "run duet doctor as root"
					     : "it is out of reach from this container");
	}
}

static void say_secure(const struct lines *l)
{
	text_addf(l->why, "runs with rights of its file (set-user-ID or capabilities), so libduet "
			  "leaves it alone");
	text_addf(l->remedy, "start it by a service that gives it these rights instead; -k and -u "
			     "record it as it is");
}

/* ---------------------------------------------------------------- all of them */

static void say_page(const struct lines *l, const struct find_process *p, const struct find_by *by)
{
	switch (p->state) {
	case FIND_SECURE:
		say_secure(l);
		break;
	case FIND_FILE_LIMIT:
		text_addf(l->why,
			  "runs under ulimit -f of %" PRIu64
			  " bytes, too few for its control page (%d)",
			  p->limit, ABI_CONTROL_BYTES);
		text_addf(l->remedy, "start it with a larger limit: ulimit -f unlimited");
		break;
	case FIND_BAD_DIRECTORY:
		say_bad_directory(l, p);
		break;
	case FIND_NO_PAGE:
		text_addf(l->why, "has libduet, but no control page in ");
		add(l->why, p->directory);
		text_addf(l->remedy, "restart it; if that does not help, its sandbox forbids it");
		break;
	case FIND_PAGE_REMOVED:
		text_addf(l->why, "lost its control page, as ");
		add(l->why, p->directory);
		text_addf(l->why, " was emptied while it ran");
		text_addf(l->remedy, "restart it (RemoveIPC=no in logind.conf keeps /dev/shm at "
				     "the user's logout)");
		break;
	case FIND_OTHER_LAYOUT:
		say_other_layout(l, p);
		break;
	case FIND_OTHER_USER:
		say_other_user(l, p, by);
		break;
	case FIND_CONTAINER:
		say_container(l, p, by);
		break;
	case FIND_OTHER_DIRECTORY:
		say_other_directory(l, p, by);
		break;
	case FIND_SANDBOXED:
		text_addf(l->why,
			  "is dormant, as it entered a seccomp filter before it was recorded");
		text_addf(l->remedy, "record it from its start: duet record -- COMMAND");
		break;
	case FIND_NO_CLOCK:
		text_addf(l->why, "is dormant, as it may not read the time stamp counter");
		text_addf(l->remedy, "see PR_SET_TSC in prctl(2), or record with --clock mono");
		break;
	default:
		break;
	}
}

static void say_no_program(const struct lines *l, const struct find_process *p,
			   const struct find_by *by)
{
	if (p->state == FIND_NOT_THERE) {
		text_addf(l->why, "does not exist");
		text_addf(l->remedy, "duet list shows the traced programs");
	} else if (p->state == FIND_ZOMBIE) {
		text_addf(l->why, "has ended already (a zombie)");
		text_addf(l->remedy, "its parent has yet to wait for it");
	} else if (p->state == FIND_IS_THREAD) {
		text_addf(l->why, "is a thread of process %d", (int)p->leader);
		text_addf(l->remedy, "give that number");
	} else if (p->state == FIND_IS_KERNEL) {
		text_addf(l->why, "is a thread of the kernel");
		text_addf(l->remedy, "-k records it");
	} else {
		say_hidden(l, p, by);
	}
}

static void say_other_processor(const struct lines *l, const struct elf_program *e)
{
	text_addf(l->why, e->is_64bit ? "is made for another processor" : "is a 32-bit program");
	text_addf(l->remedy, "libduet and -u are for 64-bit programs; -k records it");
}

static void say_recordable(const struct lines *l, uint32_t n_events, uint32_t n_refused)
{
	text_addf(l->why, "is recordable: ");
	add_count(l->why, n_events, "event");
	if (!n_refused)
		return;
	text_addf(l->why, "; %" PRIu32 " more sites stay dormant", n_refused);
	text_addf(l->remedy, "a program has room for %d events", ABI_EVENTS);
}

void find_process_words(const struct find_process *p, const struct find_by *by, struct text *why,
			struct text *remedy)
{
	const struct lines l = { why, remedy };
	const struct subject s = { .file = p->file,
				   .marks = p->marks_in,
				   .program = &p->program,
				   .by = by,
				   .pid = p->pid,
				   .loads_calls = p->loads_calls };

	if (p->state == FIND_RECORDABLE)
		say_recordable(&l, p->n_events, p->n_refused);
	else if (p->state <= FIND_HIDDEN)
		say_no_program(&l, p, by);
	else if (p->state == FIND_OTHER_PROCESSOR)
		say_other_processor(&l, &p->program);
	else if (p->state == FIND_NO_SITES)
		say_no_sites(&l, &s);
	else if (p->state == FIND_ONLY_MARKS)
		say_marks(&l, &s);
	else if (p->state == FIND_ONLY_LTTNG)
		say_lttng(&l, &s);
	else if (p->state == FIND_STATIC)
		say_static(&l, &s);
	else if (p->state == FIND_OTHER_LIBC)
		say_other_libc(&l, &s);
	else if (p->state == FIND_NO_LIBRARY)
		say_no_library(&l, &s, by, &p->loader, *p->container);
	else if (p->state == FIND_LIBRARY_IS_NEW) {
		text_addf(why, "has ");
		add_count(why, p->program.n_sites, "trace site");
		text_addf(why, ", but started before its loader could find libduet.so.0, now at ");
		add(why, p->loader.found);
		text_addf(remedy, "restart it");
	} else {
		say_page(&l, p, by);
	}
}

void find_file_words(const struct find_file *f, const struct find_by *by, struct text *why,
		     struct text *remedy)
{
	const struct lines l = { why, remedy };
	const struct subject s = { .file = f->path,
				   .marks = f->path,
				   .program = &f->program,
				   .by = by,
				   .loads_calls = !f->program.is_static };

	if (f->state == FIND_RECORDABLE) {
		text_addf(why, "is recordable: ");
		add_count(why, f->program.n_sites, "trace site");
		text_addf(why, "; its loader finds ");
		add(why, f->loader.found);
	} else if (f->state == FIND_OTHER_PROCESSOR) {
		say_other_processor(&l, &f->program);
	} else if (f->state == FIND_NO_SITES) {
		say_no_sites(&l, &s);
	} else if (f->state == FIND_ONLY_MARKS) {
		say_marks(&l, &s);
	} else if (f->state == FIND_ONLY_LTTNG) {
		say_lttng(&l, &s);
	} else if (f->state == FIND_STATIC) {
		say_static(&l, &s);
	} else if (f->state == FIND_SECURE) {
		say_secure(&l);
	} else if (f->state == FIND_OTHER_LIBC) {
		say_other_libc(&l, &s);
	} else {
		say_no_library(&l, &s, by, &f->loader, false);
	}
}
