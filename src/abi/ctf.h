/* SPDX-License-Identifier: MIT */
/*
 * abi/ctf.h - the fixed parts of a trace file, byte for byte (CTF 1.8, LTTng's layout).
 *
 * All is packed to bytes and in the machine's order, which the metadata states; the index is
 * big-endian.  Events follow a packet's header and context:
 *
 *   application: u16 id (65535: u32 id, u64 time follow), u32 low time, s32 vpid, s32 vtid, fields
 *   kernel:      u32 low time, u16 id, u8 flags, u8 preempt count, s32 tid, fields
 */
#ifndef ABI_CTF_H
#define ABI_CTF_H

#include <stdint.h>

#define ABI_CTF_MAGIC 0xC1FC1FC1u
#define ABI_CTF_INDEX_MAGIC 0xC1F1DCC1u

struct abi_ctf_packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance_id; /* unique per file of a trace */
	/* packet context */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t content_bits; /* this header included */
	uint64_t packet_bits;
	uint64_t sequence;
	uint64_t discarded; /* events lost in this stream so far */
	uint32_t cpu;
} __attribute__((packed));
_Static_assert(sizeof(struct abi_ctf_packet) == 84, "32 bytes of header, 52 of context");

/* The large event header of applications.  It is extended if a u32 cannot hold the time since the
 * last event. */
struct abi_ctf_event {
	uint16_t id;
	uint32_t time;
} __attribute__((packed));

#define ABI_CTF_EXTENDED 65535u
struct abi_ctf_event_extended {
	uint16_t extended; /* ABI_CTF_EXTENDED */
	uint32_t id;
	uint64_t time;
} __attribute__((packed));

_Static_assert(sizeof(struct abi_ctf_event) == 6 && sizeof(struct abi_ctf_event_extended) == 14,
	       "event headers as the metadata describes them");

struct abi_ctf_index_header { /* all big-endian */
	uint32_t magic;
	uint32_t major;
	uint32_t minor;
	uint32_t entry_size;
};

_Static_assert(sizeof(struct abi_ctf_index_header) == 16, "as LTTng's index version 1.1");

struct abi_ctf_index_entry { /* all big-endian */
	uint64_t offset;
	uint64_t packet_bits;
	uint64_t content_bits;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t discarded;
	uint64_t stream_id;
	uint64_t stream_instance_id;
	uint64_t sequence;
};
_Static_assert(sizeof(struct abi_ctf_index_entry) == 72, "as LTTng's index version 1.1");

#endif
