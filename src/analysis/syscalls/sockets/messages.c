/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/messages.c - iovecs, messages of sockets and their control messages as text, and as lines of bytes.
 *
 * The captured memory of a message is its header, a u16, so many bytes of its name, and then its
 * iovecs: each is the iovec, a u16, and so many bytes of its data (abi/capture.h). Sizes come from
 * the file and are checked; memory that was not recorded is shown as its address.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/in.h>
#include <string.h>

#include "analysis/syscalls/sockets/internal.h"
#include "analysis/syscalls/bytes.h"

enum { IOVEC = 16, HEADER = 56, HEADERS = 64 };

/* ---------------------------------------------------------------- control messages */

/* Their memory lies behind that of the message, and may be recorded in part. */
enum { HEAD = 16, SOCKET = 1, IP = 0, CONTROL_AT = 32 };

struct data {
	const uint8_t *bytes;
	uint64_t size;
	const struct call_moment *x;
};

static uint64_t most_of(const struct call_moment *x)
{
	return x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX;
}

static void add_fds(struct text *t, const struct data *d)
{
	add(t, "[");
	for (uint64_t i = 0; i < d->size / 4; i++) {
		add(t, i ? ", " : "");
		if (i == most_of(d->x)) {
			add(t, "...");
			break;
		}
		call_fd(t, (int32_t)bytes_number(d->bytes + 4 * i, 4), d->x->about);
	}
	add(t, "]");
}

static void add_options(struct text *t, const struct data *d)
{
	add(t, "[");
	for (uint64_t i = 0; i < d->size; i++) {
		add(t, i ? ", " : "");
		if (i == most_of(d->x)) {
			add(t, "...");
			break;
		}
		text_addf(t, "%#x", d->bytes[i]);
	}
	add(t, "]");
}

static void add_time(struct text *t, const uint8_t *p, const char *fraction)
{
	text_addf(t, "{tv_sec=%" PRId64 ", %s=%" PRIu64 "}", (int64_t)bytes_number(p, 8), fraction,
		  bytes_number(p + 8, 8));
}

static void add_times(struct text *t, const struct data *d)
{
	for (int i = 0; i < 3; i++) {
		add(t, i ? ", " : "[");
		add_time(t, d->bytes + 16 * i, "tv_nsec");
	}
	add(t, "]");
}

static void add_packet(struct text *t, const struct data *d)
{
	add(t, "{ipi_ifindex=");
	call_interface(t, (uint32_t)bytes_number(d->bytes, 4));
	sockets_internet(t, ", ipi_spec_dst=", d->bytes + 4);
	sockets_internet(t, ", ipi_addr=", d->bytes + 8);
	add(t, "}");
}

static void add_error(struct text *t, const struct data *d)
{
	text_addf(t,
		  "{ee_errno=%" PRIu64 ", ee_origin=%u, ee_type=%u, ee_code=%u, ee_info=%" PRIu64
		  ", ee_data=%" PRIu64 ", offender=",
		  bytes_number(d->bytes, 4), d->bytes[4], d->bytes[5], d->bytes[6],
		  bytes_number(d->bytes + 8, 4), bytes_number(d->bytes + 12, 4));
	call_address_add(t, d->bytes + 16, d->size - 16, d->x);
	add(t, "}");
}

static void add_owner(struct text *t, const struct data *d)
{
	text_addf(t, "{pid=%" PRId32 ", uid=%" PRIu64 ", gid=%" PRIu64 "}",
		  (int32_t)bytes_number(d->bytes, 4), bytes_number(d->bytes + 4, 4),
		  bytes_number(d->bytes + 8, 4));
}

static void add_text(struct text *t, const struct data *d)
{
	call_quoted(t, (const char *)d->bytes, d->size);
}

static void add_number(struct text *t, const struct data *d)
{
	text_addf(t, "[%" PRIu64 "]", bytes_number(d->bytes, 4));
}

static void add_byte(struct text *t, const struct data *d)
{
	text_addf(t, "[%#x]", d->bytes[0]);
}

