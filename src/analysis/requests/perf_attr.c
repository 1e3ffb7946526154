/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/perf_attr.c - the attributes of perf_event_open().
 *
 * Later kernels add fields at the end; a caller passes the bytes of its own version, even a part of a
 * field. The kernel takes 0 for the others.
 */
#include "analysis/requests/decoders.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "analysis/syscalls/words.h"
#include "analysis/syscalls/bytes.h"

enum {
	LEAST = 64,
	KNOWN = 128,
	SHORT = 48,
	FLAGS_AT = 40,
	FREQUENCY = 10,
	WATERMARK = 14,
	CLOCK = 25
};

static bool has(const uint8_t *p, unsigned bit)
{
	return bytes_number(p + FLAGS_AT, 8) >> bit & 1;
}

/* "PERF_COUNT_HW_CACHE_RESULT_MISS<<16|PERF_COUNT_HW_CACHE_OP_READ<<8|PERF_COUNT_HW_CACHE_LL" */
static void add_cache(struct text *t, uint64_t config)
{
	uint64_t rest = (config & UINT32_MAX) >> 24;

	if (rest)
		text_addf(t, "%#" PRIx64 "<<24|", rest);
	call_one(t, call_names_perf_cache_result, (int64_t)(config >> 16 & 255), 64);
	add(t, "<<16|");
	call_one(t, call_names_perf_cache_op, (int64_t)(config >> 8 & 255), 64);
	add(t, "<<8|");
	call_one(t, call_names_perf_cache, (int64_t)(config & 255), 64);
}

static void add_config(struct text *t, const uint8_t *p, const struct call_moment *x)
{
	uint64_t type = bytes_number(p + 0, 4), config = bytes_number(p + 8, 8);

	add(t, ", config=");
	if ((type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE) && config >> 32)
		text_addf(t, "%#" PRIx64 "<<32|", config >> 32);
	if (type == PERF_TYPE_HARDWARE)
		call_one(t, call_names_perf_hardware, (int64_t)(config & UINT32_MAX), 64);
	else if (type == PERF_TYPE_HW_CACHE)
		add_cache(t, config);
	else
		call_description_add(t,
				     type == PERF_TYPE_SOFTWARE	    ? "%8E8:perf_software"
				     : type == PERF_TYPE_TRACEPOINT ? "%8u8"
								    : "%8x8",
				     p, x);
}

/* Flags that are not set are left out of short texts. */
static void add_bits(struct text *t, const uint8_t *p, bool is_whole)
{
	static const char *const names[] = {
		"disabled",
		"inherit",
		"pinned",
		"exclusive",
		"exclude_user",
		"exclude_kernel",
		"exclude_hv",
		"exclude_idle",
		"mmap",
		"comm",
		"freq",
		"inherit_stat",
		"enable_on_exec",
		"task",
		"watermark",
		"precise_ip",
		NULL,
		"mmap_data",
		"sample_id_all",
		"exclude_host",
		"exclude_guest",
		"exclude_callchain_kernel",
		"exclude_callchain_user",
		"mmap2",
		"comm_exec",
		"use_clockid",
		"context_switch",
		"write_backward",
		"namespaces",
		"ksymbol",
		"bpf_event",
		"aux_output",
		"cgroup",
		"text_poke",
		"build_id",
		"inherit_thread",
		"remove_on_exec",
		"sigtrap",
	};
	static const char *const precise[] = { "arbitrary skid", "constant skid",
					       "requested to have 0 skid", "must have 0 skid" };
	enum { PRECISE = 15, NAMES = sizeof names / sizeof *names };
	uint64_t bits = bytes_number(p + FLAGS_AT, 8);

	for (unsigned i = 0; i < NAMES; i++) {
		unsigned level = (unsigned)(bits >> PRECISE & 3);

		if (i == PRECISE)
			text_addf(t, ", precise_ip=%u /* %s */", level, precise[level]);
		else if (names[i] && (is_whole || has(p, i)))
			text_addf(t, ", %s=%u", names[i], has(p, i));
	}
	if (bits >> NAMES)
		text_addf(t, ", __reserved_1=%#" PRIx64 " /* Bits 63..%u */", bits >> NAMES, NAMES);
}

