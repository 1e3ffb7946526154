/* SPDX-License-Identifier: MIT */
/*
 * capture/table.h - arguments of system calls that point to captured memory, and their fields.
 *
 * One table serves all its users: the BPF programs, which alone read that memory
 * (kernel/bpf/syscalls.c), the layout of the events (kernel/convert/layout.h), and the printer of
 * values (analysis/syscalls/memory.h). Texts are handled elsewhere (kernel_layout_texts).
 */
#ifndef CAPTURE_TABLE_H
#define CAPTURE_TABLE_H

#include "abi/capture.h"

/* capture_of_call - the captures of a call. @call may be NULL: none. @which: with those that are
 * is_extra, is_of_file, is_of_environment: a bit each. */
enum { CAPTURE_PLAIN = 0, CAPTURE_EXTRA = 1, CAPTURE_FILES = 2, CAPTURE_ENVIRONMENT = 4 };
struct abi_captures capture_of_call(const char *call, bool is_at_exit, unsigned which);

/* capture_is_made - whether a call with these arguments has the capture. */
bool capture_is_made(const struct abi_capture *c, const int64_t *args);

/* capture_place - the number of the field of capture @i among those of @all: captures that are never
 * made together share one. */
int capture_place(const struct abi_captures *all, int i);

/* capture_text_condition - a call may ignore a text, by the value of another argument: the number of
 * that condition; 0: it never does. @argument: counted from 1. capture_text_is_used - whether it
 * looks at the text. A text that is not used is recorded as its address. */
uint8_t capture_text_condition(const char *call, unsigned argument);
bool capture_text_is_used(uint8_t condition, const int64_t *args);

/* The name of the field, and the bytes of one of its elements. */
const char *capture_field(const struct abi_capture *c);
unsigned capture_element(const struct abi_capture *c);

#endif
