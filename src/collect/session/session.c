/* SPDX-License-Identifier: MIT */
/*
 * collect/session/session.c - create the shared memory, the name and the sockets of a session.
 *
 * receive.c reads the messages that arrive there.
 */
#include "collect/session/session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/context.h"
#include "base/io.h"
#include "base/runtime.h"
#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/session/slots.h"

/*
 * A pool in overwrite mode has the first size; others begin with the second and grow to the third.
 * That of a command begins with the fourth, because many commands end soon, and grows to the second
 * from then on, in steps between other work.  Without an event to record it is as small as can be until
 * a program joins, which takes a later `duet enable`.
 */
#define FLIGHT_BYTES (64ull << 20)
#define BEGIN_BYTES (64ull << 20)
#define BEGIN_COMMAND_BYTES (8ull << 20)
#define GROW_BYTES (2ull << 20)
#define MOST_BYTES (256ull << 20)
/* For tenants: there may be many, and most record little. */
#define BEGIN_TENANT_BYTES (4ull << 20)
#define NODES_DIRECTORY "/sys/devices/system/node"
enum { LOCK_TRIES = 100, LOCK_TRY_US = 10000 };

enum { TRIGGER_CHUNK_BYTES = 32 << 10, TRIGGER_CHUNKS_PER_CPU = 8 };

static uint32_t count_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return cpus < 1 ? 1 : (uint32_t)cpus;
}

static struct abi_pool shape_of(const struct session_channel *c, const struct abi_clock *clock)
{
	struct pool_request w = { .size_bytes = c->bytes	     ? c->bytes
						: c->flight_recorder ? FLIGHT_BYTES
								     : MOST_BYTES,
				  .chunk_bytes = c->chunk_bytes,
				  .n_cpus = count_cpus(),
				  .block_timeout_us = c->block_timeout_us,
				  .flight_recorder = c->flight_recorder,
				  .without_ids = c->without_ids,
				  .is_coarse = c->is_coarse };
	struct abi_pool shape = pool_shape(&w);

	shape.clock = *clock;
	return shape;
}

/* The pool that triggers scan while it is written: see collect/trigger/scan.h. */
static const struct session_channel trigger_channel = {
	.name = "trigger",
	.chunk_bytes = TRIGGER_CHUNK_BYTES,
	.flight_recorder = true,
	.contexts = ABI_CONTEXT_BIT(ABI_CONTEXT_PROCNAME),
};

static uint32_t count_pools(const struct session *s)
{
	return s->n_channels + s->has_trigger_pool;
}

/* Computes the header of the memory; the sizes of the pools follow from their shapes. */
static void lay_out(struct session *s, struct abi_session_memory *session_memory,
		    struct abi_pool *shapes)
{
	uint64_t at = ABI_POOL_ALIGN;

	*session_memory =
		(struct abi_session_memory){ .magic = ABI_SESSION_MEMORY_MAGIC,
					     .version = ABI_SESSION_MEMORY_VERSION,
					     .n_channels = count_pools(s),
					     .trigger_channel =
						     s->has_trigger_pool ? s->n_channels : 0 };
	for (uint32_t i = 0; i < count_pools(s); i++) {
		struct abi_channel *c = &session_memory->channels[i];

		shapes[i] = shape_of(&s->channels[i], &s->clock);
		*c = (struct abi_channel){ .offset = at,
					   .size = shapes[i].size,
					   .contexts = s->channels[i].contexts };
		memcpy(c->name, s->channels[i].name, sizeof c->name);
		at = (at + c->size + ABI_POOL_ALIGN - 1) & ~(uint64_t)(ABI_POOL_ALIGN - 1);
	}
	session_memory->size = at;
}

