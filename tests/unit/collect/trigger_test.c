/* SPDX-License-Identifier: MIT */
/* Triggers: their texts, the fields they find in an event's bytes, and when they fire. */
#include "collect/trigger/class.h"
#include "collect/trigger/engine.h"
#include <limits.h>

#include "test.h"

#define MS 1000000ull
#define S 1000000000ull

static struct diag why;

static int parse(struct trigger *t, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = malloc(n); /* a sanitizer sees a byte too many */
	int err;

	memcpy(copy, text, n);
	why.text[0] = 0;
	err = trigger_parse(t, copy, &why);
	free(copy);
	return err;
}

static void a_trigger_says_when_and_what(void)
{
	struct trigger t;

	is(parse(&t, "event shop:order if id > 9 && item == \"a -> b\" -> snapshot last 5s, run "
		     "/bin/x -t 'a, b' c,"
		     " shell \"x | y\", notify, every 2m"),
	   0);
	is_text(why.text, "");
	is(t.kind, TRIGGER_EVENT);
	is_text(t.first, "shop:order");
	is_text(t.filter, "id > 9 && item == \"a -> b\" ");
	is(t.n_actions, 4);
	ok(t.actions[0].last_ns == 5 * S);
	is_text(t.actions[1].argv[2], "a, b");
	is_text(t.actions[1].argv[3], "c");
	ok(!t.actions[1].argv[4]);
	is_text(t.actions[2].argv[0], "/bin/sh");
	is_text(t.actions[2].argv[2], "x | y");
	ok(t.every_ns == 120 * S && !t.once);

	is(parse(&t, "rate a:* > 100 per 50ms -> stop, once"), 0);
	ok(t.kind == TRIGGER_RATE && t.count == 100 && t.time_ns == 50 * MS && t.once);
	is(parse(&t, "time a:b to c:d > 5us by id if x == 1->notify"), 0);
	ok(t.kind == TRIGGER_TIME && t.time_ns == 5000);
	is_text(t.second, "c:d");
	is_text(t.by, "id");
	is(parse(&t, "late a to b > 2s -> notify"), 0);
	ok(t.kind == TRIGGER_LATE && !t.by && t.every_ns == S);
	is(parse(&t, "lost > 0 per 1s -> run page"), 0);
	is(parse(&t, "signal USR2 -> rotate"), 0);
	is(parse(&t, "file '/a b' -> start,stop , end"), 0);
	is_text(t.path, "/a b");
	ok(t.n_actions == 3 && t.every_ns == 10 * MS);
}

static void malformed_triggers_are_refused_with_the_reason(void)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "", "\"CONDITION -> ACTION\" expected" },
		{ "event a:b", "\"CONDITION -> ACTION\" expected" },
		{ "-> stop", "column 1: a condition expected" },
		{ "events a -> stop", "column 1: a condition expected" },
		{ "event -> stop", "pattern expected" },
		{ "event !a -> stop", "column 7: an event's pattern" },
		{ "event a b -> stop", "column 9: \"if EXPRESSION\"" },
		{ "event a if -> stop", "an expression expected" },
		{ "event a if x >> -> stop", "column" },
		{ "event a ->", "an action expected" },
		{ "event a -> ", "an action expected" },
		{ "event a -> once", "an action expected" },
		{ "event a -> stop,", "an action expected" },
		{ "event a -> stop start", "\",\" or the end" },
		{ "event a -> explode", "an action expected" },
		{ "event a -> run", "a command expected" },
		{ "event a -> run , stop", "a command expected" },
		{ "event a -> run 'x", "a command expected" },
		{ "event a -> shell \"\"", "a quoted text" },
		{ "event a -> snapshot last", "a time of at most" },
		{ "event a -> stop, every 2", "a time of at most" },
		{ "event a -> stop, every 25h", "a time of at most" },
		{ "event a -> stop, every 99999999999999999999ns", "a time of at most" },
		{ "rate a > -> stop", "a number of events" },
		{ "rate a > 100001 per 1s -> stop", "a number of events" },
		{ "rate a > 1x per 1s -> stop", "a number of events" },
		{ "rate a > 1 per 0s -> stop", "more than 0" },
		{ "rate a < 1 per 1s -> stop", "\"> NUMBER per TIME\"" },
		{ "time a > 1s -> stop", "\"to\" and the second" },
		{ "time a to b > 1s by -> stop", "a field's name" },
		{ "late a to b -> stop", "\"> TIME\"" },
		{ "signal HUP -> stop", "USR1 or USR2" },
		{ "signal USR1 x -> stop", "\"->\" expected" },
		{ "file x -> stop", "a file's path" },
		{ "event a\x01 -> stop", "control characters" },
		{ "event a -> stop,stop,stop,stop,stop,stop,stop,stop,stop", "at most 8" },
	};
	static struct trigger t;
	char text[3000];

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		is(parse(&t, cases[i].text), -22);
		if (!test_ok(!!strstr(why.text, cases[i].said), cases[i].text, __FILE__, __LINE__))
			printf("#   %s\n", why.text);
	}
	memset(text, 'x', sizeof text);
	memcpy(text, "file /", 6);
	strcpy(text + 2000, " -> stop");
	is(parse(&t, text), -7);
}

