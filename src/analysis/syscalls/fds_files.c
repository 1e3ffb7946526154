/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/fds_files.c - the kernel's files of descriptors, which exits of calls have if the
 * recorder read them (kernel/bpf/capture_file.c): numbers of devices, addresses of sockets.
 *
 * The bytes come from a recording and are not trusted. Forms are those of strace -yy.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"
#include "analysis/syscalls/words.h"

/* ---------------------------------------------------------------- sockets */

static void add_ip(struct text *t, const struct abi_file *s, const uint8_t *address, uint16_t port)
{
	char name[INET6_ADDRSTRLEN];

	if (!inet_ntop(s->family, address, name, sizeof name))
		return;
	text_addf(t, s->family == AF_INET6 ? "[%s]:%u" : "%s:%u", name, port);
}

static bool is_zero(const uint8_t address[16])
{
	static const uint8_t zero[16];

	return !memcmp(address, zero, sizeof zero);
}

/* A socket without a port is in none of the kernel's tables, where strace looks for it. */
static void add_inet(struct text *t, const struct abi_file *s)
{
	if (!s->local_port) {
		text_addf(t, "%" PRIu64, s->inode);
		return;
	}
	add_ip(t, s, s->local, s->local_port);
	if (!s->remote_port && is_zero(s->remote))
		return;
	add(t, "->");
	add_ip(t, s, s->remote, ntohs(s->remote_port));
}

static void add_unix_name(struct text *t, const struct abi_file *s)
{
	uint32_t size = s->path_size > sizeof(sa_family_t)
				? s->path_size - (uint32_t)sizeof(sa_family_t)
				: 0;
	bool is_abstract;

	size = size < sizeof s->path ? size : sizeof s->path;
	if (!size)
		return;
	is_abstract = !s->path[0];
	add(t, is_abstract ? ",@" : ",");
	if (is_abstract)
		call_quoted(t, s->path + 1, size - 1);
	else
		call_quoted(t, s->path, strnlen(s->path, size));
}

static void add_unix(struct text *t, const struct abi_file *s)
{
	text_addf(t, "%" PRIu64, s->inode);
	if (s->peer)
		text_addf(t, "->%" PRIu64, s->peer);
	add_unix_name(t, s);
}

static void add_netlink(struct text *t, const struct abi_file *s)
{
	const char *name = call_name_of(call_names_netlink, s->protocol);

	if (!s->netlink_port) {
		text_addf(t, "%" PRIu64, s->inode);
		return;
	}
	if (name && !strncmp(name, "NETLINK_", 8))
		text_addf(t, "%s:%" PRIu32, name + 8, s->netlink_port);
	else
		text_addf(t, "%u:%" PRIu32, s->protocol, s->netlink_port);
}

void fds_socket(struct text *t, const struct abi_file *s)
{
	static const struct {
		const char *type;
		uint16_t family;
		void (*add)(struct text *t, const struct abi_file *s);
	} types[] = {
		{ "TCP", AF_INET, add_inet },		{ "UDP", AF_INET, add_inet },
		{ "UDP-Lite", AF_INET, add_inet },	{ "RAW", AF_INET, add_inet },
		{ "PING", AF_INET, add_inet },		{ "TCPv6", AF_INET6, add_inet },
		{ "UDPv6", AF_INET6, add_inet },	{ "UDPLITEv6", AF_INET6, add_inet },
		{ "RAWv6", AF_INET6, add_inet },	{ "PINGv6", AF_INET6, add_inet },
		{ "UNIX", AF_UNIX, add_unix },		{ "UNIX-STREAM", AF_UNIX, add_unix },
		{ "NETLINK", AF_NETLINK, add_netlink },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].family == s->family &&
		    !strncmp(types[i].type, s->type, sizeof s->type)) {
			text_addf(t, "%s:[", types[i].type);
			types[i].add(t, s);
			return add(t, "]");
		}
}

/* ---------------------------------------------------------------- descriptors */