static int create_memory(struct session *s, uint64_t size, struct diag *d)
{
	void *memory;

	s->memory_fd = memfd_create("duet-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->memory_fd < 0 || ftruncate(s->memory_fd, (off_t)size))
		return diag_errno(d, "cannot create the buffers");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->memory_fd, 0);
	if (memory == MAP_FAILED)
		return diag_errno(d, "cannot map the buffers");
	s->session_memory = memory;
	s->memory_size = size;
	if (fcntl(s->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return diag_errno(d, "cannot seal the buffers");
	if (posix_fallocate(s->memory_fd, 0, sizeof *s->session_memory))
		return diag_fail(d, -ENOMEM, "no memory for the buffers");
	return 0;
}

static int create_pool(struct session *s, uint32_t i, const struct abi_pool *shape,
		       const struct nodes *nodes, struct diag *d)
{
	const struct session_channel *c = &s->channels[i];
	uint64_t chunk = 1ull << shape->chunk_shift,
		 begin = c->flight_recorder   ? UINT32_MAX
			 : s->begins_empty    ? 0
			 : s->tenant	      ? BEGIN_TENANT_BYTES / chunk
			 : s->file.is_private ? BEGIN_COMMAND_BYTES / chunk
					      : BEGIN_BYTES / chunk;
	void *memory = (char *)s->session_memory + s->session_memory->channels[i].offset;
	int err;

	assert(i < count_pools(s));
	if (begin < 4 * shape->n_cpus)
		begin = 4 * shape->n_cpus;
	s->pools[i].shared = memory;
	pool_format(memory, shape);
	err = pool_attach(&s->pools[i], memory, shape->size, (uint32_t)getpid());
	if (err)
		return diag_fail(d, err, "the new buffers fail their check");
	s->supplies[i] = (struct pool_memory){ .pool = &s->pools[i],
					       .fd = s->memory_fd,
					       .offset = s->session_memory->channels[i].offset };
	pool_memory_place(&s->supplies[i], nodes);
	return pool_memory_begin(&s->supplies[i], (uint32_t)begin, d);
}

static int create_channels(struct session *s, const struct session_options *o, struct diag *d)
{
	struct abi_pool shapes[ABI_CHANNELS];
	struct abi_session_memory *session_memory = calloc(1, sizeof *session_memory);
	struct nodes nodes;
	int err = 0;

	if (o->clock)
		s->clock = *o->clock;
	else
		err = clock_init_kind(&s->clock, o->clock_kind, d);
	if (!session_memory)
		err = diag_fail(d, -ENOMEM, "no memory for the buffers");
	s->n_channels = o->n_channels;
	memcpy(s->channels, o->channels, o->n_channels * sizeof *o->channels);
	if (o->n_channels < ABI_CHANNELS) {
		s->channels[o->n_channels] = trigger_channel;
		s->channels[o->n_channels].bytes =
			TRIGGER_CHUNKS_PER_CPU * TRIGGER_CHUNK_BYTES * count_cpus();
		s->has_trigger_pool = true;
	}
	if (!err) {
		lay_out(s, session_memory, shapes);
		err = create_memory(s, session_memory->size, d);
	}
	if (!err)
		memcpy(s->session_memory, session_memory, sizeof *session_memory);
	free(session_memory);
	nodes_read(&nodes, NODES_DIRECTORY);
	for (uint32_t i = 0; i < count_pools(s) && !err; i++)
		err = create_pool(s, i, &shapes[i], &nodes, d);
	return err;
}

bool session_grow_memory(struct session *s)
{
	bool is_growing = false;

	for (uint32_t i = 0; i < s->n_channels; i++) {
		uint64_t chunk = s->pools[i].chunk_size;

		if (!s->channels[i].flight_recorder && !s->tenant)
			is_growing |=
				pool_memory_grow(&s->supplies[i], (uint32_t)(BEGIN_BYTES / chunk),
						 (uint32_t)(GROW_BYTES / chunk));
	}
	return s->is_growing = is_growing;
}

void session_adjust_memory(struct session *s, bool rest)
{
	for (uint32_t i = 0; i < s->n_channels; i++) {
		if (s->channels[i].flight_recorder)
			continue;
		if (!pool_memory_is_calm(&s->supplies[i]) || rest)
			pool_memory_adjust(&s->supplies[i]);
		if (rest)
			pool_memory_rest(&s->supplies[i]);
	}
}

void session_recount(struct session *s)
{
	const struct abi_session_filter *f = s->session_memory->filters;
	uint32_t size, at;

	while (s->n_filters < ABI_FILTERS && (size = load(&f[s->n_filters].size))) {
		at = load(&f[s->n_filters].offset);
		if (size > ABI_FILTER_TEXT_BYTES || at > ABI_FILTER_TEXT_BYTES - size)
			break; /* corrupted: new filters replace what follows */
		s->n_filters++;
		if (((at + size + 7) & ~7u) > s->filter_text_used)
			s->filter_text_used = (at + size + 7) & ~7u;
	}
	for (uint32_t i = 0; i < s->n_channels; i++)
		pool_memory_recount(&s->supplies[i]);
}

int session_add_filter(struct session *s, const void *code, size_t size, struct diag *d)
{
	struct abi_session_filter *f = &s->session_memory->filters[s->n_filters];

	assert(s->n_filters <= ABI_FILTERS && size > 0);
	if (s->n_filters == ABI_FILTERS || size > ABI_FILTER_TEXT_BYTES - 8 - s->filter_text_used)
		return diag_fail(d, -E2BIG, "the session has no room for more filters");
	memcpy(s->session_memory->text + s->filter_text_used, code, size);
	store(&f->offset, s->filter_text_used);
	store_release(&f->size, (uint32_t)size); /* abi/session.h, (2) */
	s->filter_text_used += (uint32_t)(size + 7) & ~7u;
	return (int)++s->n_filters;
}

/* By the directory's descriptor: its path may be too long, or not resolve from here. */
static struct sockaddr_un socket_address(int dir, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/sock-%.*s", dir, ABI_NAME_BYTES,
		 name);
	return a;
}

int session_connect(int dir, const char *name)
{
	struct sockaddr_un a = socket_address(dir, name);
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&a, sizeof a))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

