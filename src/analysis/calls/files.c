/* SPDX-License-Identifier: MIT */
/* analysis/calls/files.c - finds, maps and checks calls files and plans: see files.h. */
#include "analysis/calls/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/pass.h"
#include "base/io.h"

/* A calls file is sparse and may be long; a plan has its own limit. */
enum { FILES_MAX = 1 << 16 };
#define CALLS_BYTES_MAX                                                                            \
	(ABI_CALLS_THREADS_AT + (uint64_t)ABI_CALLS_THREADS * ABI_CALLS_THREAD_BYTES)

/* ---------------------------------------------------------------- checks */

bool calls_file_check(struct calls_file *f, const void *bytes, size_t size)
{
	const struct abi_calls *head = bytes;
	size_t rest = size > ABI_CALLS_THREADS_AT ? size - ABI_CALLS_THREADS_AT : 0;

	if (size < ABI_CALLS_OBJECTS_AT || head->magic != ABI_CALLS_MAGIC ||
	    head->version != ABI_CALLS_VERSION)
		return false;
	f->head = head;
	f->size = size;
	f->objects = (const void *)((const char *)bytes + ABI_CALLS_OBJECTS_AT);
	f->functions = (const void *)((const char *)bytes + ABI_CALLS_FUNCTIONS_AT);
	f->threads = (const uint8_t *)bytes + ABI_CALLS_THREADS_AT;
	f->n_objects = head->n_objects < ABI_CALLS_OBJECTS ? head->n_objects : ABI_CALLS_OBJECTS;
	if (f->n_objects > (size - ABI_CALLS_OBJECTS_AT) / sizeof *f->objects)
		f->n_objects = (uint32_t)((size - ABI_CALLS_OBJECTS_AT) / sizeof *f->objects);
	f->n_functions =
		head->n_functions < ABI_CALLS_FUNCTIONS ? head->n_functions : ABI_CALLS_FUNCTIONS;
	if (size < ABI_CALLS_FUNCTIONS_AT)
		f->n_functions = 0;
	else if (f->n_functions > (size - ABI_CALLS_FUNCTIONS_AT) / sizeof *f->functions)
		f->n_functions = (uint32_t)((size - ABI_CALLS_FUNCTIONS_AT) / sizeof *f->functions);
	f->n_threads = head->n_threads < ABI_CALLS_THREADS ? head->n_threads : ABI_CALLS_THREADS;
	if (f->n_threads > rest / ABI_CALLS_THREAD_BYTES)
		f->n_threads = (uint32_t)(rest / ABI_CALLS_THREAD_BYTES);
	return true;
}

static bool is_within(uint64_t offset, uint64_t n, uint64_t one, uint64_t size)
{
	return offset <= size && n <= (size - offset) / one;
}

bool plan_file_check(struct plan_file *p, const void *bytes, size_t size)
{
	const struct abi_plan *head = bytes;

	if (size < sizeof *head || head->magic != ABI_PLAN_MAGIC ||
	    head->version != ABI_PLAN_VERSION || head->n_sites > ABI_PLAN_SITES ||
	    head->sites % 8 || !is_within(head->sites, head->n_sites, sizeof *p->sites, size) ||
	    !is_within(head->text, head->text_bytes, 1, size))
		return false;
	p->head = head;
	p->size = size;
	p->n_sites = head->n_sites;
	p->text_bytes = head->text_bytes;
	p->sites = (const void *)((const char *)bytes + head->sites);
	p->text = (const char *)bytes + head->text;
	return true;
}

const char *plan_text(const struct plan_file *p, uint32_t offset)
{
	if (offset >= p->text_bytes || !memchr(p->text + offset, 0, p->text_bytes - offset))
		return "";
	return p->text + offset;
}

/* ---------------------------------------------------------------- reading */

/* The file, mapped; NULL: none.  A private map of a file that is cut later could raise SIGBUS, as
 * with any stream. */
