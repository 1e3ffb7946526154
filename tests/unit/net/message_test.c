/* SPDX-License-Identifier: MIT */
/* net/message.c: a written message is read again; other bytes are refused; names stay inside. */
#include "net/message.h"

#include <errno.h>

#include "test.h"

static struct message round_trip(const struct message *m)
{
	uint8_t bytes[MESSAGE_FIRST_MAX];
	size_t n = message_write(m, bytes);
	struct message r;

	ok(n <= sizeof bytes);
	is(message_read(&r, bytes, n, MESSAGE_FIRST_MAX), n);
	is(r.type, m->type);
	for (size_t i = 0; i < n; i++)
		is(message_read(&r, bytes, i, MESSAGE_FIRST_MAX), 0); /* more is needed */
	bytes[0]++; /* one byte more than it needs */
	bytes[n < sizeof bytes ? n : 0] = 0;
	is(message_read(&r, bytes, n + 1, MESSAGE_FIRST_MAX), -EPROTO);
	bytes[0]--;
	message_read(&r, bytes, n, MESSAGE_FIRST_MAX);
	return r;
}

static void written_messages_are_read_again(void)
{
	struct message m = { .type = MESSAGE_HELLO, .hello = { .version = 7, .id = { 1, 2, 3 } } },
		       r;

	strcpy(m.hello.host, "alpha");
	memset(m.hello.session, 's', MESSAGE_TEXT);
	r = round_trip(&m);
	is(r.hello.version, 7);
	is(r.hello.id[2], 3);
	is_text(r.hello.host, "alpha");
	is(strlen(r.hello.session), MESSAGE_TEXT);
	is_text(r.hello.date, "");
	m = (struct message){ .type = MESSAGE_FILE,
			      .file = { .number = 5, .name = "kernel/cpu_0" } };
	r = round_trip(&m);
	is(r.file.number, 5);
	is_text(r.file.name, "kernel/cpu_0");
	m = (struct message){ .type = MESSAGE_SIZE, .size = { 9, 1ull << 40 } };
	r = round_trip(&m);
	is(r.size.number, 9);
	is(r.size.size, 1ull << 40);
	m = (struct message){ .type = MESSAGE_TIMED, .timed = { 1, 2, 1ull << 63 } };
	r = round_trip(&m);
	is(r.timed[2], 1ull << 63);
	m = (struct message){ .type = MESSAGE_WATCH, .watch = { 1, MESSAGE_FROM_NOW, "mars/*" } };
	r = round_trip(&m);
	ok(r.watch.from_ns == MESSAGE_FROM_NOW);
	is_text(r.watch.wanted, "mars/*");
	m = (struct message){ .type = MESSAGE_LISTED, .listed = { 1, 77, "mars/a-1" } };
	r = round_trip(&m);
	is(r.listed.grows, 1);
	is(r.listed.known_ns, 77);
	is_text(r.listed.path, "mars/a-1");
	m = (struct message){ .type = MESSAGE_REFUSED, .text = "because" };
	r = round_trip(&m);
	is_text(r.text, "because");
}

static void data_lie_where_they_were_read(void)
{
	uint8_t bytes[MESSAGE_MAX];
	struct message m = { .type = MESSAGE_DATA, .data = { .number = 3, .offset = 77, .n = 4 } },
		       r;
	size_t n = message_write(&m, bytes);

	is(n, MESSAGE_DATA_HEAD);
	memcpy(bytes + n, "abcd", 4);
	is(message_read(&r, bytes, n + 4, MESSAGE_MAX), n + 4);
	ok(r.data.bytes == bytes + n);
	is(r.data.n, 4);
	is(r.data.offset, 77);
	m.data.n = 0;
	message_write(&m, bytes);
	is(message_read(&r, bytes, n, MESSAGE_MAX), -EPROTO); /* no bytes */
	m.data.n = MESSAGE_PAYLOAD + 1;
	message_write(&m, bytes);
	is(message_read(&r, bytes, n, MESSAGE_MAX), -EPROTO); /* refused by its head alone */
	for (uint32_t plain = 0; plain < 8; plain++) {	      /* compressed data are shorter */
		m = (struct message){ .type = MESSAGE_DATA, .data = { .n = 4, .plain = plain } };
		message_write(&m, bytes);
		is(message_read(&r, bytes, n + 4, MESSAGE_MAX),
		   plain && plain <= 4 ? -EPROTO : (long)n + 4);
	}
	m = (struct message){ .type = MESSAGE_DATA,
			      .data = { .n = 4, .plain = MESSAGE_PAYLOAD + 1 } };
	message_write(&m, bytes);
	is(message_read(&r, bytes, n + 4, MESSAGE_MAX), -EPROTO);
	m = (struct message){ .type = MESSAGE_DATA, .data = { .offset = INT64_MAX, .n = 1 } };
	message_write(&m, bytes);
	is(message_read(&r, bytes, n + 1, MESSAGE_MAX), -EPROTO); /* no file is that long */
}

static void control_characters_are_refused(void)
{
	static const uint8_t odd[] = { 0, '\n', 033, 0x7f, 0x80, 0x9b, 0xe2, 0xff };
	struct message m = { .type = MESSAGE_FILE, .file = { .name = "a b" } }, r;
	uint8_t bytes[MESSAGE_FIRST_MAX];
	size_t n = message_write(&m, bytes);

	is(message_read(&r, bytes, n, sizeof bytes), n);
	for (size_t i = 0; i < sizeof odd; i++) {
		bytes[n - 2] = odd[i];
		is(message_read(&r, bytes, n, sizeof bytes), -EPROTO);
	}
	/* Our own texts may hold the name of a file: it is sent printable. */
	strcpy(m.file.name, "a\033\xe2z");
	n = message_write(&m, bytes);
	is(message_read(&r, bytes, n, sizeof bytes), n);
	is_text(r.file.name, "a??z");
}

static void names_stay_inside(void)
{
	static const char *const good[] = {
		"metadata",    "kernel/cpu_0",		 "ust/uid/0/64-bit/index/cpu_0.idx",
		".duet/clock", "snapshot-1/.duet/clock", "a/b/c/d/e/f/g/h/i/j"
	};
	static const char *const bad[] = { "",
					   "/",
					   "/etc/passwd",
					   "..",
					   "../x",
					   "a/../b",
					   "a//b",
					   "a/",
					   "./a",
					   ".duet",
					   ".duet/relay",
					   ".duet/relay2",
					   ".duet/clock-relay",
					   ".duet/stream",
					   "snapshot-1/.duet/relay",
					   ".ssh/authorized_keys",
					   "a/.hidden",
					   "-rf",
					   "a/-rf",
					   "a b",
					   "a\\b",
					   "a\nb",
					   "a/b/c/d/e/f/g/h/i/j/k",
					   ".duet/.duet",
					   "\xc3\xa4",
					   ".duet/../../x" };
	char name[MESSAGE_TEXT + 40];

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!ok(message_is_path(good[i], false)))
			printf("# %s\n", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!ok(!message_is_path(bad[i], false)))
			printf("# %s\n", bad[i]);
	ok(message_is_path(".duet/clock-relay",
			   true)); /* a relay passes its knowledge on to followers */
	ok(!message_is_path(".duet/clock-relay2", true));
	ok(!message_is_path(".duet/relay", true));
	memset(name, 'x', sizeof name);
	ok(!message_is_name(name, sizeof name));
}

int main(void)
{
	run(written_messages_are_read_again);
	run(data_lie_where_they_were_read);
	run(control_characters_are_refused);
	run(names_stay_inside);
	return test_status();
}
