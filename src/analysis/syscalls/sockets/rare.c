/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/rare.c - addresses of rare families as text: see internal.h.
 *
 * Layouts are those of the kernel's headers for programs (linux/if_packet.h, linux/rxrpc.h,
 * linux/nfc.h, ..), written as offsets here: a system may lack some of these headers.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <sys/socket.h>

#include "analysis/syscalls/sockets/internal.h"

enum { IEEE802154 = 36, NFC = 39, QIPCRTR = 42, XDP = 44, MCTP = 45 }; /* old libcs lack some */

/* A number, and if it has a name that as a comment, unless constants are raw. */
static void add_commented(struct text *t, const struct call_name *names, uint32_t value)
{
	const char *name = call_name_of(names, value);

	while (!name && names->name)
		names++;
	add_hex(t, value);
	name = name ? name : names->unknown;
	if (name && call_style()->constants != CALL_RAW)
		text_addf(t, " /* %s */", name);
}

/* A text in a field of @room bytes; without a NUL its last byte is not shown. */
static void add_text_in(struct text *t, const uint8_t *p, size_t room)
{
	size_t n = strnlen((const char *)p, room);
	bool has_end = n < room;

	call_quoted(t, (const char *)p, has_end ? n : room - 1);
	add(t, has_end ? "" : "...");
}

static void add_bytes_of(struct text *t, const uint8_t *p, size_t n, size_t all)
{
	add(t, "[");
	for (size_t i = 0; i < n; i++)
		text_addf(t, "%s%#02x", i ? ", " : "", p[i]);
	add(t, n < all ? ", ...]" : "]");
}

static void add_packet(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	enum { ROOM = 8 };
	uint8_t length = p[11];
	uint16_t protocol = ntohs(bytes_u16(p + 2));
	const char *name = call_name_of(call_names_eth_p, protocol);

	(void)size, (void)x;
	add(t, ", sll_protocol=");
	if (sockets_begin(t, p + 2, 2)) {
		if (name)
			text_addf(t, "htons(%s)", name);
		else
			text_addf(t, "htons(%#x)", protocol);
		call_words_end(t);
	}
	add(t, ", sll_ifindex=");
	call_interface(t, bytes_u32(p + 4));
	add(t, ", sll_hatype=");
	call_one(t, call_names_arphrd, bytes_u16(p + 8), 16);
	add(t, ", sll_pkttype=");
	call_one_signed(t, call_names_packet_type, p[10]);
	text_addf(t, ", sll_halen=%u", length);
	if (!length)
		return;
	add(t, ", sll_addr=");
	add_bytes_of(t, p + 12, length < ROOM ? length : ROOM, length);
}

static void add_ipx(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	(void)size, (void)x;
	sockets_port(t, ", sipx_port=", p + 2);
	add(t, ", sipx_network=");
	if (sockets_begin(t, p + 4, 4)) {
		text_addf(t, "htonl(%#x)", ntohl(bytes_u32(p + 4)));
		call_words_end(t);
	}
	add(t, ", sipx_node=");
	add_bytes_of(t, p + 8, 6, 6);
	text_addf(t, ", sipx_type=%#02x", p[14]);
	if (p[15])
		text_addf(t, ", sipx_zero=%#02x", p[15]);
}

static void add_ax25(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	(void)x;
	sockets_ax25(t, p, size);
}

static void add_x25(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	enum { ROOM = 16 };

	(void)size, (void)x;
	add(t, ", sx25_addr={x25_addr=");
	add_text_in(t, p + 2, ROOM);
	add(t, "}");
}

/* The address below; the caller passes its length. */
static void add_transport(struct text *t, const uint8_t *p, size_t size)
{
	enum { INET = 16, INET6 = 24 };
	uint16_t family = bytes_u16(p);
	bool is_4 = family == AF_INET, is_6 = family == AF_INET6;

	add(t, is_4 ? "{sin={sin_family=" : is_6 ? "{sin6={sin6_family=" : "{family=");
	call_one(t, call_names_family, family, 16);
	if (is_4 && size >= INET) {
		sockets_inet(t, p);
	} else if (is_6 && size >= INET6) {
		sockets_inet6(t, p, size);
	} else if (size > sizeof family) {
		add(t, ", ");
		call_quoted(t, (const char *)p + sizeof family, size - sizeof family);
	}
	add(t, is_4 || is_6 ? "}}" : "}");
}

