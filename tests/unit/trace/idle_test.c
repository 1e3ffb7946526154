/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/idle_test.c - elements without bits: they are bounded for a packet and for an event, and
 * beyond that they are damage, never left out in silence.
 */
#include "make_trace.h"

#define EMPTY_IN_HEADER                                                                            \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT                                                                \
	"event.header := struct { u16 id; struct { } e[1000]; };  };\n"                            \
	"event { name = \"a\"; id = 0; stream_id = 0; fields := struct { u8 x; }; };\n"

#define EMPTY_IN_EVENT                                                                             \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { u16 id; }; };\n"                     \
	"event { name = \"a\"; id = 0; stream_id = 0; fields := struct { u16 n; struct { } e[n]; " \
	"u8 last; }; };\n"

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* A packet of 100 events has some 3 400 bits: enough for three. */
static void headers_share_the_bound_of_their_packet(void)
{
	static struct bytes b;
	size_t at = begin_packet(&b, 1000, 0, 0);
	char *text;

	for (int i = 0; i < 100; i++) {
		put(&b, 0, 2);
		put(&b, (uint64_t)i, 1);
	}
	end_packet(&b, at);
	text = trace_text_of(EMPTY_IN_HEADER, &b);
	is(count(text, " a {"), 3);
	ok(strstr(text, "end, 1 damaged"));
	free(text);
}

static char *text_of_events(const uint32_t *n, int n_events)
{
	static struct bytes b;
	size_t at;

	b.n = 0;
	at = begin_packet(&b, 1000, 0, 0);
	for (int i = 0; i < n_events; i++) {
		put(&b, 0, 2);
		put(&b, n[i], 2);
		put(&b, 7, 1);
	}
	end_packet(&b, at);
	return trace_text_of(EMPTY_IN_EVENT, &b);
}

static void an_event_is_whole_or_damaged(void)
{
	static uint32_t n[200];
	char *text;

	n[0] = 1024 + 16 + 8; /* and the bits of the fields: as many as a walk over them allows */
	text = text_of_events(n, 200);
	is(count(text, "last = 7"), 200);
	ok(strstr(text, "end, 0 damaged"));
	free(text);
	n[0]++;
	text = text_of_events(n, 200);
	is(count(text, " a {"), 0);
	ok(strstr(text, "end, 1 damaged"));
	free(text);
}

/* A header that claims the whole file costs no more than one of 64 KiB. */
static void a_header_has_at_most_64_kib(void)
{
	const char *metadata = "/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = "
			       "le; packet.header := struct { u32 magic; "
			       "u32 n; struct { u8 x; } e[n]; }; };\n"
			       "stream { event.header := struct { u8 id; }; };\n"
			       "event { name = \"a\"; id = 0; fields := struct { u8 x; }; };\n";
	static struct bytes b;
	char *text;

	put(&b, 0xC1FC1FC1, 4);
	put(&b, (1 << 16) - 8, 4);
	b.n = (1 << 16) + 2;
	text = trace_text_of(metadata, &b);
	is(count(text, " a {"), 1);
	free(text);
	put_at(&b, 4, (1 << 16) - 7, 4);
	b.n++;
	text = trace_text_of(metadata, &b);
	is(count(text, " a {"), 0);
	ok(strstr(text, "end, 1 damaged"));
	free(text);
}

int main(void)
{
	run(headers_share_the_bound_of_their_packet);
	run(an_event_is_whole_or_damaged);
	run(a_header_has_at_most_64_kib);
	return test_status();
}
