/* SPDX-License-Identifier: MIT */
/* analysis/call_memory.c - see call_memory.h. */
#include "analysis/call_memory.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "analysis/call_words.h"

/* ---------------------------------------------------------------- reading */

bool call_memory_is_in(const struct kernel_capture *what, const struct ctf_event_class *c)
{
	const struct ctf_program *p = c->program;

	for (uint32_t i = p ? p->payload : 0; p && i < p->n_ops; i++) {
		const struct ctf_op *op = &p->ops[i];

		if (op->code == OP_SEQUENCE && op->name && !strcmp(op->name, kernel_capture_field(what)) &&
		    op->size_bits == 8 * kernel_capture_element(what))
			return true;
	}
	return false;
}

void call_memory_read(struct call_memory *m, const struct kernel_capture *what, const struct ctf_event *e)
{
	unsigned element = kernel_capture_element(what);
	const char *field = kernel_capture_field(what);
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;
	bool is_in = false;

	m->what = what;
	m->size = 0;
	ctf_walk_event(&w, e, CTF_PAYLOAD);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END && m->size + element <= sizeof m->bytes) {
		if (is_in && found != CTF_UINT && found != CTF_INT)
			return;
		if (is_in) { /* this machine is little-endian */
			memcpy(m->bytes + m->size, &v.u, element);
			m->size += element;
		}
		is_in |= found == CTF_OPEN_ARRAY && v.name && !strcmp(v.name, field);
	}
}

/* ---------------------------------------------------------------- addresses */

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
	} else { /* of the names that are no files' a NUL is a part */
		add(t, "@");
		call_quoted(t, path + 1, n - 1);
	}
}

static void add_inet(struct text *t, const uint8_t *bytes)
{
	struct sockaddr_in a;
	char name[INET_ADDRSTRLEN];

	memcpy(&a, bytes, sizeof a);
	inet_ntop(AF_INET, &a.sin_addr, name, sizeof name);
	text_addf(t, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")", ntohs(a.sin_port), name);
}

static void add_inet6(struct text *t, const uint8_t *bytes, size_t size)
{
	struct sockaddr_in6 a = { 0 };
	char name[INET6_ADDRSTRLEN];

	memcpy(&a, bytes, size < sizeof a ? size : sizeof a);
	inet_ntop(AF_INET6, &a.sin6_addr, name, sizeof name);
	text_addf(t, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%" PRIu32 "), inet_pton(AF_INET6, \"%s\", &sin6_addr)",
		  ntohs(a.sin6_port), ntohl(a.sin6_flowinfo), name);
	if (size >= sizeof a)
		text_addf(t, ", sin6_scope_id=%" PRIu32, a.sin6_scope_id);
}

static void add_netlink(struct text *t, const uint8_t *bytes)
{
	struct sockaddr_nl a;

	memcpy(&a, bytes, sizeof a);
	text_addf(t, ", nl_pid=%" PRIu32 ", nl_groups=%#08" PRIx32, a.nl_pid, a.nl_groups);
}

static bool add_sockaddr(struct text *t, const uint8_t *bytes, size_t size)
{
	const size_t inet6_least = offsetof(struct sockaddr_in6, sin6_scope_id); /* what the kernel takes */
	sa_family_t family;

	if (size < sizeof family)
		return false;
	memcpy(&family, bytes, sizeof family);
	add(t, "{sa_family=");
	call_one(t, call_names_family, family, 0);
	if (family == AF_UNIX) {
		add_unix(t, bytes, size);
	} else if (family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		add_inet(t, bytes);
	} else if (family == AF_INET6 && size >= inet6_least) {
		add_inet6(t, bytes, size);
	} else if (family == AF_NETLINK && size >= sizeof(struct sockaddr_nl)) {
		add_netlink(t, bytes);
	} else if (size > sizeof family) {
		add(t, ", sa_data=");
		call_quoted(t, (const char *)bytes + sizeof family, size - sizeof family);
	}
	add(t, "}");
	return true;
}

/* ---------------------------------------------------------------- times, arguments */

static bool add_time(struct text *t, const uint8_t *bytes, size_t size)
{
	int64_t time[2]; /* seconds, nanoseconds */

	if (size < sizeof time)
		return false;
	memcpy(time, bytes, sizeof time);
	text_addf(t, "{tv_sec=%" PRId64 ", tv_nsec=%" PRId64 "}", time[0], time[1]);
	return true;
}

static bool ends_in_dots(const char *text, size_t size)
{
	return size >= 3 && !memcmp(text + size - 3, "...", 3);
}

/* One text behind the other, each with its NUL; how cut ones look: docs/design/kernel.md. */
static bool add_argv(struct text *t, const char *p, size_t size)
{
	const char *before = "[", *end = p + size;

	if (!size)
		return false;
	for (size_t n; p < end; p += n + 1) {
		bool has_end, is_cut;

		n = strnlen(p, (size_t)(end - p));
		has_end = p + n < end;
		is_cut = !has_end || (n == KERNEL_CAPTURE_ARG_MAX - 1 && ends_in_dots(p, n));
		add(t, before);
		before = ", ";
		if (has_end || n != 3 || !ends_in_dots(p, n)) /* else there are more */
			call_quoted(t, p, is_cut && ends_in_dots(p, n) ? n - 3 : n);
		if (is_cut)
			add(t, "...");
	}
	add(t, "]");
	return true;
}

bool call_memory_add(struct text *t, const struct call_memory *m)
{
	switch ((enum kernel_capture_kind)m->what->kind) {
	case KERNEL_CAPTURE_ADDRESS:
		return add_sockaddr(t, m->bytes, m->size);
	case KERNEL_CAPTURE_TIME:
		return add_time(t, m->bytes, m->size);
	case KERNEL_CAPTURE_ARGV:
		return add_argv(t, (const char *)m->bytes, m->size);
	}
	return false;
}
