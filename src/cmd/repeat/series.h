/* SPDX-License-Identifier: MIT */
/*
 * cmd/repeat/series.h - processes that record one after the other, and Ctrl-C between and in them.
 *
 * Signals: Ctrl-C at a terminal reaches all processes, so nothing is passed on; a signal that a process
 * sent to this one alone is.  One series at a time: its state belongs to the process.
 */
#ifndef CMD_REPEAT_SERIES_H
#define CMD_REPEAT_SERIES_H

#include <stdbool.h>
#include <sys/types.h>

/* series_begin - SIGINT, SIGTERM and SIGHUP end the series from now on; series_end - they act as before. */
void series_begin(void);
void series_end(void);

/*
 * series_fork - the process of the next recording.
 *
 * Returns its number; 0 in itself, where signals act as before; -1 with *err = 0 after a signal, or with
 * the number of an error.
 */
pid_t series_fork(int *err);

/* series_wait - for that process.  Returns its exit status as a shell has it. */
int series_wait(pid_t pid);

/* The signal that ends the series, or 0; and whether it came while a recording was made. */
int series_stopped_by(void);
bool series_is_cut(void);

#endif