bool session_is_live(int dir, const char *name)
{
	struct sockaddr_un a = socket_address(dir, name);
	bool live;
	int fd;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true; /* unknown: do not remove it */
	live = !connect(fd, (struct sockaddr *)&a, sizeof a) || errno == EAGAIN;
	close(fd);
	return live;
}

/*
 * Called with the directory locked: of two sessions that start at once, one fails, and no sweep
 * removes a socket between bind and listen.
 */
static int listen_in(int dir, const char *name, bool only_joining, int *listen_fd, struct diag *d)
{
	struct sockaddr_un a = socket_address(dir, name);
	struct rights before;
	int err;

	if (session_is_live(dir, name))
		return diag_fail(d, -EEXIST, "session %s is already being recorded by another duet",
				 name);
	unlink(a.sun_path);
	*listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (only_joining)
		io_refuse_descriptors(*listen_fd); /* a program that only joins passes no
						    * descriptors */
	before = owner_begin(dir);
	err = *listen_fd < 0 || bind(*listen_fd, (struct sockaddr *)&a, sizeof a) ||
	      listen(*listen_fd, SESSION_QUEUE);
	owner_end(before);
	return err ? diag_errno(d, "cannot make the socket sock-%s in the runtime directory", name)
		   : 0;
}

/* Another user may keep its directory locked: continue without the lock after a while. */
static void lock_directory(int dir)
{
	if (owner_of(dir) == geteuid())
		flock(dir, LOCK_EX);
	for (int i = 0; i < LOCK_TRIES && flock(dir, LOCK_EX | LOCK_NB); i++)
		usleep(LOCK_TRY_US);
}

static int open_socket(int dir, const char *name, int *listen_fd, struct diag *d)
{
	int err;

	lock_directory(dir);
	err = listen_in(dir, name, false, listen_fd, d);
	flock(dir, LOCK_UN);
	return err;
}

/*
 * A tenant's programs join in the tenant's directory.  Requests about it arrive in ours, only from
 * us.
 */
static int open_client_socket(struct session *s, struct diag *d)
{
	struct rights before = rights_take((struct rights){ geteuid(), getegid() });
	int err;

	s->client_dir = runtime_dir_open(true);
	owner_end(before);
	if (s->client_dir < 0)
		return diag_fail(d, s->client_dir, "cannot use the runtime directory: %s",
				 strerror(-s->client_dir));
	before = owner_begin(s->client_dir);
	err = open_socket(s->client_dir, s->asked_as, &s->client_fd, d);
	owner_end(before);
	return err;
}

int session_announce(const struct session *s, struct diag *d)
{
	struct abi_session f = s->file;

	if (!s->tenant)
		return 0;
	memcpy(f.name, s->asked_as, sizeof f.name);
	f.rules_size = 0;
	return session_publish(s->client_dir, &f, d);
}

/*
 * Takes the name and a slot.  The directory is locked, so that no other session gets them, and
 * leftovers under either are removed first.
 */
static int take_name_and_slot(struct session *s, struct diag *d)
{
	int err;

	lock_directory(s->dir);
	programs_sweep_sessions(s->dir);
	s->spare_fd = io_spare();
	err = listen_in(s->dir, s->file.name, s->tenant, &s->listen_fd, d);
	if (!err)
		err = session_slots_take(s->dir, &s->file, d);
	if (!err)
		session_slots_repair(
			s->dir, &s->file,
			&s->session_slots_file); /* it is valid, and this records its identity */
	flock(s->dir, LOCK_UN);
	return err;
}

