/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/io.c - `duet report io`: tables of files or processes, devices, queues, and the
 * slowest transfers.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

static const char *const directions[] = { "read", "write", "sync", "discard" };

/* The name of a file if it is known; else "fd 3 (openat)". */
static const char *file_text(const struct io *io, uint32_t i, char buffer[128])
{
	struct text t = text_fixed(buffer, 128);

	if (io->objects.fds.files[i].name)
		return io->objects.fds.files[i].name;
	fds_words(&io->objects.fds, i, &t);
	return buffer;
}

/* Whether a name is missing that the bpf backend would have recorded. */
static bool lacks_names(const struct io *io)
{
	for (uint32_t i = 0; i < io->n_rows; i++) {
		const struct fd_file *f = &io->objects.fds.files[io->rows[i].file];

		if (!f->name && f->call && !strncmp(f->call, "open", 4))
			return true;
	}
	return false;
}

static double per_second(uint64_t bytes, const struct pass *r)
{
	int64_t ns = r->last_ns - r->first_ns;

	return ns > 0 ? (double)bytes * 1e9 / (double)ns : 0;
}

static void print_rows(struct page *p, const struct io *io, const struct report *r)
{
	bool by_process = report_is_by(r, "process");
	const struct column columns[] = {
		{ "file", by_process ? NULL : "file", CELL_TEXT },
		{ "process", "process", CELL_TEXT },
		{ "pid", NULL, CELL_COUNT },
		{ "direction", "does", CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		{ "bytes", "bytes", CELL_BYTES },
		{ "bytes_per_second", "per second", CELL_BYTES },
		TABLE_SAMPLES,
		{ "n_errors", "errors", CELL_COUNT },
		{ "n_again", "not ready", CELL_COUNT },
	};
	char name[48], file[128];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < io->n_rows; i++) {
		struct io_row *row = &io->rows[i];
		bool is_shared = !by_process && io->objects.fds.files[row->file].name;

		if (by_process)
			table_nothing(&t);
		else
			table_text(&t, file_text(io, row->file, file));
		if (is_shared)
			table_nothing(&t);
		else
			table_text(&t, process_text(io->run.threads, row->process, name));
		table_number_or_nothing(&t, !is_shared,
					threads_at(io->run.threads, row->process)->tid);
		table_text(&t, directions[row->direction]);
		table_number(&t, (int64_t)row->time.n);
		table_number(&t, (int64_t)row->bytes);
		table_number(&t, (int64_t)per_second(row->bytes, &io->run));
		table_samples(&t, &row->time);
		table_number(&t, (int64_t)row->n_errors);
		table_number(&t, (int64_t)row->n_again);
	}
	page_table(p, by_process ? "processes" : "files", by_process ? "By process" : "By file", &t,
		   r->limit);
}

static const char *device_text(uint64_t number, char buffer[48])
{
	snprintf(buffer, 48, "%u:%u", (unsigned)(number >> 20), (unsigned)(number & 0xfffff));
	return buffer;
}

/* "" if the recording has no state dump. */
static const char *disk_name(const struct io *io, uint64_t number)
{
	const char *name = devices_disk(&io->machine, number);

	return name ? name : "";
}

