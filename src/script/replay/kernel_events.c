/* SPDX-License-Identifier: MIT */
/*
 * script/replay/kernel_events.c - the events of the kernel that a session can record, before any was.
 *
 * Their fields are described as metadata, as the recorder would, and only for the events that a probe
 * means: reading all formats takes longer than anything else that is done before a script runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "rules/pattern.h"
#include "script/replay/internal.h"

static const char head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := int8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := int16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; "
	"}; "
	"};\nstream { id = 0; event.header := struct { uint32_t id; }; };\n";

struct wanted {
	struct replay *r;
	const char *system, *pattern;
	struct text metadata;
	uint32_t n;
	int formats;
};

static bool is_like(const char *pattern, const char *name)
{
	return pattern_glob(pattern, pattern + strlen(pattern), name, name + strlen(name));
}

/* @name: duet's; @kernel_name: "system:event". */
static void add_event(void *arg, const char *name, const char *kernel_name)
{
	struct wanted *w = arg;
	const char *colon = strchr(kernel_name, ':');
	size_t size = w->metadata.size;

	if (!colon || (!is_like(w->pattern, name) && !is_like(w->pattern, colon + 1)) ||
	    !pattern_glob(w->system, w->system + strlen(w->system), kernel_name, colon) ||
	    replay_find(w->r, name))
		return;
	text_addf(&w->metadata,
		  "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
		  name, w->n);
	if (kernel_fields(w->formats, kernel_name, &w->metadata, NULL)) {
		w->metadata.size = size; /* it cannot be recorded either */
		return;
	}
	text_addf(&w->metadata, "\t};\n};\n");
	w->n++;
}

static int take_events(struct replay *r, const struct text *metadata, struct diag *d)
{
	struct replay_metadata *m = script_allocate(r->world.arena, sizeof *m);
	int err;

	if (!m || metadata->failed)
		return diag_fail(d, -ENOMEM, "no memory for events of the kernel");
	m->next = r->metadata;
	r->metadata = m;
	err = ctf_meta_parse(&m->meta, metadata->bytes, metadata->size, d);
	for (const struct ctf_event_class *c = m->meta.events; c && !err; c = c->next)
		if (!replay_add_event(r, TRACE_KERNEL, &m->meta, c))
			err = diag_fail(d, -ENOMEM, "no memory for events of the kernel");
	return err;
}

int replay_kernel_events(struct replay *r, const char *system, const char *pattern, struct diag *d)
{
	struct wanted w = { r, system, pattern, .n = 0 };
	int err;

	if (!r->live)
		return 0;
	w.formats = kernel_formats_open(d);
	if (w.formats < 0)
		return w.formats;
	text_add(&w.metadata, head, sizeof head - 1);
	err = kernel_list(add_event, &w, d);
	close(w.formats);
	if (!err && w.n)
		err = take_events(r, &w.metadata, d);
	text_fini(&w.metadata);
	return err;
}
