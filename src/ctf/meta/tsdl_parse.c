/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/tsdl_parse.c - parses the blocks of TSDL: trace, env, clock, stream, event.  See
 * tsdl.h.
 *
 * A block is added to the metadata only when it is complete.  After an error the parser skips to
 * the next line that begins like a block.  Writers indent the lines inside a block, so such a
 * line is not inside one.
 */
#include "ctf/meta/tsdl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 256 };

static void take_value(struct tsdl *p, struct tsdl_value *v, char path[TSDL_PATH_MAX])
{
	v->is_negative = tsdl_accept(p, '-');
	if (!v->is_negative)
		tsdl_accept(p, '+');
	if (p->token.kind == TSDL_NUMBER) {
		v->number = p->token.number;
		v->text = v->is_negative ? NULL : p->token.text; /* of a character */
		tsdl_next(p);
	} else if (p->token.kind == TSDL_STRING) {
		v->text = p->token.text;
		tsdl_next(p);
	} else {
		tsdl_take_path(p, path);
		v->text = path;
	}
}

static void assignment(struct tsdl *p, tsdl_assign *assign, void *object)
{
	char key[TSDL_PATH_MAX], path[TSDL_PATH_MAX];
	struct tsdl_value v = { 0 };

	tsdl_take_path(p, key);
	if (tsdl_accept(p, TSDL_BECOMES)) {
		v.type = tsdl_type(p);
	} else {
		tsdl_expect(p, '=');
		take_value(p, &v, path);
	}
	if (!p->err)
		assign(p, object, key, &v);
	tsdl_expect(p, ';');
}

static bool is_tagged_type(const struct tsdl *p)
{
	return tsdl_is_word(p, "struct") || tsdl_is_word(p, "enum") || tsdl_is_word(p, "variant");
}

void tsdl_block(struct tsdl *p, tsdl_assign *assign, void *object)
{
	struct tsdl_name *mark = tsdl_enter(p);

	while (!tsdl_accept(p, '}') && !p->err) {
		if (p->token.kind == TSDL_END)
			tsdl_expect(p, '}');
		if (tsdl_declaration(p))
			continue;
		if (is_tagged_type(p)) {
			tsdl_type(p);
			tsdl_expect(p, ';');
			continue;
		}
		assignment(p, assign, object);
	}
	tsdl_leave(p, mark);
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *d;

	if (c >= 'A' && c <= 'F')
		c = (char)(c - 'A' + 'a');
	d = c ? strchr(digits, c) : NULL;
	return d ? (int)(d - digits) : -1;
}

static bool take_uuid(struct tsdl *p, const struct tsdl_value *v, uint8_t uuid[16])
{
	const char *s = v->text ? v->text : "";
	int n = 0;

	for (; *s && n < 32; s++) {
		int digit = hex_digit(*s);

		if (*s == '-')
			continue;
		if (digit < 0)
			break;
		uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | digit);
		n++;
	}
	if (n != 32 || *s)
		tsdl_fail(p, "a uuid that is not 32 hexadecimal digits");
	return !p->err;
}

static uint32_t take_u32(struct tsdl *p, const char *key, const struct tsdl_value *v)
{
	if (v->type || v->text || v->is_negative || v->number > UINT32_MAX)
		tsdl_fail(p, "`%s` must be a number from 0 to 4294967295", key);
	return (uint32_t)v->number;
}

static int64_t take_i64(struct tsdl *p, const char *key, const struct tsdl_value *v)
{
	if (v->type || v->text)
		tsdl_fail(p, "`%s` must be a number", key);
	return (int64_t)(v->is_negative ? -v->number : v->number);
}

static const struct ctf_type *take_struct(struct tsdl *p, const char *key,
					  const struct tsdl_value *v)
{
	if (!v->type || v->type->kind != CTF_STRUCT)
		tsdl_fail(p, "`%s` must be a struct", key);
	return v->type;
}

/* Another version may mean something else by the same words. */
static bool take_version(struct tsdl *p, const struct tsdl_value *v)
{
	if (v->type || v->text || v->is_negative || v->number != 1)
		tsdl_fail(p, "CTF of another major version than 1: duet reads 1.8 and 2");
	return !p->err;
}

static void assign_trace(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_meta *m = object;

	if (!strcmp(key, "uuid"))
		m->has_uuid = take_uuid(p, v, m->uuid);
	else if (!strcmp(key, "byte_order"))
		m->order = v->text && !strcmp(v->text, "le") ? CTF_LITTLE : CTF_BIG;
	else if (!strcmp(key, "packet.header"))
		m->packet_header = take_struct(p, key, v);
	else if (!strcmp(key, "major"))
		m->has_major = take_version(p, v);
	else if (!strcmp(key, "minor"))
		m->has_minor = true;
}

