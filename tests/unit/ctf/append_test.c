/* SPDX-License-Identifier: MIT */
/* Metadata that grow while they are read give the same result as the whole file, wherever each
 * read finds them cut.  Earlier declarations keep their address. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ctf/decode/link.h"
#include "test.h"

static const char metadata[] =
	"/* CTF 1.8; with a } and a \"; in here */\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"\tpacket.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { hostname = \"a } b; { \\\" c\"; };\n"
	"struct head { uint32_t id; };\n"
	"stream { id = 0; event.header := struct head; packet.context := struct { uint64_t "
	"content_size; }; };\n"
	"event { id = 0; stream_id = 0; name = \"one\"; fields := struct { uint32_t _a; }; };\n"
	"// a line; with { one\n"
	"event { id = 1; stream_id = 0; name = \"two\"; fields := struct { uint64_t _b; string _c; "
	"}; };\n"
	"stream { id = 7; event.header := struct head; packet.context := struct { uint64_t "
	"content_size; }; };\n"
	"event { id = 0; stream_id = 7; name = \"three\"; fields := struct { uint32_t _d[3]; }; "
	"};\n"
	"event { id = 100000; stream_id = 0; name = \"far\"; fields := struct { uint32_t _e; }; "
	"};\n"
	"event { id = 90000; stream_id = 0; name = \"farther\"; fields := struct { uint32_t _e; }; "
	"};\n";

enum { SIZE = sizeof metadata - 1 };
static char path[] = "/tmp/duet-read-grow-XXXXXX";

static void has_all(struct ctf_meta *m)
{
	struct ctf_stream_class *zero = ctf_meta_stream(m, 0), *seven = ctf_meta_stream(m, 7);

	is(m->n_events, 5);
	is_text(ctf_meta_env(m, "hostname"), "a } b; { \" c");
	if (!ok(zero && seven))
		return;
	is_text(ctf_stream_event(zero, 0)->name, "one");
	is_text(ctf_stream_event(zero, 1)->name, "two");
	is_text(ctf_stream_event(seven, 0)->name, "three");
	is_text(ctf_stream_event(zero, 100000)->name, "far");
	is_text(ctf_stream_event(zero, 90000)->name, "farther");
	for (struct ctf_event_class *e = m->events; e; e = e->next)
		ok(e->program && !e->error);
}

/* In steps of @step bytes, the first of @first. */
static void grow(size_t first, size_t step)
{
	struct ctf_event_class *one = NULL;
	struct ctf_meta m = { 0 };
	struct diag d = { "" };
	size_t size = 0;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), got = 0;

	ok(fd >= 0);
	while (size < SIZE) {
		size_t n = size ? step : first;

		n = n < SIZE - size ? n : SIZE - size;
		is(write(fd, metadata + size, n), n);
		size += n;
		got = ctf_meta_append(&m, path, &d);
		ok(got >= 0 || got == -EAGAIN);
		one = one ? one : m.events;
	}
	is(ctf_meta_append(&m, path, &d), 0);
	ok(one == m.events);
	has_all(&m);
	ctf_meta_close(&m);
	close(fd);
}

static void growing_metadata_are_read_on_from_any_cut(void)
{
	for (size_t first = 1; first <= SIZE; first++)
		grow(first, SIZE);
}

static void metadata_may_come_in_steps_of_any_size(void)
{
	for (size_t step = 1; step < 200; step += 3)
		grow(step, step);
}

static void malformed_text_is_an_error_and_ends_parsing(void)
{
	static const char bad[] = "event { id = ; };\n";
	struct ctf_meta m = { 0 };
	struct diag d = { "" };
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	is(write(fd, metadata, SIZE), SIZE);
	is(ctf_meta_append(&m, path, &d), 1);
	is(write(fd, bad, sizeof bad - 1), sizeof bad - 1);
	is(ctf_meta_append(&m, path, &d), -EINVAL);
	ok(strstr(d.text, path));
	has_all(&m);
	ctf_meta_close(&m);
	close(fd);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	run(growing_metadata_are_read_on_from_any_cut);
	run(metadata_may_come_in_steps_of_any_size);
	run(malformed_text_is_an_error_and_ends_parsing);
	unlink(path);
	return test_status();
}
