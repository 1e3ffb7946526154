/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/words.c - argstr: the arguments of a system call in words, as strace has them.
 *
 * The record has the call's number, six registers, and the texts of paths.  Other
 * memory that a recording has (names of descriptors, structures, buffers) is a number or an address
 * here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syscalls/public.h"
#include "kernel/convert/layout.h"
#include "kernel/tracefs/public.h"
#include "script/kernel/live.h"

struct kernel_call_words { /* of a call, made when it is seen first */
	struct kernel_format format;
	struct call_class class;
	struct call_value values[CALL_ARGS];
	struct call_plan plan;
	uint32_t texts;
};

/* The names and types of the arguments of call @nr; NULL: no memory. */
static const struct kernel_call_words *describe(struct kernel_source *s, int nr, const char *name)
{
	int root = kernel_tracefs(s->k, NULL);
	struct kernel_call_words *w = s->words[nr] ? s->words[nr] : calloc(1, sizeof *w);
	char event[96];
	uint32_t n = 0;

	if (!w || s->words[nr])
		return w;
	s->words[nr] = w;
	w->class.is = CALL_ENTRY;
	snprintf(event, sizeof event, "sys_enter_%s", kernel_syscall_kernel_name(nr));
	if (root < 0 || kernel_event_format(root, "syscalls", event, &w->format, NULL))
		w->format.n_fields = 0;
	for (int i = 0; i < w->format.n_fields && n < CALL_ARGS; i++) {
		const struct kernel_field *field = &w->format.fields[i];

		if (field->offset < 16)
			continue;
		w->values[n].size_bits = field->is_pointer || !field->type_size
						 ? 0
						 : (uint8_t)(8 * field->type_size);
		w->values[n].is_signed = field->type_is_signed;
		w->values[n].is_address = field->is_pointer;
		w->class.name[n++] = field->name;
	}
	w->class.n_fields = n;
	w->texts = kernel_layout_texts(&w->format);
	call_plan_make(&w->plan, name, &w->class);
	return w;
}

static int64_t cut(int64_t n, uint8_t bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return n;
	n = (int64_t)((uint64_t)n << (64 - bits));
	return is_signed ? n >> (64 - bits) : (int64_t)((uint64_t)n >> (64 - bits));
}

void kernel_words(struct kernel_source *s, struct text *to, const int64_t *numbers,
		  const char *const *texts, const size_t *sizes, uint32_t n_texts)
{
	const char *name = numbers[0] < CALL_TABLE ? kernel_syscall_name((int)numbers[0]) : NULL;
	const struct kernel_call_words *w = name ? describe(s, (int)numbers[0], name) : NULL;
	const struct call_moment moment = { .args = numbers + 1 };
	struct call_parts parts = { .uses = 0 };
	struct call_value values[CALL_ARGS];
	uint32_t used = 0;

	if (!w)
		return;
	memcpy(values, w->values, sizeof values);
	for (uint32_t i = 0; i < w->class.n_fields; i++) {
		values[i].n = cut(numbers[1 + i], values[i].size_bits, values[i].is_signed);
		if (!(w->texts >> i & 1) || used >= n_texts)
			continue;
		if (texts[used]) {
			values[i].text = texts[used];
			values[i].text_size = sizes[used];
		}
		used++;
	}
	call_arguments(&parts, &w->plan, values, w->class.n_fields, UINT32_MAX, &moment);
	call_join(to, &w->plan, &parts, 0, w->class.n_fields);
	call_parts_fini(&parts);
}
