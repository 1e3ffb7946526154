/* SPDX-License-Identifier: MIT */
/* unit/ui/cache_test.c - a cached index is the written one, or is refused; damage harms no reader. */
#include "test.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "ui/index/cache.h"

enum { ROWS = 6, ENTRIES = 300, ROUNDS = 4000 };

static char where[] = "/tmp/duet-ui-cache-XXXXXX";
static char *paths[] = { where };
static uint64_t seed = 7;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static struct ui_index *empty_index(void)
{
	struct ui_index *x = calloc(1, sizeof *x);

	pthread_rwlock_init(&x->lock, NULL);
	x->paths = paths;
	x->n_paths = 1;
	x->fingerprint[0] = 17;
	x->fingerprint[1] = 4;
	return x;
}

/* Of an index on a map: the file stays. */
static void forget(struct ui_index *x)
{
	for (uint32_t i = 0; i < x->n_tracks; i++)
		track_fini(&x->tracks[i]);
	for (uint32_t i = 0; !x->map && i < x->n_rows; i++)
		free(x->rows[i].tracks);
	for (uint32_t i = 0; !x->map && i < x->n_names; i++)
		free(x->names[i]);
	free(x->rows);
	free(x->tracks);
	free(x->names);
	free(x->by_name);
	if (!x->map) {
		free(x->gaps);
		free(x->wakes.at);
	}
	pthread_rwlock_destroy(&x->lock);
	free(x);
}

static void fill_track(struct track *t)
{
	int64_t now = 1000;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		int64_t begin = now + (int64_t)(dice(5) ? 0 : dice(100000));

		now = begin + (int64_t)dice(dice(50) ? 5000 : 9000000000);
		is(track_add(t, begin, track_is_points(t) ? begin : now, (uint32_t)dice(7),
			     (int64_t)dice(1000) - 500),
		   0);
	}
	if (!track_is_points(t))
		is(track_begin(t, now, (uint32_t)dice(7)), 0);
}

static struct ui_index *some_index(void)
{
	struct ui_index *x = empty_index();
	char name[32];

	x->status.begin_ns = 1700000000000000000;
	x->status.end_ns = x->known_ns = 9000000000000;
	for (uint32_t i = 0; i < ROWS; i++) {
		const struct ui_row row = { .kind = (uint8_t)(i % 8),
					    .name = name,
					    .parent = i / 2,
					    .pid = i,
					    .tid = i,
					    .cpu = -1 };

		snprintf(name, sizeof name, "row %u", i);
		is(index_add_row(x, &row), i);
		for (uint8_t k = 0; k <= UI_TRACK_COUNTER; k++) {
			int64_t track = index_add_track(x, i, k, 0);

			fill_track(&x->tracks[track]);
		}
	}
	for (uint32_t i = 0; i < 100; i++) {
		const struct ui_wake wake = { i * 10, i * 10 + 5, i % ROWS, (i + 1) % ROWS };
		const struct ui_gap gap = { i * 7, i * 7 + 3, i, -1, 0 };

		is(index_add_wake(x, &wake), 0);
		is(index_add_gap(x, &gap), 0);
	}
	return x;
}

/* Everything that a reader may ask; the sum of it, so that nothing is left out. */
static uint64_t read_all(struct ui_index *x)
{
	static struct ui_wake wakes[256];
	static struct ui_gap gaps[256];
	static struct ui_interval many[ENTRIES + 2];
	uint64_t sum = ui_index_gaps(x, INT64_MIN, INT64_MAX, gaps, 256);
	struct ui_row row;

	for (uint32_t i = 0; ui_index_row(x, i, &row) && i < 1000; i++) {
		sum += strlen(row.name) + row.parent + row.kind +
		       ui_index_wakes(x, i, i & 1, INT64_MIN, INT64_MAX, wakes, 256);
		for (uint32_t k = 0; k < row.n_tracks && k < 100; k++) {
			uint32_t track = ui_row_track(x, i, k);
			uint32_t n = ui_track_read(x, track, 0, many, ENTRIES + 2);
			struct ui_sums sums;

			for (uint32_t m = 0; m < n; m++)
				sum += (uint64_t)many[m].begin_ns + (uint64_t)many[m].end_ns * 3 +
				       strlen(ui_index_name(x, many[m].what)) +
				       (uint64_t)many[m].aux;
			for (int q = 0; q < 4; q++) {
				int64_t from = q * (int64_t)1000000000;

				ui_track_sums(x, track, from, from * 3 + 1000, &sums);
				sum += sums.n + sums.ns[0] + sums.ns[6] +
				       ui_track_find(x, track, from);
			}
		}
	}
	return sum;
}

