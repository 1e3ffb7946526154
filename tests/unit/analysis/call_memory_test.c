/* SPDX-License-Identifier: MIT */
/* What arguments of system calls point to, in words: from bytes made by hand, also too few and too many of them. */
#include "test.h"

#include <string.h>
#include <sys/socket.h>

#include "analysis/call_memory.h"

static char made[2048];

static const char *said(const char *call, bool is_at_exit, const void *bytes, size_t size)
{
	struct call_memory m = { .what = kernel_capture_of(call, is_at_exit), .size = (uint32_t)size };
	struct text t = { 0 };

	memset(m.bytes, 'Z', sizeof m.bytes); /* nothing of it may be shown */
	memcpy(m.bytes, bytes, size);
	if (call_memory_add(&t, &m))
		snprintf(made, sizeof made, "%s", t.bytes);
	else
		snprintf(made, sizeof made, "%s", t.size ? "refused, but something was added" : "too short");
	text_fini(&t);
	return made;
}

/* Of bytes in quotes. */
#define ADDRESS(bytes) said("connect", false, bytes, sizeof bytes - 1)
#define ARGV(bytes) said("execve", false, bytes, sizeof bytes - 1)

static void addresses_of_the_internet_have_port_and_address(void)
{
	is_text(ADDRESS("\2\0\0\120\177\0\0\1\0\0\0\0\0\0\0\0"),
		"{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}");
	is_text(ADDRESS("\2\0\377\377\377\376\375\374\0\0\0\0\0\0\0\0more"),
		"{sa_family=AF_INET, sin_port=htons(65535), sin_addr=inet_addr(\"255.254.253.252\")}");
	is_text(ADDRESS("\12\0\0\121\0\1\43\105\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\7\0\0\0"),
		"{sa_family=AF_INET6, sin6_port=htons(81), sin6_flowinfo=htonl(74565), inet_pton(AF_INET6, \"::1\", &sin6_addr), "
		"sin6_scope_id=7}");
	is_text(ADDRESS("\12\0\0\121\0\0\0\0\376\200\0\0\0\0\0\0\0\0\0\0\0\0\0\2"),
		"{sa_family=AF_INET6, sin6_port=htons(81), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"fe80::2\", &sin6_addr)}");
}

static void addresses_of_this_machine_have_a_path_or_a_name(void)
{
	char longest[KERNEL_CAPTURE_MAX] = "\1";

	is_text(ADDRESS("\1\0/run/a \"b\"\n\0\0left"), "{sa_family=AF_UNIX, sun_path=\"/run/a \\\"b\\\"\\n\"}");
	is_text(ADDRESS("\1\0p"), "{sa_family=AF_UNIX, sun_path=\"p\"}");
	is_text(ADDRESS("\1\0\0duet\0\001"), "{sa_family=AF_UNIX, sun_path=@\"duet\\0\\1\"}");
	is_text(ADDRESS("\1\0\0"), "{sa_family=AF_UNIX, sun_path=@\"\"}");
	is_text(ADDRESS("\1\0"), "{sa_family=AF_UNIX}");
	memset(longest + 2, 'x', sizeof longest - 2);
	is(strlen(said("bind", false, longest, sizeof longest)), strlen("{sa_family=AF_UNIX, sun_path=\"\"}") + 108);
	is_text(ADDRESS("\20\0\0\0\5\0\0\0\21\0\0\0"), "{sa_family=AF_NETLINK, nl_pid=5, nl_groups=0x000011}");
	is_text(ADDRESS("\20\0\0\0\0\0\0\0\0\0\0\0"), "{sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}");
}

static void of_other_addresses_the_bytes_are_shown(void)
{
	is_text(ADDRESS("\0\0abc\0"), "{sa_family=AF_UNSPEC, sa_data=\"abc\\0\"}");
	is_text(ADDRESS("\0\0"), "{sa_family=AF_UNSPEC}");
	is_text(ADDRESS("\143\0\1\377"), "{sa_family=99, sa_data=\"\\1\\377\"}");
	is_text(ADDRESS("\377\377\1"), "{sa_family=0xffff, sa_data=\"\\1\"}");
}

