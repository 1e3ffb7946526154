/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/link.h - metadata from a file, parsed and compiled, so that it can decode events.
 *
 * The parser (ctf/meta) knows nothing of programs.  These functions call both, in that order.
 */
#ifndef CTF_DECODE_LINK_H
#define CTF_DECODE_LINK_H

#include "ctf/meta/meta.h"

/*
 * ctf_meta_open - read a metadata file, plain or packetised.
 *
 * Returns 0; 1 if it is damaged but usable, with the damage in @d; or -errno.
 */
int ctf_meta_open(struct ctf_meta *m, const char *path, struct diag *d);

/* ctf_meta_link - compile the classes that were parsed since the last call, so that events can be
 * decoded.  0, -EINVAL, -ENOMEM. */
int ctf_meta_link(struct ctf_meta *m, struct diag *d);

/*
 * ctf_meta_append - read the text that was added to a metadata file since the last call; at first
 * all of it.
 *
 * @m: zeroes before the first call.  Complete blocks are parsed; the rest is left for the next
 *     call.  Everything in @m keeps its address.  Metadata other than plain TSDL is read once and
 *     does not grow.
 *
 * Returns 1 if there was more, 0 if not, -EAGAIN if no trace and stream is described yet; or
 * -errno: then nothing more can be read.
 */
int ctf_meta_append(struct ctf_meta *m, const char *path, struct diag *d);

/* ctf_stream_event - the class with @id; NULL: none.  Only after ctf_meta_link(). */
struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, uint32_t id);

#endif