/* Services: fs/afs of the kernel. */
static void add_rxrpc(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	enum { HEAD = 8 };
	static const struct call_name services[] = {
		{ "CM_SERVICE", 1, NULL },	  { "VL_SERVICE", 52, NULL },
		{ "YFS_FS_SERVICE", 2500, NULL }, { "YFS_CM_SERVICE", 2501, NULL },
		{ "YFS_VL_SERVICE", 2503, NULL }, { NULL, 0, "???_SERVICE" },
	};
	uint16_t length = bytes_u16(p + 6);

	(void)x;
	add(t, ", srx_service=");
	add_commented(t, services, bytes_u16(p + 2));
	add(t, ", transport_type=");
	call_one(t, call_names_socket, bytes_u16(p + 4), 16);
	text_addf(t, ", transport_len=%u, transport=", length);
	add_transport(t, p + HEAD, length < size - HEAD ? length : size - HEAD);
}

static void add_ieee802154(struct text *t, const uint8_t *p, size_t size,
			   const struct call_moment *x)
{
	enum { NONE = 0, SHORT = 2, LENGTH = 8, AT = 10 };
	static const struct call_name types[] = { { "IEEE802154_ADDR_NONE", 0, NULL },
						  { "IEEE802154_ADDR_SHORT", 2, NULL },
						  { "IEEE802154_ADDR_LONG", 3, NULL },
						  { NULL, 0, "IEEE802154_ADDR_???" } };
	static const struct call_name pans[] = { { "IEEE802154_PANID_BROADCAST", 0xffff, NULL },
						 { 0 } };
	static const struct call_name shorts[] = { { "IEEE802154_ADDR_UNDEF", 0xfffe, NULL },
						   { "IEEE802154_ADDR_BROADCAST", 0xffff, NULL },
						   { 0 } };
	uint32_t type = bytes_u32(p + 4);

	(void)size, (void)x;
	add(t, ", addr={addr_type=");
	add_commented(t, types, type);
	add(t, ", pan_id=");
	add_commented(t, pans, bytes_u16(p + 8));
	if (type == SHORT) {
		add(t, ", short_addr=");
		add_commented(t, shorts, bytes_u16(p + AT));
	} else if (type != NONE) {
		add(t, ", hwaddr=");
		sockets_hardware(t, p + AT, LENGTH);
	}
	add(t, "}");
}

/* A bit of the type of an algorithm: linux/crypto.h, which programs do not see. */
static void add_algorithm_bits(struct text *t, uint32_t bits)
{
	enum { DRIVER_ONLY = 0x1000 };

	add_hex(t, bits);
	if (!bits || call_style()->constants == CALL_RAW)
		return;
	if (!(bits & DRIVER_ONLY))
		return add(t, " /* CRYPTO_ALG_??? */");
	add(t, " /* CRYPTO_ALG_KERN_DRIVER_ONLY");
	if (bits & ~(uint32_t)DRIVER_ONLY)
		text_addf(t, "|%#x", bits & ~(uint32_t)DRIVER_ONLY);
	add(t, " */");
}

static void add_algorithm(struct text *t, const uint8_t *p, size_t size,
			  const struct call_moment *x)
{
	enum { TYPE = 14, HEAD = 24 };

	(void)x;
	add(t, ", salg_type=");
	add_text_in(t, p + 2, TYPE);
	add(t, ", salg_feat=");
	add_algorithm_bits(t, bytes_u32(p + 16));
	add(t, ", salg_mask=");
	add_algorithm_bits(t, bytes_u32(p + 20));
	add(t, ", salg_name=");
	add_text_in(t, p + HEAD, size - HEAD);
}

static void add_nfc(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	enum { SHORT = 16, LONG = 96, ROOM = 63, NAME_AT = 18, LENGTH_AT = 88 };
	static const struct call_name points[] = {
		{ "LLCP_SAP_SDP", 1, NULL },   { "LLCP_SAP_IP", 2, NULL },
		{ "LLCP_SAP_OBEX", 3, NULL },  { "LLCP_SAP_SNEP", 4, NULL },
		{ "LLCP_SAP_MAX", 255, NULL }, { 0 },
	};
	uint64_t length;

	(void)x;
	add(t, ", dev_idx=");
	call_interface(t, bytes_u32(p + 4));
	add(t, ", target_idx=");
	add_hex(t, bytes_u32(p + 8));
	add(t, ", nfc_protocol=");
	call_one(t, call_names_nfc_protocol, bytes_u32(p + 12), 32);
	if (size < LONG)
		return size > SHORT ? add(t, ", ...") : (void)0;
	add(t, ", dsap=");
	add_commented(t, points, p[16]);
	add(t, ", ssap=");
	add_commented(t, points, p[17]);
	memcpy(&length, p + LENGTH_AT, sizeof length);
	add(t, ", service_name=");
	call_quoted(t, (const char *)p + NAME_AT, length < ROOM ? length : ROOM);
	text_addf(t, ", service_name_len=%llu", (unsigned long long)length);
}

