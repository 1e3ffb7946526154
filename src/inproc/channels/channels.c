/* SPDX-License-Identifier: MIT */
/*
 * inproc/channels/channels.c - open the channels of a session whose memory is mapped.
 *
 * All programs of the user may write to that memory, so its head and the pools' headers are copied once, and
 * the copies checked and used.  They are read from the descriptor: a read takes less than the fault that maps
 * a page, and most programs never touch these pages again.  The header of the first channel alone is read
 * in the mapping, as its first event will touch that page.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "clock/clock.h"
#include "inproc/context.h"
#include "inproc/process.h"

static bool may_sleep(void)
{
	return !process_is_sandboxed();
}

/* A session's memory up to its filters, as it was read. */
struct head {
	uint64_t magic;
	uint32_t version;
	uint32_t n_channels;
	uint64_t size;
	struct abi_channel channels[ABI_CHANNELS];
	uint32_t trigger_channel;
	uint32_t pad;
};
_Static_assert(sizeof(struct head) == offsetof(struct abi_session_memory, filters) &&
		       offsetof(struct head, trigger_channel) ==
			       offsetof(struct abi_session_memory, trigger_channel),
	       "the beginning of abi_session_memory");

/* Copies @size bytes at @offset of the session's memory, by its descriptor @fd; -1: from the mapping. */
static bool copy_memory(const struct session *s, int fd, uint64_t offset, void *to, size_t size)
{
	if (offset > s->memory_size || size > s->memory_size - offset)
		return false;
	if (fd >= 0)
		return syscall(SYS_pread64, fd, to, size, (off_t)offset) == (ssize_t)size;
	memcpy(to, (const char *)s->memory + offset, size);
	return true;
}

static bool attach_pool(struct channel *c, const struct session *s, int fd,
			const struct abi_channel *its, uint32_t host_pid)
{
	void *memory = (char *)s->memory + its->offset;
	struct abi_pool header;

	if (c == s->channels)
		return !pool_attach(&c->pool, memory, its->size, host_pid);
	return its->size >= sizeof header &&
	       copy_memory(s, fd, its->offset, &header, sizeof header) &&
	       !pool_attach_as(&c->pool, &header, memory, its->size, host_pid);
}

/* Opens a channel as the session memory describes it; all values there are checked. */
static bool open_channel(struct channel *c, const struct session *s, int fd,
			 const struct abi_channel *its, uint32_t host_pid)
{
	c->contexts = its->contexts & ABI_CONTEXT_ALL;
	if (!(its->offset % ABI_POOL_ALIGN == 0 &&
	      its->offset >= sizeof(struct abi_session_memory) && its->offset <= s->memory_size &&
	      its->size <= s->memory_size - its->offset && attach_pool(c, s, fd, its, host_pid) &&
	      clock_is_readable(&c->pool.clock)))
		return false;
	context_prepare(c->contexts);
	c->pool.incarnation = &process.guard[GUARD_LIFE];
	c->pool.may_wait = may_sleep;
	c->pool.generation = load(c->pool.incarnation);
	return true;
}

bool session_open_channels(struct session *s, int fd, uint32_t host_pid)
{
	struct head head;

	if (s->memory_size < ABI_POOL_ALIGN || !copy_memory(s, fd, 0, &head, sizeof head) ||
	    head.magic != ABI_SESSION_MEMORY_MAGIC || head.version != ABI_SESSION_MEMORY_VERSION ||
	    !head.n_channels || head.n_channels > ABI_CHANNELS ||
	    head.trigger_channel >= head.n_channels)
		return false;
	s->n_channels = head.n_channels;
	s->trigger_channel = head.trigger_channel;
	for (uint32_t i = 0; i < s->n_channels; i++)
		if (!open_channel(&s->channels[i], s, fd, &head.channels[i], host_pid))
			return false;
	return true;
}
