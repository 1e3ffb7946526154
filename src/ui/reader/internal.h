/* SPDX-License-Identifier: MIT */
/* ui/reader/internal.h - rows by thread and CPU, shared by the files of this room. */
#ifndef UI_READER_INTERNAL_H
#define UI_READER_INTERNAL_H

#include "ui/reader/reader.h"

struct reader_thread {
	int64_t tid, first_ns;
	uint32_t host, row;
};

/* reader_number_hosts - the same numbers as the index's: sources of one host name are one host.
 * reader_list_rows - what was added since the last time, too.  False: no memory. */
bool reader_number_hosts(struct ui_reader *r);
bool reader_list_rows(struct ui_reader *r);
/* reader_name_threads - tell r->names the threads as they are known at @ns. */
void reader_name_threads(struct ui_reader *r, int64_t ns);

#endif
