/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/memory.c - formats the captured memory of system calls: addresses, times,
 * strings, buffers.
 *
 * Every function checks the size before it reads, because the bytes come from a file.
 */
#include "analysis/syscalls/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "capture/table.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"

/* ---------------------------------------------------------------- reading */

static bool has_row(const struct ctf_event_class *c, const char *field, unsigned element)
{
	const struct ctf_program *p = c->program;

	for (uint32_t i = p ? p->payload : 0; p && i < p->n_ops; i++) {
		const struct ctf_op *op = &p->ops[i];

		if ((op->code == OP_SEQUENCE || op->code == OP_ARRAY) && op->name &&
		    !strcmp(op->name, field) && op->size_bits == 8 * element)
			return true;
	}
	return false;
}

/* Copies the elements that follow, at most @room bytes; returns the number of bytes. */
static uint32_t read_elements(struct ctf_walk *w, unsigned element, uint8_t *to, size_t room)
{
	uint32_t size = 0;
	struct ctf_value v;
	enum ctf_found found;

	while (size + element <= room &&
	       ((found = ctf_walk_next(w, &v)) == CTF_UINT || found == CTF_INT)) {
		memcpy(to + size, &v.u, element); /* this machine is little-endian */
		size += element;
	}
	return size;
}

/* Copies the bytes of the sequence @field, at most @room; returns their number. */
static uint32_t read_row(const struct ctf_event *e, const char *field, unsigned element,
			 uint8_t *to, size_t room)
{
	const uint8_t *bytes;
	enum ctf_found found;
	struct ctf_value v;
	struct ctf_walk w;
	size_t n;

	ctf_walk_event(&w, e, CTF_PAYLOAD);
	while ((found = ctf_walk_next(&w, &v)) != CTF_WALK_END) {
		if (found != CTF_OPEN_ARRAY)
			continue;
		bytes = ctf_walk_bytes(&w, &n);
		if (!v.name || strcmp(v.name, field) != 0)
			continue;
		if (!bytes || element != 1)
			return bytes ? 0 : read_elements(&w, element, to, room);
		n = n < room ? n : room;
		memcpy(to, bytes, n);
		return (uint32_t)n;
	}
	return 0;
}

bool call_memory_is_in(const struct abi_capture *what, const struct ctf_event_class *c)
{
	return has_row(c, capture_field(what), capture_element(what));
}

bool call_memory_at_exit_is_in(const struct ctf_event_class *c)
{
	return has_row(c, ABI_CAPTURE_LATE, 1) || has_row(c, ABI_CAPTURE_LATE_OLD, 1);
}

void call_memory_read(struct call_memory *m, const struct abi_capture *what,
		      const struct ctf_event *e)
{
	m->what = what;
	m->size =
		read_row(e, capture_field(what), capture_element(what), m->bytes, sizeof m->bytes);
}

const struct call_memory *call_memory_behind(const struct call_memory *m,
					     const struct call_moment *x, unsigned at)
{
	for (int i = 0; i < x->n_memory; i++) {
		const struct abi_capture *what = x->memory[i].what;

		if (what->is_behind && what->argument == m->what->argument && what->at == at)
			return &x->memory[i];
	}
	return NULL;
}

const char *call_memory_at_exit(const struct ctf_event *e, struct call_memory *room,
				unsigned *were_read)
{
	room->size = read_row(e, ABI_CAPTURE_LATE, 1, room->bytes, sizeof room->bytes - 1);
	*were_read = room->size ? room->bytes[0] : CALL_UNKNOWN_READ;
	if (room->size)
		memmove(room->bytes, room->bytes + 1, --room->size);
	else
		room->size =
			read_row(e, ABI_CAPTURE_LATE_OLD, 1, room->bytes, sizeof room->bytes - 1);
	room->bytes[room->size] = 0;
	assert(room->size < sizeof room->bytes);
	return room->size ? (const char *)room->bytes : NULL;
}

/* ---------------------------------------------------------------- times, arguments */

static bool add_time(struct text *t, const uint8_t *bytes, size_t size)
{
	int64_t time[2]; /* seconds, nanoseconds */

	if (size < sizeof time)
		return false;
	memcpy(time, bytes, sizeof time);
	text_addf(t, "{tv_sec=%" PRId64 ", tv_nsec=%" PRIu64 "}", time[0], (uint64_t)time[1]);
	return true;
}

static bool ends_in_dots(const char *text, size_t size)
{
	return size >= 3 && !memcmp(text + size - 3, "...", 3);
}

static size_t shown_of(size_t size, const struct call_moment *x)
{
	return x->string_bytes && x->string_bytes < size ? x->string_bytes : size;
}

/* Texts one after the other, each with its NUL. For the marks of cut texts see
 * docs/design/kernel/README.md. */
