/* SPDX-License-Identifier: MIT */
/* cmd/report/futex.h - the operation of a futex call as text: "WAIT_BITSET private". */
#ifndef CMD_REPORT_FUTEX_H
#define CMD_REPORT_FUTEX_H

#include <stdint.h>

const char *futex_op_text(int64_t op, char buffer[32]);

#endif
