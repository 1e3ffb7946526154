/* SPDX-License-Identifier: MIT */
/* ctf/write/public.h - what other rooms may use of this one. */
#ifndef CTF_WRITE_PUBLIC_H
#define CTF_WRITE_PUBLIC_H

#include "ctf/write/context.h"
#include "ctf/write/ledger.h"
#include "ctf/write/recover.h"
#include "ctf/write/schema.h"
#include "ctf/write/sizes.h"
#include "ctf/write/writer.h"

#endif
