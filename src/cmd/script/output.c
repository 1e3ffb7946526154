/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/output.c - the script's output: buffered, into one file, into files of a size (-S), or
 * into a ring in memory (-F).
 *
 * The files of -S are FILE.0, FILE.1, ...; with a number of files the oldest is removed.  A line is
 * not divided between files unless it alone is larger than one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/script/internal.h"

enum { BUFFER = 1 << 16, RING = 1 << 20 };

static void file_name(const struct script_output *out, uint64_t number, char name[4096])
{
	snprintf(name, 4096, "%s.%llu", out->path, (unsigned long long)number);
}

static int open_file(struct script_output *out)
{
	char name[4096];

	if (out->file_bytes && !out->is_ring)
		file_name(out, out->file, name);
	else
		snprintf(name, sizeof name, "%s", out->path);
	out->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	out->written = 0;
	return out->fd < 0 ? -errno : 0;
}

/* Its descriptor belongs to the output from here on. */
static int take_file(struct script_output *out, struct output_file *file)
{
	struct diag d = { "" };

	if (output_file_begin(file, &d))
		return cmd_error("script", "-o: %s", d.text);
	out->fd = file->fd;
	file->path = NULL;
	return 0;
}

int script_output_open(struct script_output *out, const struct script_options *o,
		       struct output_file *file)
{
	*out = (struct script_output){ .path = o->output,
				       .fd = STDOUT_FILENO,
				       .room = BUFFER,
				       .file_bytes = o->file_bytes,
				       .n_files = o->n_files,
				       .is_ring = o->is_flight_recorder };
	if (out->is_ring)
		out->room = out->file_bytes ? out->file_bytes : RING;
	out->bytes = malloc(out->room);
	if (!out->bytes)
		return cmd_error("script", "no memory for %zu bytes of output", out->room);
	if (file->path)
		return take_file(out, file);
	if (!out->path || !open_file(out))
		return 0;
	free(out->bytes);
	return cmd_error("script", "-o %s: %s", out->path, strerror(errno));
}

static void fail(struct script_output *out, int err)
{
	if (!out->err)
		out->err = err;
}

/* Ends this file and begins the next one. */
static void turn_page(struct script_output *out)
{
	char name[4096];

	close(out->fd);
	out->file++;
	if (out->n_files && out->file >= out->n_files) {
		file_name(out, out->file - out->n_files, name);
		unlink(name);
	}
	if (open_file(out))
		fail(out, -errno);
}

static void put(struct script_output *out, const char *bytes, size_t size)
{
	int err = size && !out->err ? io_write(out->fd, bytes, size) : 0;

	out->written += size;
	if (err)
		fail(out, err);
}

/* As many whole lines as this file has room for. */
static size_t part_for_file(const struct script_output *out, const char *bytes, size_t size)
{
	uint64_t room = out->file_bytes > out->written ? out->file_bytes - out->written : 0;
	const char *end;

	if (size <= room)
		return size;
	end = memrchr(bytes, '\n', room);
	if (end)
		return (size_t)(end - bytes) + 1;
	if (out->written)
		return 0;
	end = memchr(bytes, '\n', size);
	return end ? (size_t)(end - bytes) + 1 : size;
}

void script_output_flush(struct script_output *out)
{
	const char *bytes = out->bytes;
	size_t left = out->is_ring ? 0 : out->size;

	while (left && out->file_bytes) {
		size_t n = part_for_file(out, bytes, left);

		put(out, bytes, n);
		bytes += n;
		left -= n;
		if (left)
			turn_page(out);
	}
	put(out, bytes, left);
	if (!out->is_ring)
		out->size = 0;
}

static void put_in_ring(struct script_output *out, const char *bytes, size_t size)
{
	if (size > out->room) {
		bytes += size - out->room;
		size = out->room;
	}
	while (size) {
		size_t n = out->room - out->at < size ? out->room - out->at : size;

		memcpy(out->bytes + out->at, bytes, n);
		out->at = (out->at + n) % out->room;
		out->size = out->size + n < out->room ? out->size + n : out->room;
		bytes += n;
		size -= n;
	}
}

void script_output_write(struct script_output *out, const char *bytes, size_t size)
{
	if (out->is_ring) {
		put_in_ring(out, bytes, size);
		return;
	}
	while (size) {
		size_t n = out->room - out->size < size ? out->room - out->size : size;

		memcpy(out->bytes + out->size, bytes, n);
		out->size += n;
		bytes += n;
		size -= n;
		if (out->size == out->room)
			script_output_flush(out);
	}
}

/* From the first whole line on, if the beginning was overwritten. */
void script_output_dump(struct script_output *out)
{
	bool is_full = out->size == out->room;
	size_t begin = is_full ? out->at : 0, first = is_full ? out->room - begin : out->size;
	const char *end = is_full ? memchr(out->bytes + begin, '\n', first) : NULL;
	size_t skip = end ? (size_t)(end - (out->bytes + begin)) + 1 : 0;

	put(out, out->bytes + begin + skip, first - skip);
	if (is_full)
		put(out, out->bytes, begin);
	out->size = out->at = 0;
}

int script_output_close(struct script_output *out)
{
	if (out->is_ring)
		script_output_dump(out);
	script_output_flush(out);
	free(out->bytes);
	if (out->path && close(out->fd))
		fail(out, -errno);
	if (!out->err || (out->err == -EPIPE && !out->path))
		return 0;
	return cmd_error("script", "cannot write %s: %s", out->path ? out->path : "the output",
			 strerror(-out->err));
}
