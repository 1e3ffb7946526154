/* SPDX-License-Identifier: MIT */
/* trace/text/public.h - what other rooms may use of this one. */
#ifndef TRACE_TEXT_PUBLIC_H
#define TRACE_TEXT_PUBLIC_H

#include "trace/text/addresses.h"
#include "trace/text/fields.h"
#include "trace/text/output.h"
#include "trace/text/places.h"

#endif
