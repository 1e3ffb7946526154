/* SPDX-License-Identifier: MIT */
/* cmd/doctor/unseen.h - programs of which a recording gets no application events: one line each. */
#ifndef CMD_DOCTOR_UNSEEN_H
#define CMD_DOCTOR_UNSEEN_H

struct recording;
struct recorder_result;

/*
 * unseen_report - before recording: print why programs that are meant, and run, will not be recorded.
 *
 * If root names processes of other users or in containers, @a becomes a recording of these too.  Call
 * it after recording_resolve.  Returns 0; CMD_FAILED if the recording would hold nothing that
 * the options ask for.
 */
int unseen_report(struct recording *a);

/* unseen_report_command - after recording: the same for a command of which no program joined. */
void unseen_report_command(const struct recording *a, const struct recorder_result *result);

#endif
