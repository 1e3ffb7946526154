/* SPDX-License-Identifier: MIT */
/*
 * damage_test LIBRARY [ROUNDS [SEED]] - damaged ELF files are analysed and planned, or refused with a
 * reason; nothing is read beyond their ends (build with sanitizers).  Long by hand: 1000000 rounds.
 */
#include "make_plan.h"

static uint8_t *whole, *bytes;
static size_t size;
static uint64_t seed = 1;
static long rounds = 400;
static char path[] = "/tmp/duet-damage-XXXXXX";
static unsigned n_analysed, n_refused;

static uint32_t roll(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static void try_it(size_t n)
{
	const char *const patterns[] = { "*:*" };
	const struct patch_wanted_mark marks[] = { { "*:*:*", NULL } };
	struct patch_request r = {
		.patterns = patterns, .n_patterns = 1, .marks = marks, .n_marks = 1
	};
	struct patch_file *f;
	struct diag d = { "" };
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), err;

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
	err = patch_open(&f, path, NULL, &d);
	if (err) {
		n_refused++;
		ok(!f && *d.text);
		return;
	}
	n_analysed++;
	ok(patch_make_plan(f, &r, plan_dir, NULL, &d) >= 0);
	free(plan_take(f));
	patch_close(f);
}

static void truncated_files_are_refused_or_analysed(void)
{
	for (long i = 0; i < rounds / 4 + 1; i++) {
		memcpy(bytes, whole, size);
		try_it(i < 64 ? (size_t)i : roll((uint32_t)size));
	}
	ok(n_refused > 0);
}

/* Half of the changes are in the headers at both ends of the file. */
static void changed_files_are_refused_or_analysed(void)
{
	n_analysed = 0;
	for (long i = 0; i < rounds; i++) {
		memcpy(bytes, whole, size);
		for (uint32_t n = 1 + roll(8); n; n--) {
			uint32_t at = roll((uint32_t)size);

			if (roll(4) == 0)
				at = roll(1024);
			else if (roll(4) == 0)
				at = (uint32_t)size - 1 - roll(2048);
			bytes[at] = roll(2) ? (uint8_t)roll(256) : (uint8_t)(roll(2) ? 0xff : 0);
		}
		try_it(size);
	}
	ok(n_analysed > 0);
}

static void read_whole(const char *library)
{
	FILE *f = fopen(library, "re");

	if (!f || fseek(f, 0, SEEK_END) || (size = (size_t)ftell(f)) < 4096)
		abort();
	whole = malloc(size);
	bytes = malloc(size);
	rewind(f);
	if (!whole || !bytes || fread(whole, 1, size, f) != size)
		abort();
	fclose(f);
}

int main(int argc, char **argv)
{
	int fd;

	read_whole(argc > 1 ? argv[1] : "");
	rounds = argc > 2 ? atol(argv[2]) : rounds;
	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : seed;
	fd = mkstemp(path);
	ok(fd >= 0);
	close(fd);
	plan_dir_make();
	run(truncated_files_are_refused_or_analysed);
	run(changed_files_are_refused_or_analysed);
	plan_dir_remove();
	unlink(path);
	free(whole);
	free(bytes);
	return test_status();
}
