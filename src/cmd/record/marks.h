/* SPDX-License-Identifier: MIT */
/* cmd/record/marks.h - which markers of --usdt are recorded from inside the programs. */
#ifndef CMD_RECORD_MARKS_H
#define CMD_RECORD_MARKS_H

#include "cmd/record/recording.h"

/*
 * recording_choose_marks - give the markers of --usdt that can be patched to the programs that duet
 * starts or attaches to; the others stay probes of the kernel.
 *
 * Call it when the command and the pids are known, before recording_resolve.  Returns 0, or
 * CMD_FAILED after it printed why not.
 */
int recording_choose_marks(struct recording *a);

#endif
