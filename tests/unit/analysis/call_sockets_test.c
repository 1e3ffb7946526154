/* SPDX-License-Identifier: MIT */
/* Addresses of sockets of rare families as text, in each style of constants, and values of options. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "capture/table.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/text.h"

static const char *said(const void *bytes, size_t size)
{
	static char made[4096];
	uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees reads behind it */
	struct text t = { 0 };

	memcpy(exact, bytes, size);
	if (call_address_add(&t, exact, size, NULL))
		snprintf(made, sizeof made, "%s", t.bytes);
	else
		snprintf(made, sizeof made, "too short");
	text_fini(&t);
	free(exact);
	return made;
}

#define SAID(bytes) said(bytes, sizeof bytes - 1)

static void in_style(int constants)
{
	call_style_set(&(struct call_style){ .constants = constants });
}

static void constants_are_words_numbers_or_both(void)
{
	static const char inet[] = "\2\0\60\71\177\0\0\1\0\0\0\0\0\0\0",
			  packet[] = "\21\0\0\3\1\0\0\0\1\0\0\2ab\0\0\0\0\0";

	is_text(said(packet, sizeof packet),
		"{sa_family=AF_PACKET, sll_protocol=htons(ETH_P_ALL), "
		"sll_ifindex=if_nametoindex(\"lo\"), sll_hatype=ARPHRD_ETHER, "
		"sll_pkttype=PACKET_HOST, sll_halen=2, sll_addr=[0x61, 0x62]}");
	in_style(CALL_RAW);
	is_text(said(inet, sizeof inet),
		"{sa_family=0x2, sin_port=\"\\x30\\x39\", sin_addr=\"\\x7f\\x00\\x00\\x01\"}");
	is_text(said(packet, sizeof packet),
		"{sa_family=0x11, sll_protocol=\"\\x00\\x03\", sll_ifindex=1, sll_hatype=0x1, "
		"sll_pkttype=0, sll_halen=2, sll_addr=[0x61, 0x62]}");
	in_style(CALL_VERBOSE);
	is_text(said(inet, sizeof inet),
		"{sa_family=0x2 /* AF_INET */, sin_port=\"\\x30\\x39\" /* htons(12345) */, "
		"sin_addr=\"\\x7f\\x00\\x00\\x01\" /* inet_addr(\"127.0.0.1\") */}");
	in_style(CALL_ABBREV);
}

static void each_family_has_its_members(void)
{
	is_text(SAID("\44\0\0\0\2\0\0\0\377\377\376\377\0\0\0\0\0\0\0\0"),
		"{sa_family=AF_IEEE802154, addr={addr_type=0x2 /* IEEE802154_ADDR_SHORT */, "
		"pan_id=0xffff /* IEEE802154_PANID_BROADCAST */, short_addr=0xfffe /* "
		"IEEE802154_ADDR_UNDEF */}}");
	is_text(SAID("\46\0hash\0\0\0\0\0\0\0\0\0\0\0\20\0\0\0\0\0\0sha1\0"),
		"{sa_family=AF_ALG, salg_type=\"hash\", salg_feat=0x1000 /* "
		"CRYPTO_ALG_KERN_DRIVER_ONLY */, salg_mask=0, salg_name=\"sha1\"}");
	is_text(SAID("\47\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\0"),
		"{sa_family=AF_NFC, dev_idx=if_nametoindex(\"lo\"), target_idx=0x1, "
		"nfc_protocol=NFC_PROTO_JEWEL, ...}");
	is_text(SAID("\50\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0"),
		"{sa_family=AF_VSOCK, svm_cid=VMADDR_CID_HOST, svm_port=0x5, svm_flags=0}");
	is_text(SAID("\52\0\0\0\377\377\377\377\376\377\377\377"),
		"{sa_family=AF_QIPCRTR, sq_node=QRTR_NODE_BCAST, sq_port=QRTR_PORT_CTRL}");
	is_text(SAID("\54\0\1\0\0\0\0\0\0\0\0\0\7\0\0\0"),
		"{sa_family=AF_XDP, sxdp_flags=XDP_SHARED_UMEM, sxdp_ifindex=0, sxdp_queue_id=0, "
		"sxdp_shared_umem_fd=7}");
	is_text(SAID("\55\0\0\0\0\0\0\0\377\1\10\0"),
		"{sa_family=AF_MCTP, smctp_network=MCTP_NET_ANY, "
		"smctp_addr={s_addr=MCTP_ADDR_ANY}, "
		"smctp_type=0x1, smctp_tag=0x8}");
	is_text(SAID("\3\0\254\202\230\222\210@\32\0\0\0\2\0\0\0\254\202\230\222\210d\16"),
		"{sa_family=AF_AX25, fsa_ax25={sax25_call=VALID-13, sax25_ndigis=2}, "
		"fsa_digipeater=[VALID2-7, ...]}");
	is_text(SAID("\11\0"
		     "0123456789abcdef"),
		"{sa_family=AF_X25, sx25_addr={x25_addr=\"0123456789abcde\"...}}");
	is_text(SAID("\41\0\1\0\2\0\20\0\2\0\0\120\177\0\0\1\0\0\0\0\0\0\0\0"
		     "\0\0\0\0\0\0\0\0\0\0\0\0"),
		"{sa_family=AF_RXRPC, srx_service=0x1 /* CM_SERVICE */, transport_type=SOCK_DGRAM, "
		"transport_len=16, transport={sin={sin_family=AF_INET, sin_port=htons(80), "
		"sin_addr=inet_addr(\"127.0.0.1\")}}}");
}