static char *read_file(size_t *size)
{
	char path[128], *bytes;
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%s/.duet/ui-index", where);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(fd >= 0 && !fstat(fd, &st));
	is(st.st_mode & 0777, 0600);
	bytes = malloc((size_t)st.st_size);
	is(io_read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*size = (size_t)st.st_size;
	return bytes;
}

static char *file;
static size_t file_size;
static uint64_t file_sum;

static void an_index_that_was_written_is_read_again(void)
{
	struct ui_index *x = some_index(), *y = empty_index();

	cache_write(x);
	ok(strstr(x->status.note, "was written"));
	file = read_file(&file_size);
	file_sum = read_all(x);
	ok(cache_read(y));
	is(read_all(y), file_sum);
	is_text(y->rows[3].public.name, "row 3");
	ok(y->status.is_done);
	munmap(y->map, y->map_bytes);
	forget(x);
	forget(y);
}

static void an_index_of_other_files_is_not_used(void)
{
	struct ui_index *x = empty_index();

	x->fingerprint[1]++;
	ok(!cache_read(x));
	ok(strstr(x->status.note, "has changed"));
	is(x->n_rows, 0);
	forget(x);
}

static void a_file_that_others_may_write_is_not_used(void)
{
	struct ui_index *x = empty_index();
	char path[128];

	snprintf(path, sizeof path, "%s/.duet/ui-index", where);
	chmod(path, 0666);
	ok(!cache_read(x));
	ok(strstr(x->status.note, "others may write"));
	chmod(path, 0600);
	forget(x);
}

/* With the right checksum damage reaches the checks behind it. */
static void mend_checksum(char *bytes, size_t size)
{
	struct cache_header h;

	if (size < sizeof h)
		return;
	memcpy(&h, bytes, sizeof h);
	if (h.tables_end > size || h.tables_end < sizeof h)
		return;
	h.checksum = 0;
	h.file_bytes = size;
	memcpy(bytes, &h, sizeof h);
	h.checksum = hash_bytes(bytes, h.tables_end);
	memcpy(bytes, &h, sizeof h);
}

static void damage(char *bytes, size_t size)
{
	static const uint64_t odd[] = { 0, 1, 255, UINT32_MAX, INT64_MAX, UINT64_MAX, 1ull << 63 };
	size_t tables = ((const struct cache_header *)file)->tables_end;

	for (uint64_t n = 1 + dice(4); n--;) {
		size_t limit = dice(3) ? tables : size, at = dice(limit < size ? limit : size);
		size_t width = 1u << dice(4);
		uint64_t value = dice(2) ? odd[dice(7)] : dice(size * 2);

		if (dice(3) == 0)
			bytes[at] ^= (char)(1 << dice(8));
		else if (width <= size - at)
			memcpy(bytes + at, &value, width);
	}
}

static void damage_is_refused_or_harms_no_reader(void)
{
	uint32_t n_used = 0;

	for (int round = 0; round < ROUNDS; round++) {
		size_t size = dice(10) ? file_size : dice(file_size);
		char *bytes = malloc(size + !size); /* its end is guarded by sanitizers */
		struct ui_index *x = empty_index();
		const char *wrong;

		memcpy(bytes, file, size);
		damage(bytes, size);
		if (dice(8))
			mend_checksum(bytes, size);
		wrong = cache_check(x, bytes, size);
		n_used += !wrong;
		if (!wrong)
			(void)read_all(x);
		else
			ok(!x->n_rows && !x->n_tracks && !x->map);
		forget(x);
		free(bytes);
	}
	ok(n_used > ROUNDS / 20);
	ok(n_used < ROUNDS);
	free(file);
}

int main(void)
{
	char sub[64];

	if (!mkdtemp(where))
		return 1;
	snprintf(sub, sizeof sub, "%s/.duet", where);
	mkdir(sub, 0700);
	setenv("XDG_CACHE_HOME", where, 1);
	run(an_index_that_was_written_is_read_again);
	run(an_index_of_other_files_is_not_used);
	run(a_file_that_others_may_write_is_not_used);
	run(damage_is_refused_or_harms_no_reader);
	io_remove_tree(where);
	return test_status();
}