static const void *map_file(int dir, const char *name, uint64_t most, size_t *size)
{
	int fd = io_open_file(dir, name);
	void *bytes = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 && (uint64_t)st.st_size <= most) {
		*size = (size_t)st.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* A copy of the file, as large as a plan may be; NULL: none.  Its texts are used in place, so they
 * must not change after they were checked. */
static const void *copy_file(int dir, const char *name, size_t *size)
{
	int fd = io_open_file(dir, name);
	void *bytes = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size <= ABI_PLAN_MOST_BYTES) {
		*size = (size_t)st.st_size;
		bytes = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	}
	if (bytes != MAP_FAILED && io_read(fd, bytes, *size) != (ssize_t)*size) {
		munmap(bytes, *size);
		bytes = MAP_FAILED;
	}
	close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* How far the program was when this copy was made. */
static uint64_t progress_of(const struct calls_file *f)
{
	uint64_t sum = (uint64_t)f->n_functions + f->n_objects;

	for (uint32_t i = 0; i < f->n_threads; i++) {
		const struct abi_calls_thread *t = calls_file_thread(f, i);

		sum += ((uint64_t)t->sequence << 16) + (t->batches[t->current & 1].word & 0xffff);
	}
	return sum;
}

static void release(struct calls_file *f)
{
	munmap((void *)f->head, f->size);
	free(f->plan_of);
}

/* A copy of the same program's file: the newer one stays. */
static bool replaces(struct calls_files *f, const struct calls_file *one)
{
	for (uint32_t i = 0; i < f->n_files; i++) {
		struct calls_file *old = &f->files[i];

		if (strcmp(old->name, one->name) || old->head->pid != one->head->pid ||
		    old->head->registered_ns != one->head->registered_ns ||
		    strncmp(old->head->program, one->head->program, sizeof one->head->program))
			continue;
		if (progress_of(one) >= progress_of(old)) {
			release(old);
			*old = *one;
		} else {
			munmap((void *)one->head, one->size);
		}
		return true;
	}
	return false;
}

static int add_calls(struct calls_files *f, int dir, const char *name, uint32_t root)
{
	struct calls_file one = { .root = root };
	size_t size;
	const void *bytes = map_file(dir, name, CALLS_BYTES_MAX, &size);

	if (!bytes)
		return 0;
	snprintf(one.name, sizeof one.name, "%s", name);
	if (f->n_files >= FILES_MAX || !calls_file_check(&one, bytes, size)) {
		munmap((void *)bytes, size);
		f->n_refused++;
		return 0;
	}
	if (replaces(f, &one))
		return 0;
	if (pass_grow(&f->files, &f->n_file_rooms, f->n_files, sizeof *f->files)) {
		munmap((void *)bytes, size);
		return -ENOMEM;
	}
	f->files[f->n_files++] = one;
	return 0;
}

static int add_plan(struct calls_files *f, int dir, const char *name, uint32_t root)
{
	struct plan_file one = { .size = 0 };
	size_t size, n = strcspn(name, "-");
	const void *bytes = copy_file(dir, name, &size);

	(void)root;
	if (!bytes)
		return 0;
	if (f->n_plans >= FILES_MAX || n >= sizeof one.build_id ||
	    !plan_file_check(&one, bytes, size) ||
	    pass_grow(&f->plans, &f->n_plan_rooms, f->n_plans, sizeof *f->plans)) {
		munmap((void *)bytes, size);
		f->n_refused++;
		return 0;
	}
	memcpy(one.build_id, name, n);
	one.build_id[n] = 0;
	one.has_generation = name[n];
	f->plans[f->n_plans++] = one;
	return 0;
}

static int read_directory(struct calls_files *f, const char *root, const char *name, uint32_t i,
			  int (*add)(struct calls_files *f, int dir, const char *name, uint32_t i))
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *d;
	int err = 0;

	if (snprintf(path, sizeof path, "%s/.duet/%s", root, name) >= (int)sizeof path)
		return 0;
	d = opendir(path);
	while (d && !err && (entry = readdir(d)))
		if (isalnum((unsigned char)entry->d_name[0]))
			err = add(f, dirfd(d), entry->d_name, i);
	if (d)
		closedir(d);
	return err;
}