static void bytes_of_any_length_are_never_read_behind_their_end(void)
{
	uint8_t bytes[160];
	unsigned seed = 1;

	for (int round = 0; round < 4000; round++) {
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (uint8_t)(rand_r(&seed) % (round % 3 ? 256 : 3));
		bytes[0] = (uint8_t)(round % 48);
		bytes[1] = 0;
		ok(*said(bytes, (size_t)rand_r(&seed) % sizeof bytes));
	}
}

/* An option that setsockopt() gets in @length bytes; @size of them were read. */
static const char *option(int name, const void *bytes, uint32_t size, int64_t length)
{
	static char made[256];
	const int64_t args[6] = { 3, SOL_SOCKET, name, 0x1000, length };
	const struct call_moment x = { .args = args };
	struct call_memory m = { .what = capture_of_call("setsockopt", false, true).at[0],
				 .size = size };
	struct text t = { 0 };

	memcpy(m.bytes, bytes, size);
	snprintf(made, sizeof made, "%s", call_option_add(&t, &m, &x) ? t.bytes : "an address");
	text_fini(&t);
	return made;
}

static void an_option_that_is_no_number_is_shown_as_bytes(void)
{
	enum { TXREHASH = 74 };

	is_text(option(SO_KEEPALIVE, "\1\0\0\0", 4, 4), "[1]");
	is_text(option(SO_KEEPALIVE, "\1\0\0\0", 4, 5), "[1]");
	is_text(option(SO_KEEPALIVE, "\1\0\0", 3, 3), "an address");
	is_text(option(SO_TYPE, "\1\0\0\0", 4, 4), "[1]");
	is_text(option(SO_TYPE, "\1\0\0\0", 4, 5), "an address");
	is_text(option(SO_TYPE, "\1\0\0", 3, 3), "\"\\1\\0\\0\"");
	is_text(option(SO_BINDTODEVICE, "eth0\0", 5, 5), "\"eth0\\0\"");
	is_text(option(TXREHASH, "\377\0\0\0", 4, 4), "[SOCK_TXREHASH_DEFAULT]");
	is_text(option(TXREHASH, "\2\0\0\0", 4, 4), "[2 /* SOCK_TXREHASH_??? */]");
	is_text(option(SO_RCVTIMEO, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16, 16),
		"{tv_sec=1, tv_usec=2}");
	is_text(option(999, "\1\0", 2, 2), "\"\\1\\0\"");
}

int main(void)
{
	run(an_option_that_is_no_number_is_shown_as_bytes);
	run(constants_are_words_numbers_or_both);
	run(each_family_has_its_members);
	run(bytes_of_any_length_are_never_read_behind_their_end);
	return test_status();
}
