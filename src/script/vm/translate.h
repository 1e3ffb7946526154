/* SPDX-License-Identifier: MIT */
/* vm/translate.h - shared by translate.c and translate_arithmetic.c. */
#ifndef SCRIPT_VM_TRANSLATE_H
#define SCRIPT_VM_TRANSLATE_H

#include "script/vm/internal.h"
#include "script/vm/x86.h"

/* The x86 register of each register of the byte code: see translate.c. */
extern const uint8_t vm_registers[];

/* An operation of 64 bits with a register, and with the instruction's own number. */
void vm_translate_register(struct x86 *x, const struct bpf_insn *i);
void vm_translate_number(struct x86 *x, const struct bpf_insn *i);

#endif