/* The kernel's number of a device as one of user space. */
static uint64_t device_of(uint32_t number)
{
	enum { MINOR_BITS = 20 };

	return makedev(number >> MINOR_BITS, number & ((1u << MINOR_BITS) - 1));
}

/* A socket, or an end of a pipe, has the name that /proc has for it. The name is its own: it has the
 * inode's number. */
static int name_by_inode(struct fds *f, uint32_t process, int64_t fd, const struct abi_file *s)
{
	struct text name = { 0 };

	text_addf(&name, "%s:[%" PRIu64 "]", S_ISSOCK(s->mode) ? "socket" : "pipe", s->inode);
	return fds_name_file(f, process, fd, name.failed ? NULL : name.bytes);
}

/* The other socket of a connection has an inode only from accept() on. */
static int learn_peer(struct fds *f, const struct abi_file *s)
{
	struct text name = { 0 }, more = { 0 };
	struct fd_file *peer = NULL;
	const char *rest = NULL;

	text_addf(&name, "socket:[%" PRIu64 "]", s->peer);
	if (!name.failed)
		peer = fds_named(f, name.bytes);
	if (peer && peer->socket)
		rest = peer->socket + strcspn(peer->socket, ",]");
	if (rest && *rest && !strstr(peer->socket, "->"))
		text_addf(&more, "%.*s->%" PRIu64 "%s", (int)(rest - peer->socket), peer->socket,
			  s->inode, rest);
	text_fini(&name);
	if (more.failed || !more.size) {
		text_fini(&more);
		return more.failed ? -ENOMEM : 0;
	}
	free(peer->socket);
	peer->socket = more.bytes;
	return 0;
}

static int learn(struct fds *f, uint32_t process, int64_t fd, const struct abi_file *s,
		 bool is_pipe)
{
	const struct fd_file *known;
	struct text socket = { 0 };
	int err = 0;

	if (fd < 0 || fd >= FDS_MAX)
		return 0;
	if (S_ISSOCK(s->mode) || (S_ISFIFO(s->mode) && is_pipe))
		err = name_by_inode(f, process, fd, s);
	known = fds_look(f, process, fd);
	if (err || !known)
		return err;
	if (!S_ISSOCK(s->mode)) {
		fds_device(f, process, fd, s->mode, device_of(s->device));
		return 0;
	}
	fds_socket(&socket, s);
	if (socket.failed) {
		text_fini(&socket);
		return -ENOMEM;
	}
	free(f->files[known - f->files].socket);
	f->files[known - f->files].socket = socket.bytes;
	return s->peer ? learn_peer(f, s) : 0;
}

int fds_socket_dumped(struct fds *f, uint32_t process, int64_t fd, const struct trace_event *e)
{
	static const struct abi_capture what = { .kind = ABI_CAPTURE_FILE };
	struct call_memory memory;
	struct abi_file s;

	call_memory_read(&memory, &what, e->ctf);
	if (memory.size < sizeof s)
		return 0;
	memcpy(&s, memory.bytes, sizeof s);
	return learn(f, process, fd, &s, false);
}

int fds_opened(struct fds *f, uint32_t process, const struct call_made *m, int64_t result,
	       const struct fds_exit *exit)
{
	const struct abi_captures *in = &exit->class->files;
	struct call_memory memory;
	struct abi_file s;
	int err = 0;

	for (int i = 0; i < in->n && !err; i++) {
		int64_t fd = result;
		int32_t two[2];

		call_memory_read(&memory, in->at[i], exit->event->ctf);
		if (memory.size < sizeof s)
			continue;
		memcpy(&s, memory.bytes, sizeof s);
		if (in->at[i]->is_behind) {
			if (!fds_two(two, &exit->class->memory, exit->event))
				continue;
			fd = two[in->at[i]->at / sizeof *two];
		} else if (in->at[i]->argument != ABI_CAPTURE_RESULT) {
			fd = (int32_t)m->args[in->at[i]->argument - 1];
		}
		err = learn(f, process, fd, &s, in->at[i]->is_behind);
	}
	return err;
}
