/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/fds.c - tables of descriptors by process, and the calls that change them. */
#include "analysis/syscalls/fds.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/close_range.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "analysis/syscalls/memory.h"
#include "base/text.h"

enum does {
	DOES_OPEN,
	DOES_DUP,
	DOES_FCNTL,
	DOES_CLOSE,
	DOES_CLOSE_RANGE,
	DOES_ADDRESS, /* its socket has an address from then on */
	DOES_ACCEPT,
	DOES_OPEN_TWO, /* an array of two descriptors, at its exit */
	DOES_CHDIR,    /* by a path, or by a descriptor */
	DOES_BPF,      /* its command decides */
	DOES_LISTEN,   /* its socket may get an address */
	DOES_UNLINK,   /* a path has no file from then on */
	DOES_RULESET,  /* its flags decide */
	DOES_SEND,     /* the same, but it is called so often that it is not recorded for that */
};

enum { NO_FLAGS = -1, NO_PATH = -1, CLOEXEC = -2 };

/* Arguments by position. Most flags for "closed by exec" have the value of O_CLOEXEC; CLOEXEC: it always
 * is. */
struct fd_call {
	const char *call;
	enum does does;
	int8_t flags;
	uint32_t cloexec_bit; /* the bit in these flags */
	int8_t path, dir;
	const char *kind;
};