static void add_micro(struct text *t, const struct data *d)
{
	add_time(t, d->bytes, "tv_usec");
}

static void add_nano(struct text *t, const struct data *d)
{
	add_time(t, d->bytes, "tv_nsec");
}

static void add_address_of(struct text *t, const struct data *d)
{
	call_address_add(t, d->bytes, d->size, d->x);
}

static const struct kind {
	int level, type;
	const char *name;
	uint8_t least; /* fewer bytes are shown as unknown; 0: any number, and none is left out */
	void (*add)(struct text *t, const struct data *d);
} kinds[] = {
	{ SOCKET, 1, "SCM_RIGHTS", 4, add_fds },
	{ SOCKET, 2, "SCM_CREDENTIALS", 12, add_owner },
	{ SOCKET, 3, "SCM_SECURITY", 0, add_text },
	{ SOCKET, 4, "SCM_PIDFD", 4, add_number },
	{ SOCKET, 29, "SO_TIMESTAMP_OLD", 16, add_micro },
	{ SOCKET, 35, "SO_TIMESTAMPNS_OLD", 16, add_nano },
	{ SOCKET, 37, "SO_TIMESTAMPING_OLD", 48, add_times },
	{ SOCKET, 63, "SO_TIMESTAMP_NEW", 16, add_micro },
	{ SOCKET, 64, "SO_TIMESTAMPNS_NEW", 16, add_nano },
	{ SOCKET, 65, "SO_TIMESTAMPING_NEW", 48, add_times },
	{ IP, IP_PKTINFO, "IP_PKTINFO", 12, add_packet },
	{ IP, IP_TTL, "IP_TTL", 4, add_number },
	{ IP, IP_TOS, "IP_TOS", 1, add_byte },
	{ IP, IP_RECVOPTS, "IP_RECVOPTS", 0, add_options },
	{ IP, IP_RETOPTS, "IP_RETOPTS", 0, add_options },
	{ IP, IP_RECVERR, "IP_RECVERR", 18, add_error },
	{ IP, IP_ORIGDSTADDR, "IP_ORIGDSTADDR", 16, add_address_of },
	{ IP, IP_CHECKSUM, "IP_CHECKSUM", 4, add_number },
	{ IP, 3 /* SCM_SECURITY */, "SCM_SECURITY", 0, add_text },
};

static void add_control(struct text *t, uint64_t length, int32_t level, int32_t type,
			const struct data *d)
{
	const struct kind *k = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
	bool is_known = level == SOCKET || level == IP;

	while (k < end && (k->level != level || k->type != type))
		k++;
	text_addf(t, "{cmsg_len=%" PRIu64 ", cmsg_level=", length);
	call_one(t, call_names_sol, level, 32);
	add(t, ", cmsg_type=");
	if (k == end)
		text_addf(t, is_known ? "%#" PRIx32 " /* %s */" : "%#" PRIx32, (uint32_t)type,
			  level == SOCKET ? "SCM_???" : "IP_???");
	else if (call_words_begin(t, (uint64_t)type, CALL_HEXADECIMAL)) {
		add(t, k->name);
		call_words_end(t);
	}
	if (k < end && d->size && d->size >= k->least) {
		add(t, ", cmsg_data=");
		k->add(t, d);
	} else if (k < end && d->size && k->add != add_fds) {
		add(t, ", cmsg_data=???");
	} else if (k == end && d->size && !is_known) {
		add(t, ", cmsg_data=");
		call_quoted_part(t, d->bytes, d->size, d->size, d->x);
	}
	add(t, "}");
}

