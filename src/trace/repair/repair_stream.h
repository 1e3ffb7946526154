/* SPDX-License-Identifier: MIT */
/* trace/repair/repair_stream.h - used by repair.c: writes the sound packets of one stream. */
#ifndef TRACE_REPAIR_REPAIR_STREAM_H
#define TRACE_REPAIR_REPAIR_STREAM_H

#include "trace/repair/repair.h"
#include "trace/stream/stream.h"

/* repair_stream - write the sound part of @s, as @m describes it, to @fd.  Returns 0 or -errno. */
int repair_stream(struct stream *s, const struct ctf_meta *m, int fd,
		  const struct repair_options *o, struct repaired *r);

#endif
