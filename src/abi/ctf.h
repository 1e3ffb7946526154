/* SPDX-License-Identifier: MIT */
/*
 * abi/ctf.h - the fixed parts of a trace file, byte for byte (CTF 1.8, LTTng's layout).
 *
 * All is packed to bytes and in the machine's order, which the metadata states; the index is
 * big-endian.  Events follow a packet's header and context:
 *
 *   application: 5 bits id and 27 bits time in a u32, [s24 vpid, s24 vtid,] fields
 *                id 30: u16 id follows; id 31: 1 byte, then u32 id, u64 time
 *   kernel:      u32 low time, u16 id, u8 flags, u8 preempt count, s32 tid, fields
 */
#ifndef ABI_CTF_H
#define ABI_CTF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/*
 * The event header of applications: LTTng's compact one, with a third form.  The time is the low
 * bits of the clock, for less than ABI_CTF_GAP_NS since the event before.
 *
 *   u32: id below ABI_CTF_WIDE, time
 *   u32: ABI_CTF_WIDE, time; u16 id
 *   u8: ABI_CTF_EXTENDED; u32 id; u64 time
 */
#define ABI_CTF_ID_BITS 5
#define ABI_CTF_TIME_BITS 27
#define ABI_CTF_GAP_NS (1ull << ABI_CTF_TIME_BITS)
#define ABI_CTF_WIDE 30u
#define ABI_CTF_EXTENDED 31u
#define ABI_CTF_HEAD(id, time_ns) ((uint32_t)(time_ns) << ABI_CTF_ID_BITS | (id))

struct abi_ctf_event_wide {
	uint32_t head; /* ABI_CTF_HEAD(ABI_CTF_WIDE, time) */
	uint16_t id;
} __attribute__((packed));

struct abi_ctf_event_extended {
	uint8_t extended; /* ABI_CTF_EXTENDED */
	uint32_t id;
	uint64_t time;
} __attribute__((packed));

_Static_assert(ABI_CTF_ID_BITS + ABI_CTF_TIME_BITS == 32 &&
		       sizeof(struct abi_ctf_event_wide) == 6 &&
		       sizeof(struct abi_ctf_event_extended) == 13,
	       "event headers as the metadata describes them");

/* The threads of events: Linux's pids end at 2^22.  Sign-extended, so -1 is possible. */
struct abi_ctf_ids {
	int64_t vpid : 24, vtid : 24;
} __attribute__((packed));
_Static_assert(sizeof(struct abi_ctf_ids) == 6, "two numbers of 24 bits");
/* The same in the low bits of a word. */
#define ABI_CTF_IDS(vpid, vtid) ((uint64_t)((vpid)&0xffffffu) | (uint64_t)((vtid)&0xffffffu) << 24)
#define ABI_CTF_VPID(ids) ((uint32_t)(ids)&0xffffffu)
#define ABI_CTF_VTID(ids) ((uint32_t)((ids) >> 24) & 0xffffffu)

/*
 * abi_ctf_read_event - the header of an application's event at @p; its size, or 0: more than @room.
 *
 * @id: anything may be there.  @time_ns: of the event before; becomes this one's.
 */
static inline size_t abi_ctf_read_event(const void *p, size_t room, uint32_t *id, uint64_t *time_ns)
{
	struct abi_ctf_event_extended extended;
	uint32_t head, low;
	uint16_t wide;

	if (room < sizeof head)
		return 0;
	memcpy(&head, p, sizeof head);
	*id = head & ABI_CTF_EXTENDED;
	if (*id == ABI_CTF_EXTENDED) {
		if (room < sizeof extended)
			return 0;
		memcpy(&extended, p, sizeof extended);
		*id = extended.id;
		*time_ns = extended.time;
		return sizeof extended;
	}
	low = head >> ABI_CTF_ID_BITS;
	*time_ns += (low - (uint32_t)*time_ns) & (ABI_CTF_GAP_NS - 1);
	if (*id != ABI_CTF_WIDE)
		return sizeof head;
	if (room < sizeof(struct abi_ctf_event_wide))
		return 0;
	memcpy(&wide, (const char *)p + sizeof head, sizeof wide);
	*id = wide;
	return sizeof(struct abi_ctf_event_wide);
}

struct abi_ctf_index_header { /* all big-endian */
	uint32_t magic;
	uint32_t major;
	uint32_t minor;
	uint32_t entry_size;
};

_Static_assert(sizeof(struct abi_ctf_index_header) == 16, "as LTTng's index version 1.1");

/*
 * The upper half of stream_instance_id in an index entry; the lower one is that of the packet.  Whether
 * the packet may hold events with the process of a thread: births, or the state dump.  0: nothing is said.
 */
#define ABI_CTF_INDEX_INSTANCE 0xffffffffull
#define ABI_CTF_INDEX_NO_BIRTHS (0xB1A70000ull << 32)
#define ABI_CTF_INDEX_BIRTHS (0xB1A70001ull << 32)

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