/* Of sound texts, with bytes changed, taken away and doubled. */
static void no_text_does_harm(void)
{
	static const char *const texts[] = {
		"event shop:order if id > 9 -> snapshot last 5s, run x 'a, b' c, every 2m",
		"rate a:* > 100 per 50ms if x == \"->\" -> stop, once, shell \"x\"",
		"time a:b to c:d > 5us by id if x == 1 -> notify, rotate, start, end",
		"file '/a b' -> run a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 "
		"6 7 8 9",
	};
	static struct trigger t;
	uint32_t seed = 1;

	for (int n = 0; n < 200000; n++) {
		char text[512];
		size_t size = strlen(texts[n % 4]);

		strcpy(text, texts[n % 4]);
		for (int k = 0; k < 1 + n % 5; k++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t at = (seed >> 8) % (uint32_t)size;

			if (seed & 1)
				text[at] = " ,'\"->x0\\if\n"[(seed >> 3) % 12];
			else
				memmove(text + at, text + at + 1, size-- - at);
		}
		parse(&t, text);
	}
}

/* ---------------------------------------------------------------- bytes */

static void an_event_is_measured_and_its_field_found(void)
{
	static const char schema[] = "13 shop:order u8 a str item u16[] n chr[4] code i16 id";
	static const char event[] = "\x07"
				    "tea\0"
				    "\x02\0\0\0"
				    "abcd"
				    "wxyz"
				    "\xfe\xff";
	struct trigger_class *c = trigger_class_make(schema, strlen(schema));
	const struct trigger_field id = { .type = { 'i', 16, SCHEMA_ONE, 0, { 0, 0 } },
					  .n_parts = 2,
					  .offset = 4 };
	struct triggers_saved *saved = calloc(1, sizeof *saved);
	struct triggers t;
	size_t size = 0;
	uint64_t key;

	is_text(c->name, "shop:order");
	ok(trigger_class_size(c, event, sizeof event - 1, &size));
	is(size, sizeof event - 1);
	for (size_t n = 0; n < size; n++) {
		char *cut = malloc(n + 1);
		size_t got;

		memcpy(cut, event, n);
		ok(!trigger_class_size(c, cut, n, &got));
		ok(!trigger_class_key(c, &id, cut, n, &key));
		free(cut);
	}
	ok(trigger_class_key(c, &id, event, size, &key));
	ok((int64_t)key == -2);

	triggers_open(&t, saved, NULL);
	is(triggers_add(&t, "time shop:order to shop:* > 1s by id if a == 7 -> notify", 0, &why),
	   1);
	is(triggers_add(&t, "time shop:order to shop:* > 1s by nothing -> notify", 0, &why), 2);
	trigger_class_use(c, &t, schema, strlen(schema));
	is(c->n_uses, 2);
	ok(c->uses[0].is_second && !c->uses[0].filter && !c->uses[1].is_second &&
	   c->uses[1].filter);
	ok(trigger_class_key(c, &c->uses[0].field, event, size, &key) && (int64_t)key == -2);
	ok(filter_run(c->uses[1].filter, event, size, NULL));
	ok(!trigger_class_make("13 a:b i7 x", 11));
	ok(!trigger_class_make("", 0));
	trigger_class_free(c);
	triggers_close(&t);
	free(saved);
}

/* ---------------------------------------------------------------- firing */