static const struct fd_call meanings[] = {
	{ "open", DOES_OPEN, 1, O_CLOEXEC, 0, NO_PATH, NULL },
	{ "openat", DOES_OPEN, 2, O_CLOEXEC, 1, 0, NULL },
	{ "openat2", DOES_OPEN, NO_FLAGS, 0, 1, 0, NULL },
	{ "open_tree", DOES_OPEN, 2, O_CLOEXEC, 1, 0, NULL },
	{ "bpf", DOES_BPF, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "creat", DOES_OPEN, NO_FLAGS, 0, 0, NO_PATH, NULL },
	{ "open_by_handle_at", DOES_OPEN, 2, O_CLOEXEC, NO_PATH, NO_PATH, NULL },
	{ "socket", DOES_OPEN, 1, O_CLOEXEC, NO_PATH, NO_PATH, "socket" },
	{ "accept", DOES_ACCEPT, NO_FLAGS, 0, NO_PATH, NO_PATH, "socket" },
	{ "accept4", DOES_ACCEPT, 3, O_CLOEXEC, NO_PATH, NO_PATH, "socket" },
	{ "connect", DOES_ADDRESS, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "listen", DOES_LISTEN, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "sendto", DOES_SEND, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "bind", DOES_ADDRESS, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "pipe", DOES_OPEN_TWO, NO_FLAGS, 0, NO_PATH, NO_PATH, "pipe" },
	{ "pipe2", DOES_OPEN_TWO, 1, O_CLOEXEC, NO_PATH, NO_PATH, "pipe" },
	{ "socketpair", DOES_OPEN_TWO, 1, O_CLOEXEC, NO_PATH, NO_PATH, "socketpair" },
	{ "eventfd", DOES_OPEN, NO_FLAGS, 0, NO_PATH, NO_PATH, "eventfd" },
	{ "eventfd2", DOES_OPEN, 1, O_CLOEXEC, NO_PATH, NO_PATH, "eventfd" },
	{ "timerfd_create", DOES_OPEN, 1, O_CLOEXEC, NO_PATH, NO_PATH, "timerfd" },
	{ "signalfd4", DOES_OPEN, 3, O_CLOEXEC, NO_PATH, NO_PATH, "signalfd" },
	{ "inotify_init", DOES_OPEN, NO_FLAGS, 0, NO_PATH, NO_PATH, "inotify" },
	{ "inotify_init1", DOES_OPEN, 0, O_CLOEXEC, NO_PATH, NO_PATH, "inotify" },
	{ "memfd_create", DOES_OPEN, 1, MFD_CLOEXEC, NO_PATH, NO_PATH, "memfd" },
	{ "epoll_create", DOES_OPEN, NO_FLAGS, 0, NO_PATH, NO_PATH, "epoll" },
	{ "epoll_create1", DOES_OPEN, 0, O_CLOEXEC, NO_PATH, NO_PATH, "epoll" },
	{ "perf_event_open", DOES_OPEN, 4, PERF_FLAG_FD_CLOEXEC, NO_PATH, NO_PATH, "perf_event" },
	{ "pidfd_open", DOES_OPEN, CLOEXEC, 0, NO_PATH, NO_PATH, "pidfd" },
	{ "io_uring_setup", DOES_OPEN, CLOEXEC, 0, NO_PATH, NO_PATH, "io_uring" },
	{ "landlock_create_ruleset", DOES_RULESET, CLOEXEC, 0, NO_PATH, NO_PATH,
	  "landlock-ruleset" },
	{ "unlink", DOES_UNLINK, NO_FLAGS, 0, 0, NO_PATH, NULL },
	{ "unlinkat", DOES_UNLINK, NO_FLAGS, 0, 1, 0, NULL },
	{ "rmdir", DOES_UNLINK, NO_FLAGS, 0, 0, NO_PATH, NULL },
	{ "userfaultfd", DOES_OPEN, 0, O_CLOEXEC, NO_PATH, NO_PATH, "userfaultfd" },
	{ "dup", DOES_DUP, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "dup2", DOES_DUP, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "dup3", DOES_DUP, 2, O_CLOEXEC, NO_PATH, NO_PATH, NULL },
	{ "fcntl", DOES_FCNTL, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "close", DOES_CLOSE, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "chdir", DOES_CHDIR, NO_FLAGS, 0, 0, NO_PATH, NULL },
	{ "fchdir", DOES_CHDIR, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "mq_open", DOES_OPEN, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
	{ "close_range", DOES_CLOSE_RANGE, NO_FLAGS, 0, NO_PATH, NO_PATH, NULL },
};

const struct fd_call *fds_call(const char *call)
{
	for (size_t i = 0; call && i < sizeof meanings / sizeof *meanings; i++)
		if (!strcmp(meanings[i].call, call))
			return &meanings[i];
	return NULL;
}

bool fds_is_needed(const char *call)
{
	const struct fd_call *c = fds_call(call);

	return c && c->does != DOES_SEND;
}

bool fds_gives(const char *call)
{
	const struct fd_call *c = fds_call(call);

	return c && (c->does == DOES_OPEN || c->does == DOES_ACCEPT || c->does == DOES_DUP);
}

const char *fds_bpf_kind(int64_t command)
{
	switch ((uint32_t)command) {
	case BPF_MAP_CREATE:
	case BPF_MAP_GET_FD_BY_ID:
		return "anon_inode:bpf-map";
	case BPF_PROG_LOAD:
	case BPF_PROG_GET_FD_BY_ID:
	case BPF_RAW_TRACEPOINT_OPEN:
		return "anon_inode:bpf-prog";
	case BPF_BTF_LOAD:
	case BPF_BTF_GET_FD_BY_ID:
		return "anon_inode:btf";
	case BPF_LINK_CREATE:
	case BPF_LINK_GET_FD_BY_ID:
		return "anon_inode:bpf_link";
	case BPF_OBJ_GET: /* one of these */
		return "";
	}
	return NULL;
}

const char *fds_kind(const char *call)
{
	const struct fd_call *c = fds_call(call);

	return c ? c->kind : NULL;
}

void fds_fini(struct fds *f)
{
	for (uint32_t i = 0; i < f->n_files; i++) {
		free(f->files[i].name);
		free(f->files[i].socket);
	}
	for (uint32_t i = 0; i < f->n_tables; i++) {
		free(f->tables[i].slots);
		free(f->tables[i].cwd);
	}
	for (uint32_t i = 0; i < f->n_paths; i++)
		free(f->paths[i].bytes);
	free(f->files);
	free(f->tables);
	free(f->paths);
	index_fini(&f->names);
	index_fini(&f->unnamed);
	*f = (struct fds){ 0 };
}

/* ---------------------------------------------------------------- tables and files */

static int64_t add(struct fds *f, const struct fd_file *one)
{
	if (pass_grow(&f->files, &f->n_rooms, f->n_files, sizeof *f->files))
		return -ENOMEM;
	f->files[f->n_files] = *one;
	return f->n_files++;
}

/* The slot of @fd; NULL if there is no memory or @fd is out of range. */
static struct fd_slot *slot(struct fds *f, uint32_t process, int64_t fd)
{
	struct fd_table *t;

	if (fd < 0 || fd >= FDS_MAX ||
	    pass_grow(&f->tables, &f->n_tables, process, sizeof *f->tables))
		return NULL;
	t = &f->tables[process];
	return pass_grow(&t->slots, &t->n, (uint32_t)fd, sizeof *t->slots) ? NULL : &t->slots[fd];
}

static void set(struct fds *f, uint32_t process, int64_t fd, int64_t file, bool is_cloexec)
{
	struct fd_slot *at = file < 0 ? NULL : slot(f, process, fd);

	if (at)
		*at = (struct fd_slot){ (uint32_t)file + 1, is_cloexec };
}

/* The file of a key; @one is added if the key is new. */
static int64_t file_of(struct fds *f, struct index *k, uint64_t a, uint64_t b, uint64_t c,
		       const struct fd_file *one)
{
	uint32_t n = k->n;
	int64_t key = index_find(k, a, b, c, true), file;

	if (key < 0 || (uint32_t)key < n)
		return key < 0 ? key : (int64_t)k->at[key].user;
	file = add(f, one);
	if (file >= 0)
		k->at[key].user = (uint32_t)file;
	return file;
}

static struct fd_file *named(struct fds *f, const char *name, struct index_key **key)
{
	size_t size = strlen(name);
	int64_t at = index_find(&f->names, hash_bytes(name, size), size, 0, false);

	*key = at < 0 ? NULL : &f->names.at[at];
	return at < 0 ? NULL : &f->files[(*key)->user];
}

struct fd_file *fds_named(struct fds *f, const char *name)
{
	struct index_key *key;

	return named(f, name, &key);
}

/* The name of a deleted file appears again: it is another file now. */
static int renew(struct fds *f, const char *name, uint32_t process, int64_t fd)
{
	struct fd_file one = { .process = process, .fd = (int32_t)fd };
	struct index_key *key;
	struct fd_file *old = named(f, name, &key);
	int64_t file;

	if (!old || !old->is_deleted)
		return 0;
	one.name = strdup(name);
	file = one.name ? add(f, &one) : -ENOMEM;
	if (file < 0) {
		free(one.name);
		return -ENOMEM;
	}
	key->user = (uint32_t)file;
	return 0;
}

/* Takes over @name, which is allocated. */
static int set_named(struct fds *f, uint32_t process, int64_t fd, bool is_cloexec, char *name)
{
	const struct fd_file one = { .name = name, .process = process, .fd = (int32_t)fd };
	size_t size = name ? strlen(name) : 0;
	uint32_t n = f->names.n;
	int64_t file;

	if (!name || renew(f, name, process, fd)) {
		free(name);
		return -ENOMEM;
	}
	/* Two names with equal hashes and sizes count as one. */
	file = file_of(f, &f->names, hash_bytes(name, size), size, 0, &one);
	if (file < 0 || f->names.n == n)
		free(name);
	set(f, process, fd, file, is_cloexec);
	return file < 0 ? -ENOMEM : 0;
}

int fds_name_file(struct fds *f, uint32_t process, int64_t fd, char *name)
{
	struct fd_slot *at = slot(f, process, fd);

	if (at && name)
		return set_named(f, process, fd, at->is_cloexec, name);
	free(name);
	return -ENOMEM;
}

static int64_t set_unnamed(struct fds *f, uint32_t process, int64_t fd, bool is_cloexec,
			   const char *call)
{
	const struct fd_file one = { .call = call, .process = process, .fd = (int32_t)fd };
	int64_t file = file_of(f, &f->unnamed, process, (uint64_t)fd, (uintptr_t)call, &one);

	set(f, process, fd, file, is_cloexec);
	return file;
}

int fds_dumped(struct fds *f, uint32_t process, int64_t fd, uint64_t flags, const char *name,
	       size_t size)
{
	if (fd < 0 || fd >= FDS_MAX)
		return 0;
	return set_named(f, process, fd, flags & O_CLOEXEC, strndup(name, size));
}

void fds_device(struct fds *f, uint32_t process, int64_t fd, uint32_t mode, uint64_t device)
{
	const struct fd_file *known = fds_look(f, process, fd);
	struct fd_file *file = known ? &f->files[known - f->files] : NULL;

	if (!file || (!S_ISCHR(mode) && !S_ISBLK(mode)))
		return;
	file->mode = mode;
	file->device = device;
}

const struct fd_file *fds_look(const struct fds *f, uint32_t process, int64_t fd)
{
	uint32_t file = process < f->n_tables && fd >= 0 && fd < f->tables[process].n
				? f->tables[process].slots[fd].file
				: 0;

	return file ? &f->files[file - 1] : NULL;
}

int64_t fds_find(struct fds *f, uint32_t process, int64_t fd)
{
	const struct fd_file *known = fds_look(f, process, fd);

	assert(!known || known < f->files + f->n_files);
	return known ? known - f->files : set_unnamed(f, process, fd, false, NULL);
}

/* ---------------------------------------------------------------- effects of calls */

static int keep_path(struct fd_path *p, const char *text, size_t size)
{
	if (size >= p->room) {
		char *more = realloc(p->bytes, size + 1);

		if (!more)
			return -ENOMEM;
		p->bytes = more;
		p->room = size + 1;
	}
	memcpy(p->bytes, text, size);
	p->bytes[size] = 0;
	p->size = size;
	return 0;
}

int fds_enter(struct fds *f, uint32_t thread, const struct call_class *class,
	      const struct trace_event *e)
{
	const struct fd_call *c = class->fd;
	struct text address = { 0 };
	struct fd_path *p;
	const char *text;
	size_t size;
	int err = 0;

	if (!c || (c->path == NO_PATH && c->does != DOES_ADDRESS))
		return 0;
	if (pass_grow(&f->paths, &f->n_paths, thread, sizeof *f->paths))
		return -ENOMEM;
	p = &f->paths[thread];
	p->size = 0;
	if (c->does == DOES_ADDRESS) {
		if (fds_address(&address, &class->memory, e))
			err = keep_path(p, address.bytes, address.size);
		text_fini(&address);
		return err;
	}
	if (c->path >= (int)class->n_fields ||
	    !ctf_event_text(e->ctf, class->field[c->path], &text, &size) || !size)
		return 0;
	return keep_path(p, text, size);
}

/* After a change to a directory that is not known, no name is shown. */
static int moved(struct fds *f, const struct fd_call *c, uint32_t thread, uint32_t process,
		 const struct call_made *m)
{
	const struct fd_path *path = thread < f->n_paths ? &f->paths[thread] : NULL;
	const struct fd_file *at = fds_look(f, process, (int32_t)m->args[0]);
	char *joined;
	int err = 0;

	if (process >= f->n_tables)
		return 0;
	if (c->path == NO_PATH)
		joined = at && at->name ? strdup(at->name) : NULL;
	else
		joined = path && path->size ? fds_join(f, process, -1, path) : NULL;
	if (joined && *joined == '/') {
		err = fds_set_cwd(f, process, joined);
	} else {
		free(f->tables[process].cwd);
		f->tables[process].cwd = NULL;
	}
	free(joined);
	return err;
}

/* Descriptors of bpf() are always closed by exec. */
static int made_by_bpf(struct fds *f, uint32_t process, int64_t command, int64_t fd)
{
	const char *kind = fds_bpf_kind(command);

	if (!kind)
		return 0;
	if (!*kind)
		return set_unnamed(f, process, fd, true, NULL) < 0 ? -ENOMEM : 0;
	return set_named(f, process, fd, true, strdup(kind));
}

/* Whether the directory of open_tree() itself is opened, which an empty path asks for. */
static bool opens_directory(const struct fd_call *c, const struct call_made *m)
{
	return !strcmp(c->call, "open_tree") && m->args[2] & AT_EMPTY_PATH &&
	       m->class->field[c->path] && m->class->field[c->path]->code == OP_STRING;
}

static int copied(struct fds *f, uint32_t process, int64_t from, int64_t to, bool is_cloexec)
{
	int64_t file = fds_find(f, process, from);

	set(f, process, to, file, is_cloexec);
	return file < 0 ? -ENOMEM : 0;
}

static int opened(struct fds *f, const struct fd_call *c, uint32_t thread, uint32_t process,
		  const struct call_made *m, int64_t fd, bool is_cloexec)
{
	struct fd_path *path = c->path != NO_PATH && thread < f->n_paths ? &f->paths[thread] : NULL;
	int64_t dir = c->dir == NO_PATH ? -1 : (int32_t)m->args[c->dir];

	if (path && !path->size && dir >= 0 && opens_directory(c, m))
		return copied(f, process, dir, fd, is_cloexec);
	if (!path || !path->size || fd >= FDS_MAX) {
		int64_t file = set_unnamed(f, process, fd, is_cloexec, c->call);

		if (file >= 0 && !strcmp(c->call, "pidfd_open"))
			f->files[file].pid = (int32_t)m->args[0];
		return file < 0 ? -ENOMEM : 0;
	}
	return set_named(f, process, fd, is_cloexec, fds_join(f, process, dir, path));
}

static void closed(struct fds *f, uint32_t process, uint64_t first, uint64_t last, bool at_exec)
{
	struct fd_table *t = process < f->n_tables ? &f->tables[process] : NULL;

	for (uint64_t i = first; t && i < t->n && i <= last; i++) {
		if (at_exec)
			t->slots[i].is_cloexec = true;
		else
			t->slots[i] = (struct fd_slot){ 0 };
	}
}

static int controlled(struct fds *f, uint32_t process, const struct call_made *m, int64_t result)
{
	struct fd_slot *at;

	switch (m->args[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return copied(f, process, (int32_t)m->args[0], result,
			      m->args[1] == F_DUPFD_CLOEXEC);
	case F_SETFD:
		at = slot(f, process, (int32_t)m->args[0]);
		if (at)
			at->is_cloexec = m->args[2] & FD_CLOEXEC;
	}
	return 0;
}

/* A path that was not in memory when the call began: then its entry has the address as a text. */
static int learn_late_path(struct fds *f, uint32_t thread, const struct fd_call *c,
			   const struct fds_exit *exit)
{
	struct call_memory room;
	unsigned were_read;
	const char *text;

	if (c->path == NO_PATH || !exit || !exit->class->has_late || thread >= f->n_paths)
		return 0;
	text = call_memory_at_exit(exit->event->ctf, &room, &were_read);
	return text && *text ? keep_path(&f->paths[thread], text, strlen(text)) : 0;
}

/* The socket @fd has the address that its call named; the descriptors that are copies of it keep
 * their old name. */
static int addressed(struct fds *f, uint32_t thread, uint32_t process, int64_t fd)
{
	const struct fd_path *p = thread < f->n_paths ? &f->paths[thread] : NULL;
	struct fd_slot *at = p && p->size ? slot(f, process, fd) : NULL;

	return at ? set_named(f, process, fd, at->is_cloexec, strdup(p->bytes)) : 0;
}

static int accepted(struct fds *f, const struct fd_call *c, uint32_t process, int64_t fd,
		    bool is_cloexec, const struct fds_exit *exit)
{
	struct text address = { 0 };
	int err;

	if (exit && fds_address(&address, &exit->class->memory, exit->event))
		return set_named(f, process, fd, is_cloexec, address.bytes);
	err = set_unnamed(f, process, fd, is_cloexec, c->call) < 0 ? -ENOMEM : 0;
	text_fini(&address);
	return err;
}

/* "pipe of 1234 (fd 3, 4)" */
static int opened_two(struct fds *f, const struct fd_call *c, uint32_t process, bool is_cloexec,
		      const struct fds_exit *exit)
{
	struct text name = { 0 };
	int32_t fds[2];
	int err = 0;

	if (!exit || !fds_two(fds, &exit->class->memory, exit->event))
		return 0;
	text_addf(&name, "%s of %lld (fd %d, %d)", c->kind, (long long)exit->pid, fds[0], fds[1]);
	for (int i = 0; i < 2 && !err; i++)
		err = name.failed ? -ENOMEM
				  : set_named(f, process, fds[i], is_cloexec, strdup(name.bytes));
	text_fini(&name);
	return err;
}

static int changed(struct fds *f, uint32_t thread, uint32_t process, const struct call_made *m,
		   int64_t result, const struct fds_exit *exit)
{
	const struct fd_call *c = m->class ? m->class->fd : NULL;
	bool is_cloexec = c && (c->flags == CLOEXEC ||
				(c->flags >= 0 && (uint64_t)m->args[c->flags] & c->cloexec_bit));

	/* A connect() that goes on in the background has its address too. */
	if (c && c->does == DOES_ADDRESS && (!result || result == -EINPROGRESS))
		return addressed(f, thread, process, (int32_t)m->args[0]);
	if (!c || result < 0 || learn_late_path(f, thread, c, exit))
		return 0;
	switch (c->does) {
	case DOES_OPEN:
		return opened(f, c, thread, process, m, result, is_cloexec);
	case DOES_ACCEPT:
		return accepted(f, c, process, result, is_cloexec, exit);
	case DOES_UNLINK:
		if (thread < f->n_paths && f->paths[thread].size)
			fds_unlinked(f, process, c->dir == NO_PATH ? -1 : (int32_t)m->args[c->dir],
				     &f->paths[thread]);
		return 0;
	case DOES_RULESET: /* with flags the result is a number */
		return m->args[2] ? 0 : opened(f, c, thread, process, m, result, true);
	case DOES_CHDIR:
		return moved(f, c, thread, process, m);
	case DOES_OPEN_TWO:
		return opened_two(f, c, process, is_cloexec, exit);
	case DOES_BPF:
		return made_by_bpf(f, process, m->args[0], result);
	case DOES_ADDRESS:
	case DOES_LISTEN:
	case DOES_SEND:
		return 0;
	case DOES_DUP:
		return copied(f, process, (int32_t)m->args[0], result, is_cloexec);
	case DOES_FCNTL:
		return controlled(f, process, m, result);
	case DOES_CLOSE:
		closed(f, process, (uint32_t)m->args[0], (uint32_t)m->args[0], false);
		return 0;
	case DOES_CLOSE_RANGE:
		closed(f, process, (uint32_t)m->args[0], (uint32_t)m->args[1],
		       m->args[2] & CLOSE_RANGE_CLOEXEC);
		return 0;
	}
	return 0;
}

int fds_leave(struct fds *f, uint32_t thread, uint32_t process, const struct call_made *m,
	      int64_t result, const struct fds_exit *exit)
{
	int err = changed(f, thread, process, m, result, exit);

	return err || !exit || !m->class ? err : fds_opened(f, process, m, result, exit);
}

int fds_fork(struct fds *f, uint32_t parent, uint32_t child)
{
	struct fd_table *from, *to;

	if (pass_grow(&f->tables, &f->n_tables, parent > child ? parent : child, sizeof *f->tables))
		return -ENOMEM;
	if (parent != child && fds_cwd(f, parent) && fds_set_cwd(f, child, fds_cwd(f, parent)))
		return -ENOMEM;
	from = &f->tables[parent];
	to = &f->tables[child];
	if (!from->n || parent == child)
		return 0;
	if (pass_grow(&to->slots, &to->n, from->n - 1, sizeof *to->slots))
		return -ENOMEM;
	memcpy(to->slots, from->slots, from->n * sizeof *to->slots);
	return 0;
}

void fds_exec(struct fds *f, uint32_t process)
{
	struct fd_table *t = process < f->n_tables ? &f->tables[process] : NULL;

	for (uint32_t i = 0; t && i < t->n; i++)
		if (t->slots[i].is_cloexec)
			t->slots[i] = (struct fd_slot){ 0 };
}
