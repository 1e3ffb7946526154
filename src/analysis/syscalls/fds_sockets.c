/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/fds_sockets.c - names of sockets and pipes from the captured memory of their
 * calls: see fds.h.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/memory.h"

static bool read_memory(struct call_memory *m, enum abi_capture_kind kind,
			const struct abi_captures *in, const struct trace_event *e)
{
	for (int i = 0; i < in->n; i++)
		if (in->at[i]->kind == kind) {
			call_memory_read(m, in->at[i], e->ctf);
			return m->size;
		}
	return false;
}

static bool add_unix(struct text *t, const struct call_memory *m)
{
	const size_t at = offsetof(struct sockaddr_un, sun_path);
	size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path,
	       n = m->size > at ? m->size - at : 0;
	const char *path = (const char *)m->bytes + at;

	n = n < most ? n : most;
	if (!n)
		return false;
	if (*path)
		text_addf(t, "socket %.*s", (int)strnlen(path, n), path);
	else /* an abstract name */
		text_addf(t, "socket @%.*s", (int)strnlen(path + 1, n - 1), path + 1);
	return true;
}

bool fds_address(struct text *t, const struct abi_captures *in, const struct trace_event *e)
{
	struct call_memory m;
	struct sockaddr_in6 six = { 0 };
	struct sockaddr_in four;
	char name[INET6_ADDRSTRLEN];
	sa_family_t family;

	if (!read_memory(&m, ABI_CAPTURE_ADDRESS, in, e) || m.size < sizeof family)
		return false;
	memcpy(&family, m.bytes, sizeof family);
	if (family == AF_UNIX)
		return add_unix(t, &m) && !t->failed;
	if (family == AF_INET && m.size >= sizeof four) {
		memcpy(&four, m.bytes, sizeof four);
		inet_ntop(AF_INET, &four.sin_addr, name, sizeof name);
		text_addf(t, "socket %s:%u", name, ntohs(four.sin_port));
		return !t->failed;
	}
	if (family == AF_INET6 && m.size >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&six, m.bytes, m.size < sizeof six ? m.size : sizeof six);
		inet_ntop(AF_INET6, &six.sin6_addr, name, sizeof name);
		text_addf(t, "socket [%s]:%u", name, ntohs(six.sin6_port));
		return !t->failed;
	}
	return false;
}

bool fds_two(int32_t fds[2], const struct abi_captures *in, const struct trace_event *e)
{
	struct call_memory m;

	if (!read_memory(&m, ABI_CAPTURE_INTS, in, e) || m.size < 2 * sizeof *fds)
		return false;
	memcpy(fds, m.bytes, 2 * sizeof *fds);
	return true;
}