static struct triggers_saved saved;
static struct triggers t;

static void begin(const char *text)
{
	memset(&saved, 0, sizeof saved);
	is(triggers_open(&t, &saved, &why), 0);
	is(triggers_add(&t, text, 0, &why), 1);
}

static int fired(void)
{
	int n = t.n_firings;

	while (t.n_firings)
		triggers_done(&t, 0);
	return n;
}

static void report(uint64_t at_ns, bool is_second, uint64_t key)
{
	struct trigger_hit h = {
		.number = 1, .is_second = is_second, .key = key, .facts = { .time_ns = at_ns }
	};

	triggers_event(&t, &h, at_ns);
}

static void an_event_fires_at_most_as_often_as_said(void)
{
	begin("event a -> notify");
	report(10 * S, false, 0);
	report(10 * S + 1, false, 0);
	is(fired(), 1);
	report(11 * S, false, 0);
	is(fired(), 1);
	is(saved.at[0].held_back, 1);
	is(saved.at[0].fired, 2);
	triggers_close(&t);
	begin("event a -> notify, once, every 0s");
	report(1, false, 0);
	report(2, false, 0);
	is(fired(), 1);
	is(saved.at[0].held_back, 1);
	triggers_close(&t);
	begin("event a -> notify, every 0s");
	for (int i = 0; i < 100; i++)
		report(1, false, 0);
	is(fired(), TRIGGERS_FIRINGS_EACH);
	is(saved.at[0].held_back, 100 - TRIGGERS_FIRINGS_EACH);
	triggers_close(&t);
}

/* The trigger in @slot gets its event; a reaction to it is immediate. */
static int switch_at(uint64_t at_ns, int slot)
{
	struct trigger_hit h = { .slot = slot,
				 .number = (uint32_t)slot + 1,
				 .facts = { .time_ns = at_ns } };

	triggers_event(&t, &h, at_ns);
	if (t.n_firings)
		saved.is_paused = slot;
	return fired();
}

/* All events before @at_ns were examined. */
static void seen_until(uint64_t at_ns)
{
	t.programs_scanned_ns = at_ns;
	triggers_time(&t, at_ns);
}

static int later(uint64_t at_ns)
{
	seen_until(at_ns);
	return fired();
}

static void a_delayed_start_is_done_later(void)
{
	begin("event a -> start, every 1s");
	is(triggers_add(&t, "event b -> stop, every 0s", 0, &why), 2);
	is(switch_at(10 * S, 0), 1);
	is(switch_at(10 * S + 1, 1), 1);
	is(switch_at(10 * S + 2, 0), 0);
	is(later(11 * S - 1), 0);
	is(later(11 * S), 1); /* it is paused and should have continued */
	is(later(20 * S), 0);

	saved.is_paused = false;
	is(switch_at(30 * S, 0), 1);
	is(switch_at(30 * S + 1, 0), 0);
	is(later(40 * S), 0); /* it goes on already */

	is(switch_at(50 * S, 0), 1);
	is(switch_at(50 * S + 1, 0), 0);
	is(switch_at(50 * S + 2, 1), 1);
	is(later(60 * S), 0); /* the stop came after it */

	is(switch_at(70 * S, 0), 1);
	is(switch_at(70 * S + 1, 1), 1);
	is(switch_at(70 * S + 2, 0), 0);
	is(triggers_remove(&t, 1), 0);
	is(later(80 * S), 0); /* the start is no longer wanted */
	is(saved.at[0].held_back, 4);
	triggers_close(&t);
}

static void a_rate_is_more_than_so_many_within_the_time(void)
{
	begin("rate a > 3 per 1s -> notify, every 0s");
	for (int i = 0; i < 20; i++)
		report((uint64_t)i * S / 3, false, 0); /* 3 in each second */
	is(fired(), 0);
	for (int i = 0; i < 4; i++)
		report(100 * S + (uint64_t)i, false, 0);
	is(t.n_firings, 1);
	ok(t.firings[0].facts.value == 4);
	is(fired(), 1);
	for (int i = 0; i < 3; i++)
		report(100 * S + 10, false, 0); /* counted anew */
	is(fired(), 0);
	report(100 * S + 10, false, 0);
	is(fired(), 1);
	triggers_close(&t);
}