static void add_old_argv(struct text *t, const char *p, size_t size, const struct call_moment *x)
{
	const char *before = "[", *end = p + size;

	for (size_t n; p < end; p += n + 1) {
		bool has_end, is_cut;

		n = strnlen(p, (size_t)(end - p));
		has_end = p + n < end;
		is_cut = !has_end || (n == ABI_CAPTURE_ARG_MAX - 1 && ends_in_dots(p, n));
		add(t, before);
		before = ", ";
		if (has_end || n != 3 || !ends_in_dots(p, n)) /* else it only marks that there
							       * are more */
			call_quoted(t, p, shown_of(is_cut && ends_in_dots(p, n) ? n - 3 : n, x));
		if (is_cut || (x->string_bytes && n > x->string_bytes))
			add(t, "...");
	}
	add(t, "]");
}

/* Adds the text or the address at *@at, and moves *@at behind it; false if there is none. */
static bool add_element(struct text *t, const struct call_memory *m, uint32_t *at, bool is_shown,
			const struct call_moment *x)
{
	const char *p = (const char *)m->bytes + *at + 1;
	size_t room = m->size - *at - 1, n = strnlen(p, room);
	bool is_cut = n == ABI_CAPTURE_ARG_MAX - 1 && ends_in_dots(p, n);

	if (m->bytes[*at] == ABI_CAPTURE_LIST_ADDRESS && room > 8) {
		if (is_shown)
			add_address(t, u64(m, *at + 1));
		*at += 9;
		return true;
	}
	if (m->bytes[*at] != ABI_CAPTURE_LIST_TEXT || n == room)
		return false;
	if (is_shown)
		call_quoted(t, p, shown_of(is_cut ? n - 3 : n, x));
	if (is_shown && (is_cut || (x->string_bytes && n > x->string_bytes)))
		add(t, "...");
	*at += (uint32_t)n + 2;
	return true;
}

/* The list @m, whose last byte is its end. */
static bool add_list(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t from = (uint64_t)x->args[m->what->argument - 1], n = 0;
	uint64_t most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX;
	uint8_t why = m->bytes[m->size - 1];
	uint32_t at = 0;

	if (m->size == 1 && why != ABI_CAPTURE_LIST_END)
		return false;
	add(t, "[");
	for (; at + 1 < m->size; n++) {
		if (n && n < most)
			add(t, ", ");
		if (!add_element(t, m, &at, n < most, x)) { /* a damaged recording */
			add(t, "...]");
			return true;
		}
	}
	if (n > most || why == ABI_CAPTURE_LIST_MORE)
		add(t, ", ...");
	else if (why == ABI_CAPTURE_LIST_UNREADABLE)
		text_addf(t, ", ... /* %#" PRIx64 " */", from + 8 * n);
	add(t, "]");
	return true;
}

static bool add_argv(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint8_t last = m->size ? m->bytes[m->size - 1] : 0;

	if (!m->size)
		return false;
	if (last && last <= ABI_CAPTURE_LIST_UNREADABLE && m->size < sizeof m->bytes)
		return add_list(t, m, x);
	add_old_argv(t, (const char *)m->bytes, m->size, x);
	return true;
}

static bool add_count(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint8_t why = m->size > sizeof(uint32_t) ? m->bytes[sizeof(uint32_t)] : 0;
	uint32_t n;

	if (m->size < sizeof n || !x->args[m->what->argument - 1])
		return false;
	memcpy(&n, m->bytes, sizeof n);
	add_address(t, (uint64_t)x->args[m->what->argument - 1]);
	text_addf(t, " /* %s%" PRIu32 " var%s%s */",
		  why == ABI_CAPTURE_COUNT_MORE ? "more than " : "", n, n == 1 ? "" : "s",
		  why == ABI_CAPTURE_COUNT_UNREADABLE ? ", unterminated" : "");
	return true;
}

/* ---------------------------------------------------------------- buffers */

void call_quoted_part(struct text *t, const uint8_t *bytes, uint64_t size, uint64_t all,
		      const struct call_moment *x)
{
	uint64_t most = x->string_bytes && x->string_bytes < size ? x->string_bytes : size;

	call_quoted(t, (const char *)bytes, most);
	if (most < all)
		add(t, "...");
}

/* Whether the call reads data of this size, and the recording has as much of it as is shown. Data
 * that ends with a page was cut there when it was recorded. */