void call_control_messages_add(struct text *t, const struct call_memory *m, uint64_t from,
			       uint64_t all, const struct call_moment *x)
{
	const struct call_memory *c = call_memory_behind(m, x, CONTROL_AT);
	uint64_t at = 0;

	if (!c || c->size < HEAD)
		return add_address(t, from);
	add(t, "[");
	while (c->size - at >= HEAD) {
		uint64_t length = u64(c, at), room = c->size - at,
			 size = length < room ? length : room;
		struct data d = { .bytes = c->bytes + at + HEAD,
				  .size = size > HEAD ? size - HEAD : 0,
				  .x = x };

		add(t, at ? ", " : "");
		add_control(t, length, (int32_t)u32(c, at + 8), (int32_t)u32(c, at + 12), &d);
		size = length < HEAD ? HEAD : (size + 7) & ~7ull;
		if (length >= room || size >= room || length < HEAD) {
			at = length >= room || size >= room ? all : at + HEAD;
			break;
		}
		at += size;
	}
	if (c->size < all && c->size == c->what->size) /* only so much is recorded */
		add(t, ", ...");
	else if (at < all)
		text_addf(t, ", ... /* %#" PRIx64 " */", from + at);
	add(t, "]");
}

/* ---------------------------------------------------------------- iovecs */

struct piece { /* an iovec and its data */
	uint64_t base, length;
	const uint8_t *bytes;
	uint16_t size;
};

/* Reads the piece at *@at and moves *@at behind it; false if there is none. */
static bool read_piece(const struct call_memory *m, uint32_t *at, struct piece *p)
{
	if (*at > m->size || m->size - *at < IOVEC + 2)
		return false;
	p->base = u64(m, *at);
	p->length = u64(m, *at + 8);
	p->size = u16(m, *at + IOVEC);
	*at += IOVEC + 2;
	p->size = p->size < m->size - *at ? p->size : (uint16_t)(m->size - *at);
	p->bytes = m->bytes + *at;
	*at += p->size;
	return true;
}

/* @count iovecs, which lay at the address @from. @has_data: their data is shown, of which the call
 * moved *@left bytes. */
static void add_iovecs(struct text *t, const struct call_memory *m, uint32_t *at, uint64_t from,
		       uint64_t count, bool has_data, uint64_t *left, const struct call_moment *x)
{
	struct piece p;
	uint64_t n = 0,
		 most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX;

	if (!from)
		return add(t, "NULL");
	if (count && (*at > m->size || m->size - *at < IOVEC + 2))
		return add_address(t, from);
	add(t, "[");
	for (; n < count && read_piece(m, at, &p); n++) {
		uint64_t all = p.length < *left ? p.length : *left;

		if (n >= most)
			continue;
		*left -= *left == UINT64_MAX ? 0 : all; /* at the entry nothing has been moved */
		text_addf(t, "%s{iov_base=", n ? ", " : "");
		if (has_data && p.base && (p.size || !all))
			call_quoted_part(t, p.bytes, p.size < all ? p.size : all, all, x);
		else
			add_address(t, p.base);
		text_addf(t, ", iov_len=%" PRIu64 "}", p.length);
	}
	if (n > most)
		add(t, ", ...]");
	else if (n < count && n && n < ABI_CAPTURE_VECTOR_MAX) /* the next one could not be read */
		text_addf(t, ", ... /* %#" PRIx64 " */]", from + n * IOVEC);
	else
		add(t, n < count && n ? ", ...]" : "]");
}

bool call_vector_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t from = (uint64_t)x->args[m->what->argument - 1],
		 count = (uint64_t)x->args[m->what->size_argument - 1], left;
	bool is_read = x->is_end && strcmp(m->what->call, "keyctl") != 0;
	uint32_t at = 0;

	if (!m->size && (count || !from))
		return false;
	left = is_read ? (uint64_t)x->result : UINT64_MAX;
	add_iovecs(t, m, &at, from, count, !is_read || x->result >= 0, &left, x);
	return true;
}

/* ---------------------------------------------------------------- messages */

struct header {
	uint64_t name;
	uint32_t name_length;
	uint64_t iovecs, n_iovecs, control, control_length;
	uint32_t flags, length; /* of an mmsghdr: bytes that were moved */
	const uint8_t *name_bytes;
	uint16_t name_size;
};

