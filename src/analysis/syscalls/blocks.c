/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/blocks.c - the iocbs of io_submit() and io_cancel() as text.
 *
 * The captured memory of io_submit() is for each iocb its address, a u16 and so many bytes of the
 * iocb, a u16 and so many bytes of its buffer (abi/capture.h).
 */
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <string.h>

#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"

enum { HAS_PRIORITY = 2, LEVELS = 8191, CLASS_AT = 13, IOVEC = 16 };

static void add_priority(struct text *t, const struct iocb *b)
{
	uint16_t bits = (uint16_t)b->aio_reqprio;

	if (!b->aio_reqprio && !(b->aio_flags & HAS_PRIORITY))
		return;
	add(t, ", aio_reqprio=");
	if (!(b->aio_flags & HAS_PRIORITY))
		return add_signed(t, b->aio_reqprio);
	add(t, "IOPRIO_PRIO_VALUE(");
	call_one(t, call_names_ioprio_class, bits >> CLASS_AT, 32);
	text_addf(t, ", %u)", bits & LEVELS);
}

static void add_vector(struct text *t, const struct iocb *b, const uint8_t *data, uint16_t size)
{
	uint64_t iov[2], n = size / IOVEC;

	if ((!n && b->aio_nbytes) || b->aio_nbytes > ABI_CAPTURE_VECTOR_MAX) {
		add_hex(t, b->aio_buf);
		return text_addf(t, ", aio_nbytes=%" PRIu64, (uint64_t)b->aio_nbytes);
	}
	add(t, "[");
	for (uint64_t i = 0; i < n; i++) {
		memcpy(iov, data + IOVEC * i, sizeof iov);
		text_addf(t, "%s{iov_base=%#" PRIx64 ", iov_len=%" PRIu64 "}", i ? ", " : "",
			  iov[0], iov[1]);
	}
	add(t, n < b->aio_nbytes ? ", ...]" : "]");
}

/* Adds the fields of a read or write, and its data. */
static void add_transfer(struct text *t, const struct iocb *b, const uint8_t *data, uint16_t size,
			 const struct call_moment *x)
{
	uint16_t what = b->aio_lio_opcode;

	if (b->aio_reqprio || what <= IOCB_CMD_PWRITEV)
		add(t, ", aio_buf=");
	if (what == IOCB_CMD_PREADV || what == IOCB_CMD_PWRITEV) {
		add_vector(t, b, data, size);
	} else {
		if (what == IOCB_CMD_PWRITE && size && b->aio_nbytes)
			call_quoted_part(t, data, size < b->aio_nbytes ? size : b->aio_nbytes,
					 b->aio_nbytes, x);
		else
			add_address(t, b->aio_buf);
		text_addf(t, ", aio_nbytes=%" PRIu64, (uint64_t)b->aio_nbytes);
	}
	text_addf(t, ", aio_offset=%" PRId64, (int64_t)b->aio_offset);
}

static bool is_transfer(uint16_t what)
{
	return what == IOCB_CMD_PREAD || what == IOCB_CMD_PWRITE || what == IOCB_CMD_PREADV ||
	       what == IOCB_CMD_PWRITEV;
}

static void add_block(struct text *t, const struct iocb *b, const uint8_t *data, uint16_t size,
		      bool is_short, const struct call_moment *x)
{
	text_addf(t, "{aio_data=%s%" PRIx64, b->aio_data ? "0x" : "", (uint64_t)b->aio_data);
	if (b->aio_key)
		text_addf(t, ", aio_key=%" PRIu32, (uint32_t)b->aio_key);
	if (b->aio_rw_flags) {
		add(t, ", aio_rw_flags=");
		call_flags(t, call_names_rwf, (uint32_t)b->aio_rw_flags);
	}
	add(t, ", aio_lio_opcode=");
	call_one_decimal(t, call_names_iocb_cmd, b->aio_lio_opcode);
	if (is_short || b->aio_lio_opcode <= IOCB_CMD_PWRITEV)
		add_priority(t, b);
	add(t, ", aio_fildes=");
	call_fd(t, (int32_t)b->aio_fildes, x->about);
	if (!is_short && is_transfer(b->aio_lio_opcode))
		add_transfer(t, b, data, size, x);
	if (!is_short && b->aio_flags && b->aio_lio_opcode <= IOCB_CMD_PWRITEV) {
		add(t, ", aio_flags=");
		call_flags(t, call_names_iocb_flag, b->aio_flags);
		if (b->aio_flags & IOCB_FLAG_RESFD) {
			add(t, ", aio_resfd=");
			call_fd(t, (int32_t)b->aio_resfd, x->about);
		}
	}
	add(t, "}");
}

bool call_block_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	struct iocb b;

	if (m->size < sizeof b)
		return false;
	memcpy(&b, m->bytes, sizeof b);
	add_block(t, &b, NULL, 0, true, x);
	return true;
}

bool call_blocks_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	int64_t count = x->args[m->what->size_argument - 1], n = 0;
	uint64_t from = (uint64_t)x->args[m->what->argument - 1];
	uint32_t at = 0;

	if (count < 0 || (count && m->size < 12))
		return false;
	add(t, "[");
	for (; n < count && at + 10 <= m->size; n++) {
		uint64_t address = u64(m, at);
		uint16_t size = u16(m, at + 8), k;
		struct iocb b;

		add(t, n ? ", " : "");
		at += 10;
		if (m->size - at < size + 2u) {
			add_address(t, address);
			break;
		}
		k = u16(m, at + size);
		k = k < m->size - at - size - 2 ? k : (uint16_t)(m->size - at - size - 2);
		if (size < sizeof b) {
			add_address(t, address);
		} else {
			memcpy(&b, m->bytes + at, sizeof b);
			add_block(t, &b, m->bytes + at + size + 2, k, false, x);
		}
		at += size + 2u + k;
	}
	if (n < count && n < ABI_CAPTURE_VECTOR_MAX)
		text_addf(t, ", ... /* %#" PRIx64 " */]", from + 8 * (uint64_t)n);
	else
		add(t, n < count ? ", ...]" : "]");
	return true;
}