static void trace_block(struct tsdl *p)
{
	struct ctf_meta scratch = *p->meta, *m = p->meta;

	scratch.order = 0;
	scratch.has_major = scratch.has_minor = false;
	tsdl_block(p, assign_trace, &scratch);
	if (!p->err && m->has_trace)
		tsdl_fail(p, "a second trace block");
	if (!p->err && !scratch.order)
		tsdl_fail(p, "the trace block has no byte_order");
	if (p->err)
		return;
	m->has_trace = true;
	m->has_major = scratch.has_major;
	m->has_minor = scratch.has_minor;
	m->trace_to = (size_t)(p->at - p->text);
	m->has_uuid = scratch.has_uuid;
	memcpy(m->uuid, scratch.uuid, sizeof m->uuid);
	m->order = scratch.order;
	m->packet_header = scratch.packet_header;
}

static void assign_env(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_meta *m = object;
	struct ctf_env *list = ctf_meta_grow(m, m->env, m->n_env, sizeof *list), e = { 0 };

	e.key = ctf_meta_string(m, key, strlen(key));
	e.number = (int64_t)(v->is_negative ? -v->number : v->number);
	if (v->text)
		e.text = ctf_meta_string(m, v->text, strlen(v->text));
	if (!list || !e.key || (v->text && !e.text))
		return tsdl_fail_memory(p);
	list[m->n_env++] = e;
	m->env = list;
}

static void assign_clock(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_clock *c = object;

	if (!strcmp(key, "name"))
		c->name = ctf_meta_string(p->meta, v->text ? v->text : "",
					  strlen(v->text ? v->text : ""));
	else if (!strcmp(key, "uuid"))
		c->has_uuid = take_uuid(p, v, c->uuid);
	else if (!strcmp(key, "freq"))
		c->freq = (uint64_t)take_i64(p, key, v);
	else if (!strcmp(key, "offset"))
		c->offset = take_i64(p, key, v);
	else if (!strcmp(key, "offset_s"))
		c->offset_s = take_i64(p, key, v);
}

static void clock_block(struct tsdl *p)
{
	struct ctf_clock c = { .freq = 1000000000 }, *list;
	struct ctf_meta *m = p->meta;

	tsdl_block(p, assign_clock, &c);
	if (!p->err && (!c.name || !c.freq))
		tsdl_fail(p, c.name ? "a clock of 0 Hz" : "a clock without name");
	if (p->err)
		return;
	list = ctf_meta_grow(m, m->clocks, m->n_clocks, sizeof *list);
	if (!list)
		return tsdl_fail_memory(p);
	list[m->n_clocks++] = c;
	m->clocks = list;
}

static void assign_stream(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_stream_class *s = object;

	if (!strcmp(key, "id"))
		s->id = take_u32(p, key, v);
	else if (!strcmp(key, "packet.context"))
		s->packet_context = take_struct(p, key, v);
	else if (!strcmp(key, "event.header"))
		s->event_header = take_struct(p, key, v);
	else if (!strcmp(key, "event.context"))
		s->event_context = take_struct(p, key, v);
}

static void stream_block(struct tsdl *p)
{
	struct ctf_stream_class *s = tsdl_alloc(p, sizeof *s);

	if (!s)
		return;
	if (p->meta->n_streams >= STREAMS_MAX)
		return tsdl_fail(p, "more than %d stream classes", STREAMS_MAX);
	tsdl_block(p, assign_stream, s);
	if (!p->err && ctf_meta_stream(p->meta, s->id))
		tsdl_fail(p, "a second stream with id %u", s->id);
	if (p->err)
		return;
	p->meta->n_streams++;
	s->next = p->meta->streams;
	p->meta->streams = s;
}

static void assign_event(struct tsdl *p, void *object, const char *key, const struct tsdl_value *v)
{
	struct ctf_event_class *e = object;

	if (!strcmp(key, "id"))
		e->id = take_u32(p, key, v);
	else if (!strcmp(key, "stream_id")) {
		e->stream_id = take_u32(p, key, v);
		e->has_stream_id = true;
	} else if (!strcmp(key, "loglevel"))
		e->loglevel = (int)take_i64(p, key, v);
	else if (!strcmp(key, "name"))
		e->name = ctf_meta_string(p->meta, v->text ? v->text : "",
					  strlen(v->text ? v->text : ""));
	else if (!strcmp(key, "context"))
		e->context = take_struct(p, key, v);
	else if (!strcmp(key, "fields"))
		e->fields = take_struct(p, key, v);
}

static void event_block(struct tsdl *p)
{
	struct ctf_event_class *e = tsdl_alloc(p, sizeof *e);
	struct ctf_meta *m = p->meta;

	if (!e)
		return;
	e->loglevel = -1;
	tsdl_block(p, assign_event, e);
	if (!p->err && !e->name)
		tsdl_fail(p, "an event without name");
	if (!p->err && !e->has_stream_id && m->n_streams > 1)
		tsdl_fail(p, "an event without stream_id beside several streams");
	if (p->err)
		return;
	e->from = (size_t)(p->block.begin - p->text);
	e->to = (size_t)(p->at - p->text);
	e->number = m->n_events++;
	if (!m->last_event)
		m->last_event = &m->events;
	*m->last_event = e;
	m->last_event = &e->next;
}

