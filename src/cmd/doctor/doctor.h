/* SPDX-License-Identifier: MIT */
/* cmd/doctor/doctor.h - one answer of duet doctor: collected while the checks run, then printed. */
#ifndef CMD_DOCTOR_DOCTOR_H
#define CMD_DOCTOR_DOCTOR_H

#include "find/system/system.h"

struct doctor {
	const struct find_by *by;
	bool is_json;
	int n_findings;
	const char *group; /* the one printed last; NULL: none */
	struct text json;  /* the answer so far */
	bool has_checks;   /* in the array that is open */
};

/* doctor_check - print a check, or add it to the answer; a find_report. */
void doctor_check(void *doctor, const struct find_check *c);
/* doctor_process - print one running program briefly. */
void doctor_process(struct doctor *d, const struct find_process *p);
/* doctor_begin_program - the heading of what follows about a process or a file; doctor_end_program. */
void doctor_begin_process(struct doctor *d, const struct find_process *p);
void doctor_begin_file(struct doctor *d, const struct find_file *f);
void doctor_end_program(struct doctor *d);
/* doctor_array - begin array @name of the answer in JSON; doctor_end_array. */
void doctor_array(struct doctor *d, const char *name);
void doctor_end_array(struct doctor *d);

#endif