static void an_address_too_short_for_its_family_is_shown_as_bytes(void)
{
	is_text(ADDRESS("\2\0\0\120\177\0\0\1\0\0\0\0\0\0\0"),
		"{sa_family=AF_INET, sa_data=\"\\0P\\177\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\"}");
	is_text(ADDRESS("\12\0\0\121\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"),
		"{sa_family=AF_INET6, sa_data=\"\\0Q\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\1\"}");
	is_text(ADDRESS("\20\0\0\0\5\0\0\0\21\0\0"), "{sa_family=AF_NETLINK, sa_data=\"\\0\\0\\5\\0\\0\\0\\21\\0\\0\"}");
	is_text(ADDRESS("\2\0"), "{sa_family=AF_INET}");
	is_text(ADDRESS("\2"), "too short");
	is_text(ADDRESS(""), "too short");
	is_text(said("accept", true, "", 0), "too short");
}

static void times_are_seconds_and_nanoseconds(void)
{
	const int64_t time[] = { 0, 1000, 7 }, negative[] = { -1, INT64_MIN };

	is_text(said("nanosleep", false, time, 16), "{tv_sec=0, tv_nsec=1000}");
	is_text(said("clock_gettime", true, time, 24), "{tv_sec=0, tv_nsec=1000}");
	is_text(said("futex", false, negative, 16), "{tv_sec=-1, tv_nsec=-9223372036854775808}");
	is_text(said("nanosleep", false, time, 8), "too short");
	is_text(said("nanosleep", false, time, 0), "too short");
}

static void arguments_of_programs_are_quoted_and_what_is_cut_has_dots(void)
{
	char longest[KERNEL_CAPTURE_ARG_MAX + 2];

	is_text(ARGV("ls\0-l\0"), "[\"ls\", \"-l\"]");
	is_text(ARGV("a\0\0b\"\n\0"), "[\"a\", \"\", \"b\\\"\\n\"]");
	is_text(ARGV("1\0002\0..."), "[\"1\", \"2\", ...]");
	is_text(ARGV("..."), "[...]");
	is_text(ARGV("...\0"), "[\"...\"]");
	is_text(ARGV("a...\0"), "[\"a...\"]");
	is_text(ARGV("\0"), "[\"\"]");
	is_text(ARGV(""), "too short");
	is_text(ARGV("a\0with no end"), "[\"a\", \"with no end\"...]");
	is_text(ARGV("a..."), "[\"a\"...]");
	is_text(ARGV("..") , "[\"..\"...]");

	memset(longest, 'o', sizeof longest);
	longest[KERNEL_CAPTURE_ARG_MAX - 1] = 0;
	is_text(said("execveat", false, longest, KERNEL_CAPTURE_ARG_MAX),
		"[\"ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo\"]");
	memcpy(longest + KERNEL_CAPTURE_ARG_MAX - 4, "...", 4);
	memcpy(longest + KERNEL_CAPTURE_ARG_MAX, "b", 2);
	is_text(said("execveat", false, longest, sizeof longest),
		"[\"oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo\"..., \"b\"]");
	memset(made, 'o', KERNEL_CAPTURE_MAX);
	is(strlen(said("execve", false, made, KERNEL_CAPTURE_MAX)), KERNEL_CAPTURE_MAX + strlen("[\"\"...]"));
}

int main(void)
{
	run(addresses_of_the_internet_have_port_and_address);
	run(addresses_of_this_machine_have_a_path_or_a_name);
	run(of_other_addresses_the_bytes_are_shown);
	run(an_address_too_short_for_its_family_is_shown_as_bytes);
	run(times_are_seconds_and_nanoseconds);
	run(arguments_of_programs_are_quoted_and_what_is_cut_has_dots);
	return test_status();
}