static bool is_taken(const struct call_memory *m, int64_t all, const struct call_moment *x)
{
	enum { PAGE = 4096, NAME = 64, ATTRIBUTE = 65536 };
	uint64_t end = (uint64_t)x->args[m->what->argument - 1] + m->size;

	if (!strcmp(m->what->call, "sethostname") || !strcmp(m->what->call, "setdomainname"))
		return all <= NAME;
	if (strstr(m->what->call, "setxattr") && (uint64_t)all > ATTRIBUTE)
		return false;
	if (!strcmp(m->what->call, "recvfrom"))
		return true;
	if (m->what->room_argument && !x->args[m->what->room_argument - 1])
		return false; /* only a length is wanted: the buffer is not looked at */
	return x->is_end || !x->string_bytes || end % PAGE || m->size >= (uint64_t)all ||
	       m->size > x->string_bytes;
}

/* The bytes that the call moved; of a message that did not fit, those that did. */
static int64_t moved_by(const struct call_memory *m, const struct call_moment *x)
{
	uint8_t from = m->what->size_argument, room = m->what->room_argument;
	int64_t all = from == ABI_CAPTURE_RESULT ? x->result : from ? x->args[from - 1] : m->size;

	return room && all > 0 && (uint64_t)all > (uint64_t)x->args[room - 1] ? x->args[room - 1]
									      : all;
}

uint64_t call_buffer_known(const struct call_memory *m, const struct call_moment *x)
{
	uint64_t all = (uint64_t)moved_by(m, x);

	return m->size < all ? m->size : all;
}

static bool add_buffer(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	int64_t all = moved_by(m, x);
	uint64_t known = call_buffer_known(m, x);
	size_t shown = shown_of(known, x);

	if (!x->args[m->what->argument - 1] || (all && !m->size) || !is_taken(m, all, x))
		return false;
	if (strstr(m->what->call, "setxattr") && all == m->size && all && !m->bytes[all - 1] &&
	    (!x->string_bytes || (uint64_t)all <= x->string_bytes))
		return call_quoted(t, (const char *)m->bytes, shown_of((size_t)all - 1, x)), true;
	if (strcmp(m->what->call, "getrandom") != 0)
		return call_quoted_part(t, m->bytes, known, (uint64_t)all, x), true;
	add(t, "\""); /* random bytes contain no words */
	for (size_t i = 0; i < shown; i++)
		text_addf(t, "\\x%02x", m->bytes[i]);
	add(t, shown < (uint64_t)all ? "\"..." : "\"");
	return true;
}

static bool add_c_text(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SET_NAME = 15, GET_NAME = 16 };
	bool is_prctl = !strcmp(m->what->call, "prctl");

	if (!m->size || (is_prctl && x->args[0] != (x->is_end ? GET_NAME : SET_NAME)))
		return false;
	call_quoted(t, (const char *)m->bytes, strnlen((const char *)m->bytes, m->size));
	return true;
}

/* A length; at exit it stands beside the value at entry. */
/* accept(), recvfrom() and their kind do not look at the length of an address that is NULL. */
static bool add_length(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	bool is_second = m->what->argument == 3; /* the address is before it */
	int32_t n;

	if (m->size < sizeof n || (is_second && !x->args[1]) ||
	    (!strcmp(m->what->call, "recvfrom") && !x->args[4]))
		return false;
	memcpy(&n, m->bytes, sizeof n);
	text_addf(t, "[%" PRId32 "]", n);
	return true;
}

bool call_memory_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	assert(m->what && m->size <= sizeof m->bytes);
	if (call_style()->has_no_structures && m->what->kind != ABI_CAPTURE_BUFFER &&
	    m->what->kind != ABI_CAPTURE_TEXT)
		return false;
	switch ((enum abi_capture_kind)m->what->kind) {
	case ABI_CAPTURE_ADDRESS:
		return call_address_add(t, m->bytes, m->size, x);
	case ABI_CAPTURE_TIME:
		return add_time(t, m->bytes, m->size);
	case ABI_CAPTURE_ARGV:
		return add_argv(t, m, x);
	case ABI_CAPTURE_ENVP:
		return add_count(t, m, x);
	case ABI_CAPTURE_BUFFER:
		return add_buffer(t, m, x);
	case ABI_CAPTURE_TEXT:
		return add_c_text(t, m, x);
	case ABI_CAPTURE_IOVECS:
		return call_vector_add(t, m, x);
	case ABI_CAPTURE_MESSAGE:
		return call_message_add(t, m, x);
	case ABI_CAPTURE_MESSAGES:
		return call_messages_add(t, m, x);
	case ABI_CAPTURE_BLOCKS:
		return call_blocks_add(t, m, x);
	case ABI_CAPTURE_LENGTH:
		return add_length(t, m, x);
	case ABI_CAPTURE_CONTROL:
		return call_control_add(t, m, x);
	case ABI_CAPTURE_OPTION:
		return call_option_add(t, m, x);
	case ABI_CAPTURE_LOCK:
		return call_lock_add(t, m, x);
	default:
		return call_struct_add(t, m, x);
	}
}
