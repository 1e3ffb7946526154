/* SPDX-License-Identifier: MIT */
/* collect/trigger/public.h - what other rooms may use of this one. */
#ifndef COLLECT_TRIGGER_PUBLIC_H
#define COLLECT_TRIGGER_PUBLIC_H

#include "collect/trigger/engine.h"
#include "collect/trigger/trigger.h"

#endif
