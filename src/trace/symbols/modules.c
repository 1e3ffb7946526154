/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/modules.c - parses the .duet/maps files and searches them by process, time and
 * address.
 *
 * Images are sorted by process and time, the mappings of an image by address; both are searched by
 * bisection.
 */
#include "trace/symbols/modules.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* duet writes at most 16 MiB into one file; a line may be as long as the file. */
enum { ID_MAX = 64, PARTS_DEEP = 2, FILE_MAX = 64 << 20 };
static const uint32_t MAPPINGS_MAX = 1u << 22;

struct mapping {
	uint64_t begin, end, offset;
	char *text; /* build ID, NUL, path */
	const char *path;
};

struct image { /* the mappings of a process from one time on */
	int64_t pid;
	uint64_t clock;
	uint32_t first, n; /* mappings, by address */
	bool adds;	   /* one mapping that is added to those before */
};

struct modules {
	struct image *images; /* by pid, then time */
	struct mapping *mappings;
	uint32_t n_images, n_image_rooms, n_mappings, n_mapping_rooms;
};

static bool make_room(void *array, uint32_t *n_rooms, uint32_t n, size_t size)
{
	void **at = array, *bigger;
	uint32_t rooms = *n_rooms ? *n_rooms * 2 : 64;

	if (n < *n_rooms)
		return true;
	bigger = n < MAPPINGS_MAX ? realloc(*at, rooms * size) : NULL;
	if (!bigger)
		return false;
	*at = bigger;
	*n_rooms = rooms;
	return true;
}

static bool add_image(struct modules *m, const char *line)
{
	struct image image = { .first = m->n_mappings };

	if (sscanf(line, "process %" SCNd64 " %" SCNu64, &image.pid, &image.clock) != 2)
		return true;
	if (!make_room(&m->images, &m->n_image_rooms, m->n_images, sizeof *m->images))
		return false;
	m->images[m->n_images++] = image;
	return true;
}

/* "begin-end offset build-id path"; "-" stands for no build ID. */
static bool add_mapping(struct modules *m, char *line)
{
	struct mapping mapping = { 0 };
	char id[ID_MAX + 1];
	struct image *image = m->n_images ? &m->images[m->n_images - 1] : NULL;
	int path = 0;

	if (!image ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %" SCNx64 " %64s %n", &mapping.begin,
		   &mapping.end, &mapping.offset, id, &path) != 4 ||
	    !path || !line[path] || mapping.begin >= mapping.end ||
	    (image->n && m->mappings[m->n_mappings - 1].end > mapping.begin))
		return true;
	if (!strcmp(id, "-"))
		*id = 0;
	if (!make_room(&m->mappings, &m->n_mapping_rooms, m->n_mappings, sizeof *m->mappings) ||
	    asprintf(&mapping.text, "%s%c%s", id, 0, line + path) < 0)
		return false;
	mapping.path = mapping.text + strlen(mapping.text) + 1;
	m->mappings[m->n_mappings++] = mapping;
	image->n++;
	return true;
}

/* "mapped pid clock" and one mapping. */
static bool add_one(struct modules *m, char *line)
{
	struct image image = { .first = m->n_mappings, .adds = true };
	int at = 0;

	if (sscanf(line, "mapped %" SCNd64 " %" SCNu64 " %n", &image.pid, &image.clock, &at) != 2 ||
	    !at)
		return true;
	if (!make_room(&m->images, &m->n_image_rooms, m->n_images, sizeof *m->images))
		return false;
	m->images[m->n_images++] = image;
	return add_mapping(m, line + at);
}