/* Reads the header of @size bytes at *@at, and its name. */
static bool read_header(const struct call_memory *m, uint32_t *at, uint32_t size, struct header *h)
{
	if (*at > m->size || m->size - *at < size + 2)
		return false;
	*h = (struct header){ .name = u64(m, *at),
			      .name_length = u32(m, *at + 8),
			      .iovecs = u64(m, *at + 16),
			      .n_iovecs = u64(m, *at + 24),
			      .control = u64(m, *at + 32),
			      .control_length = u64(m, *at + 40),
			      .flags = u32(m, *at + 48),
			      .length = size == HEADERS ? u32(m, *at + HEADER) : 0,
			      .name_size = u16(m, *at + size) };
	*at += size + 2;
	h->name_size = h->name_size < m->size - *at ? h->name_size : (uint16_t)(m->size - *at);
	h->name_bytes = m->bytes + *at;
	*at += h->name_size;
	return true;
}

/* @before: the length of the name that the program gave; negative: the same. */
static void add_header(struct text *t, const struct call_memory *m, uint32_t *at,
		       const struct header *h, int32_t before, bool has_data, uint64_t left,
		       const struct call_moment *x)
{
	uint32_t room =
		before >= 0 && (uint32_t)before < h->name_size ? (uint32_t)before : h->name_size;

	add(t, "{msg_name=");
	if (!h->name || (int32_t)h->name_length < 0 || !call_address_add(t, h->name_bytes, room, x))
		add_address(t, h->name);
	add(t, ", msg_namelen=");
	if (before >= 0 && (uint32_t)before != h->name_length)
		text_addf(t, "%" PRId32 " => ", before);
	text_addf(t, "%" PRId32 ", msg_iov=", (int32_t)h->name_length);
	add_iovecs(t, m, at, h->iovecs, h->n_iovecs, has_data, &left, x);
	text_addf(t, ", msg_iovlen=%" PRIu64, h->n_iovecs);
	if (h->control_length) {
		add(t, ", msg_control=");
		if (m->what->kind == ABI_CAPTURE_MESSAGE)
			call_control_messages_add(t, m, h->control, h->control_length, x);
		else
			add_address(t, h->control);
	}
	text_addf(t, ", msg_controllen=%" PRIu64 ", msg_flags=", h->control_length);
	call_flags(t, call_names_message, h->flags);
	add(t, "}");
}

bool call_message_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_length *before = call_length_of(x, m->what->argument);
	struct header h;
	uint32_t at = 0;

	if (m->size >= 12 && m->size < HEADER && !x->is_end) /* kept if the call fails */
		return text_addf(t, "{msg_namelen=%" PRId32 "}", (int32_t)u32(m, 8)), true;
	if (!read_header(m, &at, HEADER, &h))
		return false;
	add_header(t, m, &at, &h, before ? (int32_t)before->bytes : -1, true,
		   x->is_end ? (uint64_t)x->result : UINT64_MAX, x);
	return true;
}

static bool is_receiving(const struct call_memory *m)
{
	return m->what->call[0] == 'r';
}

/* At the entry, and if the call failed, the lengths of messages mean nothing. */
bool call_messages_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint32_t count = (uint32_t)x->args[m->what->size_argument - 1];
	uint64_t from = (uint64_t)x->args[m->what->argument - 1], n = 0,
		 most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX,
		 done = x->is_end && x->result > 0 ? (uint64_t)x->result : 0;
	struct header h;
	uint32_t at = 0;

	if (is_receiving(m) && x->is_end && done < count)
		count = (uint32_t)done;
	if ((is_receiving(m) && !x->is_end) || !m->size)
		return false;
	add(t, "[");
	for (; n < count && n < most && read_header(m, &at, HEADERS, &h); n++) {
		add(t, n ? ", {msg_hdr=" : "{msg_hdr=");
		add_header(t, m, &at, &h,
			   x->befores && n < CALL_BEFORES && is_receiving(m) ? x->befores[n] : -1,
			   !is_receiving(m) || n < done, is_receiving(m) ? h.length : UINT64_MAX,
			   x);
		if (n < done)
			text_addf(t, ", msg_len=%" PRIu32, h.length);
		add(t, "}");
	}
	if (n < count && n < most && m->size < ABI_CAPTURE_MAX / 4)
		text_addf(t, ", ... /* %#" PRIx64 " */]", from + n * HEADERS);
	else
		add(t, n < count ? ", ...]" : "]");
	return true;
}

