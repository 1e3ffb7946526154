/* SPDX-License-Identifier: MIT */
/* net/send/public.h - what other rooms may use of this one. */
#ifndef NET_SEND_PUBLIC_H
#define NET_SEND_PUBLIC_H

#include "net/send/sender.h"
#include "net/send/spool.h"

#endif