static void print_devices(struct page *p, const struct io *io, const struct report *r)
{
	const struct column columns[] = {
		{ "device", "device", CELL_TEXT },
		{ "name", io->machine.n_disks ? "name" : NULL, CELL_TEXT },
		{ "direction", "does", CELL_TEXT },
		{ "n", "requests", CELL_COUNT },
		{ "bytes", "bytes", CELL_BYTES },
		{ "bytes_per_second", "per second", CELL_BYTES },
		TABLE_SAMPLES,
		{ "n_errors", "errors", CELL_COUNT },
		{ "n_open", "open", CELL_COUNT },
	};
	const struct column depth_columns[] = {
		{ "device", "device", CELL_TEXT },
		{ "name", io->machine.n_disks ? "name" : NULL, CELL_TEXT },
		{ "depth_mean", "requests in flight, mean", CELL_REAL },
		{ "depth_max", "most", CELL_COUNT },
	};
	char name[48];
	struct table t = TABLE(columns), depths = TABLE(depth_columns);

	for (uint32_t i = 0; i < io->n_devices; i++) {
		struct io_device *d = &io->devices[i];

		table_text(&t, device_text(d->number, name));
		table_text(&t, disk_name(io, d->number));
		table_text(&t, directions[d->direction]);
		table_number(&t, (int64_t)d->time.n);
		table_number(&t, (int64_t)d->bytes);
		table_number(&t, (int64_t)per_second(d->bytes, &io->run));
		table_samples(&t, &d->time);
		table_number(&t, (int64_t)d->n_errors);
		table_number(&t, (int64_t)d->n_open);
	}
	page_table(p, "devices", "By device, from issue to completion", &t, r->limit);
	for (uint32_t i = 0; i < io->n_depths; i++) {
		const struct io_depth *d = &io->depths[i];
		int64_t ns = d->since_ns - d->first_ns;

		table_text(&depths, device_text(d->number, name));
		table_text(&depths, disk_name(io, d->number));
		table_real(&depths, ns > 0 ? d->sum_ns / (double)ns : 0);
		table_number(&depths, d->max);
	}
	page_table(p, "queues", NULL, &depths, r->limit);
}

static void print_slowest(struct page *p, const struct io *io)
{
	static const struct column columns[] = {
		TABLE_SLOW("duration", "began"),
		{ "call", "call", CELL_TEXT },
		{ "file", "file", CELL_TEXT },
		{ "bytes", "bytes", CELL_BYTES },
	};
	char file[128];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < io->slowest.n; i++) {
		const struct slow *s = &io->slowest.at[i];

		report_slow(&t, &io->run, s);
		table_text(&t, io->calls.names[io->slow[s->subject].call]);
		table_text(&t, file_text(io, io->slow[s->subject].file, file));
		table_number(&t, s->detail);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
}

static void print_summary(struct page *p, const struct io *io)
{
	uint64_t n_open = 0;
	char read[32], written[32], count[64];

	for (uint32_t i = 0; i < io->n_devices; i++)
		n_open += io->devices[i].n_open;
	page_number(p, "n_transfers", (int64_t)io->n_transfers);
	page_number(p, "n_open", (int64_t)io->n_open);
	page_number(p, "n_headless_requests", (int64_t)io->n_headless_requests);
	page_number(p, "bytes_read", (int64_t)io->bytes[IO_READ]);
	page_number(p, "bytes_written", (int64_t)io->bytes[IO_WRITE]);
	page_line(p, "%s read, %s written by system calls", cmd_size_text(io->bytes[IO_READ], read),
		  cmd_size_text(io->bytes[IO_WRITE], written));
	if (!io->has_block)
		page_line(p, "no requests of devices were recorded: -k block records them");
	else if (n_open || io->n_headless_requests)
		page_line(p,
			  "%s without a completion, %" PRIu64
			  " without an issue: record with --all-kernel to see both",
			  cmd_count_text(n_open, "request", count), io->n_headless_requests);
	if (!io->calls.has_entries)
		page_line(p, "no system calls were recorded: -k syscalls records them");
	if (lacks_names(io))
		page_line(p, "some files are shown as numbers: `duet record --kernel-backend bpf` "
			     "records their names");
	if (io->n_open)
		page_line(p, "without an exit: %s", cmd_count_text(io->n_open, "transfer", count));
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return io_init(analysis, r->trace, &r->range, report_is_by(r, "process"), r->n_slowest, d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct io *io = analysis;

	(void)r;
	if (!io->calls.has_entries && !io->has_block)
		return report_lacks(&io->run, "system calls or requests of block devices",
				    "-k syscalls -k block");
	return 0;
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct io *io = analysis;

	print_summary(p, io);
	print_rows(p, io, r);
	page_histogram(p, "read_sizes", "Sizes of reads", &io->sizes[IO_READ], CELL_BYTES);
	page_histogram(p, "write_sizes", "Sizes of writes", &io->sizes[IO_WRITE], CELL_BYTES);
	print_devices(p, io, r);
	print_slowest(p, io);
}

static void fini(void *analysis)
{
	io_fini(analysis);
}

int report_io(const struct report *r)
{
	static const struct report_kind kind = {
		sizeof(struct io), offsetof(struct io, run), read_recording, check, print, fini
	};

	return report_run(r, &kind);
}
