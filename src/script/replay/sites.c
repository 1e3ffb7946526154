/* SPDX-License-Identifier: MIT */
/*
 * script/replay/sites.c - the events that programs can emit, before any was recorded.
 *
 * Sites are those of running programs (their control pages), of the command of a script with its
 * libraries, and of its process.  They are described as metadata, as the recorder would, and parsed:
 * so points and values are found as in a recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/runtime.h"
#include "collect/calls/public.h"
#include "collect/session/public.h"
#include "ctf/write/public.h"
#include "elf/sites.h"
#include "inproc/mark.h"
#include "script/replay/internal.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"

enum { SITES_MAX = 65536, SCHEMA_BYTES = 8192 };

static const char head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; "
	"}; "
	"};\nstream { id = 0; event.header := struct { uint32_t id; }; };\n";

struct sites {
	struct text metadata;
	struct text names; /* NUL behind each */
	uint32_t n;
};

static bool is_known(const struct sites *s, const char *name)
{
	for (size_t at = 0; at < s->names.size; at += strlen(s->names.bytes + at) + 1)
		if (!strcmp(s->names.bytes + at, name))
			return true;
	return false;
}

/* "13 shop:order i32 id": the first description of a name counts. */
static void add_schema(struct sites *s, const char *schema)
{
	char name[512];

	if (s->n >= SITES_MAX || !schema_name(schema, strlen(schema), name, sizeof name) ||
	    is_known(s, name))
		return;
	text_add(&s->names, name, strlen(name) + 1);
	schema_to_tsdl(&s->metadata, schema, strlen(schema), 0, s->n++);
}

static void add_site(void *arg, const struct elf_site *site)
{
	char words[SCHEMA_BYTES], codes[1024], schema[SCHEMA_BYTES + 600];
	const char *fields = site->schema;

	if (site->kind == DUET_I_MARK) {
		if (!mark_schema(site->schema, words, sizeof words, codes, sizeof codes))
			return;
		fields = words;
	}
	if (snprintf(schema, sizeof schema, "%u %s%s", site->level, site->name, fields) <
	    (int)sizeof schema)
		add_schema(arg, schema);
}

static int add_file(void *arg, const char *path)
{
	elf_sites(path, add_site, arg, NULL); /* a file without sites is as good as none */
	return 0;
}

static int add_program(void *arg, struct program *a)
{
	struct program_event e;

	for (uint32_t i = 0; program_event(a, i, &e); i++)
		add_schema(arg, e.schema);
	return 0;
}

static void add_running(struct sites *s)
{
	int dir = runtime_dir_open(false);

	if (dir < 0)
		return;
	programs_each(dir, 0, add_program, s);
	close(dir);
}

/* The program of the first word, and its libraries. */
static void add_command(struct sites *s, const char *command)
{
	wordexp_t words = { .we_wordc = 0 };
	char path[PATH_MAX];

	if (wordexp(command, &words, WRDE_NOCMD))
		return;
	if (words.we_wordc && !objects_find_command(words.we_wordv[0], path, NULL)) {
		add_file(s, path);
		objects_of_program(path, add_file, s, NULL);
	}
	wordfree(&words);
}

int replay_sites(struct replay *r, const struct replay_live_options *o, struct diag *d)
{
	struct replay_metadata *m = script_allocate(r->world.arena, sizeof *m);
	struct sites s = { .n = 0 };
	int err;

	if (!m)
		return diag_fail(d, -ENOMEM, "no memory for the events of programs");
	m->next = r->metadata;
	r->metadata = m;

	text_add(&s.metadata, head, sizeof head - 1);
	add_running(&s);
	if (o->command)
		add_command(&s, o->command);
	if (o->target > 0)
		objects_of_process(o->target, add_file, &s, NULL);
	err = s.metadata.failed || s.names.failed
		      ? diag_fail(d, -ENOMEM, "no memory for the events of programs")
		      : ctf_meta_parse(&m->meta, s.metadata.bytes, s.metadata.size, d);
	for (const struct ctf_event_class *c = m->meta.events; c && !err; c = c->next)
		if (!replay_add_event(r, TRACE_UST, &m->meta, c))
			err = diag_fail(d, -ENOMEM, "no memory for the events of programs");
	text_fini(&s.metadata);
	text_fini(&s.names);
	return err;
}
