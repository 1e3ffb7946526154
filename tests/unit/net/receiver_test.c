/* SPDX-License-Identifier: MIT */
/*
 * net/relay/receiver.c: a sender of any kind, honest or not, against real files.
 *
 *	net_receiver_test [N]	N hostile conversations, 20000 by default
 *
 * A conversation is that of an honest sender, with bytes flipped, messages dropped, doubled,
 * exchanged or cut, or plain noise, in pieces of any size.  In every case nothing outside the output
 * directory is made, no link in it is followed, files hold exactly the acknowledged bytes, and
 * memory stays bounded.
 */
#include "net/relay/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/compress.h"
#include "test.h"

static char top[64], outside[80];
static int output = -1;
static uint64_t seed = 88172645463325252ull;

/* xorshift64, Marsaglia 2003 */
static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void clear(void)
{
	char path[80];

	snprintf(path, sizeof path, "%s/out", top);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_output(void)
{
	char path[80];

	snprintf(top, sizeof top, "%s/intake-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(top))
		abort();
	snprintf(path, sizeof path, "%s/out", top);
	mkdir(path, 0700);
	output = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(outside, sizeof outside, "%s/outside", top);
	mkdir(outside, 0700);
}

static void remove_output(void)
{
	char path[80];

	clear();
	close(output);
	snprintf(path, sizeof path, "%s/out", top);
	rmdir(path);
	is(rmdir(outside), 0); /* nothing got there */
	rmdir(top);
}

struct talk {
	uint8_t bytes[1 << 16];
	size_t n;
	size_t at[64]; /* where messages begin */
	int n_messages;
};

static void say(struct talk *t, const struct message *m, const void *payload)
{
	t->at[t->n_messages++] = t->n;
	t->n += message_write(m, t->bytes + t->n);
	if (m->type == MESSAGE_DATA) {
		memcpy(t->bytes + t->n, payload, m->data.n);
		t->n += m->data.n;
	}
}

static struct message hello(const char *host)
{
	struct message m = { .type = MESSAGE_HELLO, .hello = { .version = 1, .id = { 1, 2, 3 } } };

	strcpy(m.hello.host, host);
	strcpy(m.hello.session, "session");
	strcpy(m.hello.date, "20261121-062608");
	return m;
}

static void say_honestly(struct talk *t)
{
	static const char *const names[] = { "metadata", ".duet/clock", "a/b/cpu_0",
					     "a/b/index/cpu_0.idx" };
	struct message h = hello("host");

	*t = (struct talk){ 0 };
	say(t, &h, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		struct message f = { .type = MESSAGE_FILE, .file.number = i };

		strcpy(f.file.name, names[i]);
		say(t, &f, NULL);
	}
	for (uint32_t i = 0; i < 12; i++) {
		struct message d = { .type = MESSAGE_DATA,
				     .data = { .number = i % 4, .offset = i / 4 * 10, .n = 10 } };

		say(t, &d, "0123456789");
	}
	say(t, &(struct message){ .type = MESSAGE_TIME, .time = { { 1, 2, 3, 4 }, 5 } }, NULL);
	say(t, &(struct message){ .type = MESSAGE_END }, NULL);
}

/* The relay's answers, as far as we read them: their sizes are those of the files. */
static void check_answers(struct receiver *i)
{
	struct message m;
	size_t at = 0;
	long n;

	while ((n = message_read(&m, i->out + at, i->n_out - at, MESSAGE_FIRST_MAX)) > 0) {
		at += (size_t)n;
		if (m.type == MESSAGE_SIZE && i->store.dir >= 0) {
			struct stat st;

			ok(m.size.number < i->store.n_files);
			is(fstatat(i->store.dir, i->store.files[m.size.number].name, &st,
				   AT_SYMLINK_NOFOLLOW),
			   0);
			ok((uint64_t)st.st_size >= m.size.size);
		}
	}
	is(n, 0);
	is(at, i->n_out); /* whole messages */
	receiver_sent(i, at);
}

static void listen_to(struct receiver *i, const uint8_t *bytes, size_t n, size_t trace_chunk)
{
	size_t at = 0;

	while (at < n && !i->is_over) {
		size_t room, take;
		uint8_t *to = receiver_room(i, &room);

		take = n - at < trace_chunk ? n - at : trace_chunk;
		take = take < room ? take : room;
		if (!ok(take)) /* it answered, we read: there is room */
			return;
		memcpy(to, bytes + at, take);
		at += take;
		while (receiver_process(i, take) == RECEIVER_WELCOME)
			take = 0;
		check_answers(i);
		ok(i->in_capacity <= MESSAGE_MAX);
	}
}

static bool holds(const char *name, const char *text)
{
	char path[200], got[100] = "";
	int fd;

	snprintf(path, sizeof path, "host/session-20261121-062608/%s", name);
	fd = openat(output, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, got, sizeof got - 1) < 0)
		got[0] = 0;
	if (fd >= 0)
		close(fd);
	return !strcmp(got, text);
}

static void an_honest_senders_data_are_written(void)
{
	for (size_t trace_chunk = 1; trace_chunk < 600; trace_chunk += trace_chunk < 16 ? 1 : 97) {
		struct receiver i;
		struct talk t;

		say_honestly(&t);
		receiver_init(&i, output, 0);
		listen_to(&i, t.bytes, t.n, trace_chunk);
		ok(i.store.has_ended);
		ok(holds("a/b/cpu_0", "012345678901234567890123456789"));
		ok(holds(".duet/clock-relay", "1 2 3 4\n"));
		receiver_fini(&i);
		clear();
	}
}

/* 40 bytes of "metadata", compressed, with a claimed size of @size; and three more. */
static void say_compressed(struct talk *t, uint32_t size)
{
	uint8_t plain[40], less[100];
	struct message h = hello("host"), f = { .type = MESSAGE_FILE, .file.name = "metadata" },
		       d = { .type = MESSAGE_DATA, .data.plain = size };

	memset(plain, '7', sizeof plain);
	d.data.n = net_compress(less, sizeof less, plain, sizeof plain, 1);
	h.hello.version = MESSAGE_VERSION;
	*t = (struct talk){ 0 };
	say(t, &h, NULL);
	say(t, &f, NULL);
	say(t, &d, less);
	say(t, &(struct message){ .type = MESSAGE_DATA, .data = { .offset = 40, .n = 3 } }, "end");
}

static void compressed_data_are_written_decompressed(void)
{
	for (uint32_t size = 39; size < 42 && net_compress_is_supported(); size++) {
		struct receiver i;
		struct talk t;

		say_compressed(&t, size);
		receiver_init(&i, output, 0);
		listen_to(&i, t.bytes, t.n, 7);
		is(i.is_over, size != 40);
		ok(holds("metadata",
			 size == 40 ? "7777777777777777777777777777777777777777end" : ""));
		receiver_fini(&i);
		clear();
	}
}

static void each_sender_gets_a_version_both_sides_know(void)
{
	for (uint32_t version = 1; version <= MESSAGE_VERSION + 1; version++) {
		uint32_t ours = net_compress_is_supported() ? MESSAGE_VERSION : 1;
		struct message h = hello("host"), m;
		struct receiver i;
		size_t room;

		h.hello.version = version;
		receiver_init(&i, output, 0);
		is(receiver_process(&i, message_write(&h, receiver_room(&i, &room))),
		   RECEIVER_WELCOME);
		ok(message_read(&m, i.out, i.n_out, MESSAGE_FIRST_MAX) > 0);
		is(m.type, MESSAGE_WELCOME);
		is(m.welcome.version, version < ours ? version : ours);
		receiver_fini(&i);
		clear();
	}
}

static void a_returning_sender_goes_on_and_another_does_not(void)
{
	struct receiver i;
	struct talk t;

	say_honestly(&t);
	receiver_init(&i, output, 0);
	listen_to(&i, t.bytes, t.at[10], 1000); /* cut in the middle */
	receiver_fini(&i);
	receiver_init(&i, output, 0);
	listen_to(&i, t.bytes, t.at[5], 1000);
	is(i.store.files[0].size, 20);
	is(i.store.files[3].size, 10);
	is_text(i.store.path, "host/session-20261121-062608");
	receiver_fini(&i);
	receiver_init(&i, output, 0);
	t.bytes[MESSAGE_HEAD + 12]++; /* another id, the same names */
	listen_to(&i, t.bytes, t.at[5], 1000);
	is(i.store.files[0].size, 0);
	is_text(i.store.path, "host/session-20261121-062608-2");
	receiver_fini(&i);
	clear();
}

static void bytes_that_leave_a_gap_or_come_twice_are_refused(void)
{
	for (uint64_t offset = 9; offset < 12; offset++) {
		struct message d = { .type = MESSAGE_DATA,
				     .data = { .number = 0, .offset = offset, .n = 5 } };
		struct receiver i;
		struct talk t;

		say_honestly(&t);
		t.n = t.at[6]; /* 10 bytes of file 0 */
		t.n_messages = 6;
		say(&t, &d, "xxxxx");
		receiver_init(&i, output, 0);
		listen_to(&i, t.bytes, t.n, 1000);
		is(i.is_over, offset != 10);
		ok(holds("metadata", offset == 10 ? "0123456789xxxxx" : "0123456789"));
		receiver_fini(&i);
		clear();
	}
}

static void links_and_devices_in_the_way_are_not_followed(void)
{
	static const char *const traps[] = { "host", "host/session-20261121-062608", "a",
					     "metadata", ".duet" };

	for (int k = 0; k < 5; k++) {
		char path[200];
		struct receiver i;
		struct talk t;

		say_honestly(&t);
		if (k >= 2) { /* begun; then another process makes a link */
			receiver_init(&i, output, 0);
			listen_to(&i, t.bytes, t.at[1], 1000);
			receiver_fini(&i);
		} else if (k) {
			is(mkdirat(output, "host", 0700), 0);
		}
		snprintf(path, sizeof path, "%s%s", k < 2 ? "" : "host/session-20261121-062608/",
			 traps[k]);
		if (k == 4)
			renameat(output, path, output, "aside");
		is(symlinkat(outside, output, path), 0);
		receiver_init(&i, output, 0);
		listen_to(&i, t.bytes, t.n, 1000);
		ok(i.is_over || k == 4);
		receiver_fini(&i);
		clear();
	}
}

static void a_recording_larger_than_allowed_is_refused(void)
{
	struct receiver i;
	struct talk t;

	say_honestly(&t);
	receiver_init(&i, output, 65);
	listen_to(&i, t.bytes, t.n, 1000);
	ok(i.is_over);
	ok(!i.store.has_ended);
	is(i.store.bytes, 60);
	receiver_fini(&i);
	clear();
}

static void a_sender_that_does_not_read_is_not_read_from(void)
{
	struct receiver i;
	struct message h = hello("host"), m = { .type = MESSAGE_TIME };
	uint8_t bytes[MESSAGE_FIRST_MAX];
	size_t n = message_write(&h, bytes), room = 1, total = 0;

	receiver_init(&i, output, 0);
	memcpy(receiver_room(&i, &room), bytes, n);
	is(receiver_process(&i, n), RECEIVER_WELCOME);
	n = message_write(&m, bytes);
	for (int k = 0; k < 100000 && room; k++) {
		uint8_t *to = receiver_room(&i, &room);

		if (room < n)
			break;
		memcpy(to, bytes, n);
		receiver_process(&i, n);
		total += n;
	}
	ok(total < 2 * MESSAGE_MAX);
	ok(i.n_out <= sizeof i.out);
	receiver_fini(&i);
	clear();
}

static void spoil(struct talk *t)
{
	for (uint32_t k = draw(4); k--;)
		t->bytes[draw((uint32_t)t->n)] ^= (uint8_t)(1 << draw(8));
	for (uint32_t k = draw(3); k--;) {
		size_t from = t->at[draw((uint32_t)t->n_messages)],
		       to = t->at[draw((uint32_t)t->n_messages)], n = draw(60);

		if (from + n <= t->n && to + n <= t->n)
			memmove(t->bytes + to, t->bytes + from, n);
	}
	if (!draw(4)) {
		static const uint32_t sizes[] = { 0,	     7,	  8,	       9,
						  511,	     513, MESSAGE_MAX, MESSAGE_MAX + 1,
						  UINT32_MAX };
		uint32_t size = sizes[draw(9)];

		memcpy(t->bytes + t->at[draw((uint32_t)t->n_messages)], &size, 4);
	}
	if (!draw(8))
		t->n = draw((uint32_t)t->n) + 1;
	if (!draw(16))
		for (size_t k = 0; k < t->n; k++)
			t->bytes[k] = (uint8_t)draw(256);
}

static long n_hostile = 20000;

static void nothing_hostile_does_harm(void)
{
	static struct talk honest, compressed, t;
	long n_ended = 0;

	say_honestly(&honest);
	say_compressed(&compressed, 40);
	for (long k = 0; k < n_hostile; k++) {
		struct receiver i;

		t = draw(4) ? honest : compressed;
		/* Beyond the hello most often: what comes before it is little. */
		spoil(&t);
		if (draw(4))
			memcpy(t.bytes,
			       t.n_messages == compressed.n_messages ? compressed.bytes
								     : honest.bytes,
			       honest.at[1]);
		receiver_init(&i, output, draw(2) ? 0 : 1000);
		listen_to(&i, t.bytes, t.n, 1 + draw(600));
		n_ended += i.store.has_ended;
		receiver_fini(&i);
		if (k % 64 == 0)
			clear();
	}
	ok(n_ended > 0);
	ok(n_ended < n_hostile);
	clear();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_hostile = atol(argv[1]);
	make_output();
	run(an_honest_senders_data_are_written);
	run(compressed_data_are_written_decompressed);
	run(each_sender_gets_a_version_both_sides_know);
	run(a_returning_sender_goes_on_and_another_does_not);
	run(bytes_that_leave_a_gap_or_come_twice_are_refused);
	run(links_and_devices_in_the_way_are_not_followed);
	run(a_recording_larger_than_allowed_is_refused);
	run(a_sender_that_does_not_read_is_not_read_from);
	run(nothing_hostile_does_harm);
	remove_output();
	return test_status();
}
