/* SPDX-License-Identifier: MIT */
/* script/kernel/frame.c - a record of a ring as the frame of a handler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "analysis/syscalls/public.h"
#include "kernel/tracefs/public.h"
#include "script/kernel/live.h"

enum { PATH_TEXT = 256 };

struct taken { /* a record, and where the texts of its fetches are */
	struct kernel_source *s;
	const struct kernel_capture *capture;
	const uint64_t *record;
	uint64_t faults;
	uint32_t text_at[FETCHES_MAX], text_size[FETCHES_MAX]; /* without the NUL */
	struct text scratch;
};

static union script_cell cell_number(int64_t n)
{
	return (union script_cell){ .number = n };
}

static union script_cell cell_text(struct taken *t, const char *bytes, size_t size)
{
	return (union script_cell){ .text = script_vm_string(t->s->source.vm, bytes, size) };
}

/* Finds the texts.  Lengths are checked: a record ends where its word states. */
static void find_texts(struct taken *t)
{
	const struct kernel_capture *c = t->capture;
	uint32_t size = (uint32_t)(t->record[0] >> RING_TIME_BITS << 3);
	uint32_t at = RECORD_CELLS + 8 * c->n_cells;

	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t n = t->record[RECORD_CELLS / 8 + c->cell[i]];

		if (!fetch_is_long(&c->fetches[i]))
			continue;
		if (n > c->fetches[i].size || at > size || n > size - at)
			n = 0;
		t->text_at[i] = at;
		at += (uint32_t)n;
		t->text_size[i] = c->fetches[i].what == FETCH_STACK ? (uint32_t)n
				  : n				    ? (uint32_t)n - 1
								    : 0;
	}
}

static const char *bytes_of(const struct taken *t, uint32_t i, size_t *size)
{
	const struct kernel_fetch *f = &t->capture->fetches[i];
	const char *p = (const char *)t->record;

	if (fetch_is_long(f)) {
		*size = t->text_size[i];
		return p + t->text_at[i];
	}
	p += RECORD_CELLS + 8 * t->capture->cell[i];
	*size = strnlen(p, f->what == FETCH_COMM ? COMM_BYTES : f->size);
	return p;
}

static int64_t number_of(const struct taken *t, uint32_t i)
{
	return (int64_t)t->record[RECORD_CELLS / 8 + t->capture->cell[i]];
}

/* Return addresses in hexadecimal, a blank between. */
static union script_cell stack_text(struct taken *t, uint32_t i)
{
	size_t size;
	const char *p = bytes_of(t, i, &size);

	t->scratch.size = 0;
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t address;

		memcpy(&address, p + at, 8);
		if (address)
			text_addf(&t->scratch, "%s0x%llx", at ? " " : "",
				  (unsigned long long)address);
	}
	return cell_text(t, t->scratch.size ? t->scratch.bytes : "", t->scratch.size);
}

/* ---------------------------------------------------------------- standard cells */

static union script_cell constant_text(struct taken *t, const char *text)
{
	text = text ? text : "";
	return cell_text(t, text, strlen(text));
}

static union script_cell standard(struct taken *t, enum script_standard which,
				  const struct script_probe *p, int64_t time_ns, int cpu)
{
	uint32_t i = t->capture->standard[which];
	size_t size;
	const char *bytes;

	switch (which) {
	case STANDARD_TIME_NS:
		return cell_number(time_ns);
	case STANDARD_MONOTONIC_NS:
		return cell_number(time_ns - t->s->offset_ns);
	case STANDARD_CPU:
		return cell_number(cpu);
	case STANDARD_POINT:
		return constant_text(t, p->point.text);
	case STANDARD_FUNCTION:
		return constant_text(t, p->point.name);
	case STANDARD_MODULE:
		return constant_text(t, p->point.module);
	case STANDARD_IS_RETURN:
		return cell_number(p->point.is_return);
	case STANDARD_IS_USER:
		return cell_number(i ? number_of(t, i - 1) : p->point.is_user);
	case STANDARD_ADDRESS:
		return cell_number(i ? number_of(t, i - 1)
				     : (int64_t)kernel_point_of(&p->point)->address);
	default:
		break;
	}
	if (!i)
		return script_standard_type(which) == SCRIPT_STRING ? constant_text(t, "")
								    : cell_number(0);
	if (t->capture->fetches[i - 1].what == FETCH_STACK)
		return stack_text(t, i - 1);
	if (!fetch_is_text(&t->capture->fetches[i - 1]))
		return cell_number(number_of(t, i - 1));
	bytes = bytes_of(t, i - 1, &size);
	return cell_text(t, bytes, size);
}

