/* SPDX-License-Identifier: MIT */
/* collect/chunks/public.h - what other rooms may use of this one. */
#ifndef COLLECT_CHUNKS_PUBLIC_H
#define COLLECT_CHUNKS_PUBLIC_H

#include "collect/chunks/chunks.h"
#include "collect/chunks/retention.h"

#endif
