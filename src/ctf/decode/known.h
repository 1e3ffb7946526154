/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/known.h - integers of LTTng's kernel events that stand for words.
 *
 * LTTng-modules records `rwbs` of block events as bits, and so do we (kernel/convert/layout.h).
 * Readers show, filter and export the kernel's letters ("WS") beside the number, as if the metadata
 * declared an enumeration.
 */
#ifndef CTF_DECODE_KNOWN_H
#define CTF_DECODE_KNOWN_H

#include "ctf/meta/meta.h"

/* ctf_known_labels - give such fields of @e labels; before it is compiled.  0 or -ENOMEM. */
int ctf_known_labels(struct ctf_meta *m, struct ctf_event_class *e);

#endif
