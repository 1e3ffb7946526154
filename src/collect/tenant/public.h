/* SPDX-License-Identifier: MIT */
/* collect/tenant/public.h - what other rooms may use of this one. */
#ifndef COLLECT_TENANT_PUBLIC_H
#define COLLECT_TENANT_PUBLIC_H

#include "collect/tenant/discover.h"
#include "collect/tenant/supervisor.h"
#include "collect/session/tenant.h"

#endif
