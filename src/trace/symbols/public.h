/* SPDX-License-Identifier: MIT */
/* trace/symbols/public.h - what other rooms may use of this one. */
#ifndef TRACE_SYMBOLS_PUBLIC_H
#define TRACE_SYMBOLS_PUBLIC_H

#include "trace/symbols/kallsyms.h"
#include "trace/symbols/modules.h"

#endif
