/* SPDX-License-Identifier: MIT */
#include "collect/session/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char path[] = "/tmp/duet-seats-XXXXXX";
static int dir;

static struct abi_session take(const char *name, int want)
{
	struct abi_session f = { .session_slot = 99 };
	struct diag d = { "" };

	snprintf(f.name, sizeof f.name, "%s", name);
	is(session_slots_take(dir, &f, &d), want);
	return f;
}

static void seven_sessions_get_slots_and_an_eighth_is_refused(void)
{
	struct abi_session f[ABI_SESSIONS];
	struct abi_session_slots s;
	char name[8];

	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		snprintf(name, sizeof name, "s%u", i);
		f[i] = take(name, 0);
		is(f[i].session_slot, i);
		ok(!ABI_EPOCH_IS_NONE(f[i].epoch) && ABI_GENERATION(f[i].epoch));
	}
	take("eighth", -EBUSY);
	session_slots_read(dir, &s);
	is_text(s.at[3].session, "s3");
	ok(s.at[3].epoch == f[3].epoch);
	session_slots_leave(dir, 3, f[3].epoch + 256); /* not the session in this slot */
	take("eighth", -EBUSY);
	session_slots_leave(dir, 3, f[3].epoch);
	is(take("another", 0).session_slot, 3);
	session_slots_read(dir, &s);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		session_slots_leave(dir, i, s.at[i].epoch);
}

static void a_generation_comes_again_after_all_others(void)
{
	bool seen[256] = { false };
	struct abi_session f;

	for (int i = 0; i < 255; i++) {
		f = take("one", 0);
		is(f.session_slot, 0);
		ok(!seen[ABI_GENERATION(f.epoch)]);
		seen[ABI_GENERATION(f.epoch)] = true;
		session_slots_leave(dir, 0, f.epoch);
	}
	ok(!seen[0]);
}

static void any_other_file_in_its_place_is_replaced(void)
{
	struct abi_session_slots s;
	int fd;

	unlinkat(dir, "seats", 0);
	is(mkfifoat(dir, "seats", 0600), 0);
	session_slots_read(dir, &s);
	ok(ABI_EPOCH_IS_NONE(s.at[0].epoch));
	session_slots_leave(dir, 0, 1);
	is(take("after a pipe", 0).session_slot, 0);
	fd = openat(dir, "seats", O_WRONLY | O_TRUNC);
	is(write(fd, "noise", 5), 5);
	close(fd);
	is(take("after noise", 0).session_slot, 0);
	unlinkat(dir, "seats", 0);
	is(symlinkat("/etc/passwd", dir, "seats"), 0);
	session_slots_read(dir, &s);
	is(s.magic, 0);
	is(take("after a link", 0).session_slot, 0);
	unlinkat(dir, "seats", 0);
	is(mkdirat(dir, "seats", 0700), 0);
	ok(take("a directory", -EEXIST).session_slot == 99);
	unlinkat(dir, "seats", AT_REMOVEDIR);
}

int main(void)
{
	if (!mkdtemp(path))
		return 1;
	dir = open(path, O_RDONLY | O_DIRECTORY);
	run(seven_sessions_get_slots_and_an_eighth_is_refused);
	run(a_generation_comes_again_after_all_others);
	run(any_other_file_in_its_place_is_replaced);
	unlinkat(dir, "seats", 0);
	rmdir(path);
	return test_status();
}
