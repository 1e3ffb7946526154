/* SPDX-License-Identifier: MIT */
/* trace/public.h - what other rooms may use of this one. */
#ifndef TRACE_PUBLIC_H
#define TRACE_PUBLIC_H

#include "trace/names.h"
#include "trace/shown.h"
#include "trace/summary.h"
#include "trace/trace.h"

#endif
