/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/unwind.c - exceptions, cancellation and backtraces pass through stubs.
 *
 * All return addresses in a stub have their frame at the same distance, except while copies of
 * stack arguments lie below it.  So one row describes most of an arena.  Rows hold at return
 * addresses only: a stack walked from a signal that interrupted a stub itself may end there.
 *
 * libgcc_s finds the rows by __register_frame_info, which allocates nothing; unwinders that are
 * linked into files find them by unwinder.c.
 */
#include "inproc/calls/unwind.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "inproc/calls/unwinder.h"

enum {
	CIE_BYTES = 40,
	FDE_MOST_BYTES = 64,
	HEADER_BYTES = 16,
	OBJECT_BYTES = 128,			      /* libgcc_s's struct object has 48 */
	FRAME_BYTES = sizeof(struct calls_frame) + 8, /* the caller's return address included */
	REASON_CONTINUE_UNWIND = 8,
	ACTION_CLEANUP = 2,
};

static struct {
	uintptr_t (*cfa)(void *context);
	uintptr_t (*data)(void *context);
} get; /* _Unwind_GetCFA, _Unwind_GetLanguageSpecificData */

/* Called by the unwinder for each stub that it passes; in its second phase the call ends. */
static int leave_stub(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version;
	(void)class;
	(void)exception;
	/* The unwinder's frame address is the callee's, so it is the stack pointer in the stub.  The
	 * data is the size of the copies that lie there below the frame. */
	if (actions & ACTION_CLEANUP)
		calls_unwound((struct calls_frame *)(get.cfa(context) + get.data(context)));
	return REASON_CONTINUE_UNWIND;
}

static void put(struct unwind_frames *u, const void *bytes, size_t n)
{
	memcpy(u->bytes + u->used, bytes, n);
	u->used += n;
}

static void put32(struct unwind_frames *u, uint32_t v)
{
	put(u, &v, sizeof v);
}

static void put64(struct unwind_frames *u, uint64_t v)
{
	put(u, &v, sizeof v);
}

/* Fills an entry that began at @begin, and stores its length. */
static void end_entry(struct unwind_frames *u, size_t begin)
{
	uint32_t n;

	while ((u->used - begin) % 8)
		u->bytes[u->used++] = 0; /* DW_CFA_nop */
	n = (uint32_t)(u->used - begin - 4);
	memcpy(u->bytes + begin, &n, sizeof n);
}

static void put_cie(struct unwind_frames *u)
{
	static const uint8_t head[] = {
		0,    0,   0,	0,	   /* a CIE */
		1,			   /* version */
		'z',  'P', 'L', 'R', 0, 1, /* code alignment */
		0x78,			   /* data alignment: -8 */
		16,			   /* the return address's column */
		11,			   /* bytes of what follows for P, L and R */
		0x00,			   /* the personality's address: absolute */
	};
	static const uint8_t rows[] = {
		0x00,	   0x00,	      /* data and addresses of the FDEs: absolute */
		0x0c,	   7,	 FRAME_BYTES, /* DW_CFA_def_cfa rsp */
		0x80 | 16, 1,		      /* DW_CFA_offset of the return address */
	};

	put32(u, 0);
	put(u, head, sizeof head);
	put64(u, (uintptr_t)leave_stub);
	put(u, rows, sizeof rows);
	end_entry(u, 0);
}

/* Without a personality: an unwinder in a file has a context of its own, which we cannot read. */
static void put_plain_cie(struct unwind_frames *u)
{
	static const uint8_t bytes[] = {
		0,    0,  0, 0,	   1,	 'z', 'R',	   0,	      1,
		0x78, 16, 1, 0x00, 0x0c, 7,   FRAME_BYTES, 0x80 | 16, 1,
	};

	put32(u, 0);
	put(u, bytes, sizeof bytes);
	end_entry(u, 0);
}

/* One mapping: frames, plain, the header of plain, the memory of libgcc_s. */
bool unwind_make(struct unwind *u, uint32_t n_ranges)
{
	size_t each = CIE_BYTES + (size_t)n_ranges * FDE_MOST_BYTES + 8;
	size_t size = 2 * each + HEADER_BYTES + OBJECT_BYTES;
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	*u = (struct unwind){ .frames = { .bytes = p, .size = each },
			      .plain = { .bytes = p + each, .size = each },
			      .mapping = p,
			      .size = size,
			      .begin = UINTPTR_MAX };
	put_cie(&u->frames);
	put_plain_cie(&u->plain);
	return true;
}

static void put_distance(struct unwind_frames *u, uint32_t distance)
{
	uint8_t bytes[] = { 0x0e, (uint8_t)(0x80 | (distance & 0x7f)), (uint8_t)(distance >> 7) };

	put(u, bytes, sizeof bytes); /* DW_CFA_def_cfa_offset, below 2^14 */
}

static void put_advance(struct unwind_frames *u, uint64_t bytes)
{
	uint8_t op = 0x04; /* DW_CFA_advance_loc4 */

	put(u, &op, 1);
	put32(u, (uint32_t)bytes);
}

static void add(struct unwind_frames *u, const struct unwind_range *r, bool has_data)
{
	size_t begin = u->used;

	put32(u, 0);
	put32(u, (uint32_t)u->used); /* back to the CIE, which is at 0 */
	put64(u, r->begin);
	put64(u, r->end - r->begin);
	put(u, has_data ? "\10" : "", 1); /* bytes of its data */
	if (has_data)
		put64(u, r->copied);
	if (r->copied) {
		put_advance(u, r->copies_begin - r->begin);
		put_distance(u, FRAME_BYTES + r->copied);
		put_advance(u, r->copies_end - r->copies_begin);
		put_distance(u, FRAME_BYTES);
	}
	end_entry(u, begin);
}

void unwind_add(struct unwind *u, const struct unwind_range *r)
{
	add(&u->frames, r, true);
	add(&u->plain, r, false);
	u->begin = r->begin < u->begin ? r->begin : u->begin;
	u->end = r->end > u->end ? r->end : u->end;
}

/* The library that has the unwinder, if it is loaded. */
static void *unwinder(void)
{
	static void *handle;

	if (!handle)
		handle = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return handle;
}

static void find(void *function, void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	memcpy(function, &found, sizeof found);
}

/* A .eh_frame_hdr without a table. */
static void add_plain(struct unwind *u)
{
	uint8_t *header = u->plain.bytes + u->plain.size;
	const uint8_t *frames = u->plain.bytes;

	memcpy(header, "\1\0\377\377", 4); /* version; the address is absolute; no table */
	memcpy(header + 4, &frames, sizeof frames);
	u->is_added = true;
	unwinder_add(u->begin, u->end, header);
}

static bool has_unwinder;

bool unwind_has_unwinder(void)
{
	return load(&has_unwinder);
}

void unwind_register(struct unwind *u)
{
	void (*register_frames)(const void *, void *) = NULL;
	void *library;

	if (u->is_registered || !u->mapping || u->end < u->begin)
		return;
	if (!u->is_added)
		add_plain(u);
	library = unwinder();
	find(&get.cfa, library, "_Unwind_GetCFA");
	find(&get.data, library, "_Unwind_GetLanguageSpecificData");
	find(&register_frames, library, "__register_frame_info");
	if (!register_frames || !get.cfa || !get.data)
		return;
	store(&has_unwinder, true);
	u->is_registered = true; /* the list's end is four zeros, which follow */
	register_frames(u->frames.bytes, u->mapping + u->size - OBJECT_BYTES);
}
