/* SPDX-License-Identifier: MIT */
/* The disk budget: what fits, why not, and what remains right whatever is killed. */
#include "disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#define MIB (1ull << 20)

static char work[] = "/tmp/disk-test-XXXXXX";
static int dir;

static void a_limit_is_for_events_less_than_for_reports(void)
{
	struct disk_budget b = { .rule.limit = 4 * MIB };
	const uint64_t margin = disk_margin(4 * MIB);

	ok(margin > 0 && margin <= 4 * MIB / 16);
	ok(disk_take(&b, dir, 4 * MIB - margin, false));
	ok(!disk_take(&b, dir, 1, false) && b.reason == DISK_LIMIT);
	ok(disk_take(&b, dir, margin, true));
	ok(!disk_take(&b, dir, 1, true));
	disk_untake(&b, 2 * margin);
	ok(disk_take(&b, dir, margin, false) && b.reason == DISK_FITS);
	ok(!disk_take(&b, dir, UINT64_MAX, false));
}

static void a_floor_stays_free(void)
{
	struct disk_budget b = { .rule.floor = UINT64_MAX };

	ok(!disk_take(&b, dir, 1, false) && b.reason == DISK_FLOOR);
	ok(disk_take(&b, dir, 1, true)); /* a report is small */
	b = (struct disk_budget){ .rule.floor = 1 };
	ok(disk_take(&b, dir, 1, false));
}

static void a_share_is_what_is_left_for_others(void)
{
	struct disk_budget b = { .rule.shares = true, .used = 1ull << 62 };

	ok(!disk_take(&b, dir, 1, false) && b.reason == DISK_SHARE);
	b.used = 0;
	ok(disk_take(&b, dir, 1, false));
	ok(disk_limit_now(&b) < UINT64_MAX && disk_limit_now(&b) >= b.room / 2);
}

static void no_budget_is_no_limit(void)
{
	struct disk_budget b = { .used = 0 };

	ok(disk_take(NULL, dir, UINT64_MAX, false) && disk_take(&b, dir, UINT64_MAX, false));
	ok(disk_limit_now(NULL) == UINT64_MAX && !disk_is_limited(NULL));
}

static void write_file(const char *name, size_t size)
{
	char bytes[8192] = "";
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (; size; size -= size < sizeof bytes ? size : sizeof bytes)
		ok(write(fd, bytes, size < sizeof bytes ? size : sizeof bytes) > 0);
	close(fd);
}

static bool skips_pieces(const void *archived, const char *name)
{
	const struct disk_archived *a = archived;

	return !strncmp(name, "piece-", 6) && (uint64_t)atoi(name + 6) <= a->number;
}

/* Whatever `used` is after a kill, a count sets it right; the archiver's part is its own. */
static void a_count_replaces_what_a_kill_left(void)
{
	struct disk_budget b = { .rule.limit = 100 * MIB, .used = 77 * MIB };
	uint64_t own, all;

	write_file("stream", 300000);
	mkdirat(dir, "piece-1", 0700);
	mkdirat(dir, "piece-2", 0700);
	write_file("piece-1/stream", 500000);
	write_file("piece-2/stream", 700000);
	disk_count(&b, work, skips_pieces, 0);
	all = b.used;
	ok(all >= 1500000 && all < 2 * MIB);
	disk_publish(&b, 123456, 1); /* compressed meanwhile */
	disk_count(&b, work, skips_pieces, 0);
	own = b.used - 123456;
	ok(own >= 1000000 && own < all - 490000);
	ok(disk_archived(&b).number == 1);
	b.reason = DISK_LIMIT; /* the archiver has made room: counted at once, however early */
	disk_publish(&b, 0, 1);
	disk_count(&b, work, skips_pieces, 1);
	ok(b.used == own);
	b.used = 5;
	disk_count(&b, work, skips_pieces, 1); /* too early */
	ok(b.used == 5);
}

static void losses_count_for_their_reason(void)
{
	struct disk_budget b = { .rule.limit = 1 * MIB };

	disk_account(&b, 10); /* before any refusal: of other causes */
	ok(!disk_take(&b, dir, 2 * MIB, false));
	disk_account(&b, 15);
	disk_account(&b, 18); /* it goes on */
	ok(disk_take(&b, dir, 4096, false));
	disk_account(&b, 20); /* until that packet */
	disk_account(&b, 30);
	ok(b.lost[DISK_LIMIT] == 10 && !b.lost[DISK_FLOOR]);
	ok(!strcmp(disk_most_lost(&b), disk_reason_text(DISK_LIMIT)));
}

static void rules_are_of_the_file_system(void)
{
	const struct disk_size none = { .is_given = false };
	const struct disk_size half = { .permyriad = 5000, .is_given = true };
	const struct disk_size all = { .permyriad = 10000, .is_given = true };
	struct disk_rule r;
	struct diag d = { "" };

	ok(!disk_rule_begin(&r, work, &none, &none, &d));
	ok(!r.limit && r.floor > 0 && r.floor <= 1024 * MIB);
	ok(!disk_rule_begin(&r, work, &half, &none, &d) && r.limit > MIB);
	ok(disk_rule_begin(&r, work, &none, &all, &d) == -ENOSPC && strstr(d.text, "--disk-free"));
}

static void a_part_follows_the_size_of_the_file_system(void)
{
	const struct disk_size half = { .permyriad = 5000, .is_given = true };
	const struct disk_size little = { .permyriad = 1, .is_given = true };
	struct disk_budget b = { .used = 0 };
	struct disk_rule now;
	struct diag d = { "" };

	ok(!disk_rule_begin(&now, work, &half, &little, &d) && now.limit > MIB && now.floor);
	b.rule = now;
	b.rule.limit = 1; /* it was small when the recording began */
	ok(disk_take(&b, dir, 2, false) && b.rule.limit == now.limit);
	ok(disk_limit_now(&b) == now.limit);
	b = (struct disk_budget){ .rule = now };
	b.rule.floor = UINT64_MAX; /* it was larger */
	ok(disk_take(&b, dir, 2, false) && b.rule.floor == now.floor);
	b = (struct disk_budget){ .rule.limit_permyriad = 5000, .used = 1ull << 62 };
	b.rule.limit = UINT64_MAX;
	ok(!disk_take(&b, dir, 1, false) && b.reason == DISK_LIMIT);
	b = (struct disk_budget){ .rule.limit = 1 };
	ok(!disk_take(&b, dir, 2, false) && b.rule.limit == 1); /* a size stays */
}

static void blocks_are_those_of_a_file(void)
{
	ok(disk_blocks(0, 1) == 4096 && disk_blocks(1, 4095) == 0 && disk_blocks(4096, 1) == 4096);
	ok(disk_blocks(4000, 10000) == 12288);
}

int main(void)
{
	char command[64];

	ok(mkdtemp(work));
	dir = open(work, O_RDONLY | O_DIRECTORY);
	run(a_limit_is_for_events_less_than_for_reports);
	run(a_floor_stays_free);
	run(a_share_is_what_is_left_for_others);
	run(no_budget_is_no_limit);
	run(a_count_replaces_what_a_kill_left);
	run(losses_count_for_their_reason);
	run(rules_are_of_the_file_system);
	run(a_part_follows_the_size_of_the_file_system);
	run(blocks_are_those_of_a_file);
	close(dir);
	snprintf(command, sizeof command, "rm -r %s", work);
	ok(!system(command));
	return test_status();
}