int calls_files_add(struct calls_files *f, const char *root)
{
	int err;

	for (uint32_t i = 0; i < f->n_roots; i++)
		if (!strcmp(f->roots[i], root))
			return 0;
	if (pass_grow(&f->roots, &f->n_root_rooms, f->n_roots, sizeof *f->roots))
		return -ENOMEM;
	f->roots[f->n_roots] = strdup(root);
	if (!f->roots[f->n_roots])
		return -ENOMEM;
	err = read_directory(f, root, "calls", f->n_roots, add_calls);
	if (!err)
		err = read_directory(f, root, "plans", f->n_roots, add_plan);
	f->n_roots++;
	return err;
}

/* ---------------------------------------------------------------- plans of objects */

static void hexadecimal(const struct abi_calls_object *o, char text[2 * ABI_BUILD_ID_BYTES + 1])
{
	uint32_t n =
		o->build_id_bytes < ABI_BUILD_ID_BYTES ? o->build_id_bytes : ABI_BUILD_ID_BYTES;

	for (uint32_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", o->build_id[i]);
	text[2 * n] = 0;
}

/* The plan of this build ID with the object's generation; else any with as many sites. */
static uint32_t plan_for(const struct calls_files *f, const struct abi_calls_object *o)
{
	char build_id[2 * ABI_BUILD_ID_BYTES + 1];
	uint32_t best = 0;

	hexadecimal(o, build_id);
	for (uint32_t i = 0; i < f->n_plans; i++) {
		const struct plan_file *p = &f->plans[i];

		if (p->n_sites != o->n_sites || strcmp(p->build_id, build_id))
			continue;
		if (p->head->generation == o->generation)
			return i + 1;
		best = i + 1;
	}
	return best;
}

int calls_files_link(struct calls_files *f)
{
	for (uint32_t i = 0; i < f->n_files; i++) {
		struct calls_file *file = &f->files[i];

		file->plan_of = calloc(file->n_objects + (size_t)1, sizeof *file->plan_of);
		if (!file->plan_of)
			return -ENOMEM;
		for (uint32_t k = 0; k < file->n_objects; k++) {
			file->plan_of[k] = plan_for(f, &file->objects[k]);
			f->n_without_plan += !file->plan_of[k] && file->objects[k].n_sites;
		}
	}
	return 0;
}

const struct abi_plan_site *calls_file_site(const struct calls_files *f,
					    const struct calls_file *file, uint32_t number,
					    const struct plan_file **plan,
					    const struct abi_calls_object **object)
{
	for (uint32_t i = 0; i < file->n_objects; i++) {
		const struct abi_calls_object *o = &file->objects[i];

		if (number < o->first || number - o->first >= o->n_sites)
			continue;
		*object = o;
		if (!file->plan_of[i])
			return NULL;
		*plan = &f->plans[file->plan_of[i] - 1];
		if (number - o->first >= (*plan)->n_sites) /* the calls file has changed since */
			return NULL;
		return &(*plan)->sites[number - o->first];
	}
	*object = NULL;
	return NULL;
}

void calls_files_fini(struct calls_files *f)
{
	for (uint32_t i = 0; i < f->n_files; i++)
		release(&f->files[i]);
	for (uint32_t i = 0; i < f->n_plans; i++)
		munmap((void *)f->plans[i].head, f->plans[i].size);
	for (uint32_t i = 0; i < f->n_roots; i++)
		free(f->roots[i]);
	free(f->files);
	free(f->plans);
	free(f->roots);
	*f = (struct calls_files){ 0 };
}
