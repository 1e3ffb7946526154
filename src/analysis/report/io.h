/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/io.h - reads, writes and syncs by file or process, and requests of block devices.
 *
 * A transfer is a system call that moves bytes through a descriptor, with its entry and its exit
 * and no loss between them. sendfile(), splice() and copy_file_range() are a read and a write.
 * Entries = transfers + failed + open.
 *
 * analysis/names/objects.h maps descriptors to files.
 *
 * A request of a block device is block_rq_issue and the next block_rq_complete of its device,
 * sector and direction; a flush ends with the next one of its device, whatever the sector.
 */
#ifndef ANALYSIS_REPORT_IO_H
#define ANALYSIS_REPORT_IO_H

#include "analysis/names/objects.h"
#include "analysis/devices.h"
#include "analysis/samples.h"

enum io_direction { IO_READ, IO_WRITE, IO_SYNC, IO_DISCARD, IO_DIRECTIONS };

struct io_row {
	uint32_t file;	  /* by file: index in objects.fds.files */
	uint32_t process; /* by process: its leader */
	enum io_direction direction;
	uint64_t bytes, n_errors, n_again; /* EAGAIN does not count as an error */
	struct samples time;
};

struct io_device {
	uint64_t number; /* major << 20 | minor, as in the kernel */
	enum io_direction direction;
	uint64_t bytes, n_errors, n_open; /* open: not seen to complete */
	struct samples time;
};

struct io_depth { /* depth of a device's queue */
	uint64_t number;
	uint32_t now, max;
	int64_t first_ns, since_ns;
	double sum_ns; /* depth times time */
};

struct io {
	struct pass run;
	struct calls calls;
	struct objects objects;
	struct devices machine; /* names of disks */
	struct io_row *rows;	/* most bytes first */
	uint32_t n_rows;
	struct samples sizes[2]; /* sizes of reads, of writes */
	uint64_t bytes[2];
	struct slowest slowest; /* subject: index of slow; detail: bytes */
	struct io_slow {
		uint32_t file, call;
	} * slow;
	uint32_t n_slow;
	struct io_device *devices;
	uint32_t n_devices;
	struct io_depth *depths;
	uint32_t n_depths;
	uint64_t n_transfers, n_open, n_headless_requests;
	bool has_block;
};

int io_init(struct io *io, struct trace *t, const struct pass_range *range, bool by_process,
	    uint32_t n_slowest, struct diag *d);
void io_fini(struct io *io);

#endif