static void add_breakpoint(struct text *t, const uint8_t *p, const struct call_moment *x)
{
	uint64_t how = bytes_number(p + 52, 4);

	call_description_add(t, ", bp_type=%52E4:breakpoint", p, x);
	if (!call_name_of(call_names_breakpoint, how))
		add(t, how <= (HW_BREAKPOINT_X | HW_BREAKPOINT_RW) ? " /* HW_BREAKPOINT_INVALID */"
								   : " /* HW_BREAKPOINT_??? */");
}

/* The fields behind the flags that lie below @size. */
static void add_later(struct text *t, const uint8_t *p, uint32_t size, const struct call_moment *x)
{
	bool is_breakpoint = bytes_number(p + 0, 4) == PERF_TYPE_BREAKPOINT;
	uint64_t sample = bytes_number(p + 24, 8);
	const struct {
		uint8_t at;
		bool is_shown;
		const char *text;
	} fields[] = {
		{ 64, is_breakpoint, ", bp_len=%64u8" },
		{ 64, !is_breakpoint, ", config2=%64x8" },
		{ 72, sample & PERF_SAMPLE_BRANCH_STACK, ", branch_sample_type=%72F8:perf_branch" },
		{ 80, true, ", sample_regs_user=%80x8" },
		{ 88, sample & PERF_SAMPLE_STACK_USER, ", sample_stack_user=%88x4" },
		{ 92, has(p, CLOCK), ", clockid=%92E4:clock" },
		{ 96, true, ", sample_regs_intr=%96x8" },
		{ 104, true, ", aux_watermark=%104u4" },
		{ 108, true, ", sample_max_stack=%108u2" },
		{ 110, bytes_number(p + 110, 2), " /* bytes 110..111: %110x2 */" },
		{ 112, true, ", aux_sample_size=%112u4" },
		{ 116, bytes_number(p + 116, 4), " /* bytes 116..119: %116x4 */" },
		{ 120, true, ", sig_data=%120x8" },
	};

	call_description_add(
		t, has(p, WATERMARK) ? ", wakeup_watermark=%48u4" : ", wakeup_events=%48u4", p, x);
	if (is_breakpoint)
		add_breakpoint(t, p, x);
	call_description_add(t, is_breakpoint ? ", bp_addr=%56x8" : ", config1=%56x8", p, x);
	for (size_t i = 0; i < sizeof fields / sizeof *fields && fields[i].at < size; i++)
		if (fields[i].is_shown)
			call_description_add(t, fields[i].text, p, x);
}

bool request_perf_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_length *before = call_length_of(x, 1);
	bool is_whole = call_style()->is_whole;
	uint8_t p[KNOWN] = { 0 };
	uint32_t passed, size;

	if (m->size < 8 || (x->is_end && x->result != -E2BIG))
		return false;
	passed = before ? (uint32_t)before->bytes : u32(m, 4);
	size = passed ? passed : LEAST;
	if (size < LEAST)
		return false;
	size = !is_whole ? SHORT : size < KNOWN ? size : KNOWN;
	if (m->size < size)
		return false;
	memcpy(p, m->bytes, size);
	call_description_add(t, "{type=%0E4:perf_type, size=", p, x);
	call_one(t, call_names_perf_size, passed, 32);
	if (x->is_end) { /* the kernel writes the size that it supports */
		add(t, " => ");
		call_one(t, call_names_perf_size, (int64_t)bytes_number(p + 4, 4), 32);
	}
	add_config(t, p, x);
	call_description_add(t, has(p, FREQUENCY) ? ", sample_freq=%16u8" : ", sample_period=%16u8",
			     p, x);
	call_description_add(t, ", sample_type=%24F8:perf_sample, read_format=%32F8:perf_format", p,
			     x);
	add_bits(t, p, is_whole);
	if (is_whole)
		add_later(t, p, size, x);
	add(t, (passed ? passed : LEAST) > size ? ", ...}" : "}");
	return true;
}