void call_messages_befores(const struct call_memory *m, int32_t *befores, uint32_t n)
{
	struct header h;
	struct piece p;
	uint32_t at = 0, i = 0;

	for (; i < n && read_header(m, &at, HEADERS, &h); i++) {
		befores[i] = (int32_t)h.name_length;
		for (uint64_t k = 0; k < h.n_iovecs && read_piece(m, &at, &p); k++)
			continue;
	}
	for (; i < n; i++)
		befores[i] = -1;
}

/* ---------------------------------------------------------------- lines of bytes */

static void dump_bytes(struct text *t, const uint8_t *bytes, uint64_t size)
{
	enum { A_LINE = 16 };

	for (uint64_t at = 0; at < size; at += A_LINE) {
		uint64_t n = size - at < A_LINE ? size - at : A_LINE;

		text_addf(t, " | %05" PRIx64 " ", at);
		for (uint64_t i = 0; i < A_LINE; i++) {
			add(t, i == A_LINE / 2 ? "  " : " ");
			if (i < n)
				text_addf(t, "%02x", bytes[at + i]);
			else
				add(t, "  ");
		}
		add(t, "  ");
		for (uint64_t i = 0; i < A_LINE; i++) {
			char c = i < n ? (char)bytes[at + i] : ' ';

			text_add(t, c < 0x20 || c == 0x7f ? "." : &c, 1);
		}
		add(t, " |\n");
	}
}

/* @count iovecs, of which the call moved @left bytes. */
static void dump_iovecs(struct text *t, const struct call_memory *m, uint32_t *at, uint64_t count,
			uint64_t left)
{
	struct piece p;

	for (uint64_t n = 0; n < count && read_piece(m, at, &p); n++) {
		uint64_t all = p.length < left ? p.length : left;

		left -= all;
		if (!all)
			continue;
		text_addf(t, " * %" PRIu64 " bytes in buffer %" PRIu64 "\n", all, n);
		dump_bytes(t, p.bytes, p.size < all ? p.size : all);
	}
}

static void dump_messages(struct text *t, const struct call_memory *m, uint64_t count)
{
	struct header h;
	uint32_t at = 0;

	for (uint64_t n = 0; n < count && read_header(m, &at, HEADERS, &h); n++) {
		text_addf(t, " = %" PRIu64 " buffers in vector %" PRIu64 "\n", h.n_iovecs, n);
		dump_iovecs(t, m, &at, h.n_iovecs, h.length);
	}
}

/* Whether all iovecs of the call were recorded, or as many as a capture has: the kernel takes none if it
 * cannot read one. */
static bool has_all_iovecs(const struct call_memory *m, const struct call_moment *x)
{
	uint64_t count = (uint64_t)x->args[m->what->size_argument - 1], n = 0;
	struct piece p;
	uint32_t at = 0;

	while (n < count && n < ABI_CAPTURE_VECTOR_MAX && read_piece(m, &at, &p))
		n++;
	return n == count || n == ABI_CAPTURE_VECTOR_MAX;
}

void call_memory_dump(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t all = x->is_end ? (uint64_t)x->result : UINT64_MAX;
	struct header h;
	uint32_t at = 0;

	if (m->what->kind == ABI_CAPTURE_BUFFER)
		dump_bytes(t, m->bytes, call_buffer_known(m, x));
	else if (m->what->kind == ABI_CAPTURE_IOVECS && has_all_iovecs(m, x))
		dump_iovecs(t, m, &at, UINT64_MAX, all);
	else if (m->what->kind == ABI_CAPTURE_MESSAGE && read_header(m, &at, HEADER, &h))
		dump_iovecs(t, m, &at, h.n_iovecs, all);
	else if (m->what->kind == ABI_CAPTURE_MESSAGES && x->is_end)
		dump_messages(t, m, all);
}
