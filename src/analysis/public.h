/* SPDX-License-Identifier: MIT */
/* analysis/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_PUBLIC_H
#define ANALYSIS_PUBLIC_H

#include "analysis/devices.h"
#include "analysis/event_table.h"
#include "analysis/irq_stack.h"
#include "analysis/pass.h"
#include "analysis/recent.h"
#include "analysis/samples.h"

#endif