static void assign_nothing(struct tsdl *p, void *object, const char *key,
			   const struct tsdl_value *v)
{
	(void)p, (void)object, (void)key, (void)v;
}

static void begin_block(struct tsdl *p, const char *begin)
{
	p->block.begin = begin;
	p->block.line = p->line;
	p->block.mark = tsdl_enter(p);
}

/* The block is complete, whatever follows its `;`. */
static void end_block(struct tsdl *p)
{
	if (!p->err && p->token.kind == ';')
		begin_block(p, p->at);
	tsdl_expect(p, ';');
}

/* struct NAME { ... };  A declaration may hold several of them: the `;` between is optional. */
static void tagged_types(struct tsdl *p)
{
	do
		tsdl_type(p);
	while (is_tagged_type(p));
	end_block(p);
}

static void top_level(struct tsdl *p)
{
	static const struct {
		char word[12];
		void (*block)(struct tsdl *p);
	} blocks[] = {
		{ "trace", trace_block },
		{ "clock", clock_block },
		{ "stream", stream_block },
		{ "event", event_block },
	};

	if (tsdl_declaration(p)) { /* with its `;` */
		if (!p->err)
			begin_block(p, p->token.kind == TSDL_WORD ? p->token.text : p->at);
		return;
	}
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		if (!tsdl_accept_word(p, blocks[i].word))
			continue;
		tsdl_expect(p, '{');
		blocks[i].block(p);
		return end_block(p);
	}
	if (tsdl_accept_word(p, "env")) {
		tsdl_expect(p, '{');
		tsdl_block(p, assign_env, p->meta);
	} else if (tsdl_accept_word(p, "callsite")) {
		tsdl_expect(p, '{');
		tsdl_block(p, assign_nothing, NULL);
	} else {
		return tagged_types(p);
	}
	end_block(p);
}

static bool begins_block(const char *at, const char *end)
{
	static const char *const words[] = { "event",  "stream",   "trace",	"clock",
					     "env",    "callsite", "typealias", "typedef",
					     "struct", "enum",	   "variant" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - at) > n && !memcmp(at, words[i], n) &&
		    memchr(" \t\r\n{:", at[n], 6))
			return true;
	}
	return false;
}

/* The next line after @from that begins a block, or the end. */
static const char *next_block(const struct tsdl *p, const char *from)
{
	while ((from = memchr(from, '\n', (size_t)(p->end - from))) &&
	       !begins_block(++from, p->end))
		;
	return from ? from : p->end;
}

/*
 * Skips to the next block after an error, and restores the names from before the damaged block.
 * Returns false if there is no block; or if the bytes to parse again are out of proportion to the
 * text, which happens only in a hostile text.
 */
static bool skip_to_next_block(struct tsdl *p)
{
	size_t size = (size_t)(p->end - p->text);
	const char *begin = p->block.begin, *next;

	while (begin < p->end && strchr(" \t\r\n", *begin) && *begin)
		begin++;
	p->reread += (size_t)(p->failed_at - p->block.begin);
	next = p->err == -EINVAL && p->reread <= 4 * size ? next_block(p, begin) : p->end;
	if (!ctf_meta_add_gap(p->meta, (size_t)(p->block.begin - p->text),
			      (size_t)(next - p->text)) ||
	    next == p->end)
		return false;
	tsdl_leave(p, p->block.mark);
	p->line = p->block.line;
	for (const char *c = p->block.begin; c < next; c++)
		p->line += *c == '\n';
	p->depth = 0;
	p->err = 0;
	p->diag = NULL; /* only the first damage is reported */
	p->at = next;
	begin_block(p, next);
	tsdl_next(p);
	return true;
}

struct tsdl *tsdl_open(struct ctf_meta *m)
{
	struct tsdl *p = calloc(1, sizeof *p);

	if (p) {
		p->meta = m;
		p->line = 1;
	}
	return p;
}

int tsdl_parse(struct tsdl *p, const char *text, size_t size, struct diag *d)
{
	int err = 0;

	p->text = p->at = text;
	p->end = text + size;
	p->diag = d;
	begin_block(p, text);
	tsdl_next(p);
	while (p->err || p->token.kind != TSDL_END) {
		if (!p->err) {
			top_level(p);
			continue;
		}
		err = err && p->err != -ENOMEM ? err : p->err;
		if (!skip_to_next_block(p))
			break;
	}
	return err;
}

int ctf_meta_parse(struct ctf_meta *m, const char *text, size_t size, struct diag *d)
{
	struct tsdl *p = tsdl_open(m);
	int err = p ? tsdl_parse(p, text, size, d) : diag_fail(d, -ENOMEM, "no memory");

	free(p);
	return err;
}
