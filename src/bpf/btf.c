/* SPDX-License-Identifier: MIT */
/* bpf/btf.c - finds types in the BTF of the running kernel.
 *
 * The list of types is scanned from its start for each query. Programs ask a few times when they
 * are loaded, so an index is not worth its memory. Every length is checked against the bytes that
 * remain; the scan ends at the first type that does not fit. */
#include "bpf/btf.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static const char path[] = "/sys/kernel/btf/vmlinux";

static int take(struct btf *b, const uint8_t *bytes, size_t size, struct diag *d)
{
	struct btf_header h;

	b->size = size;
	if (size >= sizeof h)
		memcpy(&h, bytes, sizeof h);
	if (size < sizeof h || h.magic != BTF_MAGIC || h.hdr_len < sizeof h || h.hdr_len > size ||
	    h.type_off > size - h.hdr_len || h.type_len > size - h.hdr_len - h.type_off ||
	    h.str_off > size - h.hdr_len || h.str_len > size - h.hdr_len - h.str_off ||
	    !h.str_len || bytes[h.hdr_len + h.str_off + h.str_len - 1]) {
		btf_close(b);
		return diag_fail(d, -EINVAL, "%s has an unknown format", path);
	}
	b->types = bytes + h.hdr_len + h.type_off;
	b->types_end = b->types + h.type_len;
	b->strings = (const char *)bytes + h.hdr_len + h.str_off;
	b->strings_size = h.str_len;
	return 0;
}

int btf_take(struct btf *b, uint8_t *bytes, size_t size, struct diag *d)
{
	*b = (struct btf){ .bytes = bytes };
	return take(b, bytes, size, d);
}

/* Since Linux 6.16 the file can be mapped, which saves the time to copy it. */
static void *map(int fd, size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

int btf_open(struct btf *b, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = NULL;
	ssize_t n = -1;
	struct stat s;

	*b = (struct btf){ NULL };
	s.st_size = 0;
	if (fd < 0)
		return diag_errno(d, "cannot open %s", path);
	if (!fstat(fd, &s) && s.st_size > 0 && (b->mapped = map(fd, (size_t)s.st_size))) {
		close(fd);
		return take(b, b->mapped, (size_t)s.st_size, d);
	}
	if (s.st_size > 0 && (bytes = malloc((size_t)s.st_size)))
		n = io_read(fd, bytes, (size_t)s.st_size);
	close(fd);
	if (n < 0) {
		free(bytes);
		return diag_fail(d, -EIO, "cannot read %s", path);
	}
	return btf_take(b, bytes, (size_t)n, d);
}

void btf_close(struct btf *b)
{
	if (b->mapped)
		munmap(b->mapped, b->size);
	free(b->bytes);
	*b = (struct btf){ NULL };
}

size_t btf_tail_size(uint32_t info)
{
	static const struct {
		uint8_t fixed, each;
	} tails[] = {
		[BTF_KIND_INT] = { 4, 0 },	  [BTF_KIND_PTR] = { 0, 0 },
		[BTF_KIND_ARRAY] = { 12, 0 },	  [BTF_KIND_STRUCT] = { 0, 12 },
		[BTF_KIND_UNION] = { 0, 12 },	  [BTF_KIND_ENUM] = { 0, 8 },
		[BTF_KIND_FWD] = { 0, 0 },	  [BTF_KIND_TYPEDEF] = { 0, 0 },
		[BTF_KIND_VOLATILE] = { 0, 0 },	  [BTF_KIND_CONST] = { 0, 0 },
		[BTF_KIND_RESTRICT] = { 0, 0 },	  [BTF_KIND_FUNC] = { 0, 0 },
		[BTF_KIND_FUNC_PROTO] = { 0, 8 }, [BTF_KIND_VAR] = { 4, 0 },
		[BTF_KIND_DATASEC] = { 0, 12 },	  [BTF_KIND_FLOAT] = { 0, 0 },
		[BTF_KIND_DECL_TAG] = { 4, 0 },	  [BTF_KIND_TYPE_TAG] = { 0, 0 },
		[BTF_KIND_ENUM64] = { 0, 12 },
	};
	uint32_t kind = BTF_INFO_KIND(info);

	if (!kind || kind >= sizeof tails / sizeof *tails)
		return SIZE_MAX;
	return tails[kind].fixed + (size_t)tails[kind].each * BTF_INFO_VLEN(info);
}

static bool is_named(const struct btf *b, uint32_t offset, const char *name)
{
	return offset < b->strings_size && !strcmp(b->strings + offset, name);
}

/* Sets @at to the type of @kind with @name and returns its number, or -ENOENT. */
static int find(const struct btf *b, uint32_t kind, const char *name, const uint8_t **at)
{
	struct btf_type t;
	int id = 1;

	assert(b->types); /* open */
	for (const uint8_t *p = b->types; (size_t)(b->types_end - p) >= sizeof t; id++) {
		size_t tail;

		memcpy(&t, p, sizeof t);
		tail = btf_tail_size(t.info);
		if (tail > (size_t)(b->types_end - p) - sizeof t)
			break;
		if (BTF_INFO_KIND(t.info) == kind && is_named(b, t.name_off, name)) {
			*at = p;
			return id;
		}
		p += sizeof t + tail;
	}
	return -ENOENT;
}

int btf_tracepoint(const struct btf *b, const char *name)
{
	char type[96];
	const uint8_t *at;

	snprintf(type, sizeof type, "btf_trace_%s", name);
	return find(b, BTF_KIND_TYPEDEF, type, &at);
}

int btf_member(const struct btf *b, const char *structure, const char *member)
{
	struct btf_type t;
	struct btf_member m;
	const uint8_t *at;

	if (find(b, BTF_KIND_STRUCT, structure, &at) < 0)
		return -ENOENT;
	memcpy(&t, at, sizeof t);
	for (uint32_t i = 0; i < BTF_INFO_VLEN(t.info); i++) {
		memcpy(&m, at + sizeof t + i * sizeof m, sizeof m);
		if (is_named(b, m.name_off, member))
			return BTF_INFO_KFLAG(t.info) && BTF_MEMBER_BITFIELD_SIZE(m.offset)
				       ? -ENOENT
				       : (int)(BTF_MEMBER_BIT_OFFSET(m.offset) / 8);
	}
	return -ENOENT;
}