/* ---------------------------------------------------------------- slots */

/* A path as recordings have it: one that is too long ends with three dots. */
static union script_cell path_text(struct taken *t, const char *bytes, size_t size)
{
	char path[PATH_TEXT];

	if (size < PATH_TEXT - 1)
		return cell_text(t, bytes, size);
	memcpy(path, bytes, PATH_TEXT - 4);
	memcpy(path + PATH_TEXT - 4, "...", 4);
	return cell_text(t, path, PATH_TEXT - 1);
}

/* A text that was not in memory at the event: the bytes there now.  Its size, or -1.  A page at a time,
 * as the next one may not be there. */
static ssize_t rescue(struct taken *t, const struct kernel_value *v, const uint8_t *map,
		      char text[FETCH_TEXT_MAX])
{
	uint64_t address = (uint64_t)number_of(t, map[v->n_fetches - 2]);
	pid_t pid = (pid_t)number_of(t, map[v->n_fetches - 1]);
	size_t n = 0, most = t->capture->fetches[map[0]].size;

	while (n + 1 < most) {
		size_t page = 4096 - ((address + n) & 4095), left = most - 1 - n;
		struct iovec to = { text + n, page < left ? page : left };
		struct iovec from = { (void *)(uintptr_t)(address + n), to.iov_len };
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (got <= 0)
			return n ? (ssize_t)n : -1;
		if (memchr(text + n, 0, (size_t)got))
			return (ssize_t)strlen(text);
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static union script_cell text_slot(struct taken *t, const struct kernel_value *v,
				   const uint8_t *map)
{
	const struct kernel_fetch *f = &t->capture->fetches[map[0]];
	bool is_lost = t->faults >> map[0] & 1;
	char again[FETCH_TEXT_MAX];
	ssize_t n = -1;
	size_t size;
	const char *bytes = bytes_of(t, map[0], &size);

	if (is_lost && v->has_rescue)
		n = rescue(t, v, map, again);
	if (n >= 0) {
		bytes = again;
		size = (size_t)n;
	} else if (is_lost && v->constant) {
		return (union script_cell){ .text = v->constant };
	} else if (is_lost && v->shows_address) {
		size = (size_t)snprintf(again, sizeof again, "0x%llx",
					(unsigned long long)number_of(t, map[v->n_fetches - 2]));
		return cell_text(t, again, size);
	} else if (is_lost) {
		return cell_text(t, "", 0);
	}
	if (v->n_fetches > 1 + 2u * v->has_rescue) {
		int64_t most = number_of(t, map[1]);

		size = most < 0 ? 0 : (uint64_t)most < size ? (size_t)most : size;
	}
	if (v->form == FORM_QUOTED) {
		t->scratch.size = 0;
		call_quoted(&t->scratch, bytes, size);
		return cell_text(t, t->scratch.bytes ? t->scratch.bytes : "", t->scratch.size);
	}
	return f->what == FETCH_TEXT && f->size == PATH_TEXT ? path_text(t, bytes, size)
							     : cell_text(t, bytes, size);
}

static void add_piece(struct taken *t, const struct kernel_piece *p, const uint8_t *map)
{
	uint32_t i = map[p->fetch];
	size_t size;
	const char *bytes;

	if (t->faults >> i & 1 && p->how != PIECE_NOTHING) {
		text_addf(&t->scratch, "?");
		return;
	}
	switch (p->how) {
	case PIECE_DECIMAL:
		text_addf(&t->scratch, "%lld", (long long)number_of(t, i));
		break;
	case PIECE_HEX:
		text_addf(&t->scratch, "0x%llx", (unsigned long long)number_of(t, i));
		break;
	case PIECE_TEXT:
		bytes = bytes_of(t, i, &size);
		call_quoted(&t->scratch, bytes, size);
		break;
	case PIECE_NOTHING:
		break;
	}
}

static union script_cell pieces_slot(struct taken *t, const struct kernel_value *v,
				     const uint8_t *map)
{
	t->scratch.size = 0;
	for (uint32_t i = 0; i < v->n_pieces; i++) {
		text_addf(&t->scratch, "%s", v->pieces[i].before);
		add_piece(t, &v->pieces[i], map);
	}
	return cell_text(t, t->scratch.size ? t->scratch.bytes : "", t->scratch.size);
}

/* The words of a call's result, as strace has them. */
static union script_cell result_slot(struct taken *t, const uint8_t *map)
{
	const char *name = kernel_syscall_name((int)number_of(t, map[1]));
	const struct call_made made = { .class = NULL };
	struct call_plan plan;

	call_plan_make(&plan, name ? name : "", NULL);
	t->scratch.size = 0;
	call_result(&t->scratch, &plan, &made, number_of(t, map[0]), NULL);
	return cell_text(t, t->scratch.size ? t->scratch.bytes : "", t->scratch.size);
}

static union script_cell arguments_slot(struct taken *t, const struct kernel_value *v,
					const uint8_t *map)
{
	const char *texts[CALL_ARGS];
	size_t sizes[CALL_ARGS];
	int64_t numbers[1 + CALL_ARGS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_fetches; i++) {
		if (i <= CALL_ARGS) {
			numbers[i] = number_of(t, map[i]);
		} else if (n < CALL_ARGS) {
			texts[n] = bytes_of(t, map[i], &sizes[n]);
			if (t->faults >> map[i] & 1)
				texts[n] = NULL;
			n++;
		}
	}
	t->scratch.size = 0;
	kernel_words(t->s, &t->scratch, numbers, texts, sizes, n);
	return cell_text(t, t->scratch.size ? t->scratch.bytes : "", t->scratch.size);
}

static union script_cell slot(struct taken *t, const struct kernel_value *v, const uint8_t *map)
{
	const char *name;

	switch (v->form) {
	case FORM_NUMBER:
		return cell_number(number_of(t, map[0]));
	case FORM_CONSTANT:
		return (union script_cell){ .text = v->constant };
	case FORM_PIECES:
		return pieces_slot(t, v, map);
	case FORM_RESULT:
		return result_slot(t, map);
	case FORM_ARGUMENTS:
		return arguments_slot(t, v, map);
	case FORM_CALL_NAME:
		name = kernel_syscall_name((int)number_of(t, map[0]));
		return constant_text(t, name ? name : "unknown");
	default:
		return text_slot(t, v, map);
	}
}

static bool has_fault(struct taken *t, const struct kernel_value *v, const uint8_t *map)
{
	char again[FETCH_TEXT_MAX];

	if (v->form == FORM_PIECES || v->form == FORM_ARGUMENTS || v->constant || v->shows_address)
		return false;
	if (v->has_rescue && t->faults >> map[0] & 1)
		return rescue(t, v, map, again) < 0;
	for (uint32_t i = 0; i < v->n_fetches; i++)
		if (t->faults >> map[i] & 1)
			return true;
	return false;
}

void kernel_frame(struct kernel_source *s, const struct script_probe *p,
		  const struct kernel_section *section, const uint64_t *record, int64_t time_ns,
		  int cpu)
{
	struct taken t = { .s = s,
			   .capture = &section->capture,
			   .record = record,
			   .faults = record[1] >> HEAD_FAULTS };
	static const uint64_t addresses = 1ull << STANDARD_ADDRESS | 1ull << STANDARD_USER_STACK;
	const struct script_handler *h = p->handler;

	if (section->capture.has_texts)
		find_texts(&t);
	s->frame->faults = 0;
	for (uint64_t needs = h->needs; needs; needs &= needs - 1) {
		enum script_standard which = (enum script_standard)__builtin_ctzll(needs);

		if (which < STANDARD_N)
			s->frame->standard[which] = standard(&t, which, p, time_ns, cpu);
	}
	if (h->needs & addresses && h->needs & 1ull << STANDARD_PID)
		kernel_symbols_note(s, s->frame->standard[STANDARD_PID].number);
	for (uint32_t i = 0; i < h->n_slots; i++) {
		const struct kernel_value *v = p->slots[i].data;
		const uint8_t *map = &section->capture.map[section->capture.slot[i]];

		if (!v || has_fault(&t, v, map)) {
			s->frame->faults |= 1ull << i;
			s->frame->slot[i] = h->slots[i].type == SCRIPT_STRING
						    ? constant_text(&t, "")
						    : cell_number(0);
		} else {
			s->frame->slot[i] = slot(&t, v, map);
		}
	}
	text_fini(&t.scratch);
}