static int read_file(struct modules *m, int dir, const char *name)
{
	FILE *f;
	int fd = io_open_file(dir, name);
	size_t capacity = 0;
	char *line = NULL;
	bool is_ok = true;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return 0;
	f = fstat(fd, &st) || st.st_size > FILE_MAX ? NULL : fdopen(fd, "r");
	if (!f) {
		close(fd);
		return st.st_size > FILE_MAX ? 0 : -ENOMEM;
	}
	while (is_ok && (n = getline(&line, &capacity, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		is_ok = *line == 'p'   ? add_image(m, line)
			: *line == 'm' ? add_one(m, line)
				       : add_mapping(m, line);
	}
	free(line);
	fclose(f);
	return is_ok ? 0 : -ENOMEM;
}

/* For each file of maps.  Returns 0 or -ENOMEM. */
typedef int on_maps(void *context, int dir, const char *name);

static int take_maps(void *context, int dir, const char *name)
{
	return read_file(context, dir, name);
}

static int add_size(void *context, int dir, const char *name)
{
	uint64_t *size_bytes = context;
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		*size_bytes += (uint64_t)st.st_size;
	return 0;
}

/* Finds "maps", and "maps-LABEL" of each tenant. */
static int read_maps(on_maps *each, void *context, const char *path)
{
	char file[PATH_MAX];
	struct dirent *e;
	int err = 0;
	DIR *dir;

	if (snprintf(file, sizeof file, "%s/.duet", path) >= (int)sizeof file)
		return 0;
	dir = opendir(file);
	while (dir && !err && (e = readdir(dir)))
		if (!strncmp(e->d_name, "maps", 4))
			err = each(context, dirfd(dir), e->d_name);
	if (dir)
		closedir(dir);
	return err;
}

/* Reads the parts that are recordings themselves, too: tenants, and the trace chunks of each. */
static int read_files(on_maps *each, void *context, const char *path, int deep)
{
	int err = read_maps(each, context, path);
	DIR *dir = deep ? opendir(path) : NULL;
	char part[PATH_MAX];
	struct dirent *e;

	while (dir && !err && (e = readdir(dir)))
		if ((!strncmp(e->d_name, "tenant-", 7) || !strncmp(e->d_name, "piece-", 6)) &&
		    snprintf(part, sizeof part, "%s/%s", path, e->d_name) < (int)sizeof part)
			err = read_files(each, context, part, deep - 1);
	if (dir)
		closedir(dir);
	return err;
}

static int by_pid(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->clock < y->clock ? -1 : x->clock > y->clock;
}

int modules_open(struct modules **result, const char *const *paths, int n, struct diag *d)
{
	struct modules *m = calloc(1, sizeof *m);
	int err = m ? 0 : -ENOMEM;

	*result = NULL;
	for (int i = 0; i < n && !err; i++)
		err = read_files(take_maps, m, paths[i], PARTS_DEEP);
	if (err) {
		modules_close(m);
		return diag_fail(d, err, "no memory for maps of processes");
	}
	if (m->n_images)
		qsort(m->images, m->n_images, sizeof *m->images, by_pid);
	*result = m;
	return 0;
}

uint64_t modules_size(const char *const *paths, int n)
{
	uint64_t size_bytes = 0;

	for (int i = 0; i < n; i++)
		read_files(add_size, &size_bytes, paths[i], PARTS_DEEP);
	return size_bytes;
}

void modules_close(struct modules *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_mappings; i++)
		free(m->mappings[i].text);
	free(m->mappings);
	free(m->images);
	free(m);
}

static const struct mapping *find_mapping(const struct modules *m, const struct image *image,
					  uint64_t address)
{
	uint32_t low = 0, high = image->n;

	assert(image->first + image->n <= m->n_mappings);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->mappings[image->first + middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->n && m->mappings[image->first + low].begin <= address
		       ? &m->mappings[image->first + low]
		       : NULL;
}

/* Returns the last image of @pid not later than @clock; else its first. */
static const struct image *find_image(const struct modules *m, int64_t pid, uint64_t clock)
{
	uint32_t low = 0, high = m->n_images;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct image *i = &m->images[middle];

		if (i->pid < pid || (i->pid == pid && i->clock <= clock))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && m->images[low - 1].pid == pid)
		return &m->images[low - 1];
	return low < m->n_images && m->images[low].pid == pid ? &m->images[low] : NULL;
}

/*
 * The full image before that which holds at @image, or NULL.  An image is read a little after its
 * clock, on a busy machine some milliseconds: a mapping that was removed in between is in the one
 * before, and events of that time need it.
 */
static const struct image *image_before(const struct modules *m, const struct image *image)
{
	const struct image *i = image;

	while (i > m->images && i[-1].pid == image->pid && i->adds)
		i--;
	for (; i > m->images && i[-1].pid == image->pid; i--)
		if (!i[-1].adds)
			return i - 1;
	return NULL;
}

/* Mappings added since the last full image may replace some of that image: they are searched first,
 * newest first.  An address that is not found there is searched in later images, which list
 * libraries that were opened while the program ran. */
_Bool modules_find(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		   struct module_location *place)
{
	const struct image *image = find_image(m, pid, clock), *at = image, *before;
	const struct mapping *mapping = NULL;

	for (const struct image *i = image; i && i->pid == pid && i->clock <= clock && !mapping;
	     i--) {
		mapping = find_mapping(m, i, address);
		if (!i->adds || i == m->images)
			break;
	}
	for (; image && image < m->images + m->n_images && image->pid == pid && !mapping; image++)
		mapping = find_mapping(m, image, address);
	if (!mapping && at && (before = image_before(m, at)))
		mapping = find_mapping(m, before, address);
	if (!mapping)
		return false;
	*place = (struct module_location){ .path = mapping->path,
					   .build_id = mapping->text,
					   .offset = mapping->offset + (address - mapping->begin),
					   .number = (uint32_t)(mapping - m->mappings) };
	return true;
}

/* ---------------------------------------------------------------- data */

/* The last mapping of the image that begins at or below @address. */
static const struct mapping *last_below(const struct modules *m, const struct image *image,
					uint64_t address)
{
	uint32_t low = 0, high = image->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->mappings[image->first + middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &m->mappings[image->first + low - 1] : NULL;
}

struct below {
	const struct modules *m;
	uint64_t address;
	_Bool (*accepts)(void *context, const struct module_location *location, uint64_t begin);
	void *context;
};

static bool try_image(const struct below *b, const struct image *image)
{
	const struct mapping *mapping = last_below(b->m, image, b->address);
	struct module_location location;

	if (!mapping)
		return false;
	location = (struct module_location){ .path = mapping->path,
					     .build_id = mapping->text,
					     .offset = mapping->offset,
					     .number = (uint32_t)(mapping - b->m->mappings) };
	return b->accepts(b->context, &location, mapping->begin);
}

_Bool modules_below(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		    _Bool (*accepts)(void *context, const struct module_location *location,
				     uint64_t begin),
		    void *context)
{
	const struct below b = { m, address, accepts, context };
	const struct image *image = find_image(m, pid, clock), *at = image, *before;

	for (const struct image *i = image; i && i->pid == pid && i->clock <= clock; i--) {
		if (try_image(&b, i))
			return true;
		if (!i->adds || i == m->images)
			break;
	}
	for (; image && image < m->images + m->n_images && image->pid == pid; image++)
		if (try_image(&b, image))
			return true;
	before = at ? image_before(m, at) : NULL;
	return before && try_image(&b, before);
}

_Bool modules_has(const struct modules *m, int64_t pid)
{
	return find_image(m, pid, 0);
}