static void add_virtual(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	static const struct call_name ids[] = { { "VMADDR_CID_HYPERVISOR", 0, NULL },
						{ "VMADDR_CID_LOCAL", 1, NULL },
						{ "VMADDR_CID_HOST", 2, NULL },
						{ "VMADDR_CID_ANY", 0xffffffff, NULL },
						{ 0 } };
	static const struct call_name ports[] = { { "VMADDR_PORT_ANY", 0xffffffff, NULL }, { 0 } };
	static const struct call_name flags[] = { { "VMADDR_FLAG_TO_HOST", 1, NULL },
						  { NULL, 0, "VMADDR_FLAG_???" } };

	(void)size, (void)x;
	if (bytes_u16(p + 2))
		text_addf(t, ", svm_reserved1=%#x", bytes_u16(p + 2));
	add(t, ", svm_cid=");
	call_one(t, ids, bytes_u32(p + 8), 32);
	add(t, ", svm_port=");
	call_one(t, ports, bytes_u32(p + 4), 32);
	add(t, ", svm_flags=");
	call_flags(t, flags, p[12]);
	if (p[13] || p[14] || p[15]) {
		add(t, ", svm_zero=");
		call_hex_quoted(t, p + 13, 3);
	}
}

static void add_qualcomm(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	static const struct call_name nodes[] = { { "QRTR_NODE_BCAST", 0xffffffff, NULL }, { 0 } };
	static const struct call_name ports[] = { { "QRTR_PORT_CTRL", 0xfffffffe, NULL }, { 0 } };

	(void)size, (void)x;
	add(t, ", sq_node=");
	call_one(t, nodes, bytes_u32(p + 4), 32);
	add(t, ", sq_port=");
	call_one(t, ports, bytes_u32(p + 8), 32);
}

static void add_xdp(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	enum { SHARED = 1 };
	static const struct call_name flags[] = { { "XDP_SHARED_UMEM", 1, NULL },
						  { "XDP_COPY", 2, NULL },
						  { "XDP_ZEROCOPY", 4, NULL },
						  { "XDP_USE_NEED_WAKEUP", 8, NULL },
						  { NULL, 0, "XDP_???" } };
	uint32_t fd = bytes_u32(p + 12);

	(void)size;
	add(t, ", sxdp_flags=");
	call_flags(t, flags, bytes_u16(p + 2));
	add(t, ", sxdp_ifindex=");
	call_interface(t, bytes_u32(p + 4));
	text_addf(t, ", sxdp_queue_id=%u", bytes_u32(p + 8));
	if (bytes_u16(p + 2) & SHARED) {
		add(t, ", sxdp_shared_umem_fd=");
		call_fd(t, (int32_t)fd, x ? x->about : NULL);
	} else if (fd) { /* nothing looks at it */
		text_addf(t, ", sxdp_shared_umem_fd=%#x", fd);
	}
}

static void add_mctp(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x)
{
	static const struct call_name networks[] = { { "MCTP_NET_ANY", 0, NULL }, { 0 } };
	static const struct call_name addresses[] = { { "MCTP_ADDR_NULL", 0, NULL },
						      { "MCTP_ADDR_ANY", 0xff, NULL },
						      { 0 } };

	(void)size, (void)x;
	if (bytes_u16(p + 2))
		text_addf(t, ", __smctp_pad0=%#x", bytes_u16(p + 2));
	add(t, ", smctp_network=");
	call_one(t, networks, bytes_u32(p + 4), 32);
	add(t, ", smctp_addr={s_addr=");
	call_one(t, addresses, p[8], 8);
	text_addf(t, "}, smctp_type=%#x, smctp_tag=%#x", p[9], p[10]);
	if (p[11])
		text_addf(t, ", __smctp_pad1=%#x", p[11]);
}

static const struct {
	unsigned family;
	uint8_t least;
	void (*add)(struct text *t, const uint8_t *p, size_t size, const struct call_moment *x);
} families[] = {
	{ AF_AX25, 16, add_ax25 },     { AF_IPX, 16, add_ipx },
	{ AF_X25, 18, add_x25 },       { AF_PACKET, 20, add_packet },
	{ AF_RXRPC, 36, add_rxrpc },   { IEEE802154, 20, add_ieee802154 },
	{ AF_ALG, 25, add_algorithm }, { NFC, 16, add_nfc },
	{ AF_VSOCK, 16, add_virtual }, { QIPCRTR, 12, add_qualcomm },
	{ XDP, 16, add_xdp },	       { MCTP, 12, add_mctp },
};

bool sockets_rare(struct text *t, unsigned family, const uint8_t *bytes, size_t size,
		  const struct call_moment *x)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (families[i].family == family && size >= families[i].least)
			return families[i].add(t, bytes, size, x), true;
	return false;
}
