/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/addresses.c - addresses of sockets as text: see structs.h.
 *
 * The bytes come from a file: each family has a least size, and shorter addresses are shown as bytes.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "analysis/syscalls/sockets/internal.h"

bool sockets_begin(struct text *t, const uint8_t *bytes, size_t size)
{
	if (call_style()->constants == CALL_ABBREV)
		return true;
	call_hex_quoted(t, bytes, size);
	if (call_style()->constants == CALL_VERBOSE)
		add(t, " /* ");
	return call_style()->constants == CALL_VERBOSE;
}

void sockets_port(struct text *t, const char *name, const uint8_t *bytes)
{
	add(t, name);
	if (!sockets_begin(t, bytes, 2))
		return;
	text_addf(t, "htons(%u)", ntohs(bytes_u16(bytes)));
	call_words_end(t);
}

void sockets_internet(struct text *t, const char *name, const uint8_t *bytes)
{
	char shown[INET_ADDRSTRLEN];

	add(t, name);
	if (!sockets_begin(t, bytes, 4))
		return;
	text_addf(t, "inet_addr(\"%s\")", inet_ntop(AF_INET, bytes, shown, sizeof shown));
	call_words_end(t);
}

void sockets_hardware(struct text *t, const uint8_t *bytes, size_t size)
{
	if (!sockets_begin(t, bytes, size))
		return;
	for (size_t i = 0; i < size; i++)
		text_addf(t, "%s%02x", i ? ":" : "", bytes[i]);
	call_words_end(t);
}

static void add_unix(struct text *t, const uint8_t *bytes, size_t size)
{
	const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path;
	const char *path = (const char *)bytes + offsetof(struct sockaddr_un, sun_path);
	size_t n = size - offsetof(struct sockaddr_un, sun_path);

	n = n < most ? n : most;
	if (!n)
		return;
	add(t, ", sun_path=");
	if (*path) {
		call_quoted(t, path, strnlen(path, n));
	} else { /* an abstract name, in which NUL is a character */
		add(t, "@");
		call_quoted(t, path + 1, n - 1);
	}
}

void sockets_inet(struct text *t, const uint8_t *bytes)
{
	sockets_port(t, ", sin_port=", bytes + offsetof(struct sockaddr_in, sin_port));
	sockets_internet(t, ", sin_addr=", bytes + offsetof(struct sockaddr_in, sin_addr));
}

static void add_inet6_address(struct text *t, const uint8_t *bytes)
{
	bool is_short = call_style()->constants == CALL_ABBREV;
	char shown[INET6_ADDRSTRLEN];

	add(t, is_short ? ", " : ", sin6_addr=");
	if (!sockets_begin(t, bytes, sizeof(struct in6_addr)))
		return;
	text_addf(t, "inet_pton(AF_INET6, \"%s\"%s)",
		  inet_ntop(AF_INET6, bytes, shown, sizeof shown), is_short ? ", &sin6_addr" : "");
	call_words_end(t);
}

void sockets_inet6(struct text *t, const uint8_t *bytes, size_t size)
{
	struct sockaddr_in6 a = { 0 };

	memcpy(&a, bytes, size < sizeof a ? size : sizeof a);
	sockets_port(t, ", sin6_port=", (const uint8_t *)&a.sin6_port);
	add(t, ", sin6_flowinfo=");
	if (sockets_begin(t, (const uint8_t *)&a.sin6_flowinfo, sizeof a.sin6_flowinfo)) {
		text_addf(t, "htonl(%" PRIu32 ")", ntohl(a.sin6_flowinfo));
		call_words_end(t);
	}
	add_inet6_address(t, (const uint8_t *)&a.sin6_addr);
	if (size < sizeof a)
		return;
	add(t, ", sin6_scope_id=");
	if (IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&a.sin6_addr))
		call_interface(t, a.sin6_scope_id);
	else
		text_addf(t, "%" PRIu32, a.sin6_scope_id);
}

static void add_netlink(struct text *t, const uint8_t *bytes, const struct call_moment *x)
{
	struct sockaddr_nl a;

	memcpy(&a, bytes, sizeof a);
	if (a.nl_pad)
		text_addf(t, ", nl_pad=%#x", a.nl_pad);
	add(t, ", nl_pid=");
	call_pid(t, (int32_t)a.nl_pid, x ? x->about : NULL);
	text_addf(t, ", nl_groups=%#08" PRIx32, a.nl_groups);
}

bool call_address_add(struct text *t, const uint8_t *bytes, size_t size,
		      const struct call_moment *x)
{
	const size_t inet6_least =
		offsetof(struct sockaddr_in6, sin6_scope_id); /* the size that the kernel
							       * requires */
	sa_family_t family;

	if (size < sizeof family)
		return false;
	memcpy(&family, bytes, sizeof family);
	add(t, "{sa_family=");
	call_one(t, call_names_family, family, 0);
	if (family == AF_UNIX) {
		add_unix(t, bytes, size);
	} else if (family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		sockets_inet(t, bytes);
	} else if (family == AF_INET6 && size >= inet6_least) {
		sockets_inet6(t, bytes, size);
	} else if (family == AF_NETLINK && size >= sizeof(struct sockaddr_nl)) {
		add_netlink(t, bytes, x);
	} else if (!sockets_rare(t, family, bytes, size, x) && size > sizeof family) {
		add(t, ", sa_data=");
		call_quoted(t, (const char *)bytes + sizeof family, size - sizeof family);
	}
	add(t, "}");
	return true;
}
