/* SPDX-License-Identifier: MIT */
/* collect/session/public.h - what other rooms may use of this one. */
#ifndef COLLECT_SESSION_PUBLIC_H
#define COLLECT_SESSION_PUBLIC_H

#include "collect/session/container.h"
#include "collect/session/liveness.h"
#include "collect/session/programs.h"
#include "collect/session/selectors.h"
#include "collect/session/session.h"
#include "collect/session/slots.h"

#endif
