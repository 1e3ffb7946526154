/* SPDX-License-Identifier: MIT */
/* collect/public.h - what other rooms may use of this one. */
#ifndef COLLECT_PUBLIC_H
#define COLLECT_PUBLIC_H

#include "collect/counters.h"
#include "collect/recorder.h"
#include "collect/request/stop.h"

#endif
