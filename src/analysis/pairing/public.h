/* SPDX-License-Identifier: MIT */
/* analysis/pairing/public.h - what other rooms may use of this one. */
#ifndef ANALYSIS_PAIRING_PUBLIC_H
#define ANALYSIS_PAIRING_PUBLIC_H

#include "analysis/pairing/pairing.h"

#endif