static void release_name_and_slot(struct session *s)
{
	char name[ABI_NAME_BYTES + 16];

	session_withdraw(s);
	lock_directory(s->dir);
	snprintf(name, sizeof name, "sock-%s", s->file.name);
	unlinkat(s->dir, name, 0);
	session_slots_leave(s->dir, s->file.session_slot, s->file.epoch);
	flock(s->dir, LOCK_UN);
}

/* The tenant's own sessions have names in its directory, too. */
static int name_for_tenant(struct session *s, const struct session_options *o, struct diag *d)
{
	size_t size = sizeof s->file.name;

	if (tenant_session_name(o->tenant, o->name, s->asked_as, sizeof s->asked_as) &&
	    snprintf(s->file.name, size, "%s.root", o->name) < (int)size)
		return 0;
	return diag_fail(d, -ENAMETOOLONG, "the name %s is too long for a session of other users",
			 o->name);
}

int session_open(struct session *s, const struct session_options *o, struct diag *d)
{
	int err;

	assert(o->n_channels >= 1 && o->n_channels <= ABI_CHANNELS);
	*s = (struct session)SESSION_NONE;
	s->file = (struct abi_session){ .magic = ABI_SESSION_MAGIC,
					.version = ABI_SESSION_VERSION,
					.collector_pid = (uint32_t)getpid() };
	s->file.is_private = o->is_private;
	s->begins_empty = o->begins_empty;
	s->file.has_calls = o->has_calls;
	snprintf(s->file.name, sizeof s->file.name, "%s", o->name);
	snprintf(s->asked_as, sizeof s->asked_as, "%s", o->name);
	s->pid_namespace = runtime_pid_namespace();
	s->tenant = o->tenant;
	s->dir = o->tenant ? fcntl(o->tenant->dir, F_DUPFD_CLOEXEC, 0) : runtime_dir_open(true);
	s->uid = o->tenant ? o->tenant->uid : geteuid();
	err = o->tenant ? name_for_tenant(s, o, d) : 0;
	if (err)
		;
	else if (s->dir < 0)
		err = diag_fail(d, s->dir,
				"cannot use the runtime directory (DUET_RUNTIME_DIR, else "
				"/dev/shm/duet-%u): %s",
				(unsigned)geteuid(),
				s->dir == -EPERM
					? "it must be a directory of yours, closed to others"
					: strerror(-s->dir));
	else
		err = create_channels(s, o, d);
	if (!err)
		err = take_name_and_slot(s, d);
	if (!err && s->tenant)
		err = open_client_socket(s, d);
	if (err)
		session_close(s);
	else
		s->is_growing = s->file.is_private && !s->tenant && !s->begins_empty;
	return err;
}

static void close_client_socket(struct session *s)
{
	char file[ABI_NAME_BYTES + 16];

	if (s->client_fd >= 0) {
		snprintf(file, sizeof file, "session-%s", s->asked_as);
		unlinkat(s->client_dir, file, 0);
		snprintf(file, sizeof file, "sock-%s", s->asked_as);
		unlinkat(s->client_dir, file, 0);
		close(s->client_fd);
	}
	if (s->client_dir >= 0)
		close(s->client_dir);
	s->client_fd = s->client_dir = -1;
}

void session_close(struct session *s)
{
	s->is_growing = false;
	if (s->listen_fd >= 0)
		release_name_and_slot(s);
	close_client_socket(s);
	for (int i = 0; i < SESSION_CONNECTIONS; i++)
		if (s->connections[i].fd >= 0)
			close(s->connections[i].fd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	if (s->session_memory)
		munmap(s->session_memory, s->memory_size);
	if (s->memory_fd >= 0) {
		/* Programs keep their mapping, but the pages need not stay. */
		fallocate(s->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)s->memory_size);
		close(s->memory_fd);
	}
	if (s->dir >= 0)
		close(s->dir);
	s->listen_fd = s->spare_fd = s->memory_fd = s->dir = -1;
	s->session_memory = NULL;
}

bool session_is_findable(const struct session *s)
{
	struct stat st;

	return fstat(s->dir, &st) || st.st_nlink;
}