static void pairs_are_timed_by_their_key(void)
{
	begin("time a to b > 50ms by id -> notify, every 0s");
	report(1 * S, false, 7);
	report(1 * S + 30 * MS, false, 8);
	report(1 * S + 60 * MS, true, 8);
	is(fired(), 0);
	report(1 * S + 60 * MS, true, 7);
	ok(t.n_firings == 1 && t.firings[0].facts.value == 60 * MS);
	is(fired(), 1);
	report(2 * S, true, 7); /* its A is used up */
	is(fired(), 0);
	/* More than there is room for: the oldest are forgotten, and counted. */
	for (uint64_t key = 0; key < 20000; key++)
		report(3 * S + key, false, key);
	ok(saved.at[0].forgotten >= 20000 - 4096);
	report(4 * S, true, 19999);
	is(fired(), 1);
	triggers_close(&t);
}

static void a_pair_that_never_ends_is_late(void)
{
	begin("late a to b > 50ms -> notify, every 0s");
	report(1 * S, false, 7);
	report(1 * S + 10 * MS, false, 8);
	report(1 * S + 40 * MS, false, 7); /* the first of its kind counts */
	seen_until(1 * S + 50 * MS);
	is(fired(), 0);
	report(1 * S + 50 * MS, true, 8);
	seen_until(1 * S + 51 * MS);
	ok(t.n_firings == 1 && t.firings[0].facts.value == 51 * MS &&
	   t.firings[0].facts.time_ns == 1 * S);
	is(fired(), 1);
	seen_until(9 * S);
	is(fired(), 0);
	triggers_close(&t);
}

static void losses_are_counted_from_the_beginning_of_the_time(void)
{
	begin("lost > 10 per 1s -> notify, every 0s");
	for (uint64_t i = 0; i < 500; i++)
		triggers_poll(&t, 1000 + i / 10, i * 20 * MS); /* 5 a second */
	is(fired(), 0);
	triggers_poll(&t, 1065, 500 * 20 * MS);
	ok(t.n_firings == 1 && t.firings[0].facts.value > 10);
	is(fired(), 1);
	triggers_poll(&t, 1065, 501 * 20 * MS);
	is(fired(), 0);			  /* a reported firing is not reported again */
	triggers_poll(&t, 2000, 600 * S); /* a collector that comes late */
	is(fired(), 1);
	triggers_close(&t);
}

static void triggers_outlive_their_collector(void)
{
	begin("event a -> notify, once");
	is(triggers_add(&t, "event b -> notify", 0, &why), 2);
	is(triggers_add(&t, "event -> notify", 0, &why), -22);
	report(1, false, 0);
	is(fired(), 1);
	is(triggers_remove(&t, 2), 0);
	is(triggers_remove(&t, 2), -2);
	triggers_close(&t);
	is(triggers_open(&t, &saved, &why), 0); /* the next one */
	is(t.n, 1);
	report(2, false, 0);
	is(fired(), 0);
	is(triggers_add(&t, "event c -> notify", 0, &why), 3);
	for (int i = 2; i < TRIGGERS_MAX; i++)
		ok(triggers_add(&t, "event c -> notify", 0, &why) > 0);
	is(triggers_add(&t, "event c -> notify", 0, &why), -7);
	triggers_close(&t);
}

static void numbers_do_not_run_out(void)
{
	begin("event a -> notify");
	is(triggers_add(&t, "event b -> notify", INT_MAX, &why), INT_MAX);
	is(triggers_add(&t, "event c -> notify", 0, &why), 2);
	is(triggers_remove(&t, 1), 0);
	is(triggers_add(&t, "event d -> notify", 0, &why), 1);
	triggers_close(&t);
}

int main(void)
{
	run(a_trigger_says_when_and_what);
	run(malformed_triggers_are_refused_with_the_reason);
	run(no_text_does_harm);
	run(an_event_is_measured_and_its_field_found);
	run(an_event_fires_at_most_as_often_as_said);
	run(a_delayed_start_is_done_later);
	run(a_rate_is_more_than_so_many_within_the_time);
	run(pairs_are_timed_by_their_key);
	run(a_pair_that_never_ends_is_late);
	run(losses_are_counted_from_the_beginning_of_the_time);
	run(triggers_outlive_their_collector);
	run(numbers_do_not_run_out);
	return test_status();
}
