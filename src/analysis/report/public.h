/* SPDX-License-Identifier: MIT */
/* analysis/report/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_REPORT_PUBLIC_H
#define ANALYSIS_REPORT_PUBLIC_H

#include "analysis/report/count.h"
#include "analysis/report/cpu.h"
#include "analysis/report/heap.h"
#include "analysis/report/io.h"
#include "analysis/report/irq.h"
#include "analysis/report/latency.h"
#include "analysis/report/locks.h"
#include "analysis/report/sched.h"
#include "analysis/report/syscalls.h"

#endif
